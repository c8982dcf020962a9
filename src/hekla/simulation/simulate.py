"""Simulate: a workload on a cluster in virtual time, decided by the very same engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from hekla.clock import VirtualClock, stopwatch
from hekla.cluster.admission import admitted_queues, problem_of_jobs_queue
from hekla.collector import sparing_collector
from hekla.conf import Conf
from hekla.engine.explain.explanation import in_short
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, Shortcuts
from hekla.errors import InputError
from hekla.objects import Manifest, Namespace, Node, Pod, PodGroup, PriorityClass, Queue, seconds
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop
from hekla.scheduler.outcome import explanations
from hekla.simulation.causes import WaitObserver
from hekla.simulation.cluster import SimulatedCluster
from hekla.simulation.event_log import RunLog
from hekla.simulation.job_factory import JobFactory
from hekla.simulation.jobs import Remaining, SimJob, residents, stated
from hekla.simulation.options import START, Dice, SimulationOptions, Trouble
from hekla.simulation.run import Run, Sampler, State
from hekla.simulation.workloads import NodeDrains, NodeFails, NodesAdded, Submission, Workload

M = TypeVar("M", bound=Manifest)

WATCHFUL_ACTIONS = frozenset({"shuffle"})
"""Actions that move running pods although no job waits."""

PLACING_ACTIONS = frozenset({"enqueue", "allocate", "backfill"})
"""Actions that evict nothing. Beside one that does, a quiet cycle misses nominations, which moves starts."""

NAP = 30
"""Periods."""


@dataclass(frozen=True)
class Progress:
    """How far a simulation has come."""

    now: float
    """Simulated seconds."""
    submitted: int
    finished: int
    count: int | None
    """How many jobs there are in all, where that is known."""
    cycles: int


class Stopped(Exception):
    """The simulation was asked to end."""


class Simulation:
    """A workload, a cluster and a configuration, ready to run.

    `tells_causes` says that it is kept what bound each job while it waited.
    """

    def __init__(
        self,
        workload: Workload,
        conf: Conf,
        *,
        nodes: Sequence[Node] = (),
        registry: Registry = BUILTIN,
        seed: int = 0,
        options: SimulationOptions | None = None,
        remaining: Remaining = stated,
        conf_name: str = "default",
        shortcuts: Shortcuts = EVERY_SHORTCUT,
        tells_causes: bool = True,
    ) -> None:
        self._workload = workload
        self._seed = seed
        self._conf_name = conf_name
        self._options = options or SimulationOptions()
        self._clock = VirtualClock(START)
        self._log = RunLog()
        objects = workload.objects
        self._nodes = {node.metadata.name: node for node in nodes or _all_of(Node, objects)}
        if not self._nodes:
            raise InputError('no node to run on; name some, as in: --nodes "10 x cpu=32,memory=128Gi"')
        self._queues = self._admitted_queues(_all_of(Queue, objects))
        self._problem_by_queue: dict[str, str] = {}
        self._cycles = 0
        self._factory = JobFactory(self._log, _all_of(PriorityClass, objects), _all_of(Namespace, objects))
        self._sampler = Sampler(self._options.period)
        dice = Dice(workload.hazards, seed)
        self._waits = WaitObserver() if tells_causes else None
        self._cluster = SimulatedCluster(
            workload.jobs(),
            self._job_of,
            self._log,
            dice,
            self._options,
            start=START,
            is_watchful=bool(WATCHFUL_ACTIONS.intersection(conf.actions)),
            keeps_groups=workload.are_manifests,
            nap=_nap(conf, registry, self._options),
            waits=self._waits,
        )
        if nodes and any(isinstance(manifest, Node) for manifest in objects):
            self._log.notes["the nodes of the workload are left out: others are given"] = None
        self._set_up(objects, dice, remaining)
        self._loop = Loop(
            self._cluster,
            conf,
            self._clock,
            registry=registry,
            period=self._options.period,
            is_quiet=not workload.are_manifests or PLACING_ACTIONS.issuperset(conf.actions),
            shortcuts=shortcuts,
        )

    @property
    def cluster(self) -> SimulatedCluster:
        """The cluster as it is now; to look at, between two cycles."""
        return self._cluster

    @property
    def queues(self) -> list[Queue]:
        """In the order in which they come where all else is equal."""
        return sorted(
            self._queues.values(), key=lambda each: (seconds(each.metadata.creation_timestamp), each.key)
        )

    def _set_up(self, objects: Sequence[Manifest], dice: Dice, remaining: Remaining) -> None:
        # Queues have to pass admission; nodes and jobs are added elsewhere.
        others = [each for each in objects if not isinstance(each, Queue | Node | Pod | PodGroup)]
        if self._workload.are_manifests:
            self._queues = self._stamped_queues(_all_of(Queue, objects))
        for manifest in (*self._queues.values(), *others):
            self._cluster.add(manifest)
        self._check_faults()
        trouble = Trouble(self._cluster, dice, self._workload.hazards)
        trouble.add(self._nodes.values())
        trouble.plan_faults(self._workload.faults)
        there = self._placed_well(objects)
        for job in residents(there, self._log, remaining, self._workload.not_made):
            self._cluster.add_job(job)

    def _placed_well(self, objects: Sequence[Manifest]) -> list[Manifest]:
        """All but pods that sit on nodes which are not there."""
        known = {"", *self._nodes}
        kept = [each for each in objects if not isinstance(each, Pod) or each.spec.node_name in known]
        if lost := len(objects) - len(kept):
            self._log.notes[f"left out: {lost} x a pod on a node that is not there"] = None
        return kept

    def _admitted_queues(self, given: Sequence[Queue]) -> dict[str, Queue]:
        admitted = admitted_queues(given, {}, is_strict=True)
        self._log.notes.update({f"queue {queue.key}: {why}": None for queue, why in admitted.refusals})
        return {queue.metadata.name: queue for queue in admitted.queues}

    def _stamped_queues(self, given: Sequence[Queue]) -> dict[str, Queue]:
        """The queues in the order given; those that are always there come after them."""
        names = [queue.metadata.name for queue in given]
        in_order = sorted(self._queues, key=lambda name: names.index(name) if name in names else len(names))
        stamped = {name: self._cluster.stamped(self._queues[name]) for name in in_order}
        return {name: stamped[name] for name in self._queues}

    def _check_faults(self) -> None:
        """A node that a fault names must be there at some time."""
        added = [
            node for fault in self._workload.faults if isinstance(fault, NodesAdded) for node in fault.nodes
        ]
        known = {*self._nodes, *(node.metadata.name for node in added)}
        for fault in self._workload.faults:
            if isinstance(fault, NodeFails | NodeDrains) and fault.node not in known:
                some = ", ".join(sorted(known)[:5])
                raise InputError(f'faults: no node "{fault.node}"; known nodes: {some}, ...')

    def _job_of(self, submission: Submission, now: float, stamp: datetime) -> SimJob | None:
        """The job of a submission; one that an API server would refuse is only noted."""
        job = self._factory.job_of(submission, now, stamp)
        problem = self._why_refused(job, submission.queue)
        if not problem:
            return job
        self._log.jobs.state[job.row] = State.REFUSED
        self._log.notes[problem] = None
        return None

    def _why_refused(self, job: SimJob, queue: str) -> str:
        if self._cluster.is_there(job.key):
            return f"job {job.key}: refused: a job of this name is still there"
        if not job.pods:
            return f"job {job.key}: refused: it has no pods"
        return self._problem_of_queue(queue)

    def _problem_of_queue(self, name: str) -> str:
        if name not in self._problem_by_queue:
            problem = next(problem_of_jobs_queue(name, self._queues), None)
            self._problem_by_queue[name] = "" if problem is None else f"jobs refused: {problem}"
        return self._problem_by_queue[name]

    def run(
        self,
        on_progress: Callable[[Progress], None] | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
        *,
        keeps_interrupted: bool = True,
    ) -> Run:
        """Everything that becomes of the workload; stopped half-way, everything so far.

        So it is with Ctrl-C, unless half a run is of no use: then the KeyboardInterrupt goes on.
        """
        with self._loop:
            return self._ran(on_progress, is_stopped, keeps_interrupted)

    def _ran(
        self,
        on_progress: Callable[[Progress], None] | None,
        is_stopped: Callable[[], bool],
        keeps_interrupted: bool,
    ) -> Run:
        began = stopwatch()
        with sparing_collector() as tidy_up:

            def on_cycle(report: CycleReport) -> None:
                self._cycles += 1
                now = self._cluster.now
                self._sampler.look(report.session, now)
                if self._waits is not None:
                    self._waits.note_cycle(report.session, now)
                report.session.dissolve()
                tidy_up()
                if on_progress is not None:
                    on_progress(self._progress())
                if is_stopped():
                    raise Stopped

            try:
                self._loop.run(until=START + self._options.until, on_cycle=on_cycle)
            except (Stopped, KeyboardInterrupt) as end:
                if isinstance(end, KeyboardInterrupt) and not keeps_interrupted:
                    raise
                return self._closed(is_complete=False, wall_seconds=stopwatch() - began)
        is_complete = not self._cluster.pass_to_the_end()
        if is_complete:
            self._tell_who_waits()
        return self._closed(is_complete=is_complete, wall_seconds=stopwatch() - began)

    def _tell_who_waits(self) -> None:
        """Nothing can change any more: why do some jobs still wait?"""
        if not any(job.running < len(job.pods) for job in self._cluster.jobs):
            return
        self._loop.is_quiet = False
        told: dict[str, list[str]] = {}
        for explanation in explanations(self._loop.decide()):
            told.setdefault(in_short(explanation), []).append(explanation.job)
        self._log.notes.update(
            {
                f"{len(jobs)} x still waiting at the end: {why} (such as {jobs[0]})": None
                for why, jobs in told.items()
            }
        )

    def _progress(self) -> Progress:
        rows = self._log.jobs
        return Progress(
            now=self._cluster.now,
            submitted=len(rows),
            finished=self._log.finished,
            count=self._workload.count,
            cycles=self._cycles,
        )

    def _closed(self, *, is_complete: bool, wall_seconds: float) -> Run:
        self._cluster.cut()
        if late := self._cluster.never_submitted:
            told = f"{late[0].key} waits for the end of {late[0].after}"
            self._log.notes[f"{len(late)} x never submitted: {told}"] = None
        resources = self._cluster.resources
        return self._log.closed(
            title=self._workload.name,
            conf=self._conf_name,
            seed=self._seed,
            end=self._cluster.now,
            is_complete=is_complete,
            cycles=self._cycles,
            samples=self._sampler.samples(list(self._log.queues), resources),
            resources=resources,
            wall_seconds=wall_seconds,
            waits=None if self._waits is None else self._waits.causes(),
        )


def simulate(
    workload: Workload,
    conf: Conf,
    *,
    nodes: Sequence[Node] = (),
    registry: Registry = BUILTIN,
    seed: int = 0,
    options: SimulationOptions | None = None,
    conf_name: str = "default",
    on_progress: Callable[[Progress], None] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Run:
    """What becomes of the workload on these nodes; none: on those that come with it."""
    simulation = Simulation(
        workload, conf, nodes=nodes, registry=registry, seed=seed, options=options, conf_name=conf_name
    )
    return simulation.run(on_progress, is_stopped)


def _nap(conf: Conf, registry: Registry, options: SimulationOptions) -> float:
    """The longest time without a cycle: answers of some plugins change with time alone."""
    acts_on_time = registry.declaring(conf, lambda plugin: plugin.acts_on_time)
    return min(options.longest_nap, NAP * options.period if acts_on_time else math.inf)


def _all_of(kind: type[M], objects: Iterable[Manifest]) -> list[M]:
    return [manifest for manifest in objects if isinstance(manifest, kind)]
