"""A job that is to be submitted later does not wait yet."""

from pathlib import Path

from cli.calling import called

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: now, annotations: {hekla.dev/run-seconds: "100"}}
spec:
  minAvailable: 1
  tasks:
  - {name: w, replicas: 1, template: {spec: {containers: [{name: m, resources: {requests: {cpu: "9"}}}]}}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: later, annotations: {hekla.dev/arrives-at: "600"}}
spec:
  minAvailable: 1
  tasks:
  - {name: w, replicas: 1, template: {spec: {containers: [{name: m, resources: {requests: {cpu: "9"}}}]}}}
"""


def test_a_job_that_is_to_come_does_not_wait(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    told = called("explain", "--cycles", "2", tmp_path / "cluster.yaml").stdout
    assert "default/now" in told
    assert "later" not in told
    assert called("explain", "--job", "later", tmp_path / "cluster.yaml").stdout.startswith("default/later: ")
