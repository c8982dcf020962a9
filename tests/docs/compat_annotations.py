"""Rules for the rows about annotations and labels."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from compat_page import Row, source

from hekla.controllers.expand import pods_of
from hekla.engine.plugins import BUILTIN_PLUGINS
from hekla.objects import ObjectMeta, VolcanoJob
from hekla.objects.batch import JobSpec, PartitionPolicy, TaskSpec

Problems = Iterator[str]

CARDS = ("gpu-memory", "gpu-number", "vgpu-cores", "vgpu-memory", "vgpu-memory-percentage", "vgpu-number")
RESOURCES = {f"volcano.sh/{name}" for name in CARDS}
"""Extended resources: they stand in requests."""
NOT_OF_USERS = {"hekla.dev/rests-after-a-failed-bind", "hekla.dev/eviction-refused"}
"""A gate and an annotation that are put on a pod in memory."""
WRITTEN_ELSEWHERE = {
    "volcano.sh/controller-out-of-sync": "when a Job deletes a pod",
    "hccl/rankIndex": "by a job plugin on a real cluster",
}


def sample_job() -> VolcanoJob:
    """A Job with everything of which something is written on its pods."""
    handed_on = ("preemptable", "revocable-zone", "cooldown-time", "jdb-min-available", "job-forwarding")
    notes = {f"volcano.sh/{name}": "1" for name in handed_on}
    parts = PartitionPolicy(total_partitions=1, partition_size=1)
    task = TaskSpec(name="a", replicas=1, topology_policy="restricted", partition_policy=parts)
    meta = ObjectMeta(name="job", namespace="default", annotations=notes)
    return VolcanoJob(metadata=meta, spec=JobSpec(tasks=(task,), queue="default"))


@cache
def on_pods() -> set[str]:
    (pod,) = pods_of(sample_job())
    return {*pod.metadata.labels, *pod.metadata.annotations}


def check_annotation(row: Row) -> Problems:
    for name in row.names:
        is_used, quoted = not is_denied(row.remark), f'"{name}"'
        if is_used != (quoted in source()):
            yield f"{name} is {'not ' if is_used else ''}in the program"
        for plugin in re.findall(r"read by ([a-z-]+)", row.remark):
            if plugin in BUILTIN_PLUGINS and name not in texts_of(BUILTIN_PLUGINS[plugin].__module__):
                yield f"{plugin} does not read {name}"


def is_denied(remark: str) -> bool:
    """Neither read nor written: the row begins so."""
    return remark.startswith(("not read", "not written", "not there"))


def check_on_pod(row: Row) -> Problems:
    yield from check_annotation(row)
    says_written = re.search(r"(?<!not )\bwritten\b|handed on (?:from|\Z)", row.remark) is not None
    for name in row.names:
        if name not in WRITTEN_ELSEWHERE and says_written and name not in on_pods():
            yield f"{name} is not written on the pods of a Job"
        if not says_written and "handed on" not in row.remark and name in on_pods():
            yield f"{name} is written on the pods of a Job"


def texts_of(module: str) -> set[str]:
    """The texts that a plugin's module, and those of its helpers, know by name."""
    loaded = importlib.import_module(module)
    code = Path(str(loaded.__file__)).read_text("utf-8")
    helpers = re.findall(r"from (hekla\.engine\.plugins\.[\w.]+) import", code)
    return {*texts_in(vars(loaded).values()), *(text for helper in helpers for text in texts_of(helper))}


def texts_in(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from texts_in(value)
