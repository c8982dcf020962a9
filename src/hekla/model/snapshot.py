"""Snapshot: the facts of one moment, as jobs, tasks, queues and nodes.

Objects that cannot be used are left out one by one, each with a complaint that names it;
the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from hekla.errors import InputError
from hekla.model.job import Job, job_of
from hekla.model.load import NodeLoad
from hekla.model.node import Node, node_of
from hekla.model.queue import DEFAULT_QUEUE, Queue, queue_of
from hekla.model.shard import Shard
from hekla.model.status import TERMINATED_SET
from hekla.model.task import Task, task_of
from hekla.objects import Manifest, Pod, PodGroup, PriorityClass
from hekla.objects import Node as NodeManifest
from hekla.objects import Queue as QueueManifest
from hekla.objects.complaint import Complaint

M = TypeVar("M", bound=Manifest)


@dataclass(eq=False)
class Snapshot:
    """Everything a session works on; made anew for every cycle, so the session may change it."""

    nodes: list[Node] = field(default_factory=list)
    queues: dict[str, Queue] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    shard: Shard = field(default_factory=Shard)
    load: Mapping[str, NodeLoad] = field(default_factory=dict)
    """How busy nodes really are, where somebody measures it."""
    others: Mapping[type[Manifest], Sequence[Manifest]] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)

    def all_of(self, kind: type[M]) -> Sequence[M]:
        """Manifests of a kind that the core does not model (volumes, quotas, ...)."""
        return cast("Sequence[M]", self.others.get(kind, ()))


def take_snapshot(
    objects: Iterable[Manifest],
    *,
    shard: Shard | None = None,
    default_queue: str = DEFAULT_QUEUE,
) -> Snapshot:
    """The facts in these manifests; the order of nodes is the order in which they are given."""
    by_kind: dict[type[Manifest], list[Manifest]] = {}
    for manifest in objects:
        by_kind.setdefault(type(manifest), []).append(manifest)
    snapshot = Snapshot(shard=shard or Shard(), others=by_kind)
    _add_nodes(snapshot)
    _add_queues(snapshot)
    _add_jobs(snapshot, default_queue)
    _add_tasks(snapshot)
    return snapshot


def _add_nodes(snapshot: Snapshot) -> None:
    for manifest in snapshot.all_of(NodeManifest):
        try:
            snapshot.nodes.append(node_of(manifest))
            if not snapshot.nodes[-1].promised:
                message = "status.allocatable: missing; nothing can be placed there"
                snapshot.complaints.append(Complaint(f"node {manifest.key}", message))
        except InputError as error:
            snapshot.complaints.append(Complaint(f"node {manifest.key}", f"left out: {error}"))


def _add_queues(snapshot: Snapshot) -> None:
    for manifest in snapshot.all_of(QueueManifest):
        try:
            snapshot.queues[manifest.metadata.name] = queue_of(manifest)
        except InputError as error:
            snapshot.complaints.append(Complaint(f"queue {manifest.key}", f"left out: {error}"))


def _add_jobs(snapshot: Snapshot, default_queue: str) -> None:
    classes = snapshot.all_of(PriorityClass)
    values = {priority.metadata.name: priority.value for priority in classes}
    usual = next((priority.value for priority in classes if priority.global_default), 0)
    for manifest in snapshot.all_of(PodGroup):
        try:
            job = job_of(manifest, values.get(manifest.spec.priority_class_name, usual), default_queue)
        except InputError as error:
            snapshot.complaints.append(Complaint(f"podgroup {manifest.key}", f"left out: {error}"))
            continue
        if job.queue in snapshot.queues:
            snapshot.jobs[job.uid] = job
        else:
            known = ", ".join(sorted(snapshot.queues)) or "none"
            snapshot.complaints.append(
                Complaint(
                    f"podgroup {job.uid}",
                    f'spec.queue: asks for queue "{job.queue}", which does not exist; known queues: {known}',
                )
            )


def _add_tasks(snapshot: Snapshot) -> None:
    """Tasks join their jobs; tasks that sit on a node load it even where their job is unknown."""
    rows = {node.name for node in snapshot.nodes}
    groups = {group.key for group in snapshot.all_of(PodGroup)}
    for pod in snapshot.all_of(Pod):
        try:
            task = task_of(pod)
        except InputError as error:
            snapshot.complaints.append(Complaint(f"pod {pod.key}", f"left out: {error}"))
            continue
        snapshot.tasks.append(task)
        job = snapshot.jobs.get(task.job)
        if job is not None:
            job.add_task(task)
        elif task.job and task.job not in groups and task.status not in TERMINATED_SET:
            snapshot.complaints.append(
                Complaint(f"pod {task.key}", f'names pod group "{task.job}", which does not exist; it waits')
            )
        if task.node_name and task.node_name not in rows and task.status not in TERMINATED_SET:
            snapshot.complaints.append(
                Complaint(
                    f"pod {task.key}", f'spec.nodeName: sits on node "{task.node_name}", which does not exist'
                )
            )
