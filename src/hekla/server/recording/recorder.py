"""Recorder: observes the cycles of a loop, and has everything written down that they go by.

On the engine's thread that is a matter of keeping references; the work is the writer's. In `hekla serve` the
two go on whatever happens to the other: a recording that fails ends, and scheduling goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hekla.conf import Catalogue, Conf
from hekla.engine.framework.decisions import Decision
from hekla.engine.state.live import LiveState
from hekla.engine.state.manifests import Changes, Noted
from hekla.engine.state.snapshot import Snapshot
from hekla.errors import InputError, said_by
from hekla.objects import Manifest
from hekla.private_files import OWNER_ONLY
from hekla.server.recording.records import Header
from hekla.server.recording.writer import CycleEntry, RecordingWriter, older

CHECKPOINT_EVERY = 100


logger = logging.getLogger("hekla.serve")


class CycleRecorder:
    """An observer of a loop's cycles; `limit` is how many bytes may lie on the disk, in two files.

    A patient one has the engine wait rather than miss a cycle.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        catalogue: Catalogue,
        *,
        is_patient: bool = True,
        limit: int | None = None,
        checkpoint_every: int = CHECKPOINT_EVERY,
        on_trouble: Callable[[str], None] | None = None,
    ) -> None:
        self.trouble = ""
        """Why nothing is recorded any more, if that is so."""
        self.missed = 0
        """How many cycles are not in the recording."""
        self._is_patient = is_patient
        self._limit = limit
        self._every = checkpoint_every
        self._tell = on_trouble
        self._writer = RecordingWriter(path, header, catalogue, self._note_trouble)
        self._number = 0
        self._state: LiveState | None = None
        self._batches: list[Noted] = []
        self._entry: CycleEntry | None = None
        self._checkpoint_at = 1
        self._changes_since = 0
        self._lacks_cycles = False
        self._turns = 0
        """How often the writer was asked for another file; it may not have begun that yet."""

    def follow(self, state: LiveState) -> None:
        """Hear of all changes to the state; before its first cycle, or some are missing."""
        self._state = state
        state.on_take_in = self._hear

    def follow_anew(self, state: LiveState) -> None:
        """Another state takes the place of the one before; a checkpoint after a gap says what is in it."""
        if self._state is not None:
            self._number += 1
            self._lacks_cycles = True
            self._batches.clear()
            self.follow(state)

    def give_up(self, trouble: str) -> None:
        """Nothing is recorded from now on."""
        self._note_trouble(trouble)
        if self._state is not None:
            self._state.on_take_in = None
            self._state = None
        self._batches.clear()

    def _hear(self, noted: Noted) -> None:
        self._batches.append(noted)

    def cycle_begins(
        self, snapshot: Snapshot, conf: Conf, *, now: float, uid: str, memory: Mapping[str, float]
    ) -> None:
        self._number += 1
        batches, self._batches = self._batches, []
        self._changes_since += sum(len(changes) for noted in batches for changes in noted.values())
        turns = self._is_file_full()
        is_due = turns or self._lacks_cycles or self._is_checkpoint_due(snapshot.state)
        if is_due:
            # A replay from here knows nothing of what was seen to wait before.
            snapshot.state.attention.wake()
        self._entry = CycleEntry(
            number=self._number,
            uid=uid,
            now=now,
            conf=conf,
            batches=batches,
            shard=snapshot.shard,
            load=snapshot.load,
            memory=dict(memory),
            everything=everything_in(snapshot.state) if is_due else None,
            begins_a_file=turns,
        )
        if is_due or self._number == 1:  # the first cycle hears of everything
            self._checkpoint_at, self._changes_since = self._number, 0

    def cycle_ends(self, decisions: Sequence[Decision]) -> None:
        self._hand_in(decisions=tuple(decisions))

    def cycle_fails(self, error: Exception) -> None:
        self._hand_in(error=str(error))

    def close(self) -> None:
        """Everything is written; raises InputError where that failed and `on_trouble` is not given."""
        self._writer.close()
        if self.trouble and self._tell is None:
            raise InputError(self.trouble)

    def _hand_in(self, *, decisions: Sequence[Decision] = (), error: str | None = None) -> None:
        if self._entry is None:
            return
        entry, self._entry = replace(self._entry, decisions=decisions, error=error), None
        is_taken = self._writer.take(entry, patiently=self._is_patient)
        self._lacks_cycles = not is_taken
        self._turns += is_taken and entry.begins_a_file
        self.missed += not is_taken

    def _is_file_full(self) -> bool:
        """Half the limit is used, and another file gains something: it is more than one checkpoint."""
        writer = self._writer
        if self._limit is None or writer.files < self._turns:
            return False
        return writer.size > self._limit // 2 and writer.size > 2 * writer.first_size > 0

    def _is_checkpoint_due(self, state: LiveState) -> bool:
        """From time to time, but not while next to nothing changes: a checkpoint is as long as the state."""
        if self._number - self._checkpoint_at < self._every:
            return False
        return 4 * self._changes_since >= sum(map(len, state.manifests.values()))

    def _note_trouble(self, text: str) -> None:
        self.trouble = text
        if self._tell is not None:
            self._tell(text)


def put_aside(path: Path) -> None:
    """A recording that is there already stays, under another name."""
    try:
        if path.exists():
            path.chmod(OWNER_ONLY)
            path.replace(older(path))
    except OSError as error:
        raise InputError(f'cannot put "{path}" aside: {error.strerror}') from error


def everything_in(state: LiveState) -> dict[type[Manifest], Changes]:
    """All objects of a state as changes that lead to it, in the order in which they arrived."""
    return {kind: dict(known) for kind, known in state.manifests.items()}


class RecordingGuard:
    """An observer that hands everything on to the recorder, until that fails."""

    def __init__(self, recorder: CycleRecorder) -> None:
        self._recorder = recorder
        self._is_over = False

    def cycle_begins(
        self, snapshot: Snapshot, conf: Conf, *, now: float, uid: str, memory: Mapping[str, float]
    ) -> None:
        self._guarded(lambda: self._recorder.cycle_begins(snapshot, conf, now=now, uid=uid, memory=memory))

    def cycle_ends(self, decisions: Sequence[Decision]) -> None:
        self._guarded(lambda: self._recorder.cycle_ends(decisions))

    def cycle_fails(self, error: Exception) -> None:
        self._guarded(lambda: self._recorder.cycle_fails(error))

    def _guarded(self, tell: Callable[[], None]) -> None:
        if self._is_over:
            return
        try:
            tell()
        except Exception as error:
            self._is_over = True
            logger.exception("the recording failed in an unforeseen way")
            self._recorder.give_up(f"{said_by(error)}; the recording ends here")
