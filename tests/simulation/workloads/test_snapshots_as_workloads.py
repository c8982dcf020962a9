"""A snapshot of a cluster as a workload: what waits is handed in, what runs is there and has time left."""

from __future__ import annotations

import json
from pathlib import Path

from traces import arrivals, told

from hekla.cluster.export import as_data, as_scenario, listed
from hekla.objects import Manifest, Pod, PodGroup
from hekla.simulation.workloads import Restart, Workload, read_workload
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import pod, stamped

RUN = "hekla.dev/run-seconds"


def snapshot(tmp_path: Path, *objects: Manifest, **options: object) -> Workload:
    file = tmp_path / "snap.json"
    file.write_bytes(listed(as_data(each) for each in stamped(objects)))
    return read_workload(file, **options)


def gang(name: str, tasks: int, **said: object) -> tuple[Manifest, ...]:
    return job(name, tasks=tasks, **said).objects  # type: ignore[arg-type]


def pods(work: Workload) -> dict[str, str]:
    """The run times of the pods that are there already."""
    return {
        each.metadata.name: each.metadata.annotations[RUN] for each in work.objects if isinstance(each, Pod)
    }


def test_what_waits_is_handed_in_by_age(tmp_path: Path) -> None:
    work = snapshot(
        tmp_path, node("n1"), queue("lab"), *gang("b", 2, queue="lab", cpu=1), *gang("a", 1, cpu=2)
    )
    b, a = work.jobs()
    assert (b.key, b.submitted, b.queue, b.pods, b.minimum, b.run_seconds) == (
        "default/b",
        0,
        "lab",
        2,
        2,
        30,
    )
    assert a.name == "a"
    assert [each.key for each in work.objects] == ["n1", "lab"]


def test_a_pod_that_runs_has_its_remaining_time(tmp_path: Path) -> None:
    begun = {"status": {"phase": "Running", "startTime": "2026-01-01T10:00:00Z"}}
    spec = {"schedulerName": "volcano", "nodeName": "n1", "containers": [{"name": "c"}]}
    said = [
        {"name": "known", "annotations": {RUN: "3600"}},
        {"name": "overdue", "annotations": {RUN: "60"}},
        {"name": "endless", "annotations": {RUN: "forever"}},
        {"name": "unknown"},
    ]
    running = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "2026-01-01T10:00:00Z", **meta}}
        | {"spec": spec} | begun
        for meta in said
    ]  # fmt: skip
    late = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "creationTimestamp": "2026-01-01T10:10:00Z"},
    }
    file = tmp_path / "snap.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*running, late]}))
    work = read_workload(file, duration=120)
    assert pods(work) == {"known": "3000", "overdue": "1", "endless": "forever", "unknown": "120"}
    assert list(work.jobs()) == []
    assert work.account.changed == {f'no run time is said ("{RUN}"): 120 s are assumed': 1}


def test_pods_that_wait_in_a_group_that_runs_are_a_job_of_their_own(tmp_path: Path) -> None:
    group, first, second = gang("elastic", 2, min_available=1, cpu=1)
    assert isinstance(first, Pod)
    running = pod("elastic-0", job="elastic", on="n1", cpu=1)
    work = snapshot(tmp_path, node("n1"), group, running, second)
    (rest,) = work.jobs()
    assert (rest.name, rest.pods, rest.minimum) == ("elastic-rest", 1, 1)
    assert list(pods(work)) == ["elastic-0"]
    assert [each.key for each in work.objects if isinstance(each, PodGroup)] == ["default/elastic"]
    assert work.account.changed["pods that wait in a group that runs: handed in as a job of their own"] == 1


def test_what_is_over_is_dropped(tmp_path: Path) -> None:
    work = snapshot(
        tmp_path,
        pod("done", on="n1", phase="Succeeded"),
        pod("going", on="n1", is_leaving=True),
        *gang("a", 1),
    )
    assert arrivals(work) == [("a", 0)]
    assert work.account.dropped == {"a pod that is done": 1, "a pod that is being deleted": 1}


def test_a_job_with_pods_is_not_handed_in_twice(tmp_path: Path) -> None:
    text = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: vc, annotations: {hekla.dev/run-seconds: "60"}}
spec:
  policies: [{event: PodEvicted, action: RestartJob}]
  tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: c}]}}}]
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: vc-1, annotations: {hekla.dev/run-seconds: "60"}}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata:
  name: vc-w-0
  annotations:
    scheduling.k8s.io/group-name: vc-1
    volcano.sh/job-name: vc
    volcano.sh/task-spec: w
    volcano.sh/task-index: "0"
spec: {schedulerName: volcano, containers: [{name: c}]}
"""
    file = tmp_path / "snap.yaml"
    file.write_text(text)
    (only,) = read_workload(file).jobs()
    assert (only.name, only.restart, only.run_seconds) == ("vc-1", Restart.JOB, 60)
    assert [role.name for role in only.roles] == ["w"]


def test_a_scenario_is_a_workload_and_keeps_its_name(tmp_path: Path) -> None:
    file = tmp_path / "snap.json"
    objects = [as_data(each) for each in stamped([node("n1"), *gang("a", 1)])]
    file.write_bytes(as_scenario(objects, "actions: allocate\n", "monday"))
    work = read_workload(file)
    assert (work.name, arrivals(work)) == ("monday", [("a", 0)])


def test_what_names_something_that_was_not_recorded_is_left_out_or_changed(tmp_path: Path) -> None:
    work = snapshot(tmp_path, *gang("a", 1, queue="gone"), *gang("b", 1, cpu=1), node("n1"))
    assert arrivals(work) == [("b", 0)]
    assert work.account.dropped == {'a pod group in a queue that is not there ("gone")': 1}


def test_an_object_that_cannot_be_used_is_an_error_or_counted(tmp_path: Path) -> None:
    file = tmp_path / "snap.json"
    broken = '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"x"}}}'
    good = '{"apiVersion":"v1","kind":"Node","metadata":{"name":"m"}}'
    file.write_text(f'{{"apiVersion":"v1","kind":"List","items":[{good},{broken}]}}')
    assert told(file).startswith("snap.json: items[1]: node n: left out: status.allocatable.cpu")
    lenient = read_workload(file, lenient=True)
    assert (list(lenient.jobs()), lenient.account.dropped) == ([], {"an object that cannot be used": 1})


def test_half_a_snapshot_is_told(tmp_path: Path) -> None:
    file = tmp_path / "snap.json"
    file.write_bytes(listed(as_data(each) for each in [node("n1"), node("n2")])[:-20])
    message = told(file)
    assert message.startswith("snap.json: not JSON: Input data was truncated")
    assert message.endswith("is the file whole?")


def test_templates_of_pods_are_shared_between_jobs(tmp_path: Path) -> None:
    work = snapshot(tmp_path, *gang("a", 3, cpu=1), *gang("b", 2, cpu=1))
    a, b = work.jobs()
    assert a.roles[0].template is b.roles[0].template


def test_a_pod_on_a_node_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    here, gone = pod("here", on="n1"), pod("gone", on="n2")
    work = snapshot(tmp_path, node("n1"), here, gone)
    assert list(work.jobs()) == []
    assert list(pods(work)) == ["here"]
    assert work.account.dropped == {"a pod on a node that is not there": 1}
    assert list(pods(snapshot(tmp_path, here))) == [], "nor is it where no node is known at all"
    more = snapshot(tmp_path, node("n1"), here, gone, nodes=[node("n2")])
    assert list(pods(more)) == ["here", "gone"], "nodes may come from elsewhere, too"
