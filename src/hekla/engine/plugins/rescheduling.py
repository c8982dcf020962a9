"""Rescheduling: move tasks off nodes that are too busy while others have little to do.

Of Volcano's strategies there is one, `lowNodeUtilization`; those that exist in its design alone
are passed over. Load is the ten-minute average that comes with the snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import VICTIM_TASKS, AnyPoint, answers
from hekla.engine.model.node import NodeInfo, NodeLoad
from hekla.engine.model.requests import is_guaranteed
from hekla.engine.model.resources import CPU, MEMORY
from hekla.engine.model.task import Task
from hekla.errors import InputError
from hekla.objects import Pod
from hekla.objects.quantity import read_seconds

LOW_NODE_UTILIZATION = "lowNodeUtilization"
LAST_RUN = "rescheduling.last-run"
"""Key of the session's memory: when tasks were looked for last, in seconds since 1970."""
RESOURCES = (CPU, MEMORY)
EVERYTHING = 100
UNMEASURED = NodeLoad(0.0, 0.0, 0.0)
BEST_EFFORT, BURSTABLE, GUARANTEED = range(3)

Percent = Mapping[str, int]
Params = Mapping[str, object]


@dataclass(frozen=True)
class Thresholds:
    """Below `low` in everything a node has room; above `target` in anything it is too busy."""

    low: Percent
    target: Percent


def read_thresholds(params: object) -> Thresholds:
    """Percentages by resource; raises ValueError where one is no whole number."""
    given = params if isinstance(params, Mapping) else {}
    return Thresholds(*(_percentages(given, key) for key in ("thresholds", "targetThresholds")))


def _percentages(params: Params, key: str) -> Percent:
    raw = params.get(key)
    given = raw if isinstance(raw, Mapping) else {}
    for resource, value in given.items():
        if type(value) is not int:
            raise ValueError(f"{key}.{resource}: expected a whole number of percent, got {value!r}")
    return {resource: given.get(resource, EVERYTHING) for resource in RESOURCES}


def read_strategies(strategies: Sequence[Params]) -> list[Thresholds]:
    """The thresholds of every strategy that is known; none given means one with the defaults."""
    given = strategies or ({"name": LOW_NODE_UTILIZATION},)
    return [read_thresholds(one.get("params")) for one in given if one.get("name") == LOW_NODE_UTILIZATION]


@dataclass(frozen=True)
class ReschedulingArguments:
    interval: str = argument(
        "5m", key="interval", check=read_seconds, help="how much time lies between two moves at least"
    )
    metrics_period: str = argument(
        "5m", key="metricsPeriod", help="no effect: load is always the average over ten minutes"
    )
    strategies: tuple[Mapping[str, object], ...] = argument(
        (),
        key="strategies",
        check=read_strategies,
        help="{name: lowNodeUtilization, params: {thresholds: {cpu: 100, memory: 100}, "
        "targetThresholds: {cpu: 100, memory: 100}}}; others are passed over",
    )


class Rescheduling(Plugin):
    """It speaks in one cycle, then rests for the interval; the first cycle ever starts a rest."""

    name = "rescheduling"
    reads_load = True
    acts_on_time = True
    Arguments = ReschedulingArguments

    def on_open(self) -> None:
        now, memory = self.session.now, self.session.memory
        rested = now - memory.setdefault(LAST_RUN, now)
        self._is_awake = rested > read_seconds(self.arguments.interval)
        if self._is_awake:
            memory[LAST_RUN] = now

    def silent_on(self) -> Collection[AnyPoint]:
        return () if self._is_awake else (VICTIM_TASKS,)

    @answers(VICTIM_TASKS)
    def tasks_on_busy_nodes(self, running: Sequence[Task]) -> list[Task]:
        strategies = read_strategies(self.arguments.strategies)
        victims = [task for thresholds in strategies for task in self._victims(thresholds, running)]
        return list({task.uid: task for task in victims}.values())

    def _victims(self, thresholds: Thresholds, running: Sequence[Task]) -> Iterator[Task]:
        """Busiest node first; the room on quiet nodes is the budget for all of them."""
        quiet, busy = self._quiet_and_busy(thresholds)
        if not quiet or not busy:
            return
        budget = {resource: room_below(thresholds.target, quiet, resource) for resource in RESOURCES}
        by_key = {task.key: task for task in running}
        for place in sorted(busy, key=lambda place: -sum(place.use.values())):
            on_node = self.session.nodes.tasks_on[place.row].values()
            for task in sorted(on_node, key=expendability):
                if not place.is_above(thresholds.target) or 0 in budget.values():
                    break
                # By its whole name: Volcano compares the bare name, and may evict a namesake elsewhere.
                if task.key in by_key:
                    yield by_key[task.key]
                    place.take_away(task)
                    budget = {name: left - task.request.get(name, 0) for name, left in budget.items()}

    def _quiet_and_busy(self, thresholds: Thresholds) -> tuple[list[Place], list[Place]]:
        places = [self._place(row, node) for row, node in enumerate(self.session.nodes.nodes)]
        quiet = [place for place in places if place.is_quiet(thresholds.low)]
        others = [place for place in places if not place.is_quiet(thresholds.low)]
        busy = [place for place in others if place.is_over(thresholds.target)]
        return quiet, busy

    def _place(self, row: int, node: NodeInfo) -> Place:
        # As in Volcano, a node that is not measured looks idle.
        load = self.session.snapshot.load.get(node.name, UNMEASURED)
        return Place(row, node, {CPU: load.cpu, MEMORY: load.memory})


@dataclass(eq=False)
class Place:
    """A node and what is in use there, in percent."""

    row: int
    node: NodeInfo
    use: dict[str, float]

    def is_quiet(self, low: Percent) -> bool:
        is_open = not self.node.manifest.spec.unschedulable
        return is_open and all(self.use[resource] < low[resource] for resource in RESOURCES)

    def is_over(self, target: Percent) -> bool:
        return any(self.use[resource] > target[resource] for resource in RESOURCES)

    def is_above(self, target: Percent) -> bool:
        """Or just at it: a node is relieved until it is below."""
        return any(self.use[resource] >= target[resource] for resource in RESOURCES)

    def take_away(self, task: Task) -> None:
        for resource in RESOURCES:
            capacity = self.node.capacity.get(resource) or self.node.reported.get(resource, 0)
            if capacity:
                self.use[resource] -= 100.0 * task.request.get(resource, 0) / capacity


def room_below(target: Percent, quiet: Iterable[Place], resource: str) -> int:
    """How much more nodes could take before they are at the target."""
    return sum(
        int(target[resource] / 100 * has) - int(place.use[resource] / 100 * has)
        for place in quiet
        for has in ((place.node.reported or place.node.capacity).get(resource, 0),)
    )


def expendability(task: Task) -> tuple[bool, int, int, str]:
    """Sort key: without a priority first, then the lowest, then those that were promised least."""
    priority = task.pod.spec.priority
    return priority is not None, priority or 0, quality_of(task.pod), task.key


def quality_of(pod: Pod) -> int:
    """Kubernetes' quality of service: how much a pod was promised of cpu and memory."""
    try:
        if is_guaranteed(pod):
            return GUARANTEED
    except InputError:
        return BURSTABLE
    parts = [container.resources for container in (*pod.spec.containers, *pod.spec.init_containers)]
    is_promised = any(name in RESOURCES for part in parts for name in (*part.requests, *part.limits))
    return BURSTABLE if is_promised else BEST_EFFORT
