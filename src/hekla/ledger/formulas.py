"""Formulas: the scores of a few nodes for many requests, written out as text.

A hundred numbers are added so quickly that with one array operation after another most of the time goes by
between them. Formulas are compiled together, and all their steps are taken in one pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numexpr
import numpy as np

from hekla.ledger.arrays import Amounts, Floats


@dataclass(frozen=True, eq=False)
class Formula:
    """A score: an expression in Python's words and numexpr's, such as `maximum` and `floor`."""

    asked: Mapping[str, Amounts | Floats]
    """What names in it stand for, each a number for every request. No other formula may use these names."""
    told: Sequence[str]
    """Names that stand for whole numbers, one for every node."""
    at: Callable[[int], tuple[str, Sequence[int]]]
    """Given a row, the expression for that node, and its numbers in the order in which they are named.

    Few nodes should differ in the expression: each is compiled.
    """


class Sum:
    """What formulas for the same requests come to together; -inf where a request needs more than there is."""

    def __init__(self, formulas: Sequence[Formula], needs: Sequence[Amounts]) -> None:
        self._at = [formula.at for formula in formulas]
        self._asked = {name: amounts for formula in formulas for name, amounts in formula.asked.items()}
        self._asked |= {f"need{at}": amounts for at, amounts in enumerate(needs)}
        self._told = [name for formula in formulas for name in formula.told]
        self._told += [f"free{at}" for at in range(len(needs))]
        self._is_short = " | ".join(f"(need{at} > free{at})" for at in range(len(needs)))
        names = [name for formula in formulas for name in (*formula.asked, *formula.told)]
        assert len(set(names)) == len(names), f"formulas use the same names: {sorted(names)}"
        self._plain: dict[tuple[str, ...], Program] = {}
        self._guarded: dict[tuple[str, ...], Program] = {}

    def at(self, row: int) -> Floats:
        """For a node that has enough for every request.   ->   (requests,)"""
        texts, numbers = self._terms(row)
        program = self._plain.get(texts)
        if program is None:
            program = self._plain[texts] = Program(_total(texts), self._asked, self._told)
        return program.run(numbers)

    def where_enough(self, row: int, free: Sequence[int]) -> Floats:
        """For a node that has so much of what is needed.   ->   (requests,)"""
        texts, numbers = self._terms(row)
        program = self._guarded.get(texts)
        if program is None:
            text = f"where({self._is_short}, -1e999, {_total(texts)})"
            program = self._guarded[texts] = Program(text, self._asked, self._told)
        return program.run([*numbers, *free])

    def _terms(self, row: int) -> tuple[tuple[str, ...], list[int]]:
        """The expressions for this node, and its numbers."""
        texts: list[str] = []
        numbers: list[int] = []
        for at in self._at:
            text, told = at(row)
            texts.append(text)
            numbers += told
        return tuple(texts), numbers


def _total(texts: Sequence[str]) -> str:
    return " + ".join(["0.0", *(f"({text})" for text in texts)])


class Program:
    """A compiled expression, and what of it stays the same for all nodes."""

    def __init__(self, text: str, asked: Mapping[str, Amounts | Floats], told: Sequence[str]) -> None:
        words = set(re.findall(r"\w+", text))
        columns = {name: amounts for name, amounts in asked.items() if name in words}
        self._places = [place for place, name in enumerate(told) if name in words]
        kinds = [(name, amounts.dtype.type) for name, amounts in columns.items()]
        kinds += [(told[place], np.int64) for place in self._places]
        self._columns = tuple(columns.values())
        self._compiled = compiled(text, tuple(kinds))

    def run(self, numbers: Sequence[int]) -> Floats:
        """Given the numbers of a node."""
        here = [numbers[place] for place in self._places]
        return self._compiled(*self._columns, *here, order="K", ex_uses_vml=False)


@lru_cache(maxsize=256)
def compiled(text: str, kinds: tuple[tuple[str, type], ...]) -> Callable[..., Floats]:
    # Where more is optimised, dividing becomes multiplying, which rounds otherwise.
    run: Callable[..., Floats] = numexpr.NumExpr(text, kinds, optimization="none")
    return run
