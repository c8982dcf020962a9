"""NUMA hints: the NUMA nodes that a container's CPUs would best come from, and whether the node agrees.

This is what the kubelet's topology manager does when the pod arrives, asked beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hekla.engine.plugins.cpu_topology import NO_CPUS, CpuSet, CpuTopology, pick, union

RESTRICTED = "restricted"
SINGLE_NUMA_NODE = "single-numa-node"

ANY = 0
"""The wish of a container that asks for no whole CPUs: whatever it gets is fine."""


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
