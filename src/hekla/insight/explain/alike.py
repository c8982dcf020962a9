"""Alike: explanations that say the same of several jobs, so that they are told once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hekla.engine.explain.explanation import Explanation


@dataclass
class AlikeJobs:
    """The first of some jobs that wait for the same reasons, and the other ones."""

    first: Explanation
    others: list[str] = field(default_factory=list)
    """By name."""

    def __str__(self) -> str:
        if not self.others:
            return str(self.first)
        more = f"{self.first.job} and {len(self.others)} more like it"
        return more + str(self.first).removeprefix(self.first.job)


def alike(explanations: Iterable[Explanation]) -> list[AlikeJobs]:
    """Explanations that differ in nothing but the names of jobs and of their pods, in the order given."""
    found: dict[tuple[object, ...], AlikeJobs] = {}
    for explanation in explanations:
        known = found.setdefault(_essence(explanation), AlikeJobs(explanation))
        if known.first is not explanation:
            known.others.append(explanation.job)
    return list(found.values())


def _essence(explanation: Explanation) -> tuple[object, ...]:
    """What it says, without the name of its job."""
    space, _, name = explanation.job.rpartition("/")
    own = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.])")
    said = tuple(own.sub("\0", text) for text in (explanation.headline, *explanation.reasons))
    return space, explanation.queue, explanation.phase, explanation.code, explanation.verdict, said
