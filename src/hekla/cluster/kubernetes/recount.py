"""Recount: what is taken of every node, added up anew from the objects alone.

This is not how the engine counts, and on purpose: books are checked by somebody who did not keep them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from hekla.errors import InputError
from hekla.model.resources import canonical, is_counted
from hekla.objects import Node, Pod
from hekla.objects.meta import ResourceList
from hekla.objects.pod import Container, ContainerStatus

Sums = Counter[str]
EXTRA = (("cpu", "volcano.sh/oversubscription-cpu"), ("memory", "volcano.sh/oversubscription-memory"))


def taken_by_node(pods: Iterable[Pod]) -> dict[str, Sums]:
    """By node, the sum over the pods that sit on it and have not ended."""
    taken: dict[str, Sums] = {}
    for pod in pods:
        if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed"):
            taken.setdefault(pod.spec.node_name, Counter()).update(readable(pod))
    return taken


def offered(node: Node) -> Sums:
    """What the node has to give."""
    sums = _sums(node.status.allocatable or node.status.capacity)
    for name, key in EXTRA:
        text = node.metadata.annotations.get(key, "")
        sums[name] += int(text) if text.isdecimal() else 0
    return sums


def readable(pod: Pod) -> Sums:
    """The pod's request; what cannot be read is complained of elsewhere, and takes no room."""
    try:
        return request(pod)
    except InputError:
        return Counter()


def request(pod: Pod) -> Sums:
    """The most that the pod holds at any time of its life, its overhead, and one pod."""
    held = {status.name: status for status in (*pod.status.container_statuses,)}
    held_early = {status.name: status for status in pod.status.init_container_statuses}
    refuses = _refuses_to_resize(pod)
    peak: Sums = Counter()
    beside: Sums = Counter()
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            beside.update(_holds(container, held_early.get(container.name), refuses))
            peak |= beside
        else:
            peak |= beside + _sums(container.resources.requests)
    running = Counter(beside)
    for container in pod.spec.containers:
        running.update(_holds(container, held.get(container.name), refuses))
    total = peak | running
    total["pods"] += 1
    if pod.spec.resources is not None:
        for name, amount in _sums(pod.spec.resources.requests).items():
            if name in ("cpu", "memory") or name.startswith("hugepages-"):
                total[name] = amount
    total.update(_sums(pod.spec.overhead))
    return total


def _holds(container: Container, status: ContainerStatus | None, refuses: bool) -> Sums:
    """A container that is being resized holds the larger of what it has and what it is to have."""
    wanted = _sums(container.resources.requests)
    if status is None or status.resources is None:
        return wanted
    has = _sums(status.resources.requests) | _sums(status.allocated_resources)
    return has if refuses else wanted | has


def _refuses_to_resize(pod: Pod) -> bool:
    pending = (one.reason for one in pod.status.conditions if one.type == "PodResizePending")
    return pod.status.resize == "Infeasible" or "Infeasible" in pending


def _sums(amounts: ResourceList) -> Sums:
    return Counter({name: canonical(name, amount) for name, amount in amounts.items() if is_counted(name)})


def differences(
    mine: Mapping[str, Mapping[str, int]], theirs: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Every node on which two counts differ, with the resources that they differ in."""
    for node in sorted(mine.keys() | theirs.keys()):
        left, right = mine.get(node, {}), theirs.get(node, {})
        parts = [
            f"{name} {right.get(name, 0)} instead of {left.get(name, 0)}"
            for name in sorted(left.keys() | right.keys())
            if left.get(name, 0) != right.get(name, 0)
        ]
        if parts:
            yield f"{node}: {', '.join(parts)}"
