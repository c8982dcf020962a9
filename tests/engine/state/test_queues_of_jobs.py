"""Queues in the order of their first jobs, whatever came and went."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hekla.engine.model.job import Job, job_of
from hekla.engine.state.index import JobIndex
from hekla.objects import ObjectMeta, PodGroup
from hekla.objects.scheduling import PodGroupSpec

steps = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["q1", "q2", "q3", ""])), max_size=30)


def made(name: str, queue: str) -> Job:
    group = PodGroup(metadata=ObjectMeta(name=name, namespace="ns"), spec=PodGroupSpec(queue=queue))
    return job_of(group, 0, "default")


@given(steps)
def test_queues_stand_in_the_order_of_their_first_jobs(changes):
    index = JobIndex()
    for number, (name, queue) in enumerate(changes):
        uid = f"ns/{name}"
        if queue:
            job = made(name, queue)
            job.number = number
            index.put(job)
        elif uid in index.jobs:
            index.drop(index.jobs[uid])
        expected = dict.fromkeys(job.queue for _, job in sorted(index.jobs.items()))
        assert index.queues_with_jobs() == list(expected)
