"""Shortcuts are for speed alone: with all of them switched off the decisions are the same."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from moves import Move, deeds, make_all, moves

from hekla.conf import Conf, PluginEntry, Tier
from hekla.engine.actions import at_once, placing
from hekla.engine.actions.placing import choose
from hekla.engine.framework import standings
from hekla.engine.framework.decisions import Bind
from hekla.engine.framework.orders import comparison_of_queues
from hekla.engine.framework.session import Session
from hekla.engine.framework.shortcuts import NO_SHORTCUT
from hekla.engine.framework.standings import FEW_LATECOMERS, FEW_LOOKS, LOOKS_PER_REQUEST, MANY_QUESTIONS
from hekla.engine.ledger import looks
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.testing.builders import job, node, queue
from hekla.testing.conf_strategies import confs
from hekla.testing.special_strategies import gang_clusters, gang_confs, medley_confs, medleys
from hekla.testing.strategies import CROWDED, Cluster, clusters, sessions

USUAL = Conf(
    ("enqueue", "allocate", "backfill"),
    (
        Tier(tuple(map(PluginEntry, ("priority", "gang", "conformance")))),
        Tier(tuple(map(PluginEntry, ("overcommit", "drf", "predicates", "proportion", "nodeorder")))),
    ),
)
CONTENDED = ("running", "running", "pending")
"""Nodes are full, and about as many tasks wait as could be evicted."""


@given(cluster=clusters(), conf=confs())
def test_the_long_way_leads_to_the_same_decisions(cluster: Cluster, conf: Conf) -> None:
    quick = cluster.cycle(conf).decisions
    assert deeds(cluster.cycle(conf, NO_SHORTCUT).decisions) == deeds(quick)


@given(cluster=clusters(places=CROWDED), conf=confs())
def test_so_it_does_in_crowded_clusters(cluster: Cluster, conf: Conf) -> None:
    quick = cluster.cycle(conf).decisions
    assert deeds(cluster.cycle(conf, NO_SHORTCUT).decisions) == deeds(quick)


@given(cluster=gang_clusters(), conf=gang_confs(), worth_planning=st.sampled_from([2, 5, 17, 50]))
def test_so_it_does_for_whole_gangs(cluster: Cluster, conf: Conf, worth_planning: int) -> None:
    with (
        patch.object(at_once, "WORTH_PLANNING", worth_planning),
        patch.object(placing, "WORTH_PLANNING", worth_planning),
    ):
        quick = cluster.cycle(conf)
    slow = cluster.cycle(conf, NO_SHORTCUT)
    assert quick.decisions == slow.decisions
    assert [task.node for task in quick.session.tasks] == [task.node for task in slow.session.tasks]


@given(
    cluster=clusters(most_jobs=7, places=CONTENDED),
    conf=confs(actions=("allocate", "preempt", "reclaim"), always=("priority", "gang", "drf", "predicates")),
)
def test_so_it_does_where_gangs_look_for_victims(cluster: Cluster, conf: Conf) -> None:
    quick = cluster.cycle(conf).decisions
    assert deeds(cluster.cycle(conf, NO_SHORTCUT).decisions) == deeds(quick)


@given(cluster=medleys(), conf=medley_confs())
def test_so_it_does_where_every_job_asks_for_something_else(cluster: Cluster, conf: Conf) -> None:
    quick, slow = cluster.cycle(conf), cluster.cycle(conf, NO_SHORTCUT)
    assert quick.decisions == slow.decisions
    assert [task.node for task in quick.session.tasks] == [task.node for task in slow.session.tasks]
    assert told(quick.session) == told(slow.session)


@given(
    cluster=medleys(),
    conf=medley_confs(),
    made=st.lists(st.tuples(moves, st.booleans()), max_size=4),
    expected=st.integers(0, 12),
    many_questions=st.sampled_from([0, MANY_QUESTIONS]),
    few_looks=st.sampled_from([0, FEW_LOOKS]),
    few_latecomers=st.sampled_from([1, FEW_LATECOMERS]),
    looks_per_request=st.sampled_from([1, LOOKS_PER_REQUEST]),
    most_looks=st.sampled_from([1, looks.MOST_LOOKS]),
)
def test_the_standings_tell_what_a_closer_look_does(
    cluster: Cluster,
    conf: Conf,
    made: Sequence[tuple[Sequence[Move], bool]],
    expected: int,
    many_questions: int,
    few_looks: int,
    few_latecomers: int,
    looks_per_request: int,
    most_looks: int,
) -> None:
    """Whether looks are worked out for one request, as after few questions, or for all requests at once."""
    with (
        patch.object(standings, "FEW_LOOKS", few_looks),
        patch.object(standings, "FEW_LATECOMERS", few_latecomers),
        patch.object(standings, "LOOKS_PER_REQUEST", looks_per_request),
        patch.object(looks, "MOST_LOOKS", most_looks),
        patch.object(looks, "LOOKS_PER_NODE", 1),
    ):
        session = cluster.session(conf)
        if session.fitting.has_standings:
            session.fitting.expect(waiting_tasks(session)[:expected])
            session.fitting.expect(waiting_tasks(session)[:1] * many_questions)
        hold_standings_against_a_closer_look(session, made)


def hold_standings_against_a_closer_look(
    session: Session, made: Sequence[tuple[Sequence[Move], bool]]
) -> None:
    for some_moves, is_undone in made:
        assert told_by_standings(session) == seen_at_a_closer_look(session)
        statement = make_all(session, some_moves)
        told_by_standings(session)
        if is_undone:
            statement.discard()
    assert told_by_standings(session) == seen_at_a_closer_look(session)


@given(cluster=clusters(), conf=confs(always=("proportion",)))
def test_the_keys_of_queues_tell_what_comparing_them_does(cluster: Cluster, conf: Conf) -> None:
    session = cluster.cycle(conf).session
    keys = session.queue_keys
    if keys is None:
        return
    goes_first = comparison_of_queues(session)
    queues = [session.queues[name] for name in sorted({job.queue for job in session.jobs.values()})]
    by_key = sorted(queues, key=lambda queue: ([key(queue) for key in keys], queue.created, queue.name))
    for place, left in enumerate(by_key):
        assert not any(goes_first(right, left) for right in by_key[place:])


def told(session: Session) -> dict[str, list[str]]:
    return {uid: [str(note) for note in notes] for uid, notes in session.story.jobs.items() if notes}


def waiting_tasks(session: Session) -> list[Task]:
    return [task for task in session.tasks if task.status is Status.PENDING and not task.is_best_effort]


def told_by_standings(session: Session) -> dict[str, int | None]:
    if not session.fitting.has_standings:
        return seen_at_a_closer_look(session)
    return {task.key: session.fitting.best_with_room(task) for task in waiting_tasks(session)}


def seen_at_a_closer_look(session: Session) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for task in waiting_tasks(session):
        known = session.fitting.class_of(task)
        feasible = session.fitting.narrowed(task, known.is_open) & known.fits_later
        choice = choose(session, task, known, np.asarray(feasible))
        found[task.key] = choice.row if choice is not None and choice.has_room else None
    return found


def test_standings_are_there_for_the_plugins_that_most_clusters_use() -> None:
    nodes = (node("n0", cpu=4, memory="8Gi"), node("n1", cpu=8, memory="8Gi"))
    jobs = [job("a", tasks=2, cpu=1, memory="1Gi"), job("b", tasks=2, cpu=2, memory="1Gi")]
    cluster = Cluster(nodes, tuple(one for built in jobs for one in built.objects))
    session = cluster.session(USUAL)
    assert session.fitting.has_standings
    assert set(told_by_standings(session).values()) == {1}


def test_pods_may_ask_for_dozens_of_resources() -> None:
    devices = {f"example.com/device{number}": 4 for number in range(40)}
    nodes = tuple(node(f"n{at}", cpu=64, memory="64Gi", resources=devices) for at in range(3))
    asks = [dict.fromkeys(devices, number % 2 + 1) for number in range(20)]
    jobs = [job(f"j{at}", tasks=1, cpu=1, memory="1Gi", resources=asked) for at, asked in enumerate(asks)]
    cluster = Cluster(nodes, (queue("default"), *(one for built in jobs for one in built.objects)))
    quick, slow = cluster.cycle(USUAL), cluster.cycle(USUAL, NO_SHORTCUT)
    assert quick.session.fitting.has_standings
    assert deeds(quick.decisions) == deeds(slow.decisions) != []


def test_a_request_that_came_late_is_told_of_looks_that_nobody_asked_for() -> None:
    nodes = tuple(node(f"n{at}", cpu=16, memory="16Gi") for at in range(4))
    asking = [job(name, tasks=1, cpu=cpu, memory="1Gi") for cpu, name in enumerate("abcd", start=1)]
    fillers = [job(f"filler{at}", tasks=1, cpu=5, memory=f"{4 - at}Gi") for at in range(4)]
    objects = (queue("default"), *(one for built in (*asking, *fillers) for one in built.objects))
    with (
        patch.object(standings, "MANY_QUESTIONS", 0),
        patch.object(standings, "LOOKS_PER_REQUEST", 1),
        patch.object(standings, "FEW_LATECOMERS", 1),
    ):
        session = Cluster(nodes, objects).session(USUAL)
        (first, second, third, late), fillers_of = list(session.tasks)[:4], list(session.tasks)[4:]
        session.fitting.expect([first, second])
        session.fitting.best_with_room(first)
        for row, filler in enumerate(fillers_of):
            session.put(filler, row, Status.ALLOCATED)
        session.fitting.best_with_room(third)
        told = session.fitting.best_with_room(late)
    assert told == seen_at_a_closer_look(session)[late.key] != 0


def test_a_pod_may_ask_for_more_places_for_pods_than_its_own() -> None:
    nodes = tuple(node(name, cpu=8, memory="8Gi", pods=3) for name in ("n0", "n1"))
    running = [
        job("small", tasks=2, running={"n0": 2}, cpu=1, memory="1Gi"),
        job("large", tasks=1, running={"n1": 1}, cpu=2, memory="2Gi"),
    ]
    wide = job("wide", tasks=1, cpu=1, memory="1Gi", resources={"pods": 1})
    objects = (queue("default"), *(one for built in (*running, wide) for one in built.objects))
    report = Cluster(nodes, objects).cycle(USUAL)
    assert report.session.fitting.has_standings
    assert [bind.node for bind in deeds(report.decisions) if isinstance(bind, Bind)] == ["n1"]


def test_a_cluster_without_nodes_has_no_standings() -> None:
    report = Cluster((), tuple(job("a", tasks=2, cpu=1).objects)).cycle(USUAL)
    assert not report.session.fitting.has_standings
    assert not deeds(report.decisions)


@given(session=sessions(), made=moves)
def test_a_job_that_is_not_in_line_runs_whole(session: Session, made: Sequence[Move]) -> None:
    make_all(session, made)
    line = session.jobs_in_line()
    assert line == [job for job in session.all_jobs if job in line]
    assert all(job.runs_whole for job in session.all_jobs if job not in line)
