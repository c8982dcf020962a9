"""Text: the summary of a run for people, in at most 100 columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap

from hekla.engine.model.resources import PODS
from hekla.simulation.measures.lost_time import spoken_idle, spoken_waits
from hekla.simulation.measures.spans import Chains
from hekla.simulation.measures.summary import Fairness, Summary, summarize
from hekla.simulation.measures.waits import JobGroup, Spread
from hekla.simulation.measures.words import spoken_number, spoken_part, spoken_seconds, spoken_work
from hekla.simulation.run import Run
from hekla.text import aligned, counted, shortened

WIDTH = 100
LABEL = 15
LONGEST_NAME = 20
MOST_QUEUES = 30
LONGEST_CHAIN = 6
"""Jobs of a chain that are named; the rest is counted."""

Cells = Sequence[str]


def summary_lines(run: Run, summary: Summary | None = None) -> list[str]:
    """A headline block, a table by queue and one by size, and the jobs that never ran."""
    summary = summarize(run) if summary is None else summary
    blocks = [
        [line for label, text in headlines(run, summary) for line in _labelled(label, text)],
        queue_table(summary),
        size_table(summary),
        [line for sentence in left_behind(summary) for line in wrap(sentence, WIDTH)],
    ]
    return [line for block in blocks if block for line in ("", *block)][1:]


def headlines(run: Run, summary: Summary) -> Iterator[tuple[str, str]]:
    """What the run came to, label and text."""
    overall = summary.overall
    yield "jobs", _outcome(overall)
    yield "simulated", _simulated(run, summary)
    if overall.wait.count:
        yield "wait", _spoken_spread(overall.wait)
    if summary.lost_time is not None and summary.lost_time.waits:
        yield "waited for", spoken_waits(summary.lost_time.waits)
    if overall.response.count:
        yield "completion", _spoken_spread(overall.response)
        slowdown = overall.slowdown
        yield "slowdown", f"mean {spoken_number(slowdown.mean)}, p95 {spoken_number(slowdown.p95)}"
    yield from _about_the_cluster(summary)
    yield "evictions", _evictions(summary)
    if len(summary.chains.by_depth) > 1:
        yield "longest chain", _spoken_chain(summary.chains)
    if summary.beside_room_gangs:
        yield "partial fit", _partial_fit(summary)


def _outcome(group: JobGroup) -> str:
    """`1,200: 1,150 completed, 30 failed, 20 waiting`."""
    states = ("completed", "failed", "running", "waiting", "refused")
    counts = [f"{getattr(group, state):,} {state}" for state in states if getattr(group, state)]
    return f"{group.jobs:,}: {', '.join(counts)}" if counts else "none"


def _simulated(run: Run, summary: Summary) -> str:
    text = f"{spoken_seconds(run.end)} in {counted(run.cycles, 'cycle')}"
    if not math.isnan(summary.makespan):
        text += f"; first submission to last completion {spoken_seconds(summary.makespan)}"
    if not math.isnan(summary.throughput):
        text += f", {spoken_number(summary.throughput)} jobs per hour"
    return text if run.is_complete else f"{text}; not to its end"


def _spoken_spread(spread: Spread) -> str:
    figures = ("mean", spread.mean), ("p50", spread.p50), ("p95", spread.p95), ("longest", spread.most)
    return ", ".join(f"{name} {spoken_seconds(value)}" for name, value in figures)


def _about_the_cluster(summary: Summary) -> Iterator[tuple[str, str]]:
    wanted = [use for use in summary.resources if use.used and use.name != PODS]
    if wanted:
        yield "utilisation", ", ".join(f"{use.name} {spoken_part(use.utilisation)}" for use in wanted)
    most = max(wanted, key=lambda use: use.utilisation, default=None)
    if most is not None and summary.lost_time is not None and summary.lost_time.waits:
        idle = spoken_idle(most.utilisation, summary.lost_time.idle.get(most.name, ()))
        if idle:
            yield "idle", f"{most.name}: {idle}"
    broken = [use for use in wanted if not math.isnan(use.fragmentation)]
    if broken:
        parts = ", ".join(f"{use.name} {spoken_part(use.fragmentation)}" for use in broken)
        yield "fragmentation", f"{parts} of what was idle"
    if len(summary.fairness) > 1 and not math.isnan(summary.jain):
        yield "fairness", f"Jain's index {summary.jain:.2f} over {len(summary.fairness)} queues"


def _evictions(summary: Summary) -> str:
    """`2, 1 pod failed, 1 restart; lost 65.9 core-hours`."""
    overall = summary.overall
    told = [f"{overall.evictions:,}"]
    if overall.failures:
        told.append(f"{counted(overall.failures, 'pod')} failed")
    if overall.restarts:
        told.append(counted(overall.restarts, "restart"))
    lost = [spoken_work(use.name, use.lost) for use in summary.resources if use.lost and use.name != PODS]
    return ", ".join(told) + (f"; lost {', '.join(lost)}" if lost else "")


def _spoken_chain(chains: Chains) -> str:
    """`a gave way to b, b to c`, and how many more."""
    links = chains.longest[: LONGEST_CHAIN - 1]
    steps = [
        f"{link.victim} {'to' if row else 'gave way to'} {link.beneficiary}" for row, link in enumerate(links)
    ]
    beyond = len(chains.longest) - len(links)
    return ", ".join(steps) + (f", and {beyond} more" if beyond else "")


def _partial_fit(summary: Summary) -> str:
    gangs, waited = counted(summary.beside_room_gangs, "gang"), spoken_seconds(summary.beside_room_seconds)
    return f"{gangs} waited {waited} in all while only a part of the gang fitted"


def queue_table(summary: Summary) -> list[str]:
    """The queues with the most jobs, in the run's order; how many are left out is told."""
    heads = ("queue", *_GROUP_HEADS, "share", "entitled", "satisfied")
    fairness = {one.queue: one for one in summary.fairness}
    shown = sorted(summary.by_queue, key=lambda group: -group.jobs)[:MOST_QUEUES]
    rows = [
        (shortened(group.queue, LONGEST_NAME), *_group_cells(group), *_fairness_cells(fairness[group.queue]))
        for group in summary.by_queue
        if group in shown
    ]
    beyond = len(summary.by_queue) - len(rows)
    more = [f"and {counted(beyond, 'queue')} with fewer jobs"] if beyond else []
    return aligned(heads, rows) + more if rows else []


