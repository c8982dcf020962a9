"""What was entered is what a run is made of."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.simulation.event_log import RunLog
from hekla.simulation.run import NOTHING, Ending, Samples


def test_a_row_of_the_log_reads_as_it_was_entered():
    log = RunLog()
    rows = [
        (0, 1, 2, 3, 0.5, 1.5, Ending.DONE, 1.0, NOTHING),
        (1, 2, 3, 4, 1.0, 9.25, Ending.EVICTED, 0.25, 7),
    ]
    assert list(log.enter_pod_runs(rows[:1])) == [0]
    assert list(log.enter_pod_runs(rows[1:])) == [1]
    log.undo_pod_run(0, 0.125)
    runs = log.closed(
        title="",
        conf="",
        seed=0,
        end=0.0,
        is_complete=True,
        cycles=0,
        samples=Samples(np.zeros(0), np.zeros((0, 0, 0))),
        resources=(),
        wall_seconds=0.0,
    ).pod_runs
    columns = ("job", "pod", "shape", "node", "began", "ended", "ending", "kept", "beneficiary")
    read = [tuple(getattr(runs, name)[row].item() for name in columns) for row in range(2)]
    assert read == [(0, 1, 2, 3, 0.5, 1.5, Ending.STOPPED, 0.125, NOTHING), rows[1]]


class Interrupted:
    """A number during which Ctrl-C is pressed."""

    def __float__(self) -> float:
        raise KeyboardInterrupt


def test_rows_can_be_entered_while_an_interrupted_entry_is_told_of():
    log = RunLog()
    row = (0, 1, 2, 3, 0.5, 1.5, Ending.DONE, 1.0, NOTHING)
    log.enter_pod_runs([row])
    with pytest.raises(KeyboardInterrupt) as told:
        log.undo_pod_run(0, Interrupted())
    assert list(log.enter_pod_runs([row])) == [1], told
