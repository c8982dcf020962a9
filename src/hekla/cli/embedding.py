"""An embedded cluster out of files, and the loop that runs on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hekla.cli.output import warn
from hekla.clock import Clock, VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import InputError
from hekla.objects.read import read_manifests
from hekla.scheduler.loop import Loop

START = 1_767_225_600.0
"""When virtual time begins: the first second of 2026, so that timestamps look like timestamps."""


@dataclass
class Embedded:
    """A cluster, its scheduler and their clock."""

    cluster: EmbeddedCluster
    loop: Loop
    clock: Clock


def embed(
    files: Sequence[Path],
    conf: Conf,
    registry: Registry,
    *,
    clock: Clock | None = None,
    options: Options | None = None,
    period: float = 1.0,
) -> Embedded:
    """The cluster that these files describe; what in them cannot be used is told on standard error."""
    for file in files:
        if str(file) != "-" and not file.exists():
            raise InputError(f'no file or folder "{file}"')
    reading = read_manifests(files)
    warn(str(complaint) for complaint in reading.complaints)
    if not reading.objects:
        raise InputError("no usable object in " + ", ".join(f'"{file}"' for file in files))
    clock = clock or VirtualClock(START)
    cluster = EmbeddedCluster(reading.objects, clock, options=options)
    loop = Loop(cluster, conf, clock, registry=registry, period=period)
    return Embedded(cluster, loop, clock)
