"""Options: how the simulated cluster behaves where the workload says nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

START = 1_767_225_600.0
"""When simulated time begins: the first second of 2026, so that timestamps look like timestamps."""


@dataclass(frozen=True)
class Options:
    """Spans in seconds of simulated time."""

    period: float = 1.0
    """Between two cycles; Volcano's own is a second."""
    start_seconds: float = 0.0
    """How long a bound pod takes until it works."""
    grace_seconds: float = 30.0
    """How long an evicted pod takes to go; Kubernetes' own is half a minute."""
    until: float = math.inf
    """The simulation ends then, whatever still runs."""
    longest_nap: float = math.inf
    """How long no cycle takes place while nothing changes; some plugins act on time alone."""
    precision: float = 0.0
    """What happens within this part of the time that has passed is decided on together: 0.05 means that ten
    hours after the start there is a cycle every half an hour at most. 0: every change gets its cycle."""
