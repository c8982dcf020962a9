"""Shortcuts are for speed alone: with all of them switched off the decisions are the same."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from moves import Move, make_all, moves

from hekla.conf import Conf
from hekla.framework.decisions import Bind, Decision, Evict
from hekla.framework.session import Session
from hekla.framework.shortcuts import NO_SHORTCUT
from hekla.testing.conf_strategies import confs
from hekla.testing.gangs import gang_clusters, gang_confs
from hekla.testing.strategies import CROWDED, Cluster, clusters, sessions

CONTENDED = ("running", "running", "pending")
"""Nodes are full, and about as many tasks wait as could be evicted."""


def deeds(decisions: Sequence[Decision]) -> list[Decision]:
    return [decision for decision in decisions if isinstance(decision, Bind | Evict)]


@given(cluster=clusters(), conf=confs())
def test_the_long_way_leads_to_the_same_decisions(cluster: Cluster, conf: Conf) -> None:
    quick = cluster.cycle(conf).decisions
    assert deeds(cluster.cycle(conf, NO_SHORTCUT).decisions) == deeds(quick)


@given(cluster=clusters(places=CROWDED), conf=confs())
def test_so_it_does_in_crowded_clusters(cluster: Cluster, conf: Conf) -> None:
    quick = cluster.cycle(conf).decisions
    assert deeds(cluster.cycle(conf, NO_SHORTCUT).decisions) == deeds(quick)


@given(cluster=gang_clusters(), conf=gang_confs())
def test_so_it_does_for_whole_gangs(cluster: Cluster, conf: Conf) -> None:
    quick, slow = cluster.cycle(conf), cluster.cycle(conf, NO_SHORTCUT)
    assert quick.decisions == slow.decisions
    assert [task.node for task in quick.session.tasks] == [task.node for task in slow.session.tasks]


@given(
    cluster=clusters(most_jobs=7, places=CONTENDED),
    conf=confs(actions=("allocate", "preempt", "reclaim"), always=("priority", "gang", "drf", "predicates")),
)
def test_so_it_does_where_gangs_look_for_victims(cluster: Cluster, conf: Conf) -> None:
    quick = cluster.cycle(conf).decisions
    assert deeds(cluster.cycle(conf, NO_SHORTCUT).decisions) == deeds(quick)


@given(session=sessions(), made=moves)
def test_whoever_is_not_settled_is_in_line(session: Session, made: Sequence[Move]) -> None:
    make_all(session, made)
    line = session.jobs_in_line()
    assert line == [job for job in session.all_jobs if job in line]
    assert all(job.runs_whole for job in session.all_jobs if job not in line)
