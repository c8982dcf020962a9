"""Candidates: configurations that decide beside the scheduler at work, and the facts they are fed.

Every candidate follows the same changes. It decides and carries nothing out: the next cycle finds the
cluster as the other scheduler has made it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.clock import Clock
from hekla.cluster.node_usage import is_finished
from hekla.cluster.store import Interest, Store, is_visible
from hekla.conf import Conf
from hekla.engine.explain.explanation import explain
from hekla.engine.framework.decisions import Decision
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Mask
from hekla.engine.model.queue import DEFAULT_QUEUE
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.state.live import LiveState
from hekla.engine.state.snapshot import Snapshot, snapshot_of
from hekla.objects import Condition, Manifest, Pod, PodGroup
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop

EVICTED_BY_SCHEDULER = ("Evict", "PreemptionByScheduler")
"""Reasons of the conditions that Volcano writes before it deletes a pod."""


@dataclass(frozen=True)
class ObservedAction:
    """The other scheduler put a pod on a node, or took it off."""

    pod: Pod
    """As it was before."""
    node: str
    at: float
    eviction: str = ""
    """Why it was evicted, in the other scheduler's words; empty for a bind."""


@dataclass(frozen=True)
class FeedChange:
    """An object as it is now, or one that is gone."""

    manifest: Manifest
    is_there: bool
    is_news: bool
    """Whether a cycle might decide differently from now on, for another cause than an action."""
    action: ObservedAction | None = None


class Feed:
    """Watches a store; changes wait here until they are taken, perhaps by another thread."""

    def __init__(self, store: Store, scheduler_names: Collection[str], clock: Clock) -> None:
        self._store = store
        self._interest = Interest(store, scheduler_names)
        self._clock = clock
        self._changes: deque[FeedChange] = deque()
        store.watch(self.heed)

    def __len__(self) -> int:
        return len(self._changes)

    def next(self) -> FeedChange | None:
        return self._changes.popleft() if self._changes else None

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        action = self._action(before, after)
        self._pass_on(before, after, is_news=action is None and _is_news(before, after), action=action)
        group = after or before
        if isinstance(group, PodGroup) and (before is None or after is None):
            # Whether ended pods count depends on whether their group is there.
            for pod in filter(is_finished, self._store.pods_of_group(group.key)):
                self._pass_on(pod, pod, is_news=False)

    def _pass_on(
        self,
        before: Manifest | None,
        after: Manifest | None,
        *,
        is_news: bool,
        action: ObservedAction | None = None,
    ) -> None:
        if after is not None and self._interest.concerns(after):
            self._changes.append(FeedChange(after, True, is_news, action))
        elif before is not None:
            self._changes.append(FeedChange(before, False, is_news, action))

    def _action(self, before: Manifest | None, after: Manifest | None) -> ObservedAction | None:
        if not isinstance(before, Pod) or not self._interest.serves(before):
            return None
        now = self._clock.now()
        if isinstance(after, Pod) and after.spec.node_name and not before.spec.node_name:
            return ObservedAction(before, after.spec.node_name, now)
        leaves = after is None or (isinstance(after, Pod) and after.metadata.deletion_timestamp is not None)
        if leaves and before.metadata.deletion_timestamp is None and not is_finished(before):
            said = _eviction(after if isinstance(after, Pod) else before)
            if said is not None:
                return ObservedAction(before, before.spec.node_name, now, said.message or said.reason)
        return None


def _eviction(pod: Pod) -> Condition | None:
    """The condition by which a scheduler says that it evicts the pod; pods deleted otherwise have none."""
    found = [condition for condition in pod.status.conditions if condition.reason in EVICTED_BY_SCHEDULER]
    return found[0] if found else None


def _is_news(before: Manifest | None, after: Manifest | None) -> bool:
    if isinstance(before, Pod) and isinstance(after, Pod) and _starts(before, after):
        return False
    return is_visible(before, after)


def _starts(before: Pod, after: Pod) -> bool:
    """A bound pod begins to run: it holds what it held before."""
    return (
        bool(before.spec.node_name)
        and before.spec == after.spec
        and (before.status.phase, after.status.phase) == ("Pending", "Running")
        and before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
    )


class Candidate:
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

    def take(self, change: FeedChange) -> None:
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
        assert self.report is not None, "a candidate is asked before its first cycle"
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
        among = session.scoring.open_nodes(task) & session.nodes.can_hold(task)
        if not among[their_row]:
            said = session.scoring.diagnose(task, _only(their_row, len(among)), with_room=True).plainly()
            return f"{theirs} refuses it: {said.rpartition(': 1 ')[2]}"
        among[own_row] = True
        scores = session.scoring.class_of(task).scores_of(task, among)
        there, here = float(scores[their_row]), float(scores[own_row])
        if there == here:
            return f"both score {here:g}"
        return f"{theirs} scores {there:g}, {own} {here:g}"


def _only(row: int, count: int) -> Mask:
    mask = np.zeros(count, dtype=np.bool_)
    mask[row] = True
    return mask
