"""The stage against a plain simulator, and against the embedded cluster with everything it has."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import event_loop
from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Happening
from hekla.cluster.embedded import Options as EmbeddedOptions
from hekla.conf import BUILT_IN_DEFAULT
from hekla.objects import Manifest, ObjectMeta, Pod, PodGroup, PriorityClass, Queue
from hekla.objects.scheduling import PodGroupSpec
from hekla.scheduler.loop import Loop
from hekla.simulation.options import START
from hekla.simulation.run import Run, State
from hekla.simulation.workloads import Submission
from properties.effort import examples
from simulation.plays import PLAIN, conf_of, job, node, play
from workloads import listed

BUSY = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
HIGH = PriorityClass(metadata=ObjectMeta(name="high"), value=100)
QUEUES = tuple(Queue(metadata=ObjectMeta(name=name)) for name in ("q1", "q2"))
CPUS = 4


# A node, a queue, and the job that comes first


arrivals = st.lists(
    st.tuples(
        st.floats(0, 20).map(lambda t: round(t, 1)),
        st.integers(0, 15),
        st.integers(1, 2),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=15,
)


@examples(0.8)
@given(arrivals)
def test_on_one_node_the_first_job_that_fits_starts(rows):
    jobs = [
        job(f"j{i:02}", at, lasts, pods=pods, cpu=cpu)
        for i, (at, lasts, pods, cpu) in enumerate(sorted(rows))
    ]
    run = play(jobs, [node("n1", cpu=CPUS)], conf=PLAIN)
    assert started(run) == event_loop.starts(jobs, CPUS)
    finished = zip(run.jobs.names, run.jobs.finished.tolist(), strict=True)
    assert dict(finished) == {one.key: started(run)[one.key] + one.run_seconds for one in jobs}


gangs = st.lists(
    st.tuples(
        st.floats(0, 40).map(lambda t: round(t, 1)),
        st.floats(0, 20).map(lambda t: round(t, 1)),
        st.integers(1, 7),
    ),
    min_size=1,
    max_size=25,
)


@examples(0.8)
@given(gangs, st.integers(3, 6))
def test_with_gangs_alone_every_job_starts_when_a_plain_event_loop_starts_it(rows, nodes):
    """Nodes hold one pod each, so that no choice matters; some gangs are larger than all of them."""
    jobs = [job(f"j{i:02}", at, lasts, pods=pods) for i, (at, lasts, pods) in enumerate(sorted(rows))]
    cluster = [node(f"n{i}", cpu=1) for i in range(nodes)]
    run = play(jobs, cluster, conf=listed().confs["gangs alone"])
    assert started(run) == event_loop.starts(jobs, nodes)


def test_by_default_a_job_that_has_just_been_bound_leaves_less_to_be_admitted():
    """It is in use and still waits to be seen running, so that the next job is admitted a second later."""
    jobs = [job("first", 1, 10), job("second", 2, 10, pods=2)]
    cluster = [node(f"n{i}", cpu=1) for i in range(3)]
    alone = play(jobs, cluster, conf=listed().confs["gangs alone"])
    assert started(alone) == {"default/first": 1, "default/second": 2}
    assert started(play(jobs, cluster)) == {"default/first": 1, "default/second": 3}


def started(run: Run) -> dict[str, float]:
    """By job when it started, if it ever did."""
    both = zip(run.jobs.names, run.jobs.started.tolist(), strict=True)
    return {name: at for name, at in both if not math.isnan(at)}


def test_one_server_with_equal_jobs_has_a_closed_form():
    """A job of 10 seconds every 4 seconds: the n-th waits 6 n seconds."""
    run = play([job(f"j{i:03}", 4 * i, 10, cpu=CPUS) for i in range(50)], [node("n1", cpu=CPUS)])
    assert (run.jobs.started - run.jobs.submitted).tolist() == [6.0 * i for i in range(50)]


def test_k_servers_with_equal_jobs_have_one_too():
    """Four at a time, all there at the start: rounds of 7 seconds."""
    run = play([job(f"j{i:03}", 0, 7) for i in range(40)], [node("n1", cpu=4)], conf=PLAIN)
    assert run.jobs.started.tolist() == [7.0 * (i // 4) for i in range(40)]


# The embedded cluster


def embedded_starts(jobs: Sequence[Submission], nodes: Sequence[Manifest], conf: str) -> dict[str, float]:
    """When pods of each job were first bound on an embedded cluster that is given the same work."""
    objects: list[Manifest] = [HIGH, *QUEUES, *nodes]
    for one in jobs:
        notes = {"hekla.dev/arrives-at": str(one.submitted), "hekla.dev/run-seconds": str(one.run_seconds)}
        objects.append(group_of(one, notes))
        objects += pods_of(one, notes)
    clock = VirtualClock(START)
    cluster = EmbeddedCluster(objects, clock, options=EmbeddedOptions(grace_seconds=3))
    Loop(cluster, conf_of(conf), clock).run(until=START + 120)
    starts: dict[str, float] = {}
    for event in cluster.events:
        if event.reason == "Scheduled":
            starts.setdefault(_job_of(event), event.time - START)
    return starts


def group_of(one: Submission, notes: dict[str, str]) -> PodGroup:
    cpus = sum(role.replicas * _cpus(role) for role in one.roles)
    return PodGroup(
        metadata=ObjectMeta(name=one.name, namespace="default", annotations=notes),
        spec=PodGroupSpec(
            min_member=one.pods,
            min_task_member={role.name: role.replicas for role in one.roles},
            min_resources={"cpu": cpus, "requests.cpu": cpus, "pods": one.pods, "count/pods": one.pods},
            queue=one.queue,
            priority_class_name=one.priority_class,
        ),
    )


def pods_of(one: Submission, notes: dict[str, str]) -> list[Pod]:
    return [
        Pod(
            metadata=ObjectMeta(
                name=f"{one.name}-{role.name}-{index}",
                namespace="default",
                annotations=notes
                | {"scheduling.k8s.io/group-name": one.name, "volcano.sh/task-spec": role.name},
            ),
            spec=replace(
                role.template.spec, scheduler_name="volcano", priority_class_name=one.priority_class
            ),
        )
        for role in one.roles
        for index in range(role.replicas)
    ]


def _cpus(role) -> int:
    return int(role.template.spec.containers[0].resources.requests["cpu"])


def _job_of(event: Happening) -> str:
    return event.object.removeprefix("pod ").rsplit("-", 2)[0]


busy_arrivals = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(1, 40),
        st.integers(1, 4),
        st.integers(1, 3),
        st.sampled_from(["q1", "q2"]),
        st.sampled_from(["", "high"]),
    ),
    min_size=1,
    max_size=12,
)


@examples(0.4)
@given(busy_arrivals, st.sampled_from([BUILT_IN_DEFAULT, BUSY]))
def test_the_embedded_cluster_starts_the_same_jobs_at_the_same_moments(rows, conf):
    jobs = [
        job(f"j{i:02}", at, lasts, pods=pods, cpu=cpu, queue=queue, priority_class=priority)
        for i, (at, lasts, pods, cpu, queue, priority) in enumerate(sorted(rows))
    ]
    nodes = [node("n1", cpu=4), node("n2", cpu=6)]
    run = play(jobs, nodes, conf=conf, objects=[HIGH, *QUEUES], grace_seconds=3, until=120)
    starts = dict(zip(run.jobs.names, run.jobs.started.tolist(), strict=True))
    assert {key: at for key, at in starts.items() if not math.isnan(at)} == embedded_starts(jobs, nodes, conf)


# What must hold in every run


def peak_use(run: Run) -> np.ndarray:
    """By node and resource, the most that was ever held at once."""
    peak = np.zeros_like(run.nodes.allocatable)
    for at in range(len(run.nodes.names)):
        mine = run.pod_runs.node == at
        began, ended = run.pod_runs.began[mine], run.pod_runs.ended[mine]
        asked = run.shapes[run.pod_runs.shape[mine]]
        for moment in np.unique(began):
            held = asked[(began <= moment) & (moment < ended)].sum(axis=0)
            peak[at] = np.maximum(peak[at], held)
    return peak


@examples(0.4)
@given(busy_arrivals, st.sampled_from([BUILT_IN_DEFAULT, BUSY]))
def test_no_node_is_overcommitted_and_no_work_is_lost_or_done_twice(rows, conf):
    jobs = [
        job(
            f"j{i:02}",
            at,
            lasts,
            pods=pods,
            cpu=cpu,
            queue=queue,
            priority_class=priority,
            checkpoint_seconds=5,
        )
        for i, (at, lasts, pods, cpu, queue, priority) in enumerate(sorted(rows))
    ]
    run = play(jobs, [node("n1", cpu=4), node("n2", cpu=6)], conf=conf, objects=[HIGH, *QUEUES], until=1000)
    assert (peak_use(run) <= run.nodes.allocatable).all()
    done = np.bincount(run.pod_runs.job, weights=run.pod_runs.kept, minlength=len(run.jobs))
    owed = run.jobs.run_seconds * run.jobs.pods
    completed = run.jobs.state == State.COMPLETED
    assert np.allclose(done[completed], owed[completed])
    assert (run.jobs.started[completed] >= run.jobs.submitted[completed]).all()
