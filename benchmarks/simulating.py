"""Simulating: `hekla simulate` on months of generated work, each in a process of its own.

    python benchmarks/simulating.py [NAME ...] [--share 0.1] [-o json]

A share runs that part of the jobs, for a quick look; limits are then scaled with it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from resource import RUSAGE_SELF, getrusage

from hekla.conf import BUILT_IN_DEFAULT, PRESETS, read_conf
from hekla.simulation.simulate import simulate
from hekla.simulation.workloads.generate import generate
from hekla.simulation.workloads.generator_form import Durations, PodKind, Settings
from hekla.simulation.workloads.nodes import nodes_of
from machine import calibrate, slowness

MOST_MEMORY = 1500.0

SIZES = ((1, 40), (2, 20), (4, 20), (8, 10), (16, 10))
"""Four pods in a job, in the mean."""
PODS = (
    PodKind((("cpu", "1"), ("memory", "4Gi")), 4),
    PodKind((("cpu", "2"), ("memory", "8Gi")), 4),
    PodKind((("cpu", "4"), ("memory", "8Gi")), 2),
)


@dataclass(frozen=True)
class Month:
    """So many jobs, keeping so much of the nodes busy."""

    name: str
    jobs: int
    nodes: int
    load: float
    limit: float
    preset: str = ""


MONTHS = (
    Month("many-jobs", 100_000, 1_000, load=0.8, limit=120.0),
    Month("many-nodes", 10_000, 10_000, load=0.8, limit=60.0),
    Month("crowded", 20_000, 1_000, load=0.98, limit=120.0),
)


@dataclass(frozen=True)
class Figures:
    """Wall seconds as they were and in seconds of the reference machine; megabytes at the peak."""

    name: str
    jobs: int
    pods: int
    nodes: int
    cycles: int
    days: float
    seconds: float
    scaled: float
    memory: float
    limit: float

    @property
    def is_good(self) -> bool:
        return self.scaled <= self.limit and self.memory <= MOST_MEMORY


def measure(month: Month, share: float) -> Figures:
    nodes = nodes_of(f"{month.nodes} x cpu=32,memory=128Gi")
    jobs = max(1, round(month.jobs * share))
    settings = Settings(
        jobs=jobs,
        load=month.load,
        daily=0.0,
        sizes=SIZES,
        pods=PODS,
        durations=Durations(typical=1800.0),
    )
    conf, _ = read_conf(PRESETS[month.preset].text if month.preset else BUILT_IN_DEFAULT)
    before = calibrate()
    run = simulate(generate(settings, seed=1, nodes=nodes), conf, nodes=nodes)
    slow = slowness(min(before, calibrate()))
    return Figures(
        month.name,
        jobs=len(run.jobs),
        pods=len(run.pod_runs),
        nodes=month.nodes,
        cycles=run.cycles,
        days=run.end / 86_400,
        seconds=run.wall_seconds,
        scaled=run.wall_seconds / slow,
        memory=getrusage(RUSAGE_SELF).ru_maxrss / 1024,
        limit=month.limit * share,
    )


def in_its_own_process(name: str, share: float) -> Figures:
    """Peak memory is that of a process: each month needs one."""
    command = [sys.executable, __file__, name, "--share", str(share), "--alone"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Figures(**json.loads(done.stdout))


def table(found: list[Figures]) -> str:
    head = "NAME          JOBS    PODS  NODES  CYCLES   DAYS   SECONDS   SCALED   LIMIT   MEMORY"
    rows = [
        f"{one.name:<11} {one.jobs:>6} {one.pods:>7} {one.nodes:>6} {one.cycles:>7} {one.days:>6.1f}"
        f" {one.seconds:>7.1f} s {one.scaled:>6.1f} s {one.limit:>5.0f} s {one.memory:>5.0f} MB"
        for one in found
    ]
    return "\n".join([head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; else all")
    parser.add_argument("--share", type=float, default=1.0, help="so much of the jobs")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    given = parser.parse_args()
    months = [month for month in MONTHS if month.name in (given.names or [month.name])]
    if given.alone:
        print(json.dumps(asdict(measure(months[0], given.share))))
        return
    found = []
    for month in months:
        print(f"{month.name}: {month.jobs} jobs, {month.nodes} nodes ...", file=sys.stderr, flush=True)
        found.append(in_its_own_process(month.name, given.share))
    print(json.dumps([asdict(one) for one in found]) if given.output == "json" else table(found))
    sys.exit(not all(one.is_good for one in found))


if __name__ == "__main__":
    main()
