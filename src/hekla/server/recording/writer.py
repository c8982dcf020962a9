"""Writer: writes the records of a recording in a thread of its own, compressed, to disk after every cycle.

A process that is killed loses at most the cycle it was at. The engine never waits for the disk, unless asked
to: entries that find the queue full are refused, and a checkpoint bridges the gap.
"""

from __future__ import annotations

import queue
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hekla.conf import Catalogue, Conf, effective
from hekla.engine.framework.decisions import Decision
from hekla.engine.model.node import NodeLoad, Shard
from hekla.engine.state.manifests import Noted
from hekla.errors import InputError
from hekla.private_files import open_private
from hekla.server.recording.records import (
    Checkpoint,
    Configuration,
    Cycle,
    Header,
    RecordedShard,
    written,
    written_batches,
    written_decisions,
)

LEVEL = 1
"""Most of the gain for a fraction of the time."""
GZIP = 31
MOST_WAITING = 64


@dataclass(frozen=True)
class CycleEntry:
    """A cycle as it was seen; nothing in here changes any more."""

    number: int
    uid: str
    now: float
    conf: Conf
    batches: Sequence[Noted]
    shard: Shard
    load: Mapping[str, NodeLoad]
    memory: Mapping[str, float]
    decisions: Sequence[Decision] = ()
    error: str | None = None
    everything: Noted | None = None
    """All objects, where a checkpoint is due."""
    begins_a_file: bool = False
    """Whether another file begins here."""


class RecordingWriter:
    """Writes to one file; with a second one beside it, `NAME.1`, where files are limited."""

    def __init__(
        self, path: Path, header: Header, catalogue: Catalogue, on_trouble: Callable[[str], None]
    ) -> None:
        self.size = 0
        """How many bytes the file has."""
        self.first_size = 0
        """How many it had after its first cycle."""
        self.files = 0
        """How many files were completed before this one."""
        self._path = path
        self._header = header
        self._catalogue = catalogue
        self._on_trouble = on_trouble
        self._queue: queue.Queue[CycleEntry | None] = queue.Queue(MOST_WAITING)
        self._conf: Conf | None = None
        self._shard = Shard()
        self._load: Mapping[str, NodeLoad] = {}
        self._memory: Mapping[str, float] = {}
        self._file = self._opened()
        self._begin()
        self._file.flush()
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def take(self, entry: CycleEntry, *, patiently: bool) -> bool:
        """Have the entry written; False where so many wait already that it is not going to be."""
        try:
            self._queue.put(entry, block=patiently)
        except queue.Full:
            return False
        return True

    def close(self) -> None:
        """Everything that was taken is written; the file is complete."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Trouble ends the recording, and nothing else: later entries are taken and thrown away."""
        try:
            while (entry := self._queue.get()) is not None:
                self._write(entry)
            self._end()
        except Exception as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or repr(error)
            self._on_trouble(f'cannot write "{self._path}": {reason}; the recording ends here')
            with suppress(OSError):
                self._file.close()
            while self._queue.get() is not None:
                pass

    def _write(self, entry: CycleEntry) -> None:
        if entry.begins_a_file:
            self._begin_another_file()
        if entry.everything is not None:
            self._end_member()
        if entry.conf is not self._conf:
            self._conf = entry.conf
            self._put(written(Configuration(text=effective(entry.conf, self._catalogue))))
        if entry.everything is not None:
            self._put(written(checkpoint_of(entry, entry.everything)))
        self._put(written(self._cycle_of(entry)))
        self._flush()
        self.first_size = self.first_size or self.size

    def _cycle_of(self, entry: CycleEntry) -> Cycle:
        decisions, digest = written_decisions(entry.decisions)
        cycle = Cycle(
            number=entry.number,
            uid=entry.uid,
            now=entry.now,
            changes=written_batches(entry.batches),
            count=sum(len(changes) for noted in entry.batches for changes in noted.values()),
            sharding=None if entry.shard == self._shard else RecordedShard.of(entry.shard),
            load=None if entry.load == self._load else dict(entry.load),
            memory=None if entry.memory == self._memory else dict(entry.memory),
            decisions=decisions,
            digest=digest,
            error=entry.error,
        )
        self._shard, self._load, self._memory = entry.shard, entry.load, entry.memory
        return cycle

    def _opened(self) -> BinaryIO:
        try:
            return open_private(self._path)
        except OSError as error:
            raise InputError(f'cannot write "{self._path}": {error.strerror}') from error

    def _begin_another_file(self) -> None:
        self._end()
        self._path.replace(older(self._path))
        self._file = open_private(self._path)
        self.size = self.first_size = 0
        self.files += 1
        self._conf = None
        self._begin()

    def _begin(self) -> None:
        self._squeeze = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self._put(written(self._header))
        self._end_member()

    def _put(self, line: bytes) -> None:
        self.size += self._file.write(self._squeeze.compress(line))

    def _flush(self) -> None:
        self.size += self._file.write(self._squeeze.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def _end_member(self) -> None:
        """Header and checkpoints begin gzip streams of their own: what is damaged does not spoil the rest."""
        self.size += self._file.write(self._squeeze.flush(zlib.Z_FINISH))
        self._squeeze = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)

    def _end(self) -> None:
        self.size += self._file.write(self._squeeze.flush(zlib.Z_FINISH))
        self._file.close()


def checkpoint_of(entry: CycleEntry, everything: Noted) -> Checkpoint:
    return Checkpoint(
        number=entry.number,
        objects=written_batches([everything]),
        sharding=RecordedShard.of(entry.shard),
        load=dict(entry.load),
        memory=dict(entry.memory),
    )


def older(path: Path) -> Path:
    """Where a file goes when another takes its place."""
    return path.with_name(f"{path.name}.1")
