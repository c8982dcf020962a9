"""NodeFinder: one round of looking for nodes, which remembers who was refused where.

Tasks of one job and role are taken to be alike: a node that refused one of them is not asked
again while the finder lives, even where their requests differ (as in Volcano).
"""

from __future__ import annotations

import numpy as np

from hekla.conf import argument
from hekla.framework.session import Session
from hekla.ledger.arrays import Mask
from hekla.model.task import Task


def error_cache_argument(
    help: str = "skip nodes that refused another task of the same job and role",  # noqa: A002 - as in argument
) -> bool:
    """The switch of this memory, which several actions have under the same name."""
    return argument(True, key="predicateErrorCacheEnable", aliases=("enablePredicateErrorCache",), help=help)


NOTHING_TO_REMEMBER = (
    "accepted for Volcano's sake: each task is looked at afresh, so there is nothing to remember"
)


class NodeFinder:
    """Lives as long as its memory is to last: a job's placement, or a whole action."""

    def __init__(self, session: Session, uses_memory: bool) -> None:
        self._session = session
        self._uses_memory = uses_memory
        self._refused: dict[tuple[str, str], Mask] = {}

    def find(self, task: Task, domain: Mask, passes: Mask) -> Mask:
        """The nodes of the domain that pass now and did not refuse a task of this role before."""
        feasible = domain & passes
        if not task.role or not self._uses_memory:
            return feasible
        role = (task.job, task.role)
        known = self._refused.get(role)
        if known is None:
            self._refused[role] = domain & ~feasible
            return feasible
        feasible &= ~known
        known |= domain & ~feasible
        return feasible

    def refuse(self, task: Task, row: int) -> None:
        """One node refuses tasks of this role from now on."""
        known = self._refused.get((task.job, task.role))
        if known is not None:
            known[row] = True

    def among_nominated(self, task: Task, domain: Mask, passes: Mask) -> Mask | None:
        """Just the node that an earlier preemption promised the task; None where it is not to be had."""
        row = self._session.nodes.row_of.get(task.pod.status.nominated_node_name)
        if row is None or not domain[row] or not self._session.nodes.fits_later(task, row):
            return None
        only = np.zeros(len(domain), dtype=np.bool_)
        only[row] = True
        feasible = self.find(task, only, passes)
        return feasible if feasible.any() else None