def size_table(summary: Summary) -> list[str]:
    rows = [(group.size, *_group_cells(group)) for group in summary.by_size]
    return aligned(("pods", *_GROUP_HEADS), rows) if rows else []


_GROUP_HEADS = ("jobs", "done", "wait", "p95", "longest", "slowdown", "evicted")


def _group_cells(group: JobGroup) -> Cells:
    return (
        f"{group.jobs:,}",
        f"{group.completed:,}",
        spoken_seconds(group.wait.mean),
        spoken_seconds(group.wait.p95),
        spoken_seconds(group.wait.most),
        f"{group.slowdown.mean:,.1f}" if group.slowdown.count else "-",
        f"{group.evictions:,}",
    )


def _fairness_cells(fairness: Fairness) -> Cells:
    return tuple(map(spoken_part, (fairness.share, fairness.entitled, fairness.satisfaction)))


def left_behind(summary: Summary) -> Iterator[str]:
    """A sentence about jobs that never started, and one about those that were refused."""
    overall, waited = summary.overall, summary.overall.wait_so_far
    if overall.never_started:
        text = f"{counted(overall.never_started, 'job')} never started"
        if waited.count:
            mean, most = spoken_seconds(waited.mean), spoken_seconds(waited.most)
            text += f"; waits so far: mean {mean}, longest {most}"
        yield text
    if overall.refused:
        yield f"{counted(overall.refused, 'job')} refused: queue missing or closed, or not sound"


def _labelled(label: str, text: str) -> list[str]:
    first, *others = wrap(text, WIDTH - LABEL) or [""]
    return [f"{label:{LABEL}}{first}", *(" " * LABEL + other for other in others)]
