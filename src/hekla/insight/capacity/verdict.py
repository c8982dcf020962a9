"""Verdict: the answer in words, and a table of the sizes that were tried."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from textwrap import wrap

from hekla.engine.model.resources import MEMORY, PODS
from hekla.insight.capacity.capacity import CapacityAnswer, SizeFigures
from hekla.insight.capacity.figures import GoalFigure
from hekla.insight.capacity.goals import UTILISATION
from hekla.insight.capacity.held_back import BindingLimit, HeldBack
from hekla.insight.capacity.observed import WarmUp
from hekla.insight.capacity.scale import scale_of
from hekla.insight.capacity.sizing import QuotaSizing
from hekla.objects import Node
from hekla.objects.quantity import exact
from hekla.simulation.measures.words import spoken_part, spoken_seconds
from hekla.simulation.workloads.arrivals import Chance, Jittered, Resampled
from hekla.text import aligned, counted, some_of

WIDTH = 79
BAR = 16
WIDE = 2
"""Sizes from the least to the most that may be enough, from which on it is told how to narrow them."""
MOST_NOTES = 3


def answer_lines(answer: CapacityAnswer) -> list[str]:
    """The answer, how sure it is, and what came of every size that was tried."""
    said = [headline(answer)]
    if answer.sizes:
        said += [*how_sure(answer), *cautions(answer)]
    lines = [line for sentence in said for line in wrap(sentence, WIDTH)]
    return [*lines, "", *size_table(answer)] if answer.sizes else lines


def headline(answer: CapacityAnswer) -> str:
    """The smallest size, or why there is none."""
    if not answer.is_complete:
        return _so_far(answer)
    if answer.smallest is None:
        return _why_none(answer)
    size = answer.sizing.spoken(answer.smallest)
    if answer.missed:
        served = _listed([str(goal) for goal in answer.goals if goal.is_served_by_more])
        told = _listed([f"{each.goal.key} is {each.goal.spoken(each.value)}" for each in answer.missed])
        wanted = _listed([str(each.goal) for each in answer.missed])
        return f"no size meets all goals: {served} takes {size}, and there {told} ({wanted} is asked for)"
    is_first = answer.smallest == answer.sizing.values[0]
    few = ", the least that was to be tried," if is_first and answer.low == answer.smallest else ""
    verb = "are" if size.endswith("nodes") else "is"
    return f"{size}{few} {verb} enough for {goals_in_words(answer)}{_in_all(answer)}"


def goals_in_words(answer: CapacityAnswer) -> str:
    return _listed([str(goal) for goal in answer.goals])


def _listed(words: Sequence[str]) -> str:
    return " and ".join(", ".join(words).rsplit(", ", 1))


def _in_all(answer: CapacityAnswer) -> str:
    """What these nodes have together, where nodes are what is counted."""
    if isinstance(answer.sizing, QuotaSizing) or answer.smallest is None:
        return ""
    totals = totals_of(answer.sizing.nodes(answer.smallest))
    told = ", ".join(f"{amount.normalize():f} {name.rpartition('/')[2]}" for name, amount in totals.items())
    return f" ({told} in all)"


def totals_of(nodes: Sequence[Node]) -> dict[str, Decimal]:
    """By resource; memory and places for pods are not what nodes are counted for."""
    totals: Counter[str] = Counter()
    for node in nodes:
        for name, amount in node.status.allocatable.items():
            totals[name] += exact(amount)  # type: ignore[assignment]
    return {name: Decimal(total) for name, total in totals.items() if name not in (MEMORY, PODS)}


def _so_far(answer: CapacityAnswer) -> str:
    enough = [size.value for size in answer.sizes if size.is_met]
    few = [size.value for size in answer.sizes if not size.is_met and (not enough or size.value < enough[0])]
    told = []
    if enough:
        told.append(f"enough: {answer.sizing.spoken(enough[0])}")
    if few:
        told.append(f"not enough: {answer.sizing.spoken(few[-1])}")
    known = "; ".join(told) or "no size has been tried with all seeds"
    return f"stopped before the smallest size was found: {known}"


def _why_none(answer: CapacityAnswer) -> str:
    """`no number of nodes helps: capability cpu=64 of queue research holds it back`."""
    held, sizing = answer.held_back, answer.sizing
    assert held is not None
    largest, no_size = sizing.spoken(sizing.values[-1]), f"no {sizing.subject} helps"
    goals = goals_in_words(answer)
    match held.binding:
        case BindingLimit.NODES if sizing.counts_nodes:
            return f"{largest} are too few for {goals}; {held.copies} times as many meet it: widen the range"
        case BindingLimit.NODES:
            return f"{no_size}: there are too few nodes; {held.copies} times as many meet {goals}"
        case BindingLimit.CAPABILITY:
            return f"{no_size}: {_limits(held)}; without it {goals} is met with {largest}"
        case BindingLimit.BOTH:
            return (
                f"{no_size}: {_limits(held)}, and there are too few nodes; without it and with {held.copies} "
                f"times as many nodes {goals} is met"
            )
    return f"{no_size}: {_whatever_there_is(held)}"


def _limits(held: HeldBack) -> str:
    if len(held.queues) == 1:
        return f"queue {held.queues[0]}'s capability ({held.capabilities}) holds it back"
    return f"the capabilities of queues {some_of(held.queues, 4)} hold it back"


def _whatever_there_is(held: HeldBack) -> str:
    """Why the goals are missed however much there is."""
    missed = [each for each in held.figures if each.goal.is_served_by_more and not each.is_met]
    told = _listed([f"{each.goal.label} is {each.goal.spoken(each.value)}" for each in missed])
    still = f"{told} with {held.copies} times as many nodes and no queue's capability"
    if held.notes:
        return f"{still}; {'; '.join(held.notes[:MOST_NOTES])}"
    if all(each.goal.measure == "wait" for each in missed):
        return f"{still}; what jobs wait for is neither nodes nor a queue's capability"
    return f"{still}: the jobs themselves take so long"


def how_sure(answer: CapacityAnswer) -> Iterator[str]:
    """Between which sizes the answer surely lies, and what that rests on."""
    if answer.smallest is not None and answer.is_complete and answer.has_intervals:
        yield f"{_range_in_words(answer)}, with {answer.confidence * 100:g} % confidence"
    yield basis(answer)


def _range_in_words(answer: CapacityAnswer) -> str:
    """`the smallest size lies between 19 and 21`; and how to narrow that where it is wide."""
    low, high, is_fixed = answer.low, answer.high, answer.chance is Chance.NONE
    what = "for other jobs like these, the smallest size" if is_fixed else "the smallest size"
    if high is None:
        return f"{what} is {low} or more, and may lie beyond the range"
    if low == high:
        return f"{what} is {low} and no other"
    wide = [value for value in answer.sizing.values if (low or 0) <= value <= high]
    more = "a longer workload narrows" if is_fixed else "more seeds or a longer workload narrow"
    advice = f" ({more} that down)" if len(wide) > WIDE + 1 else ""
    return f"{what} lies between {low} and {high}{advice}"


def basis(answer: CapacityAnswer) -> str:
    """What was run."""
    seeds = counted(len(answer.seeds), "seed")
    match answer.chance, answer.arrivals:
        case Chance.RESAMPLED, Resampled(block):
            what = f"{seeds}, each of blocks of {spoken_seconds(block)} of the workload drawn anew"
        case Chance.JITTERED, Jittered(most):
            what = f"{seeds}, each with arrivals put off by up to {spoken_seconds(most)}"
        case Chance.FAILURES, _:
            what = f"{seeds}, the same jobs with other failures in each"
        case Chance.ARRIVALS, _:
            what = f"{seeds}, each with other jobs"
        case _:
            blocks = "; intervals are from blocks of consecutive jobs" if answer.has_intervals else ""
            what = f"one run of each size with the jobs as they are{blocks}"
    few = "" if answer.has_intervals else "; too few jobs for intervals: the answer is about these jobs alone"
    return f"{what}{_warmed_up(answer.warm_up)}{few}"


def _warmed_up(warm_up: WarmUp) -> str:
    if not warm_up.part and not warm_up.seconds:
        return ""
    span = f"{warm_up.part * 100:g} %" if warm_up.part else spoken_seconds(warm_up.seconds)
    return f"; the first {span} of each run is left out"


def cautions(answer: CapacityAnswer) -> Iterator[str]:
    """What a reader of the answer should bear in mind."""
    for fewer, more in answer.turns_back:
        yield f"not every larger size is better: {fewer} meets the goals, {more} does not"


def size_table(answer: CapacityAnswer) -> list[str]:
    """A row for every size that was tried; a bar where there is one goal, with a mark at its limit.

    Where that is too wide it goes without the bar, and then without intervals.
    """
    lines: list[str] = []
    for with_intervals, with_bars in ((True, True), (True, False), (False, False)):
        lines = _table(answer, with_intervals=with_intervals, with_bars=with_bars)
        if max(map(len, lines)) <= WIDTH:
            break
    return lines


def _table(answer: CapacityAnswer, *, with_intervals: bool, with_bars: bool) -> list[str]:
    busiest = busiest_resource(answer)
    with_intervals, with_bars = with_intervals and answer.has_intervals, with_bars and len(answer.goals) == 1
    heads = [answer.sizing.heading]
    for goal in answer.goals:
        heads += [goal.label, "interval"] if with_intervals else [goal.label]
    heads += [f"{busiest.rpartition('/')[2]} used"] if busiest else []
    heads += ["", ""] if with_bars else [""]
    width = len(str(answer.sizes[-1].value))
    rows = []
    for size in answer.sizes:
        cells = [f"{size.value:>{width}}"]
        for figure in size.figures:
            cells += [figure.goal.spoken(figure.value)]
            cells += [interval_in_words(figure)] if with_intervals else []
        cells += [spoken_part(size.utilisation[busiest])] if busiest else []
        rows.append([*cells, judgement(size), *([_bar(answer, size)] if with_bars else [])])
    return [line.rstrip() for line in aligned(heads, rows)]


def busiest_resource(answer: CapacityAnswer) -> str:
    """Of which most is used, in the answer or the largest size; empty where a goal says it."""
    shown = answer.sizes[-1] if answer.smallest is None else answer.at(answer.smallest)
    if any(goal.measure == UTILISATION for goal in answer.goals):
        return ""
    used = {name: part for name, part in shown.utilisation.items() if name != PODS and not math.isnan(part)}
    return max(used, key=lambda name: used[name], default="")


def interval_in_words(figure: GoalFigure) -> str:
    if not figure.has_interval:
        return "-"
    low = figure.goal.spoken(figure.low)
    return f"from {low}" if math.isinf(figure.high) else f"{low} to {figure.goal.spoken(figure.high)}"


def judgement(size: SizeFigures) -> str:
    """`met`, `missed`, with a question mark where chance may have made it so."""
    verdict = size.verdict
    if size.is_met:
        return "met " if verdict.is_surely_met else "met?"
    return "missed " if verdict.is_surely_missed or verdict.is_met else "missed?"


def _bar(answer: CapacityAnswer, size: SizeFigures) -> str:
    scale = scale_of(answer.goals[0], [each.figures[0] for each in answer.sizes])
    filled = round(scale.part(size.figures[0].value) * BAR)
    mark = min(round(scale.part(answer.goals[0].limit) * BAR), BAR - 1)
    bar = "█" * filled + " " * (BAR - filled)
    return f"{bar[:mark]}│{bar[mark + 1 :]}"
