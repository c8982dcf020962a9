"""InitialState: the present state as a simulation takes it over, and the jobs in it.

What controllers would still make is made: pods of Jobs that have none yet, PodGroups of loose pods. All
timestamps are moved so that the present is the moment at which simulated time begins.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec.structs import replace

from hekla.cluster.admission import (
    admitted_group,
    admitted_pod,
    default_job,
    default_pod_group,
    made_up_uid,
    problems_of_job,
)
from hekla.cluster.node_usage import is_finished
from hekla.cluster.store import relevant
from hekla.controllers import pod_group_for
from hekla.controllers.expand import pod_group_key, pods_of
from hekla.controllers.queue import standing_queues
from hekla.errors import InputError
from hekla.insight.forecast.history import Question, likeness_of, span_of
from hekla.objects import Manifest, Namespace, Node, Pod, PodGroup, PriorityClass, Queue, VolcanoJob, seconds
from hekla.objects.keys import GROUP_NAME, JOB_NAME, RUN_SECONDS
from hekla.simulation.jobs import stated
from hekla.simulation.options import START
from hekla.simulation.workloads.manifests import ENDED_JOBS, SCHEDULERS
from hekla.simulation.workloads.pod_runs import title_of

M = TypeVar("M", bound=Manifest)


@dataclass(frozen=True)
class Known:
    """What is known of a job beside its objects."""

    user: str = ""
    estimate: float | None = None


@dataclass(frozen=True)
class InitialJob:
    """A job that is there now."""

    key: str
    """Of its PodGroup."""
    title: str
    """As its user calls it: `namespace/name`."""
    queue: str
    pods: int
    minimum: int
    submitted: float | None
    """Seconds since 1970, where it says."""
    is_waiting: bool
    """Not as many of its pods have a node as must start together."""
    question: Question


@dataclass(frozen=True)
class InitialState:
    """Everything that is there now; moved in time, so that now is `START`."""

    objects: tuple[Manifest, ...]
    jobs: tuple[InitialJob, ...]
    """Those that wait and those that run; oldest first."""
    notes: tuple[str, ...]
    """What was left out or assumed, as sentences."""
    not_made: frozenset[str] = frozenset()
    """By key those pods that their Job makes only once its PodGroup is admitted."""

    @property
    def waiting(self) -> list[InitialJob]:
        return [job for job in self.jobs if job.is_waiting]


def initial_state(
    objects: Iterable[Manifest],
    now: float,
    *,
    scheduler_names: Sequence[str] = SCHEDULERS,
    known: Mapping[str, Known] | None = None,
) -> InitialState:
    """What is there at that moment, in seconds since 1970; `known` tells more of jobs, by PodGroup."""
    builder = _Builder(relevant(objects, scheduler_names), now, scheduler_names)
    return builder.initial_state(known or {})


@dataclass
class _Builder:
    given: list[Manifest]
    now: float
    scheduler_names: Sequence[str]
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stamps = 0
        self._not_made: set[str] = set()
        self._groups = {group.key: group for group in _all_of(PodGroup, self.given)}
        self._jobs = {job.key: job for job in _all_of(VolcanoJob, self.given)}
        self._namespaces = {each.metadata.name: each for each in _all_of(Namespace, self.given)}
        self._classes = _all_of(PriorityClass, self.given)
        nodes = {node.metadata.name for node in _all_of(Node, self.given)}
        self._pods: list[Pod] = []
        self._waiting_for_tasks: list[VolcanoJob] = []
        """Jobs of which some tasks are made only once other tasks run."""
        for pod in _all_of(Pod, self.given):
            if pod.spec.node_name and pod.spec.node_name not in nodes:
                self.counts["a pod on a node that is not there"] += 1
            elif not is_finished(pod) and (pod.spec.node_name or pod.metadata.deletion_timestamp is None):
                self._pods.append(pod)

    def initial_state(self, known: Mapping[str, Known]) -> InitialState:
        self._group_loose_pods()
        self._expand_jobs()
        groups = [default_pod_group(self._stamped(each), self._namespaces) for each in self._groups.values()]
        pods = [self._stamped(self._ready(pod)) for pod in self._pods]
        others = [each for each in self.given if not isinstance(each, Pod | PodGroup | VolcanoJob)]
        moved = [self._moved(each) for each in (*others, *self._waiting_for_tasks, *groups, *pods)]
        jobs = self._described([each for each in moved if isinstance(each, PodGroup | Pod)], known)
        left_out = [f"{count} left out: {what}" for what, count in self.counts.items()]
        return InitialState(tuple(moved), tuple(jobs), (*self.notes, *left_out), frozenset(self._not_made))

    def _expand_jobs(self) -> None:
        """Pods of Jobs that have none yet."""
        pods = _all_of(Pod, self.given)
        named = {f"{pod.metadata.namespace}/{pod.metadata.annotations.get(JOB_NAME, '')}" for pod in pods}
        grouped = {group_key(pod) for pod in pods}
        queues = {queue.metadata.name: queue for queue in _all_of(Queue, self.given)}
        queues |= {queue.metadata.name: queue for queue in standing_queues(set(queues))}
        for job in self._jobs.values():
            if job.status.state.phase in ENDED_JOBS or job.key in named:
                continue
            whole = self._stamped(default_job(job, self.scheduler_names[0]))
            if self._group_of(whole) in grouped:
                continue
            if problems := problems_of_job(whole, queues):
                self.notes.append(f"job {job.key}: left out: {problems[0]}")
            else:
                self._take(whole)

    def _take(self, job: VolcanoJob) -> None:
        key = self._group_of(job)
        if key is None:
            group = admitted_group(job, self._classes, self._namespaces)
            key = group.key
            self._groups[key] = group
        pods = pods_of(job, self._groups[key].metadata.name)
        self._pods += pods
        self._not_made.update(pod.key for pod in pods)
        if any(task.depends_on for task in job.spec.tasks):
            self._waiting_for_tasks.append(job)

    def _group_of(self, job: VolcanoJob) -> str | None:
        """Its PodGroup, if there is one: under its name of today, or that of older versions."""
        return next((key for key in (pod_group_key(job), job.key) if key in self._groups), None)

    def _group_loose_pods(self) -> None:
        for place, pod in enumerate(self._pods):
            if not pod.spec.node_name:
                group, joined = pod_group_for(
                    self._stamped(pod), self._groups, scheduler_names=self.scheduler_names
                )
                if group is not None:
                    stamp = replace(group.metadata, creation_timestamp=pod.metadata.creation_timestamp)
                    self._groups[group.key] = replace(group, metadata=stamp)
                self._pods[place] = joined

    def _ready(self, pod: Pod) -> Pod:
        """A pod that waits, with what admission fills in; those that run have it already."""
        if pod.spec.node_name:
            return pod
        ready, problem = admitted_pod(pod, self._classes)
        if problem:
            self.counts[f"priority of a pod: {problem}"] += 1
        return ready

    def _stamped(self, manifest: M) -> M:
        """With a UID and a creation time; what has none was created just now, in the order given."""
        meta = manifest.metadata
        if meta.uid and meta.creation_timestamp is not None:
            return manifest
        self._stamps += 1
        created = datetime.fromtimestamp(self.now, UTC) + timedelta(microseconds=self._stamps)
        stamped = replace(
            meta,
            uid=meta.uid or made_up_uid(manifest),
            creation_timestamp=meta.creation_timestamp or created,
        )
        return replace(manifest, metadata=stamped)

    def _moved(self, manifest: Manifest) -> Manifest:
        by = timedelta(seconds=START - self.now)
        meta = manifest.metadata
        fresh = replace(
            meta,
            creation_timestamp=_later(meta.creation_timestamp, by),
            deletion_timestamp=_later(meta.deletion_timestamp, by),
        )
        if not isinstance(manifest, Pod):
            return replace(manifest, metadata=fresh)
        status = manifest.status
        conditions = tuple(
            replace(each, last_transition_time=_later(each.last_transition_time, by))
            for each in status.conditions
        )
        moved = replace(status, start_time=_later(status.start_time, by), conditions=conditions)
        return replace(manifest, metadata=fresh, status=moved)

    def _described(self, work: Iterable[PodGroup | Pod], known: Mapping[str, Known]) -> list[InitialJob]:
        groups: dict[str, PodGroup] = {}
        pods: defaultdict[str, list[Pod]] = defaultdict(list)
        for each in work:
            if isinstance(each, PodGroup):
                groups[each.key] = each
            elif each.metadata.deletion_timestamp is None:
                pods[group_key(each)].append(each)
        jobs = [self._describe(group, pods[key], known) for key, group in groups.items() if key in pods]
        if idle := len(groups) - len(jobs):
            self.counts["a pod group without pods"] += idle
        return sorted(jobs, key=lambda job: (job.submitted is None, job.submitted or 0.0, job.key))

    def _describe(self, group: PodGroup, pods: Sequence[Pod], more: Mapping[str, Known]) -> InitialJob:
        title = title_of(group, pods[0])
        known = more.get(group.key) or more.get(title) or Known()
        minimum = max(1, min(group.spec.min_member, len(pods)))
        created = self._created(title) or seconds(group.metadata.creation_timestamp) - START + self.now
        return InitialJob(
            key=group.key,
            title=title,
            queue=group.spec.queue,
            pods=len(pods),
            minimum=minimum,
            submitted=created if self.now else None,
            is_waiting=sum(bool(pod.spec.node_name) for pod in pods) < minimum,
            question=Question(
                likeness_of(title, queue=group.spec.queue, pods=len(pods), user=known.user),
                has_run=max(map(has_run, pods)),
                stated=_stated(group, pods),
                estimate=known.estimate or self._estimate(title),
            ),
        )

    def _created(self, title: str) -> float:
        """When a Job was handed in; 0 where it is none, or does not say."""
        job = self._jobs.get(title)
        return 0.0 if job is None else seconds(job.metadata.creation_timestamp)

    def _estimate(self, title: str) -> float | None:
        """How long the user of a Job says that it runs."""
        job = self._jobs.get(title)
        if job is None:
            return None
        return span_of(job, "spec.runningEstimate", job.spec.running_estimate, self.notes.append)


def _stated(group: PodGroup, pods: Sequence[Pod]) -> float | None:
    """What annotations of the PodGroup say, else the longest that a pod says."""
    if RUN_SECONDS in group.metadata.annotations:
        return stated(Pod(), group)
    return max((stated(pod, None) for pod in pods if RUN_SECONDS in pod.metadata.annotations), default=None)


def group_key(pod: Pod) -> str:
    """The PodGroup that a pod names."""
    return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}"


def has_run(pod: Pod) -> float:
    """Seconds that a pod has run when simulated time begins."""
    began = pod.status.start_time
    return max(0.0, START - seconds(began)) if pod.spec.node_name and began is not None else 0.0


def _later(moment: datetime | None, by: timedelta) -> datetime | None:
    try:
        return None if moment is None else moment + by
    except OverflowError as error:
        raise InputError(f'a timestamp "{moment}" cannot be reckoned with; correct it') from error


def _all_of(kind: type[M], objects: Iterable[Manifest]) -> list[M]:
    return [manifest for manifest in objects if isinstance(manifest, kind)]
