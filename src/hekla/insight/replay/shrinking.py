"""Shrinking: leave out of a cycle what its problem does not need, until nothing more can go.

First whole jobs, then nodes, then single pods, then everything else, each by delta debugging: large parts
are tried first, smaller ones where that fails. At last fields. Every try decides the cycle anew.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TypeVar

from hekla.clock import stopwatch
from hekla.insight.replay.cases import Case, Data, Thing
from hekla.objects import CSINode, Node, Numatopology, Pod, PodGroup
from hekla.objects.keys import GROUP_NAME

T = TypeVar("T")
Unit = tuple[Thing, ...]
Progress = Callable[[int, int], None]
"""Hears how often was tried, and how many objects are left."""

KEPT_FIELDS = frozenset({"apiVersion", "kind", "metadata", "name", "namespace"})
"""Without these an object is another one."""
KEPT_WHOLE = frozenset(
    {"allocatable", "capacity", "containers", "resources", "minMember", "queue", "nodeName"}
)
"""These say how large things are and where they stand; without them every problem looks the same."""


@dataclass
class Budget:
    """How much may be tried."""

    tries: int = 2000
    seconds: float = math.inf


@dataclass(frozen=True)
class Shrunk:
    """The smaller case; `is_complete` says that nothing more could go, for all that was tried."""

    case: Case
    tries: int
    is_complete: bool


@dataclass
class _Trials:
    """The smallest case that shows the problem, so far."""

    case: Case
    shows: Callable[[Case], bool]
    budget: Budget
    progress: Progress
    tries: int = 0
    began: float = field(default_factory=stopwatch)
    is_spent: bool = False

    def holds(self, case: Case) -> bool:
        """Whether the problem is there as well; if so, this is the case from now on."""
        if self.is_spent or self.tries >= self.budget.tries or stopwatch() - self.began > self.budget.seconds:
            self.is_spent = True
            return False
        self.tries += 1
        if not self.shows(case):
            return False
        self.case = case
        self.progress(self.tries, len(case.things))
        return True


def shrink(
    case: Case,
    shows: Callable[[Case], bool],
    budget: Budget | None = None,
    progress: Progress = lambda _tries, _left: None,
) -> Shrunk:
    """A case as small as can be that still shows it; the one given must."""
    trials = _Trials(case, shows, budget or Budget(), progress)
    before = -1
    while not trials.is_spent and before != _size(trials.case):
        before = _size(trials.case)
        for split in (by_job, by_node, by_pod, by_thing):
            _reduce(trials, split(trials.case))
        _prune(trials)
    return Shrunk(trials.case, trials.tries, not trials.is_spent)


def _size(case: Case) -> int:
    return sum(len(str(thing.data)) for thing in case.things)


def _reduce(trials: _Trials, units: Sequence[Unit]) -> None:
    """Leave out as many of the units as possible; what is in none of them stays."""
    movable = {id(thing) for unit in units for thing in unit}

    def holds(kept: Sequence[Unit]) -> bool:
        left = {id(thing) for unit in kept for thing in unit}
        things = trials.case.things
        return trials.holds(
            trials.case.having(one for one in things if id(one) in left or id(one) not in movable)
        )

    if units:
        fewest(units, holds)


def fewest(units: Sequence[T], holds: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Units for which it still holds, such that it would not without any single one of them."""
    if holds(()):
        return ()
    parts = 2
    while len(units) > 1:
        size = math.ceil(len(units) / parts)
        starts = range(0, len(units), size)
        rests = ((*units[:at], *units[at + size :]) for at in starts)
        smaller = next((rest for rest in rests if holds(rest)), None)
        if smaller is not None:
            units, parts = smaller, max(parts - 1, 2)
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(units))
    return units


# Ways to take a case apart


def by_job(case: Case) -> list[Unit]:
    """A pod group with its pods; a pod of no group by itself."""
    units: dict[str, list[Thing]] = defaultdict(list)
    for thing in case.things:
        manifest = thing.manifest
        if isinstance(manifest, PodGroup):
            units[manifest.key].append(thing)
        elif isinstance(manifest, Pod):
            group = manifest.metadata.annotations.get(GROUP_NAME)
            units[f"{manifest.metadata.namespace}/{group}" if group else f"pod {manifest.key}"].append(thing)
    return [tuple(unit) for unit in units.values()]


def by_node(case: Case) -> list[Unit]:
    """A node with what is told of it alone, and the pods that sit there."""
    units: dict[str, list[Thing]] = defaultdict(list)
    for thing in case.things:
        manifest = thing.manifest
        if isinstance(manifest, Node | CSINode | Numatopology):
            units[manifest.metadata.name].append(thing)
        elif isinstance(manifest, Pod) and manifest.spec.node_name:
            units[manifest.spec.node_name].append(thing)
    return [tuple(unit) for unit in units.values()]


def by_pod(case: Case) -> list[Unit]:
    return [(thing,) for thing in case.things if isinstance(thing.manifest, Pod)]


def by_thing(case: Case) -> list[Unit]:
    return [(thing,) for thing in case.things if not isinstance(thing.manifest, Pod)]


# Fields


def _prune(trials: _Trials) -> None:
    """Leave out of every object what can be, larger parts before the smaller ones in them."""
    for at in range(len(trials.case.things)):
        path = next(_paths(trials.case.things[at].data), None)
        while path is not None and not trials.is_spent:
            _try_without(trials, at, path)
            path = _next_path(trials.case.things[at].data, path)


def _try_without(trials: _Trials, at: int, path: tuple[str, ...]) -> None:
    things = list(trials.case.things)
    things[at] = Thing(_without(things[at].data, path))
    trials.holds(trials.case.having(things))


def _paths(data: Data, around: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of all fields that may be missing, in a fixed order."""
    for key in sorted(data):
        place = (*around, key)
        if key in KEPT_WHOLE:
            continue
        if (key not in KEPT_FIELDS or len(around) > 1) and not _holds_what_is_kept(data[key]):
            yield place
        if isinstance(data[key], dict):
            yield from _paths(data[key], place)


def _holds_what_is_kept(value: object) -> bool:
    return isinstance(value, dict) and any(
        key in KEPT_WHOLE or _holds_what_is_kept(inner) for key, inner in value.items()
    )


def _next_path(data: Data, last: tuple[str, ...]) -> tuple[str, ...] | None:
    """The first place after the last one that is still there."""
    return next((path for path in _paths(data) if path > last), None)


def _without(data: Data, path: tuple[str, ...]) -> Data:
    copy = deepcopy(data)
    around = copy
    for step in path[:-1]:
        around = around[step]
    del around[path[-1]]
    return copy
