"""Laws of a whole cycle: whatever the cluster and the configuration, these hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.conf import Conf, PluginEntry, Tier, read_arguments
from hekla.engine.explain.explanation import explain
from hekla.engine.framework.decisions import Bind, Decision, Evict
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.plugins.conformance import is_critical
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport
from hekla.testing.conf_strategies import confs
from hekla.testing.story import conf_of
from hekla.testing.strategies import CROWDED, RandomCluster, clusters

PLACING = ("enqueue", "allocate", "backfill")
EVICTING = ("allocate", "preempt", "reclaim", "backfill", "gangpreempt", "gangreclaim")
GANG_AWARE = ("gangpreempt", "gangreclaim")
PROTECTED = Conf(
    ("allocate", "preempt", "reclaim"),
    (
        Tier(
            tuple(
                PluginEntry(name, switches)
                for name, switches in (
                    ("priority", {}),
                    ("gang", {"enablePreemptable": False}),
                    ("predicates", {}),
                    ("conformance", {}),
                )
            )
        ),
    ),
)
"""Conformance speaks last in the only tier, so nothing it spares can come back in."""

TAKES_RESERVED_ROOM = conf_of(
    "allocate, backfill",
    ("priority, gang", "predicates"),
    {"allocate": {"unreadyPolicy": "hold"}, "backfill": {"kubeBatchBackfillEnable": True}},
)


def evictions(report: CycleReport) -> list[Evict]:
    return [decision for decision in report.decisions if isinstance(decision, Evict)]


def task_of(session: Session, uid: str) -> Task:
    return next(task for task in session.tasks if task.uid == uid)


@pytest.mark.parametrize("makes_room", [False, True])
@given(data=st.data())
def test_no_node_is_overcommitted(makes_room: bool, data: st.DataObject) -> None:
    cluster = data.draw(clusters(places=CROWDED) if makes_room else clusters())
    conf = data.draw(confs(actions=EVICTING) if makes_room else confs())
    nodes = cluster.cycle(conf).session.nodes
    counted = np.ones(len(nodes.axis), dtype=np.bool_)
    # Backfill asks plugins, not the ledger, whether one pod more is welcome.
    counted[nodes.axis.pods] = not makes_room and "backfill" not in conf.actions
    assert (nodes.idle[:, counted] >= 0).all()
    assert (nodes.future[:, counted] >= 0).all()


@given(
    clusters(),
    confs(always=("gang",), switches={"gang": {}}, fixed={"allocate": {"onPipelined": "keep"}}),
)
def test_no_gang_is_half_bound(cluster: RandomCluster, conf: Conf) -> None:
    """Unless `onPipelined: commit` asks for it."""
    assert not half_bound(cluster.cycle(conf))


@given(clusters(most_nodes=2, most_jobs=6, places=("pending",)))
def test_no_gang_is_half_bound_by_taking_reserved_room(cluster: RandomCluster) -> None:
    assert not half_bound(cluster.cycle(TAKES_RESERVED_ROOM))


def half_bound(report: CycleReport) -> list[str]:
    """Jobs of which something was bound, but less than starts together."""
    bound = {task_of(report.session, d.uid).job for d in report.decisions if isinstance(d, Bind)}
    gone = {d.uid for d in evictions(report)}
    return [
        uid for uid in bound if started(report.session.jobs[uid], gone) < report.session.jobs[uid].minimum
    ]


def started(job: Job, gone: set[str]) -> int:
    """Places that are only held do not count; evictions came later; best-effort tasks may still wait."""
    waiting = (Status.PENDING, Status.PIPELINED)
    return (
        job.roster.ready
        - len(job.roster.having(Status.ALLOCATED))
        + sum(task in gone for task in job.tasks)
        + sum(task.is_best_effort and task.status in waiting for task in job.tasks.values())
    )


@given(clusters(), confs())
def test_a_task_is_bound_at_most_once_and_only_where_it_stands(cluster: RandomCluster, conf: Conf) -> None:
    report = cluster.cycle(conf)
    binds = [d for d in report.decisions if isinstance(d, Bind)]
    assert len({d.uid for d in binds}) == len(binds)
    for bind in binds:
        task = task_of(report.session, bind.uid)
        assert task.node_name == bind.node
        assert task.status is Status.BINDING
        assert not task.is_gated
    gone = evictions(report)
    assert len({d.uid for d in gone}) == len(gone)
    assert not {d.uid for d in gone} & {d.uid for d in binds}


@given(clusters(), confs())
def test_the_same_cluster_gets_the_same_decisions(cluster: RandomCluster, conf: Conf) -> None:
    assert decided(cluster, conf) == decided(cluster, conf)


@given(clusters(), confs(), st.randoms(use_true_random=False))
def test_the_order_in_which_objects_are_listed_does_not_matter(
    cluster: RandomCluster, conf: Conf, chance: object
) -> None:
    others = list(cluster.others)
    chance.shuffle(others)
    shuffled = decided(cluster.with_others(others), conf)
    straight = decided(cluster, conf)
    assert sorted(map(repr, shuffled)) == sorted(map(repr, straight))
    # Binds and evictions even come in the same order.
    assert [d for d in shuffled if isinstance(d, Bind | Evict)] == [
        d for d in straight if isinstance(d, Bind | Evict)
    ]


def decided(cluster: RandomCluster, conf: Conf) -> list[Decision]:
    return cluster.cycle(conf).decisions


@given(clusters(places=CROWDED), confs(actions=EVICTING, always=("priority", "conformance")))
def test_no_pod_is_evicted_for_a_job_that_is_not_promised_the_room(
    cluster: RandomCluster, conf: Conf
) -> None:
    report = cluster.cycle(conf)
    for eviction in evictions(report):
        takers = report.session.jobs[eviction.beneficiary].tasks.values()
        # Gang-aware actions take whole bundles in a domain. Backfill gives back the promise of a task
        # that needs no room.
        assert any(
            (task.status is Status.PIPELINED and (task.node_name == eviction.node or is_gang_aware(eviction)))
            or task.is_best_effort
            for task in takers
        )


def is_gang_aware(eviction: Evict) -> bool:
    return eviction.reason in GANG_AWARE


@given(clusters(places=CROWDED), confs(actions=EVICTING, always=("gang",)))
def test_every_cycle_can_be_explained(cluster: RandomCluster, conf: Conf) -> None:
    session = cluster.cycle(conf).session
    for job in session.jobs.values():
        assert str(explain(session, job)).startswith(job.uid)


@given(confs())
def test_drawn_configurations_make_sense(conf: Conf) -> None:
    for tier in conf.tiers:
        for entry in tier.plugins:
            arguments = BUILTIN.plugins[entry.name].Arguments
            assert not read_arguments(arguments, entry.arguments, entry.name)[1]
    for name in conf.actions:
        assert not read_arguments(BUILTIN.actions[name].Arguments, conf.arguments_of(name), name)[1]


@given(clusters(places=CROWDED))
def test_what_may_not_be_evicted_is_not(cluster: RandomCluster) -> None:
    report = cluster.cycle(PROTECTED)
    for eviction in evictions(report):
        task = task_of(report.session, eviction.uid)
        assert task.is_preemptable
        assert not is_critical(task)
        assert task.job != ""


@given(clusters(), confs(actions=PLACING))
def test_placing_evicts_no_pod(cluster: RandomCluster, conf: Conf) -> None:
    assert not evictions(cluster.cycle(conf))


@given(clusters(places=CROWDED))
def test_reclaim_leaves_the_own_queue_and_unwilling_ones_alone(cluster: RandomCluster) -> None:
    report = cluster.cycle(conf_of("reclaim", ("priority, conformance",)))
    session = report.session
    for eviction in evictions(report):
        giver = session.jobs[task_of(session, eviction.uid).job].queue
        assert giver != session.jobs[eviction.beneficiary].queue
        assert session.queues[giver].is_reclaimable


@given(clusters(places=CROWDED))
def test_preempt_stays_inside_the_queue_and_takes_only_from_the_less_important(
    cluster: RandomCluster,
) -> None:
    report = cluster.cycle(conf_of("preempt", ("priority",)))
    session = report.session
    for eviction in evictions(report):
        victim = task_of(session, eviction.uid)
        theirs, mine = session.jobs[victim.job], session.jobs[eviction.beneficiary]
        assert theirs.queue == mine.queue
        assert theirs is mine or theirs.priority < mine.priority
