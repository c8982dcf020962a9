"""Manifests as a workload: Jobs, PodGroups and pods that wait are handed in, what runs already is there.

A pod that runs already has its remaining time to run: a snapshot is as old as its youngest time stamp.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from hekla.controllers.podgroup import group_name_for, new_pod_group
from hekla.objects import Manifest, Node, ObjectMeta, Pod, PodGroup, VolcanoJob, keys, seconds
from hekla.objects.batch import PodTemplate
from hekla.objects.keys import ARRIVES_AT, RUN_SECONDS
from hekla.simulation.workloads.fields import Spot
from hekla.simulation.workloads.model import GivenGroup, Restart, Role, Submission
from hekla.simulation.workloads.shapes import Shapes
from hekla.simulation.workloads.short_jobs import Entry
from hekla.simulation.workloads.vcjobs import (
    OURS,
    restart_of,
    run_seconds_of,
    seconds_in,
    submission_of,
    without_ours,
)

SCHEDULERS = ("volcano", "hekla")
DONE = frozenset({"Succeeded", "Failed"})
ENDED_JOBS = frozenset(
    {"Completed", "Failed", "Aborted", "Terminated", "Completing", "Aborting", "Terminating"}
)

ONE_POD_ONLY = OURS | {
    keys.GROUP_NAME,
    keys.JOB_NAME,
    keys.JOB_NAMESPACE,
    keys.JOB_RETRY_COUNT,
    keys.JOB_VERSION,
    keys.QUEUE_NAME,
    keys.TASK_INDEX,
    keys.TEMPLATE_UID,
}
"""Labels and annotations that tell pods of one kind apart, or say where they belong."""

Placed = tuple[Manifest, Spot]


@dataclass
class Sorted:
    """Manifests by what becomes of them."""

    entries: list[Entry] = field(default_factory=list)
    objects: list[Manifest] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)


def sorted_out(
    manifests: Sequence[Placed],
    shapes: Shapes,
    duration: float | None,
    moment: float = 0.0,
    nodes: Iterable[Node] = (),
) -> Sorted:
    """What is handed in, and what is there at the start; `moment` is when the manifests were recorded."""
    return _Sorter(manifests, shapes, duration, moment, nodes).result


class _Sorter:
    def __init__(
        self,
        manifests: Sequence[Placed],
        shapes: Shapes,
        duration: float | None,
        moment: float,
        nodes: Iterable[Node],
    ) -> None:
        self.result = Sorted()
        self._shapes = shapes
        self._duration = duration
        self._moment = moment
        self._nodes = frozenset(node.metadata.name for node in nodes)
        self._groups: dict[str, tuple[PodGroup, Spot]] = {}
        self._jobs = {m.key: (m, spot) for m, spot in manifests if isinstance(m, VolcanoJob)}
        self._waiting: defaultdict[str, list[Pod]] = defaultdict(list)
        self._busy: set[str] = set()
        """Groups of which some pods run already."""
        self._known_jobs: set[str] = set()
        """Jobs of which there are pods."""
        for manifest, spot in manifests:
            if isinstance(manifest, PodGroup):
                self._groups[manifest.key] = (manifest, spot)
            elif not isinstance(manifest, Pod | VolcanoJob):
                self.result.objects.append(manifest)
        for manifest, spot in manifests:
            if isinstance(manifest, Pod):
                self._take_pod(manifest, spot)
        self._hand_in_groups()
        self._hand_in_jobs()

    def _take_pod(self, pod: Pod, spot: Spot) -> None:
        if job := pod.metadata.annotations.get(keys.JOB_NAME):
            self._known_jobs.add(f"{pod.metadata.namespace}/{job}")
        if pod.status.phase in DONE:
            self.result.dropped["a pod that is done"] += 1
        elif pod.metadata.deletion_timestamp is not None:
            self.result.dropped["a pod that is being deleted"] += 1
        elif pod.spec.node_name and pod.spec.node_name not in self._nodes:
            self.result.dropped["a pod on a node that is not there"] += 1
        elif pod.spec.node_name:
            self._busy.add(group_key(pod))
            self.result.objects.append(self._running(pod, spot))
        elif pod.metadata.annotations.get(keys.GROUP_NAME) or pod.spec.scheduler_name in SCHEDULERS:
            self._wait(pod, spot)
        else:
            self.result.dropped["a pending pod of another scheduler"] += 1

    def _wait(self, pod: Pod, spot: Spot) -> None:
        key = group_key(pod)
        if key not in self._groups:
            name = key.partition("/")[2]
            self._groups[key] = (new_pod_group(pod, name, {}), spot)
        self._waiting[key].append(pod)

    def _running(self, pod: Pod, spot: Spot) -> Pod:
        """The pod with the time that it still has to run."""
        group = self._groups.get(group_key(pod))
        notes = {**(group[0].metadata.annotations if group else {}), **pod.metadata.annotations}
        runs = run_seconds_of(notes, spot, self._duration, self.result.changed)
        if RUN_SECONDS in notes and pod.status.start_time is not None:
            runs = max(1.0, runs - max(0.0, self._moment - seconds(pod.status.start_time)))
        said = "forever" if runs == float("inf") else f"{round(runs, 3):.15g}"
        annotations = {**pod.metadata.annotations, RUN_SECONDS: said}
        return replace(pod, metadata=replace(pod.metadata, annotations=annotations))

    def _hand_in_groups(self) -> None:
        by_age = sorted(self._groups.values(), key=lambda each: age_and_name(each[0]))
        for group, spot in by_age:
            pods = self._waiting.get(group.key, [])
            if group.key in self._busy:
                self.result.objects.append(group)
            if pods:
                self.result.entries.append(Entry(self._submission(group, pods, spot), spot))
            elif group.key not in self._busy:
                self.result.dropped["a pod group without pods that wait"] += 1

    def _submission(self, group: PodGroup, pods: Sequence[Pod], spot: Spot) -> Submission:
        notes = group.metadata.annotations
        first = pods[0].metadata.annotations
        said = {**first, **notes} if RUN_SECONDS not in notes else notes
        runs = run_seconds_of(said, spot, self._duration, self.result.changed)
        is_rest = group.key in self._busy
        roles, members = self._roles(group, pods, runs, spot)
        if is_rest:
            self.result.changed["pods that wait in a group that runs: handed in as a job of their own"] += 1
        if group.spec.sub_group_policy and is_rest:
            self.result.changed["a pod group with sub-groups: its rest is played as one gang"] += 1
        return Submission(
            name=f"{group.metadata.name}-rest" if is_rest else group.metadata.name,
            submitted=self._arrival(group, pods, spot),
            run_seconds=runs,
            roles=roles,
            queue=group.spec.queue or "default",
            namespace=group.metadata.namespace,
            min_available=1 if is_rest else max(1, group.spec.min_member),
            priority_class=group.spec.priority_class_name or pods[0].spec.priority_class_name,
            restart=self._restart(group, first),
            topology=group.spec.network_topology,
            annotations=without_ours(notes),
            labels=group.metadata.labels,
            group=None if is_rest else GivenGroup(group.spec, tuple(members)),
        )

    def _arrival(self, group: PodGroup, pods: Iterable[Pod], spot: Spot) -> float:
        said = [seconds_in(each.metadata.annotations, ARRIVES_AT, spot) for each in (group, *pods)]
        return max((moment for moment in said if moment is not None), default=0.0)

    def _restart(self, group: PodGroup, of_pod: Mapping[str, str]) -> Restart:
        job = self._jobs.get(f"{group.metadata.namespace}/{of_pod.get(keys.JOB_NAME, '')}")
        return restart_of(job[0]) if job else Restart.POD

    def _roles(
        self, group: PodGroup, pods: Sequence[Pod], runs: float, spot: Spot
    ) -> tuple[tuple[Role, ...], list[tuple[ObjectMeta, int]]]:
        """Pods that look alike are one role; which one each pod has."""
        looks = [self._look_of(pod, runs, spot) for pod in pods]
        alike = Counter((name, id(template), own) for name, template, own in looks)
        templates = {id(template): template for _, template, _ in looks}
        names = Counter(name for name, _, _ in alike)
        roles = []
        for number, ((name, template_id, own), count) in enumerate(alike.items(), start=1):
            least = group.spec.min_task_member.get(name) if names[name] == 1 else None
            called = name if names[name] == 1 else f"{name}-{number}"
            roles.append(self._shapes.role(called, count, templates[template_id], least, own))
        places = {look: place for place, look in enumerate(alike)}
        members = [
            (_own_words(pod), places[name, id(template), own])
            for pod, (name, template, own) in zip(pods, looks, strict=True)
        ]
        return tuple(roles), members

    def _look_of(self, pod: Pod, runs: float, spot: Spot) -> tuple[str, PodTemplate, float | None]:
        own = seconds_in(pod.metadata.annotations, RUN_SECONDS, spot)
        name = pod.metadata.annotations.get(keys.TASK_SPEC, "pod")
        return name, self._shapes.shared(template_of(pod)), None if own == runs else own

    def _hand_in_jobs(self) -> None:
        for job, spot in self._jobs.values():
            if job.status.state.phase in ENDED_JOBS:
                self.result.dropped["a Job that has ended"] += 1
            elif job.key not in self._known_jobs:
                submission = submission_of(job, spot, self._shapes, self._duration, self.result.changed)
                self.result.entries.append(Entry(submission, spot))


def group_key(pod: Pod) -> str:
    """The group that a pod names, or the one that it would be given."""
    name = pod.metadata.annotations.get(keys.GROUP_NAME)
    if not name:
        has_uid = pod.metadata.uid or any(owner.uid for owner in pod.metadata.owner_references)
        name = group_name_for(pod) if has_uid else pod.metadata.name
    return f"{pod.metadata.namespace}/{name}"


def _own_words(pod: Pod) -> ObjectMeta:
    meta = pod.metadata
    return ObjectMeta(name=meta.name, labels=meta.labels, annotations=without_ours(meta.annotations))


def template_of(pod: Pod) -> PodTemplate:
    """What the pods of a role have in common."""
    meta = pod.metadata
    return PodTemplate(
        metadata=ObjectMeta(labels=_in_common(meta.labels), annotations=_in_common(meta.annotations)),
        spec=pod.spec,
    )


def _in_common(notes: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in notes.items() if key not in ONE_POD_ONLY}


def youngest(manifests: Iterable[Manifest]) -> float:
    """The latest moment that manifests tell of."""
    return max((seconds(moment) for manifest in manifests for moment in _moments(manifest)), default=0.0)


def _moments(manifest: Manifest) -> Iterator[datetime | None]:
    yield manifest.metadata.creation_timestamp
    if isinstance(manifest, Pod):
        yield manifest.status.start_time
        yield from (condition.last_transition_time for condition in manifest.status.conditions)


def age_and_name(manifest: Manifest) -> tuple[float, str]:
    return seconds(manifest.metadata.creation_timestamp), manifest.key
