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
    """Equal tasks are placed together, and an attempt like one that has just failed is not made."""
    memory: bool = True
    """What was worked out for a class of tasks or a queue is kept, and brought up to date."""
    bounds: bool = True
    """Nodes and domains that are known to fail, or not to be the best, are not tried."""
    unchanged_jobs: bool = True
    """Jobs that run whole, or wait while nothing has changed for them, are passed over before any plugin is
    asked about them."""


EVERY_SHORTCUT = Shortcuts()
NO_SHORTCUT = Shortcuts(runs=False, memory=False, bounds=False, unchanged_jobs=False)
