"""`hekla explain` as users and scripts meet it: all jobs that wait, some of them, and one on one screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.calling import Told
from cli.calling import called as hekla
from fakes.http_api import ApiThread
from hekla.testing.builders import job, node, queue

NODES = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 8, memory: 32Gi, pods: 20}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 8, memory: 32Gi, pods: 20}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: research}}
"""

CONF = 'actions: "enqueue, allocate"\ntiers: [{plugins: [{name: gang}, {name: predicates}]}]\n'


@pytest.fixture(autouse=True)
def conf(tmp_path: Path) -> Path:
    """Without plugins that limit what is let in, and without shares of queues."""
    file = tmp_path / "conf.yaml"
    file.write_text(CONF)
    return file


def volcano_job(
    name: str, pods: int, cpu: int, *, queue: str = "default", runs: int = 0, namespace: str = "default"
) -> dict[str, Any]:
    requests = {"requests": {"cpu": cpu}}
    template: dict[str, Any] = {"spec": {"containers": [{"name": "main", "resources": requests}]}}
    if runs:
        template["metadata"] = {"annotations": {"hekla.dev/run-seconds": str(runs)}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"queue": queue, "tasks": [{"name": "w", "replicas": pods, "template": template}]},
    }


def cluster(tmp_path: Path, *jobs: dict[str, Any]) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*yaml.safe_load_all(NODES), *jobs]))
    return file


def told_of(file: Path, *words: object) -> Told:
    return hekla("explain", file, *words, "--conf", file.parent / "conf.yaml")


def explained(file: Path, *words: object) -> list[dict[str, Any]]:
    told = told_of(file, *words, "-o", "json")
    assert told.returncode == 0, told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)
    return found


def test_jobs_are_explained_by_what_scheduling_says_of_them(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 3, 4), volcano_job("train", 2, 6))
    [told] = explained(file)
    assert told["job"] == "default/train"
    assert any("0/2 nodes fit: 2 not enough cpu (asked 6, most free 4)" in each for each in told["reasons"])
    [told] = explained(file, "--cycles", 1)[1:]
    assert told["reasons"] == ["pods: 0 of 2 exist; a job's pods are made once it is admitted"]


def test_seven_equal_jobs_are_one_block(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 4, 4), *(volcano_job(f"s{at}", 1, 4) for at in range(7)))
    told = told_of(file).stdout
    assert told.startswith("default/s0 and 6 more like it: admitted, not all of it runs")
    assert told.count("not enough cpu") == 1
    assert len(explained(file)) == 7


def test_only_the_jobs_that_are_asked_about(tmp_path: Path) -> None:
    file = cluster(
        tmp_path,
        volcano_job("first", 4, 4),
        volcano_job("a", 1, 4),
        volcano_job("b", 1, 9, queue="research"),
        volcano_job("c", 1, 4, namespace="lab"),
        volcano_job("d", 1, 10),
    )
    assert [each["job"] for each in explained(file, "--queue", "research")] == ["default/b"]
    assert [each["job"] for each in explained(file, "--namespace", "lab")] == ["lab/c"]
    codes = {each["job"]: each["code"] for each in explained(file)}
    assert len(codes) == 4
    for code in set(codes.values()):
        wanted = [name for name, of in codes.items() if of == code]
        found = explained(file, "--reason", code.replace(" ", "-"))
        assert sorted(each["job"] for each in found) == sorted(wanted)
    assert told_of(file, "--queue", "nothing").stdout == "nothing that was asked for waits\n"


