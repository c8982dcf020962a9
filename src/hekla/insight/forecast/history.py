"""History: ended jobs out of files and out of the state itself, to learn run times from.

A file is a saved run (`hekla simulate --save`, .json or .csv, or the folder of one), or a workload with
durations: our own YAML, a trace.
"""

from __future__ import annotations

import csv
import json
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekla.cluster.node_usage import is_finished
from hekla.errors import InputError
from hekla.objects import Manifest, Pod, PodGroup, VolcanoJob, seconds
from hekla.objects.complaint import spoken
from hekla.objects.keys import GROUP_NAME
from hekla.objects.quantity import read_seconds
from hekla.simulation.measures.waits import LARGEST_OF_SIZE
from hekla.simulation.run import Run, State
from hekla.simulation.workloads import Submission, read_workload

_NUMBERING = re.compile(r"([-_.](?=[a-z0-9]*[0-9])[a-z0-9]{5,}|[-_.]?[0-9]+)+$")
"""What tells apart jobs that are submitted again and again: `-17`, `-x7k2p`, `-2026-01-31`."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is known of a job before it runs; jobs that agree in more of it run more alike."""

    user: str
    """Whoever submits it; where nobody says, its namespace."""
    queue: str
    stem: str
    """Its name without numbers at the end."""
    size: int
    """Its size class, by its pods."""


@dataclass(frozen=True, slots=True)
class Past:
    """A job that has ended."""

    likeness: Likeness
    run_seconds: float
    estimate: float | None = None
    """How long its user said that it would run."""


def likeness_of(key: str, *, queue: str, pods: int, user: str = "") -> Likeness:
    """Of a job called `namespace/name`."""
    namespace, _, name = key.rpartition("/")
    return Likeness(user or namespace, queue, stem_of(name), bisect_left(LARGEST_OF_SIZE, pods))


def stem_of(name: str) -> str:
    """`train-17` and `train-x7k2p` are both `train`; a name that is all numbers is itself."""
    return _NUMBERING.sub("", name) or name


NEEDED = ("name", "queue", "state", "run_seconds", "pods")
"""Columns that a table of jobs must have."""


def read_history(path: Path) -> list[Past]:
    """The ended jobs in a file; raises InputError where there is none."""
    file = path / "jobs.csv" if path.is_dir() and (path / "jobs.csv").is_file() else path
    if file.suffix.lower() == ".csv" and _begins_with_a_job_table(file):
        found = list(_of_table(file))
    elif (saved := _saved_run(file)) is not None:
        found = list(_of_records(saved, str(file)))
    else:
        found = [past_of(submission) for submission in read_workload(file).jobs()]
    finite = [past for past in found if math.isfinite(past.run_seconds)]
    if not finite:
        raise InputError(
            f'"{file}": no job that has ended; expected a saved run, or a workload with durations'
        )
    return finite


def past_of(submission: Submission) -> Past:
    """A submission whose run time is known."""
    spans = [
        submission.run_seconds if role.run_seconds is None else role.run_seconds for role in submission.roles
    ]
    return Past(
        likeness_of(submission.key, queue=submission.queue, pods=submission.pods, user=submission.user),
        max(spans, default=submission.run_seconds),
        submission.estimate,
    )


def ended_by(run: Run, moment: float) -> list[Past]:
    """The jobs of a simulation that were over by then."""
    jobs = run.jobs
    return [
        Past(
            likeness_of(
                jobs.names[row],
                queue=run.queues[jobs.queue[row]],
                pods=int(jobs.pods[row]),
                user=jobs.users[row],
            ),
            float(jobs.run_seconds[row]),
            None if math.isnan(jobs.estimate[row]) else float(jobs.estimate[row]),
        )
        for row in range(len(jobs))
        if jobs.state[row] == State.COMPLETED and jobs.finished[row] <= moment
    ]


