"""Options: how the embedded cluster treats objects that say nothing, and what they may say on themselves."""

from __future__ import annotations

import math

import msgspec

from hekla.engine.model.node import DEFAULT_NAME
from hekla.errors import InputError
from hekla.objects.complaint import quoted


class Options(msgspec.Struct, frozen=True):
    """Defaults are those of Kubernetes where it has one."""

    run_seconds: float = 30.0
    """How long pods run that do not say so."""
    start_seconds: float = 0.0
    """How long a bound pod takes to start."""
    grace_seconds: float | None = None
    """How long every deleted pod takes to go; none: what the pod says, else 30 seconds."""
    recreate_evicted: bool = True
    """An evicted pod that no Job looks after comes back pending, as a workload would make it anew."""
    admission: bool = True
    """Objects that an API server would refuse are left out; otherwise all are taken as they stand."""
    scheduler_names: tuple[str, ...] = ("volcano", "hekla")
    """The schedulers whose pods are served; others' pods are load on the nodes they sit on."""
    ignored_provisioners: tuple[str, ...] = ()
    """Provisioners whose volumes are not counted as attached."""
    shard_mode: str = "none"
    """Whether this scheduler keeps to the nodes of its shard: `none`, `hard` or `soft`."""
    shard_name: str = DEFAULT_NAME
    """The NodeShard that is this scheduler's own."""


FOREVER = "forever"


def read_seconds(text: str) -> float:
    """A span of time; "forever" is infinite."""
    if text.strip().lower() == FOREVER:
        return math.inf
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds) or seconds < 0:
        raise InputError(
            f'{quoted(text)} is not a number of seconds; write it like "90", "0.5" or "{FOREVER}"'
        )
    return seconds


def read_exit_code(text: str) -> int:
    if text.strip().isascii() and text.strip().isdecimal() and len(text.strip()) <= 3:
        return int(text)
    raise InputError(f'{quoted(text)} is not an exit code; write a number from "0" to "255"')
