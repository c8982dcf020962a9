"""Sla: a job that has waited longer than it may is admitted and holds what it is promised."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from hekla.conf import read_arguments
from hekla.engine.framework import points
from hekla.engine.framework.orders import job_goes_first
from hekla.engine.framework.points import Vote
from hekla.engine.framework.session import Session
from hekla.engine.plugins.sla import Sla, SlaArguments
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import seconds
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import open_session, run_cycle
from hekla.testing import JobObjects, Story, check_plugin, conf_of, job, node, plugin

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OURS, SHORT = "volcano.sh/sla-waiting-time", "sla-waiting-time"
REGISTRY = BUILTIN.with_class(Sla)
HOUR = 3600.0


def waiting(name: str, *, since: float = 0.0, **rest: object) -> JobObjects:
    """A job that was created some seconds after noon."""
    built = job(name, **{"cpu": 1, **rest})
    moment = NOON + timedelta(seconds=since)
    group = built.pod_group
    meta = msgspec.structs.replace(group.metadata, creation_timestamp=moment)
    return replace(built, pod_group=msgspec.structs.replace(group, metadata=meta))


def opened(*jobs: JobObjects, after: float = 0.0, limit: object = None) -> Session:
    """A session with sla alone, so long after noon."""
    arguments = {} if limit is None else {SHORT: limit}
    snapshot = take_snapshot(Story("sla", jobs=jobs).manifests())
    conf = conf_of(tiers=[[plugin("sla", arguments)]])
    return open_session(snapshot, conf, registry=REGISTRY, now=seconds(NOON) + after)


def vote(session: Session, name: str) -> Vote:
    sla = session.plugins[0]
    assert isinstance(sla, Sla)
    return sla.has_waited_too_long(session.jobs[f"default/{name}"])


def in_order(session: Session, left: str, right: str) -> str:
    jobs = session.jobs
    return left if job_goes_first(session, jobs[f"default/{left}"], jobs[f"default/{right}"]) else right


@pytest.mark.parametrize(
    ("after", "limit", "expect"),
    [
        (1.5 * HOUR, "1h", Vote.PERMIT),
        (HOUR, "1h", Vote.PERMIT),
        (HOUR - 1, "1h", Vote.ABSTAIN),
        (1000 * HOUR, None, Vote.ABSTAIN),
        (0.6, "500ms", Vote.PERMIT),
    ],
)
def test_a_job_that_has_waited_as_long_as_it_may_is_let_in(
    after: float, limit: str | None, expect: Vote
) -> None:
    assert vote(opened(waiting("old"), after=after, limit=limit), "old") is expect


@pytest.mark.parametrize(
    ("annotations", "expect"),
    [
        ({OURS: "10m"}, Vote.PERMIT),
        ({SHORT: "10m"}, Vote.PERMIT),
        ({OURS: "2h", SHORT: "10m"}, Vote.ABSTAIN),
        ({OURS: "soon", SHORT: "10m"}, Vote.PERMIT),
        ({OURS: "-10m"}, Vote.ABSTAIN),
        ({OURS: "0"}, Vote.ABSTAIN),
        ({}, Vote.ABSTAIN),
    ],
)
def test_a_jobs_own_limit_comes_before_the_usual_one_and_nonsense_is_passed_over(
    annotations: dict[str, str], expect: Vote
) -> None:
    session = opened(waiting("old", annotations=annotations), after=HOUR, limit="3h")
    assert vote(session, "old") is expect


@pytest.mark.parametrize("limit", [3600, "an hour", "-1h", "0s", ""])
def test_a_usual_limit_that_is_no_span_of_time_is_told_and_counts_as_none(limit: object) -> None:
    arguments, mistakes = read_arguments(SlaArguments, {SHORT: limit}, "sla")
    assert arguments == SlaArguments()
    assert len(mistakes) == 1


def test_jobs_with_a_limit_go_first_and_among_them_the_earliest_deadline() -> None:
    session = opened(
        waiting("none"),
        waiting("late", since=10, annotations={OURS: "2h"}),
        waiting("early", since=20, annotations={OURS: "1h"}),
        waiting("same", since=20, annotations={OURS: "60m"}),
    )
    assert in_order(session, "none", "late") == "late"
    assert in_order(session, "late", "early") == "early"
    keys = [session.ask(points.JOB_ORDER, session.jobs[f"default/{name}"]) for name in ("early", "same")]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("tiers", "phase"),
    [
        ((["sla"], ["overcommit"]), "Inqueue"),
        ((["sla", "overcommit"],), "Pending"),
        ((["overcommit"], ["sla"]), "Pending"),
    ],
    ids=["in an earlier tier sla overrules others", "in the same tier a no wins", "in a later tier, too"],
)
def test_a_no_counts_unless_sla_has_settled_it_in_an_earlier_tier(
    tiers: tuple[list[str], ...], phase: str
) -> None:
    entries = [[plugin(name, {SHORT: "1h"} if name == "sla" else {}) for name in tier] for tier in tiers]
    huge = waiting("huge", cpu=50, min_resources={"cpu": 50}, phase="Pending")
    manifests = Story("sla", nodes=[node("n1", cpu=4)], jobs=[huge]).manifests()
    report = run_cycle(
        take_snapshot(manifests),
        conf_of("enqueue", entries),
        registry=REGISTRY,
        now=seconds(NOON) + 1.5 * HOUR,
    )
    assert report.session.jobs["default/huge"].phase == phase


def test_sla_keeps_the_contract_of_plugins() -> None:
    check_plugin(Sla)
    check_plugin(Sla, {SHORT: "1h30m"})
