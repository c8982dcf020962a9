"""Strategies: random clusters, configurations and sessions for Hypothesis.

Clusters are small on purpose: what goes wrong, goes wrong with two nodes and three jobs as well.
Pods that have a node when the cycle starts never overfill it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.session import Session
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, Shortcuts
from hekla.engine.model.node import NodeLoad
from hekla.engine.plugins.rescheduling import LAST_RUN
from hekla.engine.plugins.tdm import LAST_EVICTION
from hekla.engine.state.snapshot import Snapshot, take_snapshot
from hekla.objects import LabelSelector, Manifest, Node, Pod, Toleration
from hekla.objects.keys import REVOCABLE_ZONE
from hekla.objects.meta import ResourceList
from hekla.objects.pod import Affinity, PodAffinity, PodAffinityTerm
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport, open_session, run_cycle
from hekla.testing import surroundings
from hekla.testing.builders import PodRole, job, node, priority_class
from hekla.testing.conf_strategies import confs
from hekla.testing.pods import BEGINNING, Shape, pod, stamped

PRIORITIES = (1, 5, 10)
PLACES = ("pending", "pending", "pending", "running", "running", "bound", "releasing")
CROWDED = ("running", "running", "running", "running", "bound", "pending")
"""Where pods stand when the cycle starts; what comes more often is more likely."""

HOSTNAME = "kubernetes.io/hostname"
NOW = (BEGINNING + timedelta(hours=1)).timestamp()
"""When the cycles run: all objects are about an hour old."""


@dataclass(frozen=True)
class RandomCluster:
    """A random cluster; `others` are all objects but the nodes."""

    nodes: tuple[Node, ...]
    others: tuple[Manifest, ...]
    load: Mapping[str, NodeLoad] = field(default_factory=dict)

    def snapshot(self) -> Snapshot:
        """The facts, made anew: a session may change them."""
        snapshot = take_snapshot([*self.nodes, *self.others])
        snapshot.load = self.load
        return snapshot

    def session(self, conf: Conf, *, registry: Registry = BUILTIN) -> Session:
        """An open session, before any action has run."""
        return open_session(self.snapshot(), conf, registry=registry, now=NOW, memory=_long_rested())

    def cycle(
        self, conf: Conf, shortcuts: Shortcuts = EVERY_SHORTCUT, *, registry: Registry = BUILTIN
    ) -> CycleReport:
        return run_cycle(
            self.snapshot(),
            conf,
            registry=registry,
            now=NOW,
            memory=_long_rested(),
            shortcuts=shortcuts,
        )

    def with_others(self, others: Sequence[Manifest]) -> RandomCluster:
        return replace(self, others=tuple(others))


def _long_rested() -> dict[str, float]:
    """Plugins that do something from time to time find that the time has come."""
    return {LAST_RUN: 0.0, LAST_EVICTION: 0.0}


@dataclass
class FreeAmounts:
    """What is left of a node while pods are put on it."""

    cpu: int
    memory: int
    gpu: int
    pods: int

    def take(self, cpu: int, memory: int, gpu: int) -> bool:
        """Whether there was room; if so, it is gone now."""
        if min(self.cpu - cpu, self.memory - memory, self.gpu - gpu, self.pods - 1) < 0:
            return False
        self.cpu, self.memory, self.gpu, self.pods = (
            self.cpu - cpu,
            self.memory - memory,
            self.gpu - gpu,
            self.pods - 1,
        )
        return True


@dataclass
class Site:
    """A cluster that is being made up: nodes with room, names of queues, and the objects so far."""

    nodes: list[Node]
    rooms: dict[str, FreeAmounts]
    queues: list[str]
    places: Sequence[str]
    objects: list[Manifest] = field(default_factory=list)


@st.composite
def clusters(
    draw: DrawFn, *, most_nodes: int = 4, most_jobs: int = 5, places: Sequence[str] = PLACES
) -> RandomCluster:
    """Nodes, queues, priority classes, and jobs whose tasks run, wait, leave or are bound."""
    site = _site(draw, most_nodes, places)
    site.objects += [priority_class(f"priority-{value}", value) for value in PRIORITIES]
    names = [f"job{at}" for at in range(draw(st.integers(1, most_jobs)))]
    for name in names:
        _add_job(draw, site, name)
    site.objects += surroundings.budgets(draw, names)
    return RandomCluster(tuple(site.nodes), tuple(stamped(site.objects)), _load(draw, site))


def _site(draw: DrawFn, most_nodes: int, places: Sequence[str]) -> Site:
    nodes, rooms = [], {}
    for at in range(draw(st.integers(1, most_nodes))):
        name = f"n{at}"
        room = FreeAmounts(*draw(st.tuples(*map(st.integers, (1, 2, 0, 2), (8, 16, 2, 6)))))
        labels = {HOSTNAME: name, "zone": draw(st.sampled_from("ab")), **surroundings.node_labels(draw)}
        taints = draw(st.sampled_from(((), (), (), ("gpu=yes:NoSchedule",), ("old=yes:PreferNoSchedule",))))
        memory = f"{room.memory}Gi"
        nodes.append(
            node(
                name,
                cpu=room.cpu,
                memory=memory,
                gpu=room.gpu,
                pods=room.pods,
                labels=labels,
                taints=taints,
            )
        )
        rooms[name] = room
    queues = [f"q{at}" for at in range(draw(st.integers(1, 3)))]
    objects = [*surroundings.queues(draw, queues), *surroundings.networks(draw, list(rooms))]
    return Site(nodes, rooms, queues, places, objects)


def _load(draw: DrawFn, site: Site) -> dict[str, NodeLoad]:
    """How busy the nodes are, in one cluster of three."""
    if draw(st.integers(0, 2)):
        return {}
    percent = st.sampled_from((5.0, 50.0, 95.0))
    return {name: NodeLoad(draw(percent), draw(percent), at=NOW) for name in site.rooms}


@dataclass(frozen=True)
class TaskKind:
    """What the tasks of a job have in common."""

    cpu: int
    memory: int
    gpu: int
    shape: Shape
    has_roles: bool


def _add_job(draw: DrawFn, site: Site, name: str) -> None:
    kind = _kind(draw, name)
    count, extra = draw(st.integers(1, 4)), draw(st.sampled_from((0, 0, 0, 1, 2)))
    pods = [_pod(draw, site, name, kind, at) for at in range(count)]
    nothing = replace(kind, cpu=0, memory=0, gpu=0)
    pods += [_pod(draw, site, name, nothing, count + at) for at in range(extra)]
    minimum, notes = draw(st.integers(1, len(pods))), surroundings.job_annotations(draw)
    in_cluster = any(built.spec.node_name for built in pods)
    phases = ("Running",) if in_cluster else ("Inqueue", "Inqueue", "Pending")
    minimums: tuple[ResourceList | None, ...] = (None, {}, {"cpu": kind.cpu * minimum})
    group = job(
        name,
        tasks=0,
        min_available=minimum,
        roles=[PodRole("w", 0, draw(st.integers(0, 2)))] if kind.has_roles else (),
        min_resources=draw(st.sampled_from(minimums)),
        queue=draw(st.sampled_from(tuple(site.queues))),
        priority=draw(st.sampled_from((None, *PRIORITIES))),
        phase=draw(st.sampled_from(phases)),
        topology=draw(st.sampled_from(surroundings.WISHES)),
        sub_groups=surroundings.sub_groups(draw),
        annotations=notes,
    )
    site.objects += [group.pod_group, *pods]


def _kind(draw: DrawFn, name: str) -> TaskKind:
    shape: Shape = {"labels": {"app": name}}
    match draw(st.integers(0, 11)):
        case 0:
            shape["node_selector"] = {"zone": "a"}
        case 1:
            shape["tolerations"] = [Toleration(key="gpu", operator="Exists")]
        case 2:
            shape["preemptable"] = False
        case 3:
            shape["pod_priority_class"] = "system-node-critical"
        case 4:
            shape["affinity"] = _apart_from(name)
        case 5:
            shape["gates"] = ["example.com/wait"]
        case 6:
            shape["annotations"] = {REVOCABLE_ZONE: "*"}
        case 7:
            shape["nominated"] = "n0"
    cpu, memory = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    gpu = draw(st.sampled_from((0, 0, 0, 1)))
    return TaskKind(cpu, memory, gpu, shape, draw(st.booleans()))


def _apart_from(app: str) -> Affinity:
    selector = LabelSelector(match_labels={"app": app})
    term = PodAffinityTerm(topology_key=HOSTNAME, label_selector=selector)
    return Affinity(pod_anti_affinity=PodAffinity(required=(term,)))


def _pod(draw: DrawFn, site: Site, name: str, kind: TaskKind, index: int) -> Pod:
    place, at = draw(st.sampled_from(site.places)), draw(st.integers(0, len(site.nodes) - 1))
    host = site.nodes[at].metadata.name
    is_placed = place != "pending" and site.rooms[host].take(kind.cpu, kind.memory, kind.gpu)
    amounts: ResourceList = {"cpu": kind.cpu, "memory": f"{kind.memory}Gi", "nvidia.com/gpu": kind.gpu}
    shape: Shape = {
        **kind.shape,
        "labels": {**kind.shape["labels"], surroundings.PART: str(index % 2)},
        "resources": {name: amount for name, amount in amounts.items() if amount not in (0, "0Gi")},
    }
    if is_placed:
        shape.pop("gates", None)
        shape.pop("nominated", None)
    return pod(
        f"{name}-w-{index}",
        job=name,
        role="w" if kind.has_roles else "",
        on=host if is_placed else "",
        phase="Running" if is_placed and place != "bound" else "Pending",
        is_leaving=is_placed and place == "releasing",
        task_priority=draw(st.sampled_from((None, None, 1, 3))),
        **shape,
    )


@st.composite
def sessions(draw: DrawFn, *, conf: Conf | None = None, most_nodes: int = 4) -> Session:
    """An open session over a random cluster, before any action has run."""
    return draw(clusters(most_nodes=most_nodes)).session(conf or draw(confs()))
