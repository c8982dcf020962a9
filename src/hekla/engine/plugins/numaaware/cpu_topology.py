"""CPU topology: which CPUs of a node lie close together, and which of them a container would get.

A set of CPUs is a whole number whose bit `i` stands for the `i`-th CPU of the node, counted in order of
ids: sets are compared, kept and handed around by value. The hints are what the kubelet's topology manager
does when the pod arrives, asked beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

from hekla.errors import InputError
from hekla.objects.node import CpuInfo
from hekla.objects.quantity import read_count

CpuSet = int
NO_CPUS: CpuSet = 0

Number = TypeVar("Number", int, tuple[int, int])
RESTRICTED = "restricted"
SINGLE_NUMA_NODE = "single-numa-node"
ANY = 0
"""The wish of a container that asks for no whole CPUs: whatever it gets is fine."""


@dataclass(frozen=True, eq=False)
class CpuTopology:
    """CPU ids in order; sockets, cores and NUMA nodes as sets, each in order of its number."""

    ids: tuple[int, ...]
    sockets: tuple[CpuSet, ...]
    cores: tuple[CpuSet, ...]
    numa_nodes: Mapping[int, CpuSet]

    @property
    def everything(self) -> CpuSet:
        return (1 << len(self.ids)) - 1

    def named(self, text: str) -> CpuSet:
        """The CPUs that a list such as `0,2-4` names; ids that the node lacks are passed over."""
        spans = list(read_spans(text))
        return union(1 << at for at, cpu in enumerate(self.ids) if any(cpu in span for span in spans))

    def spelled(self, cpus: CpuSet) -> str:
        """The set as people write it: `0,2-4`."""
        spans: list[list[int]] = []
        for at in members(cpus):
            cpu = self.ids[at]
            if spans and spans[-1][1] == cpu - 1:
                spans[-1][1] = cpu
            else:
                spans.append([cpu, cpu])
        return ",".join(f"{low}-{high}" if high > low else f"{low}" for low, high in spans)

    def covered(self, cpus: CpuSet) -> list[int]:
        """The NUMA nodes that some of these CPUs belong to."""
        return [number for number, inside in self.numa_nodes.items() if inside & cpus]


def topology_of(details: Mapping[str, CpuInfo]) -> CpuTopology:
    """The topology behind the details of each CPU; raises InputError where an id is no number."""
    info_of = {_cpu_id(text): info for text, info in details.items()}
    ids = tuple(sorted(info_of))
    places = [(1 << at, info_of[cpu]) for at, cpu in enumerate(ids)]
    by_socket = _grouped((info.socket, cpu) for cpu, info in places)
    # Some machines count cores anew on every socket.
    by_core = _grouped(((info.socket, info.core), cpu) for cpu, info in places)
    by_numa = _grouped((info.numa, cpu) for cpu, info in places)
    return CpuTopology(ids, tuple(by_socket.values()), tuple(by_core.values()), by_numa)


def pick(topology: CpuTopology, free: CpuSet, count: int) -> CpuSet:
    """So many of the free CPUs, as close together as can be; none where there are not enough.

    Whole sockets first, then whole cores, then single CPUs. Whatever is broken into is the fullest
    there is, so that large gaps stay whole; among equals the lowest ids.
    """
    if free.bit_count() < count:
        return NO_CPUS
    taken = _add_whole(topology.sockets, free, NO_CPUS, count)
    left = free & ~taken
    taken = _add_whole(_whole_cores(topology, left), left, taken, count)
    left = free & ~taken
    for cpu in _singles(topology, left, taken) if taken.bit_count() < count else ():
        taken |= cpu
        if taken.bit_count() == count:
            break
    return taken


def _add_whole(groups: Iterable[CpuSet], free: CpuSet, taken: CpuSet, count: int) -> CpuSet:
    """What is taken, and every free group that the rest of the need is large enough for."""
    for group in groups:
        if group & free == group and group.bit_count() <= count - taken.bit_count():
            taken |= group
    return taken


def _whole_cores(topology: CpuTopology, free: CpuSet) -> list[CpuSet]:
    """Free cores; those of sockets with few of them first."""
    whole = [core for core in topology.cores if core & free == core]
    by_socket = [[core for core in whole if core & socket] for socket in topology.sockets]
    return [core for cores in sorted(by_socket, key=len) for core in cores]


def _singles(topology: CpuTopology, free: CpuSet, taken: CpuSet) -> list[CpuSet]:
    """Free CPUs: near what is taken first, then on the fullest socket, then on the fullest core."""

    def closeness(cpu: CpuSet) -> tuple[int, int, int]:
        socket, core = _around(topology.sockets, cpu), _around(topology.cores, cpu)
        return -(socket & taken).bit_count(), (socket & free).bit_count(), (core & free).bit_count()

    in_order = [1 << at for core in topology.cores for at in members(core & free)]
    return sorted(in_order, key=closeness)


def _around(groups: Iterable[CpuSet], part: CpuSet) -> CpuSet:
    return next(group for group in groups if group & part)


def union(parts: Iterable[CpuSet]) -> CpuSet:
    result = NO_CPUS
    for part in parts:
        result |= part
    return result


def members(cpus: CpuSet) -> Iterator[int]:
    """Positions of the CPUs in a set, lowest first."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def read_spans(text: str) -> Iterator[range]:
    """The spans of ids in a list such as `0,2-4`; raises InputError where it is none."""
    for part in filter(None, (part.strip() for part in text.split(","))):
        low, _, high = part.partition("-")
        yield range(_cpu_id(low), _cpu_id(high or low) + 1)


