"""Usage: prefer nodes that are really idle, and keep off those that are really busy.

What is measured comes with the snapshot. Tasks that were placed too recently to show there are
counted by an estimate, so that many tasks in a row do not all run to the same idle node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, PREDICATE, Point, Scope, answers
from hekla.engine.ledger.arrays import Floats, Mask, Rows
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.resources import CPU, MEMORY
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.plugins.load_estimates import Pair, read_estimator
from hekla.errors import InputError
from hekla.objects import seconds
from hekla.objects.quantity import read_seconds

MAX_NODE_SCORE = 100.0
LONGEST_MEMORY = 300.0
"""Figures older than so many seconds are no figures."""
USUAL_INTERVAL = 30.0
USUAL_THRESHOLD = 80
UNMEASURED = (Status.ALLOCATED, Status.BINDING, Status.BOUND)

CPU_BUSY = "node(s) had a cpu load above the threshold"
MEMORY_BUSY = "node(s) had a memory load above the threshold"


@dataclass(frozen=True)
class UsageArguments:
    weight: int = argument(5, key="usage.weight", minimum=0, help="how much the score counts")
    cpu: int = argument(1, key="cpu.weight", minimum=0, help="weight of cpu")
    memory: int = argument(1, key="memory.weight", minimum=0, help="weight of memory")
    thresholds: Mapping[str, object] = argument(
        {},
        key="thresholds",
        help="{cpu: 80, mem: 80}: nodes that are busier than so many percent take nothing new",
    )
    estimator: Mapping[str, object] = argument(
        {},
        key="estimator",
        help="how use is estimated: {request_ratio: 0.7, burst_ratio: 0, risk_threshold: 0.6, "
        "risk_factor: 1.2, be_cpu: 250m, be_mem: 200Mi}",
    )


class Usage(Plugin):
    """Figures that are too old are no opinion: such nodes are neither refused nor scored."""

    name = "usage"
    Arguments = UsageArguments

    def on_open(self) -> None:
        nodes, told = self.session.nodes, self.arguments
        self._read_load()
        self._capacity = by_node(
            (node.capacity.get(CPU, 0), node.capacity.get(MEMORY, 0)) for node in nodes.nodes
        )
        self._weights = (float(told.cpu), float(told.memory))
        self._estimator = read_estimator(told.estimator)
        self._expected: Floats = np.zeros_like(self._capacity)
        self._estimates: list[dict[str, Pair]] = [{} for _ in nodes.names]
        for row, tasks in enumerate(nodes.tasks_on):
            for task in filter(self._is_unmeasured, tasks.values()):
                self._expect(task, row)

    def _read_load(self) -> None:
        """As in Volcano, nobody's figures count as idle in an estimate, and as no opinion otherwise."""
        load, now = self.session.snapshot.load, self.session.now
        found = [load.get(name) for name in self.session.nodes.names]
        self._percent = by_node((one.cpu, one.memory) if one is not None else (0.0, 0.0) for one in found)
        is_known = [one is not None and now - one.at <= LONGEST_MEMORY for one in found]
        self._is_known: Mask = np.array(is_known, dtype=np.bool_)

    def silent_on(self) -> Collection[Point]:
        return () if any(self._weights) and self.arguments.weight else (NODE_ORDER,)

    @answers(PREDICATE, Scope.CLASS)
    def refuse_busy_nodes(self, task: Task) -> list[Refusal] | None:  # noqa: ARG002 - alike for all tasks
        limits = (threshold(self.arguments.thresholds, key) for key in ("cpu", "mem"))
        refusals = [
            Refusal(
                reason,
                self._is_known & (self._percent[:, place] > limit),
                Code.UNRESOLVABLE,
                plain=f"{(CPU, MEMORY)[place]} busier than {limit}%",
            )
            for place, (reason, limit) in enumerate(zip((CPU_BUSY, MEMORY_BUSY), limits, strict=True))
        ]
        return [refusal for refusal in refusals if refusal.nodes.any()] or None

    @answers(NODE_ORDER, Scope.ROW)
    def prefer_idle_nodes(self, task: Task, rows: Rows) -> Floats:  # noqa: ARG002 - alike for all tasks
        free = mean(1.0 - self._busy_parts(rows), self._weights)
        return np.where(self._is_known[rows], free * MAX_NODE_SCORE * self.arguments.weight, 0.0)

    # As in Volcano, undoing an eviction counts an estimate even of a task that is measured already.

    def on_allocate(self, task: Task) -> None:
        if task.node == NOWHERE:  # it runs on a node that is not known
            return
        self._estimates[task.node].pop(task.uid, None)
        self._sum_up(task.node)
        self._expect(task, task.node)

    def on_release(self, task: Task) -> None:
        if task.node != NOWHERE and self._estimates[task.node].pop(task.uid, None) is not None:
            self._sum_up(task.node)

    def _expect(self, task: Task, row: int) -> None:
        busy = mean(self._busy_parts(slice(row, row + 1)), self._weights)
        self._estimates[row][task.uid] = self._estimator.estimate(task, float(busy[0]))
        self._sum_up(row)

    def _sum_up(self, row: int) -> None:
        """Anew, in order of their names, so that taking an estimate back leaves no rounding behind."""
        self._expected[row] = 0.0
        for _, estimate in sorted(self._estimates[row].items()):
            self._expected[row] += estimate

    def _is_unmeasured(self, task: Task) -> bool:
        if task.status in UNMEASURED:
            return True
        started = task.pod.status.start_time
        return task.status is Status.RUNNING and (
            started is None or self.session.now - seconds(started) < self._interval()
        )

    def _interval(self) -> float:
        """How far apart measurements lie."""
        try:
            given = read_seconds(self.session.conf.metrics.get("interval", ""))
        except InputError:
            return USUAL_INTERVAL
        return given if given > 0 else USUAL_INTERVAL

    def _busy_parts(self, rows: Rows) -> Floats:
        return busy_parts(self._percent[rows], self._expected[rows], self._capacity[rows])


def threshold(given: Mapping[str, object], key: str) -> int:
    """As in Volcano, only a whole number from 0 to 100 counts; anything else is as if not given."""
    value = given.get(key)
    return value if type(value) is int and 0 <= value <= 100 else USUAL_THRESHOLD


def busy_parts(percent: Floats, expected: Floats, capacity: Floats) -> Floats:
    """Which part of cpu and memory is in use, measured and expected, from 0 to 1.

    percent, expected, capacity: (N, 2)   ->   (N, 2)
    """
    share = np.divide(expected, capacity, out=np.zeros_like(expected), where=capacity > 0)
    return np.clip(percent / 100.0 + share, 0.0, 1.0)


def mean(parts: Floats, weights: Pair) -> Floats:
    """Of cpu and memory, by weight; 0 where nothing has a weight.

    parts: (N, 2)   ->   (N,)
    """
    cpu, memory = weights
    if cpu + memory == 0:
        return np.zeros(len(parts))
    weighted: Floats = (parts[:, 0] * cpu + parts[:, 1] * memory) / (cpu + memory)
    return weighted


def by_node(pairs: Iterable[Pair]) -> Floats:
    """One row per node; (N, 2)"""
    return np.array(list(pairs), dtype=np.float64).reshape(-1, 2)
