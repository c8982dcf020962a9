"""Axis: which resource stands in which column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Mask
from hekla.engine.model.resources import CPU, MEMORY, PODS

CPU_COLUMN, MEMORY_COLUMN = range(2)


class Axis:
    """cpu and memory first, then every other resource by name; `pods` is always there."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: tuple[str, ...] = (CPU, MEMORY, *sorted({*names, PODS} - {CPU, MEMORY}))
        self.column_of = {name: column for column, name in enumerate(self.names)}
        self.pods = self.column_of[PODS]

    def __len__(self) -> int:
        return len(self.names)

    def moves_from(self, before: Axis) -> tuple[list[int], list[int]]:
        """Columns that both have: where they stood, and where they stand."""
        shared = [name for name in before.names if name in self.column_of]
        return [before.column_of[name] for name in shared], [self.column_of[name] for name in shared]

    def vector(self, resources: Mapping[str, int]) -> Amounts:
        """Amounts by column; names that nothing in the cluster speaks of are left out."""
        row = np.zeros(len(self.names), dtype=np.int64)
        for name, amount in resources.items():
            column = self.column_of.get(name)
            if column is not None:
                row[column] = amount
        return row

    def matrix(self, rows: Iterable[Mapping[str, int]], count: int) -> Amounts:
        """Amounts by row and column; columns are contiguous, because work goes column by column."""
        table = np.zeros((count, len(self.names)), dtype=np.int64, order="F")
        for row, resources in enumerate(rows):
            for name, amount in resources.items():
                table[row, self.column_of[name]] = amount
        return table

    def named(self, resources: Mapping[str, int]) -> Mask:
        """Columns that are mentioned at all, be it with 0."""
        mask = np.zeros(len(self.names), dtype=np.bool_)
        for name in resources:
            if name in self.column_of:
                mask[self.column_of[name]] = True
        return mask

    def compared(self, resources: Mapping[str, int]) -> tuple[int, ...]:
        """Columns that a fit test looks at: cpu and memory always, others where mentioned."""
        columns = {self.column_of[name] for name in resources} | {CPU_COLUMN, MEMORY_COLUMN}
        return tuple(sorted(columns))

    def resources(self, vector: Amounts) -> dict[str, int]:
        """Back to names; zeros are left out."""
        return {name: int(vector[column]) for column, name in enumerate(self.names) if vector[column]}
