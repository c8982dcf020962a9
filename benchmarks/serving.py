"""Serving: `hekla serve` against a real API server, from process start to the last bind on a waiting backlog.

    python benchmarks/serving.py [--quick] [-o json]

etcd, the API server and the scheduler share the machine; pods wait before the scheduler starts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from harness import ControlPlane, apply_definitions  # noqa: E402 - found by the line above
from harness.manifests import node, pod, pod_group  # noqa: E402
from harness.scheduler import USER, Scheduler, grant  # noqa: E402
from hekla.clock import WallClock  # noqa: E402

DEFINITIONS = ROOT / "src" / "hekla" / "server" / "deploy" / "manifests" / "crds"
LONGEST = 300.0
CLOCK = WallClock()


@dataclass(frozen=True)
class Load:
    """Nodes, and gangs that wait for them."""

    nodes: int
    gangs: int
    size: int
    limit: float | None = None
    """Seconds to the last bind that hekla holds itself to."""
    volcano: float | None = None
    is_quick: bool = False

    @property
    def pods(self) -> int:
        return self.gangs * self.size


LOADS = (
    Load(500, 20, 100, limit=4.5, volcano=9.2, is_quick=True),
    Load(2000, 50, 100, limit=9.0, volcano=41.8),
    Load(5000, 200, 100),
)
MOST_MEMORY = 600.0

CROWD = Load(5000, 1250, 8)
"""Gangs of which no pod fits any node: nothing can be decided."""
IDLE_LIMIT = 0.05
SETTLING_SECONDS = 45.0
WATCHED_SECONDS = 30.0


@dataclass(frozen=True)
class Figures:
    """Seconds from process start; megabytes at the peak."""

    nodes: int
    pods: int
    first_list: float
    first_bind: float
    last_bind: float
    memory: float
    limit: float | None
    volcano: float | None

    @property
    def is_good(self) -> bool:
        return (self.limit is None or self.last_bind <= self.limit) and self.memory <= MOST_MEMORY


def measure(load: Load) -> Figures:
    with ControlPlane(unlimited=True) as plane:
        apply_definitions(plane, DEFINITIONS)
        grant(plane, USER)
        fill(plane, load)
        scheduler = Scheduler(plane, plane.kubeconfig(USER), "--log-format=json")
        began = CLOCK.now()
        scheduler.start()
        try:
            return watched(plane, scheduler, load, began)
        finally:
            scheduler.server.kill()


def idle_share(load: Load) -> float:
    """The part of a core that the scheduler needs while nothing happens."""
    with ControlPlane(unlimited=True) as plane:
        apply_definitions(plane, DEFINITIONS)
        grant(plane, USER)
        fill(plane, load, cpu=64)
        scheduler = Scheduler(plane, plane.kubeconfig(USER), "--log-format=json")
        scheduler.start()
        try:
            time.sleep(SETTLING_SECONDS)
            before = cpu_seconds(scheduler.server.process_id)
            time.sleep(WATCHED_SECONDS)
            return (cpu_seconds(scheduler.server.process_id) - before) / WATCHED_SECONDS
        finally:
            scheduler.server.kill()


def cpu_seconds(process: int) -> float:
    """Of the process so far, its own and the kernel's."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fill(plane: ControlPlane, load: Load, *, cpu: int = 1) -> None:
    plane.admin.create(*(node(f"n{at:05}", cpu=32, memory="128Gi") for at in range(load.nodes)))
    plane.admin.create(*(pod_group(f"g{gang}", load.size) for gang in range(load.gangs)))
    plane.admin.create(
        *(
            pod(f"g{gang}-{at}", group=f"g{gang}", cpu=cpu)
            for gang in range(load.gangs)
            for at in range(load.size)
        )
    )


def watched(plane: ControlPlane, scheduler: Scheduler, load: Load, began: float) -> Figures:
    """Ask the scheduler how far it is, which costs less than asking the API server, and check in the end."""
    first = last = 0.0
    while not last:
        time.sleep(0.1)
        done, now = confirmed(scheduler), CLOCK.now() - began
        first = first or (now if done else 0.0)
        last = now if done >= load.pods else 0.0
        if now > LONGEST:
            raise SystemExit(f"only {done} of {load.pods} pods bound after {now:.0f} s")
    bound = len(plane.admin.list("Pod", fieldSelector="spec.nodeName!="))
    assert bound == load.pods, f"{bound} of {load.pods} pods are bound"
    return Figures(
        load.nodes,
        load.pods,
        first_list=said_at(scheduler, "following ") - began,
        first_bind=first,
        last_bind=last,
        memory=peak_memory(scheduler.server.process_id),
        limit=load.limit,
        volcano=load.volcano,
    )


def confirmed(scheduler: Scheduler) -> int:
    try:
        _, text = scheduler.get("/metrics")
    except OSError:
        return 0
    lines = (line for line in text.splitlines() if line.startswith('hekla_binds_total{outcome="confirmed"}'))
    return int(float(next(lines, "x 0").split()[-1]))


def said_at(scheduler: Scheduler, text: str) -> float:
    """When its log first said something that begins so."""
    lines = (json.loads(line) for line in scheduler.text.splitlines())
    said = next(line for line in lines if line["message"].startswith(text))
    return datetime.fromisoformat(said["time"]).timestamp()


def peak_memory(process: int) -> float:
    """Megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the smallest load")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    given = parser.parse_args()
    loads = [load for load in LOADS if load.is_quick or not given.quick]
    found = []
    for load in loads:
        print(f"{load.nodes} nodes, {load.pods} pods ...", file=sys.stderr, flush=True)
        found.append(measure(load))
    print(json.dumps([asdict(one) for one in found]) if given.output == "json" else table(found))
    share = 0.0 if given.quick else idle_share(CROWD)
    if not given.quick:
        told = f"idle on {CROWD.nodes} nodes with {CROWD.pods} pods that wait: {share:.1%} of a core"
        print(f"{told}, limit {IDLE_LIMIT:.0%}", file=sys.stderr)
    sys.exit(not all(one.is_good for one in found) or share > IDLE_LIMIT)


def table(found: list[Figures]) -> str:
    head = " NODES   PODS  FIRST LIST  FIRST BIND  LAST BIND  LIMIT  VOLCANO   MEMORY"
    rows = [
        f"{one.nodes:>6} {one.pods:>6} {one.first_list:>9.2f} s {one.first_bind:>9.2f} s"
        f" {one.last_bind:>8.2f} s {one.limit or '-':>6} {one.volcano or '-':>8} {one.memory:>5.0f} MB"
        for one in found
    ]
    return "\n".join([head, *rows])


if __name__ == "__main__":
    main()
