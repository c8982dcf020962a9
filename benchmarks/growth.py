"""How the time of a cycle grows: with nodes, pods to place, pods that run, and gangs that wait.

python benchmarks/growth.py [CURVE ...]    measures, fits a line on log-log axes, draws docs/performance/*.svg
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from figures import Figures
from measure import measure
from plot import Chart, Line, svg
from workloads import Workload, listed

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "performance"
GANG = 100
WAITING_GANG = 8
NODES = 5_000
FULL_NODES = 1_000
REPEAT = 3
"""Runs of each point at least; short ones are repeated more often."""

BEND = 0.25
"""Points whose slope changes by more than this lie on no straight line, and the words say so."""


class Point(msgspec.Struct, frozen=True):
    """So much of what grows, and the seconds it took, scaled to the reference machine."""

    size: int
    seconds: float


class Curve(msgspec.Struct, frozen=True):
    """What was measured over one thing that grows."""

    name: str
    title: str
    grows: str
    label: str
    points: list[Point]

    @property
    def line(self) -> Line:
        """The straight line that lies closest to the points on log-log axes."""
        sizes = np.log([point.size for point in self.points])
        slope, offset = np.polyfit(sizes, np.log([point.seconds for point in self.points]), 1)
        return Line(float(slope), float(np.exp(offset)))

    @property
    def last_slope(self) -> float:
        """Between the two largest sizes: more than the whole line's where a fixed cost hides the growth."""
        before, last = self.points[-2:]
        return float(np.log(last.seconds / before.seconds) / np.log(last.size / before.size))

    @property
    def words(self) -> str:
        slope, last = self.line.slope, self.last_slope
        bend = f" ({last:.2f} at the large end)" if abs(last - slope) > BEND else ""
        return f"slope {slope:.2f}{bend}, so ten times the {self.grows} take {10**slope:.1f} times as long"

    def picture(self) -> str:
        points = [(float(point.size), point.seconds) for point in self.points]
        return svg(Chart(self.title, self.words, self.label, "seconds", points, self.line))


class Plan(msgspec.Struct, frozen=True):
    """A curve that is to be measured, and the workload that makes each of its points."""

    curve: Curve
    workloads: dict[int, Workload]


def plans() -> list[Plan]:
    return [
        Plan(
            Curve("nodes", "The actions of a cycle that places 1,000 pods", "nodes", "nodes", []),
            {nodes: gangs(nodes, 1_000) for nodes in (500, 1_000, 2_000, 5_000, 10_000, 20_000)},
        ),
        Plan(
            Curve("pods", "The actions of a cycle on 5,000 nodes", "pods", "pods to place", []),
            {pods: gangs(NODES, pods) for pods in (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)},
        ),
        Plan(
            Curve("idle", "A whole cycle with nothing to do, on 5,000 nodes", "pods", "running pods", []),
            {pods: idle(NODES, pods) for pods in (1_000, 3_000, 10_000, 30_000, 100_000)},
        ),
        Plan(
            Curve(
                "backlog",
                "A whole cycle in which nothing has changed, on 1,000 full nodes",
                "gangs",
                "gangs that wait",
                [],
            ),
            {gangs: waiting(FULL_NODES, gangs) for gangs in (500, 1_000, 2_000, 4_000, 8_000, 16_000)},
        ),
    ]


def gangs(nodes: int, pods: int) -> Workload:
    return workload("gang", nodes, pods, "actions")


def idle(nodes: int, pods: int) -> Workload:
    return workload("running", nodes, pods, "idle")


def waiting(nodes: int, jobs: int) -> Workload:
    one = workload("waiting", nodes, jobs * WAITING_GANG, "idle", gang=WAITING_GANG)
    return msgspec.structs.replace(one, conf="all admitted")


def workload(shape: str, nodes: int, pods: int, kind: str, gang: int = GANG) -> Workload:
    fields = {"name": f"{kind}: {nodes:,} nodes, {pods:,} pods", "shape": shape, "measure": kind}
    size = {"nodes": nodes, "jobs": pods // gang, "tasks": gang}
    return msgspec.convert({**fields, **size, "repeat": REPEAT, "must": 0.0, "aim": 0.0}, Workload)


def measured(plan: Plan, repeat: int | None = None) -> Curve:
    points = [Point(size, told(one, repeat).scaled) for size, one in plan.workloads.items()]
    return msgspec.structs.replace(plan.curve, points=points)


def told(one: Workload, repeat: int | None) -> Figures:
    print(f"{one.name} ...", file=sys.stderr, end=" ", flush=True)
    figures = measure(one, listed().conf_of(one), repeat)
    print(f"{figures.scaled:.3f} s", file=sys.stderr)
    return figures


def keep(curves: Sequence[Curve], folder: Path) -> None:
    """Pictures and points; curves that were not measured this time stay as they were."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "growth.json"
    known = {curve.name: curve for curve in (kept(folder) if file.is_file() else [])}
    known.update({curve.name: curve for curve in curves})
    file.write_bytes(msgspec.json.format(msgspec.json.encode(list(known.values())), indent=2) + b"\n")
    for curve in curves:
        (folder / f"growth-{curve.name}.svg").write_text(curve.picture(), "utf-8")


def kept(folder: Path = FOLDER) -> list[Curve]:
    return msgspec.json.decode((folder / "growth.json").read_bytes(), type=list[Curve])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "curves", nargs="*", metavar="CURVE", help="nodes, pods, idle or backlog; all of them"
    )
    chosen = parser.parse_args().curves
    curves = [measured(plan) for plan in plans() if not chosen or plan.curve.name in chosen]
    keep(curves, FOLDER)
    for curve in curves:
        print(f"{curve.title}: {curve.words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
