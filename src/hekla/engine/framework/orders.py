"""Orders: who goes first among queues, jobs, sub-jobs and tasks, and who is evicted first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cmp_to_key, partial
from operator import attrgetter
from typing import Any

from hekla.engine.framework import points
from hekla.engine.framework.heap import Heap, KeyedHeap
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task


def queue_goes_first(session: Session, left: QueueInfo, right: QueueInfo) -> bool:
    return comparison_of_queues(session)(left, right)


def comparison_of_queues(session: Session) -> Callable[[QueueInfo, QueueInfo], bool]:
    """The same for many comparisons."""
    answers: list[Callable[[QueueInfo, QueueInfo], float]] = session.answers_to(points.QUEUE_ORDER)

    def goes_first(left: QueueInfo, right: QueueInfo) -> bool:
        for compare in answers:
            if order := compare(left, right):
                return order < 0
        return (left.created, left.name) < (right.created, right.name)

    return goes_first


def job_goes_first(session: Session, left: Job, right: Job) -> bool:
    return session.job_key(left) < session.job_key(right)


def task_goes_first(session: Session, left: Task, right: Task) -> bool:
    return _goes_first(
        left, session.ask(points.TASK_ORDER, left), right, session.ask(points.TASK_ORDER, right)
    )


def comparison_of_tasks(session: Session) -> Callable[[Task, Task], bool]:
    """The same for many comparisons: plugins are asked once per task, unless their order moves."""
    if session.has_moving_task_order:
        return partial(task_goes_first, session)
    keys: dict[str, tuple[Any, ...]] = {}

    def key_of(task: Task) -> tuple[Any, ...]:
        key = keys.get(task.uid)
        if key is None:
            key = keys[task.uid] = session.ask(points.TASK_ORDER, task)
        return key

    return lambda left, right: _goes_first(left, key_of(left), right, key_of(right))


def _goes_first(left: Task, mine: tuple[Any, ...], right: Task, theirs: tuple[Any, ...]) -> bool:
    if mine != theirs:
        return bool(mine < theirs)
    if left.index is not None and right.index is not None and left.index != right.index:
        return left.index < right.index
    return (left.created, left.uid) < (right.created, right.uid)


def queues_in_order(session: Session, queues: Iterable[QueueInfo] = ()) -> Heap[QueueInfo]:
    return Heap(comparison_of_queues(session), queues)


def jobs_in_order(session: Session, jobs: Iterable[Job] = ()) -> Heap[Job]:
    return Heap(lambda left, right: job_goes_first(session, left, right), jobs)


class FairOrder:
    """Whose turn it is: queues in order, and of each queue the jobs in order."""

    def __init__(self, session: Session, *, fixed_keys: bool = True) -> None:
        self._session = session
        self._fixed_keys = fixed_keys and not session.dispatch.who.has_moving_job_order
        self.queues = _heap_of_queues(session, fixed_keys=fixed_keys)
        self.jobs_of: dict[str, Heap[Job] | KeyedHeap[Job]] = {}

    def add_queue(self, name: str) -> None:
        if name not in self.jobs_of:
            self.jobs_of[name] = self._heap_of_jobs()
            self.queues.push(self._session.queues[name])

    def add(self, job: Job) -> None:
        if job.queue not in self.jobs_of:
            self.add_queue(job.queue)
        self.jobs_of[job.queue].push(job)

    def _heap_of_jobs(self) -> Heap[Job] | KeyedHeap[Job]:
        """Where nothing happens to jobs while they wait for their turn, their keys stand still."""
        return KeyedHeap(self._session.job_key) if self._fixed_keys else jobs_in_order(self._session)


def _heap_of_queues(session: Session, *, fixed_keys: bool) -> Heap[QueueInfo] | KeyedHeap[QueueInfo]:
    """Where only what happens to a queue moves its key, keys stand still while queues wait for their turn."""
    if fixed_keys and session.shortcuts.memory and session.dispatch.who.tells_queue_keys:
        return KeyedHeap(session.queue_key)
    return queues_in_order(session)


class TaskHeap:
    """Tasks whose order moves while they wait: each is chosen when it is taken, as from Volcano's heap."""

    def __init__(self, heap: Heap[Task]) -> None:
        self._heap = heap

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Task]:
        rest = self._heap.copy()
        return iter([rest.pop() for _ in range(len(rest))])

    def popleft(self) -> Task:
        return self._heap.pop()

    def copy(self) -> TaskHeap:
        return TaskHeap(self._heap.copy())

    def clear(self) -> None:
        while self._heap:
            self._heap.pop()


OrderedTasks = deque[Task] | TaskHeap
"""Tasks in the order they are to be placed."""


