"""Hdrf: dominant shares in a tree of queues, so that departments are fair before their teams are.

Queues say where they stand by annotation: `volcano.sh/hierarchy: root/eng/prod` with weights
`volcano.sh/hierarchy-weights: 1/2/8`. A branch that cannot use more (saturated) does not hold
its siblings back: its part is counted as it is, while the others are scaled to the poorest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats, Indices, Mask
from hekla.engine.model.job import Job
from hekla.engine.model.queue import Queue
from hekla.engine.model.task import Task
from hekla.objects.keys import HIERARCHY, HIERARCHY_WEIGHTS

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session


@dataclass(eq=False)
class Branch:
    """A queue path element, or, without children, one job."""

    weight: float = 1.0
    job: str = ""
    request: Floats = field(default_factory=lambda: np.zeros(0))
    children: dict[str, Branch] = field(default_factory=dict)
    allocated: Floats = field(default_factory=lambda: np.zeros(0))
    share: float = 0.0
    is_saturated: bool = False


class ShareTree:
    """The tree of all jobs under their queues' paths; recomputed whole when asked after a change."""

    def __init__(
        self, session: Session, held: Mapping[str, Amounts], offered: Indices, total: Floats
    ) -> None:
        self._session = session
        self._held = held
        self._offered = offered
        self._total = total
        self._root = Branch()
        self._paths: dict[str, list[Branch]] = {}
        for uid in sorted(session.jobs):
            self._hang(session.jobs[uid])
        self.is_stale = True

    def _hang(self, job: Job) -> None:
        queue = self._session.queues[job.queue]
        path = self._paths.get(queue.name) or self._grow(queue)
        vectors = [task.vector[self._offered] for task in job.roster.tasks.values()]
        request = np.zeros(len(self._offered))
        for vector in vectors:
            request += vector
        path[-1].children[f"job {job.uid}"] = Branch(job=job.uid, request=request)

    def _grow(self, queue: Queue) -> list[Branch]:
        names = queue.annotations.get(HIERARCHY, "").split("/")
        weights = queue.annotations.get(HIERARCHY_WEIGHTS, "").split("/")
        path = [self._root]
        for level, name in enumerate(names[1:], start=1):
            children = path[-1].children
            if name not in children:
                children[name] = Branch(weight=_weight(weights, level))
            path.append(children[name])
        self._paths[queue.name] = path
        return path

    def _update(self) -> None:
        self.is_stale = False
        self._update_with({uid: held[self._offered].astype(np.float64) for uid, held in self._held.items()})

    def _update_with(self, held: Mapping[str, Floats]) -> None:
        taken = np.sum(list(held.values()), axis=0) if held else np.zeros(len(self._offered))
        demanding = taken < self._total
        self._settle(self._root, held, demanding)

    def _settle(self, branch: Branch, held: Mapping[str, Floats], demanding: Mask) -> None:
        if branch.job:
            branch.allocated = held[branch.job]
            branch.share = self._share(branch.allocated)
            branch.is_saturated = is_saturated(branch.allocated, branch.request, demanding)
            return
        for child in branch.children.values():
            self._settle(child, held, demanding)
        active = [child for child in branch.children.values() if child.share != 0]
        hungry = [child.share for child in active if not child.is_saturated]
        poorest = min([1.0, *hungry])
        branch.allocated = np.zeros(len(self._offered))
        for child in active:
            scale = 1.0 if child.is_saturated else poorest / child.share
            branch.allocated = branch.allocated + child.allocated * scale
        branch.share = self._share(branch.allocated)
        branch.is_saturated = all(child.is_saturated for child in branch.children.values())

    def _share(self, allocated: Floats) -> float:
        return float((allocated / self._total).max()) if len(self._total) else 0.0

    def compare(self, left: str, right: str) -> float:
        """Negative where the left queue goes first: level by level, saturation, then share per weight."""
        if self.is_stale:
            self._update()
        pairs = zip(self._paths.get(left, [self._root]), self._paths.get(right, [self._root]), strict=False)
        for mine, theirs in pairs:
            if mine.is_saturated != theirs.is_saturated:
                return 1.0 if mine.is_saturated else -1.0
            if order := mine.share / mine.weight - theirs.share / theirs.weight:
                return order
        return 0.0

    def poorer_without(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Candidates whose queue would still be richer than the reclaimer's after giving them up."""
        jobs = self._session.jobs
        mine = jobs[reclaimer.job]
        held = {uid: row[self._offered].astype(np.float64) for uid, row in self._held.items()}
        held[mine.uid] = held[mine.uid] + reclaimer.vector[self._offered]
        victims = []
        self.is_stale = False
        for task in candidates:
            theirs = jobs.get(task.job)
            if theirs is None:
                continue
            self._update_with({**held, theirs.uid: held[theirs.uid] - task.vector[self._offered]})
            if self.compare(mine.queue, theirs.queue) < 0:
                victims.append(task)
        self.is_stale = True
        return victims


def is_saturated(allocated: Floats, request: Floats, demanding: Mask) -> bool:
    """A job that has all it asked for of something it holds, or asks for what is used up."""
    holds, wants = allocated > 0, request != 0
    return bool((holds & wants & ((allocated >= request) | ~demanding)).any())


def _weight(weights: Sequence[str], level: int) -> float:
    try:
        return max(1.0, float(weights[level]))
    except (IndexError, ValueError):
        return 1.0
