"""Time travel: the inputs of every cycle kept in a file, decided again, and cut down to what matters."""

from hekla.insight.replay.cases import Budget, Case, Shrunk, case_of, shrink
from hekla.insight.replay.replaying import Replayed, Replayer, replay, travel_to
from hekla.server.recording.reader import Recording
from hekla.server.recording.recorder import CycleRecorder
from hekla.server.recording.records import Header, header

__all__ = [
    "Budget",
    "Case",
    "CycleRecorder",
    "Header",
    "Recording",
    "Replayed",
    "Replayer",
    "Shrunk",
    "case_of",
    "header",
    "replay",
    "shrink",
    "travel_to",
]
