"""The embedded cluster, a simulation and a forecast start every job of the same files at the same second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster
from hekla.cluster.embedded import Options as EmbeddedOptions
from hekla.cluster.export import as_data, listed
from hekla.conf import BUILT_IN_DEFAULT
from hekla.insight.forecast import Sampling, forecast
from hekla.objects import Manifest, Node, ObjectMeta, Pod, PodGroup, PriorityClass, Queue, VolcanoJob
from hekla.objects.batch import JobSpec, PodTemplate, TaskSpec
from hekla.objects.node import NodeStatus
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.objects.read import read_manifests
from hekla.objects.scheduling import PodGroupSpec, QueueSpec
from hekla.scheduler.loop import Loop
from hekla.simulation.options import START, SimulationOptions
from hekla.simulation.simulate import simulate
from hekla.simulation.workloads import read_workload
from properties.effort import examples
from simulation.plays import conf_of
from simulation.test_against_references import BUSY

UNTIL = 400.0
QUEUES = ("research", "production", "default")


@dataclass(frozen=True)
class Wish:
    """What is drawn of one job."""

    is_job: bool
    at: int
    runs: int
    queue: str
    priority: str
    tasks: tuple[tuple[int, int, int], ...]
    """Of each task replicas, how many of them the gang needs, and CPUs."""

    @property
    def minimum(self) -> int:
        return max(1, sum(least for _, least, _ in self.tasks))


tasks = st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(1, 3)).map(
    lambda task: (task[0], min(task[1], task[0]), task[2])
)
wishes = st.lists(
    st.builds(
        Wish,
        st.booleans(),
        st.integers(0, 30),
        st.integers(1, 60),
        st.sampled_from(QUEUES),
        st.sampled_from(["", "high"]),
        st.lists(tasks, min_size=1, max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=12,
)
weights = st.tuples(st.integers(1, 5), st.integers(1, 5))
confs = st.sampled_from([BUILT_IN_DEFAULT, BUSY])


def cluster_of(weight: tuple[int, int]) -> list[Manifest]:
    nodes = [
        Node(metadata=ObjectMeta(name=name), status=NodeStatus(allocatable={"cpu": cpus, "pods": 110}))
        for name, cpus in (("n1", 4), ("n2", 6))
    ]
    queues = [
        Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=weight))
        for name, weight in zip(QUEUES, weight, strict=False)
    ]
    return [*nodes, *queues, PriorityClass(metadata=ObjectMeta(name="high"), value=100)]


def work_of(number: int, wish: Wish, at: int) -> list[Manifest]:
    """A Job, or a PodGroup with its pods, with its times written on it."""
    name = f"j{number:02}"
    notes = {"hekla.dev/arrives-at": str(at), "hekla.dev/run-seconds": str(wish.runs)}
    if wish.is_job:
        return [job_of(name, wish, notes)]
    return [group_of(name, wish, notes), *pods_of(name, wish, notes)]


def job_of(name: str, wish: Wish, notes: dict[str, str]) -> VolcanoJob:
    return VolcanoJob(
        metadata=ObjectMeta(name=name, annotations=notes),
        spec=JobSpec(
            queue=wish.queue,
            priority_class_name=wish.priority,
            min_available=wish.minimum,
            tasks=tuple(
                TaskSpec(
                    name=f"t{place}",
                    replicas=count,
                    min_available=least,
                    template=PodTemplate(spec=spec_of(cpus)),
                )
                for place, (count, least, cpus) in enumerate(wish.tasks)
            ),
        ),
    )


def group_of(name: str, wish: Wish, notes: dict[str, str]) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=name, annotations=notes),
        spec=PodGroupSpec(
            min_member=wish.minimum,
            min_resources={"cpu": sum(least * cpus for _, least, cpus in wish.tasks)},
            queue=wish.queue,
            priority_class_name=wish.priority,
        ),
    )


def pods_of(name: str, wish: Wish, notes: dict[str, str]) -> list[Pod]:
    annotations = {**notes, "scheduling.k8s.io/group-name": name}
    return [
        Pod(
            metadata=ObjectMeta(name=f"{name}-t{place}-{index}", annotations=annotations),
            spec=spec_of(cpus, wish.priority),
        )
        for place, (count, _, cpus) in enumerate(wish.tasks)
        for index in range(count)
    ]


def spec_of(cpus: int, priority: str = "") -> PodSpec:
    container = Container(name="c", resources=ResourceRequirements(requests={"cpu": cpus}))
    return PodSpec(containers=(container,), scheduler_name="volcano", priority_class_name=priority)


def starts_when_run(
    file: Path, conf: str, minimums: dict[str, int], *, period: float, grace: float
) -> dict[str, float]:
    """When as many pods of each job had been bound as its gang needs, on an embedded cluster."""
    clock = VirtualClock(START)
    cluster = EmbeddedCluster(
        read_manifests([file]).objects, clock, options=EmbeddedOptions(grace_seconds=grace)
    )
    running: dict[str, set[str]] = {}
    starts: dict[str, float] = {}

    def note(before: Manifest | None, after: Manifest | None) -> None:
        pod = after or before
        if not isinstance(pod, Pod):
            return
        name = pod.metadata.name.rsplit("-", 2)[0]
        mine = running.setdefault(name, set())
        is_leaving = pod.metadata.deletion_timestamp is not None
        if after is None or not pod.spec.node_name or is_leaving or pod.status.phase == "Failed":
            mine.discard(pod.key)
        else:
            mine.add(pod.key)
        if len(mine) >= minimums[name]:
            starts.setdefault(name, round(clock.now() - START, 6))

    cluster.watch(note)
    Loop(cluster, conf_of(conf), clock, period=period).run(until=START + UNTIL)
    return starts


def starts_when_simulated(file: Path, conf: str, *, period: float, grace: float) -> dict[str, float]:
    options = SimulationOptions(period=period, grace_seconds=grace, until=UNTIL)
    run = simulate(read_workload(file), conf_of(conf), options=options)
    starts = zip(run.jobs.names, run.jobs.started.tolist(), strict=True)
    return {name.removeprefix("default/"): at for name, at in starts if not math.isnan(at)}


def written(folder: Path, objects: Sequence[Manifest]) -> Path:
    file = folder / "objects.json"
    file.write_bytes(listed(as_data(each) for each in objects))
    return file


def backlog(wishes: Sequence[Wish], weight: tuple[int, int], *, at_once: bool = False) -> list[Manifest]:
    work = [work_of(number, wish, 0 if at_once else wish.at) for number, wish in enumerate(wishes)]
    return [*cluster_of(weight), *chain.from_iterable(work)]


def minimums_of(wishes: Sequence[Wish]) -> dict[str, int]:
    return {f"j{number:02}": wish.minimum for number, wish in enumerate(wishes)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("files")


@examples(0.5)
@given(wishes, weights, confs, st.sampled_from([1.0, 2.5]), st.sampled_from([0.0, 3.0, 30.0]))
def test_a_simulation_starts_every_job_when_a_cluster_does(folder, drawn, weight, conf, period, grace):
    """Whatever the configuration, the period between cycles and the grace of evicted pods."""
    file = written(folder, backlog(drawn, weight))
    expected = starts_when_run(file, conf, minimums_of(drawn), period=period, grace=grace)
    assert starts_when_simulated(file, conf, period=period, grace=grace) == expected


@examples(0.3)
@given(wishes, weights, confs)
def test_a_forecast_of_a_backlog_says_what_a_cluster_then_does(folder, drawn, weight, conf):
    """With a cycle for every change, once a second, and 30 seconds of grace."""
    file = written(folder, backlog(drawn, weight, at_once=True))
    sampling = Sampling(rolls=1, horizon=UNTIL, period=1.0, precision=0.0)
    found = forecast(read_manifests([file]).objects, conf_of(conf), sampling=sampling, with_reasons=False)
    foreseen = {start.job.removeprefix("default/"): start.p50 for start in found.starts}
    expected = starts_when_run(file, conf, minimums_of(drawn), period=1.0, grace=30.0)
    assert {name: at for name, at in foreseen.items() if not math.isinf(at)} == expected
