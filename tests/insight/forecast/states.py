"""States in a few words: jobs that run for a stated time, on nodes of four cores."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from msgspec.structs import replace

from hekla.cluster.embedded.options import RUN_SECONDS
from hekla.conf import BUILT_IN_DEFAULT, Conf, read_conf, require
from hekla.objects import Manifest, Pod, seconds
from hekla.scheduler.builtin import BUILTIN
from hekla.testing.builders import job
from hekla.testing.pods import BEGINNING, stamped

CONF: Conf = require(read_conf(BUILT_IN_DEFAULT, "default", BUILTIN.catalogue()), strict=False)
HOUR = 3600.0
NOW = seconds(BEGINNING) + HOUR
"""An hour after the first object was created."""


def runs(
    name: str, span: float | None = None, *, on: str = "", cpu: int = 4, **more: object
) -> list[Manifest]:
    """A job of one pod, which says how long it runs."""
    notes = {} if span is None else {RUN_SECONDS: f"{span:g}"}
    placed = {"running": {on: 1}} if on else {}
    return list(job(name, cpu=cpu, annotations=notes, **placed, **more).objects)  # type: ignore[arg-type]


def state(*parts: Manifest | Iterable[Manifest], has_run: float = 0.0) -> list[Manifest]:
    """All objects; pods on nodes have run so many seconds by `NOW`."""
    flat: list[Manifest] = []
    for part in parts:
        flat += [part] if isinstance(part, Manifest) else part
    began = BEGINNING + timedelta(seconds=HOUR - has_run)
    return [
        replace(each, status=replace(each.status, start_time=began))
        if isinstance(each, Pod) and each.spec.node_name
        else each
        for each in stamped(flat)
    ]
