"""Replaying: a state that follows what was recorded, and cycles decided on it once more.

All inputs of a cycle are in the recording, so that none depends on how the one before was decided: a cycle
can be gone to from the checkpoint before it without deciding those between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from hekla.conf import Conf, read_conf
from hekla.engine.framework.decisions import Bind, Decision, Evict
from hekla.engine.framework.registry import Registry
from hekla.engine.model.node import NodeLoad, Shard
from hekla.engine.state.live import LiveState
from hekla.engine.state.snapshot import Snapshot, snapshot_of
from hekla.errors import InputError
from hekla.insight.replay.differences import DecisionDifference, differences
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.scheduler.load.read import ANNOTATIONS, LoadReader
from hekla.server.recording.reader import Recording
from hekla.server.recording.records import (
    Batches,
    Checkpoint,
    Configuration,
    Cycle,
    Header,
    read_batches,
    read_decisions,
    written_decisions,
)


@dataclass(frozen=True)
class Replayed:
    """A cycle as it was recorded, and as it came out again; `report` is None where it raised `error`."""

    cycle: Cycle
    report: CycleReport | None
    error: str | None

    @cached_property
    def decisions(self) -> list[Decision]:
        return [] if self.report is None else self.report.decisions

    @cached_property
    def recorded(self) -> list[Decision]:
        return read_decisions(self.cycle.decisions)

    @cached_property
    def is_identical(self) -> bool:
        """Every bit of every decision, in the same order; or the same error."""
        return self.error == self.cycle.error and written_decisions(self.decisions)[1] == self.cycle.digest

    @property
    def binds(self) -> int:
        return sum(isinstance(decision, Bind) for decision in self.decisions)

    @property
    def evictions(self) -> int:
        return sum(isinstance(decision, Evict) for decision in self.decisions)

    def differences(self, *, only_pods: bool = False) -> list[DecisionDifference]:
        """What is otherwise than it was recorded."""
        found = differences(self.recorded, self.decisions, only_pods=only_pods)
        if self.error != self.cycle.error:
            found.insert(0, DecisionDifference("cycle", _ending(self.cycle.error), _ending(self.error)))
        return found


def _ending(error: str | None) -> str:
    return "ended well" if error is None else f"failed: {error}"


class Replayer:
    """The state as the recording tells it so far, and the other inputs of the latest cycle."""

    def __init__(self, header: Header, registry: Registry, complaints: list[str] | None = None) -> None:
        self.complaints: list[str] = [] if complaints is None else complaints
        """Told of objects that cannot be read."""
        self.conf: Conf | None = None
        self.shard = Shard()
        self.load: dict[str, NodeLoad] = {}
        self.memory: dict[str, float] = {}
        self.number = 0
        """The cycle whose inputs these are."""
        self.default_queue = header.default_queue
        self.registry = _without_others(registry)
        """What may run here: no other process is asked."""
        self._catalogue = registry.catalogue()
        self.ignored_provisioners = header.ignored_provisioners
        self._state = self._empty_state()
        self._checkpoint: Checkpoint | None = None

    def _empty_state(self) -> LiveState:
        return LiveState(default_queue=self.default_queue, ignored_provisioners=self.ignored_provisioners)

    def take(self, record: Configuration | Checkpoint | Cycle) -> None:
        """Take in one record; a checkpoint counts only where cycles before it are missing."""
        try:
            match record:
                case Configuration():
                    self.conf = self._understood(record.text)
                case Checkpoint():
                    self._checkpoint = record
                case Cycle():
                    self._take_cycle(record)
        except (msgspec.MsgspecError, KeyError) as error:
            raise InputError(f"what follows cycle {self.number} makes no sense: {error}") from error

    def snapshot(self) -> Snapshot:
        """The facts of the latest cycle, made anew."""
        snapshot = snapshot_of(self._state, self.shard)
        snapshot.load = self.load
        return snapshot

    def decide(self, cycle: Cycle, conf: Conf | None = None) -> Replayed:
        """The latest cycle once more, under its own configuration or another."""
        chosen = conf or self.conf
        if chosen is None:
            raise InputError(f"the recording has no configuration for cycle {cycle.number}")
        snapshot = self.snapshot()
        if conf is not None and not self.load and reads_annotations(conf):
            # Load was not measured, for it was not asked for; but what stands on the nodes is known.
            LoadReader(conf, self.registry).put_into(snapshot, cycle.now)
        try:
            report = run_cycle(
                snapshot,
                chosen,
                registry=self.registry,
                now=cycle.now,
                uid=cycle.uid,
                memory=dict(self.memory),
            )
        except Exception as error:
            # Whatever a cycle may raise can have been recorded.
            return Replayed(cycle, None, str(error))
        return Replayed(cycle, report, None)

    def _take_cycle(self, cycle: Cycle) -> None:
        checkpoint, self._checkpoint = self._checkpoint, None
        if cycle.number != self.number + 1:
            self._begin_at(cycle, checkpoint)
        else:
            self._read(cycle.changes, cycle)
            self.shard = self.shard if cycle.sharding is None else cycle.sharding.shard()
            self.load = self.load if cycle.load is None else cycle.load
            self.memory = self.memory if cycle.memory is None else cycle.memory
        self.number = cycle.number

    def _begin_at(self, cycle: Cycle, checkpoint: Checkpoint | None) -> None:
        if checkpoint is None or checkpoint.number != cycle.number:
            raise InputError(f"cycles are missing before cycle {cycle.number}, and no checkpoint helps")
        self._state = self._empty_state()
        self._read(checkpoint.objects, cycle)
        self.shard = checkpoint.sharding.shard()
        self.load, self.memory = checkpoint.load, checkpoint.memory

    def _read(self, batches: Batches, cycle: Cycle) -> None:
        found = read_batches(batches, self._state)
        self.complaints += [f"cycle {cycle.number}: {complaint}" for complaint in found]

    def _understood(self, text: str) -> Conf:
        """What the text says, be it sensible or not: it was in use."""
        for name in read_conf(text)[0].actions:
            if name not in self.registry.actions:
                raise InputError(
                    f'the recording has action "{name}", which is not known; give it by --plugin'
                )
        return read_conf(text, "the recorded configuration", self._catalogue)[0]


def reads_annotations(conf: Conf) -> bool:
    """Whether the configuration goes by load that is written on nodes, if by any."""
    return conf.metrics.get("type", ANNOTATIONS) == ANNOTATIONS


def _without_others(registry: Registry) -> Registry:
    own = {name: plugin for name, plugin in registry.plugins.items() if not plugin.asks_outside}
    return replace(registry, plugins=own)


def replay(recording: Recording, registry: Registry, conf: Conf | None = None) -> Iterator[Replayed]:
    """Every cycle in turn, each on its recorded inputs."""
    replayer = Replayer(recording.header, registry, recording.complaints)
    for record in recording:
        replayer.take(record)
        if isinstance(record, Cycle):
            yield replayer.decide(record, conf)


def travel_to(recording: Recording, number: int, registry: Registry) -> tuple[Replayer, Cycle]:
    """Everything as it was when that cycle began, from the checkpoint before it."""
    replayer = Replayer(recording.header, registry, recording.complaints)
    for record in _way_to(recording, number):
        replayer.take(record)
        if isinstance(record, Cycle) and record.number == number:
            return replayer, record
    raise AssertionError("the way ends at the cycle")


def _way_to(recording: Recording, number: int) -> list[Configuration | Checkpoint | Cycle]:
    """The records to go by: the last checkpoint up to the cycle, and all after it."""
    way: list[Configuration | Checkpoint | Cycle] = []
    numbers: list[int] = []
    conf: Configuration | None = None
    for record in recording:
        if isinstance(record, Configuration):
            conf = record
        elif isinstance(record, Checkpoint):
            way = [] if conf is None else [conf]
        way.append(record)
        if isinstance(record, Cycle):
            numbers.append(record.number)
            if record.number == number:
                return way
    known = f"it has cycles {numbers[0]} to {numbers[-1]}" if numbers else "it has none"
    raise InputError(f'no cycle {number} in "{recording.path}": {known}')
