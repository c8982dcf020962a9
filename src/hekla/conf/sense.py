"""Sense: combinations that are well written and yet cannot have the effect they are meant for.

Victims are agreed on tier by tier. The first tier that names one decides alone, so that a plugin is not
heard where another tier decides; and inside a tier, where two plugins have no victim in common, the next
plugin starts afresh. So a plugin is sure to be heeded only where no other tier answers and no plugin behind
it may start afresh. See ADR 0004.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hekla.conf.model import Mistake, error, warning
from hekla.conf.questions import EVICTABLE, PREEMPTABLE, RECLAIMABLE, STARVING, CheckedPoint, Context, listed
from hekla.conf.without_effect import (
    budgets_are_no_reason_to_move,
    load_has_a_source,
    preempt_compares_nodes,
    reserved_room_is_there,
    shuffle_has_victims,
    sources_can_be_read,
    times_can_be_read,
)
from hekla.objects.complaint import quoted


@dataclass(frozen=True)
class Eviction:
    """An action that evicts: the question it asks, and the plugins that name every candidate."""

    action: str
    question: CheckedPoint
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
        ways.append(f"put {listed(others, 'and')} before the other plugins")
    if eviction.has_mode:
        ways.append(f"set victimMode: intersectAll for {eviction.action}")
    return ", or ".join(ways) or "leave one of them out"


EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
Rule = Callable[[Context], Iterator[Mistake]]


def check_sense(context: Context) -> list[Mistake]:
    """What cannot work, or works against itself, in a configuration that is otherwise well formed."""
    return [mistake for rule in RULES for mistake in rule(context)]


def hierarchy_excludes_proportion(context: Context) -> Iterator[Mistake]:
    # Volcano looks only inside one tier, although the two fight over queues in any tier.
    plugins = context.plugins
    if "proportion" in plugins and "drf" in plugins and plugins["drf"].enabled("enableHierarchy"):
        message = "drf with enableHierarchy cannot be used with proportion; remove one of them"
        yield error(context.of_plugin.get("drf", "tiers"), message)


def capacity_excludes_proportion(context: Context) -> Iterator[Mistake]:
    if {"capacity", "proportion"} <= set(context.plugins):
        message = "capacity and proportion both divide the cluster between queues; remove one of them"
        yield warning(context.of_plugin.get("capacity", "tiers"), message)


def cards_are_shared_in_one_way(context: Context) -> Iterator[Mistake]:
    entry = context.plugins.get("deviceshare")
    modes = ("GPUSharingEnable", "GPUNumberEnable", "VGPUEnable")
    chosen = [
        mode for mode in modes if entry is not None and entry.arguments.get(f"deviceshare.{mode}") is True
    ]
    if len(chosen) > 1:
        message = f"{' and '.join(chosen)} exclude each other: cards are shared in one way; keep one"
        yield error(context.of_plugin.get("deviceshare", "tiers"), message)


def predicates_are_asked(context: Context) -> Iterator[Mistake]:
    entry = context.plugins.get("predicates")
    if entry is None or entry.enabled("enablePredicate"):
        return
    if entry.arguments.get("predicate.VolumeBindingEnable") is not False:
        message = (
            "with enablePredicate: false nothing is placed, as in Volcano: volumes are reserved by what the "
            "predicates found; set predicate.VolumeBindingEnable: false"
        )
        yield warning(context.of_plugin.get("predicates", "tiers"), message)


def actions_run_once(context: Context) -> Iterator[Mistake]:
    for name, times in Counter(context.conf.actions).items():
        if times > 1:
            yield warning("actions", f"action {quoted(name)} is listed {times} times")


def enqueue_comes_first(context: Context) -> Iterator[Mistake]:
    if {"enqueue", "allocate"} <= set(context.conf.actions):
        last_allocate = len(context.conf.actions) - 1 - context.conf.actions[::-1].index("allocate")
        if last_allocate < context.conf.actions.index("enqueue"):
            message = "allocate runs before enqueue, so every job waits a cycle longer; put enqueue first"
            yield warning("actions", message)


def enqueue_is_there_if_insisted(context: Context) -> Iterator[Mistake]:
    # Without enqueue, allocate admits every job itself; strictEnqueue asks to be told.
    if (
        "enqueue" not in context.conf.actions
        and context.conf.arguments_of("enqueue").get("strictEnqueue") is True
    ):
        yield error("actions", "strictEnqueue is set, but enqueue is not among the actions")


def gang_actions_replace_plain_ones(context: Context) -> Iterator[Mistake]:
    for plain in ("preempt", "reclaim"):
        if {plain, f"gang{plain}"} <= set(context.conf.actions):
            yield warning("actions", f"gang{plain} is meant to replace {plain}; remove one of them")


def evicting_actions_can_evict(context: Context) -> Iterator[Mistake]:
    if not context.knows_all_plugins:
        return
    for action in EVICTING:
        if action in context.conf.actions and (lack := _lack(action, context)):
            yield warning("actions", f"{action} can never {action.removeprefix('gang')}: {lack}")


def _lack(action: str, context: Context) -> str:
    """What the action misses, as the end of a sentence; empty if nothing."""
    if not context.answering(STARVING):
        return f"no plugin can call a job starving; add {_who(STARVING)}"
    question = {"preempt": PREEMPTABLE, "reclaim": RECLAIMABLE}.get(action, EVICTABLE)
    if not context.answering(question):
        return f"no plugin can name victims; add {_who(question)}"
    return ""


def _who(question: CheckedPoint) -> str:
    return listed(question.plugins) + (f" with {question.switch}" if question.switch else "")


def configurations_are_used(context: Context) -> Iterator[Mistake]:
    # The gang actions read the arguments of allocate as well.
    used = set(context.conf.actions)
    if used & {"gangpreempt", "gangreclaim"}:
        used.add("allocate")
    for name in context.conf.configurations:
        if name not in used:
            where = context.of_configuration.get(name, "configurations")
            yield warning(where, f"arguments for {quoted(name)}, which is not among the actions")


RULES: tuple[Rule, ...] = (
    hierarchy_excludes_proportion,
    cards_are_shared_in_one_way,
    capacity_excludes_proportion,
    predicates_are_asked,
    actions_run_once,
    enqueue_comes_first,
    enqueue_is_there_if_insisted,
    gang_actions_replace_plain_ones,
    evicting_actions_can_evict,
    sparing_plugins_are_heeded,
    shuffle_has_victims,
    budgets_are_no_reason_to_move,
    load_has_a_source,
    sources_can_be_read,
    preempt_compares_nodes,
    times_can_be_read,
    reserved_room_is_there,
    configurations_are_used,
)
