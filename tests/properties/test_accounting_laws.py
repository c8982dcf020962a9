"""Accounts that are kept up to date step by step equal those worked out from scratch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moves import Move, make_all, moves

from hekla.engine.framework.session import Session
from hekla.engine.model.status import ALLOCATED_SET, TERMINATED_SET, Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.plugins.capacity import Capacity
from hekla.engine.plugins.drf import Drf
from hekla.engine.plugins.network_topology_aware import NetworkTopologyAware
from hekla.engine.plugins.proportion import Proportion
from hekla.testing.story import conf_of, plugin
from hekla.testing.strategies import RandomCluster, clusters, sessions

KEEPERS = conf_of(
    tiers=("drf, proportion, predicates, nodeorder, binpack", "capacity, network-topology-aware")
)
HOLDS = (*ALLOCATED_SET, Status.PIPELINED)


def plugin_of(session: Session, kind: type) -> object:
    return next(plugin for plugin in session.plugins if isinstance(plugin, kind))


def play(session: Session, made: list[Move], is_kept: bool) -> list[Task]:
    """Some moves, kept or undone; gives back the tasks that were leaving before."""
    leaving = [task for task in session.tasks if task.status is Status.RELEASING]
    statement = make_all(session, made)
    if is_kept:
        statement.commit()
    else:
        statement.discard()
    return leaving


def check_nodes(session: Session, _leaving: list[Task]) -> None:
    nodes = session.nodes
    used, releasing, pipelined = (np.zeros_like(nodes.used) for _ in range(3))
    for task in session.tasks:
        if task.node == NOWHERE or task.status in TERMINATED_SET:
            continue
        if task.status is Status.PIPELINED:
            pipelined[task.node] += task.vector
            continue
        used[task.node] += task.vector
        if task.status is Status.RELEASING:
            releasing[task.node] += task.vector
    assert (nodes.used == used).all()
    assert (nodes.releasing == releasing).all()
    assert (nodes.pipelined == pipelined).all()
    assert (nodes.idle == nodes.allocatable - used).all()
    assert (nodes.future == nodes.idle + releasing - pipelined).all()


def check_pods(session: Session, leaving: list[Task]) -> None:
    requested = np.zeros_like(session.pods.requested)
    count = np.zeros(len(session.nodes), dtype=np.int64)
    for task in session.tasks:
        is_evicted = task.status is Status.RELEASING and task not in leaving
        if task.node != NOWHERE and task.status not in TERMINATED_SET and not is_evicted:
            requested[task.node] += task.vector
            count[task.node] += 1
    assert (session.pods.requested == requested).all()
    assert (session.pods.count == count).all()


def check_shares_of_jobs_and_queues(session: Session, _leaving: list[Task]) -> None:
    drf, proportion = plugin_of(session, Drf), plugin_of(session, Proportion)
    by_queue = {name: np.zeros(len(session.axis), dtype=np.int64) for name in proportion.accounts}
    for uid, job in session.jobs.items():
        held = np.zeros(len(session.axis), dtype=np.int64)
        for task in job.roster.among(HOLDS):
            held += task.vector
        assert (drf.held[uid] == held).all()
        by_queue[job.queue] += held
    for name, account in proportion.accounts.items():
        assert (account.allocated == by_queue[name]).all()


def check_network_domains(session: Session, leaving: list[Task]) -> None:
    topology = plugin_of(session, NetworkTopologyAware)
    used = np.zeros_like(topology.used)
    for task in session.tasks:
        is_evicted = task.status is Status.RELEASING and task not in leaving
        if task.node != NOWHERE and task.status not in TERMINATED_SET and not is_evicted:
            used[[task.node in domain.rows for domain in topology.tree.all]] += task.vector
    assert (topology.used == used).all()


def check_tasks_by_status(session: Session, _leaving: list[Task]) -> None:
    for job in session.jobs.values():
        statuses = [task.status for task in job.tasks.values()]
        assert [len(job.roster.having(status)) for status in Status] == [statuses.count(s) for s in Status]
        waiting = [t for t in job.tasks.values() if t.status is Status.PENDING and t.is_best_effort]
        assert job.roster.pending_best_effort == len(waiting)
        for part in job.sub_jobs.values():
            assert [len(part.roster.having(s)) for s in Status] == [
                sum(task.status is s for task in part.roster.tasks.values()) for s in Status
            ]
        assert sum(len(part.roster) for part in job.sub_jobs.values()) == len(job.tasks)


CHECKS = (
    check_nodes,
    check_pods,
    check_shares_of_jobs_and_queues,
    check_network_domains,
    check_tasks_by_status,
)


@pytest.mark.parametrize("check", CHECKS)
@given(session=sessions(conf=KEEPERS), made=moves, is_kept=st.booleans())
def test_accounts_are_those_of_a_count_from_scratch(
    check: Callable[[Session, list[Task]], None], session: Session, made: list[Move], is_kept: bool
) -> None:
    check(session, play(session, made, is_kept))


@given(clusters(), st.booleans(), moves, st.booleans())
def test_amounts_of_queues_in_a_tree(
    cluster: RandomCluster, is_tree: bool, made: list[Move], is_kept: bool
) -> None:
    session = cluster.session(conf_of(tiers=([plugin("capacity", enableHierarchy=is_tree)],)))
    play(session, made, is_kept)
    capacity = plugin_of(session, Capacity)
    held = np.zeros_like(capacity.allocated)
    for job in session.jobs.values():
        for task in job.roster.among(HOLDS):
            held[capacity.tree.paths[capacity.tree.row_of[job.queue]]] += task.vector
    assert (capacity.allocated == held).all()


@given(clusters(), st.lists(moves, min_size=1, max_size=3))
def test_what_is_kept_per_class_of_tasks_equals_a_fresh_look(
    cluster: RandomCluster, made: list[list[Move]]
) -> None:
    """One session is asked after every step, the other only at the end."""
    asked, fresh = (cluster.session(KEEPERS) for _ in range(2))
    for part in made:
        answers_of(asked)
        make_all(asked, part)
        make_all(fresh, part)
    assert answers_of(asked) == answers_of(fresh)


def answers_of(session: Session) -> dict[str, object]:
    everywhere = np.ones(len(session.nodes), dtype=np.bool_)
    scoring = session.scoring
    return {
        task.key: (
            scoring.open_nodes(task).tolist(),
            scoring.curable_nodes(task).tolist(),
            scoring.class_of(task).fits_now.tolist(),
            scoring.class_of(task).fits_later.tolist(),
            list(scoring.ranked(task, everywhere, showing=everywhere)),
            scoring.class_of(task).scores_of(task, everywhere).tolist(),
            str(scoring.diagnose(task, everywhere, with_room=True)),
        )
        for task in session.tasks
        if task.status is Status.PENDING and task.job in session.jobs
    }
