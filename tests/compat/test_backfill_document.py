"""What "The backfill action in detail (Volcano)" says of its tasks: which, in which order, and their way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from backfill_stories import (
    ASKING,
    GANG,
    GATES,
    HIGH,
    LOW,
    NOTHING,
    ONE,
    SSD,
    TWO,
    best_effort,
    fit_errors,
    messages,
    nodes,
    tale,
)
from opinion_plugins import Recorder, advised, heard, heard_in, moves, objecting, opinion_on, scoring
from statements import holds

from hekla.conf import read_arguments, read_conf
from hekla.engine.actions.backfill import Backfill, BackfillArguments
from hekla.engine.framework import points
from hekla.engine.framework.decisions import Bind
from hekla.engine.framework.plugin import Objection, Plugin
from hekla.engine.framework.points import answers
from hekla.engine.framework.registry import steps_of
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import take_snapshot
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.server.metrics import Metrics
from hekla.testing import JobObjects, PodRole, Story, conf_of, job, node, plugin, pod, queue, session_of

# Overview

FEW_PLACES = [best_effort("idle", 2, priority=HIGH), job("work", cpu=1, priority=LOW)]
TORN = [job("gang", tasks=2, cpu=1, best_effort=1)]

OVERVIEW = [
    tale(
        "backfill-01",
        "a pod that asks for nothing runs on a node without a core to spare",
        [job("busy", cpu=1, running={"n1": 1}), best_effort("idle", 2)],
        {"busy": "running", "idle": {"n1": 2}},
        nodes=nodes("n1", cpu=1),
        actions="backfill",
    ),
    tale(
        "backfill-02",
        "backfill fills pods into what allocate has left over, however important they are",
        FEW_PLACES,
        {"idle": {"n1": 1}, "work": {"n1": 1}},
        nodes=nodes("n1", pods=2),
        actions="allocate, backfill",
    ),
    tale(
        "backfill-02",
        "before allocate it would take the places of others",
        FEW_PLACES,
        {"idle": {"n1": 2}, "work": "pending"},
        nodes=nodes("n1", pods=2),
        actions="backfill, allocate",
    ),
    tale(
        "backfill-04",
        "in a gang with other pods those that ask for nothing wait for the gang, see docs/compat.md",
        TORN,
        {"gang": {"held": {"n1": 1}}},
        nodes=nodes("n1", cpu=1),
    ),
    tale(
        "backfill-04",
        "they are bound together with the gang",
        TORN,
        {"gang": {"n1": 3}},
        nodes=nodes("n1", cpu=2),
    ),
    tale(
        "backfill-04",
        "where gang has no say in what is ready, they are bound whatever becomes of the others",
        TORN,
        {"gang": {"n1": 1}},
        actions="backfill",
        tiers=(["priority", plugin("gang", enableJobReady=False)],),
    ),
    tale(
        "backfill-05 backfill-46",
        "allocate leaves pods alone that ask for nothing",
        FEW_PLACES,
        {"idle": "pending", "work": {"n1": 1}},
        actions="allocate",
    ),
    tale(
        "backfill-46",
        "backfill leaves pods alone that ask for something",
        FEW_PLACES,
        {"idle": {"n1": 2}, "work": "pending"},
        actions="backfill",
    ),
]


@pytest.mark.parametrize("story", OVERVIEW)
def test_overview(story: Story) -> None:
    assert story.play() == story.expect


@holds("backfill-03", "backfill-43")
def test_backfill_keeps_what_it_has_placed_where_allocate_takes_it_back() -> None:
    idle = Story("", nodes("n1", pods=2), [best_effort("a", 3)], tiers=GANG)
    asking = Story("", nodes("n1", cpu=2), [job("a", tasks=3, cpu=1)], tiers=GANG)
    placed = [("placed", "a-0"), ("placed", "a-1")]
    assert moves(heard(idle)) == placed
    assert moves(heard(asking)) == [*placed, ("taken back", "a-1"), ("taken back", "a-0")]


@holds("backfill-03", "backfill-42")
def test_a_pod_is_bound_before_the_next_one_is_looked_at() -> None:
    seen: list[list[Status]] = []

    def look(task: Task) -> None:
        seen.append([each.status for each in session.jobs[task.job].tasks.values()])

    looking = opinion_on(points.PRE_PREDICATE, look)
    session = session_of(node("n1"), best_effort("a", 2), tiers=("gang, opinion",), plugins=[looking])
    Backfill(BackfillArguments()).run(session)
    assert seen == [[Status.PENDING, Status.PENDING], [Status.BINDING, Status.PENDING]]
    binds = [(bind.pod, bind.node) for bind in session.decisions if isinstance(bind, Bind)]
    assert binds == [("default/a-0", "n1"), ("default/a-1", "n1")]


# Arguments


@holds("backfill-06")
@pytest.mark.parametrize("key", ["predicateErrorCacheEnable", "enablePredicateErrorCache"])
def test_the_error_cache_is_on_by_default_and_its_documented_name_is_understood(key: str) -> None:
    assert read_arguments(BackfillArguments, {}, "backfill")[0].error_cache is True
    arguments, mistakes = read_arguments(BackfillArguments, {key: False}, "backfill")
    assert arguments.error_cache is False
    assert [mistake.severity for mistake in mistakes] == ["warning"] * (key == "enablePredicateErrorCache")


@holds("backfill-06", "backfill-29")
@pytest.mark.parametrize("cache", [True, False])
def test_refusals_are_not_held_against_other_pods_whatever_the_switch_says_see_compat(cache: bool) -> None:
    """A gang of one role: n1 refuses its first pod, which gets n2; the second one finds room on n1 alone."""

    def two_pods(action: str, **asked: Any) -> Story:
        picky = pod("a-0", job="a", role="w", node_selector=SSD, **asked)
        return Story(
            action,
            [node("n1"), node("n2", cpu=1, pods=1, labels=SSD)],
            [job("a", tasks=0, min_available=2), picky, pod("a-1", job="a", role="w", **asked)],
            actions=action,
            tiers=GANG,
            configurations={action: {"predicateErrorCacheEnable": cache}},
        )

    both = {"a": {"n1": 1, "n2": 1}}
    assert two_pods("backfill").play() == both
    assert two_pods("allocate", cpu=1).play() == ({"a": "pending"} if cache else both)


@holds("backfill-07")
def test_arguments_are_read_from_the_section_of_the_action() -> None:
    conf, mistakes = read_conf(
        "actions: allocate, backfill\n"
        "tiers: []\n"
        "configurations:\n"
        "- name: backfill\n"
        "  arguments: {predicateErrorCacheEnable: false}\n"
    )
    assert mistakes == []
    read: dict[str, Any] = {step.name: step.arguments for step in steps_of(conf, BUILTIN)}
    assert (read["allocate"].error_cache, read["backfill"].error_cache) == (True, False)


# The way of one task


@holds("backfill-08", "backfill-10")
def test_the_pre_predicate_comes_before_the_predicates_and_these_before_the_placement() -> None:
    steps = ("pre-predicate", "predicate", "placed")
    way = [(what, whom) for what, whom in heard(TWO) if what in steps]
    assert way == [(step, name) for name in ("a-0", "a-1") for step in steps]


@holds("backfill-09")
def test_what_the_pre_predicate_says_is_the_fit_error_of_every_node_and_the_next_pod_follows() -> None:
    objection = Objection("volume is gone")
    picky = opinion_on(points.PRE_PREDICATE, lambda task: objection if task.name == "a-0" else None)
    assert ("predicate", "a-0") not in heard(TWO, picky)
    assert moves(heard(TWO, picky)) == [("placed", "a-1")]
    assert fit_errors(advised(TWO, picky)) == {"a-0": "0/3 nodes are unavailable: 3 volume is gone."}


@holds("backfill-11")
def test_where_no_node_is_left_each_node_tells_why_and_the_next_pod_follows() -> None:
    closed = [node("n1", labels=SSD, taints=["gpu=yes:NoSchedule"]), node("n2")]
    story = Story("", closed, [best_effort("a", node_selector=SSD), best_effort("b")], tiers=GANG)
    why = (
        "0/2 nodes are unavailable: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s)."
    )
    assert story.play() == {"a": "pending", "b": {"n2": 1}}
    assert fit_errors(story) == {"a-0": why}
    assert messages(story) == [why]


@holds("backfill-12", "backfill-14")
@pytest.mark.parametrize(("names", "is_scored"), [(("n1",), False), (("n1", "n2"), True)])
def test_a_single_node_is_taken_without_scores_and_several_are_scored(
    names: Sequence[str], is_scored: bool
) -> None:
    asked = {what for what, _ in heard(replace(ONE, nodes=nodes(*names)))}
    scores = {"node order", "batch node order", "best node"}
    assert asked & scores == (scores if is_scored else set())
    assert "placed" in asked


@holds("backfill-16")
def test_a_pod_that_is_placed_is_seen_in_the_metrics_and_one_that_is_not_is_not() -> None:
    metrics = Metrics()
    story = Story("", nodes("n1"), [best_effort("a"), best_effort("b", node_selector=SSD)])
    metrics.cycle_ended(story.cycle(), seconds=0.1)
    page = asyncio.run(metrics.page({})).decode()
    for figure in ("duration", "start_time", "last_time"):
        series = (
            f'volcano_e2e_job_scheduling_{figure}{{job_name="%s",job_namespace="default",queue="default"}}'
        )
        assert (series % "a" in page, series % "b" in page) == (True, False)
    assert 'volcano_task_scheduling_latency_milliseconds_count{stage="Assumed"} 1.0' in page
    assert 'volcano_schedule_attempts_total{result="unschedulable"} 1.0' in page


@holds("backfill-42", "backfill-44")
def test_a_placement_that_a_plugin_objects_to_is_recorded_and_touches_no_other_pod() -> None:
    story = advised(TWO, objecting(to="a-0", text="no licence left"))
    assert story.play() == {"a": {"n1": 1}}
    assert list(fit_errors(story)) == ["a-0"]


@holds("backfill-17")
def test_the_node_and_what_was_objected_are_told() -> None:
    (message,) = messages(advised(TWO, objecting(to="a-0", text="no licence left")))
    assert "n1" in message
    assert "no licence left" in message


# Collecting


def ranked(name: str, priority: int) -> JobObjects:
    return best_effort(f"{name}{priority}", 2, queue=name, priority=priority, task_priorities=[LOW, HIGH])


@holds("backfill-18", "backfill-26")
def test_the_order_is_queue_then_job_then_task() -> None:
    jobs = [ranked("slow", LOW), ranked("fast", LOW), ranked("slow", HIGH), ranked("fast", HIGH)]
    queues = [queue("slow"), queue("fast", priority=HIGH)]
    story = Story("those that matter more are written last", nodes("n1"), jobs, queues=queues)
    assert [whom for _, whom in moves(heard(story))] == [
        f"{queue}{job}-{task}" for queue in ("fast", "slow") for job in (HIGH, LOW) for task in (1, 0)
    ]


class Reversing(Plugin):
    """Queues and jobs by name, and the other way round once a pod has been placed."""

    name = "reversing"

    def on_open(self) -> None:
        self.sign = 1

    def on_allocate(self, _task: Task) -> None:
        self.sign = -1

    @answers(points.QUEUE_ORDER)
    def queues_by_name(self, left: QueueInfo, right: QueueInfo) -> int:
        return self.sign * (1 if left.name > right.name else -1)

    @answers(points.JOB_ORDER)
    def jobs_by_name(self, job: Job) -> int:
        return self.sign * ord(job.name[-1])


@holds("backfill-27")
def test_the_order_is_fixed_before_anything_is_placed_where_in_allocate_it_moves() -> None:
    names = [f"{queue}-{job}" for queue in ("q1", "q2", "q3") for job in "abc"]

    def order(**asks: Any) -> list[str]:
        jobs = [job(name, queue=name[:2], **asks) for name in names]
        story = Story("", nodes("n1", cpu=9), jobs, tiers=GANG)
        return [whom.removesuffix("-0") for _, whom in moves(heard(story, Reversing))]

    assert order(**NOTHING) == names
    assert order(**ASKING) != names


LEAVES = {"a": "pending", "b": {"n1": 1}}


def beside(kept_out: JobObjects) -> list[JobObjects]:
    """A job that backfill leaves alone, beside one that it does not."""
    return [kept_out, best_effort("b")]


COLLECTED = [
    tale(
        "backfill-56",
        "pending best-effort pods of an admitted, valid job with a queue are taken",
        [best_effort("a", 2, queue="q")],
        {"a": {"n1": 2}},
        actions="backfill",
    ),
    tale(
        "backfill-20 backfill-56",
        "pods of a job that was not admitted are left alone",
        beside(best_effort("a", phase="Pending")),
        LEAVES,
        actions="backfill",
    ),
    tale(
        "backfill-21 backfill-56",
        "pods of a job with fewer pods than its gang needs are left alone",
        beside(best_effort("a", min_available=2)),
        LEAVES,
    ),
    tale(
        "backfill-21 backfill-56",
        "pods of a job that a plugin takes for invalid are left alone",
        beside(best_effort("a")),
        LEAVES,
        tiers=("gang, opinion",),
        plugins=[opinion_on(points.JOB_VALID, lambda job: Objection("no") if job.name == "a" else None)],
    ),
    tale(
        "backfill-19 backfill-23 backfill-56",
        "pods behind a gate are left alone",
        beside(best_effort("a", gates=GATES)),
        LEAVES,
    ),
    tale(
        "backfill-23 backfill-56",
        "pods that ask for something are left alone, however little it is",
        beside(job("a", cpu="1m")),
        LEAVES,
        actions="backfill",
    ),
    tale(
        "backfill-23",
        "of a job with all kinds of pods just those are taken that ask for nothing and wait for nothing",
        [job("a", roles=[PodRole("w", 1, 0, ASKING), PodRole("g", 1, 0, {"gates": GATES}), PodRole("x")])],
        {"a": {"n1": 1}},
        actions="backfill",
        tiers=("predicates",),
    ),
    tale(
        "backfill-24",
        "preempt keeps a place for a pod that asks for nothing",
        [best_effort("a")],
        {"a": {"pipelined": {"n1": 1}}},
        actions="preempt",
    ),
    tale(
        "backfill-24 backfill-56",
        "backfill takes such a place back, and the pod runs at once",
        [best_effort("a")],
        {"a": {"n1": 1}},
        actions="preempt, backfill",
    ),
    tale(
        "backfill-25 backfill-52",
        "places that are kept for pods that ask for something stay kept",
        [pod("old", on="n1", cpu=4, is_leaving=True), job("a", cpu=1)],
        {"a": {"pipelined": {"n1": 1}}},
    ),
]


@pytest.mark.parametrize("story", COLLECTED)
def test_collecting(story: Story) -> None:
    assert story.play() == story.expect


@holds("backfill-19")
def test_a_gated_pod_is_passed_over_before_any_plugin_is_asked_about_it() -> None:
    story = replace(ONE, jobs=beside(best_effort("a", gates=GATES)))
    assert {whom for what, whom in heard(story) if what == "pre-predicate"} == {"b-0"}


@holds("backfill-22", "backfill-56")
def test_a_job_whose_queue_does_not_exist_is_skipped() -> None:
    story = replace(ONE, jobs=beside(best_effort("a", queue="gone")))
    found = [manifest for manifest in story.manifests() if manifest.metadata.name != "gone"]
    report = run_cycle(take_snapshot(found), conf_of("backfill", GANG))
    assert [bind.pod for bind in report.decisions if isinstance(bind, Bind)] == ["default/b-0"]


@holds("backfill-24", "backfill-25", "backfill-28")
def test_a_pod_gives_its_kept_place_back_and_goes_to_a_better_node() -> None:
    session = session_of(
        *nodes("n1", "n2"),
        job("a", tasks=1, cpu=1, best_effort=1, min_available=1),
        tiers=("scores, recorder", *GANG),
        plugins=[scoring(points.NODE_ORDER, 0, 1), Recorder],
    )
    asks, idle = session.jobs["default/a"].tasks.values()
    with session.statement() as statement:
        assert statement.pipeline(asks, 0)
        without = session.nodes.pipelined.copy()
        assert statement.pipeline(idle, 0)
        statement.hold()
    Backfill(BackfillArguments()).run(session)
    assert (asks.status, asks.node_name) == (Status.PIPELINED, "n1")
    assert (idle.status, idle.node_name) == (Status.BINDING, "n2")
    assert (session.nodes.pipelined == without).all()
    assert moves(heard_in(session))[2:] == [("taken back", "a-1"), ("placed", "a-1")]
