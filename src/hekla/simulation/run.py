"""Run: what a simulation came to, as columns.

Times are seconds since the start. Amounts are in canonical units: millicores, bytes, and thousandths of
everything else that is counted (one GPU is 1000), in the columns that `resources` names. A time that never
came is NaN, a reference to nothing is -1.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from hekla.engine.model.wait_reason import WaitReason

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session


Floats = npt.NDArray[np.float64]
Amounts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]

NOTHING = -1


class State(IntEnum):
    """Where a job stands at the end."""

    WAITING = 0
    RUNNING = 1
    COMPLETED = 2
    FAILED = 3
    REFUSED = 4
    """Never taken in: its queue is missing or closed, or its object is not sound."""


class Ending(IntEnum):
    """How a pod's pod run on a node came to its end."""

    DONE = 0
    EVICTED = 1
    """By the scheduler, in favour of `PodRuns.beneficiary` where there is one, or by a drain."""
    LOST = 2
    """With its node."""
    FAILED = 3
    """By itself."""
    STOPPED = 4
    """Because its job ended or started again."""
    CUT = 5
    """Not at all: it still ran when the simulation ended."""


@dataclass(frozen=True)
class Jobs:
    """One row per job, in order of submission."""

    names: list[str]
    """`namespace/name`."""
    users: list[str]
    queue: Numbers
    """Into `Run.queues`."""
    state: Codes
    submitted: Floats
    started: Floats
    """When as many pods ran as its gang needs, for the first time."""
    finished: Floats
    run_seconds: Floats
    """How long its pods work if nothing interrupts them: the longest of its roles."""
    estimate: Floats
    """The user's estimate; NaN without one."""
    pods: Numbers
    minimum: Numbers
    evictions: Numbers
    """Pods taken off by the scheduler or a drain."""
    failures: Numbers
    """Pods that failed or went with their node."""
    restarts: Numbers
    """How often the whole job began anew."""
    requests: Amounts
    """(J, R) What all its pods ask for together."""
    shape: Numbers
    """Into `Run.shapes`: what a pod of its first role asks for."""

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class PodRuns:
    """One row per time that a pod spent on a node, in order of their ends."""

    job: Numbers
    pod: Numbers
    """Its number within the job."""
    shape: Numbers
    """Into `Run.shapes`."""
    node: Numbers
    """Into `Run.nodes`."""
    began: Floats
    ended: Floats
    ending: Codes
    kept: Floats
    """Seconds of its work that counted: less than its length where some was lost."""
    beneficiary: Numbers
    """The job that it was evicted for."""

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True)
class Nodes:
    """One row per node that was ever there."""

    names: list[str]
    allocatable: Amounts
    """(N, R)"""
    service: Numbers
    """Which node was up, one row per span."""
    service_began: Floats
    service_ended: Floats


@dataclass(frozen=True)
class Samples:
    """What plugins' accounts said, at most once per cycle and not more often than is worth drawing."""

    times: Floats
    """(T,)"""
    deserved: Floats
    """(T, Q, R) What each queue was entitled to; NaN where no plugin says."""


class Cause(NamedTuple):
    """What binds a job that waits."""

    reason: WaitReason
    plugin: str = ""
    """The one that refused its admission; empty where none did."""

    def __str__(self) -> str:
        return f"{self.reason} ({self.plugin})" if self.plugin else str(self.reason)


NOT_ITS_TURN = Cause(WaitReason.ORDER)
"""Of jobs that start in the first cycle that sees them."""


@dataclass(frozen=True)
class WaitCauses:
    """What bound the jobs that waited, from one moment to the next.

    Jobs that ask for the same, and have come as far, form a group: one cause binds all of them. A group's
    rows stand in order of time; what is known of a job or a group first holds of what was before, too.
    """

    causes: tuple[Cause, ...]
    job: Numbers
    """One row per time that a waiting job came into a group."""
    group: Numbers
    since: Floats
    of_group: Numbers
    """One row per time that another cause began to bind a group."""
    changed: Floats
    cause: Codes
    """Into `causes`."""


@dataclass(frozen=True)
class Run:
    """Everything that measures and pictures are made from."""

    title: str
    conf: str
    """The name of the configuration."""
    seed: int
    end: float
    """The last moment simulated."""
    is_complete: bool
    """Whether it came to its end by itself; otherwise it was interrupted or its time was limited."""
    cycles: int
    resources: tuple[str, ...]
    queues: list[str]
    shapes: Amounts
    """(S, R) What pods ask for."""
    jobs: Jobs
    pod_runs: PodRuns
    nodes: Nodes
    samples: Samples
    waits: WaitCauses | None = None
    """None where it was not watched why jobs waited."""
    notes: list[str] = field(default_factory=list)
    """What was left out or assumed, as sentences."""
    wall_seconds: float = field(default=0.0, compare=False)
    """How long it took to simulate; not part of the result."""

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        # By its name: what draws a run stands above what measures it, which stands above this.
        html: str = importlib.import_module("hekla.simulation.report.notebook").run_html(self)
        return html


WANTED = 400


class Sampler:
    """Asks sessions what queues deserve, at most once per interval."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._times: list[float] = []
        self._deserved: list[dict[str, dict[str, float]]] = []
        self._next = -math.inf

    def look(self, session: Session, now: float) -> None:
        if now < self._next:
            return
        self._times.append(now)
        self._deserved.append(
            {
                queue: dict(deserved)
                for number in session.registrations.keep_accounts
                for queue, deserved in session.plugins[number].deserved_by_queue().items()
                if deserved
            }
        )
        if len(self._times) >= 2 * WANTED:
            self._times, self._deserved = self._times[::2], self._deserved[::2]
            self._interval *= 2
        self._next = now + self._interval

    def samples(self, queues: Sequence[str], resources: Sequence[str]) -> Samples:
        """As arrays; what no plugin said anything about is NaN."""
        deserved = np.full((len(self._times), len(queues), len(resources)), np.nan)
        for at, accounts in enumerate(self._deserved):
            for place, queue in enumerate(queues):
                if account := accounts.get(queue):
                    deserved[at, place] = [account.get(name, 0.0) for name in resources]
        return Samples(np.array(self._times, dtype=np.float64), deserved)
