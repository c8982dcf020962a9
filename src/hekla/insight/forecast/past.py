"""Past: jobs that have ended, how long they ran, and by what jobs are alike."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from hekla.measures.waits import LARGEST_OF_SIZE

_NUMBERING = re.compile(r"([-_.](?=[a-z0-9]*[0-9])[a-z0-9]{5,}|[-_.]?[0-9]+)+$")
"""What tells apart jobs that are submitted again and again: `-17`, `-x7k2p`, `-2026-01-31`."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is known of a job before it runs; jobs that agree in more of it run more alike."""

    user: str
    """Whoever submits it; where nobody says, its namespace."""
    queue: str
    stem: str
    """Its name without numbers at the end."""
    size: int
    """Its size class, by its pods."""


@dataclass(frozen=True, slots=True)
class Past:
    """A job that has ended."""

    likeness: Likeness
    run_seconds: float
    estimate: float | None = None
    """How long its user said that it would run."""


def likeness_of(key: str, *, queue: str, pods: int, user: str = "") -> Likeness:
    """Of a job called `namespace/name`."""
    namespace, _, name = key.rpartition("/")
    return Likeness(user or namespace, queue, stem_of(name), bisect_left(LARGEST_OF_SIZE, pods))


def stem_of(name: str) -> str:
    """`train-17` and `train-x7k2p` are both `train`; a name that is all numbers is itself."""
    return _NUMBERING.sub("", name) or name
