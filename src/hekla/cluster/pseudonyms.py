"""Pseudonyms: for every name another one, the same each time, in the same order.

Where schedulers have no better reason they go by name, so that pseudonyms must sort as the names do.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Collection, Mapping

import numpy as np

LARGEST_GAP = 9


class Pseudonyms:
    """Names are announced first; once `settle` is called, each has its pseudonym.

    Names are kept apart by what they are names of. `kept` says by that word which names stay as they are.
    """

    def __init__(self, seed: int, kept: Mapping[str, Collection[str]]) -> None:
        self._dice = np.random.default_rng(seed)
        self._kept = kept
        self._announced: dict[str, dict[str, str]] = {}
        self._chosen: dict[str, dict[str, str]] = {}
        self._is_settled = False

    def of(self, what: str, name: str, ending: str = "") -> str:
        """The pseudonym, with an ending that is to stay; before they are settled, the name itself."""
        if not name or name in self._kept.get(what, ()):
            return name
        if not self._is_settled:
            self._announced.setdefault(what, {})[name] = ending
            return name
        return self._chosen[what][name]

    def settle(
        self,
        order: Mapping[str, Callable[[str], str]] | None = None,
        values: Mapping[str, Callable[[str], int]] | None = None,
    ) -> None:
        """Choose them all; `order` says by what the names of a kind are sorted, if not by themselves.

        Names that `values` speaks of are numbers, and so are their pseudonyms.
        """
        for what, names in sorted(self._announced.items()):
            if values and what in values:
                by_value = sorted(names, key=values[what])
                self._chosen[what] = dict(zip(by_value, map(str, self._numbers(len(names))), strict=True))
            else:
                self._chosen[what] = self._choose(what, names, (order or {}).get(what, str))
        self._is_settled = True

    def _numbers(self, count: int) -> list[int]:
        """So many in order, with gaps that hide how many names there are and which come next."""
        found: list[int] = np.cumsum(self._dice.integers(1, LARGEST_GAP, count, endpoint=True)).tolist()
        return found

    def _choose(self, what: str, ending_of: Mapping[str, str], by: Callable[[str], str]) -> dict[str, str]:
        names = sorted(ending_of, key=by)
        numbers = self._numbers(len(names))
        width = len(str(LARGEST_GAP * len(names)))
        milestones = sorted(self._kept.get(what, ()), key=by)
        chosen = {}
        for name, number in zip(names, numbers, strict=True):
            at = bisect(milestones, by(name), key=by)
            after, before = milestones[max(at - 1, 0) : at], milestones[at : at + 1]
            ending = ending_of[name]
            candidates = [f"{what}-", f"a-{what}-", f"0-{what}-", *(f"{stone}-{what}-" for stone in after)]
            chosen[name] = _fitting(candidates, f"{number:0{width}}{ending}", after, before, by)
        return chosen


def _fitting(
    prefixes: list[str], rest: str, after: list[str], before: list[str], by: Callable[[str], str]
) -> str:
    """The first prefix with which the pseudonym stands between the names that are kept."""
    for prefix in prefixes:
        candidate = prefix + rest
        if all(by(stone) < by(candidate) for stone in after) and all(
            by(candidate) < by(stone) for stone in before
        ):
            return candidate
    return prefixes[0] + rest
