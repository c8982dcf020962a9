"""Rolls: which jobs there are, and which tasks belong to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from hekla.engine.model.job import Job
from hekla.engine.model.status import TERMINATED_SET
from hekla.engine.model.task import Task
from hekla.engine.state.tasks import TaskBook
from hekla.objects.complaint import Complaint


class Rolls:
    """Jobs stand in the order in which their PodGroups arrived, and so do a job's tasks."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.tasks = TaskBook()
        self._orphans: dict[str, dict[str, Task]] = {}
        """Tasks by the group they name, where that is no job."""
        self._jobs_in: Counter[str] = Counter()
        """By queue."""
        self._first_in: dict[str, str] = {}
        """By queue the least UID of its jobs, where that is known."""

    def put(self, job: Job) -> None:
        """Take a job in, with the tasks that name it."""
        old = self.jobs.get(job.uid)
        tasks = old.tasks if old is not None else self._orphans.pop(job.uid, {})
        for task in tasks.values():
            job.add_task(task)
        if old is not None:
            self._uncount(old)
        self._count(job)
        is_last = not self.jobs or job.number >= next(reversed(self.jobs.values())).number
        self.jobs[job.uid] = job
        if not is_last or (old is not None and old.number != job.number):
            self.jobs = dict(sorted(self.jobs.items(), key=lambda entry: entry[1].number))

    def drop(self, job: Job) -> None:
        """The job is gone; its tasks may be there yet."""
        del self.jobs[job.uid]
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

    def queues(self) -> list[str]:
        """The queues that have jobs, in the order of the least UIDs of these."""
        for queue in self._jobs_in.keys() - self._first_in.keys():
            self._first_in[queue] = min(uid for uid, job in self.jobs.items() if job.queue == queue)
        return sorted(self._jobs_in, key=self._first_in.__getitem__)

    def swap(self, old: Task | None, new: Task | None) -> None:
        """A pod has come, changed or gone: its task joins, takes the old one's place, or leaves."""
        if old is not None and new is not None and (old.uid, old.job) == (new.uid, new.job):
            self._replace(old, new)
            return
        if old is not None:
            self._leave(old)
        if new is not None:
            self._join(new)

    def renew(self, old: Task, new: Task) -> None:
        """A pod has got a node or another status, and is the same otherwise."""
        self.tasks.renew(new)
        self._exchange(old, new)

    def _replace(self, old: Task, new: Task) -> None:
        self.tasks.put(new)
        self._exchange(old, new)

    def _exchange(self, old: Task, new: Task) -> None:
        job = self.jobs.get(new.job)
        if job is not None:
            job.swap(old, new)
        elif new.job:
            self._orphans[new.job][new.key] = new

    def _leave(self, task: Task) -> None:
        self.tasks.remove(task)
        job = self.jobs.get(task.job)
        if job is not None:
            job.remove_task(task)
        elif task.job:
            del self._orphans[task.job][task.key]
            if not self._orphans[task.job]:
                del self._orphans[task.job]

    def _join(self, task: Task) -> None:
        self.tasks.put(task)
        job = self.jobs.get(task.job)
        if job is not None:
            job.add_task(task)
        elif task.job:
            self._orphans.setdefault(task.job, {})[task.key] = task

    def complaints(self, groups: Collection[str]) -> Iterator[Complaint]:
        """Pods that wait for a group which does not exist."""
        for group, tasks in self._orphans.items():
            for task in tasks.values() if group not in groups else ():
                if task.status not in TERMINATED_SET:
                    message = f'names pod group "{group}", which does not exist; it waits'
                    yield Complaint(f"pod {task.key}", message)
