"""Reasons why a job waits, each planted on one small cluster by a means of its own, so that they combine.

The cluster has four nodes in two zones and two racks. The job asks for half of it: four pods that start
together, of 2 cpu, 4Gi, a slot and a link each. Every reason takes away something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import msgspec

from hekla.conf import Conf
from hekla.engine.model.wait_reason import Verdict, WaitReason
from hekla.objects import HyperNode, Manifest, Queue, ResourceQuota
from hekla.objects.meta import ObjectMeta
from hekla.objects.storage import ResourceQuotaStatus
from hekla.testing import JobObjects, conf_of, hypernode, job, node, queue, racks, stamped

SLOT, LINK = "example.com/slot", "example.com/link"
NODES = {"n1": "a", "n2": "a", "n3": "b", "n4": "b"}
"""By name the zone."""
TIERS = ("gang", "resourcequota, overcommit, predicates, proportion, network-topology-aware")


@dataclass(frozen=True)
class Scene:
    """The cluster and the job, as the reasons planted so far have left them."""

    queue: Queue = field(default_factory=lambda: queue("research"))
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By node what is special about it."""
    shape: Mapping[str, Any] = field(default_factory=dict)
    """What is special about the job."""
    resources: Mapping[str, int] = field(default_factory=dict)
    others: tuple[Manifest | JobObjects, ...] = ()
    actions: str = "enqueue, allocate"

    def with_shape(self, **shape: Any) -> Scene:
        return replace(self, shape={**self.shape, **shape})

    def with_selector(self, **labels: str) -> Scene:
        return self.with_shape(node_selector={**self.shape.get("node_selector", {}), **labels})

    def with_limit(self, cpu: int) -> Scene:
        """What the queue may hold, unless it may hold less already."""
        known = self.queue.spec.capability.get("cpu", cpu)
        limited = msgspec.structs.replace(self.queue.spec, capability={"cpu": min(int(known), cpu)})
        return replace(self, queue=msgspec.structs.replace(self.queue, spec=limited))

    def with_others(self, *others: Manifest | JobObjects) -> Scene:
        return replace(self, others=(*self.others, *others))

    def with_node(self, name: str, **more: Any) -> Scene:
        return replace(self, nodes={**self.nodes, name: {**self.nodes.get(name, {}), **more}})

    @property
    def conf(self) -> Conf:
        return conf_of(self.actions, TIERS)

    @property
    def cluster(self) -> list[Manifest]:
        """Everything but the job."""
        machines = [
            node(
                name,
                **{
                    "cpu": 4,
                    "memory": "16Gi",
                    "labels": {"zone": zone},
                    "resources": {SLOT: 2, LINK: 2},
                    **self.nodes.get(name, {}),
                },
            )
            for name, zone in NODES.items()
        ]
        has_racks = any(isinstance(each, HyperNode) for each in self.others)
        network = [] if has_racks else racks(s0=["n1", "n2"], s1=["n3", "n4"])
        return [queue("default"), self.queue, *machines, *network, *spread(self.others)]

    @property
    def train(self) -> list[Manifest]:
        """The job alone."""
        asked = {SLOT: 1, LINK: 1, **self.resources}
        shape = {"tasks": 4, "cpu": 2, "memory": "4Gi", "queue": "research", "resources": asked, **self.shape}
        return [*job("train", **shape).objects]

    @property
    def objects(self) -> list[Manifest]:
        return stamped([*self.cluster, *self.train])


def spread(parts: tuple[Manifest | JobObjects, ...]) -> list[Manifest]:
    return [thing for part in parts for thing in (part.objects if isinstance(part, JobObjects) else (part,))]


# What passes as other work ends


def full_admission(scene: Scene) -> Scene:
    crowd = job("crowd", cpu=1, gates=["example.com/wait"], min_resources={"cpu": 19})
    return scene.with_shape(phase="Pending", min_resources={"cpu": 8}).with_others(crowd)


def full_queue(scene: Scene) -> Scene:
    return scene.with_limit(8).with_others(job("mate", cpu=1, queue="research", running={"n1": 1}))


def no_room(scene: Scene) -> Scene:
    return scene.with_others(job("busy", tasks=4, cpu=3, running=dict.fromkeys(NODES, 1)))


def crumbs(scene: Scene) -> Scene:
    small = job("small", tasks=2, memory="10Gi", running={"n1": 1, "n4": 1})
    large = job("large", tasks=2, memory="14Gi", running={"n2": 1, "n3": 1})
    return scene.with_others(small, large)


def chosen_nodes_full(scene: Scene) -> Scene:
    here = job("here", resources={SLOT: 1}, running={"n1": 1})
    return scene.with_selector(zone="a").with_others(here)


def racks_full(scene: Scene) -> Scene:
    linked = job("linked", tasks=2, resources={LINK: 1}, running={"n1": 1, "n3": 1})
    return scene.with_shape(topology=("hard", 1)).with_others(linked)


def no_turn(scene: Scene) -> Scene:
    return replace(scene, actions="enqueue")


# What is promised


