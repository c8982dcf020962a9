"""Recordings: the inputs and decisions of every cycle, kept in a file.

`hekla serve` and `hekla run` write them; `hekla replay` (`hekla.insight.replay`) reads them.
"""

from hekla.server.recording.reader import Recording
from hekla.server.recording.recorder import CycleRecorder
from hekla.server.recording.records import Header, header

__all__ = [
    "CycleRecorder",
    "Header",
    "Recording",
    "header",
]
