"""What "The backfill action (kube-batch's design)" says, as short stories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from opinion_plugins import advised, heard, moves, scoring
from statements import holds, shows

from hekla.engine.framework import points
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import answers
from hekla.engine.model.job import Job
from hekla.engine.model.node import Shard
from hekla.objects import LabelSelector, Pod
from hekla.objects.pod import Affinity, PodAffinity, PodAffinityTerm
from hekla.testing import JobObjects, PodRole, Story, job, node, pod, racks, sub_group

GANG = ("priority, gang", "predicates")
RACKS = (*GANG, "network-topology-aware")
HOLD = {"allocate": {"unreadyPolicy": "hold"}}
ON = {**HOLD, "backfill": {"kubeBatchBackfillEnable": True}}
HIGH, LOW = 9, 1
SSD, SPECIAL = {"disk": "ssd"}, {"for": "a"}
HELD = {"held": {"n1": 2}}


def holder(tasks: int = 3, **more: Any) -> JobObjects:
    """A gang that gets two places, too few to start."""
    return job("a", tasks=tasks, cpu=1, **more)


def cycle(title: str, *jobs: JobObjects | Pod, cpu: int = 2, **more: Any) -> Story:
    """Allocate and then backfill, over one node of two cores unless told otherwise."""
    settings = {"nodes": [node("n1", cpu=cpu)], "tiers": GANG, "configurations": ON, **more}
    return Story(title, jobs=jobs, actions="allocate, backfill", **settings)


def apart_from(app: str) -> Affinity:
    """Not on a node with pods of that label."""
    selector = LabelSelector(match_labels={"app": app})
    term = PodAffinityTerm(topology_key="host", label_selector=selector)
    return Affinity(pod_anti_affinity=PodAffinity(required=(term,)))


def tale(
    ids: str, title: str, jobs: Sequence[JobObjects | Pod], expect: Mapping[str, object], **more: Any
) -> ParameterSet:
    """Such a cycle, with its outcome, that shows these statements."""
    return shows(ids, replace(cycle(title, *jobs, **more), expect=expect))


STORIES = [
    # Introduction and motivation
    tale(
        "kubebatch-02 kubebatch-15",
        "what a job of higher priority holds and cannot use goes to one of lower priority",
        [holder(priority=HIGH), job("b", cpu=2, priority=LOW)],
        {"a": "pending", "b": {"n1": 1}},
    ),
    tale(
        "kubebatch-03 kubebatch-08",
        "it stays where the other job could not start with it either",
        [holder(priority=HIGH), job("b", tasks=2, cpu=2, priority=LOW)],
        {"a": HELD, "b": "pending"},
    ),
    tale(
        "kubebatch-08",
        "it stays where the other job's pod would not fit even then",
        [holder(), job("b", cpu=3)],
        {"a": HELD, "b": "pending"},
    ),
    tale(
        "kubebatch-04",
        "allocate binds the pods of a job once enough of them are assigned, and not before",
        [job("a", tasks=3, cpu=1, min_available=2), job("b", tasks=2, cpu=1), job("idle")],
        {"a": {"n1": 2}, "b": {"held": {"n1": 1}}, "idle": {"n1": 1}},
        cpu=3,
        configurations=HOLD,
    ),
    tale(
        "kubebatch-05",
        "the job of higher priority is scheduled first",
        [job("low", cpu=2, priority=LOW), job("high", cpu=2, priority=HIGH)],
        {"low": "pending", "high": {"n1": 1}},
        configurations=HOLD,
    ),
    tale(
        "kubebatch-05",
        "among equals the job that was created first is scheduled first",
        [job("z", cpu=2), job("a", cpu=2)],
        {"z": {"n1": 1}, "a": "pending"},
        configurations=HOLD,
    ),
    tale(
        "kubebatch-06",
        "places that are held and not used keep a later job waiting",
        [holder(), job("b", cpu=2)],
        {"a": HELD, "b": "pending"},
        configurations=HOLD,
    ),
    tale(
        "kubebatch-07 kubebatch-08",
        "backfill releases them, and the later job is scheduled there",
        [holder(), job("b", cpu=2)],
        {"a": "pending", "b": {"n1": 1}},
    ),
    # Who may take
    tale(
        "kubebatch-09",
        "a job without a pending pod takes nothing",
        [holder(), job("b", cpu=1, running={"n1": 1})],
        {"a": HELD, "b": "running"},
        cpu=3,
    ),
    tale(
        "kubebatch-10",
        "a job that has lost its places to one job takes those of another",
        [
            job("c", tasks=2, cpu=3, node_selector=SSD),
            job("a", tasks=3, cpu=1),
            job("b", cpu=2, node_selector=SPECIAL),
        ],
        {"c": "pending", "a": {"n2": 3}, "b": {"n1": 1}},
        nodes=[node("n1", cpu=2, labels=SPECIAL), node("n2", cpu=3, labels=SSD)],
        tiers=("gang, drf", "predicates"),  # drf puts those that hold much behind the others
    ),
    # Who gives
    tale(
        "kubebatch-11",
        "a job that may run gives nothing",
        [job("a", tasks=2, cpu=1), job("b", cpu=2)],
        {"a": {"n1": 2}, "b": "pending"},
    ),
    tale(
        "kubebatch-12",
        "of a job that may not run, pods that run already give nothing",
        [holder(running={"n1": 1}), job("b", cpu=2)],
        {"a": {"held": {"n1": 1}}, "b": "pending"},
    ),
    tale(
        "kubebatch-12",
        "of a job that may not run, pods that wait for room to be released give nothing",
        [pod("old", on="n1", cpu=1, is_leaving=True), holder(), job("b", cpu=2)],
        {"a": {"held": {"n1": 1}, "pipelined": {"n1": 1}}, "b": "pending"},
    ),
    # Between the two
    tale(
        "kubebatch-13",
        "a job takes nothing from a job of another queue",
        [holder(queue="q1"), job("b", cpu=2, queue="q2")],
        {"a": HELD, "b": "pending"},
    ),
    tale(
        "kubebatch-14",
        "a pod takes nothing from pods of its own job, even where the job could start so",
        [
            job(
                "a",
                roles=[PodRole("small", 2, 0, {"cpu": 1}), PodRole("big", 1, 1, {"cpu": 2})],
                task_priorities=[HIGH, HIGH, LOW],
                min_available=1,
            )
        ],
        {"a": HELD},
    ),
    tale(
        "kubebatch-15",
        "a job takes from jobs of lower priority as well",
        [
            job("first", tasks=2, cpu=2, priority=HIGH, node_selector=SSD),
            job(
                "b",
                roles=[PodRole("x", 1, 0, {"node_selector": SSD}), PodRole("y")],
                cpu=2,
                priority=HIGH - 1,
            ),
            job("low", tasks=2, cpu=2, priority=LOW),
        ],
        {"first": "pending", "b": {"n1": 1, "n2": 1}, "low": "pending"},
        nodes=[node("n1", cpu=2, labels=SSD), node("n2", cpu=2)],
    ),
    # The logic
    tale(
        "kubebatch-16",
        "the victims are those on the very node that the pod gets",
        [holder(5), job("b", cpu=2)],
        {"a": {"held": {"n2": 2}}, "b": {"n1": 1}},
        nodes=[node("n1", cpu=2), node("n2", cpu=2)],
    ),
    tale(
        "kubebatch-16",
        "what victims hold on different nodes does not add up",
        [holder(5), job("b", cpu=3)],
        {"a": {"held": {"n1": 2, "n2": 2}}, "b": "pending"},
        nodes=[node("n1", cpu=2), node("n2", cpu=2)],
    ),
    tale(
        "kubebatch-17",
        "a node with the room must suit the pod in every other respect",
        [holder(5), job("b", cpu=2, node_selector=SSD)],
        {"a": {"held": {"n1": 2}}, "b": {"n2": 1}},
        nodes=[node("n1", cpu=2), node("n2", cpu=2, labels=SSD)],
    ),
    tale(
        "kubebatch-17",
        "a node is judged as it is without the victims, even if the pod must not share it with these",
        [holder(labels={"app": "a"}), job("b", cpu=2, affinity=apart_from("a"))],
        {"a": "pending", "b": {"n1": 1}},
        nodes=[node("n1", cpu=2, pods=2, labels={"host": "n1"})],
    ),
    tale(
        "kubebatch-21",
        "a job that may run has all its pods bound, those too that were only held before",
        [holder(node_selector=SPECIAL), job("b", tasks=2, cpu=1)],
        {"a": {"held": {"n1": 1}}, "b": {"n1": 1, "n2": 1}},
        nodes=[node("n1", cpu=2, labels=SPECIAL), node("n2", cpu=1)],
    ),
]


@pytest.mark.parametrize("story", STORIES)
def test_backfill_as_kube_batch_designed_it(story: Story) -> None:
    assert story.play() == story.expect


@holds("kubebatch-01")
def test_best_effort_pods_come_first_however_late_they_were_created() -> None:
    report = cycle("", holder(priority=HIGH), job("b", cpu=2, priority=LOW), job("idle")).cycle()
    binds = [decision.pod for decision in report.by_action["backfill"] if isinstance(decision, Bind)]
    assert binds == ["default/idle-0", "default/b-0"]


@holds("kubebatch-11")
@pytest.mark.parametrize(
    ("is_ready", "outcome"),
    [(False, {"a": "pending", "b": {"n1": 1}}), (True, {"a": {"held": {"n1": 1}}, "b": "pending"})],
)
def test_a_job_that_may_run_by_now_gives_nothing_though_its_pods_are_only_allocated(
    is_ready: bool, outcome: object
) -> None:
    class Late(Plugin):
        name = "late"

        @answers(points.JOB_READY)
        def a_is_ready_after_allocate(self, job: Job) -> bool:
            return job.name != "a" or (is_ready and self.session.trace.speaker == "backfill")

    story = cycle("", job("a", cpu=2, priority=HIGH), job("b", cpu=2), tiers=("priority",))
    assert advised(story, Late).play() == outcome


@holds("kubebatch-18")
@pytest.mark.parametrize(("scores", "chosen"), [((1, 0), "n1"), ((0, 1), "n2")])
def test_of_the_candidates_the_node_with_the_highest_score_is_selected(
    scores: tuple[int, int], chosen: str
) -> None:
    story = cycle("", holder(5), job("b", cpu=2), nodes=[node("n1", cpu=2), node("n2", cpu=2)])
    assert advised(story, scoring(points.NODE_ORDER, *scores)).play()["b"] == {chosen: 1}


@holds("kubebatch-19")
def test_a_node_that_does_without_victims_is_selected_before_one_of_a_higher_score() -> None:
    """Allocate stops at pod x of the gang, so that n2 is idle; y could have n3 as well, from the holder."""
    story = cycle(
        "",
        job("a", tasks=3, cpu=2, node_selector=SPECIAL),
        job("b", roles=[PodRole("x", 1, 0, {"node_selector": SSD}), PodRole("y")], cpu=2),
        nodes=[node("n1", cpu=2, labels=SSD | SPECIAL), node("n2", cpu=2), node("n3", cpu=2, labels=SPECIAL)],
    )
    outcome = advised(story, scoring(points.NODE_ORDER, 0, 0, 1)).play()
    assert outcome == {"a": {"held": {"n3": 1}}, "b": {"n1": 1, "n2": 1}}


@holds("kubebatch-20")
def test_the_victims_are_released_before_the_pod_is_allocated() -> None:
    assert moves(heard(cycle("", holder(), job("b", cpu=2))))[-3:] == [
        ("taken back", "a-1"),
        ("taken back", "a-0"),
        ("placed", "b-0"),
    ]


@holds("kubebatch-03", "kubebatch-22")
def test_when_the_job_cannot_start_the_victims_stand_as_before_and_nothing_is_evicted() -> None:
    tried = cycle("", holder(), job("b", tasks=2, cpu=2))
    assert ("placed", "b-0") in heard(tried)
    report, untried = tried.cycle(), replace(tried, configurations=HOLD).cycle()
    assert report.session.fingerprint() == untried.session.fingerprint()
    assert not [decision for decision in report.decisions if isinstance(decision, Bind | Evict)]


# Together with what allocate heeds

TWO_RACKS: dict[str, Any] = {
    "nodes": [node("n1", cpu=2), node("n2", cpu=2)],
    "objects": racks(s0=["n1"], s1=["n2"]),
    "tiers": RACKS,
}
IN_ONE_RACK = {"topology": ("hard", 1)}
PART_IN_ONE_RACK = {
    "labels": {"group": "one"},
    "sub_groups": [sub_group("g", size=2, minimum=1, wish=("hard", 1))],
}


@holds("kubebatch-23")
@pytest.mark.parametrize("wish", [IN_ONE_RACK, PART_IN_ONE_RACK], ids=["a job", "a sub-job"])
@pytest.mark.parametrize("held", [True, False], ids=["in reserved room", "in idle room"])
def test_what_must_lie_in_one_rack_is_not_spread_over_two(held: bool, wish: dict[str, Any]) -> None:
    tight = job("tight", tasks=2, cpu=2, **wish)
    first = [job("a", tasks=3, cpu=2)] if held else []
    outcome = cycle("", *first, tight, **TWO_RACKS).play()
    assert outcome["tight"] == "pending"


@holds("kubebatch-24")
def test_of_nodes_with_victims_those_of_the_own_shard_come_first() -> None:
    outcome = cycle(
        "",
        job("a", tasks=3, cpu=2),
        job("b", cpu=2),
        nodes=[node("n2", cpu=2), node("n1", cpu=2)],
        shard=Shard("soft", frozenset({"n1"})),
    ).play()
    assert outcome == {"a": {"held": {"n2": 1}}, "b": {"n1": 1}}


@holds("kubebatch-24")
def test_of_nodes_with_room_those_of_the_own_shard_come_first() -> None:
    outcome = cycle(
        "",
        job("a", tasks=2, cpu=2, node_selector=SSD),
        job("b", roles=[PodRole("x", 1, 0, {"node_selector": SSD}), PodRole("y")], cpu=2),
        nodes=[node("n2", cpu=2), node("n1", cpu=2), node("n3", cpu=2, labels=SSD)],
        shard=Shard("soft", frozenset({"n1", "n3"})),
    ).play()
    assert outcome == {"a": "pending", "b": {"n1": 1, "n3": 1}}
