"""Verdicts on the decisions of another scheduler, and their totals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """How a lane stands to what the other scheduler does."""

    SAME = "same"
    OTHER_NODE = "other node"
    EARLIER = "earlier"
    WAITS = "would wait"
    KEEPS = "would not evict"
    STARTS = "would start"
    EVICTS = "would evict"
    UNJUDGED = "not judged"

    @property
    def is_difference(self) -> bool:
        return self not in (Kind.SAME, Kind.UNJUDGED)

    @property
    def is_deed(self) -> bool:
        """Whether the other scheduler did something; otherwise it is what it did not do that counts."""
        return self not in (Kind.STARTS, Kind.EVICTS)


@dataclass(frozen=True)
class Verdict:
    """What one configuration makes of one pod."""

    kind: Kind
    lane: str
    at: float
    pod: str
    job: str
    queue: str
    node: str = ""
    """Where the other scheduler put the pod, or took it off."""
    own_node: str = ""
    """Where the lane would have put it."""
    seconds: float = 0.0
    """How much earlier the lane would have started it, or for how long it has wanted to act."""
    reason: str = ""
    is_eviction: bool = False

    def __str__(self) -> str:
        said = f"{self.pod} (queue {self.queue or '-'}): {self._what()}"
        return f"{said}: {self.reason}" if self.reason else said

    def _what(self) -> str:
        match self.kind:
            case Kind.SAME if self.is_eviction:
                return f"evicted from {self.node}, as here"
            case Kind.SAME:
                return f"bound to {self.node}, as here"
            case Kind.OTHER_NODE:
                return f"bound to {self.node}, here to {self.own_node}"
            case Kind.EARLIER:
                return f"bound to {self.node}, here {self.seconds:.0f} s earlier"
            case Kind.WAITS:
                return f"bound to {self.node}, here it would wait"
            case Kind.KEEPS:
                return f"evicted from {self.node}, here it would stay"
            case Kind.STARTS:
                return f"waits, here it would run on {self.own_node} since {self.seconds:.0f} s"
            case Kind.EVICTS:
                return f"stays on {self.node}, here it would be evicted since {self.seconds:.0f} s"
        return f"{'evicted from' if self.is_eviction else 'bound to'} {self.node}, not judged"

    def as_data(self) -> dict[str, object]:
        return {
            "time": round(self.at, 3),
            "configuration": self.lane,
            "kind": self.kind.value,
            "pod": self.pod,
            "job": self.job,
            "queue": self.queue,
            "eviction": self.is_eviction,
            "node": self.node,
            "ownNode": self.own_node,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
        }


@dataclass
class Tally:
    """What one configuration agreed with, and what not."""

    lane: str
    kinds: Counter[Kind] = field(default_factory=Counter)
    queues: dict[str, Counter[Kind]] = field(default_factory=dict)
    binds: int = 0
    evictions: int = 0
    earlier_seconds: float = 0.0
    most_seconds: float = 0.0

    def add(self, verdict: Verdict) -> None:
        self.kinds[verdict.kind] += 1
        self.queues.setdefault(verdict.queue or "-", Counter())[verdict.kind] += 1
        if verdict.kind.is_deed:
            self.evictions += verdict.is_eviction
            self.binds += not verdict.is_eviction
        if verdict.kind is Kind.EARLIER:
            self.earlier_seconds += verdict.seconds
            self.most_seconds = max(self.most_seconds, verdict.seconds)

    @property
    def seen(self) -> int:
        """Deeds of the other scheduler."""
        return self.binds + self.evictions

    @property
    def differed(self) -> int:
        """Deeds that the lane would not have done, or not so."""
        return sum(count for kind, count in self.kinds.items() if kind.is_difference and kind.is_deed)

    def as_data(self) -> dict[str, object]:
        return {
            "configuration": self.lane,
            "seen": self.seen,
            "binds": self.binds,
            "evictions": self.evictions,
            "agreed": self.kinds[Kind.SAME],
            "differed": self.differed,
            "byKind": _by_name(self.kinds),
            "byQueue": {queue: _by_name(kinds) for queue, kinds in sorted(self.queues.items())},
            "earlierSeconds": {
                "total": round(self.earlier_seconds, 3),
                "mean": round(self.earlier_seconds / max(self.kinds[Kind.EARLIER], 1), 3),
                "most": round(self.most_seconds, 3),
            },
        }


def _by_name(kinds: Counter[Kind]) -> dict[str, int]:
    return {kind.value: kinds[kind] for kind in Kind if kinds[kind]}
