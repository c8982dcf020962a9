"""Goals as they are written, and which column is to blame where they cannot be read."""

from __future__ import annotations

import math

import pytest

from hekla.errors import InputError
from hekla.insight.capacity import read_goal


@pytest.mark.parametrize(
    ("text", "label", "limit", "level"),
    [
        ("wait.p95 < 10m", "wait.p95", 600.0, 0.95),
        ("wait.p99.9<=1h30m", "wait.p99.9", 5400.0, 0.999),
        ("wait.mean < 90", "wait.mean", 90.0, None),
        ("wait.median < 10 min", "wait.p50", 600.0, 0.5),
        ("wait.max ≤ 2d", "wait.longest", 172_800.0, None),
        ("research: completion.p95 < 2h", "research: completion.p95", 7200.0, 0.95),
        ("response.mean < 2h", "completion.mean", 7200.0, None),
        ("slowdown.mean <= 3", "slowdown.mean", 3.0, None),
        ("utilisation.gpu > 60%", "utilisation.gpu", 0.6, None),
        ("utilization.cpu < .8", "utilisation.cpu", 0.8, None),
        ("completed >= 99%", "completed", 0.99, None),
        ("makespan < 1d12h", "makespan", 129_600.0, None),
        ("research: evictions < 5", "research: evictions", 5.0, None),
        ("jain > 0.9", "jain", 0.9, None),
    ],
)
def test_goals_are_read_as_people_write_them(
    text: str, label: str, limit: float, level: float | None
) -> None:
    goal = read_goal(text)
    assert (goal.label, goal.limit) == (label, limit)
    assert goal.level == (None if level is None else pytest.approx(level))
    assert str(read_goal(str(goal))) == str(goal)


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("wat.p95 < 3", 1, 'no measure "wat"; did you mean "wait"?'),
        ("research: wat.p95 < 3", 11, 'no measure "wat"; did you mean "wait"?'),
        ("cost < 3", 1, 'no measure "cost"; known are wait, completion, slowdown, utilisation'),
        ("wait < 3", 5, 'expected mean, p50, p95, another pNN, or longest, as in "wait.p95 < 10m"'),
        ("wait.p95x < 3", 6, 'expected mean, p50, p95, another pNN, or longest, got "p95x"'),
        ("wait.p100 < 3", 6, 'got "p100"'),
        ("wait.p95 10m", 13, 'expected "<", "<=", ">" or ">=" and a limit'),
        ("wait.p95 < 10x", 12, '"10x" is not a duration'),
        ("wait.p95 < forever", 12, 'expected a span of time that ends, got "forever"'),
        ("wait.p95 < -3", 12, "is negative"),
        ("utilisation < 80%", 12, 'say of which resource, as in "utilisation.cpu < 80%"'),
        ("research: utilisation.cpu < 80%", 10, "utilisation is that of the whole cluster, and of no queue"),
        ("completed > 120%", 13, '"120%" is more than all of it'),
        ("completed.mean > 1", 11, 'there is one completed in a run; write it without "mean"'),
        ("slowdown.mean < 4%", 17, 'expected a number such as 3, got "4%"'),
        ("slowdown.mean < nan", 17, "expected a number"),
        (": wait.mean < 1", 1, 'expected the name of a queue before ":"'),
    ],
)
def test_what_is_wrong_is_told_with_its_column(text: str, column: int, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_goal(text)
    assert str(caught.value).startswith(f'goal "{text}", column {column}: ')
    assert said in str(caught.value)


def test_a_goal_without_a_queue_is_of_the_one_named_beside() -> None:
    assert read_goal("wait.p95 < 1h", "research").label == "research: wait.p95"
    assert read_goal("batch: wait.p95 < 1h", "research").label == "batch: wait.p95"


@pytest.mark.parametrize(
    ("text", "is_served"),
    [
        ("wait.p95 < 1h", True),
        ("utilisation.cpu < 80%", True),
        ("utilisation.cpu > 60%", False),
        ("completed >= 99%", True),
        ("jain > 0.9", True),
    ],
)
def test_more_nodes_bring_some_goals_nearer_and_others_not(text: str, is_served: bool) -> None:
    assert read_goal(text).is_served_by_more is is_served


def test_limits_are_met_or_not_to_the_letter() -> None:
    assert not read_goal("wait.mean < 10").is_met_by(10.0)
    assert read_goal("wait.mean <= 10").is_met_by(10.0)
    assert not read_goal("wait.mean < 10").is_met_by(math.inf)
    assert not read_goal("wait.mean < 10").is_met_by(math.nan)
    assert read_goal("completed > 50%").is_met_by(0.51)
