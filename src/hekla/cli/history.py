"""`hekla history`: the jobs that a cluster has finished, as a workload that can be run again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from hekla.cli.decide import checked_source
from hekla.cli.from_cluster import access_options, reach, read_live
from hekla.cli.options import SPAN, GoSwitches
from hekla.cli.output import echo, warn
from hekla.cli.workload import out_options, write
from hekla.errors import InputError
from hekla.objects import (
    NAMESPACED,
    HyperNode,
    Manifest,
    Node,
    Pod,
    PodGroup,
    PriorityClass,
    Queue,
    VolcanoJob,
)
from hekla.objects.read import read_manifests
from hekla.objects.scenario import is_scenario, read_scenario
from hekla.simulation.workloads import read_workload
from hekla.simulation.workloads.manifests import SCHEDULERS
from hekla.simulation.workloads.past import PastJobs, past_jobs, past_workload
from hekla.simulation.workloads.source import Source
from hekla.text import counted

KINDS: tuple[type[Manifest], ...] = (Pod, PodGroup, VolcanoJob, Queue, PriorityClass, Node, HyperNode)
GONE = "what was deleted before is not known; hekla serve --record keeps it"


@click.command(cls=GoSwitches)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--from-cluster", is_flag=True, help="Read a live cluster; nothing is written to it.")
@access_options
@click.option("--namespace", default="", metavar="NAME", help="Only the jobs of this namespace.")
@click.option(
    "--scheduler-name", "names", multiple=True, default=SCHEDULERS, show_default=True,
    help="Whose pods are looked at; repeatable.",
)  # fmt: skip
@click.option("--default-duration", "duration", type=SPAN, help="For jobs that have not ended yet.")
@out_options
def history(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    names: tuple[str, ...],
    namespace: str,
    duration: float | None,
    out: Path | None,
    to: str | None,
    **given: Any,
) -> None:
    """Write the jobs that a cluster has finished as a workload, with its queues and nodes.

    They are read from a live cluster with --from-cluster, as far as it still knows them, or from FILES:
    manifests with their status as `kubectl get -o yaml` prints them, snapshots, or a recording of `hekla
    serve`. Jobs, PodGroups and pods tell when work came, how long it ran and what it asked for.
    """
    is_live = checked_source(files, {**given, "conf_place": None}, 1)
    if is_live and files:
        raise click.UsageError("give FILES or --from-cluster, not both")
    recording = recording_among(files)
    if recording is not None:
        write(read_workload(recording, duration=duration), out, to)
        return
    objects = read_from_cluster(namespace, given) if is_live else read_files(files)
    chosen = [each for each in objects if is_in(namespace, each)]
    found = past_jobs(chosen, names, duration)
    if not found.jobs:
        reasons = "; ".join(f"{count} left out: {why}" for why, count in found.dropped.items())
        raise InputError(f"no job that has ended{f': {reasons}' if reasons else ''}")
    write(past_workload(found, chosen, "history" if out is None else out.stem), out, to)
    tell_span(found, is_live=is_live)


def is_in(namespace: str, manifest: Manifest) -> bool:
    """Whether the object is in the namespace, if one is named, or belongs to the whole cluster."""
    return not namespace or type(manifest) not in NAMESPACED or manifest.metadata.namespace == namespace


def recording_among(files: Sequence[Path]) -> Path | None:
    """The recording, if that is what the files are; one that stands among other files is told."""
    recordings = [file for file in files if file.is_file() and Source(file).is_recording]
    if recordings and len(files) > 1:
        raise InputError(f'"{recordings[0]}" is a recording: give it alone')
    return recordings[0] if recordings else None


def read_from_cluster(namespace: str, given: dict[str, Any]) -> list[Manifest]:
    """What there is; a cluster without Volcano's kinds still has pods that have ended."""
    access = reach(given["kubeconfig"], given["context"])
    return list(read_live(access, KINDS, indispensable={Pod}, namespace=namespace).objects)


def read_files(files: Sequence[Path]) -> list[Manifest]:
    """The objects in manifests and snapshots."""
    found: list[Manifest] = []
    for file in files:
        if is_scenario(file):
            scenario = read_scenario(file)
            warn(f"{file}: {complaint}" for complaint in scenario.complaints)
            found += scenario.objects
            continue
        if str(file) != "-" and not file.exists():
            raise InputError(f'no file or folder "{file}"')
        reading = read_manifests([file])
        warn(map(str, reading.complaints))
        found += reading.objects
    return found


def tell_span(found: PastJobs, *, is_live: bool) -> None:
    """From when to when jobs ended, and what is missing."""
    if not found.ends:
        return
    first, last = (datetime.fromtimestamp(at, UTC) for at in (min(found.ends), max(found.ends)))
    ended = (
        f"{counted(len(found.jobs), 'job')} ended from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
    )
    echo(f"{ended}; {GONE}" if is_live else ended, err=True)
