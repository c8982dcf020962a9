"""The harness itself: servers come back with their data, pods live and die, wrongs are seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import Api, ApiError, Cluster, ControlPlane, KubectlFailed, wait_until
from harness.assets import AssetsMissing, cache_folder, fingerprint, named_by_environment
from harness.cluster import clean
from harness.invariants import Violation
from harness.kubelet import Kubelet
from harness.manifests import namespace, node, pod


def test_kubectl_speaks_to_the_server(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1"))
    manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: note}, data: {said: hello}}"
    cluster.plane.kubectl("apply", "-f", "-", stdin=manifest)
    assert cluster.plane.kubectl("get", "nodes", "-o", "name") == "node/n1\n"
    assert cluster.api.get("ConfigMap", "note")["data"] == {"said": "hello"}


def test_a_plain_user_may_do_nothing_until_a_role_says_so(plane: ControlPlane) -> None:
    with pytest.raises(KubectlFailed, match="pods is forbidden"):
        plane.kubectl("get", "pods", user="stranger")


def test_an_asset_that_is_named_must_be_there() -> None:
    with pytest.raises(AssetsMissing, match="points to"):
        named_by_environment("etcd", {"TEST_ASSET_ETCD": "/nowhere/etcd"})


def test_a_server_that_is_killed_comes_back_with_its_data(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1"))
    [waiting] = cluster.api.create(pod("waiting"))
    with cluster.api.watch("Pod") as watch:
        cluster.plane.api_server.restart()
        cluster.plane.etcd.kill()
        assert not cluster.plane.etcd.is_running
        cluster.plane.etcd.start()
        cluster.plane.api_server.wait_until_ready()
        wait_until(lambda: cluster.api.find("Pod", "waiting"), what="the pod")
        cluster.api.bind(waiting, "n1")
        wait_until(lambda: "n1" in {p["spec"].get("nodeName") for _, p in watch.events}, what="the watch")
    cluster.wait_for_phases(waiting="Running")


def test_a_paused_server_answers_when_it_is_let_go(plane: ControlPlane) -> None:
    plane.api_server.pause()
    assert not plane.is_ready()
    plane.api_server.resume()
    plane.api_server.wait_until_ready()


def test_no_server_outlives_tests_that_were_killed(plane: ControlPlane, tmp_path: Path) -> None:
    script = (
        "import time; from harness import ControlPlane\n"
        "plane = ControlPlane(); plane.start()\n"
        "print(plane.etcd.process_id, plane.api_server.process_id, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "TMPDIR": str(tmp_path)}
    tests = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert tests.stdout is not None
    with tests, tests.stdout:
        servers = [int(number) for number in tests.stdout.readline().split()]
        assert len(servers) == 2
        assert all(is_alive(server) for server in servers)
        tests.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(is_alive(server) for server in servers), 10, what="the end of the servers")


def is_alive(process_id: int) -> bool:
    """Neither gone nor only waiting for someone to notice."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_bound_pods_run_and_end_as_their_annotations_say(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1", cpu=8))
    pods = cluster.api.create(
        pod("forever"),
        pod("short", run_seconds=0.2),
        pod("broken", run_seconds=0.2, exit_code=3),
        pod("unbound"),
    )
    cluster.api.bind_many((each, "n1") for each in pods[:3])
    cluster.wait_for_phases(forever="Running", short="Succeeded", broken="Failed", unbound="Pending")
    state = cluster.pods()["broken"]["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == 3
    cluster.referee.assert_clean(cluster.api)


def test_a_deleted_pod_goes_after_its_grace_and_its_place_is_free_again(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1", cpu=1))
    [first, second] = cluster.api.create(pod("first", grace_seconds=1), pod("second"))
    cluster.api.bind(first, "n1")
    cluster.wait_for_phases(first="Running")
    cluster.api.delete(first)
    started = time.monotonic()
    assert "deletionTimestamp" in cluster.pods()["first"]["metadata"]
    wait_until(lambda: "first" not in cluster.pods(), what="the end of the pod")
    assert time.monotonic() - started > 0.8
    cluster.api.bind(second, "n1")
    cluster.wait_for_phases(second="Running")


def test_a_pod_that_does_not_fit_is_rejected_and_the_referee_hears_of_it(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1", cpu=2), node("n2", pods=1), node("n3"))
    first, second = cluster.api.create(pod("first", cpu="1500m"), pod("second", cpu="501m"))
    third, fourth = cluster.api.create(pod("third"), pod("fourth"))
    [fifth] = cluster.api.create(pod("fifth", resources={"nvidia.com/gpu": 1}))
    for each, name in ((first, "n1"), (second, "n1"), (third, "n2"), (fourth, "n2"), (fifth, "n3")):
        cluster.api.bind(each, name)
    cluster.wait_for_phases(
        first="Running", second="Failed", third="Running", fourth="Failed", fifth="Failed"
    )
    reasons = {name: found["status"].get("reason") for name, found in cluster.pods().items()}
    assert reasons["second"] == "OutOfcpu"
    assert reasons["fourth"] == "OutOfpods"
    assert reasons["fifth"] == "OutOfnvidia.com/gpu"
    told = sorted(str(violation) for violation in cluster.referee.pardon())
    assert told == [
        "I1 n1: default/second does not fit: cpu requested: 0.501, used: 1.5, capacity: 2",
        "I1 n3: default/fifth does not fit: nvidia.com/gpu requested: 1, used: 0, capacity: 0",
        "I2 n2: default/fourth does not fit: pods requested: 1, used: 1, capacity: 1",
    ]


def test_an_over_committed_node_is_found_at_rest_where_no_kubelet_looked(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1", cpu=1))
    cluster.kubelet.stop()
    pods = cluster.api.create(pod("one"), pod("two"))
    cluster.api.bind_many((each, "n1") for each in pods)
    found = cluster.referee.check(cluster.api)
    text = "gives away 2 cpu and has 1; on it: default/one, default/two"
    assert found == [Violation("I1", "n1", text)]
    with pytest.raises(AssertionError, match="gives away 2 cpu and has 1"):
        cluster.referee.assert_clean(cluster.api)
    cluster.referee.pardon()


def test_a_pod_where_it_must_not_be_is_seen_at_its_bind(cluster: Cluster) -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    cluster.kubelet.add_nodes(node("n1", taints=[taint]), node("n2"))
    [shy, choosy] = cluster.api.create(pod("shy"), pod("choosy", nodeSelector={"zone": "a"}))
    [lost, welcome] = cluster.api.create(
        pod("lost"), pod("welcome", tolerations=[{"key": "gpu", "operator": "Exists"}])
    )
    cluster.api.bind_many([(shy, "n1"), (choosy, "n2"), (lost, "nowhere"), (welcome, "n1")])
    wait_until(lambda: len(cluster.referee.violations) == 3, what="three violations")
    assert sorted(str(violation) for violation in cluster.referee.pardon()) == [
        "I3 default/choosy: is on n2, but its selector asks for zone=a",
        "I3 default/lost: was bound to nowhere, which does not exist",
        "I3 default/shy: is on n1, but it does not tolerate gpu=yes:NoSchedule",
    ]


def test_a_pod_is_bound_once(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1"), node("n2"))
    [single] = cluster.api.create(pod("single"))
    cluster.api.bind(single, "n1")
    with pytest.raises(ApiError, match="already assigned") as refusal:
        cluster.api.bind(single, "n2")
    assert refusal.value.status == 409
    cluster.wait_for_phases(single="Running")
    assert [bind.node for bind in cluster.referee.binds[single["metadata"]["uid"]]] == ["n1"]


@pytest.mark.usefixtures("rights")
def test_an_eviction_by_name_and_without_a_word_is_found_in_the_log(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1"))
    [victim] = cluster.api.create(pod("victim"))
    cluster.api.bind(victim, "n1")
    with Api(cluster.plane.access("hekla")) as scheduler:
        scheduler.delete(victim)
        time.sleep(1.1)  # as long as a scheduler may take to say why
        scheduler.list("Node")
    assert [str(violation) for violation in cluster.referee.check(cluster.api)] == [
        "I3 default/victim: was evicted by its name alone: a later pod of that name was at risk",
        "I5 default/victim: was evicted without a word",
    ]
    cluster.referee.pardon()
    assert cluster.referee.check(cluster.api) == []


def test_a_kubelet_with_its_hands_off_only_counts(plane: ControlPlane) -> None:
    clean(plane)
    with Kubelet(plane.access(), hands_off=True) as kubelet:
        kubelet.add_nodes(node("n1"))
        [only] = plane.admin.create(pod("only"))
        plane.admin.bind(only, "n1")
        wait_until(lambda: kubelet.referee.binds, what="the bind to be seen")
        kubelet.wait_for_quiet(0.3)
        assert plane.admin.get("Pod", "only")["status"]["phase"] == "Pending"


def test_many_binds_a_second_are_kept_up_with(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(*(node(f"n{number}", cpu=64, memory="256Gi") for number in range(20)))
    pods = cluster.api.create(*(pod(f"p{number}", cpu="100m") for number in range(1000)))
    cluster.api.bind_many((each, f"n{place % 20}") for place, each in enumerate(pods))
    wait_until(lambda: cluster.kubelet.phases() == {"Running": 1000}, what="1000 running pods")
    cluster.referee.assert_clean(cluster.api)


def test_what_a_test_leaves_is_gone_for_the_next(cluster: Cluster) -> None:
    cluster.kubelet.add_nodes(node("n1"))
    cluster.api.create(namespace("team"))
    cluster.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "team"}})
    [kept] = cluster.api.create(pod("kept", namespace="team"))
    cluster.api.patch(kept, {"metadata": {"finalizers": ["hekla.dev/held"]}})
    cluster.api.bind(kept, "n1")
    cluster.kubelet.stop()
    clean(cluster.plane)
    assert not cluster.api.list("Pod")
    assert not cluster.api.list("Node")
    assert not cluster.api.find("Namespace", "team")
    assert not cluster.api.list("Secret", "team")
    assert cluster.api.find("Namespace", "default")


def test_a_new_pin_is_built_into_another_folder(tmp_path: Path) -> None:
    for name in ("go.mod", "go.sum"):
        (tmp_path / name).write_text("one")
    before = fingerprint(tmp_path)
    (tmp_path / "go.mod").write_text("two")
    assert fingerprint(tmp_path) != before
    assert cache_folder({"HEKLA_TEST_CACHE": "/cache"}) == Path("/cache")
    assert cache_folder({"XDG_CACHE_HOME": "/home"}) == Path("/home/hekla/controlplane")
