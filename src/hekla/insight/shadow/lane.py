"""Lane: one configuration on a state of its own, which says what it would do now.

Every lane hears of the same changes. It decides and carries nothing out: the next cycle finds the cluster
as the other scheduler has made it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from hekla.clock import Clock
from hekla.conf import Conf
from hekla.framework.decisions import Decision
from hekla.framework.explain import explain
from hekla.framework.registry import Registry
from hekla.framework.session import Session
from hekla.insight.shadow.feed import Change
from hekla.ledger.arrays import Mask
from hekla.model.queue import DEFAULT_QUEUE
from hekla.model.status import Status
from hekla.model.task import NOWHERE, Task
from hekla.objects import Pod
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop
from hekla.state.live import LiveState
from hekla.state.snapshot import Snapshot, snapshot_of


class Lane:
    """A configuration under a name; `report` is what its latest cycle came to."""

    def __init__(
        self,
        name: str,
        conf: Conf,
        clock: Clock,
        registry: Registry,
        *,
        default_queue: str = DEFAULT_QUEUE,
        ignored_provisioners: Collection[str] = (),
    ) -> None:
        self.name = name
        self._live = LiveState(default_queue=default_queue, ignored_provisioners=ignored_provisioners)
        self._loop = Loop(self, conf, clock, registry=registry)
        self.report: CycleReport | None = None
        self.cycles = 0
        self.seconds = 0.0
        """How long all cycles took."""

    def take(self, change: Change) -> None:
        """Seen from the next cycle on; what the latest one left behind can be asked until then."""
        if change.is_there:
            self._live.note(change.manifest)
        else:
            self._live.forget(change.manifest)

    def snapshot(self) -> Snapshot:
        return snapshot_of(self._live)

    def apply(self, decisions: Sequence[Decision]) -> None:
        """Nothing: another scheduler is in charge."""

    def decide(self) -> CycleReport:
        self.report = self._loop.decide()
        self.cycles += 1
        self.seconds += sum(self.report.times.values())
        return self.report

    def close(self) -> None:
        """Let the actions go; nothing more is decided."""
        self._loop.close()

    @property
    def session(self) -> Session:
        assert self.report is not None, "a lane is asked before its first cycle"
        return self.report.session

    def task_of(self, pod: Pod) -> Task | None:
        """The pod as the latest cycle knew it."""
        task = None if self.report is None else self.session.tasks.get(pod.key)
        return task if task is not None and task.pod.metadata.uid == pod.metadata.uid else None

    def queue_of(self, task: Task) -> str:
        job = self.session.jobs.get(task.job)
        return "" if job is None else job.queue

    def job_of(self, task: Task) -> str:
        job = self.session.jobs.get(task.job)
        return task.job if job is None else f"{job.namespace}/{job.title}"

    def why_it_waits(self, task: Task) -> str:
        job = self.session.jobs.get(task.job)
        if job is None:
            return "it belongs to no pod group"
        told = explain(self.session, job)
        return "; ".join(told.reasons) or told.headline

    def why_not_there(self, task: Task, theirs: str, own: str) -> str:
        """What speaks for the own node: the other is refused, or scores less.

        Scores are those at the end of the cycle, with the task itself taken off its node again.
        """
        session = self.session
        their_row, own_row = session.nodes.row_of.get(theirs), session.nodes.row_of.get(own)
        if their_row is None or own_row is None:
            return f'node "{theirs if their_row is None else own}" is not known here'
        if task.node != NOWHERE and task.status is not Status.PENDING:
            session.take_back(task)
        among = session.fitting.open_nodes(task) & session.nodes.can_hold(task)
        if not among[their_row]:
            said = session.fitting.diagnose(task, _only(their_row, len(among)), with_room=True).plainly()
            return f"{theirs} refuses it: {said.rpartition(': 1 ')[2]}"
        among[own_row] = True
        scores = session.fitting.class_of(task).scores(task, among)
        there, here = float(scores[their_row]), float(scores[own_row])
        if there == here:
            return f"both score {here:g}"
        return f"{theirs} scores {there:g}, {own} {here:g}"


def _only(row: int, count: int) -> Mask:
    mask = np.zeros(count, dtype=np.bool_)
    mask[row] = True
    return mask
