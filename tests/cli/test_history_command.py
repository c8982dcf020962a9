"""`hekla history` as users meet it: on a small API server, on manifests and on recordings."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from cli.calling import called
from fakes.http_api import ApiThread
from hekla.cluster.export import as_data
from hekla.objects import Manifest, Pod, VolcanoJob
from hekla.objects.batch import JobSpec, JobState, JobStatus, PodTemplate, TaskSpec
from hekla.objects.meta import ObjectMeta
from hekla.objects.pod import Container, ContainerState, ContainerStatus, PodSpec, Terminated
from hekla.simulation.workloads import read_workload
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import BEGINNING

POD = PodTemplate(spec=PodSpec(containers=(Container(name="main"),)))


def ran(manifest: Manifest, seconds: float) -> Manifest:
    """A pod that began with everything and has ended by now."""
    if not isinstance(manifest, Pod):
        return replace(manifest, metadata=replace(manifest.metadata, creation_timestamp=BEGINNING))
    over = Terminated(finished_at=BEGINNING + timedelta(seconds=seconds))
    states = (ContainerStatus(name="main", state=ContainerState(terminated=over)),)
    status = replace(manifest.status, start_time=BEGINNING, container_statuses=states)
    return replace(manifest, status=status)


def objects() -> list[Manifest]:
    done = VolcanoJob(
        metadata=ObjectMeta(
            name="batch", namespace="other", uid="u", creation_timestamp=BEGINNING + timedelta(seconds=30)
        ),
        spec=JobSpec(
            queue="research", min_available=2, tasks=(TaskSpec(name="worker", replicas=2, template=POD),)
        ),
        status=JobStatus(
            state=JobState(phase="Completed", last_transition_time=BEGINNING + timedelta(seconds=120)),
            running_duration="1m30s",
        ),
    )
    return [
        node("n1", cpu=8, gpu=2),
        queue("default"),
        queue("research", weight=3, capability={"cpu": 6}),
        *(
            ran(each, 600)
            for each in job("train", tasks=2, succeeded=2, cpu=2, gpu=1, queue="research").objects
        ),
        *job("web", running={"n1": 1}, cpu=1).objects,
        done,
    ]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> object:
    with ApiThread(*objects()) as running:
        yield running.kubeconfig(tmp_path)


def test_what_a_cluster_has_finished_becomes_a_workload(kubeconfig: Path, tmp_path: Path) -> None:
    live = ("--from-cluster", "--kubeconfig", kubeconfig)
    done = called("history", *live, "-O", "past.yaml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "1 left out: a job of which pods still run: its run time is not known",
        "wrote 2 jobs to past.yaml",
        "2 jobs ended from 2026-01-01 00:02 to 2026-01-01 00:10 UTC; what was deleted before is not known; "
        "hekla serve --record keeps it",
    ]
    train, batch = read_workload(tmp_path / "past.yaml").jobs()
    assert (train.name, train.queue, train.submitted, train.run_seconds, train.pods) == (
        "train",
        "research",
        0,
        600,
        2,
    )
    assert (batch.key, batch.submitted, batch.run_seconds, batch.pods) == ("other/batch", 30, 90, 2)
    again = called("simulate", "past.yaml", "-o", "json", folder=tmp_path)
    assert json.loads(again.stdout)["summary"]["completed"] == 2
    others = called("simulate", "past.yaml", "--nodes", "1 x cpu=2,gpu=1,memory=9Gi", folder=tmp_path)
    assert "the nodes of the workload are left out: others are given" in others.stderr


def test_one_namespace_alone(kubeconfig: Path, tmp_path: Path) -> None:
    live = ("--from-cluster", "--kubeconfig", kubeconfig)
    done = called("history", *live, "--namespace", "other", "--to", "jsonl", folder=tmp_path)
    assert [json.loads(line)["name"] for line in done.stdout.splitlines()[1:]] == ["batch"]


def test_files_with_their_status_say_the_same(kubeconfig: Path, tmp_path: Path) -> None:
    """As `kubectl get -o yaml` prints them: a List with everything."""
    items = [full(each) for each in objects()]
    (tmp_path / "state.yaml").write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}, sort_keys=False)
    )
    live = called("history", "--from-cluster", "--kubeconfig", kubeconfig, folder=tmp_path)
    from_files = called("history", "state.yaml", folder=tmp_path)
    assert from_files.stdout == live.stdout
    assert "hekla serve" not in from_files.stderr


def full(manifest: Manifest) -> dict[str, object]:
    data = as_data(manifest)
    if isinstance(manifest, VolcanoJob):
        data["status"]["state"] = {"phase": "Completed", "lastTransitionTime": "2026-01-01T00:02:00Z"}
    return data


def test_a_snapshot_tells_of_jobs_and_pods_that_have_ended(kubeconfig: Path, tmp_path: Path) -> None:
    called("snapshot", "--kubeconfig", kubeconfig, "-O", "state.json", folder=tmp_path)
    live = called("history", "--from-cluster", "--kubeconfig", kubeconfig, folder=tmp_path)
    assert called("history", "state.json", folder=tmp_path).stdout == live.stdout
    # Scrambled it holds no Jobs.
    called("snapshot", "--kubeconfig", kubeconfig, "--scramble", 3, "-O", "state.json", folder=tmp_path)
    done = called("history", "state.json", "--to", "jsonl", folder=tmp_path)
    assert len(done.stdout.splitlines()[1:]) == 1, done.stderr


def test_a_recording_is_read_alone(tmp_path: Path) -> None:
    made = called("workload", "generate", "--jobs", "2", "-O", "made.yaml", folder=tmp_path)
    assert made.returncode == 0
    (tmp_path / "cluster.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 1, pods: 9}}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {hekla.dev/run-seconds: '7'}}\n"
        "spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n"
    )
    assert called("run", "cluster.yaml", "--record", "cycles", folder=tmp_path).returncode == 0
    done = called("history", "cycles", folder=tmp_path)
    assert (
        done.stdout.splitlines()[-1]
        == '- {"name": "p", "arrival": 0.0, "duration": 7.0, "pods": 1, "cpu": 1}'
    )
    both = called("history", "cycles", "made.yaml", folder=tmp_path)
    assert (both.returncode, both.stderr) == (1, 'error: "cycles" is a recording: give it alone\n')


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "give FILES, or --from-cluster"),
        (("some.yaml", "--from-cluster"), 2, "give FILES or --from-cluster, not both"),
        (("some.yaml", "--context", "x"), 2, "need --from-cluster"),
        (("missing.yaml",), 1, 'error: no file or folder "missing.yaml"'),
        (("some.yaml",), 1, "error: no job that has ended"),
        (("some.yaml", "-O", "past.csv"), 1, "error: no job that has ended"),
    ],
)
def test_calls_that_make_no_sense_are_told(
    tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (tmp_path / "some.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    done = called("history", *arguments, folder=tmp_path)
    assert done.returncode == code
    assert message in done.stderr
