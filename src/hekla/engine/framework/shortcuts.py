"""Shortcuts: ways to decide sooner that never change a decision.

Each can be switched off. With all of them off the session goes the long, obvious way, and a law
in the tests holds the two to the same decisions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shortcuts:
    """Which of them are taken."""

    runs: bool = True
    """Tasks that look alike are placed together, and where one found no node, the others are not tried."""
    sheets: bool = True
    """What was worked out for a kind of task is kept, and put right where nodes have changed since."""
    standings: bool = True
    """What a request gives a node is kept by what the node looks like, from cycle to cycle."""
    known_scores: bool = True
    """Network domains whose score is known beforehand are tried best first, up to the first that will do."""
    kept_trials: bool = True
    """A trial that proves best stands as it is; one that failed is not made twice."""
    upper_bounds: bool = True
    """Nodes and domains that could not do at the very best are not looked at more closely."""
    queue_keys: bool = True
    """Queues in line are ordered by keys that stand still, where plugins can tell them, not by comparing."""
    quiescent_jobs: bool = True
    """Jobs all of whose tasks run are passed over before any plugin is asked about them."""


EVERY_SHORTCUT = Shortcuts()
NO_SHORTCUT = Shortcuts(
    runs=False,
    sheets=False,
    standings=False,
    known_scores=False,
    kept_trials=False,
    upper_bounds=False,
    queue_keys=False,
    quiescent_jobs=False,
)
