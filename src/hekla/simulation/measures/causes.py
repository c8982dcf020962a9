"""Causes: how long jobs waited for what, and what was idle meanwhile.

A job waits from its submission to its end, but for the times at which as many of its pods as its gang needs
are on nodes or done. At each of these moments one cause binds it. What is idle while jobs wait is shared out
between their causes in proportion to what the jobs ask for, and no more of it than they ask for; what is left
is idle because no job asks for it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.engine.ledger.arrays import distinct
from hekla.simulation.measures.spans import (
    Rows,
    Series,
    Spans,
    cut,
    edges_of,
    part_of,
    ratio,
    taken_in,
    until_end,
)
from hekla.simulation.measures.usage import capacity, running_spans, used_by_queue
from hekla.simulation.run import NOT_ITS_TURN, NOTHING, Cause, Floats, Run, WaitCauses

MOST_PARTS = 50_000
"""What is idle is shared out between any two changes; where there are more of them, in so many parts."""


class CauseSeries(Series, frozen=True):
    """Means in T equal parts of the run, for its C causes."""

    causes: tuple[Cause, ...]
    waiting: Floats
    """(T, Q, C) jobs that waited"""
    idle: Floats
    """(T, R, C + 1) the amount that was idle, in canonical units; the last: no job asked for it"""


class Stays(msgspec.Struct, frozen=True):
    """Spans in which a job waited in one group, in order of job and time."""

    job: Rows
    group: Rows
    """NOTHING where the job started in the first cycle that saw it."""
    began: Floats
    ended: Floats


class Changes(msgspec.Struct, frozen=True):
    """Moments at which a cause begins to bind so many more jobs that ask for the same, or fewer."""

    at: Floats
    job: Rows
    """One of them."""
    cause: Rows
    more: npt.NDArray[np.int64]


def causes_over_time(run: Run, buckets: int = 400) -> CauseSeries:
    """Jobs that waited, by queue and cause, and what was idle, by cause."""
    return RunCauses(run).over_time(buckets)


class RunCauses:
    """What a run says of why its jobs waited."""

    def __init__(self, run: Run) -> None:
        self.run = run
        log = self._log = run.waits or nothing_known()
        self.causes: tuple[Cause, ...] = (NOT_ITS_TURN, *(c for c in log.causes if c != NOT_ITS_TURN))
        """All that cycles looked for; some may have bound no job."""
        numbers = [self.causes.index(cause) for cause in log.causes]
        self._cause: Rows = np.array(numbers, np.int64)[log.cause] if numbers else log.cause.astype(np.int64)

    @cached_property
    def stays(self) -> Stays:
        """Every span in which a job waited, parted where it came into another group."""
        log, (job, began, ended) = self._log, waiting_spans(self.run)
        order = np.lexsort((log.since, log.job))
        group, since = np.where(np.isin(log.group, log.of_group), log.group, NOTHING)[order], log.since[order]
        span = place_of(job, began, log.job[order], since)
        span[span >= 0] = np.where(since < np.append(ended, 0.0)[span], span, NOTHING)[span >= 0]
        group, since, span = group[span >= 0], since[span >= 0], span[span >= 0]
        is_first = np.append(True, span[1:] != span[:-1])[: len(span)]
        is_last = np.append(span[1:] != span[:-1], True)[: len(span)]
        # What a job waited for in the first cycle that saw it wait, it waited for from the beginning.
        starts = np.where(is_first, began[span], since)
        ends = np.where(is_last, ended[span], np.append(since[1:], 0.0)[: len(span)])
        unseen = np.setdiff1d(np.arange(len(job)), span)
        columns = (
            np.concatenate((job[span], job[unseen])),
            np.concatenate((group, np.full(len(unseen), NOTHING))),
            np.concatenate((starts, began[unseen])),
            np.concatenate((ends, ended[unseen])),
        )
        order = np.lexsort((columns[2], columns[0]))
        return Stays(*(column[order] for column in columns))

    @cached_property
    def seconds(self) -> Floats:
        """(J, C) Seconds that each job waited, by cause."""
        stays = self.stays
        bound = self._bound_until(stays.group, stays.ended) - self._bound_until(stays.group, stays.began)
        in_none = stays.group < 0
        bound[in_none, 0] = (stays.ended - stays.began)[in_none]
        found = np.zeros((len(self.run.jobs), len(self.causes)))
        np.add.at(found, stays.job, bound)
        return found

    def _bound_until(self, group: Rows, moments: Floats) -> Floats:
        """(rows, C) For how long each cause had bound the group then; only differences have a meaning."""
        log = self._log
        lasted = np.where(
            np.append(np.diff(log.of_group) == 0, False)[: len(log.changed)], _gaps(log.changed), 0.0
        )
        by_cause = np.zeros((len(lasted) + 1, len(self.causes)))
        by_cause[np.arange(len(lasted)) + 1, self._cause] = lasted
        # Sums run on through all groups: within one, differences are what its own causes lasted.
        before = by_cause.cumsum(axis=0)
        row = self._row_at(group, moments)
        known = np.flatnonzero(row >= 0)
        found = np.zeros((len(group), len(self.causes)))
        found[known] = before[row[known]]
        found[known, self._cause[row[known]]] += moments[known] - log.changed[row[known]]
        return found

    def _row_at(self, group: Rows, moments: Floats, *, is_just_before: bool = False) -> Rows:
        """(rows,) Where the log says what bound the group at that moment, or first of all."""
        log = self._log
        row = place_of(log.of_group, log.changed, group, moments, "left" if is_just_before else "right")
        first = np.searchsorted(log.of_group, group)
        is_known = np.append(log.of_group, NOTHING)[np.minimum(first, len(log.of_group))] == group
        return np.where(is_known & (group >= 0), np.maximum(row, first), NOTHING)

    def _cause_at(self, row: Rows) -> Rows:
        return np.append(self._cause, 0)[row]

    @cached_property
    def changes(self) -> Changes:
        """Everything that changes how many jobs a cause binds."""
        stays, log = self.stays, self._log
        came = self._cause_at(self._row_at(stays.group, stays.began))
        left = self._cause_at(self._row_at(stays.group, stays.ended, is_just_before=True))
        moved = np.flatnonzero(np.diff(log.of_group, prepend=NOTHING) == 0)
        count, some = self._members(log.of_group[moved], log.changed[moved])
        moved, count, some = moved[count > 0], count[count > 0], some[count > 0]
        ones = np.ones(len(stays.job), np.int64)
        return Changes(
            np.concatenate((stays.began, stays.ended, log.changed[moved], log.changed[moved])),
            np.concatenate((stays.job, stays.job, some, some)),
            np.concatenate((came, left, self._cause[moved], self._cause[moved - 1])),
            np.concatenate((ones, -ones, count, -count)),
        )

    def _members(self, group: Rows, moments: Floats) -> tuple[Rows, Rows]:
        """How many jobs waited in the group just before that moment and wait on, and one of them."""
        stays = self.stays
        came = np.lexsort((stays.began, stays.group))
        left = np.lexsort((stays.ended, stays.group))
        first = np.searchsorted(stays.group[came], group)
        began = place_of(stays.group[came], stays.began[came], group, moments, "left")
        ended = place_of(stays.group[left], stays.ended[left], group, moments, "right")
        count = np.maximum(began, first - 1) - np.maximum(ended, first - 1)
        some = np.append(stays.job[came], 0)[np.minimum(first, len(came))]
        return count, some

    def over_time(self, buckets: int) -> CauseSeries:
        """Means in equal parts of the run."""
        run, kinds, edges = self.run, len(self.causes), edges_of(self.run, buckets)
        queue = run.jobs.queue[self.changes.job].astype(np.int64)
        group = np.where(queue >= 0, queue * kinds + self.changes.cause, NOTHING)
        waiting = self._from_then_on(edges, group, len(run.queues) * kinds).mean(self.changes.more)
        parts = waiting.reshape(len(edges) - 1, len(run.queues), kinds)
        return CauseSeries(edges, self.causes, np.maximum(parts, 0.0), self.idle(edges))

    def _from_then_on(self, edges: Floats, group: Rows, groups: int) -> Spans:
        """A change holds to the end of the run."""
        at = self.changes.at
        return cut(edges, at, np.full(len(at), self.run.end), group, groups)

    def idle(self, edges: Floats) -> Floats:
        """(T, R, C + 1) The mean amount that was idle in each part, by cause."""
        run, kinds = self.run, len(self.causes)
        fine = self._fine_edges(edges)
        seconds, part = np.diff(fine), part_of(edges, fine[:-1])
        free = np.maximum(capacity(run, fine) - used_by_queue(run, fine).sum(axis=1), 0.0)
        spans = self._from_then_on(fine, self.changes.cause, kinds)
        found = np.zeros((len(edges) - 1, len(run.resources), kinds + 1))
        for column in range(len(run.resources)):
            asked = np.maximum(spans.mean(self.changes.more * needed(run)[self.changes.job, column]), 0.0)
            shared = shared_out(free[:, column], asked) * seconds[:, None]
            np.add.at(found[:, column], part, shared)
        return ratio(found, np.diff(edges)[:, None, None])

    def _fine_edges(self, edges: Floats) -> Floats:
        """These edges, and between them every moment at which something changes, if they are not too many."""
        run = self.run
        moments = (
            edges,
            self.changes.at,
            run.pod_runs.began,
            until_end(run, run.pod_runs.ended),
            run.nodes.service_began,
            until_end(run, run.nodes.service_ended),
        )
        every = distinct(np.clip(np.concatenate(moments), edges[0], edges[-1]))
        if len(every) <= max(MOST_PARTS, 2):
            return every if len(every) > 1 else edges
        return distinct(np.concatenate((edges, np.linspace(edges[0], edges[-1], MOST_PARTS))))


def shared_out(free: Floats, asked: Floats) -> Floats:
    """(T, C + 1) What is free by what is asked for: in proportion, and no more; the rest comes last.

    free: (T,), asked: (T, C)
    """
    total = asked.sum(axis=1)
    taken = ratio(asked, total[:, None]) * np.minimum(free, total)[:, None]
    return np.column_stack((taken, np.maximum(free - taken.sum(axis=1), 0.0)))


def needed(run: Run) -> npt.NDArray[np.int64]:
    """(J, R) What each job asks for to start."""
    jobs = run.jobs
    pods = np.maximum(jobs.pods, 1).astype(np.int64)
    minimum = np.clip(jobs.minimum, 1, pods).astype(np.int64)
    return jobs.requests * minimum[:, None] // pods[:, None]


def waiting_spans(run: Run) -> tuple[Rows, Floats, Floats]:
    """Spans in which a job waited, in order of job and time: the job, from when, to when."""
    job, began, ended = running_spans(run)
    known = np.flatnonzero(taken_in(run))
    among = np.isin(job, known)
    job, began, ended = job[among], began[among], ended[among]
    # From the submission, or the end of a time in which it ran, to the next such time, or its end.
    starts = np.concatenate((run.jobs.submitted[known], ended))
    ends = np.concatenate((began, until_end(run, run.jobs.finished)[known]))
    of_start, of_end = np.concatenate((known, job)), np.concatenate((job, known))
    by_start, by_end = np.lexsort((starts, of_start)), np.lexsort((ends, of_end))
    waiting, since, until = of_start[by_start], starts[by_start], ends[by_end]
    some = since < until
    return waiting[some], since[some], until[some]


def place_of(
    groups: Rows, times: Floats, group: Rows, moments: Floats, side: Literal["left", "right"] = "right"
) -> Rows:
    """(rows,) The last place in times of a group up to a moment; -1, or one of the group before, without.

    groups, times: in order of group and time. With `left` the moment itself does not count.
    """
    known, rank = np.unique(np.concatenate((times, moments)), return_inverse=True)
    steps = len(known) + 1
    keys = (groups.astype(np.int64) + 1) * steps + rank[: len(times)]
    wanted = (group.astype(np.int64) + 1) * steps + rank[len(times) :]
    place = np.searchsorted(keys, wanted, side) - 1
    return np.where(np.append(groups, NOTHING)[place] == group, place, NOTHING)


def _gaps(times: Floats) -> Floats:
    """From each to the next; none after the last."""
    return np.diff(times, append=times[-1:])


def nothing_known() -> WaitCauses:
    whole, moments = np.zeros(0, np.int32), np.zeros(0)
    return WaitCauses((), whole, whole, moments, whole, moments, np.zeros(0, np.uint8))