def ended_in(objects: Iterable[Manifest], tell: Callable[[str], None] = lambda _note: None) -> list[Past]:
    """The jobs and pods among these objects that are over, and say when they began and ended.

    Of what cannot be read in them a note is told.
    """
    manifests = list(objects)
    groups = {group.key: group for group in manifests if isinstance(group, PodGroup)}
    found: list[Past] = []
    for manifest in manifests:
        if isinstance(manifest, VolcanoJob):
            found += _of_job(manifest, tell)
        elif isinstance(manifest, Pod) and is_finished(manifest):
            found += _of_pod(manifest, groups)
    return found


def _of_job(job: VolcanoJob, tell: Callable[[str], None]) -> Iterator[Past]:
    status, spec = job.status, job.spec
    if status.state.phase != "Completed":
        return
    took = span_of(job, "status.runningDuration", status.running_duration, tell)
    if took is not None:
        pods = sum(task.replicas for task in spec.tasks)
        likeness = likeness_of(job.key, queue=spec.queue or "default", pods=pods)
        yield Past(likeness, took, span_of(job, "spec.runningEstimate", spec.running_estimate, tell))


def span_of(job: VolcanoJob, field: str, text: str | None, tell: Callable[[str], None]) -> float | None:
    """The seconds that a field of a Job says; none where it says none, or none that can be read."""
    if not text:
        return None
    try:
        span = read_seconds(text)
    except InputError as error:
        tell(f"job {job.key}: {field}: {error}; not used")
        return None
    if span < 0:
        tell(f'job {job.key}: {field}: "{text}" is below 0; not used')
        return None
    return span


def _of_pod(pod: Pod, groups: Mapping[str, PodGroup]) -> Iterator[Past]:
    """A pod that ended by itself, without a Job that tells of all its pods."""
    began = pod.status.start_time
    ends = [
        each.last_transition_time for each in pod.status.conditions if each.last_transition_time is not None
    ]
    if pod.status.phase != "Succeeded" or began is None or not ends or max(ends) <= began:
        return
    group = groups.get(f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}")
    key, queue, pods = pod.key, "default", 1
    if group is not None:
        key, queue, pods = group.key, group.spec.queue or "default", max(1, group.spec.min_member)
    yield Past(likeness_of(key, queue=queue, pods=pods), seconds(max(ends)) - seconds(began))


def _begins_with_a_job_table(path: Path) -> bool:
    """Whether the header is that of a saved run; traces are tables as well."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return set(NEEDED) <= set(next(csv.reader(file), ()))
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror}') from error
    except (UnicodeDecodeError, csv.Error):
        return False


def _of_table(path: Path) -> Iterator[Past]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        for row in rows:
            yield from _of_row(row, f"{path}:{rows.line_num}")


def _saved_run(path: Path) -> list[Any] | None:
    """The jobs of a run that was saved as JSON; none where the file is something else."""
    if path.suffix.lower() != ".json":
        return None
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror}') from error
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict) and "summary" in data and isinstance(data.get("jobs"), list):
        jobs: list[Any] = data["jobs"]
        return jobs
    return None


def _of_records(rows: Iterable[Any], source: str) -> Iterator[Past]:
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"{source}: jobs[{number}]: expected a map, got {spoken(row)}")
        # Pods may stand among what a job asks for, as a resource.
        requests = row.get("requests")
        asked = requests if isinstance(requests, dict) else {}
        known = {"pods": asked.get("pods"), **row, "run_seconds": row.get("runSeconds")}
        yield from _of_row(known, f"{source}: jobs[{number}]")


def _of_row(row: Mapping[str, Any], place: str) -> Iterator[Past]:
    """A job of a saved run, if it came to its end."""
    if row.get("state") != "completed":
        return
    likeness = likeness_of(
        str(row.get("name", "")),
        queue=str(row.get("queue", "")),
        pods=int(_number(row, "pods", place)),
        user=str(row.get("user") or ""),
    )
    estimate = None if row.get("estimate") in (None, "") else _number(row, "estimate", place)
    yield Past(likeness, _number(row, "run_seconds", place), estimate)


def _number(row: Mapping[str, Any], column: str, place: str) -> float:
    value = row.get(column)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number) or number < 0:
        raise InputError(f"{place}: {column}: expected a number from 0 on, got {spoken(value)}")
    return number
