"""Admission of pods, PodGroups and HyperNodes: defaults, priorities, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from hekla.cluster.admission.problems import (
    Problem,
    is_dns_subdomain,
    problems_of_template,
    problems_of_topology,
)
from hekla.controllers.expand import pod_group_of
from hekla.controllers.ports import with_host_ports
from hekla.controllers.queue_tree import Queues, is_open
from hekla.objects import (
    HyperNode,
    Manifest,
    Namespace,
    ObjectMeta,
    Pod,
    PodGroup,
    PriorityClass,
    Toleration,
    VolcanoJob,
    keys,
)
from hekla.objects.complaint import known_ones
from hekla.objects.keys import DEFAULT_QUEUE, DEFAULT_SCHEDULER
from hekla.objects.node import Member, MemberSelector
from hekla.objects.pod import Affinity, SchedulingGate
from hekla.objects.quantity import read_count


class ResourceGroup(msgspec.Struct, frozen=True):
    """Pods of some namespaces, or with some annotations, and where they are sent."""

    name: str
    namespaces: frozenset[str] = frozenset()
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    node_selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    scheduler_name: str = ""

    def holds(self, pod: Pod) -> bool:
        annotations = pod.metadata.annotations
        if self.namespaces or self.annotations:
            wanted = self.annotations.items()
            return pod.metadata.namespace in self.namespaces or any(
                pair in annotations.items() for pair in wanted
            )
        return annotations.get(keys.RESOURCE_GROUP) == self.name


def default_pod_group(pod_group: PodGroup, namespaces: Mapping[str, Namespace]) -> PodGroup:
    """The PodGroup in the queue it names, else in that of its namespace, else in the default queue."""
    queue = pod_group.spec.queue or DEFAULT_QUEUE
    namespace = namespaces.get(pod_group.metadata.namespace)
    if queue == DEFAULT_QUEUE and namespace is not None:
        queue = namespace.metadata.annotations.get(keys.QUEUE_OF_POD) or queue
    return replace(pod_group, spec=replace(pod_group.spec, queue=queue))


def problems_of_pod_group(pod_group: PodGroup, queues: Queues) -> list[Problem]:
    """Why a new PodGroup must be refused."""
    spec, problems = pod_group.spec, list[Problem]()
    if spec.queue and spec.queue not in queues:
        message = f'no queue "{spec.queue}"{known_ones(spec.queue, queues, "queues")}'
        problems.append(Problem("spec.queue", message))
    elif spec.queue and not is_open(queues[spec.queue]):
        message = (
            f'queue "{spec.queue}" is "{queues[spec.queue].status.state}"; only an open queue takes work'
        )
        problems.append(Problem("spec.queue", message))
    problems += problems_of_topology("spec.networkTopology", spec.network_topology)
    for i, policy in enumerate(spec.sub_group_policy):
        if found := problems_of_topology(
            f"spec.subGroupPolicy[{i}].networkTopology", policy.network_topology
        ):
            return problems + found
    return problems


def default_pod(pod: Pod, resource_groups: Sequence[ResourceGroup] = (), *, gates: bool = False) -> Pod:
    """The pod as it enters the cluster; `gates` lets pods wait until their queue has room for them."""
    group = next((group for group in resource_groups if group.holds(pod)), None)
    if group is not None:
        pod = _sent_to(group, pod)
    if gates and pod.metadata.annotations.get(keys.QUEUE_ALLOCATION_GATE) == "true":
        pod = _gated(pod)
    return replace(pod, spec=with_host_ports(pod.spec))


def _sent_to(group: ResourceGroup, pod: Pod) -> Pod:
    spec = pod.spec
    return replace(
        pod,
        spec=replace(
            spec,
            node_selector=spec.node_selector | dict(group.node_selector),
            affinity=group.affinity if spec.affinity is None else spec.affinity,
            tolerations=(*spec.tolerations, *group.tolerations),
            scheduler_name=group.scheduler_name or spec.scheduler_name,
        ),
    )


def _gated(pod: Pod) -> Pod:
    gate = SchedulingGate(name=keys.QUEUE_ALLOCATION_GATE)
    if gate in pod.spec.scheduling_gates:
        return pod
    return replace(pod, spec=replace(pod.spec, scheduling_gates=(*pod.spec.scheduling_gates, gate)))


def problems_of_pod(pod: Pod, scheduler_names: Sequence[str] = (DEFAULT_SCHEDULER,)) -> list[Problem]:
    """Why a new pod must be refused; pods of other schedulers are none of our business."""
    if pod.spec.scheduler_name not in scheduler_names:
        return []
    return [*problems_of_template("spec", pod.spec), *_problems_of_budget(pod.metadata.annotations)]


def _problems_of_budget(annotations: Mapping[str, str]) -> Iterator[Problem]:
    budgets = (keys.BUDGET_MIN_AVAILABLE, keys.BUDGET_MAX_UNAVAILABLE)
    given = [key for key in budgets if key in annotations]
    for key in given:
        if not is_share_or_count(annotations[key]):
            message = f'"{annotations[key]}" is neither a number above 0 nor a percentage from 1% to 99%'
            yield Problem(f"metadata.annotations[{key}]", message)
    if len(given) > 1:
        yield Problem("metadata.annotations", f'"{budgets[0]}" and "{budgets[1]}" are both given; keep one')


def is_share_or_count(text: str) -> bool:
    digits = text.removesuffix("%")
    number = read_count(digits) or 0
    return 1 <= number <= 99 if text.endswith("%") else number > 0


def problems_of_hyper_node(hyper_node: HyperNode) -> list[Problem]:
    """Why a HyperNode must be refused."""
    spec, problems = hyper_node.spec, list[Problem]()
    if spec.tier < 0:
        problems.append(Problem("spec.tier", f'"{spec.tier}" is negative'))
    if not spec.members:
        problems.append(Problem("spec.members", "no member; give at least one"))
    for i, member in enumerate(spec.members):
        problems += _problems_of_member(f"spec.members[{i}]", member)
    return problems


def warnings_of_hyper_node(hyper_node: HyperNode) -> list[Problem]:
    """What is allowed, but hardly meant: a member that selects nothing."""
    return [
        Problem(f"spec.members[{i}].selector", "no selector; the member stands for nothing")
        for i, member in enumerate(hyper_node.spec.members)
        if member.selector == MemberSelector()
    ]


def _problems_of_member(path: str, member: Member) -> Iterator[Problem]:
    if member.type not in ("Node", "HyperNode"):
        yield Problem(f"{path}.type", f'no member type "{member.type}"; known types: Node, HyperNode')
    selector = member.selector
    given = [
        kind
        for kind in (selector.exact_match, selector.regex_match, selector.label_match)
        if kind is not None
    ]
    if len(given) > 1:
        message = f'"{len(given)}" of exactMatch, regexMatch and labelMatch are given; keep one'
        yield Problem(f"{path}.selector", message)
    if selector.exact_match is not None and not is_dns_subdomain(selector.exact_match.name):
        name = selector.exact_match.name
        yield Problem(f"{path}.selector.exactMatch.name", f'"{name}" is no name for a node')
    if selector.regex_match is not None and not _compiles(selector.regex_match.pattern):
        pattern = selector.regex_match.pattern
        yield Problem(f"{path}.selector.regexMatch.pattern", f'"{pattern}" is not a regular expression')


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return bool(pattern)


BUILT_IN = (
    PriorityClass(metadata=ObjectMeta(name="system-cluster-critical"), value=2_000_000_000),
    PriorityClass(metadata=ObjectMeta(name="system-node-critical"), value=2_000_001_000),
)
PREEMPTS = "PreemptLowerPriority"
_PLAIN = PriorityClass()


def admitted_pod(
    pod: Pod, classes: Collection[PriorityClass], resource_groups: Sequence[ResourceGroup] = ()
) -> tuple[Pod, str]:
    """The pod as it enters the cluster, with the priority of its class; and what is wrong with that class."""
    return with_priority(default_pod(pod, resource_groups), classes)


def admitted_group(
    job: VolcanoJob, classes: Iterable[PriorityClass], namespaces: Mapping[str, Namespace]
) -> PodGroup:
    """The PodGroup of a Job as it enters the cluster, in the queue that its namespace may name."""
    values = {each.metadata.name: each.value for each in classes}
    return default_pod_group(pod_group_of(job, values), namespaces)


def made_up_uid(manifest: Manifest) -> str:
    """The UID of an object that brings none: made from its name, so that it is the same in every run."""
    return manifest.key.replace("/", "-")


def with_priority(pod: Pod, classes: Collection[PriorityClass]) -> tuple[Pod, str]:
    """The pod with the priority of its class, and what is wrong if there is no such class."""
    name = pod.spec.priority_class_name
    found = _class_of(name, classes)
    problem = ""
    if found is None:
        known = ", ".join(sorted(each.metadata.name for each in (*classes, *BUILT_IN)))
        problem = (
            f'spec.priorityClassName: no priority class "{name}"; known classes: {known}; it counts as 0'
        )
    value = found or _PLAIN
    spec = replace(
        pod.spec,
        priority=value.value if pod.spec.priority is None else pod.spec.priority,
        preemption_policy=pod.spec.preemption_policy or value.preemption_policy or PREEMPTS,
    )
    return replace(pod, spec=spec), problem


def _class_of(name: str, classes: Collection[PriorityClass]) -> PriorityClass | None:
    """The class of this name; without a name the one that is everybody's default, else a plain one."""
    if not name:
        return next((each for each in classes if each.global_default), _PLAIN)
    return next((each for each in (*classes, *BUILT_IN) if each.metadata.name == name), None)
