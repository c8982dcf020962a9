"""Measure: one workload, several times; the best run counts.

Everything else on a machine only ever adds time. The calibration is timed between the runs, for
about as long as they take, so that both have the same chance of meeting a quiet moment.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import msgspec
from msgspec import structs

import hekla
from clusters import waiting_gangs
from figures import Figures, Run
from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import Conf
from hekla.engine.framework.decisions import Bind, Evict
from hekla.objects import Manifest, Pod
from hekla.scheduler.cycle import CycleReport, run_cycle
from machine import REFERENCE, calibrate, slowness
from workloads import Workload

MOST_RUNS = 15
SECONDS_WELL_SPENT = 2.5
MOST_CALIBRATIONS = 8
WARM_UP_CYCLES = 3
FOREVER = 1e12
NOON = 1_767_268_800.0
"""When clusters are looked at: noon of the day on which everything in them was created."""

# By its public name, so that commits from before and after it has moved can both be measured.
take_snapshot = cast("Callable[[list[Manifest]], Any]", hekla.take_snapshot)

Attempt = Callable[[], Run]
"""One more run of a workload; what it needs is there already."""


def measure(workload: Workload, conf: Conf, repeat: int | None = None) -> Figures:
    """The best run of so many; else of as many as the workload says, and more where they are short."""
    gc.unfreeze()
    attempt = MEASURES[workload.measure](workload, conf)
    runs: list[Run] = []
    calibrations: list[float] = []
    while len(runs) < (repeat or workload.repeat) or (repeat is None and _are_short(runs)):
        runs.append(attempt())
        calibrations.append(calibrated_as_long_as(runs[-1]))
    calibration = min(calibrations)
    return Figures(
        name=workload.name,
        nodes=workload.nodes,
        best=min(runs, key=lambda run: run.seconds),
        calibration=calibration,
        slowness=slowness(calibration),
        all_seconds=[run.seconds for run in runs],
    )


def calibrated_as_long_as(run: Run) -> float:
    """The mean of so many calibrations that they take about as long as the run, but never very many."""
    count = min(MOST_CALIBRATIONS, max(1, round(run.seconds / REFERENCE)))
    return fmean(calibrate() for _ in range(count))


def _are_short(runs: list[Run]) -> bool:
    """Short runs are easily disturbed, and cost little to repeat."""
    return len(runs) < MOST_RUNS and sum(run.seconds for run in runs) < SECONDS_WELL_SPENT


def actions_alone(workload: Workload, conf: Conf) -> Attempt:
    """What the actions take on a snapshot; taking it is not measured.

    Where memory is limited, it is that of a process which does nothing else.
    """
    objects = workload.objects()
    gigabytes = in_its_own_process(workload).gigabytes if workload.gigabytes else None

    def attempt() -> Run:
        snapshot = take_snapshot(objects)
        gc.collect()
        report = run_cycle(snapshot, conf, now=NOON)
        run = run_of(report, report.times, sum(report.times[name] for name in set(conf.actions)))
        return structs.replace(run, gigabytes=gigabytes)

    return attempt


def idle_cycle(workload: Workload, conf: Conf) -> Attempt:
    """A whole cycle on a live cluster where nothing has changed since the last one."""
    live = LiveCluster(workload, conf)
    return live.cycle


def cycle_with_arrivals(workload: Workload, conf: Conf) -> Attempt:
    """A whole cycle on such a cluster when gangs have just arrived; in the end they run too."""
    live = LiveCluster(workload, conf)

    def attempt() -> Run:
        live.submit_newcomers()
        run = live.cycle()
        live.cycle()
        return run

    return attempt


def cycle_after_an_end(workload: Workload, conf: Conf) -> Attempt:
    """A whole cycle on such a cluster when a single pod has just ended."""
    live = LiveCluster(workload, conf)

    def attempt() -> Run:
        live.end_a_pod()
        run = live.cycle()
        live.cycle()
        return run

    return attempt


class LiveCluster:
    """An embedded cluster that has been running for a while, and runs on."""

    def __init__(self, workload: Workload, conf: Conf) -> None:
        self._conf = conf
        self._newcomers = workload.newcomers
        self._clock = VirtualClock(NOON)
        self._cluster = EmbeddedCluster(workload.objects(), self._clock, options=Options(run_seconds=FOREVER))
        self._arrived = 0
        self._memory: dict[str, float] = {}
        for _ in range(WARM_UP_CYCLES):
            self.cycle()
        # Going through all this before every cycle, the collector would empty the processor's caches.
        gc.freeze()
        by_node = {pod.spec.node_name: pod for pod in self._cluster.all_of(Pod) if pod.spec.node_name}
        self._running = list(by_node.values())

    def submit_newcomers(self) -> None:
        jobs, tasks = self._newcomers.jobs, self._newcomers.tasks
        self._cluster.submit(waiting_gangs(jobs, tasks, first=self._arrived))
        self._arrived += jobs

    def end_a_pod(self) -> None:
        """One of those that have run for longest, each time on another node."""
        pod = self._running.pop()
        self._cluster.replace(structs.replace(pod, status=structs.replace(pod.status, phase="Succeeded")))

    def cycle(self) -> Run:
        """From the snapshot to the close of the session; carrying out what it decides is not measured."""
        self._clock.sleep(1.0)
        self._cluster.advance(self._clock.now())
        gc.collect()
        run, report = whole_cycle(self._cluster.snapshot, self._conf, self._clock.now(), self._memory)
        self._cluster.apply(report.decisions)
        return run


def whole_cycle(
    snapshot_of: Callable[[], Any], conf: Conf, now: float = NOON, memory: dict[str, float] | None = None
) -> tuple[Run, CycleReport]:
    """A cycle with its snapshot."""
    start = time.perf_counter()
    snapshot = snapshot_of()
    taken = time.perf_counter()
    report = run_cycle(snapshot, conf, now=now, memory=memory)
    end = time.perf_counter()
    return run_of(report, {"snapshot": taken - start, **report.times}, end - start), report


def run_of(report: CycleReport, times: dict[str, float], seconds: float) -> Run:
    decided = sum(isinstance(decision, Bind | Evict) for decision in report.decisions)
    return Run(seconds, times, pods=len(report.session.tasks), decided=decided)


def cold_start(workload: Workload, conf: Conf) -> Attempt:  # noqa: ARG001 - the other process reads it
    """The first cycle of a new process: what it takes, and how much memory the process ever had."""
    return lambda: in_its_own_process(workload)


def in_its_own_process(workload: Workload) -> Run:
    command = [sys.executable, str(Path(__file__).parent / "cold_start.py")]
    told = subprocess.run(command, input=msgspec.json.encode(workload), capture_output=True, check=True)
    return msgspec.json.decode(told.stdout, type=Run)


MEASURES: dict[str, Callable[[Workload, Conf], Attempt]] = {
    "actions": actions_alone,
    "idle": idle_cycle,
    "arrivals": cycle_with_arrivals,
    "one end": cycle_after_an_end,
    "cold start": cold_start,
}
