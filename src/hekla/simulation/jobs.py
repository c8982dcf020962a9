"""The jobs of a simulation and their pods; those that are there when it begins are residents."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from hekla.cluster.embedded.options import read_seconds
from hekla.cluster.node_usage import is_finished
from hekla.controllers.requests import job_owner
from hekla.engine.model.requests import demand_of
from hekla.engine.model.resources import total
from hekla.errors import InputError
from hekla.objects import Manifest, Pod, PodGroup, VolcanoJob
from hekla.objects.keys import GROUP_NAME, RUN_SECONDS
from hekla.objects.pod import PodSpec
from hekla.simulation.agenda import PodPlan
from hekla.simulation.event_log import RunLog
from hekla.simulation.run import NOTHING, Ending
from hekla.simulation.workloads import Restart


class Doing(Enum):
    """What a pod does."""

    NOT_MADE = "not made yet"
    """Its Job makes it once the PodGroup is admitted."""
    WAITING = "waiting"
    RUNNING = "running"
    LEAVING = "leaving"
    """Evicted; it holds its room for a little longer."""
    DONE = "done"
    GONE = "gone"
    """With its job."""


class SimPod(Struct, eq=False):
    """One pod of a job, however often it is made: one that was evicted comes back under the same name."""

    job: SimJob
    number: int
    spec: PodSpec
    """Without a node."""
    shape: int
    work: float
    """Seconds of work in all."""
    manifest: Pod
    key: str
    """`namespace/name`, the same for all its generations."""
    doing: Doing = Doing.WAITING
    node: str = ""
    began: float = 0.0
    """When its latest pod run did; 0 where that runs from the start."""
    saved: float = 0.0
    """Seconds of work that nothing can undo."""
    worked: float = 0.0
    """Of a pod that leaves: seconds of work of this pod run that count."""
    plan: PodPlan | None = None
    """What will happen to it, if nothing else does before."""
    leaves_as: Ending = Ending.EVICTED
    """Of a pod that leaves: chosen to, or because its job starts again."""
    beneficiary: str = ""
    """For which job it has to leave."""
    generation: int = 1
    """How often it was made."""
    last_run: int = NOTHING
    """Its row in the log."""


class SimJob(Struct, eq=False):
    """One job: its pods, its PodGroup and its row in the log."""

    key: str
    row: int
    group: PodGroup | None
    """None for pods that belong to no group."""
    restart: Restart
    checkpoint: float | None
    needed: int
    """How many pods have to run for the job to count as started."""
    pods: list[SimPod] = []
    running: int = 0
    done: int = 0
    has_started: bool = False
    fails_after: float | None = None
    has_controller: bool = False
    """Its pods are made by a Job's controller, and only while its PodGroup is admitted."""
    manifest: VolcanoJob | None = None
    """The Job as it was handed in, where it was one."""
    kind: object = None
    """The same for jobs that ask for the same in one queue; None where nothing is known of that."""

    @property
    def waits_for_tasks(self) -> bool:
        """Whether some of its pods are made only once other pods run or are done."""
        return self.manifest is not None and any(task.depends_on for task in self.manifest.spec.tasks)


Remaining = Callable[[Pod, PodGroup | None], float]
"""How long a pod still runs; infinite where it is unknown."""


GRACE_SECONDS = 30.0
"""How long a pod takes to go that does not say; Kubernetes' own."""


def stated(pod: Pod, group: PodGroup | None) -> float:
    """What an annotation of the pod says, else one of its PodGroup; one that leaves, its grace period."""
    if pod.metadata.deletion_timestamp is not None:
        grace = pod.metadata.deletion_grace_period_seconds
        return GRACE_SECONDS if grace is None else float(grace)
    for manifest in (pod, group):
        if manifest is not None and RUN_SECONDS in manifest.metadata.annotations:
            try:
                return read_seconds(manifest.metadata.annotations[RUN_SECONDS])
            except InputError as error:
                kind = "pod" if manifest is pod else "podgroup"
                place = f'{kind} {manifest.key}: metadata.annotations["{RUN_SECONDS}"]'
                raise InputError(f"{place}: {error}") from error
    return math.inf


def residents(
    objects: Iterable[Manifest], log: RunLog, remaining: Remaining, not_made: Collection[str] = ()
) -> list[SimJob]:
    """The jobs of these pods, in the order of their PodGroups; loose pods come last, each on its own.

    A pod that is being deleted holds its room for a while; what it belonged to goes on without it. Those that
    are `not_made`, by key, appear once the PodGroup of their Job is admitted.
    """
    manifests = list(objects)
    groups = {group.key: group for group in manifests if isinstance(group, PodGroup)}
    pods_of: dict[str, list[Pod]] = {key: [] for key in groups}
    for pod in manifests:
        if not isinstance(pod, Pod) or is_finished(pod):
            continue
        if pod.metadata.deletion_timestamp is None:
            pods_of.setdefault(_group_key(pod, groups) or f"pod {pod.key}", []).append(pod)
        elif pod.spec.node_name:
            pods_of[f"leaving pod {pod.key}"] = [pod]
    jobs = [_job_of(key, groups.get(key), pods, log, remaining) for key, pods in pods_of.items() if pods]
    manifests_by_uid = {job.metadata.uid: job for job in manifests if isinstance(job, VolcanoJob)}
    for job in jobs:
        owner = None if job.group is None else job_owner(job.group)
        job.has_controller = owner is not None
        job.manifest = None if owner is None else manifests_by_uid.get(owner.uid)
        for sim_pod in job.pods:
            if sim_pod.key in not_made:
                sim_pod.doing = Doing.NOT_MADE
    return jobs


def _group_key(pod: Pod, groups: Mapping[str, PodGroup]) -> str:
    key = f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}"
    return key if key in groups else ""


def _job_of(key: str, group: PodGroup | None, pods: list[Pod], log: RunLog, remaining: Remaining) -> SimJob:
    minimum = group.spec.min_member if group is not None else 1
    spans = [remaining(pod, group) for pod in pods]
    requests = [demand_of(pod)[0] for pod in pods]
    job = SimJob(
        key=key,
        row=log.enter_job(
            pods[0].key if group is None else key,
            user="",
            queue=group.spec.queue or "default" if group is not None else "default",
            submitted=0.0,
            run_seconds=max(spans),
            estimate=None,
            minimum=minimum,
            pods=len(pods),
            shape=log.shapes.number_of(requests[0]),
            size=log.sizes.number_of(total(requests)),
        ),
        group=group,
        restart=Restart.POD,
        checkpoint=None,
        needed=needed_of(minimum, len(pods)),
    )
    for number, (pod, span) in enumerate(zip(pods, spans, strict=True)):
        job.pods.append(_sim_pod(job, number, pod, span, log))
    return job


def needed_of(minimum: int, pods: int) -> int:
    """How many pods of a job have to run for it to count as started."""
    return max(1, min(minimum, pods))


def _sim_pod(job: SimJob, number: int, pod: Pod, span: float, log: RunLog) -> SimPod:
    node = pod.spec.node_name
    return SimPod(
        job,
        number,
        replace(pod.spec, node_name=""),
        log.shapes.number_of(demand_of(pod)[0]),
        span,
        pod,
        pod.key,
        doing=Doing.RUNNING if node else Doing.WAITING,
        node=node,
    )
