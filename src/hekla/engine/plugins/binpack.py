"""Binpack: prefer the nodes a task would fill up most, so that large gaps stay whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument, arguments_by_prefix
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, AnyPoint, Scope, answers
from hekla.engine.ledger.arrays import Amounts, Floats
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.resources import CPU, MEMORY
from hekla.engine.model.task import Task

MAX_NODE_SCORE = 100.0


@dataclass(frozen=True)
class BinpackArguments:
    weight: int = argument(1, key="binpack.weight", help="how much the score counts; 0 turns it off")
    cpu: int = argument(1, key="binpack.cpu", minimum=0, help="weight of cpu")
    memory: int = argument(1, key="binpack.memory", minimum=0, help="weight of memory")
    resources: str = argument("", key="binpack.resources", help="other resources that count, comma separated")
    per_resource: Mapping[str, int] = arguments_by_prefix(
        "binpack.resources", {}, help="weight of a listed resource", minimum=0
    )

    def weights(self) -> dict[str, int]:
        """Weight by resource name."""
        listed = {name: self.per_resource.get(name, 1) for name in listed_names(self.resources)}
        return {CPU: self.cpu, MEMORY: self.memory, **listed}


def listed_names(text: str) -> list[str]:
    """`a, b` as names. Volcano reads this as text alone; a list counts as nothing."""
    return [name.strip() for name in text.split(",") if name.strip()]


class Binpack(Plugin):
    name = "binpack"
    Arguments = BinpackArguments

    def on_open(self) -> None:
        columns = self.session.axis.column_of
        self.weight_of_column = {
            columns[name]: weight for name, weight in self.arguments.weights().items() if name in columns
        }

    def silent_on(self) -> Collection[AnyPoint]:
        return () if self.arguments.weight else (NODE_ORDER,)

    @answers(NODE_ORDER, Scope.LEDGER)
    def prefer_nearly_full_nodes(self, task: Task, states: NodeStates) -> Floats | None:
        request = task.vector.tolist()
        weights = {column: weight for column, weight in self.weight_of_column.items() if request[column] > 0}
        if not weights or not len(self.session.nodes):
            return None
        scale = MAX_NODE_SCORE * float(self.arguments.weight)
        return scale * fullness(request, states.used, states.allocatable, weights)


def fullness(
    request: Sequence[int], used: Amounts, allocatable: Amounts, weights: Mapping[int, int]
) -> Floats:
    """How full each node would be with the task on it, from 0 to 1.

    request: (R,)   used, allocatable: (R, N)   weights: by column   ->   (N,)

    Only resources the task asks for and that have a weight count. A node that would overflow scores 0.
    """
    score = np.zeros(used.shape[1])
    overflows = np.zeros(len(score), dtype=np.bool_)
    for column, weight in weights.items():
        if weight == 0:
            continue
        capacity = allocatable[column]
        after = used[column] + request[column]
        offered = capacity > 0
        overflows |= offered & (after > capacity)
        # A node that has nothing of it counts as empty.
        score += np.where(offered, after * weight, 0) / np.maximum(capacity, 1)
    score[overflows] = 0.0
    # A weight of a resource that the node lacks still counts: such nodes look emptier.
    total = sum(weights.values())
    return score / total if total else score
