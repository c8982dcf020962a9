"""Neighbours: keep the pods of a job in few racks, and off nodes that are in maintenance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.plugin import (
    ALLOCATED_SET,
    NODE_ORDER,
    PREDICATE,
    Code,
    Floats,
    Mask,
    Plugin,
    Refusal,
    Scope,
    Task,
    Verdict,
    answers,
    argument,
)

MAINTENANCE = "example.com/maintenance"


@dataclass(frozen=True)
class NeighboursArguments:
    label: str = argument("rack", key="neighbours.label", help="the node label that names the rack")
    weight: int = argument(1, key="neighbours.weight", minimum=0, help="how much the score counts")


class Neighbours(Plugin):
    name = "neighbours"
    Arguments = NeighboursArguments

    def on_open(self) -> None:
        nodes = self.session.nodes.nodes
        racks = np.array([node.labels.get(self.arguments.label, "") for node in nodes], dtype=np.str_)
        names, self.rack_of_node = np.unique(racks, return_inverse=True)
        self.has_rack = racks != ""
        notes = [node.manifest.metadata.annotations for node in nodes]
        self.in_maintenance = np.array([MAINTENANCE in said for said in notes], dtype=np.bool_)
        self.pods_by_rack = {job: np.zeros(len(names)) for job in self.session.jobs}
        for task in self.session.tasks:
            if task.status in ALLOCATED_SET:
                self.on_allocate(task)

    @answers(PREDICATE, Scope.CLASS)
    def refuse_nodes_in_maintenance(self, _task: Task) -> list[Refusal]:
        reason = "node(s) were in maintenance"
        told = {"plain": "in maintenance", "verdict": Verdict.HELD}
        return [Refusal(reason, self.in_maintenance, Code.UNRESOLVABLE, **told)]

    @answers(NODE_ORDER)
    def prefer_the_racks_of_its_job(self, task: Task, _candidates: Mask) -> Floats:
        pods = self.pods_by_rack[task.job]
        share = pods[self.rack_of_node] / max(pods.sum(), 1)
        return np.where(self.has_rack, 100.0 * self.arguments.weight * share, 0.0)

    def on_allocate(self, task: Task) -> None:
        self.count(task, 1)

    def on_release(self, task: Task) -> None:
        self.count(task, -1)

    def count(self, task: Task, pods: int) -> None:
        if task.job in self.pods_by_rack:
            self.pods_by_rack[task.job][self.rack_of_node[task.node]] += pods
