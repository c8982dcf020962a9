"""Plugins for stories: one that keeps what it hears, and those that have a single opinion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hekla.engine.framework import points
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import Point, answers
from hekla.engine.framework.session import Session
from hekla.engine.model.task import Task
from hekla.testing import Story

ASKED: dict[Point, object] = {
    points.QUEUE_ORDER: 0,
    points.JOB_ORDER: 0,
    points.TASK_ORDER: 0,
    points.JOB_VALID: None,
    points.PRE_PREDICATE: None,
    points.PREDICATE: None,
    points.NODE_ORDER: None,
    points.BATCH_NODE_ORDER: None,
    points.BEST_NODE: None,
    points.OVERUSED: False,
    points.ALLOCATABLE: True,
    points.HYPERNODE_GRADIENT: None,
}
"""What a recorder listens to, with the answer of one that has no opinion."""

Heard = list[tuple[str, str]]
"""What was asked or told, and of whom."""


class Recorder(Plugin):
    """Keeps what it is asked and told, in order; it has no opinion on anything."""

    name = "recorder"

    def on_open(self) -> None:
        self.heard: Heard = []

    def on_allocate(self, task: Task) -> None:
        self.heard.append(("placed", task.name))

    def on_release(self, task: Task) -> None:
        self.heard.append(("taken back", task.name))


def _listening(point: Point, answer: object) -> Callable[..., object]:
    @answers(point)
    def listen(self: Recorder, subject: Any, *_: object) -> object:
        self.heard.append((point.name, subject.name))
        return answer

    return listen


for number, (asked, answer) in enumerate(ASKED.items()):
    setattr(Recorder, f"listen_{number}", _listening(asked, answer))


def opinion_on(point: Point, say: Callable[..., object], name: str = "opinion") -> type[Plugin]:
    """A plugin that answers this point by this function of the question."""

    @answers(point)
    def method(_self: Plugin, *question: Any) -> object:
        return say(*question)

    return type("Opinion", (Plugin,), {"name": name, "say": method})


def scoring(point: Point, *scores: float, name: str = "scores") -> type[Plugin]:
    """A plugin that gives the nodes these scores, in their order."""
    return opinion_on(point, lambda _task, _among: np.array(scores, dtype=np.float64), name)


def objecting(to: str, text: str) -> type[Plugin]:
    """A plugin that puts up with every placement but that of one pod."""

    def on_allocate(_self: Plugin, task: Task) -> str | None:
        return text if task.name == to else None

    return type("Objecting", (Plugin,), {"name": "objecting", "on_allocate": on_allocate})


def advised(story: Story, *plugins: type[Plugin]) -> Story:
    """The story with these plugins in a tier of their own, which comes first."""
    tiers = ([each.name for each in plugins], *story.tiers)
    return replace(story, tiers=tiers, plugins=[*story.plugins, *plugins])


def heard(story: Story, *others: type[Plugin]) -> Heard:
    """What a recorder hears in the cycle, before other plugins do."""
    return heard_in(advised(story, Recorder, *others).cycle().session)


def heard_in(session: Session) -> Heard:
    """The same of the recorder of a session."""
    (recorder,) = [plugin for plugin in session.plugins if isinstance(plugin, Recorder)]
    return recorder.heard


def moves(heard: Heard) -> Heard:
    """What of it is about pods that got a place or lost it."""
    return [(what, whom) for what, whom in heard if what in ("placed", "taken back")]
