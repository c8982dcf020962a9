"""Allocation scores of a node for many requests: those of `allocation_scores`, written out as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

import numpy as np

from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.formulas import Formula
from hekla.engine.plugins.nodeorder.allocation_scores import MAX_NODE_SCORE, Capacity, unevenness_of_one

# asked: (P, requests)   held: (N, R)


def least_allocated_formula(asked: Amounts, held: Amounts, capacity: Capacity, weight: int) -> Formula:
    """The part of each resource that would stay free, in percent, on average."""

    def at(row: int) -> tuple[str, list[int]]:
        has = capacity.per_node[row]
        left = [MAX_NODE_SCORE * (most - used) for most, used in zip(has, held[row].tolist(), strict=True)]
        return _least_allocated(capacity.present[row], weight), [*left, *has]

    return Formula(
        {f"asked{kind}": MAX_NODE_SCORE * amounts for kind, amounts in enumerate(asked)},
        {f"{name}{kind}": int for name in ("left", "has") for kind in range(len(asked))},
        at,
    )


def balanced_allocation_formula(asked: Amounts, held: Amounts, capacity: Capacity, weight: int) -> Formula:
    """Whether the task makes the use of resources more even (up to 100) or less (down to 50)."""
    at_places = itemgetter(*capacity.places)

    def at(row: int) -> tuple[str, list[float]]:
        has, present, used = capacity.per_node[row], capacity.present[row], at_places(held[row].tolist())
        without = unevenness_of_one([min(used[kind] / has[kind], 1.0) for kind in present])
        basis = 150.0 - int((1.0 - without) * MAX_NODE_SCORE)
        return _balanced_allocation(present, weight), [*map(float, used), *map(float, has), basis]

    return Formula(
        {f"wanted{kind}": amounts.astype(np.float64) for kind, amounts in enumerate(asked)},
        {f"{name}{kind}": float for name in ("used", "most") for kind in range(len(asked))}
        | {"basis": float},
        at,
    )


# kinds: which of the resources that are asked about a node has


@lru_cache
def _least_allocated(kinds: tuple[int, ...], weight: int) -> str:
    parts = [f"where(left{kind} > asked{kind}, left{kind} - asked{kind}, 0) // has{kind}" for kind in kinds]
    return _weighted(f"({' + '.join(parts)}) // {len(parts)}", weight) if parts else "0"


@lru_cache
def _balanced_allocation(kinds: tuple[int, ...], weight: int) -> str:
    shares = [f"minimum((used{kind} + wanted{kind}) / most{kind}, 1.0)" for kind in kinds]
    even = f"floor((1.0 - {_unevenness(shares)}) * {MAX_NODE_SCORE})"
    return _weighted(f"floor((basis + {even}) / 2.0)", weight)


def _weighted(score: str, weight: int) -> str:
    return score if weight == 1 else f"{weight} * ({score})"


def _unevenness(shares: Sequence[str]) -> str:
    """The standard deviation, by the steps of `unevenness_of_one`."""
    if len(shares) < 2:
        return "0.0"
    if len(shares) == 2:
        return f"abs(({shares[0]} - {shares[1]}) / 2.0)"
    mean = f"({' + '.join(shares)}) / {len(shares)}.0"
    squares = " + ".join(f"({share} - {mean}) * ({share} - {mean})" for share in shares)
    return f"sqrt(({squares}) / {len(shares)}.0)"
