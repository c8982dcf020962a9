"""Exclusion: the nodes that some classes of tasks can never use, because of what these nodes are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekla.engine.framework.opinions import Refusals, verdict
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.lazy import lazy


class Exclusion:
    """What judges said once and for all, made up into masks; classes that were told the same share it."""

    def __init__(self, said: Sequence[Sequence[Refusals]], count: int, shard: Mask | None) -> None:
        self.said = said
        """By judge; kept, so that nobody else gets the identities by which it is told."""
        self.verdicts = [verdict(refusals, count) for refusals in said]
        """By judge, whom it refuses; None where nobody is refused."""
        refused = [one[0] for one in self.verdicts if one is not None and one[0].any()]
        self.usable: Mask | None = ~np.logical_or.reduce(refused) if refused else None
        """The nodes that no judge refuses; None where that is all of them."""
        self._shard = shard

    @lazy
    def handicaps(self) -> Floats | None:
        """-inf for nodes that can never be used, 0 for all others; None where all can."""
        usable = [mask for mask in (self.usable, self._shard) if mask is not None]
        return np.where(np.logical_and.reduce(usable), 0.0, -np.inf) if usable else None
