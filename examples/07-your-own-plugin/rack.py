"""Rack: prefer the nodes of one rack, as long as there is room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.plugin import NODE_ORDER, Plugin, Scope, Task, answers, argument


@dataclass(frozen=True)
class RackArguments:
    rack: str = argument("north", key="rack.name", help="the rack to fill first")
    weight: int = argument(1, key="rack.weight", minimum=0, help="how much the score counts")


class Rack(Plugin):
    name = "rack"
    Arguments = RackArguments

    @answers(NODE_ORDER, Scope.CLASS)
    def prefer_the_rack(self, task: Task) -> np.ndarray:  # noqa: ARG002 - alike for all tasks
        nodes = self.session.nodes.nodes
        in_rack = [node.labels.get("rack") == self.arguments.rack for node in nodes]
        return np.array(in_rack, dtype=np.float64) * 100.0 * self.arguments.weight
