"""Numatopology: how the CPUs of one node hang together, and which of them are free."""

from __future__ import annotations

from hekla.objects.meta import Manifest, Part, ResourceList


class CpuInfo(Part):
    """Where a CPU sits; a number that is left out is 0."""

    numa: int = 0
    socket: int = 0
    core: int = 0


class NumaResource(Part):
    """`allocatable` is a list of free ids such as `0,2-4`."""

    allocatable: str = ""
    capacity: int = 0


class ContainerAllocation(Part):
    name: str = ""
    allocations: dict[str, str] = {}


class PodAllocation(Part):
    """What a pod holds, as the node agent has seen it."""

    uid: str = ""
    name: str = ""
    namespace: str = ""
    container_allocations: tuple[ContainerAllocation, ...] = ()


class NumatopologySpec(Part):
    policies: dict[str, str] = {}
    res_reserved: ResourceList = {}
    numares: dict[str, NumaResource] = {}
    cpu_detail: dict[str, CpuInfo] = {}
    pod_allocations: tuple[PodAllocation, ...] = ()


class Numatopology(Manifest):
    """Named after its node; written by the agent on it."""

    spec: NumatopologySpec = NumatopologySpec()
