"""Overruled: plugins that spare pods, where others may have these pods evicted all the same.

Victims are agreed on tier by tier. The first tier that names one decides alone, so that a plugin is not
heard where another tier decides; and inside a tier, where two plugins have no victim in common, the next
plugin starts afresh. So a plugin is sure to be heeded only where no other tier answers and no plugin behind
it may start afresh. See ADR 0004.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hekla.conf.mistakes import Mistake, warning
from hekla.conf.questions import EVICTABLE, PREEMPTABLE, RECLAIMABLE, Context, Question, listed


@dataclass(frozen=True)
class Eviction:
    """An action that evicts: the question it asks, and the plugins that name every candidate."""

    action: str
    question: Question
    naming_all: frozenset[str] = frozenset()
    has_mode: bool = False
    """Whether `victimMode: intersectAll` makes it heed every plugin."""


EVICTIONS = (
    Eviction("preempt", PREEMPTABLE, has_mode=True),
    Eviction("reclaim", RECLAIMABLE, has_mode=True),
    # Gangpreempt itself looks at less important jobs alone: of these, priority names all.
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
NOT_PROTECTING = frozenset({"drf", "tdm"})
"""They look for victims on grounds of their own; pods that they leave out are not meant to be safe."""


def sparing_plugins_are_heeded(context: Context) -> Iterator[Mistake]:
    for eviction in EVICTIONS:
        arguments = context.conf.arguments_of(eviction.action)
        heeds_all = eviction.has_mode and arguments.get("victimMode") == "intersectAll"
        if eviction.action in context.conf.actions and not heeds_all:
            yield from _told(eviction, context)


def _told(eviction: Eviction, context: Context) -> Iterator[Mistake]:
    tiers = context.answering(eviction.question)
    names = [
        name for name in overruled(list(tiers.values()), eviction.naming_all) if name not in NOT_PROTECTING
    ]
    if names:
        verb = "spare" if len(names) > 1 else "spares"
        whom = listed([f"{name} ({SPARED[name]})" if name in SPARED else name for name in names], "and")
        message = f"{eviction.action} may evict pods that {whom} {verb}: {_why(eviction, tiers)}"
        where = context.of_plugin.get(names[0], "tiers")
        yield warning(where, f"{message}; {_advice(eviction, tiers)}")


def overruled(tiers: Sequence[Sequence[str]], naming_all: Collection[str] = ()) -> list[str]:
    """The plugins whose objection may count for nothing, by tier those that answer, in their order."""
    return [
        name
        for tier in tiers
        for at, name in enumerate(tier)
        if name not in naming_all and (len(tiers) > 1 or _is_forgotten(tier, at, naming_all))
    ]


def _is_forgotten(tier: Sequence[str], at: int, naming_all: Collection[str]) -> bool:
    """Whether two plugins, from this one on, may have no victim in common, with a plugin behind them."""
    sparing = [place for place, name in enumerate(tier) if name not in naming_all]
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
    sparing = [name for name in names if name not in eviction.naming_all]
    others = [name for name in names if name in eviction.naming_all]
    ways = []
    if len(sparing) <= 2 and len(tiers) > 1:
        ways.append("put them into one tier" + (f", {listed(others, 'and')} first" if others else ""))
    elif len(sparing) <= 2:
        ways.append(f"put {listed(others, 'and')} before the others")
    if eviction.has_mode:
        ways.append(f"set victimMode: intersectAll for {eviction.action}")
    return ", or ".join(ways) or "leave one of them out"
