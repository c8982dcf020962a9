"""What commands that look at a cluster read from files instead: manifests, snapshots, scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from hekla.cli.output import warn
from hekla.errors import InputError
from hekla.objects import Manifest, Namespace, Pod, PodGroup, PriorityClass, Queue, VolcanoJob
from hekla.objects.read import read_manifests
from hekla.objects.scenario import is_scenario, read_scenario

Command = TypeVar("Command", bound=Callable[..., Any])
M = TypeVar("M", bound=Manifest)
SCHEDULERS = ("volcano", "hekla")
"""Whose loose pods get a PodGroup."""


def files_argument(command: Command) -> Command:
    """`FILES`, which stand for a cluster."""
    return click.argument("files", nargs=-1, type=click.Path(path_type=Path))(command)


def manifests_in(files: Sequence[Path], tell: Callable[[Iterable[object]], None] = warn) -> list[Manifest]:
    """What the files hold; what cannot be used of them is told, on standard error unless said otherwise."""
    for file in files:
        if str(file) != "-" and not file.exists():
            raise InputError(f'no file or folder "{file}"')
    reading = read_manifests(files)
    tell(map(str, reading.complaints))
    if not reading.objects:
        raise InputError("no usable object in " + ", ".join(f'"{file}"' for file in files))
    return reading.objects


def cluster_in(files: Sequence[Path]) -> list[Manifest]:
    """The objects in a scenario or in manifests, with what a cluster would add to them at once.

    Queues have their defaults, the standing ones are there, and Jobs and loose pods have their PodGroups.
    """
    if len(files) == 1 and is_scenario(files[0]):
        scenario = read_scenario(files[0])
        warn(f"{files[0]}: {complaint}" for complaint in scenario.complaints)
        return _completed(scenario.objects)
    return _completed(manifests_in(files))


def _completed(given: Sequence[Manifest]) -> list[Manifest]:
    from hekla.cluster.admission import default_job, default_queue  # noqa: PLC0415 - slow to import
    from hekla.controllers import loaded_queue, standing_queues  # noqa: PLC0415

    queues = [loaded_queue(default_queue(queue)) for queue in _all_of(given, Queue)]
    queues += standing_queues({queue.metadata.name for queue in queues})
    jobs = [default_job(job) for job in _all_of(given, VolcanoJob)]
    groups, pods = _grouped(given, jobs)
    others = [each for each in given if not isinstance(each, Queue | VolcanoJob | PodGroup | Pod)]
    return [*others, *queues, *jobs, *groups, *pods]


def _grouped(given: Sequence[Manifest], jobs: Iterable[VolcanoJob]) -> tuple[list[PodGroup], list[Pod]]:
    """The PodGroups, those too that controllers make for Jobs and for loose pods; and the pods in them."""
    from hekla.cluster.admission import admitted_group, default_pod_group, made_up_uid  # noqa: PLC0415
    from hekla.controllers import pod_group_for  # noqa: PLC0415

    classes = _all_of(given, PriorityClass)
    namespaces = {each.metadata.name: each for each in _all_of(given, Namespace)}
    groups = {group.key: default_pod_group(group, namespaces) for group in _all_of(given, PodGroup)}
    known = set(map(job_of, groups.values()))
    for job in jobs:
        if job.key not in known:
            made = admitted_group(job, classes, namespaces)
            groups[made.key] = made
    pods = []
    for pod in _all_of(given, Pod):
        uid = pod.metadata.uid or made_up_uid(pod)
        own = replace(pod, metadata=replace(pod.metadata, uid=uid))
        fresh, joined = pod_group_for(own, groups, scheduler_names=SCHEDULERS)
        if fresh is not None:
            groups[fresh.key] = default_pod_group(fresh, namespaces)
        pods.append(joined)
    return list(groups.values()), pods


def _all_of(objects: Iterable[Manifest], kind: type[M]) -> list[M]:
    return [thing for thing in objects if isinstance(thing, kind)]


def job_of(group: PodGroup) -> str:
    """The key of the Job that the PodGroup was made for; empty where it was made for none."""
    meta = group.metadata
    owners = (owner.name for owner in meta.owner_references if owner.controller and owner.kind == "Job")
    name = next(owners, "")
    return f"{meta.namespace}/{name}" if name else ""
