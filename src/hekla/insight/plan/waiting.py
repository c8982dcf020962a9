"""WaitingJob: a job that is in the cluster already, as it stands there and as it could be submitted anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hekla.controllers.expand import pod_group_key
from hekla.controllers.phases import Phase, phase_of
from hekla.errors import InputError
from hekla.insight.plan.changes import Change
from hekla.insight.plan.intake import PlanIntake
from hekla.insight.plan.request import PlanRequest
from hekla.insight.plan.whatif import WhatIfCluster
from hekla.objects import Manifest, Pod, PodGroup, VolcanoJob
from hekla.objects.complaint import did_you_mean

ABORTED = frozenset({Phase.ABORTING, Phase.ABORTED})
ENDED_BADLY = frozenset({Phase.TERMINATING, Phase.TERMINATED, Phase.FAILED})
DONE = frozenset({Phase.COMPLETING, Phase.COMPLETED})
NAMES_TOLD = 10


@dataclass(frozen=True)
class WaitingJob:
    """What the cluster knows of one job."""

    name: str
    """`namespace/name`, as its user calls it."""
    job: VolcanoJob | None
    group: PodGroup | None
    pods: tuple[Pod, ...]

    @property
    def title(self) -> str:
        """Kind and name."""
        if self.job is not None or (self.group is not None and job_name_of(self.group)):
            return f"job {self.name}"
        return f"podgroup {self.name}"

    @property
    def uid(self) -> str:
        """The key of its PodGroup, be it made or not."""
        if self.group is not None:
            return self.group.key
        assert self.job is not None, f"{self.name} is a Job or a PodGroup"
        return pod_group_key(self.job)

    @property
    def queue(self) -> str:
        if self.group is not None:
            return self.group.spec.queue
        return self.job.spec.queue if self.job is not None else ""

    @property
    def minimum(self) -> int:
        if self.group is not None:
            return self.group.spec.min_member
        return self.job.spec.min_available if self.job is not None else 0

    @property
    def objects(self) -> list[Manifest]:
        """What goes when it is submitted anew."""
        return [*([] if self.group is None else [self.group]), *self.pods]

    @property
    def phase(self) -> Phase | None:
        """Of its Job."""
        return None if self.job is None else phase_of(self.job.status)

    def resumed(self, request: PlanRequest) -> Change | None:
        """What is tried before all changes: a Job that was stopped goes on as it is."""
        if self.phase in ABORTED:
            return Change("resume", f"resume the job (it is {self.phase})", 0.0, request)
        if self.phase in ENDED_BADLY:
            return Change("resume", f"submit the job anew (it is {self.phase})", 0.0, request)
        return None


def waiting_job(
    name: str, cluster: WhatIfCluster, intake: PlanIntake, written: Iterable[VolcanoJob] = ()
) -> tuple[WaitingJob, PlanRequest | None]:
    """The job of that name that waits, and what it asks for; raises InputError where none does.

    A Job is taken as it was written, where that is known: what its user left open follows a change.
    """
    found = one_of_name(list(jobs_in(cluster, written)), name)
    on_nodes = len(cluster.pods_on_nodes(found.uid)) if found.group is not None else 0
    if found.phase in DONE:
        raise InputError(f"{found.title} has ended ({found.phase}): nothing of it waits")
    if on_nodes and on_nodes >= found.minimum:
        count = f"{on_nodes} of its {len(found.pods)} pods are on nodes"
        raise InputError(f"{found.title} runs already: {count}, and {found.minimum} start together")
    job = found.job
    if job is not None:
        job = {each.key: each for each in written}.get(job.key, job)
    return found, intake.request_of(job, found.group, found.pods)


def jobs_in(cluster: WhatIfCluster, written: Iterable[VolcanoJob] = ()) -> Iterator[WaitingJob]:
    """Every job of the cluster, and those that were written and that it did not let in."""
    jobs = {job.key: job for job in written} | dict(cluster.by_key(VolcanoJob))
    pods_of: dict[str, list[Pod]] = cluster.pods_by_group()
    for group in cluster.all_of(PodGroup):
        name = job_name_of(group)
        job = jobs.pop(f"{group.metadata.namespace}/{name}", None) if name else None
        title = f"{group.metadata.namespace}/{name or group.metadata.name}"
        yield WaitingJob(title, job, group, tuple(pods_of.get(group.key, ())))
    yield from (WaitingJob(job.key, job, None, ()) for job in jobs.values())


def one_of_name(jobs: Iterable[WaitingJob], name: str) -> WaitingJob:
    """The job that people mean by a name."""
    known: Mapping[str, WaitingJob] = {job.uid: job for job in jobs}
    found = [job for job in known.values() if name in names_of(job)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f'several jobs are named "{name}"; write one of: ' + ", ".join(j.name for j in found)
        )
    names = sorted(job.name for job in known.values())
    hint = did_you_mean(name, [*names, *(each.partition("/")[2] for each in names)])
    told = hint or f"; known jobs: {', '.join(names[:NAMES_TOLD]) or 'none'}"
    raise InputError(f'no job "{name}"{told}')


def names_of(job: WaitingJob) -> set[str]:
    """Everything that it may be called."""
    return {job.name, job.name.partition("/")[2], job.uid, job.uid.partition("/")[2]}


def job_name_of(group: PodGroup) -> str:
    """The name of the Job that the PodGroup was made for; empty where it was made for none."""
    owners = group.metadata.owner_references
    return next((owner.name for owner in owners if owner.controller and owner.kind == "Job"), "")
