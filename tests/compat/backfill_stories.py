"""Builders and plugins for stories about backfill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from opinion_plugins import opinion_on, scoring
from statements import holds, shows

from hekla.engine.framework import points
from hekla.engine.framework.decisions import Tell
from hekla.engine.framework.plugin import Plugin
from hekla.objects import Node, Pod
from hekla.testing import JobObjects, Story, job, node

HIGH, LOW = 9, 1
GANG = ("priority, gang", "predicates")
RACKS = (*GANG, "network-topology-aware")
GATES = ["example.com/wait"]
SSD = {"disk": "ssd"}
ASKING: dict[str, Any] = {"cpu": 1}
NOTHING: dict[str, Any] = {}


def best_effort(name: str, tasks: int = 1, **more: Any) -> JobObjects:
    """A job of pods that ask for nothing."""
    return job(name, tasks=0, best_effort=tasks, **more)


def nodes(*names: str, **more: Any) -> list[Node]:
    return [node(name, **more) for name in names]


def tale(ids: str, title: str, jobs: Sequence[JobObjects | Pod], expect: object, **more: Any) -> ParameterSet:
    """A story about one node, unless told otherwise, that shows these statements."""
    settings = {"nodes": nodes("n1"), "tiers": GANG, **more}
    return shows(ids, Story(title, jobs=jobs, expect=expect, **settings))  # type: ignore[arg-type]


def case(ids: str, title: str, *values: object) -> ParameterSet:
    """Values of a test that show these statements."""
    return pytest.param(*values, id=title, marks=holds(*ids.split()))


def fit_errors(story: Story) -> dict[str, str]:
    """By pod, what is recorded to have kept it off the nodes."""
    jobs = story.cycle().session.jobs.values()
    return {job.tasks[uid].name: str(error) for job in jobs for uid, error in job.fit_errors.items()}


def messages(story: Story) -> list[str]:
    """What pods are told."""
    return [decision.message for decision in story.cycle().decisions if isinstance(decision, Tell)]


TWO = Story("a job of two pods", nodes("n1", "n2", "n3"), [best_effort("a", 2)], tiers=GANG)
ONE = replace(TWO, jobs=[best_effort("a")])


def choosing(row: int | None) -> type[Plugin]:
    """A plugin that chooses the node itself, or leaves that to the scores."""
    return opinion_on(points.BEST_NODE, lambda _task, _scores, _among: row, "choosing")


LAST_IS_BEST = scoring(points.NODE_ORDER, 1, 2, 3)
