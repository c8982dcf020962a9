"""Shortcuts are for speed alone: with all of them switched off the decisions are the same."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given

from hekla.conf import Conf
from hekla.framework.decisions import Bind, Decision, Evict
from hekla.framework.shortcuts import NO_SHORTCUT
from hekla.testing.conf_strategies import confs
from hekla.testing.gangs import gang_clusters, gang_confs
from hekla.testing.strategies import CROWDED, Cluster, clusters


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
