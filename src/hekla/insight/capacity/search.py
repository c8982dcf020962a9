"""Search: the smallest size that meets the goals, by halving, and the sizes between which it surely lies.

A size is surely enough where its figures meet the goals at their worse ends as well, and surely too small
where they miss them at their better ends. Halving finds where each of the three answers turns (not surely
missed, met, surely met), and takes it that more is better. Waits need not be so: with one node more a job may
start elsewhere, and another one wait. So sizes on either side of the answer are looked at too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

NEIGHBOURS = 2
"""So many sizes on either side are looked at."""
SPREAD = 4
"""So many sizes over the whole range are looked at where the largest one fails."""


@dataclass(frozen=True)
class SizeVerdict:
    """What is to be said about a size."""

    is_met: bool
    is_surely_met: bool
    is_surely_missed: bool


@dataclass
class SizeSearch:
    """Sizes by number, from 0 to `last`, and what is known of them; `judge` may raise to end the search."""

    last: int
    judge: Callable[[int], SizeVerdict]
    verdicts: dict[int, SizeVerdict] = field(default_factory=dict)

    def run(self) -> None:
        """Judge as many sizes as the answer takes."""
        if not self._verdict(self.last).is_met and not self._is_met_somewhere():
            return
        for turns in (_is_met, _is_surely_met, _may_be_met):
            self._halve(turns)
        while (smallest := self.smallest) is not None:
            near = range(max(0, smallest - NEIGHBOURS), min(self.last, smallest + NEIGHBOURS) + 1)
            new = [number for number in near if number not in self.verdicts]
            for number in new:
                self._verdict(number)
            if not new:
                return

    def _verdict(self, number: int) -> SizeVerdict:
        if number not in self.verdicts:
            self.verdicts[number] = self.judge(number)
        return self.verdicts[number]

    def _is_met_somewhere(self) -> bool:
        """Too much may be as bad as too little: a queue's quota takes from other queues."""
        return any(self._verdict(self.last * part // SPREAD).is_met for part in reversed(range(SPREAD)))

    def _halve(self, turns: Callable[[SizeVerdict], bool]) -> None:
        """Narrow the gap below the smallest size of which it is true."""
        while True:
            good = min((at for at, verdict in self.verdicts.items() if turns(verdict)), default=None)
            if good is None:
                return
            bad = max((at for at in self.verdicts if at < good), default=-1)
            if good - bad <= 1:
                return
            self._verdict((good + bad) // 2)

    @property
    def smallest(self) -> int | None:
        """The smallest size that meets the goals together with those looked at just above it.

        Where no such size is there, it is the smallest one that meets them at all.
        """
        met = sorted(at for at, verdict in self.verdicts.items() if verdict.is_met)
        for at in met:
            above = range(at + 1, min(at + NEIGHBOURS, self.last) + 1)
            if all(self.verdicts[each].is_met for each in above if each in self.verdicts):
                return at
        return met[0] if met else None

    @property
    def low(self) -> int | None:
        """From here on a size may be enough; none where even the largest one surely is not."""
        missed = [at for at, verdict in self.verdicts.items() if verdict.is_surely_missed]
        smallest = self.smallest
        below = max((at for at in missed if smallest is None or at < smallest), default=-1)
        return below + 1 if below < self.last else None

    @property
    def high(self) -> int | None:
        """This size is surely enough; none where none of those looked at is."""
        smallest = self.smallest
        sure = [at for at, verdict in self.verdicts.items() if verdict.is_surely_met]
        return min((at for at in sure if smallest is None or at >= smallest), default=None)

    @property
    def turns_back(self) -> list[tuple[int, int]]:
        """Where a larger size misses what a smaller one met: both, of those looked at."""
        known = sorted(self.verdicts)
        return [
            (one, other)
            for one, other in pairwise(known)
            if self.verdicts[one].is_met and not self.verdicts[other].is_met
        ]


def _is_met(verdict: SizeVerdict) -> bool:
    return verdict.is_met


def _is_surely_met(verdict: SizeVerdict) -> bool:
    return verdict.is_surely_met


def _may_be_met(verdict: SizeVerdict) -> bool:
    return not verdict.is_surely_missed