def test_one_job_is_one_screen(tmp_path: Path) -> None:
    file = cluster(
        tmp_path,
        volcano_job("first", 3, 4, runs=600),
        volcano_job("second", 1, 2, runs=1200),
        volcano_job("ahead", 3, 4, runs=60),
        volcano_job("train", 2, 4, runs=60),
    )
    told = told_of(file, "--job", "train", "--samples", "3")
    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].startswith("default/train: not yet (")
    assert "  queue           default, place 2 of 2 that wait" in lines
    assert "  expected start  p50 in 11 min, p90 in 11 min; 3 samples" in lines
    ahead = lines.index("ahead of it in its queue: 1 job, which ask for cpu 12")
    assert lines[ahead + 2].split() == ["default/ahead", "3", "12"]
    holding = lines.index("who holds cpu on the 2 nodes it may use (14 of 16 held)")
    assert [line.split()[0] for line in lines[holding + 2 : holding + 4]] == [
        "default/first",
        "default/second",
    ]
    helping = lines.index("what would help: any one of these, submitted anew (each was tried out)")
    path = "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]"
    assert lines[helping + 1 :] == [f"  1. {path}: 1", "       (was 4)"]


def test_a_screen_for_machines_has_all_of_it(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 4, 4, runs=600), volcano_job("train", 2, 4, runs=60))
    [told] = explained(file, "--job", "train", "--samples", "2")
    assert told["position"] == {"queue": "default", "place": 1, "waiting": 1, "asksAhead": {}, "ahead": []}
    assert 600 <= told["expectedStart"]["startsInSeconds"]["p50"] < 610
    assert told["heldBy"]["jobs"] == [
        {"job": "default/first", "queue": "default", "pods": 4, "holds": {"cpu": "16"}}
    ]
    assert told["heldBy"]["of"] == {"cpu": "16"}
    assert (told["pods"], told["minimum"], told["verdict"]) == (2, 2, "not yet")
    assert told["suggestions"] == []
    as_yaml = told_of(file, "--job", "train", "--samples", "2", "-o", "yaml")
    assert yaml.safe_load(as_yaml.stdout) == [told]


def test_every_suggestion_holds(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 3, 4), volcano_job("train", 3, 4))
    [told] = explained(file, "--job", "train", "--samples", "0")
    assert "spec.tasks[0].replicas: 1 (was 3)" in [each["change"] for each in told["suggestions"]]
    assert explained(cluster(tmp_path, volcano_job("first", 3, 4), volcano_job("train", 1, 4))) == []


def test_nothing_is_said_of_times_and_changes_where_that_is_not_wanted(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 4, 4), volcano_job("train", 2, 4))
    [told] = explained(file, "--job", "train", "--samples", "0", "--tries", "0")
    assert (told["expectedStart"], told["tries"], told["suggestions"]) == (None, 0, [])
    screen = told_of(file, "--job", "train", "--samples", "0", "--tries", "0").stdout
    assert "expected start" not in screen
    assert "what would help" not in screen


def test_a_start_that_cannot_be_told_says_why(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 4, 4), volcano_job("train", 2, 4))
    screen = told_of(file, "--job", "train", "--samples", "2").stdout
    assert "expected start  cannot be told: nothing tells how long jobs run;" in screen


def test_a_job_that_runs_waits_for_nothing(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 2, 4), volcano_job("train", 4, 4))
    told = told_of(file, "--job", "first")
    assert told.stdout.startswith("default/first: nothing waits (2 ")
    assert "what would help" not in told.stdout


def test_jobs_that_no_cycle_knows_are_told_of_too(tmp_path: Path) -> None:
    stopped = volcano_job("stopped", 2, 4) | {"status": {"state": {"phase": "Aborted"}}}
    file = cluster(tmp_path, volcano_job("lost", 2, 4, queue="reserch"), stopped)
    told = {each["job"]: (each["code"], each["verdict"]) for each in explained(file)}
    assert told == {"default/lost": ("queue", "held"), "default/stopped": ("stopped", "held")}
    assert [each["job"] for each in explained(file, "--reason", "stopped")] == ["default/stopped"]


def test_one_job_that_no_cycle_knows_is_a_screen_too(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("lost", 2, 4, queue="reserch"))
    lines = told_of(file, "--job", "lost").stdout.splitlines()
    assert " ".join(lines[:2]) == (
        'default/lost: held (queue): queue "reserch" does not exist (did you mean   "research"?)'
    )
    assert "  pods            2 pods (none exist yet), at least 2 start together" in lines
    assert "  expected start  cannot be told: it waits for a person or another object" in lines
    assert "  2. spec.queue: research (was reserch)" in lines


