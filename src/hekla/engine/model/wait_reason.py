"""Why a job waits, in one word, and what it has to hope for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class WaitReason(StrEnum):
    """What binds a job just now. Of several that hold with one verdict the first in this order binds."""

    STOPPED = "stopped"
    """The job was aborted, terminated or suspended, or has ended: nothing of it asks to be placed."""
    QUEUE = "queue"
    """Its queue does not exist, is not open, or takes no jobs."""
    GATE = "gate"
    """Its own doing: scheduling gates, jobs it depends on, claims or pods that do not exist yet."""
    RELEASE = "release"
    """Nodes are promised to it, and pods there are leaving for it."""
    ADMISSION_LIMIT = "admission limit"
    """A plugin lets no more waiting work in, such as overcommit."""
    QUEUE_SHARE = "queue share"
    """Its queue has had its share or is at its limit."""
    NO_ROOM = "no room"
    """Less is free, all nodes taken together, than it asks for."""
    FRAGMENTATION = "fragmentation"
    """There is enough in sum, but in pieces too small for its tasks."""
    FILTERS = "filters"
    """Nodes with room are ruled out for it: selectors, taints, affinity, spread, volumes."""
    TOPOLOGY = "topology"
    """The nodes that it may use have room for it, no single network domain has."""
    ORDER = "order"
    """It would fit, and others go first: it was not its turn, or room is kept for another job."""


class Verdict(StrEnum):
    """What a job that waits has to hope for; the first that is true of any of its reasons holds."""

    NEVER = "never"
    """Whatever ends, it cannot start on this cluster, in this queue, in these network domains as they are."""
    HELD = "held"
    """It waits for a person or another object: a gate, a queue, a claim, a job that it depends on."""
    BOOKED = "booked"
    """Room is promised to it: it starts as soon as pods there have left."""
    NOT_YET = "not yet"
    """It starts as other work ends, or when its turn comes."""


WITH_AMOUNTS = (
    WaitReason.ADMISSION_LIMIT,
    WaitReason.QUEUE_SHARE,
    WaitReason.NO_ROOM,
    WaitReason.FRAGMENTATION,
)
"""What is said of them begins with the reason, and goes on with amounts after a colon."""


@dataclass(frozen=True)
class Finding:
    """One thing that keeps a job from starting."""

    code: WaitReason
    verdict: Verdict
    text: str

    @property
    def in_short(self) -> str:
        """In a few words, without amounts that change all the time."""
        has_amounts = self.verdict is Verdict.NOT_YET and self.code in WITH_AMOUNTS
        return self.text.partition(": ")[0] if has_amounts else self.text


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The one that binds comes first: by verdict, then by reason."""
    verdicts, codes = [*Verdict], [*WaitReason]
    return sorted(findings, key=lambda one: (verdicts.index(one.verdict), codes.index(one.code)))
