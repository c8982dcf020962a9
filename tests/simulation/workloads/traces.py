"""Traces in a few words for the tests beside this file."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from hekla.errors import InputError
from hekla.simulation.workloads import Submission, Workload, read_workload

Role = tuple[str, int, dict[str, object]]


def told(path: Path, **options: object) -> str:
    """What is said about a file that cannot be used, without the folder; already before any job is read."""
    with pytest.raises(InputError) as caught:
        read_workload(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def roles(job: Submission) -> list[Role]:
    return [
        (role.name, role.replicas, dict(role.template.spec.containers[0].resources.requests))
        for role in job.roles
    ]


def arrivals(work: Workload) -> list[tuple[str, float]]:
    return [(job.name, job.submitted) for job in work.jobs()]


def most_held(work: Workload, every: int) -> tuple[int, int]:
    """How many jobs there are, and by how many objects memory grew meanwhile, looked at every so often."""
    jobs = work.jobs()
    next(jobs)
    gc.collect()
    before, most, count = len(gc.get_objects()), 0, 1
    for _ in jobs:
        count += 1
        if count % every == 0:
            most = max(most, len(gc.get_objects()) - before)
    return count, most
