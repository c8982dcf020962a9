"""Formulas: the scores of a few nodes for many requests, written out as text.

A hundred numbers are added so quickly that with one array operation after another most of the time goes by
between them. Formulas are compiled together, and all their steps are taken in one pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numexpr
import numpy as np

from hekla.ledger.arrays import Amounts, Floats, Indices


@dataclass(frozen=True, eq=False)
class Formula:
    """A score: an expression in Python's words and numexpr's, such as `maximum` and `floor`."""

    asked: Mapping[str, Amounts | Floats]
    """What names in it stand for, each a number for every request. No other formula may use these names."""
    told: Mapping[str, type[int] | type[float]]
    """Names that stand for a number of the node, and whether that is a whole one."""
    at: Callable[[int], tuple[str, Sequence[float]]]
    """Given a row, the expression for that node, and its numbers in the order in which they are named.

    Few nodes should differ in the expression: each is compiled.
    """


class Sum:
    """What formulas for the same requests come to together; -inf where a request needs more than there is."""

    def __init__(self, formulas: Sequence[Formula], needs: Sequence[Amounts]) -> None:
        self._at = [formula.at for formula in formulas]
        self._asked = {name: amounts for formula in formulas for name, amounts in formula.asked.items()}
        self._asked |= {f"need{at}": amounts for at, amounts in enumerate(needs)}
        self._told = {name: kind for formula in formulas for name, kind in formula.told.items()}
        self._told |= {f"free{at}": int for at in range(len(needs))}
        self._is_short = " | ".join(f"(need{at} > free{at})" for at in range(len(needs)))
        names = [name for formula in formulas for name in (*formula.asked, *formula.told)]
        assert len(set(names)) == len(names), f"formulas use the same names: {sorted(names)}"
        self._plain: dict[tuple[str, ...], Program] = {}
        self._guarded: dict[tuple[str, ...], Program] = {}

    def at(self, row: int, free: Sequence[int] = ()) -> Floats:
        """For a node; what is free there of what is needed is told where that is not enough for everybody.

        ->   (requests,)
        """
        texts, numbers = self._terms(row)
        return self._program(texts, is_guarded=bool(free)).run([*numbers, *free])

    def of_many(self, rows: Sequence[int], free: Sequence[Sequence[int]]) -> Iterator[tuple[Indices, Floats]]:
        """The same for many nodes, in groups: which of the rows, and their scores.

        ->   (group, requests)
        """
        terms = [self._terms(row) for row in rows]
        for texts in dict.fromkeys(texts for texts, _ in terms):
            group = [at for at, (own, _) in enumerate(terms) if own == texts]
            numbers = zip(*[(*terms[at][1], *free[at]) for at in group], strict=True)
            program = self._program(texts, is_guarded=bool(free[0]))
            yield np.array(group), program.run([np.array(column)[:, None] for column in numbers])

    def _program(self, texts: tuple[str, ...], *, is_guarded: bool) -> Program:
        programs = self._guarded if is_guarded else self._plain
        program = programs.get(texts)
        if program is None:
            total = " + ".join(f"({text})" for text in texts) or "0.0"
            text = f"where({self._is_short}, -1e999, {total})" if is_guarded else total
            program = programs[texts] = Program(text, self._asked, self._told)
        return program

    def _terms(self, row: int) -> tuple[tuple[str, ...], list[float]]:
        """The expressions for this node, and its numbers."""
        texts: list[str] = []
        numbers: list[float] = []
        for at in self._at:
            text, told = at(row)
            texts.append(text)
            numbers += told
        return tuple(texts), numbers


_TYPES = {int: np.int64, float: np.float64}


class Program:
    """A compiled expression, and what of it stays the same for all nodes."""

    def __init__(self, text: str, asked: Mapping[str, Amounts | Floats], told: Mapping[str, type]) -> None:
        words = set(re.findall(r"\w+", text))
        columns = {name: amounts for name, amounts in asked.items() if name in words}
        self._places = [place for place, name in enumerate(told) if name in words]
        kinds: list[tuple[str, type]] = [(name, amounts.dtype.type) for name, amounts in columns.items()]
        kinds += [(name, _TYPES[kind]) for name, kind in told.items() if name in words]
        self._columns = tuple(columns.values())
        self._compiled = compiled(text, tuple(kinds))

    def run(self, numbers: Sequence[float | Amounts | Floats]) -> Floats:
        """Given the numbers of a node, or of many: each (nodes, 1)."""
        if len(numbers) > len(self._places):
            numbers = [numbers[place] for place in self._places]
        return self._compiled(*self._columns, *numbers, order="K", ex_uses_vml=False)


@lru_cache(maxsize=256)
def compiled(text: str, kinds: tuple[tuple[str, type], ...]) -> Callable[..., Floats]:
    # Where more is optimised, dividing becomes multiplying, which rounds otherwise.
    run: Callable[..., Floats] = numexpr.NumExpr(text, kinds, optimization="none")
    return run
