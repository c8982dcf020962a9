"""Headline: the figures of a run that are looked at first, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from hekla.engine.model.resources import PODS
from hekla.simulation.measures import ResourceUse, Spread, Summary
from hekla.simulation.measures.words import spoken_number, spoken_part, spoken_seconds, spoken_work
from hekla.simulation.report.tables import Table

Line = tuple[str, str]


class Card(msgspec.Struct, frozen=True):
    """One figure in large letters, and what belongs to it. Cards of all runs have the same lines."""

    title: str
    value: str
    means: str
    """What the value is."""
    lines: tuple[Line, ...] = ()
    meters: tuple[tuple[str, float], ...] = ()
    """Parts of a whole, from 0 to 1, which are drawn."""


def cards(summary: Summary) -> list[Card]:
    return [
        jobs_card(summary),
        wait_card(summary),
        slowdown_card(summary),
        use_card(summary),
        makespan_card(summary),
        evictions_card(summary),
        room_card(summary),
        fairness_card(summary),
    ]


def jobs_card(summary: Summary) -> Card:
    jobs = summary.overall
    lines = (
        ("completed", number(jobs.completed)),
        ("failed", number(jobs.failed)),
        ("still running", number(jobs.running)),
        ("still waiting", number(jobs.waiting)),
        ("refused", number(jobs.refused)),
    )
    return Card("Jobs", number(jobs.jobs), "submitted", lines)


def wait_card(summary: Summary) -> Card:
    wait = summary.overall.wait
    lines = (
        ("p90", spoken_seconds(wait.p90)),
        ("p99", spoken_seconds(wait.p99)),
        ("longest", spoken_seconds(wait.most)),
        ("mean", spoken_seconds(wait.mean)),
        ("never started", number(summary.overall.never_started)),
    )
    return Card("Wait", spoken_seconds(wait.p50), "median, to the first start", lines)


def slowdown_card(summary: Summary) -> Card:
    slowdown = summary.overall.slowdown
    return Card("Slowdown", factor(slowdown.p50), "median, of completed jobs", slowdown_lines(slowdown))


def slowdown_lines(slowdown: Spread) -> tuple[Line, ...]:
    return (
        ("p90", factor(slowdown.p90)),
        ("p99", factor(slowdown.p99)),
        ("largest", factor(slowdown.most)),
        ("mean", factor(slowdown.mean)),
    )


def use_card(summary: Summary) -> Card:
    """In large letters stands the resource that was used most: it is what jobs wait for."""
    most = most_used(summary)
    if most is None:
        return Card("Use", "-", "no capacity")
    meters = tuple((short(use.name), use.utilisation) for use in known_uses(summary))
    return Card("Use", spoken_part(most.utilisation), f"of {short(most.name)}, on average", meters=meters)


def makespan_card(summary: Summary) -> Card:
    lines = (
        ("completed jobs per hour", spoken_number(summary.throughput)),
        ("completion time, p50", spoken_seconds(summary.overall.response.p50)),
        ("p90", spoken_seconds(summary.overall.response.p90)),
    )
    return Card("Makespan", spoken_seconds(summary.makespan), "first submission to last completion", lines)


def evictions_card(summary: Summary) -> Card:
    jobs = summary.overall
    lost = tuple(
        (
            f"lost {short(use.name)}",
            f"{spoken_work(use.name, use.lost)} ({spoken_part(part(use.lost, use.used))})",
        )
        for use in known_uses(summary)
    )
    lines = (
        ("pods failed or lost", number(jobs.failures)),
        ("restarts of jobs", number(jobs.restarts)),
        *lost,
    )
    return Card("Evictions", number(jobs.evictions), "pods taken off", lines)


def room_card(summary: Summary) -> Card:
    """Fragmentation of the resource that was used most, and gangs that waited with a partial fit."""
    known = [use for use in known_uses(summary) if not math.isnan(use.fragmentation)]
    most = most_used(summary)
    lines = (
        ("gangs that waited with a partial fit", number(summary.beside_room_gangs)),
        ("their waits together", spoken_seconds(summary.beside_room_seconds)),
        *((f"{short(use.name)} fragmented", spoken_part(use.fragmentation)) for use in known),
    )
    if most is None or math.isnan(most.fragmentation):
        return Card("Fragmentation", "-", "nothing was idle, or nothing was wanted", lines)
    means = f"of idle {short(most.name)} in pieces too small"
    return Card("Fragmentation", spoken_part(most.fragmentation), means, lines)


def fairness_card(summary: Summary) -> Card:
    satisfied = tuple(
        (queue.queue, queue.satisfaction) for queue in summary.fairness if not math.isnan(queue.satisfaction)
    )
    shown = satisfied[:6]
    return Card("Fairness", plain(summary.jain), "Jain's index; 1 is even", meters=shown)


def queue_table(summary: Summary) -> Table:
    """All queues, also those that share a colour."""
    fairness = {queue.queue: queue for queue in summary.fairness}
    headers = ("Queue", "Jobs", "Completed", "Failed", "Running", "Waiting", "Evicted pods")
    waits = ("Wait p50", "p90", "p99", "Slowdown p50", "Share", "Entitled", "Satisfied")
    rows = [
        (
            group.queue,
            *(number(count) for count in (group.jobs, group.completed, group.failed)),
            *(number(count) for count in (group.running, group.waiting, group.evictions)),
            *(spoken_seconds(seconds) for seconds in (group.wait.p50, group.wait.p90, group.wait.p99)),
            factor(group.slowdown.p50),
            *(
                (spoken_part(mine.share), spoken_part(mine.entitled), spoken_part(mine.satisfaction))
                if (mine := fairness.get(group.queue))
                else ("-", "-", "-")
            ),
        )
        for group in summary.by_queue
    ]
    return Table((*headers, *waits), rows)


def side_by_side(all_cards: Sequence[Sequence[Card]], labels: Sequence[str]) -> Table:
    """The same figures of several runs, one column each."""
    rows: list[list[str]] = []
    leading: list[int] = []
    for beside in zip(*all_cards, strict=True):
        leading.append(len(rows))
        rows.append(leading_row(beside))
        rows.extend(detail_rows(beside))
    return Table(("Figure", *labels), rows, leading=frozenset(leading))


def detail_rows(beside: Sequence[Card]) -> list[list[str]]:
    """One per line that any of the cards has."""
    details = [dict(detail(card)) for card in beside]
    names = dict.fromkeys(name for one in details for name in one)
    return [[name, *(one.get(name, "-") for one in details)] for name in names]


def leading_row(beside: Sequence[Card]) -> list[str]:
    """What a value means stands once, unless it differs: runs may be short of different resources."""
    if len({card.means for card in beside}) == 1:
        return [f"{beside[0].title}: {beside[0].means}", *(card.value for card in beside)]
    return [beside[0].title, *(f"{card.value} {card.means}" for card in beside)]


def known_uses(summary: Summary) -> list[ResourceUse]:
    """Resources of which there is any capacity; places for pods are hardly ever what is short."""
    return [use for use in summary.resources if not math.isnan(use.utilisation) and use.name != PODS]


def most_used(summary: Summary) -> ResourceUse | None:
    return max(known_uses(summary), key=lambda use: use.utilisation, default=None)


def short(resource: str) -> str:
    """Without the vendor's name."""
    return resource.rsplit("/", 1)[-1]


def detail(card: Card) -> list[Line]:
    return [*card.lines, *((name, spoken_part(value)) for name, value in card.meters)]


def number(count: int) -> str:
    return f"{count:,}"


def plain(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def factor(value: float) -> str:
    return spoken_number(value)


def part(amount: float, whole: float) -> float:
    return amount / whole if whole > 0 else 0.0
