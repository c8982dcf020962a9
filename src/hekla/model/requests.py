"""What a pod asks for: containers, init containers, overhead, and the pod itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from hekla.model.resources import CPU, MEMORY, PODS, Resources, add, largest, read_resources
from hekla.objects.meta import Amount
from hekla.objects.pod import Container, ContainerStatus, Pod, PodSpec, ResourceRequirements

MISSING_CPU = 100
MISSING_MEMORY = 200 * 1024 * 1024
"""What Kubernetes' scores count for a container that names no cpu or memory."""


def demand_of(pod: Pod) -> tuple[Resources, tuple[int, int]]:
    """The request, and what of it scores see; do not change it, pods that ask for the same share it."""
    spec = pod.spec
    if (
        len(spec.containers) == 1
        and not spec.init_containers
        and not pod.status.container_statuses
        and spec.resources is None
        and not spec.overhead
    ):
        return _demand_of_one_container(tuple(spec.containers[0].resources.requests.items()))
    return request_of(pod), nonzero_request_of(pod)


@lru_cache(maxsize=4096)
def _demand_of_one_container(asked: tuple[tuple[str, Amount], ...]) -> tuple[Resources, tuple[int, int]]:
    container = Container(resources=ResourceRequirements(requests=dict(asked)))
    pod = Pod(spec=PodSpec(containers=(container,)))
    return request_of(pod), nonzero_request_of(pod)


def request_of(pod: Pod) -> Resources:
    """The request that fitting and accounting use; it always holds `pods: 1`."""
    spec = pod.spec
    if not spec.init_containers and len(spec.containers) == 1 and not pod.status.container_statuses:
        request = read_resources(spec.containers[0].resources.requests)
    else:
        request = _combined(pod)
    request[PODS] = request.get(PODS, 0) + 1
    if spec.resources is not None:
        request.update(
            {
                name: value
                for name, value in read_resources(spec.resources.requests).items()
                if _is_pod_level(name)
            }
        )
    return add(request, read_resources(spec.overhead)) if spec.overhead else request


def _combined(pod: Pod) -> Resources:
    resized = {status.name: status for status in pod.status.container_statuses}
    resized_init = {status.name: status for status in pod.status.init_container_statuses}
    is_infeasible = _resize_is_infeasible(pod)
    running = _sum(_current(c, resized.get(c.name), is_infeasible) for c in pod.spec.containers)
    sidecars: Resources = {}
    starting: Resources = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            asked = _current(container, resized_init.get(container.name), is_infeasible)
            running, sidecars = add(running, asked), add(sidecars, asked)
            starting = largest(starting, sidecars)
        else:
            starting = largest(starting, add(read_resources(container.resources.requests), sidecars))
    return largest(running, starting)


def _current(container: Container, status: ContainerStatus | None, is_infeasible: bool) -> Resources:
    """While a container is being resized, the most it may hold counts."""
    asked = read_resources(container.resources.requests)
    if status is None or status.resources is None:
        return asked
    held = largest(read_resources(status.resources.requests), read_resources(status.allocated_resources))
    return held if is_infeasible else largest(asked, held)


def _resize_is_infeasible(pod: Pod) -> bool:
    return pod.status.resize == "Infeasible" or any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in pod.status.conditions
    )


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _sum(parts: Iterable[Resources]) -> Resources:
    result: Resources = {}
    for part in parts:
        result = add(result, part)
    return result


def nonzero_request_of(pod: Pod) -> tuple[int, int]:
    """cpu and memory as Kubernetes' scores see them: a container that names none gets a small share."""
    spec = pod.spec
    running = _sum(_with_defaults(c) for c in spec.containers)
    sidecars: Resources = {}
    starting: Resources = {}
    for container in spec.init_containers:
        asked = _with_defaults(container)
        if container.restart_policy == "Always":
            running, sidecars = add(running, asked), add(sidecars, asked)
            starting = largest(starting, sidecars)
        else:
            starting = largest(starting, add(asked, sidecars))
    asked = largest(running, starting)
    if spec.overhead:
        asked = add(asked, read_resources(spec.overhead))
    return asked.get(CPU, 0), asked.get(MEMORY, 0)


def _with_defaults(container: Container) -> Resources:
    asked = read_resources(container.resources.requests)
    return {CPU: asked.get(CPU, MISSING_CPU), MEMORY: asked.get(MEMORY, MISSING_MEMORY)}
