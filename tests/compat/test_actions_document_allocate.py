"""What "Volcano's actions in detail" says of allocate, as short stories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from document_stage import HIGH, LOW, PLACING, Taste, VirtualRun, not_admitted, worker, zoned
from statements import holds, shows

from hekla.conf import PluginEntry
from hekla.engine.framework.decisions import Bind
from hekla.objects import LabelSelector, Node
from hekla.objects.keys import ROLE_AFFINITY, ROLE_ANTI_AFFINITY
from hekla.objects.node import ContainerImage
from hekla.objects.pod import Affinity, TopologySpreadConstraint
from hekla.testing import JobObjects, PodRole, Story, job, node, plugin, pod, queue

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(kind: str, strength: str, terms: object) -> Affinity:
    return msgspec.convert({kind: {strength: terms}}, Affinity)


def in_zone(zone: str) -> dict[str, object]:
    return {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}


def beside(app: str) -> dict[str, object]:
    """A wish about pods of the app in the same zone, of weight 100."""
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}
    return {"weight": 100, "podAffinityTerm": term}


def with_spec(objects: JobObjects, **fields: object) -> JobObjects:
    """The job with other fields in the specs of its pods."""
    pods = [msgspec.structs.replace(p, spec=msgspec.structs.replace(p.spec, **fields)) for p in objects.pods]
    return replace(objects, pods=tuple(pods))


def binds_of(story: Story) -> list[str]:
    """Pods and their nodes, in the order in which they were bound."""
    binds = [d for d in story.cycle().decisions if isinstance(d, Bind)]
    return [f"{d.pod.removeprefix('default/')} {d.node}" for d in binds]


def without(story: Story, name: str) -> Story:
    """The story with one of its plugins left out; its tiers have to be lists."""
    tiers = [[entry for entry in tier if _name_of(entry) != name] for tier in story.tiers]
    return replace(story, tiers=tiers)


def _name_of(entry: str | PluginEntry) -> str:
    return entry if isinstance(entry, str) else entry.name


WEIGHTED = Story(
    "three cores for two queues of weights one and two",
    [node("n1", cpu=3)],
    [
        job("light-plain", cpu=1, queue="light", priority=LOW),
        job("light-urgent", cpu=1, queue="light", priority=HIGH),
        job("heavy-plain", cpu=1, queue="heavy", priority=LOW),
        job("heavy-urgent", cpu=1, queue="heavy", priority=HIGH),
        job("heavy-middling", cpu=1, queue="heavy", priority=LOW + 1),
    ],
    queues=[queue("light", weight=1), queue("heavy", weight=2)],
    actions="allocate",
)


@holds("actions-12", "actions-28")
def test_queues_get_shares_by_weight_and_use_them_for_their_most_urgent_jobs() -> None:
    """Weight is no rank: the older of two queues that hold nothing comes first, light as it is."""
    assert binds_of(WEIGHTED) == ["light-urgent-0 n1", "heavy-urgent-0 n1", "heavy-middling-0 n1"]


@holds("actions-28")
def test_the_priority_of_a_queue_makes_it_go_first() -> None:
    ranked = replace(WEIGHTED, queues=[queue("light", weight=1), queue("heavy", weight=2, priority=HIGH)])
    assert binds_of(ranked) == ["heavy-urgent-0 n1", "heavy-middling-0 n1", "light-urgent-0 n1"]


def chooses(title: str, *nodes: Node, task: JobObjects, goes_to: str, others: Any = (), **more: Any) -> Story:
    """One task and the node that it is bound to; of nodes that are equal the first would be taken."""
    tiers = more.pop("tiers", PLACING)
    return Story(
        title, nodes, [*others, task], {"new": {goes_to: 1}}, actions="allocate", tiers=tiers, **more
    )


def scored_by(score: str) -> list[list[str | PluginEntry]]:
    """Predicates, and of the scores of nodeorder that one alone."""
    weights = ("leastrequested", "mostrequested", "balancedresource", "nodeaffinity", "podaffinity")
    weights += ("tainttoleration", "imagelocality", "podtopologyspread")
    return [["predicates", plugin("nodeorder", {f"{name}.weight": int(name == score) for name in weights})]]


FILTERS = [
    *(
        shows(
            "actions-13",
            chooses(
                f"a node without enough {resource} is filtered out",
                node("n1", **{resource: 1}),
                node("n2", **{resource: 2}),
                task=job("new", **{resource: 2}),
                goes_to="n2",
                tiers=("gang",),
            ),
        )
        for resource in ("cpu", "memory", "gpu")
    ),
    shows(
        "actions-14",
        chooses(
            "a node that the pod's affinity excludes is filtered out",
            zoned("n1", "east"),
            zoned("n2", "west"),
            task=job(
                "new",
                cpu=1,
                affinity=affinity("nodeAffinity", REQUIRED, {"nodeSelectorTerms": [in_zone("west")]}),
            ),
            goes_to="n2",
        ),
    ),
    shows(
        "actions-15",
        chooses(
            "a node with a taint that is not tolerated is filtered out",
            node("n1", taints=["gpu=only:NoSchedule"]),
            node("n2"),
            task=job("new", cpu=1),
            goes_to="n2",
        ),
    ),
    shows(
        "actions-16",
        Story(
            "a gang with room for all but one of its pods is not placed, and one that fits is",
            [node("n1", cpu=2)],
            [job("large", tasks=3, cpu=1), job("fits", tasks=2, cpu=1)],
            {"large": "pending", "fits": {"n1": 2}},
            actions="allocate",
            tiers=PLACING,
        ),
    ),
    shows(
        "actions-17",
        chooses(
            "a filter of one's own is asked",
            node("n1", labels={"refused": "yes"}),
            node("n2"),
            task=job("new", cpu=1),
            goes_to="n2",
            tiers=("predicates, taste",),
            plugins=[Taste],
        ),
    ),
]

FREE, USED = node("free", cpu=4), node("used", cpu=4)
OLD = pod("old", on="used", cpu=2, memory="8Gi")
LOPSIDED = pod("old", on="used", cpu=3)
SHOP = pod("shop", on="n2", cpu=1, labels={"app": "shop"})
EAST_AND_WEST = (zoned("n1", "east"), zoned("n2", "west"))
IMAGE = ContainerImage(names=("app:1",), size_bytes=500 * 2**20)
SPREAD = TopologySpreadConstraint(
    topology_key="zone",
    when_unsatisfiable="ScheduleAnyway",
    label_selector=LabelSelector(match_labels={"app": "shop"}),
)


def with_image(one: Node) -> Node:
    return msgspec.structs.replace(one, status=msgspec.structs.replace(one.status, images=(IMAGE,)))


def wishing(strength: str, kind: str, *terms: object) -> JobObjects:
    return job("new", cpu=1, affinity=affinity(kind, strength, list(terms)))


SCORES = [
    shows(
        "actions-18",
        chooses(
            "leastrequested prefers the node of which less is used",
            *(USED, FREE),
            others=[OLD],
            task=job("new", cpu=1),
            goes_to="free",
            tiers=scored_by("leastrequested"),
        ),
    ),
    shows(
        "actions-19",
        chooses(
            "mostrequested prefers the node of which more is used",
            *(FREE, USED),
            others=[OLD],
            task=job("new", cpu=1),
            goes_to="used",
            tiers=scored_by("mostrequested"),
        ),
    ),
    shows(
        "actions-20",
        chooses(
            "balancedresource prefers the node where memory makes up for much CPU in use",
            *(FREE, USED),
            others=[LOPSIDED],
            task=job("new", memory="12Gi"),
            goes_to="used",
            tiers=scored_by("balancedresource"),
        ),
    ),
    shows(
        "actions-21",
        chooses(
            "nodeaffinity prefers the node that the pod prefers",
            *EAST_AND_WEST,
            task=wishing(PREFERRED, "nodeAffinity", {"weight": 1, "preference": in_zone("west")}),
            goes_to="n2",
            tiers=scored_by("nodeaffinity"),
        ),
    ),
    shows(
        "actions-22",
        chooses(
            "podaffinity prefers the zone of a pod that is liked",
            *EAST_AND_WEST,
            others=[SHOP],
            task=wishing(PREFERRED, "podAffinity", beside("shop")),
            goes_to="n2",
            tiers=scored_by("podaffinity"),
        ),
    ),
    shows(
        "actions-22",
        chooses(
            "podaffinity avoids the zone of a pod that is disliked",
            *EAST_AND_WEST[::-1],
            others=[SHOP],
            task=wishing(PREFERRED, "podAntiAffinity", beside("shop")),
            goes_to="n1",
            tiers=scored_by("podaffinity"),
        ),
    ),
    shows(
        "actions-23",
        chooses(
            "tainttoleration prefers the node with fewer taints that are not tolerated",
            node("n1", taints=["old=yes:PreferNoSchedule", "slow=yes:PreferNoSchedule"]),
            node("n2", taints=["old=yes:PreferNoSchedule"]),
            task=job("new", cpu=1),
            goes_to="n2",
            tiers=scored_by("tainttoleration"),
        ),
    ),
    shows(
        "actions-24",
        chooses(
            "imagelocality prefers the node that has the image",
            node("n1"),
            with_image(node("n2")),
            task=job("new", cpu=1),
            goes_to="n2",
            tiers=scored_by("imagelocality"),
        ),
    ),
    shows(
        "actions-25",
        chooses(
            "podtopologyspread prefers the zone with fewer pods of the app",
            *EAST_AND_WEST[::-1],
            others=[SHOP],
            task=with_spec(job("new", cpu=1, labels={"app": "shop"}), topology_spread_constraints=(SPREAD,)),
            goes_to="n1",
            tiers=scored_by("podtopologyspread"),
        ),
    ),
    shows(
        "actions-27",
        chooses(
            "the task is bound to the node of the highest score",
            *(node(f"n{score}", labels={"score": str(score)}) for score in (1, 3, 2)),
            task=job("new", cpu=1),
            goes_to="n3",
            tiers=("gang, taste",),
            plugins=[Taste],
        ),
    ),
]


@pytest.mark.parametrize("story", [*FILTERS, *SCORES])
def test_allocate(story: Story) -> None:
    assert story.play() == story.expect


@pytest.mark.parametrize("story", SCORES)
def test_without_any_score_the_first_node_is_taken(story: Story) -> None:
    unscored = replace(story, tiers=("predicates",))
    assert unscored.play() == {"new": {story.nodes[0].metadata.name: 1}}


@holds("actions-26")
@pytest.mark.parametrize(
    ("annotation", "otherwise", "nodes"),
    [(ROLE_AFFINITY, "leastrequested", ["n1", "n1"]), (ROLE_ANTI_AFFINITY, "mostrequested", ["n1", "n2"])],
    ids=["together, where they would be apart", "apart, where they would be together"],
)
def test_annotations_of_task_topology_bring_tasks(annotation: str, otherwise: str, nodes: list[str]) -> None:
    roles, said = [PodRole("ps"), PodRole("worker")], {annotation: "ps,worker"}
    topology = plugin("task-topology", {"task-topology.weight": 10})
    story = Story(
        "a server and a worker",
        [node("n1"), node("n2")],
        [job("train", roles=roles, cpu=1, annotations=said)],
        actions="allocate",
        tiers=([*scored_by(otherwise)[0], topology],),
    )
    assert binds_of(story) == [f"train-ps-0 {nodes[0]}", f"train-worker-0 {nodes[1]}"]
    assert binds_of(without(story, "task-topology")) != binds_of(story)


TWO_WORKERS = Story(
    "the first worker is too large for n1, the second is not",
    [node("n1", cpu=1), node("n2", cpu=4)],
    [job("a", tasks=0, min_available=2), worker("a-w-0", cpu=2), worker("a-w-1", cpu=1)],
    actions="allocate",
    tiers=("gang",),
)


@holds("actions-29", "actions-32")
@pytest.mark.parametrize(
    ("arguments", "nodes"),
    [
        ({}, {"n2": 2}),
        ({"predicateErrorCacheEnable": True}, {"n2": 2}),
        ({"predicateErrorCacheEnable": False}, {"n1": 1, "n2": 1}),
    ],
    ids=["by default", "switched on", "switched off"],
)
def test_a_node_that_refused_a_task_is_asked_again_for_its_like_only_without_the_error_cache(
    arguments: dict[str, object], nodes: dict[str, int]
) -> None:
    story = replace(TWO_WORKERS, configurations={"allocate": arguments})
    assert story.play() == {"a": nodes}


@holds("actions-33")
def test_without_allocate_jobs_are_admitted_and_stay_in_the_queue() -> None:
    """Where there is room, preempt promises it to a job, but never binds."""
    run = VirtualRun(not_admitted("enqueue, backfill, preempt, reclaim"))
    assert run.cycles(3) == [[], [], []]
    assert run.phases() == {"a": "Inqueue"}
    assert VirtualRun(not_admitted("enqueue, allocate")).cycles(1) == [["binds a-0 to n1"]]


ADVISED = {
    "drf": Story(
        "the job that holds less is served first",
        [node("n1", cpu=3)],
        [
            job("rich", tasks=3, cpu=1, min_available=1, running={"n1": 2}),
            job("poor", tasks=1, cpu=1),
        ],
        {"rich": "pending", "poor": {"n1": 1}},
    ),
    "predicates": Story(
        "a node with a taint is left out",
        [node("n1", taints=["gpu=only:NoSchedule"]), node("n2")],
        [job("a", cpu=1)],
        {"a": {"n2": 1}},
    ),
    "nodeorder": Story(
        "an empty node is preferred",
        [node("n1"), node("n2")],
        [pod("old", on="n1", cpu=2), job("a", cpu=1)],
        {"a": {"n2": 1}},
    ),
}


@holds("actions-34")
@pytest.mark.parametrize("name", ADVISED)
def test_plugins_act_in_allocate(name: str) -> None:
    story = replace(ADVISED[name], actions="allocate", tiers=(["priority", name],))
    assert story.play() == story.expect
    assert without(story, name).play() != story.expect
