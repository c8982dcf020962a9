"""Hard topology beyond allocate: no action tears such a job apart, or evicts for it where it fits nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from hekla.engine.explain.explanation import explain
from hekla.engine.framework.decisions import UpdatePodGroup
from hekla.testing import (
    JobObjects,
    PodRole,
    Story,
    hypernode,
    job,
    node,
    plugin,
    pod,
    queue,
    racks,
    sub_group,
)

TIERS = ("priority, gang, conformance, proportion", "predicates, network-topology-aware")
NETWORK = ("priority, gang", "predicates, network-topology-aware")
TWO_RACKS = racks(r1=["n1"], r2=["n2"])
HOLD = {"allocate": {"unreadyPolicy": "hold"}, "backfill": {"kubeBatchBackfillEnable": True}}
GANGS_MAY_BREAK = (
    ["priority", plugin("gang", enableReclaimable=False, enablePreemptable=False), "conformance"],
    "predicates, network-topology-aware",
)


def two_nodes(cpu: int = 2) -> list[object]:
    return [node("n1", cpu=cpu), node("n2", cpu=cpu)]


def reserved(title: str, *jobs: object, expect: Mapping[str, object], cpu: int = 2, **more: object) -> Story:
    changes = {"nodes": two_nodes(cpu), "actions": "allocate, backfill", "tiers": NETWORK, **more}
    return Story(title, jobs=jobs, objects=TWO_RACKS, configurations=HOLD, expect=expect, **changes)


def reclaiming(title: str, *jobs: object, expect: Mapping[str, object], **more: object) -> Story:
    """Queue a has borrowed both racks; queue b deserves most of the cluster."""
    changes = {
        "nodes": two_nodes(),
        "tiers": TIERS,
        "actions": "allocate, reclaim",
        "objects": TWO_RACKS,
        **more,
    }
    queues = [queue("a", weight=1), queue("b", weight=9)]
    return Story(title, jobs=jobs, queues=queues, expect=expect, **changes)


def borrower(**more: object) -> object:
    shape = {"tasks": 4, "running": {"n1": 2, "n2": 2}, "min_available": 1, **more}
    return job("lo", cpu=1, queue="a", **shape)


KEPT = {"volcano.sh/preemptable": "false"}


def in_parts(name: str, *on: str, labelled: int = 99) -> JobObjects:
    """A hard gang of pods on these nodes, or waiting; the first ones form a part that has no wish itself."""
    built = job(
        name,
        tasks=0,
        min_available=len(on),
        queue="b",
        topology=("hard", 1),
        sub_groups=[sub_group("parts", by=["part"], size=2, minimum=1)],
        phase="Running" if any(on) else "",
    )
    labels = [{"part": "0"} if at < labelled else {} for at in range(len(on))]
    pods = [pod(f"{name}-{at}", job=name, cpu=1, on=where, labels=labels[at]) for at, where in enumerate(on)]
    return replace(built, pods=tuple(pods))


STORIES = [
    reserved(
        "backfill of reserved room does not tear a hard gang over two racks",
        job("tight", tasks=2, cpu=2, topology=("hard", 1)),
        expect={"tight": "pending"},
    ),
    reserved(
        "nor the sub-jobs of a job, each of which wants a rack of its own",
        job(
            "pipe",
            roles=[PodRole("w", 2)],
            cpu=2,
            min_available=2,
            sub_groups=[sub_group("stage", by=["volcano.sh/task-spec"], size=2, minimum=1, wish=("hard", 1))],
            labels={"volcano.sh/task-spec": "w"},
        ),
        expect={"pipe": "pending"},
    ),
    reserved(
        "a hard gang takes places that are held inside one rack",
        job("large", tasks=5, cpu=1, priority=9),
        job("tight", tasks=2, cpu=1, topology=("hard", 1), priority=1),
        expect={"large": {"held": {"n2": 2}}, "tight": {"n1": 2}},
    ),
    reserved(
        "held places in two racks are no help to a gang that needs one",
        job("large", tasks=3, cpu=1, priority=9),
        job("tight", tasks=2, cpu=1, topology=("hard", 1), priority=1),
        cpu=1,
        expect={"large": {"held": {"n1": 1, "n2": 1}}, "tight": "pending"},
    ),
    reserved(
        "a soft gang takes them, because it may lie anywhere",
        job("large", tasks=3, cpu=1, priority=9),
        job("loose", tasks=2, cpu=1, topology=("soft", 1), priority=1),
        cpu=1,
        expect={"large": "pending", "loose": {"n1": 1, "n2": 1}},
    ),
    reclaiming(
        "nothing is reclaimed for a gang that is larger than any rack",
        borrower(),
        job("train", tasks=3, cpu=1, queue="b", topology=("hard", 1)),
        expect={"lo": "running", "train": "pending"},
    ),
    reclaiming(
        "nothing is reclaimed for a gang whose tasks do not fit a rack together",
        borrower(),
        job("train", tasks=2, cpu="1500m", queue="b", topology=("hard", 1)),
        tiers=GANGS_MAY_BREAK,
        expect={"lo": "running", "train": "pending"},
    ),
    reclaiming(
        "a gang that fits a rack has room reclaimed in that one alone",
        borrower(),
        job("train", tasks=2, cpu=1, queue="b", topology=("hard", 1)),
        expect={"lo": {"evicted": ["lo-0", "lo-1"]}, "train": {"pipelined": {"n1": 2}}},
    ),
    reclaiming(
        "a rack where a pod may not be evicted is left alone, and another one is freed",
        job("fixed", cpu=1, queue="a", running={"n1": 1}, annotations={"volcano.sh/preemptable": "false"}),
        job("lo", tasks=3, cpu=1, queue="a", running={"n1": 1, "n2": 2}, min_available=1),
        job("train", tasks=2, cpu=1, queue="b", topology=("hard", 1)),
        expect={
            "fixed": "running",
            "lo": {"evicted": ["lo-1", "lo-2"]},
            "train": {"pipelined": {"n2": 2}},
        },
    ),
    reclaiming(
        "where victims enough are there in two racks only together, nothing is reclaimed",
        job("fixed", tasks=2, cpu=1, queue="b", running={"n1": 1, "n2": 1}),
        job("lo", tasks=2, cpu=1, queue="a", running={"n1": 1, "n2": 1}, min_available=0),
        job("train", tasks=2, cpu=1, queue="b", topology=("hard", 1)),
        tiers=GANGS_MAY_BREAK,
        expect={"fixed": "running", "lo": "running", "train": "pending"},
    ),
    reclaiming(
        "a wider domain that the gang allows will do",
        job("fixed", tasks=2, cpu=1, queue="b", running={"n1": 1, "n2": 1}),
        job("lo", tasks=2, cpu=1, queue="a", running={"n1": 1, "n2": 1}, min_available=0),
        job("train", tasks=2, cpu=1, queue="b", topology=("hard", 2)),
        objects=[*TWO_RACKS, hypernode("s1", tier=2, hypernodes=["r1", "r2"]), hypernode("x", tier=3)],
        tiers=GANGS_MAY_BREAK,
        expect={
            "fixed": "running",
            "lo": {"evicted": ["lo-0", "lo-1"]},
            "train": {"pipelined": {"n1": 1, "n2": 1}},
        },
    ),
    reclaiming(
        "topologyCheck: false reclaims as Volcano does, although the gang then fits no rack",
        borrower(),
        job("train", tasks=2, cpu="1500m", queue="b", topology=("hard", 1)),
        tiers=GANGS_MAY_BREAK,
        configurations={"reclaim": {"topologyCheck": False}},
        expect={
            "lo": {"evicted": ["lo-0", "lo-1", "lo-2", "lo-3"]},
            "train": {"pipelined": {"n1": 1, "n2": 1}},
        },
    ),
    reclaiming(
        "nothing is reclaimed for an elastic gang whose rest fits no rack: allocate would not look (W-28)",
        borrower(),
        job("train", tasks=3, cpu=1, min_available=2, queue="b", topology=("hard", 1)),
        expect={"lo": "running", "train": "pending"},
    ),
    reclaiming(
        "it is where allocate asks for room for the minimum only",
        borrower(),
        job("train", tasks=3, cpu=1, min_available=2, queue="b", topology=("hard", 1)),
        tiers=(
            TIERS[0],
            ["predicates", plugin("network-topology-aware", {"hypernode.gradient.whole-demand": False})],
        ),
        expect={"lo": {"evicted": ["lo-0", "lo-1"]}, "train": {"pipelined": {"n1": 2}}},
    ),
    reclaiming(
        "a gang that may lie anywhere, but not in parts, is checked as well (W-28)",
        borrower(),
        job("train", tasks=5, cpu=1, min_available=2, queue="b", topology=("hard", 2)),
        expect={"lo": "running", "train": "pending"},
    ),
    reclaiming(
        "so is a soft one",
        borrower(),
        job("train", tasks=5, cpu=1, min_available=2, queue="b", topology=("soft", 1)),
        expect={"lo": "running", "train": "pending"},
    ),
    reclaiming(
        "pods of the gang that ask for nothing need no room in the rack",
        borrower(),
        job("train", tasks=2, best_effort=1, cpu=1, queue="b", topology=("hard", 1)),
        expect={"lo": {"evicted": ["lo-0", "lo-1"]}, "train": {"pipelined": {"n1": 2}}},
    ),
    reclaiming(
        "room in the rack that is idle already is made use of",
        job("lo", tasks=2, cpu=1, queue="a", running={"n2": 2}, min_available=0),
        job("fixed", tasks=2, cpu=2, queue="a", running={"n3": 1, "n4": 1}, annotations=KEPT),
        job("train", tasks=2, cpu=2, queue="b", topology=("hard", 1)),
        nodes=[node(name, cpu=2) for name in ("n1", "n2", "n3", "n4")],
        objects=racks(r1=["n1", "n2"], r2=["n3", "n4"]),
        expect={
            "lo": {"evicted": ["lo-0", "lo-1"]},
            "fixed": "running",
            "train": {"pipelined": {"n1": 1, "n2": 1}},
        },
    ),
    reclaiming(
        "one victim may make room for two tasks",
        job("lo", tasks=1, cpu=2, queue="a", running={"n1": 1}, min_available=0),
        job("fixed", tasks=1, cpu=2, queue="a", running={"n2": 1}, annotations=KEPT),
        job("train", tasks=2, cpu=1, queue="b", topology=("hard", 1)),
        expect={"lo": {"evicted": ["lo-0"]}, "fixed": "running", "train": {"pipelined": {"n1": 2}}},
    ),
    reclaiming(
        "a gang that runs in one rack in part has no room reclaimed in another",
        job("lo", tasks=2, cpu=1, queue="a", running={"n2": 2}, min_available=0),
        job("fixed", cpu=1, queue="b", running={"n1": 1}),
        in_parts("train", "n1", ""),
        expect={"lo": "running", "fixed": "running", "train": "pending"},
    ),
    reclaiming(
        "pods beyond the size of a part, and outside of all parts, have room reclaimed too",
        borrower(tasks=8, running={"n1": 4, "n2": 4}),
        in_parts("train", "", "", "", "", labelled=2),
        nodes=two_nodes(cpu=4),
        expect={"lo": {"evicted": ["lo-0", "lo-1", "lo-2", "lo-3"]}, "train": {"pipelined": {"n1": 4}}},
    ),
    reserved(
        "a hard gang that has its minimum takes held places one by one",
        job("large", tasks=4, cpu=1, priority=9),
        job("tight", tasks=2, cpu=1, running={"n1": 1}, min_available=1, topology=("hard", 1), priority=1),
        expect={"large": {"held": {"n2": 2}}, "tight": {"n1": 1}},
    ),
    reclaiming(
        "a soft gang has room reclaimed wherever there is some",
        job("fixed", tasks=2, cpu=1, queue="b", running={"n1": 1, "n2": 1}),
        job("lo", tasks=2, cpu=1, queue="a", running={"n1": 1, "n2": 1}, min_available=0),
        job("train", tasks=2, cpu=1, queue="b", topology=("soft", 1)),
        tiers=GANGS_MAY_BREAK,
        expect={
            "fixed": "running",
            "lo": {"evicted": ["lo-0", "lo-1"]},
            "train": {"pipelined": {"n1": 1, "n2": 1}},
        },
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_one_domain(story: Story) -> None:
    assert story.play() == story.expect


def preempting(*, takes_topology_jobs: bool, tasks: int = 2, wish: tuple[str, int] = ("hard", 1)) -> Story:
    return Story(
        "a more important gang that wants a rack",
        nodes=two_nodes(),
        jobs=[
            job("lo", tasks=4, cpu=1, running={"n1": 2, "n2": 2}, min_available=1, priority=1),
            job("train", tasks=tasks, cpu=1, topology=wish, priority=9),
        ],
        objects=TWO_RACKS,
        actions="allocate, preempt",
        tiers=GANGS_MAY_BREAK,
        configurations={"preempt": {"topologyJobs": takes_topology_jobs}},
    )


@pytest.mark.parametrize("wish", [("hard", 1), ("soft", 1)], ids=str)
def test_preempt_passes_over_jobs_with_a_topology_and_says_so(wish: tuple[str, int]) -> None:
    report = preempting(takes_topology_jobs=False, wish=wish).cycle()
    (update,) = [
        d for d in report.decisions if isinstance(d, UpdatePodGroup) and d.pod_group == "default/train"
    ]
    words = "preempt: passes over jobs with a networkTopology; with topologyJobs: true it makes room for them"
    assert words in next(c.message for c in update.status.conditions if c.type == "Unschedulable")
    assert words in explain(report.session, report.session.jobs["default/train"]).reasons


@pytest.mark.parametrize("wish", [("hard", 1), ("soft", 1)], ids=str)
def test_with_topology_jobs_preempt_evicts_inside_one_domain(wish: tuple[str, int]) -> None:
    story = preempting(takes_topology_jobs=True, wish=wish)
    assert story.play() == {"lo": {"evicted": ["lo-0", "lo-1"]}, "train": {"pipelined": {"n1": 2}}}


def test_with_topology_jobs_preempt_evicts_no_task_for_a_gang_that_fits_no_domain() -> None:
    assert preempting(takes_topology_jobs=True, tasks=3).play() == {"lo": "running", "train": "pending"}


def test_why_nothing_was_reclaimed_is_told() -> None:
    story = next(story for story in STORIES if "larger than any rack" in story.title)
    session = story.cycle().session
    reasons = explain(session, session.jobs["default/train"]).reasons
    assert "reclaim: no network domain that it allows could be freed for it by evictions" in reasons


def test_preempt_that_compares_nodes_asks_the_queue_before_it_evicts_for_a_hard_job() -> None:
    story = Story(
        "the queue may not have what the job asks for",
        nodes=two_nodes(),
        queues=[queue("a", weight=1), queue("b", weight=3)],
        jobs=[
            job("lo", tasks=2, cpu=1, running={"n1": 2}, min_available=1, queue="a", priority=1),
            job("other", cpu=2, running={"n2": 1}, queue="b", priority=1),
            job("more", tasks=4, cpu=2, queue="b", priority=1),
            job("train", cpu=2, queue="a", priority=9, topology=("hard", 1)),
        ],
        objects=TWO_RACKS,
        actions="allocate, preempt",
        tiers=(
            ["priority", plugin("gang", enablePreemptable=False), "conformance", "proportion"],
            "predicates, network-topology-aware",
        ),
        configurations={"preempt": {"topologyJobs": True, "enableTopologyAwarePreemption": True}},
    )
    expect = {"lo": "running", "other": "running", "more": "pending", "train": "pending"}
    assert story.play() == expect
