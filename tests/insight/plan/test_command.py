"""`hekla plan` as users and scripts meet it: what is printed, where, and with which exit code."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
import yaml

from cli.calling import called as hekla
from fakes.http_api import ApiThread
from hekla.cli.plan import DEFAULT_TRIES
from hekla.insight.plan import TRIES
from hekla.testing.builders import job as group_with_pods
from hekla.testing.builders import node, queue

STATE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 4, pods: 10}}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {allocatable: {cpu: 2, pods: 10}}
"""
JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  tasks:
  - name: worker
    replicas: %d
    template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    file = tmp_path / "state.yaml"
    file.write_text(STATE)
    return file


def job(tmp_path: Path, pods: int, cpu: int = 1) -> Path:
    file = tmp_path / f"job{pods}.yaml"
    file.write_text((JOB % pods).replace("cpu: 1", f"cpu: {cpu}"))
    return file


def test_yes_is_the_first_line_and_exits_with_0(tmp_path: Path, state: Path) -> None:
    told = hekla("plan", job(tmp_path, 3), "--state", state)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == "job default/train: would start now, 3 pods on 2 nodes: n1 (2), n2\n"


def test_no_is_the_first_line_with_reasons_and_changes_and_exits_with_4(tmp_path: Path, state: Path) -> None:
    told = hekla("plan", job(tmp_path, 8), "--state", state)
    assert (told.returncode, told.stderr) == (4, "")
    assert told.stdout.startswith("job default/train: would never start: 8 tasks that start together need")
    assert "what holds it back: " in told.stdout
    assert "  2. spec.tasks[0].replicas: 6 (was 8)\n" in told.stdout
    assert all(len(line) <= 100 for line in told.stdout.splitlines())


@pytest.mark.parametrize(("pods", "cpu", "headline"), [(2, 3, "admitted"), (8, 1, "waits to be admitted")])
def test_explain_tells_the_same_reasons(
    tmp_path: Path, state: Path, pods: int, cpu: int, headline: str
) -> None:
    file = job(tmp_path, pods, cpu)
    [planned] = json.loads(hekla("plan", file, "--state", state, "-o", "json").stdout)
    [waits] = json.loads(hekla("explain", state, file, "--cycles", "2", "-o", "json").stdout)
    assert planned["reasons"] == waits["reasons"]
    assert planned["headline"].startswith(headline)
    assert waits["headline"].startswith(headline)


def test_machines_get_a_list_of_answers(tmp_path: Path, state: Path) -> None:
    files = (job(tmp_path, 3), "--state", state, "--tries", "0")
    [answer] = json.loads(hekla("plan", *files, "-o", "json").stdout)
    assert answer["start"] == "now"
    assert answer["placements"].keys() == {f"default/train-worker-{i}" for i in range(3)}
    assert yaml.safe_load(hekla("plan", *files, "-o", "yaml").stdout) == [answer]


def test_a_scenario_brings_its_own_configuration(tmp_path: Path) -> None:
    objects = [*yaml.safe_load_all(STATE)]
    objects += [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "default"},
            "status": {"state": "Open"},
        }
    ]
    # Without gang there is no reason to wait for the whole job, but its minimum is not reached.
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"conf": 'actions: "enqueue"\ntiers: []\n', "objects": objects}))
    assert hekla("plan", job(tmp_path, 1), "--state", file, "--tries", "0").returncode == 4
    assert hekla("plan", job(tmp_path, 1), "--state", file, "--preset", "basic").returncode == 0


def zoned(tmp_path: Path, now: str) -> Path:
    """A node that may be used from 9 to 18 o'clock alone, and the hour of a day at which a plan is made."""
    [machine, _] = yaml.safe_load_all(STATE)
    machine["metadata"]["labels"] = {"volcano.sh/revocable-zone": "day"}
    conf = """
        actions: "enqueue, allocate"
        tiers: [{plugins: [{name: gang}, {name: tdm, arguments: {tdm.revocable-zone.day: "9:00-18:00"}}]}]
    """
    default = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "default"},
        "status": {"state": "Open"},
    }
    moment = datetime.fromisoformat(f"2026-01-01T{now}+00:00").timestamp()
    file = tmp_path / "zoned.json"
    file.write_text(json.dumps({"conf": conf, "now": moment, "objects": [machine, default]}))
    return file


def test_the_time_of_a_scenario_is_the_time_of_the_plan(tmp_path: Path) -> None:
    file = job(tmp_path, 1)
    accepts = '{metadata: {annotations: {volcano.sh/revocable-zone: "*"}}, spec:'
    file.write_text(file.read_text().replace("template: {spec:", f"template: {accepts}"))
    assert hekla("plan", file, "--state", zoned(tmp_path, "12:00"), "--tries", "0").returncode == 0
    told = hekla("plan", file, "--state", zoned(tmp_path, "20:00"), "--tries", "0")
    assert told.returncode == 4
    assert "revocable zone not active" in told.stdout


