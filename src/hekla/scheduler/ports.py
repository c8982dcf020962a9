"""Cluster: what the scheduler needs of the world around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hekla.framework.decisions import Decision
from hekla.state.snapshot import Snapshot


class Cluster(Protocol):
    """Delivers facts and carries out decisions; embedded, simulated or real."""

    def snapshot(self) -> Snapshot:
        """The facts of this moment, made anew: the session may change them."""
        ...

    def apply(self, decisions: Sequence[Decision]) -> None:
        """Carry out what a cycle decided."""
        ...
