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


class Note(NamedTuple):
    """The last task that got a node found in other ways, which node that is, and among which it was."""

    task: Task
    row: int
    domain: Mask


class NodeFinder:
    """Lives as long as its memory is to last: a job's placement, or a whole action."""

    def __init__(self, session: Session, uses_memory: bool) -> None:
        self._session = session
        self._uses_memory = uses_memory
        self._refused: dict[tuple[str, str], Mask] = {}
        self._noted: Note | None = None

    def find(self, task: Task, domain: Mask, passes: Mask) -> Mask:
        """The nodes of the domain that pass now and did not refuse a task of this role before."""
        self._work_out_note()
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

    def note(self, task: Task, row: int, domain: Mask) -> bool:
        """The task is about to get a node that was found in other ways; False where memory has a say in that.

        Whom it was refused by is worked out once another kind of task asks for it, which is seldom.
        """
        if not task.role or not self._uses_memory:
            return True
        key_of, noted = self._session.fitting.key_of, self._noted
        if noted is not None and (noted.task.role != task.role or key_of(noted.task) != key_of(task)):
            self._work_out_note()
        if (task.job, task.role) in self._refused:
            return False
        self._noted = Note(task, row, domain)
        return True

    def _work_out_note(self) -> None:
        """Remember whom the noted task was refused by: since then, nothing but its own node has changed."""
        if self._noted is None:
            return
        (task, row, domain), fitting = self._noted, self._session.fitting
        known = fitting.class_of(task)
        passes = fitting.narrowed(task, known.is_open) & known.fits_later
        passes[row] = True
        self._refused[task.job, task.role] = domain & ~passes
        self._noted = None

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
