"""Workloads: what is measured, under which configuration, and within which time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from clusters import SHAPES
from hekla.conf import Conf, read_conf, require
from hekla.objects import Manifest
from hekla.scheduler.builtin import BUILTIN

FILE = Path(__file__).parent / "workloads.yaml"


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be kept, and what is wanted."""

    must: float
    aim: float


class Newcomers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Gangs that come to a cluster where work runs already."""

    jobs: int
    tasks: int


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of workloads.yaml."""

    name: str
    shape: str
    nodes: int
    jobs: int
    tasks: int
    must: float
    aim: float
    measure: Literal["actions", "idle", "arrivals", "one end", "cold start"] = "actions"
    conf: str = "default"
    newcomers: Newcomers = Newcomers(0, 0)
    gigabytes: Limits | None = None
    quick: bool = False
    repeat: int = 5
    volcano: float | None = None

    def objects(self) -> list[Manifest]:
        return SHAPES[self.shape](self.nodes, self.jobs, self.tasks)


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    confs: dict[str, str]
    workloads: list[Workload]

    def chosen(self, names: Sequence[str], *, only_quick: bool = False) -> list[Workload]:
        """Those whose name contains one of these; all, or all quick ones, where nobody is named."""
        if names:
            return [one for one in self.workloads if any(name in one.name for name in names)]
        return [one for one in self.workloads if one.quick or not only_quick]

    def conf_of(self, workload: Workload) -> Conf:
        source = f"{FILE.name}: {workload.conf}"
        # Not strict: in Volcano's usual tiers plugins may be overruled, and these are what is measured.
        return require(read_conf(self.confs[workload.conf], source, BUILTIN.catalogue()), strict=False)


def listed() -> Listing:
    return msgspec.yaml.decode(FILE.read_bytes(), type=Listing)
