"""Usage: prefer nodes that are really idle, and keep off those that are really busy.

What is measured comes with the snapshot. Tasks that were placed too recently to show there are
counted by an estimate, so that many tasks in a row do not all run to the same idle node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, PREDICATE, AnyPoint, Scope, answers
from hekla.engine.ledger.arrays import Floats, Mask, Rows
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.requests import request_of
from hekla.engine.model.resources import CPU, MEMORY, Resources, read_resources
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.model.wait_reason import Verdict
from hekla.errors import InputError
from hekla.objects import Pod, seconds
from hekla.objects.pod import Container, PodStatus, ResourceRequirements
from hekla.objects.quantity import milli, read_seconds, whole

MAX_NODE_SCORE = 100.0
LONGEST_MEMORY = 300.0
"""Figures older than so many seconds are no figures."""
USUAL_INTERVAL = 30.0
USUAL_THRESHOLD = 80
UNMEASURED = (Status.ALLOCATED, Status.BINDING, Status.BOUND)

CPU_BUSY = "node(s) had a cpu load above the threshold"
MEMORY_BUSY = "node(s) had a memory load above the threshold"
MEBIBYTE = 2**20
Pair = tuple[float, float]
"""Of cpu (millicores) and of memory (bytes)."""


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
    reads_load = True
    acts_on_time = True
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
        """As in Volcano, missing figures count as idle in an estimate, and as no opinion otherwise."""
        load, now = self.session.snapshot.load, self.session.now
        found = [load.get(name) for name in self.session.nodes.names]
        self._percent = by_node((one.cpu, one.memory) if one is not None else (0.0, 0.0) for one in found)
        is_known = [one is not None and now - one.at <= LONGEST_MEMORY for one in found]
        self._is_known: Mask = np.array(is_known, dtype=np.bool_)

    def silent_on(self) -> Collection[AnyPoint]:
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
                verdict=Verdict.NOT_YET,
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


@dataclass(frozen=True)
class Estimator:
    """How requests and limits turn into probable use."""

    request_ratio: float = 0.7
    burst_ratio: float = 0.0
    risk_threshold: float = 0.6
    risk_factor: float = 1.2
    best_effort: Pair = (250.0, 200.0 * MEBIBYTE)

    def estimate(self, task: Task, busyness: float) -> Pair:
        """Of a task on a node that is so busy, from 0 to 1; on a strained node more is expected."""
        factor = self.risk_factor if busyness >= self.risk_threshold else 1.0
        if task.is_best_effort:
            return self.best_effort[0] * factor, self.best_effort[1] * factor
        limits = limits_of(task.pod)
        return (
            self._probable(task.request.get(CPU, 0), limits.get(CPU, 0), factor),
            self._probable(task.request.get(MEMORY, 0), limits.get(MEMORY, 0), factor),
        )

    def _probable(self, request: int, limit: int, factor: float) -> float:
        limit = max(limit, request)
        use = (request * self.request_ratio + (limit - request) * self.burst_ratio) * factor
        return min(max(use, 0.0), float(limit))


def read_estimator(raw: Mapping[str, object]) -> Estimator:
    """Every setting by itself: one that makes no sense is replaced by its default, as in Volcano."""
    usual = Estimator()
    return Estimator(
        request_ratio=_number(raw.get("request_ratio"), usual.request_ratio, 0.0, 1.0),
        burst_ratio=_number(raw.get("burst_ratio"), usual.burst_ratio, 0.0, 1.0),
        risk_threshold=_number(raw.get("risk_threshold"), usual.risk_threshold, 0.0, 1.0),
        risk_factor=_number(raw.get("risk_factor"), usual.risk_factor, 1.0, 1e6),
        best_effort=(
            _amount(raw.get("be_cpu"), usual.best_effort[0], CPU),
            _amount(raw.get("be_mem"), usual.best_effort[1], MEMORY),
        ),
    )


def _number(value: object, default: float, lowest: float, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return float(value) if lowest <= value <= highest else default


def _amount(value: object, default: float, resource: str) -> float:
    """A bare number counts millicores or MiB; a text is a quantity."""
    if isinstance(value, int) and not isinstance(value, bool):
        amount = value if resource == CPU else value * MEBIBYTE
    elif isinstance(value, str):
        try:
            amount = milli(value) if resource == CPU else whole(value)
        except InputError:
            return default
    else:
        return default
    return float(amount) if 0 <= amount < 2**63 else default


def limits_of(pod: Pod) -> Resources:
    """What the pod may use at most, as far as it says so readably."""
    try:
        return _summed_limits(pod)
    except InputError:
        return {}


def _summed_limits(pod: Pod) -> Resources:
    """Limits of containers add up as requests do."""
    spec = pod.spec
    if not any(c.resources.limits for c in (*spec.containers, *spec.init_containers)):
        return {} if spec.resources is None else read_resources(spec.resources.limits)
    asking = replace(
        spec,
        containers=tuple(map(_asking_for_its_limits, spec.containers)),
        init_containers=tuple(map(_asking_for_its_limits, spec.init_containers)),
        resources=None if spec.resources is None else ResourceRequirements(requests=spec.resources.limits),
    )
    return request_of(replace(pod, spec=asking, status=PodStatus()))


def _asking_for_its_limits(container: Container) -> Container:
    return replace(container, resources=ResourceRequirements(requests=container.resources.limits))
