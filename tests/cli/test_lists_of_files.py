"""`hekla job`, `queue` and `node` on files: what a cluster would show of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.calling import called

STATE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {capability: {cpu: 8}}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
spec: {taints: [{key: team, value: research, effect: NoSchedule}]}
status: {allocatable: {cpu: 8, memory: 32Gi, pods: 110, nvidia.com/gpu: 2}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: lab}
spec:
  queue: research
  tasks:
  - {name: worker, replicas: 4, template: {spec: {containers: [{name: main}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: solo, namespace: lab}
spec:
  schedulerName: volcano
  nodeName: n1
  containers: [{name: main, resources: {requests: {cpu: 2}}}]
status: {phase: Running}
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    file = tmp_path / "state.yaml"
    file.write_text(STATE)
    return file


def listed(*words: object) -> list[dict[str, object]]:
    told = called(*words, "-o", "json")
    assert (told.returncode, told.stderr) == (0, "")
    rows: list[dict[str, object]] = json.loads(told.stdout)
    return rows


def test_jobs_and_loose_pods_are_listed(state: Path) -> None:
    rows = listed("job", "list", state, "-A")
    assert [(row["name"], row["jobType"], row["replicas"], row["min"], row["running"]) for row in rows] == [
        ("podgroup-lab-solo", "PodGroup", 1, 1, 1),
        ("train", "Batch", 4, 4, 0),
    ]
    assert [row["name"] for row in listed("job", "list", state, "-n", "lab", "-q", "research")] == ["train"]
    nothing = called("job", "list", state)
    assert (nothing.stdout, nothing.stderr) == ("", 'no jobs found in namespace "default"\n')


def test_queues_have_what_a_cluster_fills_in_and_count_jobs_without_a_pod_group(state: Path) -> None:
    rows = {row["name"]: row for row in listed("queue", "list", state)}
    assert rows.keys() == {"default", "research", "root"}
    research = rows["research"]
    assert (research["weight"], research["state"], research["parent"]) == (1, "Open", "root")
    assert (research["pending"], research["capability"]) == (1, {"cpu": "8"})
    assert "lab/train" in called("queue", "get", "research", state).stdout


def test_wide_lists_say_more(state: Path) -> None:
    narrow, wide = (called("node", "list", state, "-o", style).stdout for style in ("table", "wide"))
    assert "2/8" in narrow
    assert "team=research:NoSchedule   zone=a" in wide
    assert "TAINTS" not in narrow
    assert "cpu=8" in called("queue", "list", state, "-o", "wide").stdout
    assert "QUEUE" in called("job", "list", state, "-A", "-o", "wide").stdout


def test_files_and_a_live_cluster_are_not_listed_together(state: Path) -> None:
    told = called("node", "list", state, "--context", "prod")
    assert told.returncode == 2
    assert "give FILES, or a live cluster by --kubeconfig and --context" in told.stderr


def test_a_file_that_is_not_there_is_one_clear_error() -> None:
    told = called("queue", "list", "nowhere.yaml")
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == 'error: no file or folder "nowhere.yaml"\n'
