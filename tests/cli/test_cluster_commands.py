"""The commands that look at a live cluster, against a small API server: what they print and ask."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.calling import Told, called
from fakes.http_api import ApiThread
from hekla.cluster.conditions import not_scheduled, placed
from hekla.objects import Condition, Manifest, ObjectMeta, OwnerReference, VolcanoJob
from hekla.objects.batch import JobSpec, JobState, JobStatus, TaskSpec
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import BEGINNING

CONF = (
    'actions: "enqueue, allocate"\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: binpack}]\n'
)
SPREAD = CONF.replace("binpack", "nodeorder")
Hekla = Callable[..., Told]


def volcano_job() -> VolcanoJob:
    return VolcanoJob(
        metadata=ObjectMeta(name="train", namespace="default", uid="u-train", creation_timestamp=BEGINNING),
        spec=JobSpec(queue="research", min_available=2, tasks=(TaskSpec(name="worker", replicas=2),)),
        status=JobStatus(state=JobState(phase="Pending"), min_available=2, pending=2),
    )


def train() -> list[Manifest]:
    """A gang that is too large: its pods and its group say so."""
    built = job("train", tasks=2, cpu=3, queue="research")
    said = Condition(type="Unschedulable", status="True", message="2/2 tasks in gang unschedulable")
    group = replace(
        built.pod_group,
        metadata=replace(
            built.pod_group.metadata,
            owner_references=(OwnerReference(kind="Job", name="train", uid="u-train", controller=True),),
        ),
        status=replace(built.pod_group.status, conditions=(said,)),
    )
    pods = [not_scheduled(pod, "Unschedulable", "0/1 nodes are available", BEGINNING) for pod in built.pods]
    return [volcano_job(), group, *pods]


@pytest.fixture
def server() -> Iterator[ApiThread]:
    with ApiThread(
        node("n1", cpu=4, gpu=2, taints=["old=yes:PreferNoSchedule"]),
        queue("default"),
        queue("root"),
        queue("research", weight=3, parent="root", capability={"cpu": 8}),
        *job("web", running={"n1": 1}, cpu=1, memory="2Gi").objects,
        *job("small", tasks=1, cpu=1).objects,
        *train(),
    ) as running:
        yield running


@pytest.fixture
def hekla(server: ApiThread, tmp_path: Path) -> Hekla:
    kubeconfig = server.kubeconfig(tmp_path)

    def run(*arguments: str | Path, code: int = 0) -> Told:
        done = called(*arguments, "--kubeconfig", kubeconfig)
        assert done.returncode == code, done.stderr
        return done

    return run


def test_decide_and_explain_on_a_live_cluster(hekla: Hekla, server: ApiThread, tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text(CONF)
    done = hekla("decide", "--from-cluster", "--conf", conf, "-o", "json")
    assert json.loads(done.stdout)["binds"] == {"default/small-0": "n1"}
    told = hekla("explain", "--from-cluster", "--conf", conf, "--job", "train").stdout
    assert "  state           admitted, not all of it runs" in told
    assert "not enough cpu" in told
    assert server.api.methods == {"GET"}, "nothing is written"


def test_files_are_supposed_to_be_in_the_cluster_as_well(hekla: Hekla, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: n9}, status: {allocatable: {cpu: 32, pods: 9}}}"
    )
    done = hekla("decide", "--from-cluster", more, "-o", "json")
    assert json.loads(done.stdout)["binds"].keys() == {
        "default/small-0",
        "default/train-0",
        "default/train-1",
    }


def test_the_configuration_may_stand_in_the_cluster(hekla: Hekla, server: ApiThread) -> None:
    missing = hekla("decide", "--from-cluster", "--conf-from-cluster", code=1)
    assert missing.stderr == (
        'error: no configmap "volcano-system/volcano-scheduler-configmap" or '
        '"hekla-system/hekla-scheduler-configmap" on this cluster\n'
    )
    server.put_config_map("volcano-system/volcano-scheduler-configmap", {"volcano-scheduler.conf": CONF})
    done = hekla("decide", "--from-cluster", "--conf-from-cluster", "-o", "json")
    assert json.loads(done.stdout)["binds"] == {"default/small-0": "n1"}


def test_calls_that_make_no_sense_are_told(hekla: Hekla) -> None:
    assert "need --from-cluster" in hekla("decide", "some.yaml", code=2).stderr
    assert "--cycles needs files" in hekla("decide", "--from-cluster", "--cycles", "2", code=2).stderr


def test_a_missing_permission_is_one_clear_error(hekla: Hekla, server: ApiThread) -> None:
    server.api.forbidden = {"podgroups"}
    for command in (("decide", "--from-cluster"), ("snapshot",), ("job", "get", "train")):
        done = hekla(*command, code=1)
        assert done.stderr.startswith("error: podgroups: may not be listed: ")
        assert 'needs "list" on podgroups.scheduling.volcano.sh' in done.stderr
        assert "Traceback" not in done.stderr


def test_a_cluster_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    done = called("job", "list", "-k", tmp_path / "none")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'error: no kubeconfig "{tmp_path / "none"}"\n'


def test_a_snapshot_is_decided_as_the_cluster_is(hekla: Hekla, tmp_path: Path) -> None:
    conf, state = tmp_path / "scheduler.conf", tmp_path / "state.json"
    conf.write_text(CONF)
    assert "objects to" in hekla("snapshot", "--conf", conf, "-O", state).stderr
    decided = offline("decide", state, "-o", "json")
    assert json.loads(decided)["binds"] == {"default/small-0": "n1"}
    scrambled = tmp_path / "scrambled.json"
    hekla("snapshot", "--conf", conf, "--scramble", "5", "-O", scrambled)
    text = scrambled.read_text()
    assert not [name for name in ("train", "small", "research", '"n1"') if name in text]
    assert len(json.loads(offline("decide", scrambled, "-o", "json"))["binds"]) == 1
    plain = json.loads(hekla("snapshot").stdout)
    assert plain["kind"] == "List"
    assert {item["kind"] for item in plain["items"]} == {"Job", "Node", "Pod", "PodGroup", "Queue"}
    listed = tmp_path / "listed.json"
    listed.write_text(json.dumps(plain))
    assert json.loads(offline("decide", listed, "--conf", conf, "-o", "json"))["binds"] == {
        "default/small-0": "n1"
    }


def test_a_snapshot_is_listed_as_the_cluster_is(hekla: Hekla, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    hekla("snapshot", "-O", state)
    for command in (
        ("queue", "get", "research"),
        ("node", "list", "-o", "wide"),
        ("node", "get", "n1", "-o", "json"),
    ):
        assert offline(*command, state) == hekla(*command).stdout, command
    rows = json.loads(offline("job", "list", state, "-o", "json"))
    told = [(row["name"], row["jobType"], row["replicas"], row["pending"], row["running"]) for row in rows]
    assert told == [("small", "PodGroup", 1, 1, 0), ("train", "Batch", 2, 2, 0), ("web", "PodGroup", 1, 0, 1)]
    scrambled = tmp_path / "scrambled.json"
    hekla("snapshot", "--scramble", "5", "-O", scrambled)
    # It holds no Jobs: their PodGroups and pods tell of them.
    rows = json.loads(offline("job", "list", scrambled, "-A", "-o", "json"))
    assert sorted((row["jobType"], row["replicas"]) for row in rows) == sorted(
        told_of[1:3] for told_of in told
    )


def offline(*arguments: str | Path) -> str:
    told = called(*arguments)
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_jobs_in_the_columns_of_vcctl(hekla: Hekla) -> None:
    lines = hekla("job", "list").stdout.splitlines()
    columns = "NAME CREATION PHASE JOBTYPE REPLICAS MIN PENDING RUNNING SUCCEEDED FAILED UNKNOWN RETRYCOUNT"
    assert " ".join(lines[0].split()) == columns
    assert " ".join(lines[1].split()) == f"train {BEGINNING:%Y-%m-%d} Pending Batch 2 2 2 0 0 0 0 0"
    assert hekla("job", "list", "-A").stdout.split()[:2] == ["NAMESPACE", "NAME"]
    nothing = hekla("job", "list", "-n", "nowhere")
    assert (nothing.stdout, nothing.stderr) == ("", 'no jobs found in namespace "nowhere"\n')
    assert hekla("job", "list", "-q", "prod").stdout == ""
    assert json.loads(hekla("job", "list", "-q", "research", "-o", "json").stdout)[0]["name"] == "train"


def test_one_job_with_its_pods_and_why_it_waits(hekla: Hekla) -> None:
    text = hekla("job", "get", "train").stdout
    assert "why it waits\n  - 2/2 tasks in gang unschedulable\n" in text
    assert "  - train-0 and 1 more: 0/1 nodes are available\n" in text
    data = json.loads(hekla("job", "get", "web", "-o", "json").stdout)
    assert data["pods"] == [{"node": "n1", "pod": "web-0", "phase": "Running"}]
    assert hekla("job", "get", "trian", code=1).stderr == (
        'error: no job or pod group "trian" in namespace "default"; did you mean "train"?\n'
    )


def test_queues_in_the_columns_of_vcctl(hekla: Hekla) -> None:
    lines = hekla("queue", "list").stdout.splitlines()
    columns = "NAME WEIGHT STATE PARENT INQUEUE PENDING RUNNING UNKNOWN COMPLETED"
    assert " ".join(lines[0].split()) == columns
    assert [line.split() for line in lines[1:]] == [
        ["default", "1", "Open", "-", "1", "0", "1", "0", "0"],
        ["research", "3", "Open", "root", "1", "0", "0", "0", "0"],
        ["root", "1", "Open", "-", "0", "0", "0", "0", "0"],
    ]
    text = hekla("queue", "get", "research").stdout
    assert "cpu        -           -          8            -" in text
    assert "default/train" in text


def test_nodes_with_what_is_used_and_free(hekla: Hekla) -> None:
    lines = hekla("node", "list").stdout.splitlines()
    assert lines[1].split() == ["n1", "Ready", "1/110", "1/4", "2Gi/16Gi", "nvidia.com/gpu", "0/2"]
    data = json.loads(hekla("node", "get", "n1", "-o", "json").stdout)
    assert data["resources"][0] == {"resource": "cpu", "allocatable": "4", "used": "1", "free": "3"}
    assert [pod["pod"] for pod in data["pods"]] == ["default/web-0"]
    assert "old=yes:PreferNoSchedule" in hekla("node", "get", "n1").stdout


def test_shadow_tells_differences_as_they_happen_and_sums_them_up(server: ApiThread, tmp_path: Path) -> None:
    server.put(node("n2", cpu=4))
    current, candidate, report = (tmp_path / name for name in ("a.conf", "b.conf", "report.json"))
    current.write_text(CONF)
    candidate.write_text(SPREAD)
    options = ["--conf", current, "--candidate", candidate, "--period", "0.2", "--duration", "4", "--report"]
    command = [sys.executable, "-c", "from hekla.cli.main import main; main()", "shadow", *options, report]
    process = subprocess.Popen(
        [*map(str, command), "-k", str(server.kubeconfig(tmp_path)), "--log-format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stderr is not None
    assert "in sync" in process.stderr.readline()
    time.sleep(1)
    (small,) = job("small", tasks=1, cpu=1).pods
    server.put(placed(small, "n2"))
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    differences = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    bound = [one for one in differences if one["pod"] == "default/small-0"]
    assert [(one["configuration"], one["kind"], one["ownNode"]) for one in bound] == [
        ("current", "other node", "n1")
    ]
    told = json.loads(report.read_text())
    assert [(lane["configuration"], lane["seen"], lane["agreed"]) for lane in told["configurations"]] == [
        ("current", 1, 0),
        ("candidate", 1, 1),
    ]
    assert told["disagreements"] == 1
    assert "CONFIGURATION   SEEN   AGREED" in out
    assert server.api.methods == {"GET"}


def test_pod_groups_are_what_shadow_cannot_do_without(server: ApiThread, hekla: Hekla) -> None:
    server.api.absent = {"podgroups"}
    done = hekla("shadow", "--duration", "1", code=1)
    assert done.stderr.splitlines()[-1] == "error: podgroups: not defined on this cluster"


def test_shadow_of_a_cluster_that_does_not_answer_ends_with_one_clear_error(
    server: ApiThread, tmp_path: Path
) -> None:
    kubeconfig = server.kubeconfig(tmp_path)
    kubeconfig.write_text(kubeconfig.read_text().replace(f":{server.api.port}", ":1"))
    done = called("shadow", "-k", kubeconfig)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: nodes: no answer from http://127.0.0.1:1: ")
    assert "Traceback" not in done.stderr
