"""The commands that look at a cluster, on a real API server, with the rights of a reader and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Cluster, ControlPlane
from harness.manifests import namespace, node, pod, pod_group, queue
from looking import hekla, let_read

CONF = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: binpack}]
"""


@pytest.fixture(autouse=True, scope="module")
def _reader(plane: ControlPlane) -> None:
    let_read(plane)


@pytest.fixture
def busy(cluster: Cluster) -> Cluster:
    """One pod runs on n1, one fits, and a gang is too large."""
    cluster.kubelet.add_nodes(node("n1", cpu=4), node("n2", cpu=4))
    cluster.api.create(queue("default"), queue("research", weight=3))
    groups = pod_group("web", 1), pod_group("small", 1), pod_group("gang", 4, queue="research")
    cluster.api.create(*groups)
    web, *_ = cluster.api.create(
        pod("web-0", group="web", cpu=2),
        pod("small-0", group="small", cpu=1),
        *(pod(f"gang-{at}", group="gang", cpu=3) for at in range(4)),
    )
    cluster.api.bind(web, "n1")
    cluster.wait_for_phases(web_0="Running")
    return cluster


def test_decide_and_explain_on_the_live_state(busy: Cluster, tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text(CONF)
    done = hekla(busy.plane, "decide", "--from-cluster", "--conf", str(conf), "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["binds"] == {"default/small-0": "n1"}
    told = hekla(busy.plane, "explain", "--from-cluster", "--conf", str(conf), "--job", "gang")
    assert "not enough cpu" in told.stdout, told.stderr
    assert not busy.pods()["small-0"]["spec"].get("nodeName"), "nothing is carried out"


def test_all_about_one_job_on_the_live_state(busy: Cluster, tmp_path: Path) -> None:
    """Two of the four pods that start together find room beside what runs and what came before."""
    conf = tmp_path / "scheduler.conf"
    conf.write_text(CONF)
    busy.api.create(pod_group("four", 4), *(pod(f"four-{at}", group="four", cpu=2) for at in range(4)))
    options = ("--from-cluster", "--conf", str(conf), "--default-duration", "10m", "--samples", "3")
    told = hekla(busy.plane, "explain", "--job", "four", *options)
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].startswith("default/four: not yet (no room): ")
    found = json.loads(hekla(busy.plane, "explain", "--job", "four", *options, "-o", "json").stdout)[0]
    assert found["heldBy"]["resource"] == "cpu"
    assert "default/web" in [each["job"] for each in found["heldBy"]["jobs"]]
    assert found["position"]["queue"] == "default"
    assert found["expectedStart"]["unknown"] is None, found["expectedStart"]
    assert 0 < found["expectedStart"]["startsInSeconds"]["p50"] <= 1210
    changes = [each["change"] for each in found["suggestions"]]
    assert "podgroup: spec.minMember: 2 (was 4)" in changes
    planned = hekla(busy.plane, "plan", "--job", "four", *options, "-o", "json")
    assert planned.returncode == 4, planned.stderr
    assert [each["change"] for each in json.loads(planned.stdout)[0]["suggestions"]] == changes
    assert not busy.pods()["four-0"]["spec"].get("nodeName"), "nothing is carried out"


def test_a_snapshot_and_its_scrambled_form_are_decided_as_the_cluster_is(
    busy: Cluster, tmp_path: Path
) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text(CONF)
    for more in ((), ("--scramble", "3")):
        file = tmp_path / f"state{len(more)}.json"
        done = hekla(busy.plane, "snapshot", "--conf", str(conf), "-O", str(file), *more)
        assert done.returncode == 0, done.stderr
        assert ("research" in file.read_text()) is not bool(more)
        report = hekla(busy.plane, "decide", "--from-cluster", "--conf", str(conf), "-o", "json")
        plain = json.loads(report.stdout)["binds"]
        again = json.loads(offline(file))["binds"]
        assert len(again) == len(plain) == 1
        if not more:
            assert again == plain


def offline(file: Path) -> str:
    command = [sys.executable, "-m", "hekla", "decide", str(file), "-o", "json"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_configuration_in_the_cluster_needs_a_permission_of_its_own(busy: Cluster) -> None:
    api = busy.api
    api.create(namespace("volcano-system"))
    meta = {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"}
    data = {"volcano-scheduler.conf": CONF}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
    refused = hekla(busy.plane, "decide", "--from-cluster", "--conf-from-cluster")
    assert refused.returncode == 1
    assert refused.stderr.startswith(
        'error: configmap "volcano-system/volcano-scheduler-configmap" cannot be read: '
    )
    done = hekla(busy.plane, "decide", "--from-cluster", "--conf-from-cluster", "-o", "json", user="admin")
    assert json.loads(done.stdout)["binds"] == {"default/small-0": "n1"}


def test_jobs_queues_and_nodes(busy: Cluster) -> None:
    plane = busy.plane
    busy.api.create(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": "default"},
            "spec": {
                "queue": "research",
                "minAvailable": 2,
                "tasks": [
                    {
                        "name": "worker",
                        "replicas": 2,
                        "template": {"spec": {"containers": [{"name": "main", "image": "none"}]}},
                    }
                ],
            },
        }
    )
    listed = json.loads(hekla(plane, "job", "list", "-o", "json").stdout)
    assert [(row["name"], row["queue"], row["replicas"]) for row in listed] == [("train", "research", 2)]
    got = json.loads(hekla(plane, "job", "get", "web", "-o", "json").stdout)
    assert got["pods"] == [{"node": "n1", "pod": "web-0", "phase": "Running"}]
    queues = json.loads(hekla(plane, "queue", "list", "-o", "json").stdout)
    assert [(row["name"], row["pending"]) for row in queues] == [("default", 2), ("research", 1)]
    nodes = json.loads(hekla(plane, "node", "list", "-o", "json").stdout)
    assert [(row["name"], row["cpu"], row["pods"]) for row in nodes] == [
        ("n1", "2/4", "1/110"),
        ("n2", "0/4", "0/110"),
    ]


def test_who_may_not_read_is_told_what_is_missing(busy: Cluster) -> None:
    done = hekla(busy.plane, "node", "list", user="hekla-standby")
    if done.returncode == 0:
        pytest.skip("another test has given this user rights")
    assert done.stderr.startswith("error: nodes: may not be listed: ")
