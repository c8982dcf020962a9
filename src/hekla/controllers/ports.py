"""Ports that job plugins open: the one thing they do that a scheduler can see.

On the network of the host every container port takes that port of the node, so two pods with the same
plugin do not fit on one node.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from hekla.objects import VolcanoJob
from hekla.objects.pod import Container, ContainerPort, PodSpec
from hekla.objects.quantity import read_count

KNOWN_PLUGINS = ("env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow")

RAY_PORTS = {"port": 6379, "dashboardPort": 8265, "clientPort": 10001}


def argument(job: VolcanoJob, plugin: str, name: str, default: str) -> str:
    """A flag of a job plugin, written `--name=value` or `--name value`."""
    words = [word for text in job.spec.plugins[plugin] for word in text.split()]
    for position, word in enumerate(words, start=1):
        flag, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and flag == name:
            return value if equals else "".join(words[position : position + 1])
    return default


def with_plugin_ports(spec: PodSpec, job: VolcanoJob, task_name: str) -> PodSpec:
    """The spec with the container ports that the plugins of the Job open."""
    if "mpi" in job.spec.plugins:
        opened = opens(port_argument(job, "mpi", "port", 22))
        spec = replace(
            spec,
            containers=tuple(map(opened, spec.containers)),
            init_containers=tuple(map(opened, spec.init_containers)),
        )
    if "pytorch" in job.spec.plugins and _has_master(job):
        opened = opens(port_argument(job, "pytorch", "port", 23456))
        spec = replace(spec, containers=tuple(map(opened, spec.containers)))
    if "ray" in job.spec.plugins and task_name == argument(job, "ray", "head", "head"):
        spec = replace(spec, containers=tuple(_ray_head(job, container) for container in spec.containers))
    return spec


def port_argument(job: VolcanoJob, plugin: str, name: str, default: int) -> int:
    """A port given as a flag; what is not a number leaves the default."""
    text = argument(job, plugin, name, str(default))
    port = read_count(text)
    return default if port is None else port


def opens(*ports: int) -> Callable[[Container], Container]:
    """A function that adds the ports a container does not open yet."""

    def opened(container: Container) -> Container:
        known = {port.container_port for port in container.ports}
        added = (ContainerPort(container_port=port) for port in ports if port not in known)
        return replace(container, ports=(*container.ports, *added))

    return opened


def _has_master(job: VolcanoJob) -> bool:
    master = argument(job, "pytorch", "master", "master")
    return any(task.name == master for task in job.spec.tasks)


def _ray_head(job: VolcanoJob, container: Container) -> Container:
    if container.name != argument(job, "ray", "headContainer", "head"):
        return container
    ports = [port_argument(job, "ray", name, default) for name, default in RAY_PORTS.items()]
    return opens(*ports)(container)


def with_host_ports(spec: PodSpec) -> PodSpec:
    """The spec as the API server defaults it: on the host's network a container port is a host port."""
    if not spec.host_network:
        return spec
    return replace(
        spec,
        containers=tuple(map(_on_host, spec.containers)),
        init_containers=tuple(map(_on_host, spec.init_containers)),
    )


def _on_host(container: Container) -> Container:
    ports = tuple(replace(port, host_port=port.host_port or port.container_port) for port in container.ports)
    return replace(container, ports=ports)
