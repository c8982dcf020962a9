"""Tally: verdicts of one lane, counted by kind and queue."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hekla.insight.shadow.verdict import Kind, Verdict


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
