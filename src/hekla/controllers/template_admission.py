"""Admission of a pod template, as far as scheduling depends on it.

Kubernetes validates far more (images, probes, mounts, security); a template that passes here may still be
refused by an API server. Checked are containers, their names, and their resources.
"""

from __future__ import annotations

from collections.abc import Iterator

from hekla.controllers.problems import Problem, is_dns_label, problems_of_amounts, readable
from hekla.objects.pod import Container, PodSpec, ResourceRequirements


def problems_of_template(path: str, spec: PodSpec) -> Iterator[Problem]:
    if not spec.containers:
        yield Problem(f"{path}.containers", "no container; give at least one")
    seen: set[str] = set()
    for where, container in named_containers(path, spec):
        if not is_dns_label(container.name):
            yield Problem(f"{where}.name", f'"{container.name}" is no name for a container')
        if container.name in seen:
            yield Problem(f"{where}.name", f'there are two containers "{container.name}"')
        seen.add(container.name)
        yield from problems_of_resources(f"{where}.resources", container.resources)
    if spec.resources is not None:
        yield from problems_of_resources(f"{path}.resources", spec.resources)


def named_containers(path: str, spec: PodSpec) -> Iterator[tuple[str, Container]]:
    """Every container with its path."""
    for i, container in enumerate(spec.init_containers):
        yield f"{path}.initContainers[{i}]", container
    for i, container in enumerate(spec.containers):
        yield f"{path}.containers[{i}]", container


def problems_of_resources(path: str, resources: ResourceRequirements) -> Iterator[Problem]:
    yield from problems_of_amounts(f"{path}.requests", resources.requests)
    yield from problems_of_amounts(f"{path}.limits", resources.limits)
    limits = readable(resources.limits)
    for name, amount in readable(resources.requests).items():
        if name in limits and amount > limits[name]:
            asked, limit = resources.requests[name], resources.limits[name]
            yield Problem(f"{path}.requests[{name}]", f'request "{asked}" is above the limit "{limit}"')


def problems_of_numa(path: str, spec: PodSpec) -> Iterator[Problem]:
    """Cores are handed out whole: every container has to ask for a whole number of them."""
    for where, container in named_containers(path, spec):
        resources = container.resources
        cpu = readable(resources.requests or resources.limits).get("cpu")
        if cpu is None or cpu == 0 or cpu != cpu.to_integral_value():
            yield Problem(f"{where}.resources", "a topology policy needs a whole number of cpus")
