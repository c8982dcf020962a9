"""The audit finds what a watch has lost, and books that do not add up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.http_api import HttpApi
from hekla.clock import WallClock
from hekla.cluster.kubernetes import KubernetesCluster, KubernetesOptions
from hekla.cluster.kubernetes.api.client import Client
from hekla.cluster.kubernetes.api.reflector import WatchPatience
from hekla.cluster.kubernetes.audit import Audit
from hekla.cluster.kubernetes.recount import request
from hekla.engine.model.requests import request_of
from hekla.objects import Manifest, Pod, PodGroup, Queue
from hekla.objects.pod import Container, ContainerStatus, PodSpec, PodStatus, ResourceRequirements
from hekla.testing import job, node, queue

OPTIONS = KubernetesOptions(audit_period=0.0, patience=WatchPatience(first_pause=0.01, longest_pause=0.02))
GANG = job("a", tasks=3, cpu=1, bound={"n1": 2})
OBJECTS = (queue("default"), node("n1"), node("n2"), *GANG.objects)
Part = Callable[[HttpApi, KubernetesCluster, Audit], Coroutine[Any, Any, None]]


def play(part: Part, *objects: Manifest) -> Audit:
    """The audit of a cluster in sync with a small API server, after the part was played."""

    async def whole() -> Audit:
        async with HttpApi(*(objects or OBJECTS)) as api, Client(api.access()) as client:
            cluster = KubernetesCluster(client, WallClock(), OPTIONS)
            cluster.audit._grace = 0.1
            running = asyncio.create_task(cluster.run())
            await cluster.synced()
            await asyncio.sleep(0.05)
            await part(api, cluster, cluster.audit)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            return cluster.audit

    return asyncio.run(whole())


def test_where_nothing_was_lost_there_is_no_drift() -> None:
    async def part(_api: HttpApi, cluster: KubernetesCluster, audit: Audit) -> None:
        cluster.snapshot()
        await audit.audit()

    audit = play(part)
    assert (audit.rounds, audit.drift.total(), audit.differences.total()) == (1, 0, 0)


def test_a_lost_delete_a_lost_add_and_a_lost_change_are_put_right(caplog: pytest.LogCaptureFixture) -> None:
    async def part(api: HttpApi, cluster: KubernetesCluster, audit: Audit) -> None:
        api.remove(Pod, "default/a-0", silently=True)
        api.put(job("late", cpu=1).pod_group, silently=True)
        api.put(queue("default", weight=5), silently=True)
        assert cluster.store.get(Pod, "default/a-0") is not None
        await audit.audit()
        assert cluster.store.get(Pod, "default/a-0") is None
        assert cluster.store.get(PodGroup, "default/late") is not None
        default = cluster.store.get(Queue, "default")
        assert default is not None
        assert default.spec.weight == 5

    audit = play(part)
    assert audit.drift == {"Pod": 1, "PodGroup": 1, "Queue": 1}
    assert "pod default/a-0: is gone without an event; forgotten" in caplog.text
    assert "podgroup default/late: was not heard of; put right" in caplog.text
    assert audit.differences.total() == 0


def test_what_merely_changes_meanwhile_is_no_drift() -> None:
    async def part(api: HttpApi, cluster: KubernetesCluster, audit: Audit) -> None:
        audit._grace = 0.3

        async def life_goes_on() -> None:
            for number in range(40):
                api.put(job(f"late-{number}", cpu=1).pods[0])
                if number % 2:
                    api.remove(Pod, f"default/late-{number - 1}-0")
                await asyncio.sleep(0.01)

        await asyncio.gather(audit.audit(), life_goes_on())

    assert play(part).drift.total() == 0


def test_a_watch_that_is_only_late_is_no_drift() -> None:
    async def part(api: HttpApi, _cluster: KubernetesCluster, audit: Audit) -> None:
        api.put(job("late", cpu=1).pods[0], silently=True)

        async def told_late() -> None:
            await asyncio.sleep(0.03)
            api.tell_of(Pod, "default/late-0")

        await asyncio.gather(audit.compare(Pod), told_late())

    assert play(part).drift.total() == 0


def test_books_that_do_not_add_up_are_told_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def part(_api: HttpApi, cluster: KubernetesCluster, audit: Audit) -> None:
        cluster.node_usage._used["n1"]["cpu"] += 7
        state = cluster.snapshot().state
        state.nodes.used[state.nodes.row_of["n2"], 0] += 5
        await audit.check_sums()

    audit = play(part)
    assert audit.differences == {"rooms": 1, "engine": 1}
    assert "node usage counted wrong on node n1: cpu 2007 instead of 2000" in caplog.text
    assert "the engine's state counted wrong on node n2: cpu 5 instead of 0" in caplog.text


def test_books_are_checked_while_no_cycle_runs_and_with_what_is_assumed() -> None:
    async def part(_api: HttpApi, cluster: KubernetesCluster, audit: Audit) -> None:
        pod = cluster.store.get(Pod, "default/a-2")
        assert pod is not None
        cluster.assumptions.expect(pod.metadata.uid, node="n2")
        cluster.show(pod)
        async with cluster.lock:
            check = asyncio.create_task(audit.check_sums())
            await asyncio.sleep(0.05)
            assert not check.done()
        await check

    assert play(part).differences.total() == 0


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi", "count/pods"]),
    st.sampled_from(["0", "1", "250m", "3", "64Mi"]),
)
CONTAINERS = st.builds(
    Container,
    name=st.sampled_from(["a", "b", "c"]),
    resources=st.builds(ResourceRequirements, requests=AMOUNTS),
    restart_policy=st.sampled_from(["", "Always"]),
)
STATUSES = st.builds(
    ContainerStatus,
    name=st.sampled_from(["a", "b", "c"]),
    resources=st.none() | st.builds(ResourceRequirements, requests=AMOUNTS),
    allocated_resources=AMOUNTS,
)
PODS = st.builds(
    Pod,
    spec=st.builds(
        PodSpec,
        containers=st.lists(CONTAINERS, min_size=1, max_size=3).map(tuple),
        init_containers=st.lists(CONTAINERS, max_size=3).map(tuple),
        overhead=AMOUNTS,
        resources=st.none() | st.builds(ResourceRequirements, requests=AMOUNTS),
    ),
    status=st.builds(
        PodStatus,
        container_statuses=st.lists(STATUSES, max_size=3).map(tuple),
        init_container_statuses=st.lists(STATUSES, max_size=2).map(tuple),
        resize=st.sampled_from(["", "Infeasible"]),
    ),
)


@given(PODS)
def test_who_checks_the_books_comes_to_the_same_by_another_way(pod: Pod) -> None:
    engine = {name: amount for name, amount in request_of(pod).items() if amount}
    assert {name: amount for name, amount in request(pod).items() if amount} == engine