def leaving_pods(scene: Scene) -> Scene:
    return scene.with_others(job("going", tasks=4, cpu=4, releasing=dict.fromkeys(NODES, 1)))


# What waits for a person or another object


def closed_queue(scene: Scene) -> Scene:
    closed = msgspec.structs.replace(scene.queue.status, state="Closed")
    return replace(scene, queue=msgspec.structs.replace(scene.queue, status=closed))


def gates(scene: Scene) -> Scene:
    return scene.with_shape(gates=["example.com/wait"])


def cordons(scene: Scene) -> Scene:
    for name in NODES:
        scene = scene.with_node(name, unschedulable=True)
    return scene


def broken_racks(scene: Scene) -> Scene:
    circle = [hypernode("s0", tier=1, hypernodes=["s1"]), hypernode("s1", tier=2, hypernodes=["s0"])]
    return scene.with_shape(topology=("hard", 1)).with_others(*circle)


# What never passes


def unknown_resource(scene: Scene) -> Scene:
    return replace(scene, resources={**scene.resources, "example.com/slto": 1})


def coarse_tasks(scene: Scene) -> Scene:
    return scene.with_shape(memory="9Gi").with_node("n3", memory="8Gi")


def wrong_selector(scene: Scene) -> Scene:
    return scene.with_selector(disk="ssd")


def small_racks(scene: Scene) -> Scene:
    return scene.with_shape(topology=("hard", 1)).with_others(
        *racks(**{f"s-{name}": [name] for name in NODES})
    )


def small_queue(scene: Scene) -> Scene:
    return scene.with_limit(6)


def small_quota(scene: Scene) -> Scene:
    quota = ResourceQuota(
        metadata=ObjectMeta(name="quota", namespace="default"),
        status=ResourceQuotaStatus(hard={"cpu": "6"}, used={}),
    )
    return scene.with_shape(phase="Pending", min_resources={"cpu": 8}).with_others(quota)


@dataclass(frozen=True)
class Plant:
    """One reason, how it is planted, and some words that it is told in."""

    code: WaitReason
    verdict: Verdict
    plant: Callable[[Scene], Scene]
    words: str

    def __str__(self) -> str:
        return self.plant.__name__


W, V = WaitReason, Verdict
PLANTS = [
    Plant(W.ADMISSION_LIMIT, V.NEVER, small_quota, 'quota "default/quota" would be exceeded: cpu'),
    Plant(W.QUEUE_SHARE, V.NEVER, small_queue, 'need 8 cpu, queue "research" may hold 6 at most'),
    Plant(
        W.NO_ROOM,
        V.NEVER,
        unknown_resource,
        "no node offers example.com/slto (did you mean example.com/slot?)",
    ),
    Plant(W.FRAGMENTATION, V.NEVER, coarse_tasks, "all nodes together have room for 3 when empty"),
    Plant(W.FILTERS, V.NEVER, wrong_selector, "no node has label disk=ssd"),
    Plant(W.TOPOLOGY, V.NEVER, small_racks, "4 tasks start together in one domain of tier 1 or closer"),
    Plant(W.QUEUE, V.HELD, closed_queue, 'queue "research" is not open'),
    Plant(W.GATE, V.HELD, gates, "4 of 4 pods are held back by example.com/wait"),
    Plant(W.FILTERS, V.HELD, cordons, "all nodes are cordoned"),
    Plant(W.TOPOLOGY, V.HELD, broken_racks, "the network topology cannot be used"),
    Plant(W.RELEASE, V.BOOKED, leaving_pods, "4 of 4 tasks have a node once pods there have left"),
    Plant(W.ADMISSION_LIMIT, V.NOT_YET, full_admission, "the cluster cannot take in more waiting work: cpu"),
    Plant(W.QUEUE_SHARE, V.NOT_YET, full_queue, 'queue "research"'),
    Plant(W.NO_ROOM, V.NOT_YET, no_room, "not enough cpu: asked 8, free 4 of 16"),
    Plant(W.FRAGMENTATION, V.NOT_YET, crumbs, "room for 2 of the 4 tasks that start together"),
    Plant(W.FILTERS, V.NOT_YET, chosen_nodes_full, "not chosen by the node selector or affinity"),
    Plant(W.TOPOLOGY, V.NOT_YET, racks_full, "4 tasks start together in one domain of tier 1 or closer"),
    Plant(W.ORDER, V.NOT_YET, no_turn, "not its turn in this cycle"),
]

EXCLUDED = {
    frozenset({"small_racks", "broken_racks"}): "how large racks are is not known while they are no tree",
    **{
        frozenset({"leaving_pods", name}): "what has nodes promised to it lacks nothing else"
        for name in (
            "full_admission",
            "full_queue",
            "no_room",
            "crumbs",
            "chosen_nodes_full",
            "racks_full",
            "no_turn",
        )
    },
}
"""Pairs of which only one can hold at a time, by their names, and why."""
PAIRS = [pair for pair in combinations(PLANTS, 2) if frozenset(map(str, pair)) not in EXCLUDED]
