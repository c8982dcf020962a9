"""Simulating: `hekla simulate` on made-up work, each in a process of its own.

    python benchmarks/simulating.py [NAME ...] [--share 0.1] [-o json]

A share runs that part of the jobs, for a quick look; limits of seconds are then scaled with it. Seconds
are CPU seconds of the whole process, from its start to the end of the simulation.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import event_loop
from cold_start import peak_gigabytes
from hekla.conf import BUILT_IN_DEFAULT, read_conf
from hekla.simulation.run import Run
from hekla.simulation.simulate import simulate
from hekla.simulation.workloads import Workload, nodes_of
from loads import backlog, months, trace, with_one_that_never_fits
from machine import calibrate, slowness
from report import TOO_BIG, TOO_SLOW, aligned, verdict
from workloads import Limits, listed

GANGS_ALONE = "gangs alone"
MEGABYTES = Limits(1500, 1500)
MOST_RUNS = 3
SECONDS_WELL_SPENT = 20.0


@dataclass(frozen=True, kw_only=True)
class Load:
    """So many jobs on these nodes, and what they may cost."""

    name: str
    jobs: int
    nodes: str
    work: Callable[[int], Workload]
    seconds: Limits | None = None
    megabytes: Limits = MEGABYTES
    conf: str = ""
    """One of workloads.yaml; the built-in one where there is none."""
    beside: str = ""
    """Another load, of which this one may take so many `times` the seconds."""
    times: Limits | None = None
    processors: int = 0
    """Of all nodes, which have one each: a plain event loop must start every job at the same second."""


def crowded(jobs: int) -> Workload:
    return trace(jobs, 100, 1.1, largest=25)


def uncrowded(jobs: int) -> Workload:
    return trace(jobs, 100, 0.8, largest=25)


def of_trace(name: str, work: Callable[[int], Workload] = crowded, jobs: int = 5_000) -> Load:
    return Load(name=name, jobs=jobs, nodes="100 x cpu=1,memory=4Gi", work=work)


def of_backlog(jobs: int) -> Load:
    work, nodes = partial(backlog, pods=2), "10 x cpu=8,memory=64Gi"
    return Load(name=f"backlog {jobs}", jobs=jobs, nodes=nodes, work=work, conf=GANGS_ALONE)


def of_months(name: str, jobs: int, nodes: int, load: float, seconds: Limits) -> Load:
    cluster = f"{nodes} x cpu=32,memory=128Gi"
    work = partial(months, nodes=cluster, load=load)
    return Load(name=name, jobs=jobs, nodes=cluster, work=work, seconds=seconds)


LOADS = (
    replace(of_trace("trace"), seconds=Limits(3, 2)),
    replace(of_trace("trace, gangs alone"), seconds=Limits(3, 2), conf=GANGS_ALONE, processors=100),
    replace(
        of_trace("trace of 50000", jobs=50_000),
        megabytes=Limits(250, 120),
        beside="trace",
        times=Limits(11, 10),
    ),
    Load(
        name="trace with memory",
        jobs=1_500,
        nodes="100 x cpu=32,memory=512Gi",
        work=partial(trace, processors=3_200, load=3.0, largest=64, has_memory=True),
        seconds=Limits(2.5, 1.5),
        conf=GANGS_ALONE,
    ),
    of_trace("uncrowded", uncrowded),
    replace(
        of_trace("one never fits", lambda jobs: with_one_that_never_fits(uncrowded(jobs), 100)),
        beside="uncrowded",
        times=Limits(1.1, 1.02),
    ),
    replace(of_backlog(400), seconds=Limits(1, 0.5)),
    of_backlog(2_000),
    replace(of_backlog(4_000), seconds=Limits(8, 4), beside="backlog 2000", times=Limits(2.4, 2)),
    of_months("many nodes", 10_000, 10_000, load=0.8, seconds=Limits(60, 30)),
    of_months("nearly full", 20_000, 1_000, load=0.98, seconds=Limits(120, 60)),
    of_months("many jobs", 100_000, 1_000, load=0.8, seconds=Limits(60, 45)),
    of_months("overload", 100_000, 1_000, load=1.2, seconds=Limits(120, 60)),
)


@dataclass(frozen=True)
class Figures:
    """What one load came to; the seconds of the process, and megabytes at its peak."""

    name: str
    jobs: int
    pods: int
    cycles: int
    days: float
    seconds: float
    megabytes: float
    event_loop: float | None
    """Seconds in which a plain event loop found the same starts; none where it was not asked."""
    slowness: float = 1.0

    @property
    def scaled(self) -> float:
        """Seconds of the reference machine."""
        return self.seconds / self.slowness


def measure(load: Load, share: float) -> Figures:
    """To be called in a process that does nothing else."""
    work, nodes = load.work(max(1, round(load.jobs * share))), nodes_of(load.nodes)
    conf, _ = read_conf(listed().confs[load.conf] if load.conf else BUILT_IN_DEFAULT)
    run = simulate(work, conf, nodes=nodes)
    return Figures(
        load.name,
        jobs=len(run.jobs),
        pods=len(run.pod_runs),
        cycles=run.cycles,
        days=run.end / 86_400,
        seconds=time.process_time(),
        megabytes=peak_gigabytes() * 1000,
        event_loop=compared_with_an_event_loop(work, run, load.processors) if load.processors else None,
    )


def compared_with_an_event_loop(work: Workload, run: Run, processors: int) -> float:
    """How many seconds it takes; all jobs must start when they start there."""
    jobs, before = list(work.jobs()), time.process_time()
    starts = event_loop.starts(jobs, processors)
    seconds = time.process_time() - before
    found = dict(zip(run.jobs.names, run.jobs.started.tolist(), strict=True))
    assert found == starts, "jobs start at other seconds than in a plain event loop"
    return seconds


def best_of_some(load: Load, share: float) -> Figures:
    """Everything else on a machine only ever adds time: what is short is repeated."""
    runs = [in_its_own_process(load, share)]
    while len(runs) < MOST_RUNS and sum(run.seconds for run in runs) < SECONDS_WELL_SPENT:
        runs.append(in_its_own_process(load, share))
    return min(runs, key=lambda run: run.scaled)


def in_its_own_process(load: Load, share: float) -> Figures:
    """Peak memory and the seconds from the start are those of a process: each load needs one."""
    command = [sys.executable, __file__, load.name, "--share", str(share), "--alone"]
    before = calibrate()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return replace(Figures(**json.loads(done.stdout)), slowness=slowness(min(before, calibrate())))


HEADERS = ("load", "jobs", "pods", "cycles", "days", "seconds", "scaled", "must", "aim", "verdict")


def table(found: Sequence[Figures], share: float) -> str:
    by_name = {one.name: one for one in found}
    return aligned(
        [HEADERS, *(row for load in LOADS if load.name in by_name for row in rows_of(load, by_name, share))]
    )


def rows_of(load: Load, found: Mapping[str, Figures], share: float) -> Iterator[tuple[str, ...]]:
    """A line about time, and one about everything else that is limited or compared."""
    one = found[load.name]
    counts = (f"{one.jobs:,}", f"{one.pods:,}", f"{one.cycles:,}", f"{one.days:.1f}", f"{one.seconds:.2f}")
    seconds = load.seconds and Limits(load.seconds.must * share, load.seconds.aim * share)
    yield (load.name, *counts, *judged(one.scaled, seconds, TOO_SLOW))
    if load.times is not None:
        # Both were measured in the same hour: calibrations would only add their own noise.
        times = one.seconds / found[load.beside].seconds
        yield (f"  over {load.beside}", *NO_COUNTS, *judged(times, load.times, TOO_SLOW))
    yield ("  its memory, MB", *NO_COUNTS, *judged(one.megabytes, load.megabytes, TOO_BIG))
    if one.event_loop is not None:
        yield ("  a plain event loop", *NO_COUNTS, *judged(one.event_loop / one.slowness, None, ""))


NO_COUNTS = ("",) * 5


def judged(value: float, limits: Limits | None, broken: str) -> tuple[str, ...]:
    """The value, its limits and the verdict; nothing but the value where it is not limited."""
    told = f"{value:.0f}" if value >= 100 else f"{value:.2f}"
    if limits is None:
        return (told, "", "", "")
    return (told, f"{limits.must:g}", f"{limits.aim:g}", verdict(value, limits, broken))


def chosen(names: Sequence[str]) -> list[Load]:
    """The loads of these names, and those beside which they are measured; without names all."""
    wanted = {*names, *(load.beside for load in LOADS if load.name in names)}
    return [load for load in LOADS if not names or load.name in wanted]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; else all")
    parser.add_argument("--share", type=float, default=1.0, help="so much of the jobs")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    given = parser.parse_args()
    if given.alone:
        (load,) = (load for load in LOADS if load.name in given.names)
        print(json.dumps(asdict(measure(load, given.share))))
        return 0
    found = []
    for load in chosen(given.names):
        print(f"{load.name}: {load.jobs} jobs on {load.nodes} ...", file=sys.stderr, flush=True)
        found.append(best_of_some(load, given.share))
    told = table(found, given.share)
    print(json.dumps([asdict(one) for one in found]) if given.output == "json" else told)
    return int(TOO_SLOW in told or TOO_BIG in told)


if __name__ == "__main__":
    sys.exit(main())
