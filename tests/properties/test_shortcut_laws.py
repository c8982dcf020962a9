"""Shortcuts are for speed alone: with all of them switched off the decisions are the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given

from hekla.actions import preempt, reclaim
from hekla.actions.domain_search import DomainSearch
from hekla.conf import Conf
from hekla.framework.decisions import Bind, Decision, Evict
from hekla.framework.fitting import Fitting
from hekla.testing.conf_strategies import confs
from hekla.testing.strategies import CROWDED, Cluster, clusters


def deeds(decisions: Sequence[Decision]) -> list[Decision]:
    return [decision for decision in decisions if isinstance(decision, Bind | Evict)]


def the_long_way(patch: pytest.MonkeyPatch) -> None:
    """Look at all nodes for every task, try every domain, and rule nothing out beforehand."""
    patch.setattr(Fitting, "is_steady", lambda _self: False)
    patch.setattr(DomainSearch, "_with_room", lambda _self, gradient, _worksheet: gradient)
    patch.setattr(DomainSearch, "_scores_known", lambda _self, _gradient, _worksheet: None)
    for action in (preempt, reclaim):
        patch.setattr(
            action, "would_fit", lambda session, _task, _held: np.ones(len(session.nodes), np.bool_)
        )


@given(cluster=clusters(), conf=confs())
def test_the_long_way_leads_to_the_same_decisions(cluster: Cluster, conf: Conf) -> None:
    quick = deeds(cluster.cycle(conf).decisions)
    with pytest.MonkeyPatch.context() as patch:
        the_long_way(patch)
        assert deeds(cluster.cycle(conf).decisions) == quick


@given(cluster=clusters(places=CROWDED), conf=confs())
def test_so_it_does_in_crowded_clusters(cluster: Cluster, conf: Conf) -> None:
    quick = deeds(cluster.cycle(conf).decisions)
    with pytest.MonkeyPatch.context() as patch:
        the_long_way(patch)
        assert deeds(cluster.cycle(conf).decisions) == quick
