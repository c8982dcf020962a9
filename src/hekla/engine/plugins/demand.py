"""What queues are asked for, held against their limits: shared by the queue plugins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import truediv
from typing import TYPE_CHECKING

import numpy as np

from hekla.engine.framework.messages import shortage
from hekla.engine.ledger.arrays import Amounts, Floats
from hekla.engine.model.resources import PODS

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session


def within(amounts: Amounts, limit: Amounts | Floats, asked: Amounts, pods: int) -> bool:
    """No resource that is asked for goes beyond its limit; pods and everything else do not matter.

    amounts, limit, asked: (R,)
    """
    # Plain numbers: this is asked for every task, of a handful of resources.
    rows = enumerate(zip(amounts.tolist(), limit.tolist(), asked.tolist(), strict=True))
    return all([amount <= most or wanted <= 0 or column == pods for column, (amount, most, wanted) in rows])


def how_many(
    held: Sequence[int], limit: Sequence[float], wanted: Iterable[tuple[int, int]], count: int
) -> int:
    """How many times, up to `count`, as much can be taken while `within` still holds.

    held, limit: a number for each resource; wanted: amounts by column
    """
    for column, amount in wanted:
        fitting = (math.floor(limit[column]) - held[column]) // amount
        if fitting < count:  # noqa: PLR1730 - asked at every turn, and faster than min
            count = fitting
    return max(count, 0)


def largest_part(held: Sequence[float], most: Sequence[float]) -> float:
    """The largest part of anything that is held; there is infinitely much of what does not count."""
    return max(map(truediv, held, most), default=0.0)


def short_of(session: Session, amounts: Amounts | Floats, limit: Amounts | Floats, asked: Amounts) -> str:
    """The resources that would go beyond their limit, in words; nothing where nobody reads them."""
    if session.is_quiet:
        return ""
    names = session.axis.names
    return ", ".join(
        shortage(names[at], *[session.spell(names[at], amount) for amount in (asked[at], left, limit[at])])
        for at in np.flatnonzero((asked > 0) & (amounts > limit))
        if names[at] != PODS
        for left in [max(0, limit[at] - amounts[at] + asked[at])]
    )
