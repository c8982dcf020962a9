"""Index: which jobs and tasks there are, which belong together, and what of interest tasks carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Generic, TypeVar

from hekla.engine.model.job import Job
from hekla.engine.model.status import TERMINATED_SET
from hekla.engine.model.task import Task
from hekla.objects import Pod
from hekla.objects.complaint import Complaint

Trait = Callable[[Task], object]
ThingsOf = Callable[[Task], Iterable[Hashable]]


N = TypeVar("N", Job, Task)

_job_of = attrgetter("job")


class ArrivalOrder(Generic[N]):
    """Jobs or tasks by key; in order of arrival, once they are asked for in order."""

    def __init__(self) -> None:
        self.by_key: dict[str, N] = {}
        self._is_mixed = False
        self._latest = 0

    def put(self, key: str, thing: N) -> N | None:
        """What stood there before, if anything."""
        known = self.by_key.get(key)
        if known is None and thing.number > self._latest:
            self._latest = thing.number
        elif known is None or known.number != thing.number:
            self._is_mixed = True
        self.by_key[key] = thing
        return known

    def in_order(self) -> dict[str, N]:
        if self._is_mixed:
            things = sorted(self.by_key.items(), key=lambda entry: entry[1].number)
            self.by_key.clear()
            self.by_key.update(things)
            self._latest, self._is_mixed = things[-1][1].number if things else 0, False
        return self.by_key


class TaskIndex:
    """Tasks in the order in which their pods arrived.

    Traits and censuses are asked for by function: the first question counts all tasks, and from
    then on the answer follows every change. Hand in functions of a module, not ones made on the spot,
    that go by the pod's metadata and spec alone, not by where it runs.
    """

    def __init__(self) -> None:
        self._arrivals: ArrivalOrder[Task] = ArrivalOrder()
        self.by_key: Mapping[str, Task] = self._arrivals.by_key
        """In no order to rely on."""
        self._censuses: dict[ThingsOf, Counter[Hashable]] = {}
        self._having: dict[Trait, dict[str, Task]] = {}
        self._carriers: set[str] = set()
        """The keys of tasks with a trait, or with something to be counted; of most tasks there is neither."""
        self._plain: Pod | None = None
        """The template of the latest task to come in that carries nothing of interest."""

    def __len__(self) -> int:
        return len(self.by_key)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._arrivals.in_order().values())

    def __getitem__(self, place: int) -> Task:
        """The task at this place in the order of arrival."""
        return list(self)[place]

    def get(self, key: str) -> Task | None:
        """The task of the pod `namespace/name`."""
        return self.by_key.get(key)

    def put(self, tasks: Iterable[Task]) -> None:
        """Take tasks in, each in the place of the one its pod had before."""
        for task in tasks:
            before = self._arrivals.put(task.key, task)
            if before is not None:
                self._strike_out(before)
            if task.template is not self._plain:
                self._enter(task)

    def renew(self, task: Task) -> None:
        """The pod has only moved on: its new task is and carries what the old one was and carried."""
        self._arrivals.by_key[task.key] = task
        if task.key not in self._carriers:
            return
        for tasks in self._having.values():
            if task.key in tasks:
                tasks[task.key] = task

    def remove(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            del self._arrivals.by_key[task.key]
            self._strike_out(task)

    def having(self, trait: Trait) -> Collection[Task]:
        """The tasks with the trait, in no order to rely on; a live view."""
        if trait not in self._having:
            self._plain = None
            self._having[trait] = {task.key: task for task in self if trait(task)}
            self._carriers.update(self._having[trait])
        return self._having[trait].values()

    def some(self, trait: Trait) -> bool:
        """Whether any task has the trait."""
        return len(self.having(trait)) > 0

    def census(self, things_of: ThingsOf) -> Mapping[Hashable, int]:
        """How many tasks carry each thing; a live view, without zeros."""
        if things_of not in self._censuses:
            self._plain = None
            things = [(task.key, thing) for task in self for thing in things_of(task)]
            self._censuses[things_of] = Counter(thing for _, thing in things)
            self._carriers.update(key for key, _ in things)
        return self._censuses[things_of]

    def _enter(self, task: Task) -> None:
        is_plain = True
        for trait, tasks in self._having.items():
            if trait(task):
                tasks[task.key] = task
                is_plain = False
        for things_of, counts in self._censuses.items():
            for thing in things_of(task):
                counts[thing] += 1
                is_plain = False
        self._plain = task.template if is_plain else None
        if not is_plain:
            self._carriers.add(task.key)

    def _strike_out(self, task: Task) -> None:
        if task.key not in self._carriers:
            return
        self._carriers.remove(task.key)
        for tasks in self._having.values():
            tasks.pop(task.key, None)
        for things_of, counts in self._censuses.items():
            for thing in things_of(task):
                counts[thing] -= 1
                if not counts[thing]:
                    del counts[thing]


class JobIndex:
    """Jobs stand in the order in which their PodGroups arrived, and a job's tasks in that of their pods."""

    def __init__(self) -> None:
        self._arrivals: ArrivalOrder[Job] = ArrivalOrder()
        self._jobs = self._arrivals.by_key
        self.tasks = TaskIndex()
        self._orphans: dict[str, dict[str, Task]] = {}
        """Tasks by the group they name, where that is no job."""
        self._jobs_in: Counter[str] = Counter()
        """By queue."""
        self._first_in: dict[str, str] = {}
        """By queue the least UID of its jobs, where that is known."""

    @property
    def jobs(self) -> dict[str, Job]:
        return self._arrivals.in_order()

    def job(self, uid: str) -> Job | None:
        return self._jobs.get(uid)

    def put(self, job: Job) -> None:
        """Take a job in, with the tasks that name it."""
        old = self._jobs.get(job.uid)
        tasks = old.tasks if old is not None else self._orphans.pop(job.uid, {})
        if tasks:
            job.add_tasks([*tasks.values()])
        if old is not None:
            self._uncount(old)
        self._count(job)
        self._arrivals.put(job.uid, job)

    def drop(self, job: Job) -> None:
        """The job is gone; its tasks may be there yet."""
        del self._jobs[job.uid]
        self._uncount(job)
        if job.tasks:
            self._orphans[job.uid] = {task.key: task for task in job.tasks.values()}

    def _count(self, job: Job) -> None:
        self._jobs_in[job.queue] += 1
        is_only = self._jobs_in[job.queue] == 1
        if is_only or job.uid < self._first_in.get(job.queue, ""):
            self._first_in[job.queue] = job.uid

    def _uncount(self, job: Job) -> None:
        self._jobs_in[job.queue] -= 1
        if not self._jobs_in[job.queue]:
            del self._jobs_in[job.queue]
        if self._first_in.get(job.queue) == job.uid:
            del self._first_in[job.queue]

    def queues_with_jobs(self) -> list[str]:
        """The queues that have jobs, in the order of the least UIDs of these."""
        for queue in self._jobs_in.keys() - self._first_in.keys():
            self._first_in[queue] = min(uid for uid, job in self._jobs.items() if job.queue == queue)
        return sorted(self._jobs_in, key=self._first_in.__getitem__)

    def swap(self, pairs: Iterable[tuple[Task | None, Task | None]]) -> None:
        """Pods have come, changed or gone: their tasks join, take the old ones' places, or leave."""
        leaving, joining = [], []
        for old, new in pairs:
            if old is not None and new is not None and (old.uid, old.job) == (new.uid, new.job):
                self.tasks.put((new,))
                self._exchange(old, new)
                continue
            if old is not None:
                leaving.append(old)
            if new is not None:
                joining.append(new)
        if leaving:
            self._leave(leaving)
        if joining:
            self._join(joining)

    def renew(self, pairs: Iterable[tuple[Task, Task]]) -> None:
        """Pods have got a node or another status, and are the same otherwise."""
        for old, new in pairs:
            self.tasks.renew(new)
            self._exchange(old, new)

    def _exchange(self, old: Task, new: Task) -> None:
        job = self._jobs.get(new.job)
        if job is not None:
            job.swap(old, new)
        elif new.job:
            self._orphans[new.job][new.key] = new

    def _leave(self, leaving: Sequence[Task]) -> None:
        self.tasks.remove(leaving)
        for uid, tasks in groupby(leaving, key=_job_of):
            job = self._jobs.get(uid)
            if job is not None:
                job.remove_tasks([*tasks])
            elif uid:
                for task in tasks:
                    del self._orphans[uid][task.key]
                if not self._orphans[uid]:
                    del self._orphans[uid]

    def _join(self, joining: Sequence[Task]) -> None:
        self.tasks.put(joining)
        for uid, tasks in groupby(joining, key=_job_of):
            job = self._jobs.get(uid)
            if job is not None:
                job.add_tasks([*tasks])
            elif uid:
                self._orphans.setdefault(uid, {}).update((task.key, task) for task in tasks)

    def complaints(self, groups: Collection[str]) -> Iterator[Complaint]:
        """Pods that wait for a group which does not exist."""
        for group, tasks in self._orphans.items():
            for task in tasks.values() if group not in groups else ():
                if task.status not in TERMINATED_SET:
                    message = f'names pod group "{group}", which does not exist; it waits'
                    yield Complaint(f"pod {task.key}", message)
