"""Spans: amounts held from one moment to another, as exact integrals over equal parts of a run.

A span covers its beginning and not its end. Whole parts are summed as integers, so nothing is left over where
all that came has gone; only the parts in which a span begins or ends take fractions.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.simulation.run import NOTHING, Amounts, Ending, Floats, Run, State

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.integer]


class Series(msgspec.Struct, frozen=True):
    """Something over T equal parts of a run."""

    edges: Floats
    """(T + 1,) seconds"""

    @property
    def times(self) -> Floats:
        """(T,) the middle of each part."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    @property
    def seconds(self) -> Floats:
        """(T,) how long each part is."""
        return np.diff(self.edges)


class Spans(msgspec.Struct, frozen=True):
    """Spans cut at the edges of the parts, each belonging to a group."""

    parts: int
    groups: int
    group: Rows
    first: Rows
    """The part in which each begins."""
    last: Rows
    """The part in which each ends."""
    head: Floats
    """Seconds in the first part."""
    tail: Floats
    """Seconds in the last part, where that is another one."""
    seconds: Floats
    """(parts,) how long each part is."""

    def integral(self, amount: Amounts | int = 1) -> Floats:
        """(parts, groups) What the spans held in each part, times the seconds that they held it.

        amount: (spans,) or one for all
        """
        amounts = np.broadcast_to(np.asarray(amount, np.int64), self.group.shape)
        size = self.parts * self.groups
        begins, ends = self.first * self.groups + self.group, self.last * self.groups + self.group
        result = totals(begins, amounts * self.head, size) + totals(ends, amounts * self.tail, size)
        # A span fills all parts after its first and before its last.
        changes = np.zeros(size, np.int64)
        parts_from = begins + self.groups
        inside = parts_from < ends
        np.add.at(changes, parts_from[inside], amounts[inside])
        np.subtract.at(changes, ends[inside], amounts[inside])
        whole = changes.reshape(self.parts, self.groups).cumsum(axis=0)
        return result.reshape(self.parts, self.groups) + whole * self.seconds[:, None]

    def mean(self, amount: Amounts | int = 1) -> Floats:
        """(parts, groups) What the spans held in each part, on average; 0 where a part takes no time."""
        return ratio(self.integral(amount), self.seconds[:, None])


def cut(edges: Floats, began: Floats, ended: Floats, group: Rows | None = None, groups: int = 1) -> Spans:
    """Spans between the edges; what lies outside, or belongs to no group, is left out."""
    group = np.zeros(len(began), np.int64) if group is None else group.astype(np.int64)
    began = np.clip(began, edges[0], edges[-1])
    ended = np.where(group >= 0, np.maximum(np.clip(ended, edges[0], edges[-1]), began), began)
    first, last = part_of(edges, began), part_of(edges, ended)
    is_one = first == last
    return Spans(
        parts=len(edges) - 1,
        groups=groups,
        group=np.maximum(group, 0),
        first=first,
        last=last,
        head=np.where(is_one, ended, edges[first + 1]) - began,
        tail=np.where(is_one, 0.0, ended - edges[last]),
        seconds=np.diff(edges),
    )


def part_of(edges: Floats, moments: Floats) -> npt.NDArray[np.int64]:
    """The part that each moment lies in; the end belongs to the last."""
    return np.clip(np.searchsorted(edges, moments, side="right") - 1, 0, len(edges) - 2)


def edges_of(run: Run, buckets: int) -> Floats:
    """The run in equal parts."""
    return np.linspace(0.0, max(run.end, 0.0), max(buckets, 1) + 1)


def until_end(run: Run, moments: Floats) -> Floats:
    """The moments, and the end of the run for those that never came."""
    return np.where(np.isnan(moments), run.end, np.minimum(moments, run.end))


def queue_of_pod_run(run: Run) -> Rows:
    """(pod_runs,) The queue of its job; nothing for pods of no job."""
    return np.append(run.jobs.queue, NOTHING)[run.pod_runs.job]


def taken_in(run: Run) -> Mask:
    """(J,) The jobs that were not refused."""
    return np.not_equal(run.jobs.state, State.REFUSED)


def ratio(part: Floats, whole: Floats, otherwise: float = 0.0) -> Floats:
    """Element by element; `otherwise` where there is no whole."""
    shape = np.broadcast_shapes(part.shape, whole.shape)
    result = np.full(shape, otherwise)
    np.divide(part, whole, out=result, where=np.broadcast_to(whole > 0, shape))
    return result


def totals(group: Rows, amounts: npt.NDArray[Any], groups: int) -> Floats:
    """(groups,) The sum of the amounts of each group."""
    return np.asarray(np.bincount(group, amounts, groups), np.float64)


class Link(msgspec.Struct, frozen=True):
    """One eviction; jobs are `namespace/name`."""

    at: float
    victim: str
    beneficiary: str

    def as_data(self) -> dict[str, object]:
        return {"at": round(self.at, 3), "victim": self.victim, "beneficiary": self.beneficiary}


class Chains(msgspec.Struct, frozen=True):
    """Evictions in favour of a job, by how many came before them in their chain."""

    by_depth: tuple[int, ...]
    """How many pods were evicted at depth 1, 2, ...; depth 2: the victim had made another give way before."""
    longest: tuple[Link, ...]
    """The links of one longest chain, in order of time."""

    def as_data(self) -> dict[str, object]:
        return {"byDepth": list(self.by_depth), "longest": [link.as_data() for link in self.longest]}


def chains(run: Run) -> Chains:
    """The evictions that name the job they were for, ordered into chains."""
    pod_runs = run.pod_runs
    favours = np.flatnonzero(
        (pod_runs.ending == Ending.EVICTED) & (pod_runs.beneficiary >= 0) & (pod_runs.job >= 0)
    )
    order = favours[
        np.lexsort((pod_runs.beneficiary[favours], pod_runs.job[favours], pod_runs.ended[favours]))
    ]
    victim, beneficiary, at = pod_runs.job[order], pod_runs.beneficiary[order], pod_runs.ended[order]
    depth = depths(victim, beneficiary, at, len(run.jobs))
    names = run.jobs.names
    links = [
        Link(float(at[row]), names[victim[row]], names[beneficiary[row]])
        for row in _longest(victim, beneficiary, at, depth)
    ]
    return Chains(tuple(np.bincount(depth)[1:].tolist()), tuple(links))


def depths(victim: Rows, beneficiary: Rows, at: Floats, jobs: int) -> Rows:
    """(evictions,) 1, or one more than the deepest earlier eviction that was in favour of the victim."""
    depth = np.ones(len(at), np.int64)
    level = np.arange(len(at))
    while len(level):
        # Strictly earlier: what happens in one moment does not follow from itself.
        earliest = np.full(jobs, np.inf)
        np.minimum.at(earliest, beneficiary[level], at[level])
        level = level[earliest[victim[level]] < at[level]]
        depth[level] += 1
    return depth


def _longest(victim: Rows, beneficiary: Rows, at: Floats, depth: Rows) -> list[int]:
    """The rows of the first chain that is as long as any, in order of time."""
    if not len(depth):
        return []
    rows = [int(depth.argmax())]
    while depth[rows[-1]] > 1:
        row = rows[-1]
        led_here = (depth == depth[row] - 1) & (beneficiary == victim[row]) & (at < at[row])
        rows.append(int(led_here.argmax()))
    return rows[::-1]
