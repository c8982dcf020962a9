"""Units: which resources of the runs are shown, and in what they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hekla.measures.words import unit_of
from hekla.model.resources import CPU, MEMORY, PODS, is_whole
from hekla.sim.run import Run

GIB = 1 << 30
MAIN = (CPU, MEMORY)


@dataclass(frozen=True)
class Unit:
    """One resource as it is shown."""

    resource: str
    label: str
    """Its name without the vendor's."""
    unit: str
    """What one counts."""
    per: int
    """Canonical units in one of these."""

    def shown(self, amount: float) -> float:
        return round(float(amount) / self.per, 3)


def shown_units(runs: Sequence[Run]) -> list[Unit]:
    """Resources that every run knows and some node has, devices first: clusters are bought for them."""
    known = [name for name in runs[0].resources if all(name in run.resources for run in runs)]
    there = [name for name in known if any(has_any(run, name) for run in runs)] or known
    return [
        Unit(name, name.rsplit("/", 1)[-1], several(name), per(name)) for name in sorted(there, key=_rank)
    ]


def has_any(run: Run, resource: str) -> bool:
    return bool(run.nodes.allocatable[:, run.resources.index(resource)].any())


def several(resource: str) -> str:
    """`cores`, `pods`, `GiB`, `GPU`."""
    unit = unit_of(resource)
    return f"{unit}s" if resource in (CPU, PODS) else unit


def per(resource: str) -> int:
    if resource == PODS:
        return 1
    return GIB if is_whole(resource) else 1000


def _rank(resource: str) -> int:
    if "/" in resource:
        return 0
    return 1 + MAIN.index(resource) if resource in MAIN else 1 + len(MAIN)
