"""Cdp: a pod that has just started is left alone for its cooldown time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from hekla.engine.framework import points
from hekla.engine.plugins.cdp import Cdp
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Condition, Pod, seconds
from hekla.objects.keys import COOLDOWN_TIME
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import open_session
from hekla.testing import check_plugin, conf_of, node, pod

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SCHEDULED = Condition(type="PodScheduled", status="True", last_transition_time=NOON)
FIVE_MINUTES = 300.0


def elastic(*conditions: Condition, phase: str = "Running", **meta: dict[str, str]) -> Pod:
    """A pod on a node, with these conditions."""
    built = pod("elastic", on="n1", phase=phase, **meta)
    return msgspec.structs.replace(built, status=msgspec.structs.replace(built.status, conditions=conditions))


def is_protected(candidate: Pod, after: float) -> bool:
    """Do preempt and reclaim both have to leave it alone, so long after it was scheduled?"""
    snapshot = take_snapshot([node("n1"), candidate, pod("new")])
    registry = BUILTIN.with_class(Cdp)
    session = open_session(snapshot, conf_of(tiers=["cdp"]), registry=registry, now=seconds(NOON) + after)
    runs, new = session.tasks
    answers = {tuple(ask(new, [runs])) for ask in (session.preemptable, session.reclaimable)}
    assert len(answers) == 1
    return answers == {()}


TEN_MINUTES = {"labels": {COOLDOWN_TIME: "600s"}}


def test_a_pod_that_runs_is_protected_for_its_cooldown() -> None:
    assert is_protected(elastic(SCHEDULED, **TEN_MINUTES), FIVE_MINUTES)
    assert not is_protected(elastic(SCHEDULED, **TEN_MINUTES), 600)


def test_a_pod_that_is_only_bound_may_be_evicted() -> None:
    assert not is_protected(elastic(SCHEDULED, phase="Pending", **TEN_MINUTES), FIVE_MINUTES)


@pytest.mark.parametrize(
    ("labels", "annotations", "expect"),
    [
        ({}, {COOLDOWN_TIME: "10m"}, True),
        ({COOLDOWN_TIME: "1m"}, {COOLDOWN_TIME: "10m"}, False),
        ({COOLDOWN_TIME: "soon"}, {COOLDOWN_TIME: "10m"}, False),
        ({COOLDOWN_TIME: "600"}, {}, False),
        ({}, {}, False),
    ],
    ids=[
        "an annotation will do",
        "the label comes first",
        "a label that cannot be read is no protection, whatever the annotation says",
        "a number without a unit is no time",
        "no pod is protected unasked",
    ],
)
def test_where_the_cooldown_is_written(
    labels: dict[str, str], annotations: dict[str, str], expect: bool
) -> None:
    candidate = elastic(SCHEDULED, labels=labels, annotations=annotations)
    assert is_protected(candidate, FIVE_MINUTES) is expect


def later(moment: datetime) -> Condition:
    return msgspec.structs.replace(SCHEDULED, last_transition_time=moment + timedelta(hours=1))


def test_the_first_condition_that_says_scheduled_counts() -> None:
    unscheduled = msgspec.structs.replace(later(NOON), status="False")
    assert not is_protected(elastic(unscheduled, **TEN_MINUTES), FIVE_MINUTES)
    assert is_protected(elastic(unscheduled, SCHEDULED, **TEN_MINUTES), FIVE_MINUTES)
    assert not is_protected(elastic(SCHEDULED, later(NOON), **TEN_MINUTES), 700)


def test_gang_aware_actions_do_not_ask() -> None:
    registry = BUILTIN.with_class(Cdp)
    session = open_session(take_snapshot([]), conf_of(tiers=["cdp"]), registry=registry)
    assert not session.has_answer(points.UNIFIED_EVICTABLE)


def test_cdp_keeps_the_contract_of_plugins() -> None:
    check_plugin(Cdp)
