"""Bars and columns: the marks of the pictures.

Pods of one job that come to a node and leave it together are one bar. A bar is as high as the part of its
node that it asks for, counted in slots. Bars that overlap in time do not overlap in height, while there is a
slot left.

A packed column is `{"packed": how, "size": n, "bytes": base64}`; `assets/data.js` unpacks it. Numbers that
follow closely on each other are kept as differences, and every number takes as many bytes as it needs.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.simulation.run import PodRuns, Run

MOST_BARS = 200_000
"""More than that makes pages that browsers are slow to open, and no screen shows them."""

SLOTS = 24
"""Per node, unless more bars lie side by side: halves, thirds, quarters and eighths come out even."""

MOST_SLOTS = 240

Rows = npt.NDArray[np.intp]


class Bars(msgspec.Struct, frozen=True):
    """One row per bar, ordered by node and beginning."""

    job: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    began: npt.NDArray[np.float64]
    ended: npt.NDArray[np.float64]
    ending: npt.NDArray[np.uint8]
    pods: npt.NDArray[np.int64]
    slot: npt.NDArray[np.uint8]
    height: npt.NDArray[np.uint8]
    slots: int
    """How many a node has."""
    left_out: int
    """Bars beyond the limit: the shortest ones."""
    time_left_out: float
    """Their part of the pods' time, from 0 to 1."""

    def __len__(self) -> int:
        return len(self.job)


def bars(run: Run, most: int = MOST_BARS) -> Bars:
    """What is drawn of the run's pod runs, `most` bars at the utmost."""
    pod_runs = run.pod_runs
    first, pods, amounts = merged(run, pod_runs)
    length = (pod_runs.ended[first] - pod_runs.began[first]) * pods
    kept = np.sort(np.argsort(-length, kind="stable")[:most])
    rows, total = first[kept], float(length.sum())
    share = node_share(run, rows, amounts[kept])
    slot, height, slots = stacked(pod_runs, rows, share)
    return Bars(
        job=pod_runs.job[rows],
        node=pod_runs.node[rows],
        began=pod_runs.began[rows],
        ended=pod_runs.ended[rows],
        ending=pod_runs.ending[rows],
        pods=pods[kept],
        slot=slot,
        height=height,
        slots=slots,
        left_out=len(first) - len(kept),
        time_left_out=1.0 - float(length[kept].sum()) / total if total > 0 else 0.0,
    )


def merged(run: Run, pod_runs: PodRuns) -> tuple[Rows, npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Per bar: the first of its pod runs, how many there are, and what they ask for together.

    -> (B,) (B,) (B, R), ordered by node, beginning and job
    """
    order = np.lexsort((pod_runs.ending, pod_runs.ended, pod_runs.job, pod_runs.began, pod_runs.node))
    keys = (pod_runs.node, pod_runs.began, pod_runs.job, pod_runs.ended, pod_runs.ending)
    is_first = np.ones(len(order), bool)
    if len(order):
        is_first[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    starts = np.flatnonzero(is_first)
    counts = np.diff(starts, append=len(order))
    asked = run.shapes[pod_runs.shape[order]].astype(np.float64)
    amounts = np.add.reduceat(asked, starts, axis=0) if len(starts) else asked
    return order[starts], counts, amounts


def node_share(run: Run, rows: Rows, amounts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The largest part of its node that each bar asks for, of any resource."""
    has = run.nodes.allocatable[run.pod_runs.node[rows]].astype(np.float64)
    parts = np.divide(amounts, has, out=np.zeros_like(amounts), where=has > 0)
    share: npt.NDArray[np.float64] = parts.max(axis=1, initial=0.0)
    return share.clip(0.0, 1.0)


def stacked(
    pod_runs: PodRuns, rows: Rows, share: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], int]:
    """The lowest slot and the height of each bar, and how many slots a node has."""
    node, began, ended = (column[rows].tolist() for column in (pod_runs.node, pod_runs.began, pod_runs.ended))
    slots = int(np.clip(most_at_once(pod_runs, rows), SLOTS, MOST_SLOTS))
    wanted = np.maximum(1, np.round(share * slots)).astype(int).tolist()
    slot, height = bytearray(len(rows)), bytearray(len(rows))
    everything = (1 << slots) - 1
    present: list[tuple[float, int]] = []
    free, at = everything, -1
    for bar in range(len(rows)):
        if node[bar] != at:
            present, free, at = [], everything, node[bar]
        for end, mask in present:
            if end <= began[bar]:
                free |= mask
        present = [(end, mask) for end, mask in present if end > began[bar]]
        slot[bar], height[bar] = place(free, wanted[bar], slots)
        mask = ((1 << height[bar]) - 1) << slot[bar]
        # Only what it really took is given back: without a free slot it lies over other bars.
        present.append((ended[bar], mask & free))
        free &= ~mask
    return np.frombuffer(bytes(slot), np.uint8), np.frombuffer(bytes(height), np.uint8), slots


