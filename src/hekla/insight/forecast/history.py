"""History: what is known of ended jobs, and how long jobs like them will run."""

from __future__ import annotations

import csv
import json
import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from hekla.cluster.node_usage import is_finished
from hekla.errors import InputError
from hekla.objects import Manifest, Pod, PodGroup, VolcanoJob
from hekla.objects.complaint import spoken
from hekla.objects.keys import GROUP_NAME
from hekla.objects.quantity import read_seconds
from hekla.simulation.measures.waits import LARGEST_OF_SIZE
from hekla.simulation.run import Floats, Run, State
from hekla.simulation.workloads import Submission, read_workload
from hekla.simulation.workloads.pod_runs import run_of
from hekla.simulation.workloads.read import is_known

_NUMBERING = re.compile(r"([-_.](?=[a-z0-9]*[0-9])[a-z0-9]{5,}|[-_.]?[0-9]+)+$")
"""What tells apart jobs that are submitted again and again: `-17`, `-x7k2p`, `-2026-01-31`."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is known of a job before it runs; jobs that agree in more of it run more alike."""

    user: str
    """The user who submits it; where none is named, its namespace."""
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


def read_history(path: Path, **options: Any) -> list[Past]:
    """The ended jobs in a file; raises InputError where there is none.

    `options` are those of `ReadingOptions`; columns are for tables that are not known without.
    """
    file = path / "jobs.csv" if path.is_dir() and (path / "jobs.csv").is_file() else path
    if file.suffix.lower() == ".csv" and _begins_with_a_job_table(file):
        found = list(_of_table(file))
    elif (saved := _saved_run(file)) is not None:
        found = list(_of_records(saved, str(file)))
    else:
        if options.get("columns") and is_known(file):
            options = {**options, "columns": {}}
        found = [past_of(submission) for submission in read_workload(file, **options).jobs()]
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
    run = run_of(pod)
    if pod.status.phase != "Succeeded" or not run.span:
        return
    group = groups.get(f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}")
    key, queue, pods = pod.key, "default", 1
    if group is not None:
        key, queue, pods = group.key, group.spec.queue or "default", max(1, group.spec.min_member)
    yield Past(likeness_of(key, queue=queue, pods=pods), run.span)


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


ENOUGH = 5
"""So many ended jobs make a distribution; with fewer, less alike ones are asked."""
QUANTILES = (np.arange(199) + 0.5) / 199
"""Where a distribution that is known by a formula is taken down."""
GUESSED_MEDIAN = 3600.0
GUESSED_SPREAD = 1.5
"""Where nothing is known at all: an hour, give or take a factor of four and a half."""

Group = tuple[str | int, ...]


class RunTimeSource(Enum):
    """Where a run time comes from."""

    STATED = "stated"
    LEARNED = "learned"
    ESTIMATE = "estimate"
    """As the user said, for want of ended jobs to compare with."""
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Question:
    """A job whose run time is asked for."""

    likeness: Likeness
    has_run: float = 0.0
    """Seconds so far."""
    stated: float | None = None
    estimate: float | None = None


@dataclass(frozen=True)
class Prospect:
    """How long a job runs in all: equally likely values, all above what it has run already."""

    seconds: Floats
    source: RunTimeSource

    def draw(self, chance: np.random.Generator) -> float:
        return float(self.seconds[chance.integers(len(self.seconds))])


class RunTimes:
    """Learns from ended jobs; `assumed` is for those of which nothing is known."""

    def __init__(self, past: Iterable[Past] = (), assumed: float | None = None) -> None:
        spans: defaultdict[Group, list[float]] = defaultdict(list)
        ratios: defaultdict[Group, list[float]] = defaultdict(list)
        for each in past:
            for group in _span_groups(each.likeness):
                spans[group].append(each.run_seconds)
            if each.estimate:
                for group in _ratio_groups(each.likeness):
                    ratios[group].append(each.run_seconds / each.estimate)
        self._spans = {group: np.sort(values) for group, values in spans.items()}
        self._ratios = {group: np.sort(values) for group, values in ratios.items()}
        self._assumed = np.array([assumed]) if assumed is not None else _broad_guess()

    def prospect(self, job: Question) -> Prospect:
        if job.stated is not None and job.stated > job.has_run:
            return Prospect(np.array([job.stated]), RunTimeSource.STATED)
        if (learned := self._learned(job)) is not None:
            return Prospect(learned, RunTimeSource.LEARNED)
        if job.estimate is not None:
            return Prospect(_beyond(np.array([job.estimate]), job.has_run), RunTimeSource.ESTIMATE)
        return Prospect(_beyond(self._assumed, job.has_run), RunTimeSource.ASSUMED)

    def _learned(self, job: Question) -> Floats | None:
        """What the most alike jobs ran that are enough; else the most there are."""
        best: Floats | None = None
        for spans in self._candidates(job):
            longer = spans[np.searchsorted(spans, job.has_run, side="right") :]
            if len(longer) >= ENOUGH:
                return longer
            if len(longer) > (0 if best is None else len(best)):
                best = longer
        if best is None and () in self._spans:
            return _as_long_again(job.has_run)
        return best

    def _candidates(self, job: Question) -> Iterator[Floats]:
        """Run times of ever less alike jobs: a name says more than an estimate, and that more than a user."""
        groups = _span_groups(job.likeness)
        by_name, by_user = groups[:2], groups[2:]
        yield from (self._spans[group] for group in by_name if group in self._spans)
        if job.estimate:
            for group in _ratio_groups(job.likeness):
                if group in self._ratios:
                    yield self._ratios[group] * job.estimate
        yield from (self._spans[group] for group in by_user if group in self._spans)


def _span_groups(like: Likeness) -> list[Group]:
    """From alike to all."""
    return [
        ("user", like.user, "stem", like.stem, "size", like.size),
        ("user", like.user, "stem", like.stem),
        ("user", like.user, "size", like.size),
        ("queue", like.queue, "size", like.size),
        ("user", like.user),
        ("queue", like.queue),
        (),
    ]


def _ratio_groups(like: Likeness) -> list[Group]:
    return [("user", like.user), ("queue", like.queue), ()]


def _beyond(seconds: Floats, has_run: float) -> Floats:
    """Those that are longer than what has passed; where none is, what was said is disproved."""
    longer = seconds[seconds > has_run]
    return longer if len(longer) else _as_long_again(has_run)


def _as_long_again(has_run: float) -> Floats:
    """Of something that outlasts all that is known: it runs as long again with even chances."""
    return max(has_run, 1.0) / (1.0 - QUANTILES)


def _broad_guess() -> Floats:
    normal = NormalDist(math.log(GUESSED_MEDIAN), GUESSED_SPREAD)
    return np.exp([normal.inv_cdf(float(quantile)) for quantile in QUANTILES])
