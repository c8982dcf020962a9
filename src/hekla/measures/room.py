"""Room: what was free on which node at chosen moments, and for whom that was enough."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.sim.run import Floats, Run


@dataclass(frozen=True)
class BesideRoom:
    """How long gangs waited for their start while at least one of their pods had room somewhere."""

    seconds: Floats
    """(J,) per job; 0 for jobs whose gang is a single pod"""
    resolution: float
    """Seconds between the moments that were looked at"""
    gangs: int
    """How many of the gangs did at all"""


def waited_beside_room(run: Run, moments: int = 500) -> BesideRoom:
    """Looked at moments, by amounts alone: taints, affinity and topology are not known to a run."""
    raise NotImplementedError
