"""Node labels as columns of small numbers, so that a selector is one comparison for all nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hekla.engine.ledger.arrays import Mask, all_of
from hekla.lazy import lazy
from hekla.objects.meta import LabelRequirement, LabelSelector

ABSENT = -1

Codes = npt.NDArray[np.int64]


class LabelColumn:
    """One label key: a code per node, and the value behind every code."""

    def __init__(self, values: Sequence[str | None]) -> None:
        self.code_of: dict[str, int] = {}
        codes = np.full(len(values), ABSENT, dtype=np.int64)
        for row, value in enumerate(values):
            if value is not None:
                codes[row] = self.code_of.setdefault(value, len(self.code_of))
        self.codes: Codes = codes

    @lazy
    def present(self) -> Mask:
        return np.not_equal(self.codes, ABSENT)

    @lazy
    def is_distinct(self) -> bool:
        """No two nodes share a value, as with host names."""
        return self.size == np.count_nonzero(self.present)

    @lazy
    def _slots(self) -> Codes:
        """Codes from 1, with 0 for absent, as counting wants them."""
        return self.codes + 1

    @property
    def size(self) -> int:
        """How many different values there are."""
        return len(self.code_of)

    def equals(self, value: str) -> Mask:
        return np.equal(self.codes, self.code_of.get(value, ABSENT - 1))

    def is_any_of(self, values: Sequence[str]) -> Mask:
        wanted = [self.code_of[value] for value in values if value in self.code_of]
        return np.isin(self.codes, wanted)

    def where_value(self, holds: Mapping[str, bool]) -> Mask:
        """Nodes whose value is marked true; absent labels are false."""
        table = np.zeros(len(self.code_of) + 1, dtype=np.bool_)
        for value, code in self.code_of.items():
            table[code] = holds.get(value, False)
        return table[self.codes]

    def per_value(self, amounts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Sums of a per-node amount over the nodes that share a value; (N,) -> (values,)."""
        sums = np.bincount(self._slots, weights=amounts, minlength=self.size + 1)[1:]
        return sums.astype(np.int64)

    def spread(self, per_value: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The amount of each node's value; 0 where the label is absent; (values,) -> (N,)."""
        return np.append(per_value, 0)[self.codes]

    def pooled(self, amounts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each node the sum over all nodes that share its value; 0 where absent; (N,) -> (N,)."""
        if self.is_distinct:
            return np.where(self.present, amounts, 0)
        return self.spread(self.per_value(amounts))


class NodeLabels:
    """Label columns, made when first asked for."""

    def __init__(self, labels: Sequence[Mapping[str, str]], names: Sequence[str]) -> None:
        self._labels = labels
        self._names = names
        self._columns: dict[str, LabelColumn] = {}

    def __len__(self) -> int:
        return len(self._names)

    def column(self, key: str) -> LabelColumn:
        if key not in self._columns:
            self._columns[key] = LabelColumn([labels.get(key) for labels in self._labels])
        return self._columns[key]

    def keys(self) -> set[str]:
        """The keys of all labels that any node carries."""
        return {key for labels in self._labels for key in labels}

    def node_names(self) -> LabelColumn:
        """The field `metadata.name`, which affinity terms may also select by."""
        key = "metadata.name="  # no label can be named so
        if key not in self._columns:
            self._columns[key] = LabelColumn(self._names)
        return self._columns[key]


def selected_by(selector: LabelSelector, labels: NodeLabels) -> Mask:
    """The nodes that a selector matches; an empty one matches all."""
    equal = [labels.column(key).equals(value) for key, value in selector.match_labels.items()]
    held = [holding(requirement, labels) for requirement in selector.match_expressions]
    return all_of([np.ones(len(labels), dtype=np.bool_), *equal, *held])


def holding(requirement: LabelRequirement, labels: NodeLabels) -> Mask:
    """The nodes for which one requirement of a selector holds."""
    column = labels.column(requirement.key)
    match requirement.operator:
        case "In":
            return column.is_any_of(requirement.values)
        case "NotIn":
            return ~column.is_any_of(requirement.values)
        case "Exists":
            return column.present
        case "DoesNotExist":
            return ~column.present
    return np.zeros(len(labels), dtype=np.bool_)