def test_planning_writes_nothing(tmp_path: Path, state: Path) -> None:
    file = job(tmp_path, 8)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    hekla("plan", file, "--state", state)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["minimum", "queue", "worker"])
def test_a_task_may_be_called_like_something_else_of_a_job(tmp_path: Path, state: Path, name: str) -> None:
    file = job(tmp_path, 8)
    file.write_text(file.read_text().replace("worker", name))
    told = hekla("plan", file, "--state", state)
    assert "spec.tasks[0].replicas: 6 (was 8)\n" in told.stdout
    assert "spec.minAvailable: 6 (was 8)" in told.stdout


def test_changes_that_belong_together_are_told_line_by_line(tmp_path: Path, state: Path) -> None:
    state.write_text(STATE.replace("cpu: 4,", "cpu: 4, memory: 8Gi,"))
    file = job(tmp_path, 1)
    file.write_text(file.read_text().replace("cpu: 1", "cpu: 8, memory: 16Gi"))
    told = hekla("plan", file, "--state", state)
    path = "spec.tasks[0].template.spec.containers[0].resources.requests"
    assert f"  1. {path}[cpu]: 4 (was 8);\n     {path}[memory]: 8Gi (was 16Gi)\n" in told.stdout


def test_the_rest_of_an_elastic_job_is_explained(tmp_path: Path, state: Path) -> None:
    file = job(tmp_path, 7)
    file.write_text(file.read_text().replace("  tasks:", "  minAvailable: 2\n  tasks:"))
    told = hekla("plan", file, "--state", state)
    assert told.returncode == 0
    assert told.stdout.startswith(
        "job default/train: would start now, 6 of 7 pods (at least 2 start together) on 2 nodes: n1 (4),\n"
        "  n2 (2)\n"
    )
    assert "what holds the rest back: " in told.stdout
    assert "changes" not in told.stdout


def test_the_command_tries_as_often_as_the_library() -> None:
    """Written twice, so that --help need not import the library."""
    assert DEFAULT_TRIES == TRIES


def test_a_job_may_come_from_standard_input(state: Path) -> None:
    assert hekla("plan", "-", "--state", state, stdin=JOB % 1).returncode == 0


def test_together_the_second_job_finds_the_first_in_place(tmp_path: Path, state: Path) -> None:
    two = tmp_path / "two.yaml"
    two.write_text(f"{JOB % 4}---{(JOB % 4).replace('train', 'other')}")
    assert hekla("plan", two, "--state", state).returncode == 0
    told = hekla("plan", two, "--state", state, "--together", "--tries", "0")
    assert told.returncode == 4
    assert "train: would start now" in told.stdout
    assert "other: would not start" in told.stdout


def test_on_a_live_cluster_nothing_is_written(tmp_path: Path) -> None:
    old = group_with_pods("old", cpu=1, running={"n1": 1})
    with ApiThread(node("n1", cpu=4), queue("default"), *old.objects) as server:
        kubeconfig = server.kubeconfig(tmp_path)
        told = hekla("plan", job(tmp_path, 3), "--from-cluster", "--kubeconfig", kubeconfig)
        assert (told.returncode, told.stderr) == (0, "")
        assert told.stdout == "job default/train: would start now, 3 pods on 1 node: n1 (3)\n"
        assert server.api.methods == {"GET"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "give the jobs: either files, or --job NAME"),
        (("job.yaml",), 2, "either --state FILE or --from-cluster"),
        (("job.yaml", "--state", "state.yaml", "--from-cluster"), 2, "either --state FILE or --from-cluster"),
        (("job.yaml", "--state", "state.yaml", "--context", "x"), 2, "need --from-cluster"),
        (("job.yaml", "--state", "nowhere.yaml"), 1, 'no file or folder "nowhere.yaml"'),
        (("nowhere.yaml", "--state", "state.yaml"), 1, 'no file or folder "nowhere.yaml"'),
        (("empty.yaml", "--state", "state.yaml"), 1, 'no usable object in "empty.yaml"'),
        (("state.yaml", "--state", "state.yaml"), 1, "no job to plan"),
    ],
)
def test_wrong_calls(
    tmp_path: Path,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    job(tmp_path, 1).rename(tmp_path / "job.yaml")
    (tmp_path / "empty.yaml").write_text("")
    assert state.exists()
    monkeypatch.chdir(tmp_path)
    told = hekla("plan", *arguments)
    assert told.returncode == code
    assert message in told.stderr
    assert "Traceback" not in told.stderr
