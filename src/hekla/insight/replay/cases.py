"""Cases: one cycle as a scenario that `hekla decide` reads, and what it comes to there.

A scenario says less than a recording: only what scheduling reads is in it. Measured load becomes
annotations of its nodes, and groups that name no queue name the default one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from hekla.cluster.export import as_data, as_scenario
from hekla.conf import Conf, effective, read_conf, require
from hekla.engine.framework.registry import Registry
from hekla.engine.model.load import NodeLoad
from hekla.engine.model.shard import Shard
from hekla.engine.state.snapshot import take_snapshot
from hekla.errors import InputError
from hekla.insight.replay.replaying import Replayer
from hekla.objects import Manifest, Node, PodGroup
from hekla.objects.keys import CPU_USAGE, MEMORY_USAGE, USAGE_AT
from hekla.objects.read import Place, Reader
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.scheduler.load.read import LoadReader
from hekla.server.recording.recorder import everything_in
from hekla.server.recording.records import Cycle

Data = dict[str, Any]


@dataclass(frozen=True)
class Ending:
    """What a cycle comes to: a report, or the words of what it raised."""

    report: CycleReport | None
    error: str = ""


@dataclass(frozen=True, eq=False)
class Thing:
    """An object as plain data, and as the engine takes it."""

    data: Data

    @cached_property
    def manifest(self) -> Manifest | None:
        """None where the data is no object any more."""
        reader = Reader()
        reader.raw(msgspec.Raw(msgspec.json.encode(self.data)), Place("scenario"))
        return next(iter(reader.reading.objects), None)


@dataclass(frozen=True)
class Case:
    """A cycle's objects and what else it goes by."""

    things: tuple[Thing, ...]
    conf: Conf
    registry: Registry
    now: float
    shard: Shard
    memory: dict[str, float]
    ignored_provisioners: tuple[str, ...] = ()

    def having(self, things: Iterable[Thing]) -> Case:
        return replace(self, things=tuple(things))

    def decide(self, conf: Conf | None = None) -> Ending:
        """One cycle, as `hekla decide` runs it."""
        chosen = conf or self.conf
        try:
            snapshot = take_snapshot(
                self.manifests(), shard=self.shard, ignored_provisioners=self.ignored_provisioners
            )
            LoadReader(chosen).put_into(snapshot, self.now)
            report = run_cycle(
                snapshot, chosen, registry=self.registry, now=self.now, memory=dict(self.memory)
            )
        except Exception as error:
            # That it raises, whatever it is, may be what somebody looks for.
            return Ending(None, str(error))
        return Ending(report)

    def manifests(self) -> Sequence[Manifest]:
        return [thing.manifest for thing in self.things if thing.manifest is not None]

    def scenario(self, name: str) -> bytes:
        """The file."""
        sharding = {"mode": self.shard.mode, "nodes": sorted(self.shard.nodes)}
        return as_scenario(
            (thing.data for thing in self.things),
            effective(self.conf, self.registry.catalogue()),
            name,
            now=self.now,
            **({} if self.shard.mode == "none" else {"sharding": sharding}),
            **({"memory": self.memory} if self.memory else {}),
            **({"ignoredProvisioners": ignored} if (ignored := self.ignored_provisioners) else {}),
        )

    def read_again(self) -> Case:
        """What whoever reads the file makes of it."""
        data = msgspec.json.decode(self.scenario(""))
        reading = read_conf(data["conf"], "scenario", self.registry.catalogue())
        return replace(self, things=tuple(map(Thing, data["objects"])), conf=require(reading, False))


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
        tuple(Thing(as_data(manifest)) for manifest in objects),
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
