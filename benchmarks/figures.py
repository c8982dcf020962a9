"""Figures: what was measured, of which program on which machine, as it is kept in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from machine import Commit, Machine


class Run(msgspec.Struct, frozen=True):
    """One run; `seconds` is the part of its times that limits are about."""

    seconds: float
    times: dict[str, float]
    pods: int
    decided: int
    gigabytes: float | None = None


class Figures(msgspec.Struct, frozen=True):
    """The best of several runs of a workload, and how slow the machine was meanwhile."""

    name: str
    nodes: int
    best: Run
    calibration: float
    slowness: float
    all_seconds: list[float]

    @property
    def scaled(self) -> float:
        """Seconds, as the reference machine would have taken them."""
        return self.best.seconds / self.slowness


class Results(msgspec.Struct, frozen=True):
    """Everything that one call of the runner found out."""

    machine: Machine
    commit: Commit
    figures: list[Figures]

    def save(self, file: Path) -> None:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")


def load(file: Path) -> Results:
    return msgspec.json.decode(file.read_bytes(), type=Results)


def best_of(all_results: Sequence[Results]) -> Results:
    """The same program measured several times: of every workload the figures that are best when scaled."""
    best: dict[str, Figures] = {}
    for one in (figures for results in all_results for figures in results.figures):
        if one.name not in best or one.scaled < best[one.name].scaled:
            best[one.name] = one
    return msgspec.structs.replace(all_results[0], figures=list(best.values()))
