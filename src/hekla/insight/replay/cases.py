"""Cases: one cycle as a scenario that `hekla decide` reads, and the smallest that shows a problem.

A scenario says less than a recording: only what scheduling reads is in it. Measured load becomes annotations
of its nodes, and groups that name no queue name the default one.

To shrink a case, first whole jobs are left out, then nodes, then single pods, then everything else, each by
delta debugging: large parts are tried first, smaller ones where that fails. At last fields. Every try decides
the cycle anew.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from hekla.clock import stopwatch
from hekla.cluster.export import as_data, as_scenario
from hekla.conf import Conf, effective, read_conf, require
from hekla.engine.framework.registry import Registry
from hekla.engine.model.node import NodeLoad, Shard
from hekla.engine.state.snapshot import take_snapshot
from hekla.errors import InputError
from hekla.insight.replay.replaying import Replayer
from hekla.objects import CSINode, Manifest, Node, Numatopology, Pod, PodGroup
from hekla.objects.keys import CPU_USAGE, GROUP_NAME, MEMORY_USAGE, USAGE_AT
from hekla.objects.read import ManifestReader, ObjectPlace
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.scheduler.load.read import LoadReader
from hekla.server.recording.recorder import everything_in
from hekla.server.recording.records import Cycle

Data = dict[str, Any]


T = TypeVar("T")
Removable = tuple["CaseObject", ...]
"""Objects that go together."""
Progress = Callable[[int, int], None]
"""Called with how many tries there were, and how many objects are left."""
KEPT_FIELDS = frozenset({"apiVersion", "kind", "metadata", "name", "namespace"})
"""Without these an object is another one."""
KEPT_WHOLE = frozenset(
    {"allocatable", "capacity", "containers", "resources", "minMember", "queue", "nodeName"}
)
"""These say how large objects are and where they stand; without them every problem looks the same."""


@dataclass(frozen=True)
class CaseResult:
    """What a cycle comes to: a report, or the words of what it raised."""

    report: CycleReport | None
    error: str = ""


@dataclass(frozen=True, eq=False)
class CaseObject:
    """An object as plain data, and as the engine takes it."""

    data: Data

    @cached_property
    def manifest(self) -> Manifest | None:
        """None where the data is no object any more."""
        reader = ManifestReader()
        reader.raw(msgspec.Raw(msgspec.json.encode(self.data)), ObjectPlace("scenario"))
        return next(iter(reader.reading.objects), None)


@dataclass(frozen=True)
class Case:
    """A cycle's objects and what else it goes by."""

    objects: tuple[CaseObject, ...]
    conf: Conf
    registry: Registry
    now: float
    shard: Shard
    memory: dict[str, float]
    ignored_provisioners: tuple[str, ...] = ()

    def having(self, objects: Iterable[CaseObject]) -> Case:
        return replace(self, objects=tuple(objects))

    def decide(self, conf: Conf | None = None) -> CaseResult:
        """One cycle, as `hekla decide` runs it."""
        chosen = conf or self.conf
        try:
            snapshot = take_snapshot(
                self.manifests(), shard=self.shard, ignored_provisioners=self.ignored_provisioners
            )
            LoadReader(chosen, self.registry).put_into(snapshot, self.now)
            report = run_cycle(
                snapshot, chosen, registry=self.registry, now=self.now, memory=dict(self.memory)
            )
        except Exception as error:
            # That it raises, whatever it is, may be the problem to be shown.
            return CaseResult(None, str(error))
        return CaseResult(report)

    def manifests(self) -> Sequence[Manifest]:
        return [one.manifest for one in self.objects if one.manifest is not None]

    def scenario(self, name: str) -> bytes:
        """The file."""
        sharding = {"mode": self.shard.mode, "nodes": sorted(self.shard.nodes)}
        return as_scenario(
            (one.data for one in self.objects),
            effective(self.conf, self.registry.catalogue()),
            name,
            now=self.now,
            **({} if self.shard.mode == "none" else {"sharding": sharding}),
            **({"memory": self.memory} if self.memory else {}),
            **({"ignoredProvisioners": ignored} if (ignored := self.ignored_provisioners) else {}),
        )

    def read_again(self) -> Case:
        """The case as it is read back from the file."""
        data = msgspec.json.decode(self.scenario(""))
        reading = read_conf(data["conf"], "scenario", self.registry.catalogue())
        return replace(self, objects=tuple(map(CaseObject, data["objects"])), conf=require(reading, False))


