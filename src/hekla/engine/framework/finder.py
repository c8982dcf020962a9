"""NodeFinder: one round of looking for nodes, which remembers who was refused where.

Tasks of one job and role are taken to be alike: a node that refused one of them is not asked
again while the finder lives, even where their requests differ (as in Volcano).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Mask
from hekla.engine.model.task import Task


def error_cache_argument(
    help: str = "skip nodes that refused another task of the same job and role",  # noqa: A002 - as in argument
) -> bool:
    """The switch of this memory, which several actions have under the same name."""
    return argument(True, key="predicateErrorCacheEnable", aliases=("enablePredicateErrorCache",), help=help)


NOTHING_TO_REMEMBER = (
    "accepted for Volcano's sake: each task is looked at afresh, so there is nothing to remember"
)


class PlacedRun(NamedTuple):
    """The last of several equal tasks that were placed at once, its node, and its domain."""

    task: Task
    row: int
    domain: Mask


class NodeFinder:
    """Lives as long as its memory is to last: a job's placement, or a whole action."""

    def __init__(self, session: Session, uses_memory: bool) -> None:
        self._session = session
        self._uses_memory = uses_memory
        self._refused: dict[tuple[str, str], Mask] = {}
        self._latest: PlacedRun | None = None

    def find(self, task: Task, domain: Mask, passes: Mask) -> Mask:
        """The nodes of the domain that pass now and did not refuse a task of this role before."""
        feasible = domain & passes
        if not task.role or not self._uses_memory:
            return feasible
        self._remember_run(task)
        known = self._refused.get((task.job, task.role))
        if known is None:
            self._refused[task.job, task.role] = domain & ~feasible
            return feasible
        feasible &= ~known
        known |= domain & ~feasible
        return feasible

    def find_run(self, task: Task, domain: Mask, count: int) -> list[int]:
        """The nodes for so many equal tasks, which are then placed there; fewer where room ends."""
        scoring = self._session.scoring
        feasible = self.find(task, domain, scoring.feasible_nodes(task))
        rows = scoring.best_run(task, count, feasible)
        if rows:
            self._latest = PlacedRun(task, rows[-1], domain)
        return rows

    def _remember_run(self, task: Task) -> None:
        """What the last of a run was refused by: since then, nothing but its own node has changed.

        Tasks that are equal to it see that themselves.
        """
        if self._latest is None or self._is_like(task, self._latest.task):
            return
        latest, row, domain = self._latest
        passes = self._session.scoring.feasible_nodes(latest)
        passes[row] = True
        if latest.role:
            self._refused[latest.job, latest.role] |= domain & ~passes
        self._latest = None

    def _is_like(self, task: Task, other: Task) -> bool:
        key_of = self._session.scoring.key_of
        return task.role == other.role and key_of(task) == key_of(other)

    def nominated_node(self, task: Task, domain: Mask) -> Mask | None:
        """Just the node that an earlier preemption freed for the task; None where it is not to be had."""
        row = self._session.nodes.row_of.get(task.pod.status.nominated_node_name)
        if row is None or not domain[row] or not self._session.nodes.fits_later(task, row):
            return None
        only = np.zeros(len(domain), dtype=np.bool_)
        only[row] = True
        return only
