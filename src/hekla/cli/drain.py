"""Drain: empty cordoned nodes, by naming what runs there as victims of shuffle. Part of the demo."""

from __future__ import annotations

from collections.abc import Sequence

from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import VICTIM_TASKS, answers
from hekla.engine.model.task import Task


class Drain(Plugin):
    name = "drain"

    @answers(VICTIM_TASKS)
    def tasks_on_cordoned_nodes(self, running: Sequence[Task]) -> list[Task]:
        nodes = self.session.nodes.nodes
        return [task for task in running if nodes[task.node].manifest.spec.unschedulable]
