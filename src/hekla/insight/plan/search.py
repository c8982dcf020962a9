"""Search: the smallest changes with which a job would start, each tried out before it is told.

On a scale the search halves: it ends at a value that works whose next larger one does not. Where a larger
value might work again beyond that, it is not looked for. Several numbers together and two changes at once
are tried only where no single one works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from hekla.insight.plan.changes import Change, Ladder, ladders, queues
from hekla.insight.plan.intake import Desk
from hekla.insight.plan.request import Request
from hekla.insight.plan.scales import Scale, bundles, lowered, scales
from hekla.insight.plan.stage import Stage
from hekla.insight.plan.trial import Start, Trial, try_out

MOST_SHOWN = 6
ENOUGH_PAIRS = 3
PARTS = 64
"""Steps in which numbers go down together, each by the same part of it."""

OnTry = Callable[[int, str], None]
"""Hears how many tries there were so far, and what is tried now."""


@dataclass(frozen=True)
class Found:
    """A change that works, and what would happen with it."""

    change: Change
    trial: Trial

    @property
    def rank(self) -> tuple[object, ...]:
        """What comes first: a start at once, nobody's loss, a small change."""
        trial = self.trial
        return (
            trial.start is not Start.NOW,
            trial.pods_lost > 0,
            round(self.change.cost, 6),
            self.change.line,
        )


class Spent(Exception):
    """No more tries are left."""


class Search:
    """Tries changes out, as many as are allowed."""

    def __init__(self, stage: Stage, desk: Desk, tries: int, on_try: OnTry | None = None) -> None:
        self._stage = stage
        self._desk = desk
        self._allowed = tries
        self._on_try = on_try
        self._found: list[Found] = []
        self.tries = 0
        self.is_complete = True

    def smallest(self, request: Request) -> list[Found]:
        """The changes that work, the smallest first."""
        try:
            self._singly(request)
            if not self._found:
                self._together(request)
                self._in_pairs(request)
        except Spent:
            self.is_complete = False
        return sorted(self._found, key=lambda found: found.rank)[:MOST_SHOWN]

    def _singly(self, request: Request) -> None:
        self._climb(ladders(request, self._stage))
        for scale in scales(request):
            self._weigh(request, scale)
        # Last: there may be hundreds of them.
        self._climb(queues(request, self._stage))

    def _together(self, request: Request) -> None:
        """Several numbers lowered: in step as far as it takes, then each as far up again as it may go."""
        for bundle in bundles(request):
            if self._balance(request, bundle):
                return

    def _balance(self, request: Request, bundle: Sequence[Scale]) -> bool:
        def in_step(part: int) -> list[int]:
            return [scale.at_most(part / PARTS) for scale in bundle]

        def attempt(values: Sequence[int]) -> Found | None:
            return self._attempt(lowered(request, list(zip(bundle, values, strict=True))))

        part, best = largest(range(PARTS), lambda part: attempt(in_step(part)))
        if best is None:
            return False
        values = in_step(part)
        try:
            for at, scale in enumerate(bundle):
                above = [value for value in (*scale.values, scale.was) if value > values[at]]
                value, found = largest(above, partial(_between, attempt, values[:at], values[at + 1 :]))
                if found is not None:
                    values[at], best = value, found
        finally:  # it works, even if no tries are left to raise it further
            self._found.append(best)
        return True

    def _in_pairs(self, request: Request) -> None:
        """Something else together with less of it, or two things else."""
        found = [*ladders(request, self._stage), *queues(request, self._stage)]
        firsts = [change for ladder in found for change in ladder]
        for first in sorted(firsts, key=lambda change: (change.cost, change.line)):
            for scale in scales(first.request):
                self._weigh(first.request, scale, first)
            others = [*ladders(first.request, self._stage), *queues(first.request, self._stage)]
            self._climb([ladder for ladder in others if ladder and ladder[0].kind > first.kind], first)
            if len(self._found) >= ENOUGH_PAIRS:
                return

    def _climb(self, found: Iterable[Ladder], first: Change | None = None) -> None:
        for ladder in found:
            for change in ladder:
                if self._works(change, first):
                    break

    def _weigh(self, request: Request, scale: Scale, first: Change | None = None) -> None:
        """The largest value that works."""
        _, best = largest(
            scale.values, lambda value: self._attempt(lowered(request, [(scale, value)]), first)
        )
        if best is not None:
            self._found.append(best)

    def _works(self, change: Change, first: Change | None) -> bool:
        found = self._attempt(change, first)
        if found is not None:
            self._found.append(found)
        return found is not None

    def _attempt(self, change: Change, first: Change | None = None) -> Found | None:
        trial = self._try(change)
        return Found(joined(first, change), trial) if trial.starts else None

    def _try(self, change: Change) -> Trial:
        if self.tries >= self._allowed:
            raise Spent
        self.tries += 1
        if self._on_try is not None:
            self._on_try(self.tries, change.line)
        return try_out(self._stage, *self._desk.objects_of(change.request))


def largest(values: Sequence[int], attempt: Callable[[int], Found | None]) -> tuple[int, Found | None]:
    """The largest value that works: the least first, which tells whether it is worth searching."""
    best, least, most = None, 0, len(values)
    middle = 0
    while middle < most:
        found = attempt(values[middle])
        if found is not None:
            best, least = found, middle
        elif best is None:
            break
        else:
            most = middle
        middle = (least + most + 1) // 2 if most - least > 1 else most
    return values[least] if values else 0, best


def _between(
    attempt: Callable[[Sequence[int]], Found | None], before: Sequence[int], after: Sequence[int], value: int
) -> Found | None:
    return attempt([*before, value, *after])


def joined(first: Change | None, second: Change) -> Change:
    """Two changes as one."""
    if first is None:
        return second
    kind, line = f"{first.kind} and {second.kind}", f"{first.line}; {second.line}"
    return Change(kind, line, first.cost + second.cost, second.request)
