"""Overruled: plugins that spare pods, where others may have these pods evicted all the same.

Victims are agreed on tier by tier. The first tier that names one decides alone, so that a plugin is not
heard where another tier decides; and inside a tier, where two plugins have no victim in common, the next
plugin starts afresh. So a plugin is sure to be heeded only where no other tier answers and nobody behind it
may start afresh. See ADR 0004.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hekla.conf.mistakes import Mistake, warning
from hekla.conf.questions import EVICTABLE, PREEMPTABLE, RECLAIMABLE, Context, Question, listed


@dataclass(frozen=True)
class Eviction:
    """An action that evicts: whom it asks, and which plugins have nothing against any victim."""

    action: str
    question: Question
    sparing_nobody: frozenset[str] = frozenset()
    has_mode: bool = False
    """Whether `victimMode: intersectAll` makes it heed every plugin."""


EVICTIONS = (
    Eviction("preempt", PREEMPTABLE, has_mode=True),
    Eviction("reclaim", RECLAIMABLE, has_mode=True),
    # Gangpreempt itself looks at less important jobs alone, so that priority has nobody left to spare.
    Eviction("gangpreempt", EVICTABLE, frozenset({"gang", "capacity", "priority"})),
    Eviction("gangreclaim", EVICTABLE, frozenset({"gang", "priority"})),
)
SPARED = {
    "capacity": "queues within what they deserve",
    "cdp": "pods that have just started",
    "conformance": "system pods",
    "gang": "the minimum of a gang",
    "pdb": "pods that a disruption budget keeps",
    "priority": "jobs of the same or a higher priority",
    "proportion": "queues within what they deserve",
}
PROTECTING_NOBODY = frozenset({"drf", "tdm"})
"""They look for victims on grounds of their own; whom they leave out is not meant to be safe."""


def sparing_plugins_are_heeded(context: Context) -> Iterator[Mistake]:
    for eviction in EVICTIONS:
        arguments = context.conf.arguments_of(eviction.action)
        heeds_all = eviction.has_mode and arguments.get("victimMode") == "intersectAll"
        if eviction.action in context.conf.actions and not heeds_all:
            yield from _told(eviction, context)


def _told(eviction: Eviction, context: Context) -> Iterator[Mistake]:
    tiers = context.answering(eviction.question)
    names = [
        name
        for name in overruled(list(tiers.values()), eviction.sparing_nobody)
        if name not in PROTECTING_NOBODY
    ]
    if names:
        verb = "spare" if len(names) > 1 else "spares"
        whom = listed([f"{name} ({SPARED[name]})" if name in SPARED else name for name in names], "and")
        message = f"{eviction.action} may evict whom {whom} {verb}: {_why(eviction, tiers)}"
        where = context.of_plugin.get(names[0], "tiers")
        yield warning(where, f"{message}; {_advice(eviction, tiers)}")


def overruled(tiers: Sequence[Sequence[str]], sparing_nobody: Collection[str] = ()) -> list[str]:
    """The plugins whose objection may count for nothing, by tier those that answer, in their order."""
    return [
        name
        for tier in tiers
        for at, name in enumerate(tier)
        if name not in sparing_nobody and (len(tiers) > 1 or _is_forgotten(tier, at, sparing_nobody))
    ]


def _is_forgotten(tier: Sequence[str], at: int, sparing_nobody: Collection[str]) -> bool:
    """Whether two plugins may have nobody in common, from this one on, with another one behind them."""
    sparing = [place for place, name in enumerate(tier) if name not in sparing_nobody]
    return any(sparing[0] < place < len(tier) - 1 for place in sparing if place >= at)


def _why(eviction: Eviction, tiers: Mapping[int, Sequence[str]]) -> str:
    point = eviction.question.point
    if len(tiers) > 1:
        placed = listed([f"{', '.join(names)} in tiers[{row}]" for row, names in tiers.items()], "and")
        return f"{placed} answer {point}, and the first tier that names a victim decides alone"
    [(row, names)] = tiers.items()
    behind = "where two of them have no victim in common, the next one starts afresh"
    return f"{listed(names, 'and')} in tiers[{row}] answer {point}, and {behind}"


def _advice(eviction: Eviction, tiers: Mapping[int, Sequence[str]]) -> str:
    names = [name for tier in tiers.values() for name in tier]
    sparing = [name for name in names if name not in eviction.sparing_nobody]
    others = [name for name in names if name in eviction.sparing_nobody]
    ways = []
    if len(sparing) <= 2 and len(tiers) > 1:
        ways.append("put them into one tier" + (f", {listed(others, 'and')} first" if others else ""))
    elif len(sparing) <= 2:
        ways.append(f"put {listed(others, 'and')} before the others")
    if eviction.has_mode:
        ways.append(f"set victimMode: intersectAll for {eviction.action}")
    return ", or ".join(ways) or "leave one of them out"
