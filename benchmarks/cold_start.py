"""The first decision of a process that has nothing but objects: reads a workload, writes one run, as JSON."""

from __future__ import annotations

import gc
import re
import resource
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

from clusters import waiting_gangs
from figures import Run
from hekla.objects import Manifest
from measure import take_snapshot, whole_cycle
from workloads import Workload, listed

M = TypeVar("M", bound=Manifest)


def first_decision(workload: Workload) -> Run:
    """Snapshot and cycle over objects that are all there; they count in the peak of memory too."""
    conf = listed().conf_of(workload)
    objects = [*workload.objects(), *waiting_gangs(workload.newcomers.jobs, workload.newcomers.tasks)]
    for at, manifest in enumerate(objects):
        objects[at] = unshared(manifest)
    gc.collect()
    run, _ = whole_cycle(lambda: take_snapshot(objects), conf)
    return msgspec.structs.replace(run, gigabytes=peak_gigabytes())


def unshared(manifest: M) -> M:
    """A copy as if it had been read: made-up objects have texts in common, which would make them small."""
    return msgspec.json.decode(msgspec.json.encode(manifest), type=type(manifest))


def peak_gigabytes() -> float:
    """The most memory that this process ever had.

    The kernel's own count is asked first: what `getrusage` tells may be the peak of the process
    that started this one.
    """
    status = Path("/proc/self/status")
    told = (
        re.search(r"^VmHWM:\s+(\d+) kB", status.read_text("utf-8"), re.MULTILINE)
        if status.is_file()
        else None
    )
    if told is not None:
        return int(told[1]) * 1024 / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=Workload)
    sys.stdout.buffer.write(msgspec.json.encode(first_decision(given)))