def test_a_job_that_was_aborted_is_to_be_resumed(tmp_path: Path) -> None:
    stopped = volcano_job("stopped", 2, 4) | {"status": {"state": {"phase": "Aborted"}}}
    screen = told_of(cluster(tmp_path, stopped), "--job", "stopped").stdout
    assert screen.startswith("default/stopped: held (stopped): it was aborted; resume it")
    assert "  1. resume the job (it is Aborted)\n" in screen


def test_a_job_that_has_ended_waits_for_nothing(tmp_path: Path) -> None:
    ended = volcano_job("ended", 2, 4) | {"status": {"state": {"phase": "Completed"}}}
    assert told_of(cluster(tmp_path, ended)).stdout == "nothing waits\n"
    told = told_of(cluster(tmp_path, ended), "--job", "ended")
    assert (told.returncode, told.stdout.splitlines()[0]) == (0, "default/ended: nothing waits (completed)")


def test_what_never_starts_is_told_apart_from_what_waits(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 4, 4, runs=60), volcano_job("large", 1, 9))
    screen = told_of(file, "--job", "large").stdout
    assert screen.startswith("default/large: never (fragmentation): needs 9 cpu, the largest node has 8\n")
    assert "expected start  never, as the cluster and the job are\n" in screen
    assert "who holds" not in screen
    assert "ahead of it" not in screen


def test_with_one_job_nothing_is_said_of_the_faults_of_other_jobs(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 4, 4), volcano_job("lost", 2, 4, queue="nowhere"))
    assert "job default/lost: left out" in told_of(file).stderr
    assert told_of(file, "--job", "first", "--samples", "0").stderr == ""


def test_a_name_that_is_nearly_one_is_told(tmp_path: Path) -> None:
    told = told_of(cluster(tmp_path, volcano_job("first", 4, 4)), "--job", "frist")
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == 'error: no pod group "frist" in this cycle; did you mean "first"?\n'


def test_a_name_that_is_nearly_that_of_a_job_that_no_cycle_knows(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("lost", 2, 4, queue="nowhere"))
    assert 'did you mean "lost"?' in told_of(file, "--job", "lots").stderr


def test_one_job_leaves_no_room_for_filters(tmp_path: Path) -> None:
    file = cluster(tmp_path, volcano_job("first", 4, 4))
    told = told_of(file, "--job", "first", "--queue", "default")
    assert told.returncode == 2
    assert "--job is about one job" in told.stderr


@pytest.fixture
def server() -> ApiThread:
    return ApiThread(
        node("n1", cpu=4),
        queue("default"),
        *job("old", running={"n1": 1}, cpu=3, run_seconds=600).objects,
        *job("train", tasks=2, cpu=2).objects,
    )


@pytest.mark.parametrize("is_scenario", [True, False])
def test_a_live_cluster_and_its_snapshot_give_the_same_screen(
    server: ApiThread, tmp_path: Path, conf: Path, is_scenario: bool
) -> None:
    conf_option = ["--conf", conf]
    with server as running:
        access = ["--kubeconfig", running.kubeconfig(tmp_path)]
        state = tmp_path / "state.json"
        assert hekla("snapshot", *access, *(conf_option if is_scenario else ()), "-O", state).returncode == 0
        live = hekla("explain", "--job", "train", "--samples", "0", "--from-cluster", *access, *conf_option)
        assert running.api.methods == {"GET"}, "nothing is written"
    saved = hekla("explain", "--job", "train", "--samples", "0", state, *(() if is_scenario else conf_option))
    assert (live.returncode, saved.returncode) == (0, 0), (live.stderr, saved.stderr)
    assert "who holds cpu on the 1 node it may use (3 of 4 held)" in live.stdout
    assert "  1. podgroup: spec.minMember: 1 (was 2)" not in live.stdout
    assert saved.stdout == live.stdout
