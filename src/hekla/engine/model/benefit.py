"""Benefit: what came of the pods that were evicted to make room for a job.

It is kept as a condition of the PodGroup, where people read it, and where it survives a restart of the
scheduler and a change of leader.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from enum import Enum

import msgspec
from msgspec.structs import replace

from hekla.objects import Condition, seconds
from hekla.objects.scheduling import PodGroupStatus

BENEFICIARY = "Beneficiary"
"""The type of the condition."""
FIRST_BACK_OFF = 10.0
LONGEST_BACK_OFF = 600.0

_COUNTS = re.compile(r"\((\d+) evicted, attempt (\d+)(?:, cluster ([0-9a-f]+))?\)$")


class BenefitStage(Enum):
    """The reason of the condition."""

    RESERVED = "RoomReserved"
    """The job is offered the freed room before all others."""
    STARTED = "Started"
    FUTILE = "FutileEviction"
    """The job did not start, or lost the room again."""


class Benefit(msgspec.Struct, frozen=True):
    """`since` is when the stage was reached; `cluster` is what the job depended on when it proved futile."""

    stage: BenefitStage
    since: float
    evicted: int
    attempt: int = 1
    cluster: str = ""
    why: str = ""

    @property
    def backs_off_until(self) -> float:
        """No pod is evicted for the job before this moment; each futile attempt doubles the wait."""
        if self.stage is not BenefitStage.FUTILE:
            return self.since
        return self.since + min(math.ldexp(FIRST_BACK_OFF, min(self.attempt - 1, 30)), LONGEST_BACK_OFF)

    def reached(self, stage: BenefitStage, now: float, *, why: str = "", cluster: str = "") -> Benefit:
        return replace(self, stage=stage, since=now, why=why, cluster=cluster)

    def as_condition(self) -> Condition:
        counts = f"{self.evicted} evicted, attempt {self.attempt}"
        counts += f", cluster {self.cluster}" if self.cluster else ""
        status = "False" if self.stage is BenefitStage.FUTILE else "True"
        message = f"{self._words()} ({counts})"
        return Condition(type=BENEFICIARY, status=status, reason=self.stage.value, message=message)

    def _words(self) -> str:
        match self.stage:
            case BenefitStage.RESERVED:
                return "pods were evicted to make room for this job, which is offered that room first"
            case BenefitStage.STARTED:
                return "pods were evicted to make room for this job, and it started"
            case BenefitStage.FUTILE:
                until = datetime.fromtimestamp(self.backs_off_until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                return (
                    f"pods were evicted to make room for this job, but {self.why}: none is evicted for it"
                    f" before {until}, nor until a node, a queue, another job or the job itself has changed"
                )


def benefit_of(status: PodGroupStatus) -> Benefit | None:
    """What the PodGroup's condition says; None where it has none, or one that cannot be read."""
    for condition in status.conditions:
        if condition.type == BENEFICIARY:
            return _read(condition)
    return None


def told_futile(before: PodGroupStatus, after: PodGroupStatus) -> str:
    """What is to be told because evictions for the job proved futile just now; empty where none did."""
    known, news = _futile(before), _futile(after)
    return news if news != known else ""


def _futile(status: PodGroupStatus) -> str:
    messages = [one.message for one in status.conditions if one.reason == BenefitStage.FUTILE.value]
    return messages[0] if messages else ""


def _read(condition: Condition) -> Benefit | None:
    counts = _COUNTS.search(condition.message)
    stages = [stage for stage in BenefitStage if stage.value == condition.reason]
    if counts is None or not stages:
        return None
    evicted, attempt, cluster = counts.groups(default="")
    since = seconds(condition.last_transition_time)
    return Benefit(stages[0], since, int(evicted), int(attempt), cluster)
