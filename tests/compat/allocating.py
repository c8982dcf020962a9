"""Small clusters, plugins with one opinion, and a diary: what the stories about allocate are told with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hekla.engine.framework.decisions import Bind, Tell
from hekla.engine.framework.plugin import Objection, Plugin
from hekla.engine.framework.points import PRE_PREDICATE, Point, answers
from hekla.engine.ledger.arrays import Floats
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.task import Task
from hekla.objects import Pod
from hekla.scheduler.cycle import CycleReport
from hekla.testing import JobObjects, PodRole, Story, hypernode, job, node, pod, racks, sub_group

GANG = ("priority, gang",)
FILTERED = ("priority, gang", "predicates")
ONE, TWO = [node("n1", cpu=1)], [node("n1", cpu=2), node("n2", cpu=2)]
HARD, HARD_2, SOFT = ("hard", 1), ("hard", 2), ("soft", 1)
FOUR = [node(name, cpu=2) for name in ("n1", "n2", "n3", "n4")]
SPINE = {
    "nodes": FOUR,
    "objects": [*racks(s0=["n1", "n2"], s1=["n3", "n4"]), hypernode("s2", tier=2, hypernodes=["s0", "s1"])],
    "actions": "allocate",
    "tiers": ("priority, gang", "predicates, network-topology-aware"),
}
"""Two racks of two nodes with two cores each, and a spine above them."""


class Diary(Plugin):
    """Has no opinion, and writes down which tasks are tried, placed and taken back."""

    name = "diary"

    def on_open(self) -> None:
        self.lines: list[str] = []

    @answers(PRE_PREDICATE)
    def note_attempt(self, task: Task) -> None:
        self.lines.append(f"try {task.name}")

    def on_allocate(self, task: Task) -> None:
        self.lines.append(f"put {task.name} {task.node_name}")

    def on_release(self, task: Task) -> None:
        self.lines.append(f"undo {task.name}")


def diary_of(story: Story, *words: str) -> list[str]:
    """What a diary that is asked before all others says after a cycle; of these words alone, if any."""
    report = replace(story, tiers=("diary", *story.tiers), plugins=[*story.plugins, Diary]).cycle()
    (diary,) = (p for p in report.session.plugins if isinstance(p, Diary))
    return [line for line in diary.lines if not words or line.startswith(words)]


def opinion(point: Point, answer: Callable[..., Any]) -> type[Plugin]:
    """A plugin that answers one question, and no other."""
    return type("Opinion", (Plugin,), {"name": "opinion", "answer": answers(point)(answer)})


def advised(story: Story, point: Point, answer: Callable[..., Any]) -> Story:
    """The same story with one more plugin, which is asked first."""
    return replace(story, tiers=("opinion", *story.tiers), plugins=[opinion(point, answer)])


def favours(**scores: float) -> Callable[..., Floats]:
    """Scores of nodes by their names, 0 for all others."""
    return lambda self, task, among: np.array([scores.get(name, 0.0) for name in self.session.nodes.names])


def refuses(name: str) -> Callable[..., Objection | None]:
    return lambda self, task: Objection("not today") if task.name == name else None


def places(report: CycleReport) -> dict[str, str]:
    """Pods that were bound to their nodes, in order."""
    binds = [decision for decision in report.decisions if isinstance(decision, Bind)]
    return {bind.pod.removeprefix("default/"): bind.node for bind in binds}


def message_on(story: Story) -> str:
    (told,) = (d.message for d in story.cycle().decisions if isinstance(d, Tell))
    return told


def leaving(name: str) -> Pod:
    """What takes a core of the node, and is being deleted."""
    return pod(f"old-{name}", on=name, cpu=1, is_leaving=True)


def staying(name: str) -> Pod:
    return pod(f"old-{name}", on=name, cpu=1)


def sizes(*cpus: int, minimum: int, role: str = "") -> list[JobObjects | Pod]:
    """A job `a` with one task of each size."""
    pods = [pod(f"a-{at}", job="a", role=role, cpu=cpu) for at, cpu in enumerate(cpus)]
    return [job("a", tasks=0, min_available=minimum), *pods]


def in_spine(
    title: str, *jobs: JobObjects | Pod, expect: dict[str, object] | None = None, **more: Any
) -> Story:
    return Story(title, jobs=jobs, expect=expect, **{**SPINE, **more})


def parts(count: int = 2, *, wish: tuple[str, int] | None = HARD, tasks: int = 1, **more: Any) -> JobObjects:
    """A job `a` whose parts `g0`, `g1`, ... all have to start, each in a domain of its own wish."""
    roles = [PodRole(f"g{at}", tasks, shape={"labels": {"group": str(at)}}) for at in range(count)]
    policy = sub_group("g", size=tasks, minimum=count, wish=wish)
    return job("a", **{"cpu": 1, "roles": roles, "sub_groups": [policy], **more})


def tried_in(*groups: Sequence[str]) -> Callable[..., list[list[Domain]] | None]:
    """The groups of domains in which the job is tried, by name; its parts are tried in the domain itself."""

    def gradients(self: Plugin, job: Job, sub_job: SubJob | None, bound: Domain, purpose: object) -> Any:
        by_name = self.session.domains.by_name
        return [[bound]] if sub_job else [[by_name[name] for name in group] for group in groups]

    return gradients


def likes_domains(**scores: float) -> Callable[..., dict[str, float]]:
    return lambda self, sub_job, candidates: scores