def case_of(replayer: Replayer, cycle: Cycle) -> Case:
    """The cycle that the replayer has come to."""
    if replayer.conf is None:
        raise InputError(f"the recording has no configuration for cycle {cycle.number}")
    snapshot = replayer.snapshot()
    objects = [
        _complete(manifest, replayer.default_queue, snapshot.load)
        for of_kind in everything_in(snapshot.state).values()
        for manifest in of_kind.values()
        if manifest is not None
    ]
    return Case(
        tuple(CaseObject(as_data(manifest)) for manifest in objects),
        # The load stands in annotations now, wherever it came from.
        replace(replayer.conf, metrics={}),
        replayer.registry,
        cycle.now,
        replayer.shard,
        replayer.memory,
        replayer.ignored_provisioners,
    )


def _complete(manifest: Manifest, default_queue: str, load: Any) -> Manifest:
    if isinstance(manifest, PodGroup) and not manifest.spec.queue:
        return msgspec.structs.replace(
            manifest, spec=msgspec.structs.replace(manifest.spec, queue=default_queue)
        )
    if isinstance(manifest, Node) and (measured := load.get(manifest.metadata.name)) is not None:
        meta = manifest.metadata
        notes = {**meta.annotations, **_notes(measured)}
        return msgspec.structs.replace(manifest, metadata=msgspec.structs.replace(meta, annotations=notes))
    return manifest


def _notes(load: NodeLoad) -> dict[str, str]:
    return {CPU_USAGE: repr(load.cpu), MEMORY_USAGE: repr(load.memory), USAGE_AT: repr(load.at)}


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
class _Shrinking:
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
        self.progress(self.tries, len(case.objects))
        return True


def shrink(
    case: Case,
    shows: Callable[[Case], bool],
    budget: Budget | None = None,
    progress: Progress = lambda _tries, _left: None,
) -> Shrunk:
    """A case as small as can be that still shows it; the one given must."""
    shrinking = _Shrinking(case, shows, budget or Budget(), progress)
    before = -1
    while not shrinking.is_spent and before != _size(shrinking.case):
        before = _size(shrinking.case)
        for split in (by_job, by_node, by_pod, by_thing):
            _reduce(shrinking, split(shrinking.case))
        _prune(shrinking)
    return Shrunk(shrinking.case, shrinking.tries, not shrinking.is_spent)


def _size(case: Case) -> int:
    return sum(len(str(one.data)) for one in case.objects)


def _reduce(shrinking: _Shrinking, units: Sequence[Removable]) -> None:
    """Leave out as many of the units as possible; what is in none of them stays."""
    movable = {id(one) for unit in units for one in unit}

    def holds(kept: Sequence[Removable]) -> bool:
        left = {id(one) for unit in kept for one in unit}
        objects = shrinking.case.objects
        return shrinking.holds(
            shrinking.case.having(one for one in objects if id(one) in left or id(one) not in movable)
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


def by_job(case: Case) -> list[Removable]:
    """A pod group with its pods; a pod of no group by itself."""
    units: dict[str, list[CaseObject]] = defaultdict(list)
    for one in case.objects:
        manifest = one.manifest
        if isinstance(manifest, PodGroup):
            units[manifest.key].append(one)
        elif isinstance(manifest, Pod):
            group = manifest.metadata.annotations.get(GROUP_NAME)
            units[f"{manifest.metadata.namespace}/{group}" if group else f"pod {manifest.key}"].append(one)
    return [tuple(unit) for unit in units.values()]


def by_node(case: Case) -> list[Removable]:
    """A node with what is told of it alone, and the pods that sit there."""
    units: dict[str, list[CaseObject]] = defaultdict(list)
    for one in case.objects:
        manifest = one.manifest
        if isinstance(manifest, Node | CSINode | Numatopology):
            units[manifest.metadata.name].append(one)
        elif isinstance(manifest, Pod) and manifest.spec.node_name:
            units[manifest.spec.node_name].append(one)
    return [tuple(unit) for unit in units.values()]


def by_pod(case: Case) -> list[Removable]:
    return [(one,) for one in case.objects if isinstance(one.manifest, Pod)]


def by_thing(case: Case) -> list[Removable]:
    return [(one,) for one in case.objects if not isinstance(one.manifest, Pod)]


# Fields


def _prune(shrinking: _Shrinking) -> None:
    """Leave out of every object what can be, larger parts before the smaller ones in them."""
    for at in range(len(shrinking.case.objects)):
        path = next(_paths(shrinking.case.objects[at].data), None)
        while path is not None and not shrinking.is_spent:
            _try_without(shrinking, at, path)
            path = _next_path(shrinking.case.objects[at].data, path)


def _try_without(shrinking: _Shrinking, at: int, path: tuple[str, ...]) -> None:
    objects = list(shrinking.case.objects)
    objects[at] = CaseObject(_without(objects[at].data, path))
    shrinking.holds(shrinking.case.having(objects))


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
