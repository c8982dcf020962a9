"""Formulas: the scores of a few nodes for many requests, written out as text.

A hundred numbers are added so quickly that with one array operation after another most of the time goes by
between them. Formulas are compiled together, and all their steps are taken in one pass.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats, Indices

# Arrays are far too short for several threads, which would be started at once.
os.environ.setdefault("NUMEXPR_NUM_THREADS", "1")
import numexpr

WORD = re.compile(r"\w+")
TYPES: dict[type, type] = {int: np.int64, float: np.float64}


@dataclass(frozen=True, eq=False)
class Formula:
    """A score: an expression in Python's words and numexpr's, such as `where` and `floor`.

    Of numexpr's functions only `where` and `abs` leave whole numbers what they are.
    """

    asked: Mapping[str, Amounts | Floats]
    """What names in it stand for, each a number for every request."""
    told: Mapping[str, type[int] | type[float]]
    """Names that stand for a number of the node, and whether that is a whole one."""
    at: Callable[[int], tuple[str, Sequence[float]]]
    """Given a row, the expression for that node, and its numbers in the order in which they are named.

    Few nodes should differ in the expression: each is compiled.
    """


class Sum:
    """What formulas for the same requests come to together."""

    def __init__(self, formulas: Sequence[Formula]) -> None:
        self._formulas = formulas
        self._at = [formula.at for formula in formulas]
        self._programs: dict[tuple[str, ...], Program] = {}

    def at(self, row: int) -> Floats:
        """->   (requests,)"""
        texts, numbers = self._terms(row)
        program = self._programs.get(texts) or self._compile(texts)
        return program.run(numbers)

    def of_many(self, rows: Sequence[int]) -> Iterator[tuple[Indices, Floats]]:
        """The same for many nodes, in groups: which of the rows, and their scores.

        ->   (group, requests), or what comes to that where it is the same for several
        """
        terms = [self._terms(row) for row in rows]
        for texts in dict.fromkeys(texts for texts, _ in terms):
            group = [at for at, (own, _) in enumerate(terms) if own == texts]
            numbers = zip(*[terms[at][1] for at in group], strict=True)
            program = self._programs.get(texts) or self._compile(texts)
            yield np.array(group), program.run([np.array(column)[:, None] for column in numbers])

    def _terms(self, row: int) -> tuple[tuple[str, ...], list[float]]:
        """The expressions for this node, and its numbers."""
        texts: list[str] = []
        numbers: list[float] = []
        for at in self._at:
            text, told = at(row)
            texts.append(text)
            numbers += told
        return tuple(texts), numbers

    def _compile(self, texts: tuple[str, ...]) -> Program:
        program = self._programs[texts] = Program(texts, self._formulas)
        return program


class Program:
    """Formulas, each with the expression that some nodes have, compiled into one."""

    def __init__(self, texts: Sequence[str], formulas: Sequence[Formula]) -> None:
        # Formulas of plugins that do not know each other may use the same names.
        numbered = list(enumerate(formulas))
        asked = {f"{name}_{at}": column for at, one in numbered for name, column in one.asked.items()}
        told = [(f"{name}_{at}", kind) for at, one in numbered for name, kind in one.told.items()]
        total = " + ".join(f"({_renamed(texts[at], one, at)})" for at, one in numbered) or "0.0"
        words = set(WORD.findall(total))
        used = {name: column for name, column in asked.items() if name in words}
        kinds: list[tuple[str, type]] = [(name, column.dtype.type) for name, column in used.items()]
        kinds += [(name, TYPES[kind]) for name, kind in told if name in words]
        self._columns = tuple(used.values())
        self._places = [place for place, (name, _) in enumerate(told) if name in words]
        self._compiled = compiled(total, tuple(kinds))

    def run(self, numbers: Sequence[float | Amounts | Floats]) -> Floats:
        """Given the numbers of a node, or of many: each (nodes, 1)."""
        if len(numbers) > len(self._places):
            numbers = [numbers[place] for place in self._places]
        return self._compiled(*self._columns, *numbers, order="K", ex_uses_vml=False)


def _renamed(text: str, formula: Formula, number: int) -> str:
    names = {name: f"{name}_{number}" for name in (*formula.asked, *formula.told)}
    return WORD.sub(lambda found: names.get(found[0], found[0]), text)


@lru_cache(maxsize=256)
def compiled(text: str, kinds: tuple[tuple[str, type], ...]) -> Callable[..., Floats]:
    # Where more is optimised, dividing becomes multiplying, which rounds otherwise.
    run: Callable[..., Floats] = numexpr.NumExpr(text, kinds, optimization="none")
    return run
