"""Lost time: what jobs waited for, and why capacity was idle meanwhile, over a whole run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from hekla.engine.model.wait_reason import WaitReason
from hekla.simulation.measures.causes import RunCauses
from hekla.simulation.measures.spans import edges_of
from hekla.simulation.measures.usage import capacity
from hekla.simulation.measures.words import PARTS, number, spoken_part
from hekla.simulation.run import Cause, Floats, Run

SMALLEST_TOLD = 0.0005
"""Less than that is 0.0%."""
MOST_TOLD = 3
"""Causes of what is idle that a sentence names."""


class CauseOfWaits(msgspec.Struct, frozen=True):
    """How long one cause bound jobs."""

    cause: Cause
    seconds: float
    """All jobs together."""
    part: float
    """Of all that these jobs waited."""
    jobs: int
    """How many it ever bound."""

    def as_data(self) -> dict[str, object]:
        figures = {"seconds": number(self.seconds), "part": number(self.part, PARTS), "jobs": self.jobs}
        return {**cause_data(self.cause), **figures}


class CauseOfIdle(msgspec.Struct, frozen=True):
    """How much was idle while one cause bound jobs that asked for it."""

    cause: Cause | None
    """None: no job asked for it."""
    part: float
    """Of the capacity, from 0 to 1."""

    def as_data(self) -> dict[str, object]:
        return {**cause_data(self.cause), "part": number(self.part, PARTS)}


class LostTime(msgspec.Struct, frozen=True):
    """Causes in order of what they cost, the dearest first; those that cost nothing are left out."""

    waits: tuple[CauseOfWaits, ...]
    by_queue: Mapping[str, tuple[CauseOfWaits, ...]]
    """Of queues that had jobs that waited."""
    idle: Mapping[str, tuple[CauseOfIdle, ...]]
    """By resource."""

    def as_data(self) -> dict[str, object]:
        return {
            "waitCauses": [one.as_data() for one in self.waits],
            "waitCausesByQueue": {
                name: [one.as_data() for one in rows] for name, rows in self.by_queue.items()
            },
            "idleCauses": {name: [one.as_data() for one in rows] for name, rows in self.idle.items()},
        }


def cause_data(cause: Cause | None) -> dict[str, object]:
    """The reason and the plugin, null where there is none."""
    if cause is None:
        return {"reason": None, "plugin": None}
    return {"reason": cause.reason.value, "plugin": cause.plugin or None}


def lost_time(run: Run) -> LostTime | None:
    """None where it was not watched why jobs waited."""
    if run.waits is None:
        return None
    known = RunCauses(run)
    by_queue = {
        name: rows
        for at, name in enumerate(run.queues)
        if (rows := _by_cause(known.causes, known.seconds[run.jobs.queue == at]))
    }
    return LostTime(_by_cause(known.causes, known.seconds), by_queue, _idle(run, known))


def _by_cause(causes: Sequence[Cause], seconds: Floats) -> tuple[CauseOfWaits, ...]:
    """Of seconds (jobs, C)."""
    total = seconds.sum(axis=0)
    every = float(total.sum())
    jobs = np.count_nonzero(seconds > 0, axis=0)
    rows = [
        CauseOfWaits(cause, float(total[at]), float(total[at]) / every, int(jobs[at]))
        for at, cause in enumerate(causes)
        if total[at] > 0
    ]
    return tuple(sorted(rows, key=lambda row: -row.seconds))


def _idle(run: Run, known: RunCauses) -> dict[str, tuple[CauseOfIdle, ...]]:
    edges = edges_of(run, 1)
    idle, there = known.idle(edges)[0], capacity(run, edges)[0]
    found = {}
    for column, name in enumerate(run.resources):
        if there[column] > 0:
            parts = idle[column] / there[column]
            rows = [CauseOfIdle(*row) for row in zip((*known.causes, None), parts.tolist(), strict=True)]
            found[name] = tuple(sorted([row for row in rows if row.part > 0], key=lambda row: -row.part))
    return found


WHY_IDLE = {
    WaitReason.STOPPED: "while jobs were stopped",
    WaitReason.QUEUE: "while queues took no jobs",
    WaitReason.GATE: "while jobs were held by gates",
    WaitReason.RELEASE: "while promised nodes were being freed",
    WaitReason.QUEUE_SHARE: "because queues had had their share",
    WaitReason.NO_ROOM: "because it was less than waiting jobs needed",
    WaitReason.FRAGMENTATION: "in pieces too small for waiting jobs",
    WaitReason.FILTERS: "on nodes that waiting jobs may not use",
    WaitReason.TOPOLOGY: "in network domains too small for waiting jobs",
    WaitReason.ORDER: "until the next cycle",
}


def why_idle(cause: Cause | None) -> str:
    """`because overcommit admitted no job`."""
    if cause is None:
        return "because no job asked for it"
    if cause.reason is WaitReason.QUEUE_SHARE and cause.plugin:
        return f"because {cause.plugin} kept queues at their limit"
    return WHY_IDLE.get(cause.reason, f"because {cause.plugin} admitted no job")


def spoken_waits(waits: Sequence[CauseOfWaits]) -> str:
    """`admission limit (overcommit) 87.0%, no room 13.0%`."""
    return ", ".join(f"{one.cause} {spoken_part(one.part)}" for one in waits if one.part >= SMALLEST_TOLD)


def spoken_idle(utilisation: float, idle: Sequence[CauseOfIdle]) -> str:
    """`61.0% used; idle: 30.0% because overcommit admitted no job, 9.0% because no job asked for it`."""
    told = [one for one in idle if one.part >= SMALLEST_TOLD]
    if math.isnan(utilisation) or not told:
        return ""
    parts = [f"{spoken_part(one.part)} {why_idle(one.cause)}" for one in told[:MOST_TOLD]]
    if len(told) > MOST_TOLD:
        parts.append(f"{spoken_part(sum(one.part for one in told[MOST_TOLD:]))} for other reasons")
    return f"{spoken_part(utilisation)} used; idle: {', '.join(parts)}"
