"""Records: what stands in a recording, one JSON object per line.

A header, then for every cycle what changed before it, the rest of its inputs where that differs from the
cycle before, and what was decided. A configuration stands before the first cycle that goes by it. Now and
then a checkpoint holds everything that is there, so that reading may begin there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from hekla.cluster.export import only_what_is_read
from hekla.cluster.kubernetes.api.wire import Unfit, Wire
from hekla.engine.framework.decisions import (
    Bind,
    Decision,
    Evict,
    Nominate,
    OpenGate,
    Tell,
    UpdatePodGroup,
    UpdateQueue,
    UpdateShard,
)
from hekla.engine.model.node import NodeLoad, Shard
from hekla.engine.model.queue import DEFAULT_QUEUE
from hekla.engine.state.live import LiveState
from hekla.engine.state.manifests import Noted
from hekla.objects import KINDS, Manifest
from hekla.objects.complaint import Complaint

FORMAT = 1
"""Raised when an older hekla could not make sense of a file any more."""

Batches = msgspec.Raw
"""Lists of changes, each a list of `[kind, object]`, or `[kind, "namespace/name"]` where it is gone."""
NOTHING = msgspec.Raw(b"[]")


class Record(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="record"
):
    """One line."""


class Header(Record, frozen=True, kw_only=True, tag="header"):
    """The first line: who wrote the file, and what does not change from cycle to cycle."""

    format: int = 0
    hekla: str = ""
    schedulers: tuple[str, ...] = ()
    default_queue: str = DEFAULT_QUEUE
    ignored_provisioners: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    """Plugins and actions that were named on the command line."""


def header(
    hekla: str,
    schedulers: Sequence[str] = (),
    *,
    default_queue: str = DEFAULT_QUEUE,
    ignored_provisioners: Sequence[str] = (),
    plugins: Sequence[str] = (),
) -> Header:
    """The header of a recording that this hekla writes."""
    return Header(
        format=FORMAT,
        hekla=hekla,
        schedulers=tuple(schedulers),
        default_queue=default_queue,
        ignored_provisioners=tuple(ignored_provisioners),
        plugins=tuple(plugins),
    )


class Configuration(Record, frozen=True, kw_only=True, tag="configuration"):
    """From the next cycle on, this holds."""

    text: str


class RecordedShard(msgspec.Struct, frozen=True):
    """A Shard, its nodes in order."""

    mode: str
    nodes: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, shard: Shard) -> RecordedShard:
        return cls(shard.mode, tuple(sorted(shard.nodes)), shard.name)

    def shard(self) -> Shard:
        return Shard(self.mode, frozenset(self.nodes), self.name)


class Checkpoint(Record, frozen=True, kw_only=True, tag="checkpoint"):
    """Everything there is when the cycle of this number begins, with the changes before it."""

    number: int
    objects: Batches
    sharding: RecordedShard
    load: dict[str, NodeLoad]
    memory: dict[str, float]


class Cycle(Record, frozen=True, kw_only=True, tag="cycle"):
    """One cycle; of `sharding`, `load` and `memory` None means: as in the cycle before."""

    number: int
    uid: str
    now: float
    changes: Batches = NOTHING
    count: int = 0
    """How many objects changed."""
    sharding: RecordedShard | None = None
    load: dict[str, NodeLoad] | None = None
    memory: dict[str, float] | None = None
    decisions: msgspec.Raw = NOTHING
    digest: str = ""
    error: str | None = None
    """What the cycle raised, if it did."""


Line = Header | Configuration | Checkpoint | Cycle

_QUOTE = ord('"')
_ENCODER = msgspec.json.Encoder()
_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_BATCHES = msgspec.json.Decoder(list[list[tuple[str, msgspec.Raw]]])
_KIND_OF_NAME: Mapping[str, type[Manifest]] = {kind.__name__: kind for kind in KINDS.values()}
_WIRES: Mapping[str, Wire[Manifest]] = {name: Wire(kind) for name, kind in _KIND_OF_NAME.items()}
_DECISIONS: tuple[type[Decision], ...] = (
    Bind,
    Evict,
    Nominate,
    OpenGate,
    Tell,
    UpdatePodGroup,
    UpdateQueue,
    UpdateShard,
)
_DECISION_OF_NAME: Mapping[str, type[Decision]] = {kind.__name__: kind for kind in _DECISIONS}
_NAMED = msgspec.json.Decoder(list[tuple[str, msgspec.Raw]])


def written(line: Line) -> bytes:
    """The record as a line of the file."""
    return _ENCODER.encode(line) + b"\n"


def read_line(line: bytes) -> Line:
    """The record in a line; raises msgspec.MsgspecError where there is none."""
    return _LINE.decode(line)


# Objects


def written_batches(batches: Iterable[Noted]) -> Batches:
    """Changes, batch by batch; each object by itself, so that other threads get their turn."""
    return msgspec.Raw(b"[" + b",".join(map(_batch, batches)) + b"]")


def _batch(noted: Noted) -> bytes:
    changes = [
        b'["%b",%b]' % (kind.__name__.encode(), _change(key, manifest))
        for kind, of_kind in noted.items()
        for key, manifest in of_kind.items()
    ]
    return b"[" + b",".join(changes) + b"]"


def _change(key: str, manifest: Manifest | None) -> bytes:
    return _ENCODER.encode(key if manifest is None else only_what_is_read(manifest))


Change = tuple[type[Manifest], "str | Manifest | Unfit"]
"""An object as it is now, the name of one that is gone, or what stands for one that cannot be read."""


def changes_in(batches: Batches) -> Iterator[list[Change]]:
    """The changes of a record, batch by batch."""
    for batch in _BATCHES.decode(batches):
        yield [(_KIND_OF_NAME[name], _changed(name, raw)) for name, raw in batch]


def _changed(name: str, raw: msgspec.Raw) -> str | Manifest | Unfit:
    if memoryview(raw)[0] == _QUOTE:
        return msgspec.json.decode(raw, type=str)
    return _WIRES[name].decoded(raw)


def read_batches(batches: Batches, state: LiveState) -> list[Complaint]:
    """Let the state take the changes in as another one did, batch by batch; back come complaints."""
    complaints = []
    for changes in changes_in(batches):
        for kind, found in changes:
            if isinstance(found, str):
                state.lose(kind, found)
            elif isinstance(found, Unfit):
                complaints.append(found.complaint)
                state.lose(kind, found.key)
            else:
                state.note(found)
        state.take_in()
    return complaints


# Decisions


def written_decisions(decisions: Sequence[Decision]) -> tuple[msgspec.Raw, str]:
    """The decisions in order, and the SHA-256 of their text."""
    raw = _ENCODER.encode([(type(decision).__name__, decision) for decision in decisions])
    return msgspec.Raw(raw), hashlib.sha256(raw).hexdigest()


def read_decisions(raw: msgspec.Raw) -> list[Decision]:
    return [msgspec.json.decode(part, type=_DECISION_OF_NAME[name]) for name, part in _NAMED.decode(raw)]
