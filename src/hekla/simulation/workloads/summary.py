"""Summary: a workload in numbers, gathered while its jobs pass by."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hekla.objects.quantity import exact
from hekla.simulation.workloads.model import Role, Submission, Workload

PERCENTILES = {"least": 0, "median": 50, "p90": 90, "p99": 99, "most": 100}
HOUR = 3600.0
MOST_ROLES = 1024
"""Of so many it is remembered what they ask for; a trace may have one for every job."""


@dataclass
class OfQueue:
    """The jobs of one queue."""

    jobs: int = 0
    pods: int = 0
    users: set[str] = field(default_factory=set)
    hours: Counter[str] = field(default_factory=Counter)
    """By resource: what is asked for, times how long."""


class WorkloadSummary:
    """What the jobs of a workload come to."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._pods, self._runs = array("I"), array("d")
        self._first = self._last = 0.0
        self._queues: defaultdict[str, OfQueue] = defaultdict(OfQueue)
        self._requests: dict[int, tuple[Role, dict[str, float]]] = {}
        for job in workload.jobs():
            self._take(job)

    def _take(self, job: Submission) -> None:
        if not self._pods:
            self._first = job.submitted
        self._last = job.submitted
        self._pods.append(job.pods)
        self._runs.append(job.run_seconds)
        queue = self._queues[job.queue]
        queue.jobs += 1
        queue.pods += job.pods
        if job.user:
            queue.users.add(job.user)
        for role in job.roles:
            hours = (job.run_seconds if role.run_seconds is None else role.run_seconds) / HOUR
            for name, amount in self._asked(role).items():
                queue.hours[name] += amount * hours  # type: ignore[assignment]

    def _asked(self, role: Role) -> dict[str, float]:
        """What all pods of a role ask for together; worked out once per role, as long as roles are shared."""
        known = self._requests.get(id(role))
        if known is None:
            total: dict[str, float] = {}
            for container in role.template.spec.containers:
                for name, amount in container.resources.requests.items():
                    total[name] = total.get(name, 0.0) + float(exact(amount)) * role.replicas
            if len(self._requests) >= MOST_ROLES:
                self._requests.clear()
            # The role is kept so that no other role can have its id meanwhile.
            known = self._requests[id(role)] = (role, total)
        return known[1]

    def as_data(self) -> dict[str, Any]:
        account = self.workload.account
        hours: Counter[str] = sum((queue.hours for queue in self._queues.values()), Counter())
        return {
            "name": self.workload.name,
            "jobs": len(self._pods),
            "firstArrival": self._first,
            "lastArrival": self._last,
            "users": len({user for queue in self._queues.values() for user in queue.users}),
            "pods": spread(self._pods),
            "runSeconds": spread(self._runs),
            "resourceHours": {name: round(float(total), 3) for name, total in sorted(hours.items())},
            "queues": {
                name: {
                    "jobs": queue.jobs,
                    "pods": queue.pods,
                    "users": len(queue.users),
                    "resourceHours": {key: round(float(h), 3) for key, h in sorted(queue.hours.items())},
                }
                for name, queue in sorted(self._queues.items())
            },
            "objects": dict(sorted(Counter(type(each).__name__ for each in self.workload.objects).items())),
            "faults": len(self.workload.faults),
            "dropped": dict(account.dropped),
            "changed": dict(account.changed),
        }


def spread(values: array[int] | array[float]) -> dict[str, float]:
    """Least, median, high percentiles and most."""
    if not values:
        return {}
    numbers, wanted = np.frombuffer(values, values.typecode), list(PERCENTILES.values())
    # The order of the values does not matter: they are partly sorted where they lie.
    found = np.percentile(numbers, wanted, method="inverted_cdf", overwrite_input=True)
    return dict(zip(PERCENTILES, found.astype(float).tolist(), strict=True))
