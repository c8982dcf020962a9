"""`hekla job`: the jobs of a cluster or of files, in the columns of vcctl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from hekla.cli.from_files import job_of
from hekla.cli.looking import (
    all_of,
    conditions_of,
    date_of,
    echo_details,
    echo_list,
    group_of,
    listing,
    looking,
    namespace_options,
    objects_of,
    pods_by_node,
    section,
    the_one,
    why_it_waits,
)
from hekla.cli.options import GoSwitchGroup
from hekla.cli.output import Style
from hekla.objects import Manifest, Pod, PodGroup, VolcanoJob
from hekla.objects.keys import JOB_TYPE

USUAL_QUEUE = "default"
COLUMNS = {
    "name": "Name",
    "creation": "Creation",
    "phase": "Phase",
    "jobType": "JobType",
    "replicas": "Replicas",
    "min": "Min",
    "pending": "Pending",
    "running": "Running",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "unknown": "Unknown",
    "retryCount": "RetryCount",
}
WIDE_COLUMNS = {"queue": "Queue", "priorityClass": "PriorityClass"}


@click.group(cls=GoSwitchGroup)
def job() -> None:
    """Look at the jobs of a Kubernetes cluster, or of files."""


@job.command("list")
@listing
@namespace_options
@click.option("-q", "--queue", help="Only jobs of this queue.")
def list_(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    kubeconfig: Path | None,
    context: str | None,
    output: Style | None,
    namespace: str,
    everywhere: bool,
    queue: str | None,
) -> None:
    """List Volcano Jobs: those of FILES, else of a live cluster.

    Of files, pod groups of which no Job is there are listed as well: a snapshot holds no Jobs.
    """
    kinds: list[type[Manifest]] = [VolcanoJob, PodGroup, Pod] if files else [VolcanoJob]
    objects = objects_of(files, kubeconfig, context, kinds, "" if everywhere else namespace)
    rows = [*map(row_of, all_of(objects, VolcanoJob)), *rows_of_groups(objects)]
    chosen = [row for row in rows if queue in (None, row["queue"])]
    headers = {"namespace": "Namespace", **COLUMNS} if everywhere else COLUMNS
    where = "" if everywhere else f' in namespace "{namespace}"'
    chosen.sort(key=lambda row: (row["namespace"], row["name"]))
    echo_list(chosen, headers, WIDE_COLUMNS, f"no jobs found{where}", output)


def rows_of_groups(objects: Sequence[Manifest]) -> Iterator[dict[str, object]]:
    """The same of pod groups of which no Job is there, as far as they tell."""
    jobs = {found.key for found in all_of(objects, VolcanoJob)}
    pods: dict[str, list[Pod]] = {}
    for pod in all_of(objects, Pod):
        pods.setdefault(group_of(pod), []).append(pod)
    for group in all_of(objects, PodGroup):
        owner = job_of(group)
        if owner not in jobs:
            yield row_of_group(group, owner, pods.get(group.key, []))


def row_of_group(group: PodGroup, owner: str, pods: Sequence[Pod]) -> dict[str, object]:
    phases = Counter(pod.status.phase for pod in pods)
    return {
        "namespace": group.metadata.namespace,
        "name": owner.rpartition("/")[2] or group.metadata.name,
        "queue": group.spec.queue or USUAL_QUEUE,
        "creation": date_of(group),
        "phase": group.status.phase or "Pending",
        "jobType": "Batch" if owner else "PodGroup",
        "replicas": len(pods),
        "min": group.spec.min_member,
        **{
            phase.lower(): phases[phase] for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown")
        },
        "retryCount": None,
        "priorityClass": group.spec.priority_class_name,
    }


def row_of(found: VolcanoJob) -> dict[str, object]:
    status = found.status
    return {
        "namespace": found.metadata.namespace,
        "name": found.metadata.name,
        "queue": found.spec.queue or USUAL_QUEUE,
        "creation": date_of(found),
        "phase": status.state.phase or "Pending",
        "jobType": found.metadata.labels.get(JOB_TYPE) or "Batch",
        "replicas": sum(task.replicas for task in found.spec.tasks),
        "min": status.min_available or found.spec.min_available,
        "pending": status.pending,
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "unknown": status.unknown,
        "retryCount": status.retry_count,
        "priorityClass": found.spec.priority_class_name,
    }


@job.command()
@click.argument("name")
@looking
@namespace_options
def get(  # noqa: PLR0917 - one parameter per option
    name: str,
    files: tuple[Path, ...],
    kubeconfig: Path | None,
    context: str | None,
    output: Style | None,
    namespace: str,
    everywhere: bool,
) -> None:
    """Show one Volcano Job, or a pod group without one: its tasks, why it waits, its pods by node.

    It is looked for in FILES, or else in a live cluster.
    """
    space, _, bare = name.rpartition("/")
    place = space or ("" if everywhere else namespace)
    objects = objects_of(files, kubeconfig, context, [PodGroup, VolcanoJob, Pod], place)
    data = details_of(objects, bare, f' in namespace "{place}"' if place else "")
    tasks, conditions, pods = data["tasks"], data["conditions"], data["pods"]
    assert isinstance(tasks, list)
    assert isinstance(conditions, list)
    assert isinstance(pods, list)
    reasons = data["whyItWaits"]
    assert isinstance(reasons, list)
    sections = [
        section("tasks", ("name", "replicas", "min"), [tuple(task.values()) for task in tasks]),
        section(
            "conditions",
            ("type", "status", "reason", "since", "message"),
            [tuple(c.values()) for c in conditions],
        ),
        "why it waits\n" + "\n".join(f"  - {reason}" for reason in reasons) if reasons else "",
        section("pods", ("node", "pod", "phase"), [tuple(pod.values()) for pod in pods]),
    ]
    echo_details(data, sections, output)


def details_of(objects: list[Manifest], name: str, where: str) -> dict[str, object]:
    """Everything there is to say about one job."""
    jobs, groups, pods = all_of(objects, VolcanoJob), all_of(objects, PodGroup), all_of(objects, Pod)
    found = next((one for one in jobs if one.metadata.name == name), None)
    if found is None:
        owned = [one for one in groups if job_of(one).rpartition("/")[2] == name]
        group: PodGroup | None = owned[0] if owned else the_one(groups, name, "job or pod group", where)
    else:
        group = next((one for one in groups if _owned_by(one, found)), None)
    of_group = [pod for pod in pods if group is not None and group_of(pod) == group.key]
    of_job = of_group or [pod for pod in pods if found is not None and _owned_by(pod, found)]
    head: dict[str, object]
    if found is not None:
        head = {**row_of(found), "podGroupPhase": None if group is None else group.status.phase}
        head["message"] = found.status.state.message or found.status.state.reason
        tasks = [
            {
                "name": task.name,
                "replicas": task.replicas,
                "min": task.replicas if task.min_available is None else task.min_available,
            }
            for task in found.spec.tasks
        ]
    else:
        assert group is not None
        head = row_of_group(group, job_of(group), of_job)
        head["podGroupPhase"] = group.status.phase or "Pending"
        tasks = []
    return {
        **head,
        "tasks": tasks,
        "conditions": conditions_of(() if group is None else group.status.conditions),
        "whyItWaits": why_it_waits(group, of_job),
        "pods": pods_by_node(of_job),
    }


def _owned_by(manifest: Manifest, found: VolcanoJob) -> bool:
    """Whether it was made for this very Job; a file need not write UIDs."""
    if manifest.metadata.namespace != found.metadata.namespace:
        return False
    uid, name = found.metadata.uid, found.metadata.name
    owners = manifest.metadata.owner_references
    return any(owner.uid == uid if uid else (owner.kind, owner.name) == ("Job", name) for owner in owners)
