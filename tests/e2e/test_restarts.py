"""API server and etcd go away under load and come back; nothing is lost, bound twice or over-committed."""

from __future__ import annotations

import time

import pytest

from harness import Cluster, wait_until
from harness.manifests import node, pod, pod_group
from harness.scheduler import running

pytestmark = pytest.mark.usefixtures("rights")
GANGS, SIZE = 8, 50


def backlog(cluster: Cluster) -> None:
    cluster.api.create(*(node(f"n{at:02}", cpu=11) for at in range(40)))
    for number in range(GANGS):
        name = f"g{number}"
        cluster.api.create(pod_group(name, SIZE), *(pod(f"{name}-{at}", group=name) for at in range(SIZE)))


def bound(cluster: Cluster) -> int:
    return len(cluster.api.list("Pod", fieldSelector="spec.nodeName!="))


@pytest.mark.parametrize("which", ["api_server", "etcd"])
def test_a_server_is_killed_under_load(cluster: Cluster, which: str) -> None:
    backlog(cluster)
    with running(cluster.plane, "--kube-api-qps=200", "--kube-api-burst=20"):
        wait_until(lambda: bound(cluster) > 50, what="some binds")
        server = getattr(cluster.plane, which)
        server.kill()
        time.sleep(2)
        server.start()
        wait_until(cluster.plane.is_ready, 60, what="the API server")
        wait_until(lambda: _bound(cluster) == GANGS * SIZE, 120, what="all binds")
    cluster.referee.assert_clean(cluster.api)


def _bound(cluster: Cluster) -> int:
    try:
        return bound(cluster)
    except Exception:  # a server that is just coming back may refuse anything
        return 0


def test_work_that_arrives_while_nobody_schedules_is_done_after_a_restart(cluster: Cluster) -> None:
    for count in range(3):
        name = f"job{count}"
        cluster.api.create(
            node(f"m{count}", cpu=8),
            pod_group(name, 4),
            *(pod(f"{name}-{at}", group=name) for at in range(4)),
        )
        with running(cluster.plane, name=name) as scheduler:
            scheduler.wait_for("in sync")
            done = 4 * (count + 1)
            wait_until(lambda done=done: bound(cluster) == done, what=f"{done} binds")  # type: ignore[misc]
    cluster.referee.assert_clean(cluster.api)
