"""What the scheduler needs of its surroundings: a cluster, and perhaps an observer of its cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hekla.conf import Conf
from hekla.engine.framework.decisions import Decision
from hekla.engine.state.snapshot import Snapshot


class Cluster(Protocol):
    """Delivers facts and carries out decisions; embedded, simulated or real."""

    def snapshot(self) -> Snapshot:
        """The facts of this moment; the session may change its copy until the next one is taken."""
        ...

    def apply(self, decisions: Sequence[Decision]) -> None:
        """Carry out what a cycle decided."""
        ...


class CycleObserver(Protocol):
    """Sees everything that a cycle goes by, and what it comes to; changes nothing."""

    def cycle_begins(
        self, snapshot: Snapshot, conf: Conf, *, now: float, uid: str, memory: Mapping[str, float]
    ) -> None:
        """All inputs of a cycle, before it runs."""

    def cycle_ends(self, decisions: Sequence[Decision]) -> None:
        """What the cycle decided."""

    def cycle_fails(self, error: Exception) -> None:
        """The cycle raised this, and decided nothing."""
