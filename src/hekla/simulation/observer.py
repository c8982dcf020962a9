"""Observer: watches an embedded cluster and enters in a log what happens, to be measured and drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from hekla.cluster.embedded import EmbeddedCluster
from hekla.cluster.embedded.options import read_seconds
from hekla.cluster.node_usage import is_finished
from hekla.engine.model.requests import demand_of
from hekla.engine.model.resources import Resources, read_resources, total
from hekla.errors import InputError
from hekla.objects import Manifest, Node, Pod, PodGroup
from hekla.objects.keys import GROUP_NAME, RUN_SECONDS
from hekla.scheduler.cycle import CycleReport
from hekla.simulation.event_log import RunLog
from hekla.simulation.run import NOTHING, Ending, Run, Sampler, State

EVICTED = ("DisruptionTarget", "True")


@dataclass(eq=False)
class Watched:
    """One job: its pods by name, and how many of them run and have ended."""

    row: int
    minimum: int
    requests: dict[str, Resources] = field(default_factory=dict)
    running: int = 0
    succeeded: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)


class Observer:
    """From the moment at which it is called in, whatever happens to nodes and pods is entered."""

    def __init__(self, cluster: EmbeddedCluster, *, period: float = 1.0) -> None:
        self._cluster = cluster
        self._start = cluster.now
        self._log = RunLog()
        self._jobs: dict[str, Watched] = {}
        self._began: dict[str, float] = {}
        self._sampler = Sampler(period)
        self._resources: tuple[str, ...] = ()
        self._cycles = 0
        for kind in (Node, PodGroup, Pod):
            for manifest in cluster.all_of(kind):
                self.heed(None, manifest)
        cluster.watch(self.heed)

    @property
    def _now(self) -> float:
        return round(self._cluster.now - self._start, 6)

    def look(self, report: CycleReport) -> None:
        """A cycle has taken place."""
        self._cycles += 1
        self._resources = report.session.axis.names
        self._sampler.look(report.session, self._now)

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        match before, after:
            case None, Node() as node:
                room = read_resources(node.status.allocatable)
                self._log.node_up(node.metadata.name, room, self._now)
            case Node() as node, None:
                self._log.node_down(node.metadata.name, self._now)
            case None, PodGroup() as group:
                self._meet(group)
            case ((Pod() | None), (Pod() | None)):
                self._heed_pod(before, after)

    def _meet(self, group: PodGroup) -> Watched:
        """The job of a PodGroup; one known before under its name is the same."""
        owners = group.metadata.owner_references
        name = next((owner.name for owner in owners if owner.kind == "Job"), group.metadata.name)
        key = f"{group.metadata.namespace}/{name}"
        if key not in self._jobs:
            row = self._log.enter_job(
                key,
                user="",
                queue=group.spec.queue or "default",
                submitted=self._now,
                run_seconds=_stated(group),
                estimate=None,
                minimum=group.spec.min_member,
                pods=0,
                shape=self._log.shapes.number_of({}),
                size=self._log.sizes.number_of({}),
            )
            self._jobs[key] = Watched(row, group.spec.min_member)
        self._jobs[group.key] = self._jobs[key]
        return self._jobs[key]

    def _heed_pod(self, before: Pod | None, after: Pod | None) -> None:
        pod = after or before
        job = None if pod is None else self._job_of(pod)
        if pod is None or job is None:
            return
        job.requests.setdefault(pod.key, demand_of(pod)[0])
        if not _holds_room(before) and _holds_room(after):
            self._begin(pod, job)
        elif before is not None and _holds_room(before) and not _holds_room(after):
            self._end(before, after, job)

    def _job_of(self, pod: Pod) -> Watched | None:
        group = pod.metadata.annotations.get(GROUP_NAME, "")
        return self._jobs.get(f"{pod.metadata.namespace}/{group}")

    def _begin(self, pod: Pod, job: Watched) -> None:
        self._began[pod.key] = self._now
        job.running += 1
        job.succeeded.discard(pod.key)
        job.failed.discard(pod.key)
        rows = self._log.jobs
        if math.isnan(rows.started[job.row]) and job.running + len(job.succeeded) >= max(1, job.minimum):
            self._log.start(job.row, self._now)

    def _end(self, before: Pod, after: Pod | None, job: Watched) -> None:
        job.running -= 1
        began, ending = self._began.pop(before.key), _ending_of(before, after)
        self._enter(before, job, began, ending)
        rows = self._log.jobs
        rows.evictions[job.row] += ending is Ending.EVICTED
        rows.failures[job.row] += ending is Ending.FAILED
        if ending is Ending.DONE:
            job.succeeded.add(before.key)
        elif ending is Ending.FAILED:
            job.failed.add(before.key)
        rows.finished[job.row] = self._now

    def _enter(self, pod: Pod, job: Watched, began: float, ending: Ending) -> None:
        is_kept = ending in (Ending.DONE, Ending.CUT)
        number = list(job.requests).index(pod.key)
        shape, node = self._log.shapes.number_of(job.requests[pod.key]), self._log.nodes[pod.spec.node_name]
        kept = self._now - began if is_kept else 0.0
        run = (job.row, number, shape, node, began, self._now, ending, kept, NOTHING)
        self._log.enter_pod_runs([run])

    def run(self, title: str, conf: str) -> Run:
        """What was seen so far."""
        for pod in self._cluster.all_of(Pod):
            job = self._job_of(pod)
            if job is not None and pod.key in self._began:
                self._enter(pod, job, self._began[pod.key], Ending.CUT)
        for job in dict.fromkeys(self._jobs.values()):
            self._sum_up(job)
        return self._log.closed(
            title=title,
            conf=conf,
            seed=0,
            end=self._now,
            is_complete=self._cluster.next_event_at() is None,
            cycles=self._cycles,
            samples=self._sampler.samples(list(self._log.queues), self._resources),
            resources=self._resources,
            wall_seconds=0.0,
        )

    def _sum_up(self, job: Watched) -> None:
        rows, row = self._log.jobs, job.row
        requests = list(job.requests.values())
        rows.pods[row] = len(requests)
        rows.size[row] = self._log.sizes.number_of(total(requests))
        if requests:
            rows.shape[row] = self._log.shapes.number_of(requests[0])
        rows.state[row] = _state_of(job, has_started=not math.isnan(rows.started[row]))
        if rows.state[row] in (State.WAITING, State.RUNNING):
            rows.finished[row] = math.nan


def _holds_room(pod: Pod | None) -> bool:
    return pod is not None and bool(pod.spec.node_name) and not is_finished(pod)


def _ending_of(before: Pod, after: Pod | None) -> Ending:
    if after is not None:
        return Ending.FAILED if after.status.phase == "Failed" else Ending.DONE
    if _has(before.status.conditions, EVICTED):
        return Ending.EVICTED
    return Ending.STOPPED if before.metadata.deletion_timestamp is not None else Ending.LOST


def _has(conditions: Iterable[object], wanted: tuple[str, str]) -> bool:
    return any((getattr(one, "type", ""), getattr(one, "status", "")) == wanted for one in conditions)


def _state_of(job: Watched, *, has_started: bool) -> State:
    if job.running:
        return State.RUNNING
    if job.requests and len(job.succeeded) == len(job.requests):
        return State.COMPLETED
    return State.FAILED if job.failed else State.RUNNING if has_started and job.succeeded else State.WAITING


def _stated(group: PodGroup) -> float:
    """How long the job says that it runs; NaN where it says nothing."""
    try:
        return read_seconds(group.metadata.annotations[RUN_SECONDS])
    except (KeyError, InputError):
        return math.nan
