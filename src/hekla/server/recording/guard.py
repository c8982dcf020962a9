"""Recording beside scheduling: whatever happens to the one, the other goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from hekla.conf import Conf
from hekla.engine.framework.decisions import Decision
from hekla.engine.state.snapshot import Snapshot
from hekla.errors import said_by
from hekla.server.recording.recorder import Scribe

logger = logging.getLogger("hekla.serve")


class RecordingGuard:
    """A witness that hands everything on to the scribe, until that fails."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self._is_over = False

    def cycle_begins(
        self, snapshot: Snapshot, conf: Conf, *, now: float, uid: str, memory: Mapping[str, float]
    ) -> None:
        self._guarded(lambda: self._scribe.cycle_begins(snapshot, conf, now=now, uid=uid, memory=memory))

    def cycle_ends(self, decisions: Sequence[Decision]) -> None:
        self._guarded(lambda: self._scribe.cycle_ends(decisions))

    def cycle_fails(self, error: Exception) -> None:
        self._guarded(lambda: self._scribe.cycle_fails(error))

    def _guarded(self, tell: Callable[[], None]) -> None:
        if self._is_over:
            return
        try:
            tell()
        except Exception as error:
            self._is_over = True
            logger.exception("the recording failed in an unforeseen way")
            self._scribe.give_up(f"{said_by(error)}; the recording ends here")