def tasks_in_order(session: Session, tasks: Iterable[Task]) -> OrderedTasks:
    """Tasks in the order they are to be placed; fixed now, unless a plugin says that its order moves."""
    waiting = list(tasks)
    if session.has_moving_task_order:
        return TaskHeap(Heap(lambda left, right: task_goes_first(session, left, right), waiting))
    if len(waiting) <= 1:
        return deque(waiting)
    if len({task.index is None for task in waiting}) <= 1:
        return _in_fixed_order(session, waiting)
    # Names with and without a number can make the order cyclic: then the way a heap is built
    # decides, as in Volcano.
    heap = Heap(lambda left, right: task_goes_first(session, left, right), waiting)
    return deque(heap.pop() for _ in range(len(heap)))


def _in_fixed_order(session: Session, tasks: Iterable[Task]) -> deque[Task]:
    order_of = session.dispatch[points.TASK_ORDER]
    return deque(sorted(tasks, key=lambda t: (order_of(t), t.index or 0, t.created, t.uid)))


def least_important_first(
    session: Session, candidates: list[Task], beneficiary: Job | None = None
) -> list[Task]:
    """Running tasks, given by name, in the order in which plugins are asked whether they may be evicted.

    Pods without a job, then by victim queue order, job order and task order, each reversed: of equal jobs the
    younger one, of equal tasks by name. So a plugin that lets go of a few names the least important. Volcano
    offers them by chance: ADR 0005.
    """
    if len(candidates) < 2:
        return candidates
    jobs, order_of = session.jobs, session.dispatch[points.TASK_ORDER]
    owners = {task.job for task in candidates}
    if len(owners) == 1:
        return sorted(candidates, key=order_of, reverse=True)
    queues = {job.queue for uid in owners if (job := jobs.get(uid)) is not None}
    rank_of_queue = _rank_of_victim_queues(session, queues, beneficiary)

    def importance(uid: str) -> tuple[Any, ...]:
        job = jobs.get(uid)
        if job is None:
            return True, 0, ()
        return False, rank_of_queue[job.queue], (*session.job_order(job), job.created)

    of_job = {uid: importance(uid) for uid in owners}
    # What goes first in an order has the smallest key, and matters most.
    return sorted(candidates, key=lambda task: (of_job[task.job], order_of(task)), reverse=True)


def by_name(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=attrgetter("key"))


def _rank_of_victim_queues(
    session: Session, names: Collection[str], beneficiary: Job | None
) -> dict[str, int]:
    """By name of a queue a number, the greater the sooner its tasks are evicted."""
    if len(names) < 2:
        return dict.fromkeys(names, 0)
    queues = session.queues
    own = None if beneficiary is None else queues[beneficiary.queue]

    def compare(left: str, right: str) -> int:
        if own is None:
            return 1 if queue_goes_first(session, queues[right], queues[left]) else -1
        return 1 if victim_queue_goes_first(session, queues[left], queues[right], own) else -1

    return {name: at for at, name in enumerate(sorted(sorted(names), key=cmp_to_key(compare)))}


def victims_in_order(session: Session, victims: Sequence[Task], preemptor: Task) -> Heap[Task] | deque[Task]:
    """Who is evicted first: orphans, then by queue, then the least of jobs, then the least of tasks.

    Take them one by one with `pop`: an eviction may change the order of those that wait.
    """
    if len({(task.job, task.index is None) for task in victims}) <= 1 and not session.has_moving_task_order:
        return _in_fixed_order(session, victims)
    initiator = session.jobs.get(preemptor.job)
    task_goes_first = comparison_of_tasks(session)

    def goes_first(left: Task, right: Task) -> bool:
        mine, theirs = session.jobs.get(left.job), session.jobs.get(right.job)
        if mine is theirs:
            return not task_goes_first(left, right)
        if mine is None or theirs is None:
            return mine is None
        if initiator is not None and mine.queue != theirs.queue:
            queues = session.queues
            return victim_queue_goes_first(
                session, queues[mine.queue], queues[theirs.queue], queues[initiator.queue]
            )
        left_key, right_key = session.ask(points.JOB_ORDER, mine), session.ask(points.JOB_ORDER, theirs)
        if left_key != right_key:
            return bool(left_key > right_key)
        return not task_goes_first(left, right)

    return Heap(goes_first, victims)


def victim_queue_goes_first(
    session: Session, left: QueueInfo, right: QueueInfo, preemptor: QueueInfo
) -> bool:
    order = session.ask(points.VICTIM_QUEUE_ORDER, left, right, preemptor)
    return bool(order < 0) if order else not queue_goes_first(session, left, right)


__all__ = [
    "by_name",
    "job_goes_first",
    "jobs_in_order",
    "least_important_first",
    "queue_goes_first",
    "queues_in_order",
    "task_goes_first",
    "tasks_in_order",
    "victim_queue_goes_first",
    "victims_in_order",
]
