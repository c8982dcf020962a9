"""Everything that can go wrong between scheduler and API server: the end state is the same as without."""

from __future__ import annotations

import pytest

from harness import Cluster, FaultProxy, wait_until
from harness.faults import (
    CutWatch,
    ExpireWatch,
    Fault,
    FreezeWatch,
    LoseAnswer,
    LoseAnswerSilently,
    Refuse,
    Reset,
    Silence,
    anything,
    binds,
    unrest,
    watches,
)
from harness.manifests import node, pod, pod_group
from harness.scheduler import USER, running

pytestmark = pytest.mark.usefixtures("rights")
GANGS, SIZE = 6, 50


def backlog(cluster: Cluster) -> None:
    cluster.api.create(*(node(f"n{at:02}", cpu=8) for at in range(40)))
    for number in range(GANGS):
        name = f"g{number}"
        cluster.api.create(pod_group(name, SIZE), *(pod(f"{name}-{at}", group=name) for at in range(SIZE)))


def bound(cluster: Cluster) -> int:
    return len(cluster.api.list("Pod", fieldSelector="spec.nodeName!="))


def wait_for_all(cluster: Cluster, count: int = GANGS * SIZE, timeout: float = 120.0) -> None:
    wait_until(lambda: bound(cluster) == count, timeout, what=f"{count} binds")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_hundreds_of_faults_change_nothing_in_the_end(cluster: Cluster, proxy: FaultProxy, seed: int) -> None:
    backlog(cluster)
    proxy.rules += unrest(seed, probability=0.06)
    with running(cluster.plane, "--watch-timeout=10s", kubeconfig=proxy.kubeconfig(USER)):
        wait_for_all(cluster)
        assert sum(proxy.injected.values()) >= 100, proxy.injected
        proxy.calm()
        wait_until(
            lambda: all(group["status"].get("running") == SIZE for group in cluster.api.list("PodGroup")),
            60,
            what="the status of every gang",
        )
    cluster.referee.assert_clean(cluster.api)


@pytest.mark.parametrize(
    "fault",
    [
        Refuse(429, retry_after=1),
        Refuse(500),
        Refuse(503),
        Refuse(504, retry_after=1),
        Reset(),
        LoseAnswer(),
        Refuse(409),
        Refuse(401),
    ],
    ids=lambda fault: f"{fault.name} {getattr(fault, 'status', '')}".strip(),
)
def test_a_bind_that_meets_a_fault_is_made_once(cluster: Cluster, proxy: FaultProxy, fault: Fault) -> None:
    cluster.api.create(node("n1", cpu=8), pod_group("g", 4), *(pod(f"g-{at}", group="g") for at in range(4)))
    rule = proxy.add(binds, fault, times=4)
    with running(cluster.plane, kubeconfig=proxy.kubeconfig(USER)):
        wait_for_all(cluster, 4, timeout=40)
        assert rule.hits == 4
    cluster.referee.assert_clean(cluster.api)


@pytest.mark.parametrize("fault", [Silence(), LoseAnswerSilently()], ids=lambda fault: fault.name)
def test_a_bind_without_an_answer_is_looked_up(cluster: Cluster, proxy: FaultProxy, fault: Fault) -> None:
    cluster.api.create(node("n1", cpu=8), pod_group("g", 2), *(pod(f"g-{at}", group="g") for at in range(2)))
    proxy.add(binds, fault, times=2)
    with running(cluster.plane, "--kube-api-timeout=3s", kubeconfig=proxy.kubeconfig(USER)):
        wait_for_all(cluster, 2, timeout=40)
    cluster.referee.assert_clean(cluster.api)


@pytest.mark.parametrize("fault", [CutWatch(), ExpireWatch(), FreezeWatch()], ids=lambda fault: fault.name)
def test_no_change_is_missed_when_watches_break(cluster: Cluster, proxy: FaultProxy, fault: Fault) -> None:
    cluster.api.create(node("n1", cpu=8), pod_group("g", 1), pod("g-0", group="g"))
    with running(cluster.plane, "--watch-timeout=4s", kubeconfig=proxy.kubeconfig(USER)):
        wait_for_all(cluster, 1)
        assert proxy.strike_watches(fault) > 5  # type: ignore[arg-type]
        cluster.api.delete(pod("g-0"), gracePeriodSeconds=0)
        cluster.api.create(pod_group("h", 8), *(pod(f"h-{at}", group="h") for at in range(8)))
        wait_for_all(cluster, 8, timeout=60)
    cluster.referee.assert_clean(cluster.api)


def test_after_an_outage_work_goes_on(cluster: Cluster, proxy: FaultProxy) -> None:
    cluster.api.create(node("n1", cpu=8), pod_group("g", 1), pod("g-0", group="g"))
    with running(cluster.plane, kubeconfig=proxy.kubeconfig(USER)) as scheduler:
        wait_for_all(cluster, 1)
        proxy.add(anything, Reset())
        proxy.strike_watches(CutWatch())
        cluster.api.create(pod_group("h", 4), *(pod(f"h-{at}", group="h") for at in range(4)))
        scheduler.wait_for("not leading any more", timeout=20)
        proxy.calm()
        wait_for_all(cluster, 5, timeout=60)
    cluster.referee.assert_clean(cluster.api)


def test_a_watch_that_is_refused_as_expired_is_replaced_by_a_list(
    cluster: Cluster, proxy: FaultProxy
) -> None:
    cluster.api.create(node("n1", cpu=8))
    proxy.add(watches("pods"), Refuse(410), times=3)
    with running(cluster.plane, kubeconfig=proxy.kubeconfig(USER)):
        cluster.api.create(pod_group("g", 2), *(pod(f"g-{at}", group="g") for at in range(2)))
        wait_for_all(cluster, 2, timeout=40)
    cluster.referee.assert_clean(cluster.api)
