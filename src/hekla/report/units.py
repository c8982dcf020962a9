"""Units: which resources of the runs are shown, and in what they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hekla.sim.run import Run

GIB = 1 << 30
MAIN = ("cpu", "memory")


@dataclass(frozen=True)
class Unit:
    """One resource as it is shown."""

    resource: str
    label: str
    unit: str
    per: int
    """Canonical units in one of these."""

    def shown(self, amount: float) -> float:
        return round(float(amount) / self.per, 3)


def shown_units(runs: Sequence[Run]) -> list[Unit]:
    """Resources that every run knows and some node has, devices first: they are what clusters are bought for."""
    known = [name for name in runs[0].resources if all(name in run.resources for run in runs)]
    there = [name for name in known if any(has_any(run, name) for run in runs)] or known
    return [unit_of(name) for name in sorted(there, key=_rank)]


def has_any(run: Run, resource: str) -> bool:
    return bool(run.nodes.allocatable[:, run.resources.index(resource)].any())


def unit_of(resource: str) -> Unit:
    match resource:
        case "cpu":
            return Unit(resource, "cpu", "cores", 1000)
        case "pods":
            return Unit(resource, "pods", "pods", 1)
        case "memory" | "ephemeral-storage":
            return Unit(resource, resource, "GiB", GIB)
        case _ if resource.startswith("hugepages-"):
            return Unit(resource, resource, "GiB", GIB)
    return Unit(resource, resource.rsplit("/", 1)[-1], "devices", 1000)


def _rank(resource: str) -> int:
    if "/" in resource:
        return 0
    return 1 + MAIN.index(resource) if resource in MAIN else 1 + len(MAIN)
