"""Rules of combination: how the answers of all plugins, tier by tier, become one.

Each is given the answers when a session first asks, and gives back the function that asks them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import chain
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from hekla.engine.ledger.arrays import Floats
from hekla.engine.model.task import Task

Q = ParamSpec("Q")
A = TypeVar("A")
Context = TypeVar("Context")
Subject = TypeVar("Subject")
Tiers = Sequence[Sequence[Callable[Q, A]]]
Victims = Sequence[Task] | None


class Vote(IntEnum):
    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


def flat(tiers: Tiers[Q, A]) -> list[Callable[Q, A]]:
    return [*chain.from_iterable(tiers)]


def every(tiers: Tiers[Q, bool]) -> Callable[Q, bool]:
    answers = flat(tiers)

    def ask(*question: Q.args, **named: Q.kwargs) -> bool:
        for answer in answers:  # noqa: SIM110 - asked at every turn, and faster than all()
            if not answer(*question, **named):
                return False
        return True

    return ask


def some(tiers: Tiers[Q, bool]) -> Callable[Q, bool]:
    answers = flat(tiers)
    return lambda *question, **named: any([answer(*question, **named) for answer in answers])


def least_of_first_tier(tiers: Tiers[Q, Floats]) -> Callable[Q, Floats | None]:
    """Resource by resource; None where nothing limits. Do not change the array."""
    answers = next(iter(tiers), ())
    if not answers:
        return lambda *_question, **_named: None

    def ask(*question: Q.args, **named: Q.kwargs) -> Floats:
        least = np.array(answers[0](*question, **named), dtype=np.float64)
        for answer in answers[1:]:
            np.minimum(least, answer(*question, **named), out=least)
        return least

    return ask


def vote(tiers: Tiers[Q, Vote]) -> Callable[Q, bool]:
    """A reject is final; otherwise the first tier that permits settles it; abstaining is consent."""

    def ask(*question: Q.args, **named: Q.kwargs) -> bool:
        for tier in tiers:
            permitted = False
            for answer in tier:
                match answer(*question, **named):
                    case Vote.REJECT:
                        return False
                    case Vote.PERMIT:
                        permitted = True
            if permitted:
                return True
        return True

    return ask


def first_tier_agrees(tiers: Tiers[Q, bool]) -> Callable[Q, bool]:
    """Yes where all of the first tier that has an opinion say yes; no where no plugin has one."""
    first = next((tier for tier in tiers if tier), ())

    def ask(*question: Q.args, **named: Q.kwargs) -> bool:
        return bool(first) and all(answer(*question, **named) for answer in first)

    return ask


def first_given(tiers: Tiers[Q, A | None]) -> Callable[Q, A | None]:
    answers = flat(tiers)

    def ask(*question: Q.args, **named: Q.kwargs) -> A | None:
        for answer in answers:
            if (given := answer(*question, **named)) is not None:
                return given
        return None

    return ask


def sort_key(tiers: Tiers[[Subject], Any]) -> Callable[[Subject], tuple[Any, ...]]:
    answers = flat(tiers)
    if len(answers) == 1:
        only = answers[0]
        return lambda subject: (only(subject),)
    return lambda subject: tuple([answer(subject) for answer in answers])


def first_nonzero(tiers: Tiers[Q, float]) -> Callable[Q, float]:
    answers = flat(tiers)

    def ask(*question: Q.args, **named: Q.kwargs) -> float:
        return next((float(order) for answer in answers if (order := answer(*question, **named))), 0.0)

    return ask


def tell(tiers: Tiers[Q, None]) -> Callable[Q, None]:
    answers = flat(tiers)

    def ask(*question: Q.args, **named: Q.kwargs) -> None:
        for answer in answers:
            answer(*question, **named)

    return ask


def least(tiers: Tiers[[Subject, Task, int], int]) -> Callable[[Subject, Task, int], int]:
    answers = flat(tiers)

    def ask(subject: Subject, task: Task, count: int) -> int:
        for answer in answers:
            count = min(count, answer(subject, task, count))
        return count

    return ask


def sum_by_name(tiers: Tiers[Q, dict[str, float]]) -> Callable[Q, dict[str, float]]:
    answers = flat(tiers)

    def ask(*question: Q.args, **named: Q.kwargs) -> dict[str, float]:
        total: dict[str, float] = {}
        for answer in answers:
            for name, score in answer(*question, **named).items():
                total[name] = total.get(name, 0.0) + score
        return total

    return ask


def agreed_victims(
    tiers: Tiers[[Context, Sequence[Task]], Victims],
) -> Callable[[Context, Sequence[Task]], list[Task]]:
    """The victims that the first deciding tier agrees on.

    As in Volcano, an empty intersection makes the tier undecided again, so that the next plugin
    of the tier starts afresh; and an undecided tier passes the question on. See ADR 0004.
    """

    def ask(context: Context, candidates: Sequence[Task]) -> list[Task]:
        for tier in tiers:
            if victims := _agreed_on(tier, context, candidates):
                return victims
        return []

    return ask


def _agreed_on(
    tier: Sequence[Callable[[Context, Sequence[Task]], Victims]], context: Context, candidates: Sequence[Task]
) -> list[Task]:
    victims: list[Task] = []
    for answer in tier:
        named = answer(context, candidates)
        if named is None:
            continue
        if not named:
            return []
        if not victims:
            victims = list(named)
        elif named != victims:
            uids = {task.uid for task in named}
            victims = [task for task in victims if task.uid in uids]
    return victims


def victims_of_all(
    tiers: Tiers[[Context, Sequence[Task]], Victims],
) -> Callable[[Context, Sequence[Task]], list[Task]]:
    """The victims that every plugin agrees on, whatever its tier: the documents' rule."""
    answers = flat(tiers)

    def ask(context: Context, candidates: Sequence[Task]) -> list[Task]:
        victims = list(candidates) if answers else []
        for answer in answers:
            named = answer(context, candidates)
            if named is not None:
                uids = {task.uid for task in named}
                victims = [task for task in victims if task.uid in uids]
        return victims

    return ask


def united_victims(tiers: Tiers[[Sequence[Task]], Victims]) -> Callable[[Sequence[Task]], list[Task]]:
    def ask(candidates: Sequence[Task]) -> list[Task]:
        for tier in tiers:
            named = {task.uid: task for answer in tier for task in answer(candidates) or ()}
            if named:
                return [named[uid] for uid in sorted(named)]
        return []

    return ask


def per_node(_tiers: Tiers[Q, Any]) -> Callable[Q, NoReturn]:
    """Answers about nodes are gathered by class of tasks: see `node_answers`."""
    raise NotImplementedError("ask the session's scoring about nodes")


PASSING_ON = (every, some, first_given)
"""The rules by which an answer that is alone is the combined one."""
