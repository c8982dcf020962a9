"""`-o wide`: lists with more columns, which no terminal cuts."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calling import called as hekla
from hekla.text import UNCUT, table

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 2, memory: 4Gi, pods: 10}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train, annotations: {hekla.dev/arrives-at: "5"}}
spec: {queue: default, minMember: 1}
---
apiVersion: v1
kind: Pod
metadata:
  name: train-0
  annotations: {scheduling.k8s.io/group-name: train, hekla.dev/arrives-at: "5"}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]}
"""
AT_ONCE = CLUSTER.replace("hekla.dev/arrives-at", "example.com/note")
WORKLOAD = """
nodes: 2 x cpu=4,memory=8Gi
jobs:
- {name: j1, user: ann, cpu: 1, memory: 2Gi, duration: 10s, pods: 2}
"""


def rows_of(text: str, title: str) -> list[list[str]]:
    """The cells below a title: its header first."""
    lines = text.splitlines()
    below = lines[lines.index(title) + 1 :] if title else lines
    return [[cell.strip() for cell in line.split("   ") if cell] for line in below[: below.index("")]]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER)
    return file


def test_decide_tells_what_bound_pods_ask_for_and_where_pod_groups_run() -> None:
    told = hekla("decide", "-", "--cycles", 1, "-o", "wide", stdin=AT_ONCE).stdout
    narrow = hekla("decide", "-", "--cycles", 1, stdin=AT_ONCE).stdout
    assert rows_of(told, "bound") == [
        ["POD", "NODE", "POD GROUP", "QUEUE", "REQUESTS"],
        ["default/train-0", "n1", "default/train", "default", "cpu 1.5, memory 1Gi"],
    ]
    assert rows_of(told, "pod groups")[0][-3:] == ["PRIORITY", "PODS", "NODES"]
    assert rows_of(told, "pod groups")[1][-3:] == ["0", "1", "n1"]
    assert rows_of(narrow, "bound")[1] == ["default/train-0", "n1"]


def test_run_tells_when_jobs_arrived_and_started(cluster: Path) -> None:
    told = hekla("run", cluster, "-o", "wide").stdout
    lines = told.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("JOB"))
    header, row = lines[at].split(), lines[at + 1].split()
    assert header[-2:] == ["ARRIVED", "STARTED"]
    assert row[-2:] == ["5s", "5s"]


def test_simulate_lists_every_job_with_what_it_asks_for(tmp_path: Path) -> None:
    file = tmp_path / "work.yaml"
    file.write_text(WORKLOAD)
    told = hekla("simulate", file, "-o", "wide").stdout
    header, row = told.splitlines()[-2:]
    assert header.split("   ")[-1] == "REQUESTS"
    assert " ann " in row
    assert row.endswith("cpu 2, memory 4Gi")


def test_only_commands_that_print_lists_take_wide(cluster: Path) -> None:
    told = hekla("plan", cluster, "--state", cluster, "-o", "wide")
    assert told.returncode == 2
    assert "'wide' is not one of 'table', 'json', 'yaml'" in told.stderr


def test_a_wide_table_is_cut_by_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hekla.text.terminal_width", lambda: 20)
    assert table(("a", "b"), [("1", "x" * 50)]).endswith("…")
    assert table(("a", "b"), [("1", "x" * 50)], UNCUT).endswith("x" * 50)