def place(free: int, wanted: int, slots: int) -> tuple[int, int]:
    """The lowest run of free slots that is long enough, else of those that there are the longest."""
    for height in range(min(wanted, slots), 0, -1):
        starts = free
        for step in range(1, height):
            starts &= free >> step
        if starts:
            return (starts & -starts).bit_length() - 1, height
    return slots - 1, 1


def most_at_once(pod_runs: PodRuns, rows: Rows) -> int:
    """The largest number of bars that lie on one node at the same time."""
    if not len(rows):
        return 0
    node = np.concatenate([pod_runs.node[rows], pod_runs.node[rows]])
    when = np.concatenate([pod_runs.ended[rows], pod_runs.began[rows]])
    change = np.repeat([-1, 1], len(rows))
    order = np.lexsort((change, when, node))
    # Every node begins and ends with none, so that one sum serves them all.
    return int(np.cumsum(change[order]).max())


Packed = dict[str, object]
Whole = npt.NDArray[np.integer[Any]]

LONGEST = 10
"""Bytes that 64 bits take, seven in each."""


def varints(values: Whole) -> Packed:
    """Whole numbers, small ones in few bytes."""
    return _packed("varints", len(values), varint_bytes(zigzag(values.astype(np.int64))))


def deltas(values: Whole) -> Packed:
    """Whole numbers as differences, each to the one before."""
    changes = values.astype(np.int64)
    changes[1:] -= changes[:-1].copy()
    return _packed("deltas", len(values), varint_bytes(zigzag(changes)))


def octets(values: npt.NDArray[np.uint8]) -> Packed:
    return _packed("bytes", values.size, values.tobytes())


def floats(values: npt.NDArray[np.float64]) -> Packed:
    """Rounded to what a picture shows; NaN stays."""
    return _packed("floats", values.size, values.astype("<f4").tobytes())


def zigzag(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """0, -1, 1, -2, 2 become 0, 1, 2, 3, 4: the sign moves into the lowest bit."""
    return ((values << 1) ^ (values >> 63)).astype(np.uint64)


def varint_bytes(values: npt.NDArray[np.uint64]) -> bytes:
    """Seven bits per byte, lowest first; the eighth says that more follow."""
    places = np.arange(LONGEST, dtype=np.uint64) * np.uint64(7)
    rest = values[:, None] >> places
    digits = (rest & np.uint64(127)).astype(np.uint8)
    has_more = (rest >> np.uint64(7)) > 0
    is_part = (rest > 0) | (np.arange(LONGEST) == 0)
    with_flags = np.where(has_more, digits | np.uint8(128), digits)
    return bytes(with_flags[is_part].tobytes())


def milliseconds(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Rounded; -1 for a time that never came."""
    return np.where(np.isnan(seconds), -1, np.round(np.nan_to_num(seconds) * 1000)).astype(np.int64)


def _packed(how: str, size: int, content: bytes) -> Packed:
    return {"packed": how, "size": size, "bytes": b64encode(content).decode("ascii")}
