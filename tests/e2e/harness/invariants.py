"""What must hold whatever a scheduler does: functions from API objects to violations, and nothing else.

The numbers are those of the reliability goals: I1 no node gives more than it has, I2 no more pods than
places and no port twice, I3 no pod where it must not be, I4 no gang in part, I7 no queue above its
capability.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from harness.demand import Amounts, amounts, demand_of, readable, shortages, total
from harness.kinds import Object, title_of
from harness.placement import objections

GROUP_KEYS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
TASK_KEY = "volcano.sh/task-spec"


@dataclass(frozen=True)
class Violation:
    invariant: str
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant} {self.subject}: {self.text}"


@dataclass(frozen=True)
class State:
    """All that the checks look at, as the API server tells it."""

    pods: list[Object]
    nodes: list[Object]
    pod_groups: list[Object] = field(default_factory=list)
    queues: list[Object] = field(default_factory=list)

    def pods_by_node(self) -> dict[str, list[Object]]:
        """The pods that hold something, by the node that gives it."""
        holding: dict[str, list[Object]] = defaultdict(list)
        for pod in self.pods:
            if node_of(pod) and not has_ended(pod):
                holding[node_of(pod)].append(pod)
        return holding

    def pods_by_group(self) -> dict[str, list[Object]]:
        """The members of each PodGroup, by `namespace/name`."""
        members: dict[str, list[Object]] = defaultdict(list)
        for pod in self.pods:
            if group := group_of(pod):
                members[group].append(pod)
        return members


def node_of(pod: Object) -> str:
    return str(pod["spec"].get("nodeName", ""))


def has_ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def group_of(pod: Object) -> str:
    notes = pod["metadata"].get("annotations", {})
    named = next((notes[key] for key in GROUP_KEYS if notes.get(key)), "")
    return f"{pod['metadata']['namespace']}/{named}" if named else ""


def check(state: State, stranded: Collection[str] = ()) -> list[Violation]:
    """All violations at rest; gangs known to be stranded for a cause are let pass."""
    found = [
        *overcommitted_nodes(state),
        *shared_host_ports(state),
        *misplaced_pods(state),
        *broken_gangs(state),
        *exceeded_queues(state),
    ]
    return [violation for violation in found if violation.subject not in stranded]


def overcommitted_nodes(state: State) -> Iterator[Violation]:
    offered = {node["metadata"]["name"]: amounts(node["status"].get("allocatable")) for node in state.nodes}
    for name, pods in sorted(state.pods_by_node().items()):
        if name not in offered:
            yield Violation("I3", name, f"{len(pods)} pods on a node that does not exist: {_names(pods)}")
            continue
        yield from _overcommitted(name, pods, offered[name])


def _overcommitted(name: str, pods: list[Object], offered: Amounts) -> Iterator[Violation]:
    held = total(pods)
    for resource in shortages(held, amounts({}), offered):
        gives, has = readable(resource, held[resource]), readable(resource, offered[resource])
        takers = [pod for pod in pods if demand_of(pod)[resource]]
        text = f"gives away {gives} {resource} and has {has}; on it: {_names(takers)}"
        yield Violation("I2" if resource == "pods" else "I1", name, text)


def shared_host_ports(state: State) -> Iterator[Violation]:
    for name, pods in sorted(state.pods_by_node().items()):
        with_ports = [(pod, port) for pod in pods for port in host_ports(pod)]
        for (one, port), (other, another) in combinations(with_ports, 2):
            if one is not other and ports_clash(port, another):
                text = f"port {port[2]}/{port[1]} is given to {title_of(one)} and {title_of(other)}"
                yield Violation("I2", name, text)


def host_ports(pod: Object) -> set[tuple[str, str, int]]:
    """Address, protocol and number of the ports that the pod takes from its node."""
    spec = pod["spec"]
    containers = [*spec["containers"], *(c for c in spec.get("initContainers", ()) if c.get("restartPolicy"))]
    return {
        (port.get("hostIP") or "0.0.0.0", port.get("protocol", "TCP"), int(port["hostPort"]))
        for container in containers
        for port in container.get("ports", ())
        if port.get("hostPort")
    }


def ports_clash(one: tuple[str, str, int], other: tuple[str, str, int]) -> bool:
    everywhere = "0.0.0.0" in (one[0], other[0])
    return one[1:] == other[1:] and (everywhere or one[0] == other[0])


def misplaced_pods(state: State) -> Iterator[Violation]:
    node_by_name = {node["metadata"]["name"]: node for node in state.nodes}
    for name, pods in sorted(state.pods_by_node().items()):
        for pod in pods if name in node_by_name else ():
            for objection in objections(pod, node_by_name[name]):
                yield Violation("I3", title_of(pod), f"is on {name}, but {objection}")


def broken_gangs(state: State) -> Iterator[Violation]:
    """Gangs of which some members got a node and others that are needed did not.

    Members that ended count as placed, whatever their end: they had a node.
    """
    members_of_group = state.pods_by_group()
    for group in state.pod_groups:
        members = members_of_group.get(title_of(group), [])
        placed = [pod for pod in members if node_of(pod)]
        if placed:
            for lack in _lacks(group["spec"], placed):
                text = f"{lack}; placed: {_names(placed)}"
                yield Violation("I4", title_of(group), text)


def _lacks(spec: Object, placed: list[Object]) -> Iterator[str]:
    needed = int(spec.get("minMember", 0))
    if len(placed) < needed:
        yield f"{len(placed)} members placed of {needed} needed"
    per_task: dict[str, int] = spec.get("minTaskMember") or {}
    if needed < sum(per_task.values()):
        return  # as in Volcano, a minimum per task counts only where the gang's minimum covers all of them
    for task, minimum in per_task.items():
        count = sum(pod["metadata"].get("annotations", {}).get(TASK_KEY) == task for pod in placed)
        if count < minimum:
            yield f'{count} members of task "{task}" placed of {minimum} needed'


def exceeded_queues(state: State) -> Iterator[Violation]:
    """What leaves already is no longer the queue's; what it may have counts for all below it together."""
    pods_of_queue = _pods_by_queue(state)
    for queue in state.queues:
        pods = pods_of_queue.get(queue["metadata"]["name"], [])
        held = total(pods)
        for resource, limit in amounts(queue["spec"].get("capability")).items():
            if held[resource] > limit:
                has, may = readable(resource, held[resource]), readable(resource, limit)
                text = f"holds {has} {resource} and may hold {may}; its pods: {_names(pods)}"
                yield Violation("I7", queue["metadata"]["name"], text)


def _pods_by_queue(state: State) -> dict[str, list[Object]]:
    parent_of = {queue["metadata"]["name"]: queue["spec"].get("parent", "") for queue in state.queues}
    queue_of_group = {title_of(group): group["spec"].get("queue", "default") for group in state.pod_groups}
    found: dict[str, list[Object]] = defaultdict(list)
    for group, members in state.pods_by_group().items():
        holding = [pod for pod in members if node_of(pod) and not has_ended(pod) and not is_leaving(pod)]
        for queue in _upwards(queue_of_group.get(group, "default"), parent_of):
            found[queue].extend(holding)
    return found


def _upwards(queue: str, parent_of: dict[str, str]) -> Iterator[str]:
    seen: set[str] = set()
    while queue and queue not in seen:
        seen.add(queue)
        yield queue
        queue = parent_of.get(queue, "")


def is_leaving(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _names(pods: Iterable[Object]) -> str:
    titles = sorted(title_of(pod) for pod in pods)
    more = f" and {len(titles) - 8} more" if len(titles) > 8 else ""
    return ", ".join(titles[:8]) + more
