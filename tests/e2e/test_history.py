"""`hekla history` on a real API server: what has ended becomes a workload, and so does a recording of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Cluster, ControlPlane
from harness.manifests import node, pod, pod_group, queue
from harness.scheduler import running
from hekla.simulation.workloads import Workload, read_workload
from looking import hekla, let_read

pytestmark = pytest.mark.usefixtures("rights")

CONF = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: binpack}]
"""


@pytest.fixture(autouse=True, scope="module")
def _reader(plane: ControlPlane) -> None:
    let_read(plane)


def jobs_in(work: Workload) -> dict[str, tuple[str, int, int, dict[str, object]]]:
    return {
        job.name: (
            job.queue,
            job.pods,
            job.minimum,
            dict(job.roles[0].template.spec.containers[0].resources.requests),
        )
        for job in work.jobs()
    }


def test_what_has_ended_can_be_run_again(cluster: Cluster, tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text(CONF)
    recording = tmp_path / "cycles"
    cluster.kubelet.add_nodes(node("n1", cpu=4), node("n2", cpu=4))
    cluster.api.create(queue("default"), queue("research", weight=3))
    with running(cluster.plane, f"--scheduler-conf={conf}", f"--record={recording}"):
        cluster.api.create(pod_group("train", 2, queue="research"), pod_group("eval", 1), pod_group("web", 1))
        cluster.api.create(
            *(pod(f"train-{at}", group="train", cpu=3, run_seconds=3) for at in range(2)),
            pod("eval-0", group="eval", cpu=1, run_seconds=1),
            pod("web-0", group="web", cpu=1),
        )
        cluster.wait_for_phases(train_0="Succeeded", train_1="Succeeded", eval_0="Succeeded", web_0="Running")
        told = hekla(cluster.plane, "history", "--from-cluster", "-O", str(tmp_path / "past.yaml"))
    assert told.returncode == 0, told.stderr
    assert "1 left out: a job of which pods still run: its run time is not known" in told.stderr
    assert "2 jobs ended from " in told.stderr
    assert "what was deleted before is not known" in told.stderr

    expected = {
        "train": ("research", 2, 2, {"cpu": "3", "memory": "1Gi"}),
        "eval": ("default", 1, 1, {"cpu": "1", "memory": "1Gi"}),
    }
    past, recorded = read_workload(tmp_path / "past.yaml"), read_workload(recording)
    for work in (past, recorded):
        assert jobs_in(work) == expected
        runs = {job.name: job.run_seconds for job in work.jobs()}
        assert 2 <= runs["train"] <= 5
        assert 0 <= runs["eval"] <= 3
        assert {each.metadata.name for each in work.objects} >= {"n1", "n2", "research"}
    assert recorded.account.dropped == {"a job of which pods still run: its run time is not known": 1}

    command = [sys.executable, "-m", "hekla", "simulate", str(tmp_path / "past.yaml"), "-o", "json"]
    again = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(again)["summary"]["completed"] == 2
