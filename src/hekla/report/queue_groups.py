"""Queue groups: which queues get a colour of their own, the same one in every run.

There are not more than eight colours that everybody can tell apart. The queues with most jobs get them, all
others share a ninth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekla.sim.run import Floats, Run

COLOURS = 8


@dataclass(frozen=True)
class QueueGroups:
    """Groups in the order in which they are drawn; the last one may stand for all other queues."""

    names: tuple[str, ...]
    number_of_queue: dict[str, int]
    colours: tuple[int, ...]
    """Numbers of colours in the style sheet."""

    def of(self, run: Run) -> npt.NDArray[np.intp]:
        """(Q,) The group of each queue of the run."""
        return np.array([self.number_of_queue[name] for name in run.queues], np.intp)

    def together(self, run: Run, values: Floats) -> Floats:
        """(T, Q) of the run's queues -> (G, T) of groups."""
        summed = np.zeros((len(self.names), len(values)))
        np.add.at(summed, self.of(run), values.T)
        return summed


def queue_groups(runs: Sequence[Run]) -> QueueGroups:
    jobs: Counter[str] = Counter()
    for run in runs:
        # Jobs that were refused may name a queue that is not there.
        counts = np.bincount(run.jobs.queue[run.jobs.queue >= 0], minlength=len(run.queues)).tolist()
        for name, count in zip(run.queues, counts, strict=True):
            jobs[name] += count
    names = list(jobs)
    if len(names) <= COLOURS:
        return QueueGroups(
            tuple(names), {name: at for at, name in enumerate(names)}, tuple(range(len(names)))
        )
    busiest = {name for name, _ in jobs.most_common(COLOURS)}
    shown = [name for name in names if name in busiest]
    others = f"{len(names) - COLOURS} other queues"
    numbers = {name: shown.index(name) if name in busiest else COLOURS for name in names}
    return QueueGroups((*shown, others), numbers, tuple(range(COLOURS + 1)))