def _cpu_id(text: str) -> int:
    number = read_count(text)
    if number is None:
        raise InputError(f'"{text}" is no CPU id; write ids like "0,2-4"')
    return number


def _grouped(pairs: Iterable[tuple[Number, CpuSet]]) -> dict[Number, CpuSet]:
    """The union of the sets under each number, in order of numbers."""
    groups: dict[Number, CpuSet] = {}
    for number, cpus in pairs:
        groups[number] = groups.get(number, NO_CPUS) | cpus
    return dict(sorted(groups.items()))


class Hint(NamedTuple):
    """NUMA nodes by position, and whether no smaller number of them could ever do."""

    numa_nodes: tuple[int, ...]
    is_preferred: bool


@lru_cache(maxsize=4096)
def assign(
    topology: CpuTopology, policy: str, available: CpuSet, wishes: tuple[int, ...]
) -> tuple[CpuSet, ...] | None:
    """CPUs for each container in turn; None where the node's policy would not admit one of them."""
    given: list[CpuSet] = []
    for wish in wishes:
        cpus = NO_CPUS
        if wish != ANY:
            hint = best_hint(topology, available, wish)
            if not admits(policy, hint):
                return None
            cpus = near(topology, hint, available, wish)
        given.append(cpus)
        available &= ~cpus
    return tuple(given)


def best_hint(topology: CpuTopology, available: CpuSet, wish: int) -> Hint:
    """The fewest NUMA nodes with enough available CPUs, the lowest-numbered where several would do."""
    sets = list(topology.numa_nodes.values())
    free = [(available & cpus).bit_count() for cpus in sets]
    size = fewest(free, wish)
    if size is None:
        return Hint(tuple(range(len(sets))), is_preferred=False)
    return Hint(lowest(free, size, wish), size == fewest([cpus.bit_count() for cpus in sets], wish))


def fewest(counts: Sequence[int], wish: int) -> int | None:
    """How many of these counts it takes to reach the wish; None where all together do not."""
    total = 0
    for size, count in enumerate(sorted(counts, reverse=True), start=1):
        total += count
        if total >= wish:
            return size
    return None


def lowest(counts: Sequence[int], size: int, wish: int) -> tuple[int, ...]:
    """Of all choices of `size` counts that reach the wish, the one whose bits make the smallest number.

    From the highest place down: a place is left out wherever the lower ones can still do without it.
    """
    chosen: list[int] = []
    for at in reversed(range(len(counts))):
        missing = size - len(chosen)
        others = sorted(counts[:at], reverse=True)[:missing]
        if len(others) < missing or sum(others) < wish:
            chosen.append(at)
            wish -= counts[at]
            if len(chosen) == size:
                break
    return tuple(reversed(chosen))


def admits(policy: str, hint: Hint) -> bool:
    """Whether a node with this topology manager policy would start the container."""
    if policy == RESTRICTED:
        return hint.is_preferred
    if policy == SINGLE_NUMA_NODE:
        return hint.is_preferred and len(hint.numa_nodes) == 1
    return True


def near(topology: CpuTopology, hint: Hint, available: CpuSet, wish: int) -> CpuSet:
    """The CPUs to give: from the hinted NUMA nodes as far as they go, then from the rest.

    None where too few are left: a lenient policy starts the container all the same.
    """
    if available.bit_count() < wish:
        return NO_CPUS
    sets = list(topology.numa_nodes.values())
    aligned = available & union(sets[at] for at in hint.numa_nodes)
    first = pick(topology, aligned, min(wish, aligned.bit_count()))
    return first | pick(topology, available & ~aligned, wish - first.bit_count())
