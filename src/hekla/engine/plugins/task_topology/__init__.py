"""Task topology: keep the tasks of a job that like each other on one node, and the others apart.

Tasks are sorted into buckets when the session opens. Large buckets go first, and a task prefers
the nodes that hold much of its bucket already, or have room for what is left of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, TASK_ORDER, AnyPoint, answers
from hekla.engine.ledger.arrays import Amounts, Counts, Floats, Mask
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.plugins.task_topology.buckets import JobBuckets, read_affinity, role_of
from hekla.errors import InputError

MAX_NODE_SCORE = 100.0


@dataclass(frozen=True)
class TaskTopologyArguments:
    weight: int = argument(1, key="task-topology.weight", help="how much the score counts")


@dataclass(frozen=True, eq=False)
class Rank:
    """Where a task stands among others; smaller goes first.

    Ranks of different jobs only tell who is in a bucket at all, and a job without buckets is
    equal to everyone: that is Volcano's comparison, which no plain tuple has.
    """

    job: str = ""
    is_outside: bool = True
    inside: tuple[int, ...] = ()
    """Fewer waiting in its bucket, higher number of the bucket, lower priority of the role: later."""

    def _key(self, other: Rank) -> tuple[bool, tuple[int, ...]]:
        """What counts when it is compared with the other."""
        if not self.job or not other.job:
            return True, ()
        is_kin = self.job == other.job and not self.is_outside and not other.is_outside
        return self.is_outside, self.inside if is_kin else ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rank) and self._key(other) == other._key(self)

    def __lt__(self, other: Rank) -> bool:
        return self._key(other) < other._key(self)

    __hash__ = None  # type: ignore[assignment] # equality is not transitive across jobs


NO_RANK = Rank()


class TaskTopology(Plugin):
    """What a placement changes is changed back when it is undone; Volcano forgets to."""

    name = "task-topology"
    moving_task_order = True
    Arguments = TaskTopologyArguments

    def on_open(self) -> None:
        session = self.session
        self._leaving: set[str] = set()
        self.buckets_of_job: dict[str, JobBuckets] = {}
        for job in session.jobs.values():
            if job.roster.having(Status.PENDING):
                self._read(job)
        if self.buckets_of_job:
            names = session.axis.names
            offers = [[name in node.allocatable for name in names] for node in session.nodes.nodes]
            self._offers = np.array(offers, dtype=np.bool_).reshape(len(offers), len(names))

    def _read(self, job: Job) -> None:
        session, tasks = self.session, job.tasks.values()
        try:
            affinity = read_affinity(job.pod_group.metadata.annotations, {role_of(task) for task in tasks})
        except InputError as error:
            session.trace.of_job(job.uid, f"task topology is ignored: {error}", speaker=self.name)
            return
        if affinity is not None:
            self.buckets_of_job[job.uid] = JobBuckets(affinity, tasks, session.axis, len(session.nodes))

    def silent_on(self) -> Collection[AnyPoint]:
        return () if self.buckets_of_job else (TASK_ORDER, NODE_ORDER)

    # Answers

    @answers(TASK_ORDER)
    def large_buckets_first(self, task: Task) -> Rank:
        job = self.buckets_of_job.get(task.job)
        if job is None:
            return NO_RANK
        bucket = job.bucket_of(task)
        if bucket is None:
            return Rank(task.job)
        order, rank = job.affinity.priority(role_of(task))
        return Rank(task.job, is_outside=False, inside=(-len(bucket.unplaced), bucket.index, -order, -rank))

    @answers(NODE_ORDER)
    def prefer_room_for_the_bucket(self, task: Task, among: Mask) -> Floats | None:  # noqa: ARG002 - all alike
        job = self.buckets_of_job.get(task.job)
        bucket = job.bucket_of(task) if job is not None else None
        if job is None or bucket is None:
            return None
        others = [bucket.unplaced[uid] for uid in bucket.unplaced if uid != task.uid]
        nodes = self.session.nodes
        free: Amounts = nodes.idle + nodes.releasing
        company = bucket.placed - job.disliked(role_of(task)) + joined(task, others, free)
        score = np.where(self._lacks(task, free), 0, company)
        return np.asarray(score * self.arguments.weight * MAX_NODE_SCORE / job.largest, dtype=np.float64)

    def _lacks(self, task: Task, free: Amounts) -> Mask:
        """Nodes that are short of something the task asks for, or do not know it at all; -> (N,)"""
        asked = list(task.asked)
        known = self._offers[:, asked] | np.isin(asked, (CPU_COLUMN, MEMORY_COLUMN))
        return np.asarray(((free[:, asked] < task.vector[asked]) | ~known).any(axis=1), dtype=np.bool_)

    # Events

    def on_allocate(self, task: Task) -> None:
        job = self.buckets_of_job.get(task.job)
        if task.uid in self._leaving:
            self._leaving.remove(task.uid)
        elif job is not None:
            job.put(task, task.node)

    def on_release(self, task: Task) -> None:
        job = self.buckets_of_job.get(task.job)
        if task.status is Status.RELEASING:
            # An evicted task still sits on its node and does not wait; as in Volcano, nothing changes.
            self._leaving.add(task.uid)
        elif job is not None:
            job.take_back(task, task.node)


def joined(task: Task, others: Sequence[Task], free: Amounts) -> Counts:
    """How many waiting tasks of a bucket each node has room for, the task itself included.

    free: (N, R)   ->   (N,)

    Others are counted in order of their names, as long as they fit; Volcano leaves the order to chance.
    """
    named = sorted(others, key=lambda other: other.name)
    # Row i is what the task and the first i of the others need together.
    need = np.cumsum([task.vector, *(other.vector for other in named)], axis=0)
    fitting = np.full(len(free), len(named), dtype=np.int64)
    for column in np.flatnonzero(need[-1]):
        room = np.searchsorted(need[:, column], free[:, column], side="right") - 1
        np.minimum(fitting, room, out=fitting)
    return 1 + np.maximum(fitting, 0)
