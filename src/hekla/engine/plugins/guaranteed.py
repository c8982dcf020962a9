"""Guaranteed pods: those whose containers ask for exactly what they are limited to."""

from __future__ import annotations

from hekla.engine.model.resources import CPU, MEMORY, canonical
from hekla.objects.pod import Pod, ResourceRequirements


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
