"""How many nodes, how much of a quota, and why none is enough, for workloads of which the answer is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hekla.api import conf_of
from hekla.errors import InputError
from hekla.insight.capacity import (
    BindingLimit,
    CapacityAnswer,
    Sizing,
    WarmUp,
    capacity,
    headline,
    read_goal,
    read_nodes,
    read_quota,
)
from hekla.objects import Manifest, ObjectMeta, Queue
from hekla.objects.scheduling import QueueSpec
from hekla.simulation.measures import summarize
from hekla.simulation.run import Run
from hekla.simulation.simulate import Progress, simulate
from hekla.simulation.workloads import Hazards, Settings, Submission, Workload, generate, nodes_of
from hekla.simulation.workloads.generator_form import Durations, PodKind, QueueMix
from simulation.plays import job

CONF = conf_of(None)


def queue(name: str, **spec: object) -> Queue:
    return Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(**spec))  # type: ignore[arg-type]


def workload(jobs: Sequence[Submission], *objects: Manifest, **more: object) -> Workload:
    return Workload("play", lambda: iter(jobs), objects=objects, count=len(jobs), **more)  # type: ignore[arg-type]


def at_once(count: int, lasts: float = 100.0, **more: object) -> list[Submission]:
    return [job(f"j{number}", 0.0, lasts, **more) for number in range(count)]


def nodes(text: str) -> Sizing:
    sizing = read_nodes([text])
    assert sizing is not None
    return sizing


def answered(given: Workload, sizing: Sizing, *goals: str, **more: object) -> CapacityAnswer:
    return capacity(given, sizing, [read_goal(goal) for goal in goals], CONF, **more)  # type: ignore[arg-type]


def test_twelve_jobs_that_must_all_start_at_once_take_twelve_slots() -> None:
    answer = answered(workload(at_once(12)), nodes("1..20 x cpu=1"), "wait.longest < 30s")
    assert (answer.low, answer.smallest, answer.high) == (12, 12, 12)
    assert headline(answer) == "12 nodes are enough for wait.longest < 30s (12 cpu in all)"
    assert answer.at(12).is_met
    assert not answer.at(11).is_met
    assert answer.at(11).figures[0].value == pytest.approx(100.0, abs=5.0)


@pytest.mark.parametrize("limit", [30, 130, 250, 450])
def test_halving_finds_what_trying_all_sizes_finds(limit: int) -> None:
    jobs = workload([job(f"j{at}", 40.0 * at, 100.0 + 30 * (at % 3), pods=1 + at % 2) for at in range(12)])
    goal = f"wait.mean < {limit}s"
    found = answered(jobs, nodes("1..10 x cpu=1"), goal).smallest
    tried = [size for size in range(1, 11) if answered(jobs, nodes(f"{size}..{size} x cpu=1"), goal).smallest]
    assert found == tried[0]


def test_gpus_per_node_are_counted_too() -> None:
    answer = answered(workload(at_once(12, pods=1, cpu=2)), nodes("2 x cpu=2..32/2"), "wait.longest < 30s")
    assert answer.smallest == 12
    assert headline(answer) == "12 cpu per node is enough for wait.longest < 30s (24 cpu in all)"


def test_the_smallest_quota_of_a_queue() -> None:
    given = workload(at_once(6, queue="research"), queue("research", capability={"cpu": 1}))
    sizing = read_quota("research capability cpu=1..20", given, nodes_of("4 x cpu=4"))
    answer = answered(given, sizing, "research: wait.longest < 30s")
    assert answer.smallest == 6
    assert headline(answer) == "capability cpu=6 of queue research is enough for research: wait.longest < 30s"


def test_goals_of_one_queue_leave_the_jobs_of_others_out() -> None:
    jobs = [*at_once(2, queue="research"), job("late", 1.0, 100.0, queue="batch")]
    given = workload(jobs, queue("research"), queue("batch"))
    one, all_jobs = (
        answered(given, nodes("1..6 x cpu=1"), goal).smallest
        for goal in ("research: wait.longest < 30s", "wait.longest < 30s")
    )
    assert (one, all_jobs) == (2, 3)


def test_all_goals_count() -> None:
    given = workload(at_once(12))
    answer = answered(given, nodes("1..20 x cpu=1"), "wait.longest < 150s", "completion.mean < 120s")
    assert answer.smallest == 10
    assert [figure.is_met for figure in answer.at(9).figures] == [True, False]


def test_a_goal_that_asks_for_fewer_nodes_is_held_against_the_answer() -> None:
    given = workload([job(f"j{at}", 200.0 * at, 100.0, pods=4) for at in range(5)])
    answer = answered(given, nodes("1..20 x cpu=1"), "wait.longest < 30s", "utilisation.cpu > 90%")
    assert answer.smallest == 4
    assert [figure.goal.key for figure in answer.missed] == ["utilisation.cpu"]
    said = headline(answer)
    assert said.startswith(
        "no size meets all goals: wait.longest < 30s takes 4 nodes, and there utilisation.cpu is"
    )
    assert said.endswith("(utilisation.cpu > 90% is asked for)")


def test_no_number_of_nodes_helps_where_a_queue_may_not_have_more() -> None:
    given = workload(
        [*at_once(12, queue="research"), job("other", 0.0, 10.0, queue="batch")],
        queue("research", capability={"cpu": 4}),
        queue("batch", capability={"cpu": 9}),
    )
    answer = answered(given, nodes("1..20 x cpu=1"), "wait.longest < 30s")
    assert answer.smallest is None
    assert answer.held_back is not None
    assert (answer.held_back.binding, answer.held_back.queues) == (BindingLimit.CAPABILITY, ("research",))
    assert headline(answer) == (
        "no number of nodes helps: queue research's capability (cpu=4) holds it back; "
        "without it wait.longest < 30s is met with 20 nodes"
    )


def test_too_few_nodes_are_told_from_a_quota_that_is_too_small() -> None:
    answer = answered(workload(at_once(12)), nodes("1..6 x cpu=1"), "wait.longest < 30s")
    assert answer.held_back is not None
    assert answer.held_back.binding is BindingLimit.NODES
    assert headline(answer) == (
        "6 nodes are too few for wait.longest < 30s; 2 times as many meet it: widen the range"
    )


def test_no_quota_helps_where_nodes_are_too_few() -> None:
    given = workload(at_once(12, queue="research"), queue("research", capability={"cpu": 1}))
    sizing = read_quota("research capability cpu=1..20", given, nodes_of("6 x cpu=1"))
    answer = answered(given, sizing, "wait.longest < 30s")
    assert headline(answer) == (
        "no capability of queue research helps: there are too few nodes; "
        "2 times as many meet wait.longest < 30s"
    )


def test_nodes_and_a_capability_may_both_be_too_little() -> None:
    given = workload(at_once(12, queue="research"), queue("research", capability={"cpu": 2}))
    answer = answered(given, nodes("1..6 x cpu=1"), "wait.longest < 30s")
    assert answer.held_back is not None
    assert answer.held_back.binding is BindingLimit.BOTH


def test_a_pod_that_is_larger_than_any_node_is_no_matter_of_their_number() -> None:
    answer = answered(workload([job("large", 0.0, 10.0, cpu=4)]), nodes("1..6 x cpu=2"), "wait.mean < 30s")
    assert answer.held_back is not None
    assert answer.held_back.binding is BindingLimit.NEITHER
    said = headline(answer)
    assert said.startswith("no number of nodes helps: wait.mean is never with")
    assert "still waiting at the end: " in said
    assert "cpu" in said


def test_jobs_that_run_for_longer_than_the_goal_allows_are_told() -> None:
    answer = answered(workload(at_once(3, lasts=500.0)), nodes("1..6 x cpu=1"), "completion.mean < 100s")
    assert headline(answer).endswith(
        "with 2 times as many nodes and no queue's capability: the jobs themselves take so long"
    )


def single(seed: int) -> Workload:
    settings = Settings(
        jobs=50, rate=60.0, daily=0, durations=Durations("exponential", 240.0, shortest=0.0),
        sizes=((1, 1),), pods=(PodKind((("cpu", "1"),)),), queues=(QueueMix("default", users=0),),
        priorities=(), estimate=None,
    )  # fmt: skip
    return generate(settings, seed)


def made_up(**more: object) -> CapacityAnswer:
    return capacity(single, nodes("3..8 x cpu=1"), [read_goal("wait.mean < 60s")], CONF, **more)  # type: ignore[arg-type]


def test_every_size_sees_the_same_arrivals() -> None:
    """The same jobs on more nodes wait for less on average, though seeds differ by more than a node does."""
    answer = made_up(seeds=range(3), warm_up=WarmUp())
    means = [size.figures[0].value for size in answer.sizes]
    assert means == sorted(means, reverse=True)
    assert all(size.figures[0].jobs == 150 for size in answer.sizes)


def test_the_beginning_is_left_out_where_work_is_made_up() -> None:
    answer = made_up(seeds=range(2))
    assert answer.warm_up == WarmUp(part=0.1)
    assert all(75 <= size.figures[0].jobs < 100 for size in answer.sizes)
    assert answered(workload(at_once(3)), nodes("1..6 x cpu=1"), "wait.mean < 1h").warm_up == WarmUp()
    late = answered(
        workload([job("early", 0.0, 900.0), job("late", 600.0, 10.0)]), nodes("1..3 x cpu=1"),
        "wait.mean < 30s", warm_up=WarmUp(seconds=300.0),
    )  # fmt: skip
    assert late.at(2).figures[0].jobs == 1


def test_processes_do_not_change_the_answer() -> None:
    alone, together = made_up(seeds=range(2)), made_up(seeds=range(2), processes=2)
    assert together == alone


def test_hazards_make_seeds_differ() -> None:
    given = workload(at_once(4, lasts=5000.0), hazards=Hazards(pod_failure_seconds=4000.0))
    answer = answered(given, nodes("2..6 x cpu=1"), "completion.mean < 20000s", seeds=range(3))
    assert answer.seeds == (0, 1, 2)
    assert answered(workload(at_once(4)), nodes("2..6 x cpu=1"), "wait.mean < 1h", seeds=range(3)).seeds == (
        0,
    )


def test_stopped_it_tells_what_is_known() -> None:
    runs: list[int] = []

    def watch(value: int, _number: int, _progress: Progress) -> None:
        if value not in runs:
            runs.append(value)

    answer = made_up(seeds=range(2), on_trial=watch, is_stopped=lambda: len(runs) > 2)
    assert not answer.is_complete
    assert [size.value for size in answer.sizes] == sorted(runs[:2])
    assert headline(answer) == "stopped before the smallest size was found: enough: 5 nodes"
    nothing = made_up(seeds=range(2), is_stopped=lambda: True)
    assert "no size has been tried with all seeds" in headline(nothing)


@pytest.mark.parametrize(
    ("goals", "said"),
    [
        ([], "capacity needs a goal or more"),
        (["utilisation.cpu > 60%"], "less is better for it; add a goal that more brings nearer"),
        (["reserch: wait.mean < 1h"], 'no queue "reserch"; did you mean "research"?'),
        (["research: wait.mean < 1h"], "no job was measured"),
        (["utilisation.gpu < 60%"], "no node offers it"),
    ],
)
def test_goals_that_nothing_can_be_said_about_are_errors(goals: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        answered(workload(at_once(3), queue("research")), nodes("1..6 x cpu=1"), *goals)
    assert said in str(caught.value)


def test_what_goes_wrong_in_a_run_says_in_which() -> None:
    with pytest.raises(InputError, match=r"6 nodes, seed 0: .*two are called"):
        answered(
            workload(at_once(3), queue("a"), queue("b")), nodes("1..6 x cpu=1"), "wait.mean < 1h",
            options=None, arrivals=_twice,
        )  # fmt: skip


def _twice(given: Workload, _seed: int) -> Workload:
    raise InputError("two are called")


def test_the_run_is_what_simulate_gives() -> None:
    jobs = workload([job(f"j{at}", 40.0 * at, 200.0) for at in range(30)])
    answer = answered(
        jobs, nodes("3..3 x cpu=1"),
        "wait.mean < 1h", "wait.p95 < 1h", "wait.longest < 1h", "completion.p50 < 1h",
        "slowdown.mean < 9", "utilisation.cpu < 99.9%", "makespan < 1d", "completed > 50%", "evictions < 3",
    )  # fmt: skip
    run: Run = simulate(jobs, CONF, nodes=nodes_of("3 x cpu=1"))
    summary = summarize(run)
    overall, cpu = summary.overall, next(use for use in summary.resources if use.name == "cpu")
    expected = (
        overall.wait.mean, overall.wait.p95, overall.wait.most, overall.response.p50,
        overall.slowdown.mean, cpu.utilisation, summary.makespan, 1.0, 0.0,
    )  # fmt: skip
    assert [figure.value for figure in answer.sizes[0].figures] == pytest.approx(expected)
