"""A plain event loop: gangs on so many processors, first come first served, passing over what does not fit.

This is what a simulator comes to that has neither nodes nor queues nor plugins. Where nodes cannot differ,
because there is only one or because each holds one pod, hekla starts every job at the same second under a
configuration that knows nothing but gangs.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush

from hekla.objects.quantity import whole
from hekla.simulation.workloads import Submission


def starts(jobs: Iterable[Submission], processors: int) -> dict[str, float]:
    """By job the second at which it starts; jobs that never do are not in it.

    Jobs are looked at in whole seconds, when something has come or gone since the last time.
    """
    arrivals = deque(sorted(jobs, key=lambda job: job.submitted))
    waiting: list[tuple[int, Submission]] = []
    ends: list[tuple[float, int]] = []
    found: dict[str, float] = {}
    now, free = -1, processors
    while arrivals or ends:
        now = max(now + 1, math.ceil(_next_event(arrivals, ends)))
        while ends and ends[0][0] <= now:
            free += heappop(ends)[1]
        while arrivals and arrivals[0].submitted <= now:
            waiting.append((size_of(arrivals[0]), arrivals.popleft()))
        passed_over = []
        for size, job in waiting:
            if size > free:
                passed_over.append((size, job))
                continue
            free -= size
            found[job.key] = float(now)
            heappush(ends, (now + job.run_seconds, size))
        waiting = passed_over
    return found


def _next_event(arrivals: deque[Submission], ends: list[tuple[float, int]]) -> float:
    """When the next job arrives or ends."""
    return min(arrivals[0].submitted if arrivals else math.inf, ends[0][0] if ends else math.inf)


def size_of(job: Submission) -> int:
    """The processors of all its pods."""
    return sum(
        role.replicas * whole(container.resources.requests["cpu"])
        for role in job.roles
        for container in role.template.spec.containers
    )
