"""Use: what pods held of what nodes had, as exact means over equal parts of the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.errors import InputError
from hekla.measures.room import splinters
from hekla.measures.spans import Series, Spans, cut, edges_of, queue_of_stint, ratio, settled
from hekla.sim.run import Amounts, Floats, Run


@dataclass(frozen=True)
class UseSeries(Series):
    """T equal parts of the run, Q queues, R resources, in the run's order; amounts in canonical units."""

    used: Floats
    """(T, Q, R) the mean amount that pods of each queue held"""
    capacity: Floats
    """(T, R) the mean amount that nodes in service had"""
    fragmentation: Floats
    """(T, R) the part of what was idle that a pod of the mix cannot use, from 0 to 1; NaN where none was"""


def use_over_time(run: Run, buckets: int = 400) -> UseSeries:
    """What was used by each queue, what was there, and how much of the rest was in splinters."""
    edges = edges_of(run, buckets)
    stuck, idle = splinters(run, (edges[:-1] + edges[1:]) / 2)
    return UseSeries(edges, used_by_queue(run, edges), capacity(run, edges), ratio(stuck, idle, np.nan))


def used_by_queue(run: Run, edges: Floats) -> Floats:
    """(T, Q, R) The mean amount that pods of each queue held."""
    stints = run.stints
    spans = cut(edges, stints.began, settled(run, stints.ended), queue_of_stint(run), len(run.queues))
    return by_resource(spans, run.shapes[stints.shape])


def capacity(run: Run, edges: Floats) -> Floats:
    """(T, R) The mean amount that nodes in service had."""
    nodes = run.nodes
    spans = cut(edges, nodes.service_began, settled(run, nodes.service_ended))
    return by_resource(spans, nodes.allocatable[nodes.service])[:, 0, :]


def node_use(run: Run, resource: str, buckets: int = 400) -> Floats:
    """(N, T) The mean part of each node's amount that was in use; NaN while it was not there or had none."""
    column, count = column_of(run, resource), len(run.nodes.names)
    edges, stints, nodes = edges_of(run, buckets), run.stints, run.nodes
    held = cut(edges, stints.began, settled(run, stints.ended), stints.node, count)
    there = cut(edges, nodes.service_began, settled(run, nodes.service_ended), nodes.service, count)
    used = held.integral(run.shapes[stints.shape, column])
    return ratio(used, there.integral(nodes.allocatable[nodes.service, column]), np.nan).T


def column_of(run: Run, resource: str) -> int:
    if resource not in run.resources:
        raise InputError(f'no resource "{resource}" in this run; there are: {", ".join(run.resources)}')
    return run.resources.index(resource)


def by_resource(spans: Spans, amounts: Amounts) -> Floats:
    """(parts, groups, R) of amounts (spans, R)."""
    return np.stack([spans.mean(column) for column in amounts.T], axis=-1)
