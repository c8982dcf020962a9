"""Queues never grow beyond what they may hold, whichever action does the placing."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from hekla.conf import Conf
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts
from hekla.engine.plugins.capacity import Capacity
from hekla.engine.plugins.proportion import Proportion
from hekla.testing.conf_strategies import confs
from hekla.testing.strategies import RandomCluster, clusters

PLACING = ("enqueue", "allocate", "backfill")


def limited(name: str) -> object:
    """Configurations in which that plugin guards the queues."""
    flat = confs(actions=PLACING, always=(name,), switches={name: {}})
    if name != "capacity":
        return flat
    return flat | confs(actions=PLACING, always=(name,), switches={name: {"enableHierarchy": True}})


@given(clusters(), limited("proportion"))
def test_a_queue_never_grows_beyond_its_limit(cluster: RandomCluster, conf: Conf) -> None:
    after = cluster.cycle(conf).session
    start, end = accounts_of(cluster.session(conf)), accounts_of(after)
    for name, account in end.items():
        bounds = account.bounds
        limit = np.maximum(np.maximum(bounds.limit, bounds.guarantee), start[name].allocated)
        assert is_within(account.allocated, limit, after.axis.pods)


def accounts_of(session: Session) -> dict[str, object]:
    return next(plugin.accounts for plugin in session.plugins if isinstance(plugin, Proportion))


@given(clusters(), limited("capacity"))
def test_neither_a_queue_nor_a_branch_grows_beyond_its_capability(cluster: RandomCluster, conf: Conf) -> None:
    before, after = cluster.session(conf), cluster.cycle(conf).session
    start, end = capacity_of(before), capacity_of(after)
    limit = np.maximum(end.entitled.limit, start.allocated)
    assert is_within(end.allocated, limit, after.axis.pods)


def capacity_of(session: Session) -> Capacity:
    return next(plugin for plugin in session.plugins if isinstance(plugin, Capacity))


def is_within(amounts: Amounts, limit: Amounts, pods: int) -> bool:
    """Pods are not counted: no queue is limited by them."""
    within = amounts <= limit
    within[..., pods] = True
    return bool(within.all())
