"""Mishaps of a cluster's life: what is decided meets facts that have changed, and nothing is lost."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from harness import Cluster, FaultProxy, wait_until
from harness.faults import Delay, Request, binds
from harness.manifests import node, pod, pod_group, queue
from harness.scheduler import USER, Scheduler, running

pytestmark = pytest.mark.usefixtures("rights")


def bound(cluster: Cluster) -> int:
    return len(cluster.api.list("Pod", fieldSelector="spec.nodeName!="))


def asked_to_bind(proxy: FaultProxy) -> bool:
    """Whether a bind has come as far as the proxy, which holds it back."""
    return any(rule.hits for rule in proxy.rules)


def gang(name: str, size: int) -> list[dict[str, object]]:
    return [pod_group(name, size), *(pod(f"{name}-{at}", group=name) for at in range(size))]


def test_a_pod_that_is_made_anew_before_its_bind_arrives_is_a_new_pod(
    cluster: Cluster, proxy: FaultProxy
) -> None:
    cluster.api.create(node("n1"), *gang("g", 1))
    old = cluster.pods()["g-0"]["metadata"]["uid"]
    proxy.add(binds, Delay(2, before=True), times=1)
    kubeconfig = proxy.kubeconfig(USER)
    with running(cluster.plane, "--log-level=debug", kubeconfig=kubeconfig) as scheduler:
        wait_until(lambda: asked_to_bind(proxy), what="a bind on its way")
        cluster.api.delete(pod("g-0"), gracePeriodSeconds=0)
        cluster.api.create(pod("g-0", group="g"))
        cluster.wait_for_phases(g_0="Running")
        assert cluster.pods()["g-0"]["metadata"]["uid"] != old
        scheduler.wait_for("bind to node n1 gone")


def test_a_pod_that_is_deleted_before_its_bind_arrives_leaves_its_room_to_others(
    cluster: Cluster, proxy: FaultProxy
) -> None:
    cluster.api.create(node("n1", cpu=1), *gang("g", 1))
    proxy.add(binds, Delay(2, before=True), times=1)
    with running(cluster.plane, kubeconfig=proxy.kubeconfig(USER)):
        wait_until(lambda: asked_to_bind(proxy), what="a bind on its way")
        cluster.api.delete(pod("g-0"), gracePeriodSeconds=0)
        cluster.api.create(*gang("h", 1))
        cluster.wait_for_phases(h_0="Running")
    cluster.referee.assert_clean(cluster.api)


def test_a_pod_bound_to_a_node_that_has_vanished_is_told_of(cluster: Cluster, proxy: FaultProxy) -> None:
    cluster.api.create(node("n1"), *gang("g", 1))
    proxy.add(binds, Delay(2, before=True), times=1)
    with running(cluster.plane, kubeconfig=proxy.kubeconfig(USER)) as scheduler:
        wait_until(lambda: asked_to_bind(proxy), what="a bind on its way")
        cluster.api.delete(node("n1"))
        scheduler.wait_for('sits on node "n1", which does not exist')
        cluster.api.create(node("n2"), *gang("h", 3))
        cluster.wait_for_phases(h_2="Running")
    cluster.referee.pardon()


def test_a_token_that_is_replaced_on_disk_is_read_again(cluster: Cluster, tmp_path: Path) -> None:
    access = cluster.plane.access(USER)
    token, file = tmp_path / "token", tmp_path / "config"
    token.write_text("expired")
    config = access.kubeconfig(USER)
    config["users"][0]["user"] = {"tokenFile": str(token)}
    file.write_text(json.dumps(config))
    cluster.api.create(node("n1"), *gang("g", 1))
    with running(cluster.plane, kubeconfig=file) as scheduler:
        scheduler.wait_for("Unauthorized")
        token.write_text(access.token)
        cluster.wait_for_phases(g_0="Running", timeout=60)


def test_a_server_that_was_restored_from_a_backup_is_believed(cluster: Cluster) -> None:
    plane, data = cluster.plane, cluster.plane.folder / "etcd"
    cluster.api.create(node("n1", cpu=8), *gang("before", 2))
    with running(cluster.plane) as scheduler:
        wait_until(lambda: bound(cluster) == 2, what="the first job")
        plane.etcd.kill()
        shutil.copytree(data, plane.folder / "backup", dirs_exist_ok=True)
        plane.etcd.start()
        wait_until(plane.is_ready, 60, what="the API server")
        wait_until(lambda: _created(cluster, *gang("lost", 6)), 30, what="objects made after the backup")
        wait_until(lambda: bound(cluster) == 8, 60, what="the job that will be lost")
        for server in (plane.api_server, plane.etcd):
            server.kill()
        shutil.rmtree(data)
        shutil.copytree(plane.folder / "backup", data)
        plane.etcd.start()
        plane.api_server.start()
        wait_until(lambda: _created(cluster, *gang("after", 6)), 30, what="objects made after the restore")
        wait_until(lambda: bound(cluster) == 8, 90, what="the new job in the room of the lost one")
        assert scheduler.server.is_running
    cluster.referee.pardon()


def _created(cluster: Cluster, *things: dict[str, object]) -> bool:
    """A server that has just started may still refuse; what was made before stays."""
    try:
        for thing in things:
            kind, meta = str(thing["kind"]), thing["metadata"]
            assert isinstance(meta, dict)
            if cluster.api.find(kind, meta["name"]) is None:
                cluster.api.create(thing)
    except Exception:
        return False
    return True


def test_killed_again_and_again_it_finishes_what_it_began(cluster: Cluster) -> None:
    cluster.api.create(*(node(f"n{at:02}", cpu=11) for at in range(30)))
    for number in range(6):
        cluster.api.create(*gang(f"g{number}", 50))
    plane, target = cluster.plane, 40
    for life in range(5):
        options = ("--kube-api-qps=250", "--kube-api-burst=10", "--no-leader-elect")
        scheduler = Scheduler(plane, plane.kubeconfig(USER), *options, name=f"life-{life}").start()
        wait_until(lambda target=target: bound(cluster) >= target, 60, what=f"{target} binds")  # type: ignore[misc]
        scheduler.server.kill()
        target = min(bound(cluster) + 40, 300)
    with running(plane, "--no-leader-elect", name="last"):
        wait_until(lambda: bound(cluster) == 300, 60, what="all binds")
    cluster.referee.assert_clean(cluster.api)


def test_objects_may_come_in_any_order(cluster: Cluster) -> None:
    with running(cluster.plane) as scheduler:
        scheduler.wait_for("in sync")
        cluster.api.create(*(pod(f"g-{at}", group="g") for at in range(2)))
        time.sleep(0.5)
        cluster.api.create(pod_group("g", 2, queue="late"))
        time.sleep(0.5)
        cluster.api.create(queue("late"))
        time.sleep(0.5)
        cluster.api.create(node("n1"))
        cluster.wait_for_phases(g_0="Running", g_1="Running")


def test_what_another_scheduler_places_counts(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=4), node("n2", cpu=4))
    with running(cluster.plane):
        others = cluster.api.create(*(pod(f"other-{at}", scheduler="other") for at in range(4)))
        for each in others:
            cluster.api.bind(each, "n1")
        cluster.wait_for_phases(other_3="Running")
        cluster.api.create(*gang("g", 4))
        wait_until(lambda: bound(cluster) == 8, what="the gang beside it")
        assert {cluster.pods()[f"g-{at}"]["spec"]["nodeName"] for at in range(4)} == {"n2"}
    cluster.referee.assert_clean(cluster.api)


def test_a_request_beyond_all_numbers_waits_and_hurts_nobody(cluster: Cluster) -> None:
    cluster.api.create(node("n1"), pod_group("huge", 1), *gang("g", 1))
    cluster.api.create(pod("huge-0", group="huge", memory="9223372036854775808"))
    notes = {f"example.com/note-{at}": "x" * 30_000 for at in range(8)}
    cluster.api.create(pod_group("wordy", 1), pod("wordy-0", group="wordy", annotations=notes))
    with running(cluster.plane):
        cluster.wait_for_phases(g_0="Running", wordy_0="Running")
        assert not cluster.pods()["huge-0"]["spec"].get("nodeName")


def test_what_waits_in_vain_is_told_once(cluster: Cluster, proxy: FaultProxy) -> None:
    """A node that joins changes the numbers in messages; still, nothing is written cycle by cycle."""
    cluster.api.create(node("n1", cpu=1))
    for number in range(4):
        cluster.api.create(*gang(f"g{number}", 50))

    def writes() -> int:
        return sum(_is_status_of_pod(exchange.request) for exchange in proxy.exchanges)

    with running(cluster.plane, kubeconfig=proxy.kubeconfig(USER)):
        wait_until(lambda: writes() >= 100, 60, what="reasons")
        _settle(writes)
        before = writes()
        time.sleep(3)
        assert writes() == before, "nothing has changed"
        cluster.api.create(node("n2", cpu=1))
        time.sleep(3)
        _settle(writes)
        assert writes() - before <= 200, "at most one write per pod"


def _is_status_of_pod(request: Request) -> bool:
    return request.method == "PATCH" and "/pods/" in request.path


def _settle(count: object) -> None:
    """Wait until a number stands still for two seconds."""
    assert callable(count)
    seen, since = count(), time.monotonic()
    while time.monotonic() - since < 2:
        time.sleep(0.1)
        if count() != seen:
            seen, since = count(), time.monotonic()
