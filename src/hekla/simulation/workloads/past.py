"""Past jobs: pods, PodGroups and Jobs that have ended, as jobs that can be handed in again.

A pod ran from when it was started to when its last container ended; a job came when its Job or PodGroup was
made. Pods of one role whose run times are alike are one role, and run as long as the longest of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from hekla.errors import InputError
from hekla.objects import Manifest, Pod, PodGroup, VolcanoJob, keys, seconds
from hekla.objects.batch import PodTemplate
from hekla.objects.quantity import positive_seconds
from hekla.simulation.workloads.fields import Spot
from hekla.simulation.workloads.manifests import group_key
from hekla.simulation.workloads.model import Role, Submission, Workload
from hekla.simulation.workloads.past_cluster import bare, surroundings
from hekla.simulation.workloads.pod_looks import PodLooks
from hekla.simulation.workloads.pod_runs import (
    MILLISECONDS,
    PodRun,
    alike_spans,
    role_name,
    run_of,
    stated_seconds,
    title_of,
)
from hekla.simulation.workloads.selection import Content, ReadingOptions, selected
from hekla.simulation.workloads.shapes import Shapes
from hekla.simulation.workloads.trace import DEFAULT_QUEUE, as_name
from hekla.simulation.workloads.vcjobs import running, submission_of, without_ours

ENDED = frozenset({"Completed", "Failed", "Aborted", "Terminated"})
"""Phases of Jobs that have come to an end."""
STILL_RUNS = "a job of which pods still run: its run time is not known"
NEVER_RAN = "a job that has not run"
NAMED_AGAIN = "a job called like one before it: a number is added"
NO_RUN_TIME = "a Job that has ended, but it is not known any more how long it ran"


@dataclass
class PastJobs:
    """Jobs with the moment at which they came, and what could not be told of others."""

    jobs: list[Submission] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    """When they ended, where that is known."""
    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)


def past_jobs(objects: Iterable[Manifest], names: Sequence[str], duration: float | None = None) -> PastJobs:
    """The jobs among the objects that are over; pods of schedulers with other names are left out."""
    manifests = list(objects)
    jobs = {each.key: each for each in manifests if isinstance(each, VolcanoJob)}
    pods = [each for each in manifests if isinstance(each, Pod)]
    groups = {each.key: each for each in manifests if isinstance(each, PodGroup)}
    builder = PastBuilder(pods, groups, duration)
    of_jobs: dict[str, list[PodRun]] = {key: [] for key in jobs}
    of_groups: defaultdict[str, list[PodRun]] = defaultdict(list)
    for pod in pods:
        job = f"{pod.metadata.namespace}/{pod.metadata.annotations.get(keys.JOB_NAME, '')}"
        if job in jobs:
            of_jobs[job].append(run_of(pod))
        elif pod.spec.scheduler_name and pod.spec.scheduler_name not in names:
            builder.found.dropped[f"a pod of another scheduler ({pod.spec.scheduler_name})"] += 1
        else:
            of_groups[group_key(pod)].append(run_of(pod))
    for key, job_runs in of_jobs.items():
        builder.take_job(jobs[key], job_runs)
    for key, group_runs in of_groups.items():
        builder.take_group(key, group_runs)
    return builder.found


def past_workload(found: PastJobs, objects: Iterable[Manifest], name: str) -> Workload:
    """The jobs as they came, the first at once, on the cluster that the objects tell of."""
    manifests = list(objects)
    start = min((job.submitted for job in found.jobs), default=0.0)
    moved = [replace(job, submitted=round(job.submitted - start, MILLISECONDS)) for job in found.jobs]
    jobs = sorted(moved, key=lambda job: (job.submitted, job.key))
    content = Content(
        name=name,
        jobs=lambda _account: iter(jobs),
        objects=tuple(surroundings(manifests, jobs)),
        count=len(jobs),
        dropped=found.dropped,
        changed=found.changed,
    )
    return selected(content, ReadingOptions())


class PastBuilder:
    """Makes submissions of what has run; `duration` is for what has not ended and says no run time."""

    def __init__(
        self, pods: Iterable[Pod], groups: Mapping[str, PodGroup], duration: float | None = None
    ) -> None:
        self.found = PastJobs()
        self._groups = groups
        self._duration = duration
        self._shapes = Shapes()
        self._looks = PodLooks(self._shapes, pods)
        self._taken: set[str] = set()
        """The keys of all jobs so far."""

    def take_job(self, job: VolcanoJob, runs: Sequence[PodRun]) -> None:
        """A Job, with those of its pods that are still there."""
        phase = job.status.state.phase
        if phase not in ENDED:
            self.found.dropped[f"a Job that has not ended ({phase or 'new'})"] += 1
            return
        took = max((run.span for run in runs if run.span is not None), default=None)
        if took is None:
            took = positive_seconds(job.status.running_duration or "")
        if took is None:
            self.found.dropped[NO_RUN_TIME] += 1
            return
        try:
            made = submission_of(running(job, took), Spot(job.key), self._shapes, None, self.found.changed)
        except InputError as error:
            why = str(error).removeprefix(f"{job.key}: ")
            self.found.dropped[f"a Job that cannot be played: {why}"] += 1
            return
        submitted = seconds(job.metadata.creation_timestamp)
        roles = tuple(self._role_of_job(role, runs) for role in made.roles)
        least = None if made.min_available == made.pods else made.min_available
        made = replace(
            made, submitted=submitted, roles=roles, min_available=least, fails_after=None, job=None
        )
        over = job.status.state.last_transition_time
        self._add(made, runs, None if over is None else seconds(over))

    def _role_of_job(self, role: Role, runs: Sequence[PodRun]) -> Role:
        """The role with the look of a pod, and as long as its pods ran."""
        spans = [run.span for run in runs if run.span is not None and role_name(run.pod) == role.name]
        pod = Pod(metadata=role.template.metadata, spec=role.template.spec)
        least = None if role.min_available == role.replicas else role.min_available
        template = self._looks.template(pod)
        return self._shapes.role(role.name, role.replicas, template, least, max(spans, default=None))

    def take_group(self, key: str, runs: Sequence[PodRun]) -> None:
        """A PodGroup, or what is left of one: its pods."""
        spans = [self._span(run) for run in runs]
        if None in spans:
            has_run = any(run.began is not None or run.pod.status.phase == "Running" for run in runs)
            self.found.dropped[STILL_RUNS if has_run else NEVER_RAN] += 1
            return
        group = self._groups.get(key, PodGroup())
        roles = self._roles(
            [(run.pod, span) for run, span in zip(runs, spans, strict=True) if span is not None]
        )
        pods, first = len(runs), runs[0].pod
        least = group.spec.min_member
        if group.spec.sub_group_policy:
            self.found.changed["a pod group with sub-groups: it is played as one gang"] += 1
        made = Submission(
            name=as_name(title_of(group, first).rpartition("/")[2]),
            namespace=first.metadata.namespace or "default",
            submitted=self._came(group, runs),
            run_seconds=max(span for span in spans if span is not None),
            roles=roles,
            queue=group.spec.queue or first.metadata.annotations.get(keys.QUEUE_NAME, "") or DEFAULT_QUEUE,
            min_available=least if 0 < least < pods else None,
            priority_class=group.spec.priority_class_name or first.spec.priority_class_name,
            topology=group.spec.network_topology,
            annotations=without_ours(bare(group.metadata).annotations),
            labels=group.metadata.labels,
        )
        self._add(made, runs)

    def _span(self, run: PodRun) -> float | None:
        """How long the pod ran; of one that has not ended, what it says itself, else what is assumed."""
        if run.span is not None or run.ended is not None:
            return run.span
        stated = stated_seconds(run.pod, self._groups.get(group_key(run.pod)))
        if stated is not None:
            self.found.changed["a pod that has not ended: the run time that it states is taken"] += 1
            return stated
        if self._duration is not None:
            self.found.changed[f"a pod that has not ended: {self._duration:g} s are assumed"] += 1
        return self._duration

    def _came(self, group: PodGroup, runs: Sequence[PodRun]) -> float:
        """When the group was made; where that is not known any more, the first of its pods."""
        if group.metadata.creation_timestamp is not None:
            return seconds(group.metadata.creation_timestamp)
        return min(seconds(run.pod.metadata.creation_timestamp) for run in runs)

    def _roles(self, ran: Sequence[tuple[Pod, float]]) -> tuple[Role, ...]:
        """Pods of one role that look alike and ran as long."""
        templates: dict[int, PodTemplate] = {}
        spans: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        for pod, span in ran:
            template = self._looks.template(pod)
            templates[id(template)] = template
            spans[role_name(pod), id(template)].append(span)
        parts = [
            (name, templates[template], alike)
            for (name, template), of_look in spans.items()
            for alike in alike_spans(of_look)
        ]
        names = numbered([name for name, _, _ in parts])
        return tuple(
            self._shapes.role(name, len(alike), template, None, max(alike))
            for name, (_, template, alike) in zip(names, parts, strict=True)
        )

    def _add(self, job: Submission, runs: Sequence[PodRun], over: float | None = None) -> None:
        longest = {role.run_seconds for role in job.roles} - {None}
        if len(longest) == 1:
            (runs_for,) = longest
            assert runs_for is not None
            job = replace(
                job, run_seconds=runs_for, roles=tuple(self._as_the_job(role) for role in job.roles)
            )
        self.found.jobs.append(self._by_a_name_of_its_own(job))
        ends = [over, *(run.ended for run in runs)]
        self.found.ends += [end for end in ends if end is not None]

    def _by_a_name_of_its_own(self, job: Submission) -> Submission:
        """The job, with a number if another was called like it."""
        name, number = job.name, 1
        while f"{job.namespace}/{name}" in self._taken:
            number += 1
            name = f"{job.name}-{number}"
        self._taken.add(f"{job.namespace}/{name}")
        if number == 1:
            return job
        self.found.changed[NAMED_AGAIN] += 1
        return replace(job, name=name)

    def _as_the_job(self, role: Role) -> Role:
        return self._shapes.role(role.name, role.replicas, role.template, role.min_available)


def numbered(names: Sequence[str]) -> list[str]:
    """The names; the second of one gets a number."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return found
