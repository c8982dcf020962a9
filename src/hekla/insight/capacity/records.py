"""Records: an answer as plain data, and as a row for every size that was tried."""

from __future__ import annotations

from typing import Any

from hekla.insight.capacity.capacity import CapacityAnswer, SizeFigures
from hekla.insight.capacity.figures import GoalFigure
from hekla.insight.capacity.goals import Goal
from hekla.insight.capacity.verdict import headline
from hekla.simulation.measures.words import MILLISECONDS, PARTS, number


def answer_data(answer: CapacityAnswer) -> dict[str, Any]:
    """The answer for JSON; what has no end, as a wait of jobs that never start, is null."""
    return {
        "title": answer.title,
        "headline": headline(answer),
        "what": answer.sizing.subject,
        "goals": [str(goal) for goal in answer.goals],
        "smallest": answer.smallest,
        "low": answer.low,
        "high": answer.high,
        "isMet": answer.smallest is not None and not answer.missed,
        "confidence": answer.confidence,
        "hasIntervals": answer.has_intervals,
        "chance": answer.chance.value,
        "seeds": list(answer.seeds),
        "warmUp": {"part": answer.warm_up.part, "seconds": answer.warm_up.seconds},
        "turnsBack": [list(sizes) for sizes in answer.turns_back],
        "heldBack": None if answer.held_back is None else answer.held_back.as_data(),
        "isComplete": answer.is_complete,
        "notes": list(answer.notes),
        "sizes": [size_data(size) for size in answer.sizes],
    }


def size_data(size: SizeFigures) -> dict[str, Any]:
    verdict = size.verdict
    used = {name: number(part, PARTS) for name, part in size.utilisation.items()}
    return {
        "size": size.value,
        "isMet": size.is_met,
        "isSurelyMet": size.is_met and verdict.is_surely_met,
        "isSurelyMissed": verdict.is_surely_missed,
        "goals": [figure_data(figure) for figure in size.figures],
        "utilisation": {name: part for name, part in used.items() if part is not None},
    }


def figure_data(figure: GoalFigure) -> dict[str, Any]:
    digits = digits_of(figure.goal)
    return {
        "goal": str(figure.goal),
        "value": number(figure.value, digits),
        "low": number(figure.low, digits),
        "high": number(figure.high, digits),
        "isMet": figure.is_met,
        "jobs": figure.jobs,
    }


def digits_of(goal: Goal) -> int:
    return MILLISECONDS if goal.is_of_jobs or goal.measure == "makespan" else PARTS


def size_rows(answer: CapacityAnswer) -> list[dict[str, Any]]:
    """One for every size that was tried: columns for each goal, and for each resource that was used."""
    return [_row(size) for size in answer.sizes]


def _row(size: SizeFigures) -> dict[str, Any]:
    row: dict[str, Any] = {"size": size.value, "is_met": size.is_met}
    for figure in size.figures:
        data = figure_data(figure)
        ends = {f"{figure.goal.label} {end}": data[end] for end in ("low", "high")}
        row |= {figure.goal.label: data["value"], **ends}
    return row | {f"utilisation.{name}": part for name, part in size_data(size)["utilisation"].items()}
