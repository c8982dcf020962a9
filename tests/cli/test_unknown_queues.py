"""A queue that is misspelled in a manifest: every command names the queue that may be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calling import called as hekla
from hekla.objects.complaint import MOST_NAMED, known_ones

CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: research}, spec: {weight: 1}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: batch}, spec: {parent: reserch}}
"""
JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  schedulerName: volcano
  queue: reserch
  minAvailable: 1
  tasks:
  - name: worker
    replicas: 1
    template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}
"""
GROUP = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: sweep}
spec: {minMember: 1, queue: reserch}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text(f"{CLUSTER}---{JOB}---{GROUP}")
    (tmp_path / "state.yaml").write_text(CLUSTER)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


@pytest.mark.parametrize("command", ["decide", "explain", "run"])
def test_a_job_and_a_pod_group_of_a_misspelled_queue(command: str, files: Path) -> None:
    told = hekla(command, "cluster.yaml", folder=files).stderr
    hint = 'did you mean "research"? known queues: default, research, root'
    assert f'warning: job default/train: left out: spec.queue: no queue "reserch"; {hint}\n' in told
    assert (
        "warning: podgroup default/sweep: spec.queue: "
        f'asks for queue "reserch", which does not exist; {hint}\n' in told
    )
    assert 'warning: queue batch: left out: spec.parent: no queue "reserch"; did you mean "research"?' in told


def test_plan_names_the_queue_that_may_be_meant_once(files: Path) -> None:
    told = hekla("plan", "job.yaml", "--state", "state.yaml", folder=files)
    assert told.returncode == 1
    assert told.stderr.count('did you mean "research"?') == 2  # and once for the parent in the state
    assert 'no queue "reserch"; did you mean "research"? known queues: default, research, root' in told.stderr


def test_where_no_name_is_near_the_known_ones_are_told_and_not_hundreds_of_them() -> None:
    assert known_ones("zzz", ["b", "a"], "queues") == "; known queues: a, b"
    assert known_ones("zzz", [], "queues") == "; known queues: none"
    many = [f"q-{number:03}" for number in range(MOST_NAMED + 5)]
    assert known_ones("zzz", many, "queues").endswith("q-019 and 5 more")
