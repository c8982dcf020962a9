"""`hekla job`: the jobs of a cluster, in the columns of vcctl."""

from __future__ import annotations

from pathlib import Path

import click

from hekla.cli.looking import (
    all_of,
    conditions_of,
    date_of,
    echo_details,
    echo_list,
    group_of,
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


@click.group(cls=GoSwitchGroup)
def job() -> None:
    """Look at the jobs of a Kubernetes cluster."""


@job.command("list")
@looking
@namespace_options
@click.option("-q", "--queue", help="Only jobs of this queue.")
def list_(  # noqa: PLR0917 - one parameter per option
    kubeconfig: Path | None,
    context: str | None,
    output: Style | None,
    namespace: str,
    everywhere: bool,
    queue: str | None,
) -> None:
    """List Volcano Jobs."""
    objects = objects_of(kubeconfig, context, [VolcanoJob], "" if everywhere else namespace)
    jobs = [
        found for found in all_of(objects, VolcanoJob) if queue in (None, found.spec.queue or USUAL_QUEUE)
    ]
    headers = {"namespace": "Namespace", **COLUMNS} if everywhere else COLUMNS
    where = "" if everywhere else f' in namespace "{namespace}"'
    rows = [row_of(found) for found in sorted(jobs, key=lambda found: found.key)]
    echo_list(rows, headers, f"no jobs found{where}", output)


def row_of(found: VolcanoJob) -> dict[str, object]:
    status = found.status
    return {
        "namespace": found.metadata.namespace,
        "name": found.metadata.name,
        "queue": found.spec.queue or USUAL_QUEUE,
        "creation": date_of(found),
        "phase": status.state.phase,
        "jobType": found.metadata.labels.get(JOB_TYPE) or "Batch",
        "replicas": sum(task.replicas for task in found.spec.tasks),
        "min": status.min_available,
        "pending": status.pending,
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "unknown": status.unknown,
        "retryCount": status.retry_count,
    }


@job.command()
@click.argument("name")
@looking
@namespace_options
def get(  # noqa: PLR0917 - one parameter per option
    name: str,
    kubeconfig: Path | None,
    context: str | None,
    output: Style | None,
    namespace: str,
    everywhere: bool,
) -> None:
    """Show one Volcano Job, or a pod group without one: its tasks, why it waits, its pods by node."""
    space, _, bare = name.rpartition("/")
    place = space or ("" if everywhere else namespace)
    objects = objects_of(kubeconfig, context, [PodGroup, VolcanoJob, Pod], place)
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
        group: PodGroup | None = the_one(groups, name, "job or pod group", where)
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
        head = _row_of_group(group)
        tasks = []
    return {
        **head,
        "tasks": tasks,
        "conditions": conditions_of(() if group is None else group.status.conditions),
        "whyItWaits": why_it_waits(group, of_job),
        "pods": pods_by_node(of_job),
    }


def _row_of_group(group: PodGroup) -> dict[str, object]:
    return {
        "namespace": group.metadata.namespace,
        "name": group.metadata.name,
        "queue": group.spec.queue or USUAL_QUEUE,
        "creation": date_of(group),
        "podGroupPhase": group.status.phase or "Pending",
        "min": group.spec.min_member,
        "running": group.status.running,
        "succeeded": group.status.succeeded,
        "failed": group.status.failed,
    }


def _owned_by(manifest: Manifest, found: VolcanoJob) -> bool:
    if manifest.metadata.namespace != found.metadata.namespace:
        return False
    return any(owner.uid == found.metadata.uid for owner in manifest.metadata.owner_references if owner.uid)
