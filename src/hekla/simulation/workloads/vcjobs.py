"""Volcano's Jobs as submissions: tasks are roles, policies say what starts again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace

from hekla.cluster.admission import default_job, problems_of_job
from hekla.cluster.embedded.options import read_exit_code, read_seconds
from hekla.controllers import Event, PolicyAction
from hekla.controllers.policy import events_of
from hekla.errors import InputError
from hekla.objects import VolcanoJob
from hekla.objects.batch import JobStatus
from hekla.objects.keys import ARRIVES_AT, EXIT_CODE, RUN_SECONDS
from hekla.objects.quantity import read_seconds as read_span
from hekla.simulation.workloads.fields import Spot, bounded
from hekla.simulation.workloads.model import Restart, Submission
from hekla.simulation.workloads.shapes import Shapes
from hekla.simulation.workloads.short_jobs import MOST_PODS

OURS = frozenset({ARRIVES_AT, RUN_SECONDS, EXIT_CODE})
"""Annotations that are said by fields of a submission."""

DEFAULT_SECONDS = 30.0
"""As long as `hekla run` lets pods run that say nothing."""

_LOSSES = frozenset({Event.POD_EVICTED, Event.POD_FAILED, Event.ANY})
_RESTARTS: Mapping[str, Restart] = {
    PolicyAction.RESTART: Restart.JOB,
    PolicyAction.ABORT: Restart.NEVER,
    PolicyAction.TERMINATE: Restart.NEVER,
    PolicyAction.COMPLETE: Restart.NEVER,
}


def submission_of(
    job: VolcanoJob, spot: Spot, shapes: Shapes, duration: float | None, changed: Counter[str]
) -> Submission:
    """The Job as it is handed in; what a submission cannot say is counted in `changed`."""
    check(job, spot)
    job = default_job(job)
    spec = job.spec
    notes = job.metadata.annotations
    runs = run_seconds_of(notes, spot, duration, changed)
    count_what_is_lost(job, changed)
    return Submission(
        name=job.metadata.name,
        submitted=seconds_in(notes, ARRIVES_AT, spot) or 0.0,
        run_seconds=runs,
        roles=tuple(
            shapes.role(
                task.name,
                task.replicas,
                shapes.shared(task.template),
                task.min_available,
                seconds_in(task.template.metadata.annotations, RUN_SECONDS, spot),
            )
            for task in spec.tasks
            if task.replicas
        ),
        queue=spec.queue,
        namespace=job.metadata.namespace,
        min_available=spec.min_available,
        priority_class=spec.priority_class_name,
        estimate=estimate_of(job, spot),
        restart=restart_of(job),
        fails_after=fails_after(notes, runs, spot),
        topology=spec.network_topology,
        annotations=without_ours(notes),
        labels=job.metadata.labels,
        job=replace(job, status=JobStatus()),
    )


def check(job: VolcanoJob, spot: Spot) -> None:
    """Raise what a cluster would refuse the Job for; which queues there are is looked at elsewhere."""
    for problem in problems_of_job(default_job(job), {}):
        if problem.path != "spec.queue":
            raise spot.wrong(str(problem))
    pods = sum(task.replicas for task in job.spec.tasks)
    if not 1 <= pods <= MOST_PODS:
        raise spot.wrong(f'spec.tasks: expected 1 to {MOST_PODS} replicas in all, got "{pods}"')


def estimate_of(job: VolcanoJob, spot: Spot) -> float | None:
    if not job.spec.running_estimate:
        return None
    try:
        return read_span(job.spec.running_estimate)
    except InputError as error:
        raise spot.under("spec", "runningEstimate").wrong(str(error)) from error


def running(job: VolcanoJob, duration: float) -> VolcanoJob:
    """The Job with another run time than it says."""
    annotations = {**job.metadata.annotations, RUN_SECONDS: str(duration)}
    return replace(job, metadata=replace(job.metadata, annotations=annotations))


def restart_of(job: VolcanoJob) -> Restart:
    """What the first policy about a lost pod says; without one, only the pod comes back."""
    of_tasks = [policy for task in job.spec.tasks for policy in task.policies]
    for policy in (*job.spec.policies, *of_tasks):
        if _LOSSES.intersection(events_of(policy)):
            return _RESTARTS.get(policy.action, Restart.POD)
    return Restart.POD


def run_seconds_of(
    notes: Mapping[str, str], spot: Spot, duration: float | None, changed: Counter[str]
) -> float:
    """What the annotations say, else what is assumed for all that say nothing."""
    said = seconds_in(notes, RUN_SECONDS, spot)
    if said is not None:
        return said
    assumed = DEFAULT_SECONDS if duration is None else duration
    changed[f'no run time is said ("{RUN_SECONDS}"): {assumed:g} s are assumed'] += 1
    return assumed


def seconds_in(notes: Mapping[str, str], key: str, spot: Spot) -> float | None:
    """The span of time that an annotation says."""
    if key not in notes:
        return None
    try:
        return bounded(read_seconds(notes[key]), notes[key])
    except InputError as error:
        raise spot.under("metadata", "annotations", key).wrong(str(error)) from error


def fails_after(notes: Mapping[str, str], runs: float, spot: Spot) -> float | None:
    """A pod that ends with an exit code fails when its time is over."""
    try:
        code = read_exit_code(notes.get(EXIT_CODE, "0"))
    except InputError as error:
        raise spot.under("metadata", "annotations", EXIT_CODE).wrong(str(error)) from error
    return runs if code and math.isfinite(runs) else None


def without_ours(notes: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in notes.items() if key not in OURS}


def count_what_is_lost(job: VolcanoJob, changed: Counter[str]) -> None:
    """What pods of a simulation do without."""
    if job.spec.volumes:
        changed["a Job with volumes: it is played without them"] += 1
