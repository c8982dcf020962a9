"""Request: a job as its user hands it in, and the ways in which it can be asked for differently.

A Volcano Job is changed in its own words and expanded anew; a PodGroup with its pods is changed as it stands.
Both say where in the manifest a change is to be made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from msgspec.structs import replace

from hekla.cluster.admission import default_job
from hekla.controllers.usage import Amounts, amounts, plus, usage_of, written
from hekla.objects import Pod, PodGroup, VolcanoJob
from hekla.objects.batch import PartitionPolicy, TaskSpec
from hekla.objects.keys import QUEUE_OF_POD, TASK_SPEC
from hekla.objects.meta import ResourceList
from hekla.objects.pod import PodSpec
from hekla.objects.scheduling import NetworkTopology

OnSpec = Callable[[PodSpec], PodSpec]
OnTopology = Callable[[NetworkTopology], NetworkTopology]


@dataclass(frozen=True)
class PlanRole:
    """Pods of a job that are alike."""

    name: str
    pods: int
    spec: PodSpec
    path: str
    """Where the spec stands in the manifest."""
    step: int = 1
    """Its pods come in groups of so many."""


class PlanRequest(Protocol):
    """One job, however it was written; every change gives a new one."""

    @property
    def title(self) -> str:
        """What users call it: kind and name."""

    @property
    def queue(self) -> str: ...

    @property
    def priority_class(self) -> str: ...

    @property
    def minimum(self) -> int: ...

    @property
    def roles(self) -> Sequence[PlanRole]: ...

    @property
    def topologies(self) -> Sequence[tuple[str, NetworkTopology]]:
        """What it asks of the network, with the place where that is written."""

    def where(self, part: str) -> str:
        """How the manifest calls its `minimum`, `queue` or `priority class`."""

    def where_pods(self, role: str) -> str:
        """Where the manifest says how many pods the role has."""

    def numbers(self) -> dict[str, object]:
        """The minimums that users write down themselves, and that must follow a change, by their place."""

    def sized(self, role: str, pods: int) -> PlanRequest:
        """With so many pods of the role; the gang shrinks where it must."""

    def with_minimum(self, minimum: int) -> PlanRequest: ...

    def in_queue(self, name: str) -> PlanRequest: ...

    def in_class(self, name: str) -> PlanRequest: ...

    def with_specs(self, change: OnSpec, role: str | None = None) -> PlanRequest:
        """With other pods, of one role or of all."""

    def with_topologies(self, change: OnTopology) -> PlanRequest: ...


def differences(before: PlanRequest, after: PlanRequest, *, but: Collection[str] = ()) -> str:
    """What else must be written differently in the manifest, as the rest of a line."""
    old, new = before.numbers(), after.numbers()
    changed = [place for place, value in new.items() if value != old[place] and place not in but]
    return "".join(f", {place}: {_spoken(new[place])} (was {_spoken(old[place])})" for place in changed)


def _spoken(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {amount}" for name, amount in value.items()) + "}"
    return str(value)


def pods_of_request(request: PlanRequest) -> int:
    return sum(role.pods for role in request.roles)


@dataclass(frozen=True)
class JobRequest:
    """A Volcano Job as its user wrote it; what was left open follows every change."""

    written: VolcanoJob
    scheduler_name: str

    @cached_property
    def job(self) -> VolcanoJob:
        """The Job with its defaults filled in."""
        return default_job(self.written, self.scheduler_name)

    @property
    def title(self) -> str:
        return f"job {self.job.key}"

    @property
    def queue(self) -> str:
        return self.job.spec.queue

    @property
    def priority_class(self) -> str:
        return self.job.spec.priority_class_name

    @property
    def minimum(self) -> int:
        return self.job.spec.min_available

    @property
    def roles(self) -> Sequence[PlanRole]:
        return [
            PlanRole(
                task.name, task.replicas, task.template.spec, f"spec.tasks[{i}].template.spec", _step(task)
            )
            for i, task in enumerate(self.job.spec.tasks)
        ]

    @property
    def topologies(self) -> Sequence[tuple[str, NetworkTopology]]:
        found = [("spec.networkTopology", self.job.spec.network_topology)]
        for i, task in enumerate(self.job.spec.tasks):
            if task.partition_policy is not None:
                path = f"spec.tasks[{i}].partitionPolicy.networkTopology"
                found.append((path, task.partition_policy.network_topology))
        return [(path, topology) for path, topology in found if topology is not None]

    def where(self, part: str) -> str:
        if part == "priority class":
            own = [role.path for role in self.roles if role.spec.priority_class_name]
            return " and ".join(f"{path}.priorityClassName" for path in ("spec", *own))
        return {"minimum": "spec.minAvailable", "queue": "spec.queue"}[part]

    def where_pods(self, role: str) -> str:
        position = next(i for i, task in enumerate(self.job.spec.tasks) if task.name == role)
        return f"spec.tasks[{position}].replicas"

    def numbers(self) -> dict[str, object]:
        found: dict[str, object] = {"spec.minAvailable": self.written.spec.min_available or None}
        for i, task in enumerate(self.written.spec.tasks):
            found[f"spec.tasks[{i}].minAvailable"] = task.min_available
            if task.partition_policy is not None:
                path = f"spec.tasks[{i}].partitionPolicy"
                found[f"{path}.totalPartitions"] = task.partition_policy.total_partitions
                found[f"{path}.minPartitions"] = task.partition_policy.min_partitions
        return found

    def sized(self, role: str, pods: int) -> PlanRequest:
        changed = self._with_tasks(lambda task: _sized(task, pods), role)
        total = sum(task.replicas for task in changed.written.spec.tasks)
        return changed._with(min_available=min(self.written.spec.min_available, total))

    def with_minimum(self, minimum: int) -> PlanRequest:
        return self._with(min_available=minimum)

    def in_queue(self, name: str) -> PlanRequest:
        return self._with(queue=name)

    def in_class(self, name: str) -> PlanRequest:
        changed = self._with(priority_class_name=name)
        return changed.with_specs(lambda spec: _in_class(spec, name) if spec.priority_class_name else spec)

    def with_specs(self, change: OnSpec, role: str | None = None) -> PlanRequest:
        return self._with_tasks(
            lambda task: replace(task, template=replace(task.template, spec=change(task.template.spec))), role
        )

    def with_topologies(self, change: OnTopology) -> PlanRequest:
        topology = self.written.spec.network_topology
        changed = self._with_tasks(
            lambda task: replace(task, partition_policy=_partitions_with(task.partition_policy, change))
        )
        return changed._with(network_topology=None if topology is None else change(topology))

    def _with_tasks(self, change: Callable[[TaskSpec], TaskSpec], role: str | None = None) -> JobRequest:
        """With other tasks, one or all; a task without a name has one among the defaults."""
        pairs = zip(self.written.spec.tasks, self.job.spec.tasks, strict=True)
        return self._with(
            tasks=tuple(change(task) if role in (None, named.name) else task for task, named in pairs)
        )

    def _with(self, **changes: object) -> JobRequest:
        spec = replace(self.written.spec, **changes)
        return JobRequest(replace(self.written, spec=spec), self.scheduler_name)


def _step(task: TaskSpec) -> int:
    return max(task.partition_policy.partition_size, 1) if task.partition_policy is not None else 1


def _sized(task: TaskSpec, pods: int) -> TaskSpec:
    """The task with so many replicas; its minimum and its partitions follow."""
    least = None if task.min_available is None else min(task.min_available, pods)
    partitions = task.partition_policy
    if partitions is not None:
        count = pods // _step(task)
        partitions = replace(
            partitions, total_partitions=count, min_partitions=min(partitions.min_partitions, count)
        )
    return replace(task, replicas=pods, min_available=least, partition_policy=partitions)


def _partitions_with(partitions: PartitionPolicy | None, change: OnTopology) -> PartitionPolicy | None:
    if partitions is None or partitions.network_topology is None:
        return partitions
    return replace(partitions, network_topology=change(partitions.network_topology))


def _in_class(spec: PodSpec, name: str) -> PodSpec:
    """The number that goes with a class is filled in anew."""
    return replace(spec, priority_class_name=name, priority=None, preemption_policy="")


_PLACES = {
    "minimum": "podgroup: spec.minMember",
    "queue": "podgroup: spec.queue",
    "priority class": "podgroup and pods: spec.priorityClassName",
}
_PLACES_ON_PODS = {
    "queue": f'metadata.annotations["{QUEUE_OF_POD}"]',
    "priority class": "spec.priorityClassName",
}


@dataclass(frozen=True)
class GroupRequest:
    """A PodGroup with its pods; or pods for which a controller makes the PodGroup."""

    group: PodGroup
    pods: tuple[Pod, ...]
    is_made_up: bool = False
    """The PodGroup stands in no file: what it says is said on the pods."""

    @property
    def title(self) -> str:
        return f"pod {self.pods[0].key}" if self.is_made_up else f"podgroup {self.group.key}"

    @property
    def queue(self) -> str:
        return self.group.spec.queue

    @property
    def priority_class(self) -> str:
        return self.group.spec.priority_class_name

    @property
    def minimum(self) -> int:
        return self.group.spec.min_member

    @property
    def roles(self) -> Sequence[PlanRole]:
        found: dict[str, list[Pod]] = {}
        for pod in self.pods:
            found.setdefault(role_of(pod), []).append(pod)
        return [
            PlanRole(name, len(pods), pods[0].spec, f'pods of "{name}": spec' if name else "pods: spec")
            for name, pods in found.items()
        ]

    @property
    def topologies(self) -> Sequence[tuple[str, NetworkTopology]]:
        spec = self.group.spec
        found = [("podgroup: spec.networkTopology", spec.network_topology)]
        found += [
            (f"podgroup: spec.subGroupPolicy[{i}].networkTopology", policy.network_topology)
            for i, policy in enumerate(spec.sub_group_policy)
        ]
        return [(path, topology) for path, topology in found if topology is not None]

    def where(self, part: str) -> str:
        return (_PLACES_ON_PODS if self.is_made_up else _PLACES)[part]

    def where_pods(self, role: str) -> str:
        return f'number of pods of "{role}"' if role else "number of pods"

    def numbers(self) -> dict[str, object]:
        if self.is_made_up:
            return {}
        spec = self.group.spec
        return {
            "podgroup: spec.minMember": spec.min_member,
            "podgroup: spec.minTaskMember": spec.min_task_member or None,
            "podgroup: spec.minResources": spec.min_resources,
        }

    def sized(self, role: str, pods: int) -> PlanRequest:
        """The last pods of the role go."""
        left, kept = pods, list[Pod]()
        for pod in self.pods:
            if role_of(pod) == role:
                left -= 1
            if role_of(pod) != role or left >= 0:
                kept.append(pod)
        spec = self.group.spec
        minimums = {
            name: min(least, pods) if name == role else least for name, least in spec.min_task_member.items()
        }
        least = min(spec.min_member, len(kept))
        return self._with(tuple(kept), min_member=least, min_task_member=minimums)

    def with_minimum(self, minimum: int) -> PlanRequest:
        return self._with(self.pods, min_member=minimum)

    def in_queue(self, name: str) -> PlanRequest:
        return self._with(self.pods, queue=name)

    def in_class(self, name: str) -> PlanRequest:
        changed = self.with_specs(lambda spec: _in_class(spec, name))
        assert isinstance(changed, GroupRequest)
        return changed._with(changed.pods, priority_class_name=name)

    def with_specs(self, change: OnSpec, role: str | None = None) -> PlanRequest:
        pods = tuple(
            replace(pod, spec=change(pod.spec)) if role in (None, role_of(pod)) else pod for pod in self.pods
        )
        return self._with(pods)

    def with_topologies(self, change: OnTopology) -> PlanRequest:
        spec = self.group.spec
        topology = spec.network_topology
        policies = tuple(
            policy
            if policy.network_topology is None
            else replace(policy, network_topology=change(policy.network_topology))
            for policy in spec.sub_group_policy
        )
        return self._with(
            self.pods,
            network_topology=None if topology is None else change(topology),
            sub_group_policy=policies,
        )

    def _with(self, pods: tuple[Pod, ...], **changes: object) -> GroupRequest:
        spec = replace(self.group.spec, **changes) if changes else self.group.spec
        spec = replace(spec, min_resources=self._min_resources(pods, spec.min_member))
        return GroupRequest(replace(self.group, spec=spec), pods, self.is_made_up)

    def _min_resources(self, pods: Sequence[Pod], minimum: int) -> ResourceList | None:
        """What the group says it needs, lowered to what its pods need where they need something else now."""
        stated = self.group.spec.min_resources
        needed = need_of(pods, minimum)
        if stated is None or needed == need_of(self.pods, self.minimum):
            return stated
        return written(
            {name: min(amount, needed.get(name, amount)) for name, amount in amounts(stated).items()}
        )


def need_of(pods: Sequence[Pod], minimum: int) -> Amounts:
    """What the first pods ask for that make up the minimum."""
    total: Amounts = {}
    for pod in pods[:minimum]:
        total = plus(total, usage_of(pod.spec))
    return total


def role_of(pod: Pod) -> str:
    return pod.metadata.annotations.get(TASK_SPEC) or pod.metadata.labels.get(TASK_SPEC, "")
