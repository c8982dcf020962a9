"""Two replicas: one leads, and whatever happens to it nothing is lost, bound twice or over-committed."""

from __future__ import annotations

import pytest

from harness import Cluster, wait_until
from harness.manifests import node, pod, pod_group
from harness.scheduler import NAMESPACE, USER, Scheduler, running

pytestmark = pytest.mark.usefixtures("rights")
STANDBY = "hekla-standby"
GANGS, SIZE = 10, 100


def backlog(cluster: Cluster) -> None:
    """A thousand pods in gangs, on nodes that they nearly fill."""
    cluster.api.create(*(node(f"n{at:03}", cpu=11, memory="64Gi") for at in range(100)))
    for number in range(GANGS):
        name = f"g{number}"
        cluster.api.create(pod_group(name, SIZE), *(pod(f"{name}-{at}", group=name) for at in range(SIZE)))


def bound(cluster: Cluster) -> int:
    return len(cluster.api.list("Pod", fieldSelector="spec.nodeName!="))


def holder(cluster: Cluster) -> str:
    lease = cluster.api.find("Lease", "volcano", NAMESPACE)
    return str(lease["spec"].get("holderIdentity", "")) if lease else ""


def test_the_leader_is_killed_in_the_middle_of_a_thousand_binds(cluster: Cluster) -> None:
    backlog(cluster)
    plane = cluster.plane
    leader = Scheduler(plane, plane.kubeconfig(USER), "--kube-api-qps=100", "--kube-api-burst=20").start()
    leader.wait_for("leading as")
    with running(plane, kubeconfig=plane.kubeconfig(STANDBY), name="standby") as standby:
        standby.wait_for("in sync")
        wait_until(lambda: bound(cluster) > 150, what="some binds", timeout=60)
        leader.server.kill()
        before = bound(cluster)
        assert before < GANGS * SIZE, "the leader was too quick to be killed in the middle"
        standby.wait_for("leading as", timeout=20)
        wait_until(lambda: bound(cluster) == GANGS * SIZE, what="the rest", timeout=90)
    cluster.referee.assert_clean(cluster.api)


def test_a_leader_that_sleeps_past_its_lease_binds_nothing_when_it_wakes(cluster: Cluster) -> None:
    plane = cluster.plane
    with running(plane) as leader:
        leader.wait_for("leading as")
        with running(plane, kubeconfig=plane.kubeconfig(STANDBY), name="standby") as standby:
            standby.wait_for("in sync")
            leader.server.pause()
            standby.wait_for("leading as", timeout=20)
            backlog(cluster)
            leader.server.resume()
            wait_until(lambda: bound(cluster) == GANGS * SIZE, what="all binds", timeout=90)
            leader.wait_for("not leading any more")
            assert holder(cluster) in standby.text
    cluster.referee.assert_clean(cluster.api)


def test_a_replica_that_waits_writes_nothing_and_takes_over_at_once(cluster: Cluster) -> None:
    plane = cluster.plane
    leader = Scheduler(plane, plane.kubeconfig(USER)).start()
    leader.wait_for("leading as")
    with running(plane, kubeconfig=plane.kubeconfig(STANDBY), name="standby") as standby:
        standby.wait_for("in sync")
        cluster.api.create(node("n1"), pod_group("g", 1), pod("g-0", group="g"))
        cluster.wait_for_phases(g_0="Running")
        assert "cycle" not in standby.text
        assert leader.stop() == 0
        standby.wait_for("leading as", timeout=2.5)
        cluster.api.create(pod_group("h", 1), pod("h-0", group="h"))
        cluster.wait_for_phases(h_0="Running")
