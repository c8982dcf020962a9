"""Evictions come to an end: a cluster in which nothing else happens comes to rest."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import PRESETS, Conf, read_conf
from hekla.engine.framework.decisions import Evict
from hekla.engine.model.benefit import BenefitStage, benefit_of
from hekla.objects import Manifest, Pod, PodGroup
from hekla.objects.keys import GROUP_NAME
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop
from hekla.testing.builders import job, node, priority_class, queue
from hekla.testing.pods import stamped
from hekla.testing.strategies import NOW, RandomCluster, clusters

CYCLES = 200
EVICTING = [
    name
    for name, preset in PRESETS.items()
    if {"preempt", "reclaim", "gangpreempt", "gangreclaim"} & set(read_conf(preset.text)[0].actions)
]
UNREST = """
actions: "enqueue, allocate, {actions}, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: {queues}
  - name: nodeorder
"""


@st.composite
def contested(draw: DrawFn) -> list[Manifest]:
    """Few nodes, queues that deserve less than they want, gangs that each want most of it."""
    amount = st.integers(1, 4)
    nodes = [
        node(f"n{at}", cpu=draw(st.integers(2, 12)), memory="64Gi") for at in range(draw(st.integers(1, 2)))
    ]
    queues = [
        queue(f"q{at}", weight=draw(amount), deserved={"cpu": draw(st.integers(1, 6)), "memory": "20Gi"})
        for at in range(draw(st.integers(1, 3)))
    ]
    objects: list[Manifest] = [*nodes, *queues, *(priority_class(f"priority-{n}", n) for n in (1, 5, 10))]
    for at in range(draw(st.integers(2, 4))):
        tasks = draw(amount)
        made = job(
            f"j{at}",
            tasks=tasks,
            min_available=draw(st.integers(1, tasks)),
            cpu=draw(amount),
            memory="1Gi",
            queue=f"q{draw(st.integers(0, len(queues) - 1))}",
            priority=draw(st.sampled_from((None, 1, 5, 10))),
            phase="Pending",
            task_priorities=draw(st.lists(st.sampled_from((1, 3)), max_size=tasks)),
        )
        objects += [made.pod_group, *made.pods]
    return stamped(objects)


class Watcher:
    """Which evictions each cycle decided on behalf of a job."""

    def __init__(self) -> None:
        self.evictions: list[list[Evict]] = []

    def __call__(self, report: CycleReport) -> None:
        found = [decision for decision in report.decisions if isinstance(decision, Evict)]
        self.evictions.append([one for one in found if one.beneficiary])


def runs_or_is_told(cluster: EmbeddedCluster, uid: str) -> bool:
    group = cluster.get(PodGroup, uid)
    assert group is not None
    benefit = benefit_of(group.status)
    pods = [
        pod for pod in cluster.all_of(Pod) if pod.metadata.annotations.get(GROUP_NAME) == group.metadata.name
    ]
    is_running = sum(bool(pod.spec.node_name) for pod in pods) >= group.spec.min_member
    return is_running or (benefit is not None and benefit.stage is BenefitStage.FUTILE)


def comes_to_rest(objects: Iterable[Manifest], conf: Conf) -> None:
    watcher, clock = Watcher(), VirtualClock(NOW)
    cluster = EmbeddedCluster(objects, clock, options=Options(run_seconds=1e9, grace_seconds=2.0))
    # Cycles go on although nothing happens, as on a real cluster: back-offs pass.
    Loop(cluster, conf, clock, longest_nap=60.0).run(max_cycles=CYCLES, on_cycle=watcher)
    assert not any(watcher.evictions[CYCLES // 2 :])
    for uid in {eviction.beneficiary for cycle in watcher.evictions for eviction in cycle}:
        assert runs_or_is_told(cluster, uid), uid


@pytest.mark.parametrize("preset", EVICTING)
@examples(0.1)
@given(made=clusters())
def test_a_static_cluster_of_endless_jobs_comes_to_rest(preset: str, made: RandomCluster) -> None:
    comes_to_rest([*made.nodes, *made.others], read_conf(PRESETS[preset].text)[0])


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
@pytest.mark.parametrize("actions", ["preempt, reclaim", "reclaim, preempt", "gangpreempt, gangreclaim"])
@examples(0.2)
@given(objects=contested())
def test_a_contested_one_does_where_tiers_let_queues_take_from_each_other(
    queues: str, actions: str, objects: list[Manifest]
) -> None:
    comes_to_rest(objects, read_conf(UNREST.format(queues=queues, actions=actions))[0])
