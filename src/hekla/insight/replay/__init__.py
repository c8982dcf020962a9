"""Time travel: the inputs of every cycle kept in a file, decided again, and cut down to what matters."""

from hekla.timetravel.cases import Case, case_of
from hekla.timetravel.reading import Recording
from hekla.timetravel.records import Header, header
from hekla.timetravel.replaying import Replayed, Replayer, replay, travel_to
from hekla.timetravel.scribe import Scribe
from hekla.timetravel.shrinking import Budget, Shrunk, shrink

__all__ = [
    "Budget",
    "Case",
    "Header",
    "Recording",
    "Replayed",
    "Replayer",
    "Scribe",
    "Shrunk",
    "case_of",
    "header",
    "replay",
    "shrink",
    "travel_to",
]
