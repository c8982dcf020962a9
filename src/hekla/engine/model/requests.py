"""What a pod asks for: containers, init containers, overhead, and the pod itself."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from hekla.engine.model.resources import (
    CPU,
    MEMORY,
    PODS,
    Resources,
    add,
    canonical,
    countable,
    largest,
    read_resources,
    total,
)
from hekla.objects.meta import Amount
from hekla.objects.pod import Container, ContainerStatus, Pod, PodSpec, ResourceRequirements

USUAL = {CPU: 100, MEMORY: 200 * 1024 * 1024}
"""What Kubernetes' scores count for a container that names no cpu or memory."""
NOTHING: Resources = {}

Scored = tuple[int, int]
"""cpu and memory as Kubernetes' scores see them."""


class Demand(NamedTuple):
    """What a pod asks for, and what scores see of that: before it has a node, and on one."""

    request: Resources
    scored: Scored
    scored_on_node: Scored


def demand_of(pod: Pod) -> Demand:
    """Do not change it: pods that ask for the same share it."""
    spec = pod.spec
    if (
        len(spec.containers) == 1
        and not spec.init_containers
        and not pod.status.container_statuses
        and spec.resources is None
        and not spec.overhead
    ):
        return _demand_of_one_container(tuple(spec.containers[0].resources.requests.items()))
    return Demand(request_of(pod), scored_request_of(pod), scored_on_node(pod))


@lru_cache(maxsize=4096)
def _demand_of_one_container(asked: tuple[tuple[str, Amount], ...]) -> Demand:
    container = Container(resources=ResourceRequirements(requests=dict(asked)))
    pod = Pod(spec=PodSpec(containers=(container,)))
    scored = scored_request_of(pod)
    return Demand(request_of(pod), scored, scored)


def request_of(pod: Pod) -> Resources:
    """The request that fitting and accounting use; it always holds `pods: 1`."""
    spec = pod.spec
    if not spec.init_containers and len(spec.containers) == 1 and not pod.status.container_statuses:
        request = read_resources(spec.containers[0].resources.requests)
    else:
        request = _of_containers(pod, NOTHING)
    request[PODS] = request.get(PODS, 0) + 1
    return _of_pod(spec, request)


def scored_request_of(pod: Pod) -> Scored:
    """For a pod that is to be placed: a container that names none gets a small share."""
    return _scored(_of_pod(pod.spec, _of_containers(pod, USUAL)))


def scored_on_node(pod: Pod) -> Scored:
    """The same for a pod on its node, which gets no share of what the pod as a whole names."""
    named = {} if pod.spec.resources is None else read_resources(pod.spec.resources.requests)
    if not any(map(_is_pod_level, named)):
        return scored_request_of(pod)
    whole = request_of(pod)
    missing = {name: share for name, share in USUAL.items() if name not in whole}
    return _scored(_of_pod(pod.spec, _of_containers(pod, missing)))


def _scored(request: Resources) -> Scored:
    return request.get(CPU, 0), request.get(MEMORY, 0)


def _of_pod(spec: PodSpec, request: Resources) -> Resources:
    """What containers ask for together, but for what the pod as a whole says, and its overhead."""
    if spec.resources is not None:
        named = read_resources(spec.resources.requests)
        request = {**request, **{name: named[name] for name in named if _is_pod_level(name)}}
    return countable(add(request, read_resources(spec.overhead)) if spec.overhead else request)


def _of_containers(pod: Pod, missing: Resources) -> Resources:
    """The most that containers hold at any time; `missing` is what one gets of what it does not name."""
    resized = {status.name: status for status in pod.status.container_statuses}
    resized_init = {status.name: status for status in pod.status.init_container_statuses}
    is_infeasible = _resize_is_infeasible(pod)
    running = total(
        {**missing, **_current(one, resized.get(one.name), is_infeasible)} for one in pod.spec.containers
    )
    sidecars: Resources = {}
    starting: Resources = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            held = _current(container, resized_init.get(container.name), is_infeasible)
            asked = {**missing, **held}
            running, sidecars = add(running, asked), add(sidecars, asked)
            starting = largest(starting, sidecars)
        else:
            asked = {**missing, **read_resources(container.resources.requests)}
            starting = largest(starting, add(asked, sidecars))
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


def is_guaranteed(pod: Pod) -> bool:
    """Whether Kubernetes would put the pod into its Guaranteed class of service."""
    if pod.spec.resources is not None and (pod.spec.resources.limits or pod.spec.resources.requests):
        return _is_exact(pod.spec.resources)
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return bool(containers) and all(_is_exact(container.resources) for container in containers)


def whole_cpus(resources: ResourceRequirements) -> int:
    """How many whole CPUs are asked for; 0 where none are, or parts of one."""
    asked = resources.requests.get(CPU, resources.limits.get(CPU, 0))
    cpus, parts = divmod(canonical(CPU, asked), 1000)
    return 0 if parts else cpus


def _is_exact(resources: ResourceRequirements) -> bool:
    for name in (CPU, MEMORY):
        limit = canonical(name, resources.limits.get(name, 0))
        # A request that is left out is as large as the limit.
        if limit == 0 or canonical(name, resources.requests.get(name, resources.limits[name])) != limit:
            return False
    return True
