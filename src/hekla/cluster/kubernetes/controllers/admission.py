"""Admission on reading: Jobs and queues as admission would have let them in.

Without webhooks anything can stand in the API server. Defaults are filled in when an object is read. What
would have been refused gets an event with the reason and is left alone, until it or its queue changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hekla.cluster.admission import (
    Problem,
    default_job,
    default_queue,
    problems_of_job,
    problems_of_job_update,
    problems_of_queue,
)
from hekla.cluster.kubernetes.context import Tell
from hekla.cluster.store import Store
from hekla.objects import Manifest, Queue, VolcanoJob

MOST_REPLICAS = 100_000
"""Pods of one Job; more would fill the memory before the first of them is scheduled."""


class ReadAdmission:
    """Remembers what it let in, so that later changes can be checked."""

    def __init__(self, facts: Store, scheduler_name: str, tell: Tell) -> None:
        self._facts = facts
        self._scheduler_name = scheduler_name
        self._tell = tell
        self._admitted: dict[str, VolcanoJob] = {}
        self._queues: set[str] = set()
        self._told: dict[tuple[type[Manifest], str], tuple[str, str]] = {}
        self.refused_jobs: set[str] = set()
        self.refused_queues: set[str] = set()

    def forget_job(self, key: str) -> None:
        self._admitted.pop(key, None)
        self._told.pop((VolcanoJob, key), None)
        self.refused_jobs.discard(key)

    def forget_queue(self, name: str) -> None:
        self._queues.discard(name)
        self.refused_queues.discard(name)

    def job(self, fact: VolcanoJob) -> VolcanoJob | None:
        """The Job with its defaults; one that has begun already is not checked as a new one."""
        job = default_job(fact, self._scheduler_name)
        known = self._admitted.get(job.key)
        if known is not None and known.metadata.uid == job.metadata.uid:
            return self._changed(known, job)
        self.refused_jobs.discard(job.key)
        if not job.status.state.phase and self._is_refused(job, self._problems_of_new(job)):
            self._admitted.pop(job.key, None)
            self.refused_jobs.add(job.key)
            return None
        self._admitted[job.key] = job
        return job

    def _changed(self, known: VolcanoJob, job: VolcanoJob) -> VolcanoJob:
        """The Job as it may be: a change that is not allowed has no effect."""
        if known.spec != job.spec and self._is_refused(job, problems_of_job_update(known, job)):
            job = replace(job, spec=known.spec)
        self._admitted[job.key] = job
        return job

    def _problems_of_new(self, job: VolcanoJob) -> Iterable[Problem]:
        replicas = sum(max(task.replicas, 0) for task in job.spec.tasks)
        if replicas > MOST_REPLICAS:
            message = f'"{replicas}" replicas are too many; at most "{MOST_REPLICAS}" are taken'
            return [Problem("spec.tasks", message)]
        return problems_of_job(job, self._facts.queues())

    def queue(self, fact: Queue) -> Queue | None:
        """The queue, if it may be one; once it has a state it is not checked again."""
        name = fact.metadata.name
        if fact.status.state or name in self._queues:
            self._queues.add(name)
            return fact
        others = {other: queue for other, queue in self._facts.queues().items() if other != name}
        self.refused_queues.discard(name)
        if self._is_refused(fact, problems_of_queue(default_queue(fact), others)):
            self.refused_queues.add(name)
            return None
        self._queues.add(name)
        return fact

    def _is_refused(self, manifest: Manifest, problems: Iterable[Problem]) -> bool:
        reasons = "; ".join(map(str, problems))
        told = (manifest.metadata.uid, reasons)
        if reasons and self._told.get((type(manifest), manifest.key)) != told:
            self._told[type(manifest), manifest.key] = told
            self._tell(manifest, "Warning", "Refused", f"left alone: {reasons}")
        return bool(reasons)
