"""What stories of a document share: jobs in a few words, and runs of many cycles under virtual time."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, PREDICATE, answers
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.task import Task
from hekla.objects import Manifest, Node, Pod, PodGroup
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop
from hekla.testing import JobObjects, Story, conf_of, job, node, plugin, pod

LOW, MIDDLE, HIGH = 1, 5, 9
PLACING = ("priority, gang", "predicates")
BY_PRIORITY = (["priority", plugin("gang", enablePreemptable=False), "conformance"],)
"""Whatever is less important may be preempted, gangs at their minimum included."""

FOREVER = {"hekla.dev/run-seconds": "forever"}
"""The annotation of pods that do not end by themselves."""


class VirtualRun:
    """A story's cluster under a loop; evicted pods go at once, and are made anew."""

    def __init__(self, story: Story, *others: Manifest) -> None:
        self.clock = VirtualClock()
        objects = [*story.manifests(), *others]
        self.cluster = EmbeddedCluster(objects, self.clock, options=Options(grace_seconds=0.0))
        conf = conf_of(story.actions, story.tiers, story.configurations)
        registry = reduce(Registry.with_class, story.plugins, BUILTIN)
        self.loop = Loop(self.cluster, conf, self.clock, registry=registry)

    def cycles(self, count: int) -> list[list[str]]:
        """What each of so many cycles, a second apart, did to pods: `binds a-0 to n1`, `evicts b-0`."""
        return [self._cycle() for _ in range(count)]

    def _cycle(self) -> list[str]:
        done = told_of(self.loop.step())
        self.clock.sleep(1.0)
        self.cluster.advance(self.clock.now())
        return done

    def phases(self) -> dict[str, str]:
        return {each.metadata.name: each.status.phase for each in self.cluster.all_of(PodGroup)}

    def nodes_of_pods(self) -> dict[str, str]:
        """Where every pod is; empty where it waits."""
        return {each.metadata.name: each.spec.node_name for each in self.cluster.all_of(Pod)}


def told_of(report: CycleReport) -> list[str]:
    """Binds and evictions of a cycle, in the order they were decided."""
    told = []
    for decision in report.decisions:
        if isinstance(decision, Bind):
            told.append(f"binds {_name(decision.pod)} to {decision.node}")
        elif isinstance(decision, Evict):
            told.append(f"evicts {_name(decision.pod)}")
    return told


def _name(key: str) -> str:
    return key.removeprefix("default/")


def evictions_of(story: Story) -> list[str]:
    """Evicted pods, in the order in which they go."""
    done = told_of(story.cycle())
    return [each.removeprefix("evicts ") for each in done if each.startswith("evicts")]


def plugin_of(session: Session, name: str) -> Any:
    """The plugin of that name, with what it remembers."""
    return next(each for each in session.plugins if each.name == name)


class Taste(Plugin):
    """Refuses nodes with the label `refused`, and scores the others by their label `score`."""

    name = "taste"

    @answers(PREDICATE)
    def refuse_by_label(self, _task: Task) -> list[Refusal]:
        return [Refusal("not to my taste", np.array([label == "yes" for label in self._labels("refused")]))]

    @answers(NODE_ORDER)
    def score_by_label(self, _task: Task, _among: Mask) -> Floats:
        return np.array([float(label or 0) for label in self._labels("score")])

    def _labels(self, key: str) -> list[str]:
        return [node.labels.get(key, "") for node in self.session.nodes.nodes]


# Builders


def zoned(name: str, zone: str, **more: Any) -> Node:
    return node(name, labels={"zone": zone}, **more)


def worker(name: str, **shape: Any) -> Pod:
    return pod(name, job="a", role="worker", **shape)


def waiting(name: str, **more: Any) -> JobObjects:
    """A job that is not admitted yet and wants two cores, if nothing else is said."""
    return job(name, **{"cpu": 2, "phase": "Pending", "min_resources": {"cpu": 2}, **more})


def not_admitted(actions: str, cpu: int = 2) -> Story:
    return Story("a job that has just come", [node("n1", cpu=cpu)], [waiting("a")], actions=actions)


def low(name: str = "low", **more: Any) -> JobObjects:
    """A job of low priority that runs on n1 with one core."""
    return job(name, **{"cpu": 1, "running": {"n1": 1}, "priority": LOW, **more})


def high(name: str = "high", **more: Any) -> JobObjects:
    """A job of high priority that wants a core."""
    return job(name, **{"cpu": 1, "priority": HIGH, **more})


def contest(title: str, *jobs: Any, expect: object = None, cpu: int = 1, **more: Any) -> Story:
    """One node, and preempt alone; victims go by priority."""
    settings: dict[str, Any] = {"nodes": [node("n1", cpu=cpu)], "actions": "preempt", "tiers": BY_PRIORITY}
    return Story(title, jobs=jobs, expect=expect, **(settings | more))


EVICTED = {"low": {"evicted": ["low-0"]}, "high": {"pipelined": {"n1": 1}}}
UNTOUCHED = {"low": "running", "high": "pending"}
