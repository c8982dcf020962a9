"""Summary: all figures of a run."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.measures.chains import Chains
from hekla.measures.waits import Group
from hekla.sim.run import Run


@dataclass(frozen=True)
class ResourceUse:
    """One resource over the whole run; amounts times seconds, in cores, bytes, devices."""

    name: str
    available: float
    """Amount-seconds of nodes in service."""
    used: float
    """Amount-seconds that pods held."""
    lost: float
    """Amount-seconds of work that did not count, because it was cut off and not saved."""
    utilisation: float
    """Used over available, from 0 to 1; NaN where nothing was available."""
    fragmentation: float
    """The part of what was idle that a pod of the mix could not use; NaN where nothing was idle or wanted."""


@dataclass(frozen=True)
class Fairness:
    """One queue's part of the cluster, over the whole run."""

    queue: str
    share: float
    """Mean dominant share."""
    entitled: float
    """Mean share that it was entitled to."""
    satisfaction: float
    """The part of that it got, while it wanted it; NaN where it never did."""
    shortfall: float
    """Seconds of the whole cluster."""
    excess: float
    """Seconds of the whole cluster."""


@dataclass(frozen=True)
class Summary:
    """What became of the jobs, what was made of the cluster, and who got how much of it."""

    overall: Group
    by_queue: tuple[Group, ...]
    by_size: tuple[Group, ...]
    by_queue_and_size: tuple[Group, ...]
    """Groups without a job are left out, here and above."""
    makespan: float
    """Seconds from the first submission to the last completion; NaN where no job completed."""
    throughput: float
    """Completed jobs per hour of the makespan; NaN likewise."""
    resources: tuple[ResourceUse, ...]
    jain: float
    """Jain's index over the satisfaction of queues; NaN where there was no demand."""
    fairness: tuple[Fairness, ...]
    """One per queue that had jobs."""
    chains: Chains
    beside_room_seconds: float
    """All gangs together: how long they waited while there was room for a part of them."""
    beside_room_gangs: int
    beside_room_resolution: float

    def as_data(self) -> dict[str, object]:
        """For JSON: camelCase, numbers rounded, null for what there is not."""
        raise NotImplementedError


def summarize(run: Run) -> Summary:
    """All figures of the run."""
    raise NotImplementedError
