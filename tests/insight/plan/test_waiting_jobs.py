"""A plan for a job that waits in the cluster already, under its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from cli.calling import called as hekla
from fakes.http_api import ApiThread
from hekla.errors import InputError
from hekla.insight.plan import Plan, PlannedStart, Planner
from hekla.objects import Manifest
from hekla.objects.read import read_manifests
from hekla.testing.builders import JobObjects, job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.story import conf_of

CONF = conf_of(tiers=("gang", "predicates"))
STATE = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: research}}
"""
JOB = """---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %s}
spec:
  queue: %s
  tasks:
  - name: worker
    replicas: %d
    template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}
"""


def planner(*parts: Manifest | JobObjects) -> Planner:
    objects = [each for part in parts for each in (part.objects if isinstance(part, JobObjects) else (part,))]
    return Planner(stamped([queue("default"), *objects]), CONF)


def asked(cluster: Planner, name: str, **more: int) -> Plan:
    [answer] = cluster.plan_waiting([name], **more)
    return answer


def changes(plan: Plan) -> list[str]:
    return [each.change for each in plan.suggestions]


def test_a_waiting_job_gets_the_answer_and_the_suggestions_of_one_that_is_planned() -> None:
    nodes, train = [node("n1", cpu=3), node("n2", cpu=2)], job("train", tasks=6, cpu=1)
    there = asked(planner(*nodes, train), "train")
    [fresh] = planner(*nodes).plan(train.objects)
    assert (there.start, there.pods, there.minimum, there.is_there) == (PlannedStart.NOT, 6, 6, True)
    assert changes(there) == changes(fresh) != []
    assert there.reasons == fresh.reasons


def test_suggestions_hold_when_the_job_is_submitted_anew_with_them() -> None:
    nodes = [node("n1", cpu=3), node("n2", cpu=2)]
    there = asked(planner(*nodes, job("train", tasks=6, cpu=1)), "default/train")
    assert any(change.startswith("number of pods: 5 (was 6)") for change in changes(there))
    assert asked(planner(*nodes, job("train", tasks=5, cpu=1)), "train").starts


def test_a_waiting_job_that_fits_starts_now() -> None:
    answer = asked(planner(node("n1", cpu=3), job("train", tasks=3, cpu=1)), "train")
    assert (answer.start, answer.nodes, answer.suggestions) == (PlannedStart.NOW, {"n1": 3}, ())


def test_jobs_that_would_be_started_without_it_are_told() -> None:
    first, second = job("first", tasks=2, cpu=1), job("second", tasks=2, cpu=1)
    [delay] = asked(planner(node("n1", cpu=3), first, second), "first").delays
    assert (delay.job, delay.pods_without, delay.pods_with) == ("default/second", 2, 0)


def test_a_gang_that_lost_pods_starts_when_the_rest_finds_a_place() -> None:
    broken = job("train", tasks=4, running={"n1": 2}, cpu=1)
    assert asked(planner(node("n1", cpu=4), broken), "train").start is PlannedStart.NOW
    assert asked(planner(node("n1", cpu=3), broken), "train").start is PlannedStart.NOT


def test_asking_leaves_the_cluster_as_it_was() -> None:
    cluster = planner(node("n1", cpu=3), job("train", tasks=6, cpu=1), job("zip", tasks=4, cpu=1))
    before = [asked(cluster, name) for name in ("train", "zip")]
    assert [asked(cluster, name) for name in ("train", "zip")] == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tarin", 'no job "tarin"; did you mean "train"?'),
        ("nothing", 'no job "nothing"; known jobs: default/done, default/train, lab/train'),
        ("train", 'several jobs are named "train"; write one of: default/train, lab/train'),
        ("done", "podgroup default/done runs already: 1 of its 1 pods are on nodes, and 1 start together"),
    ],
)
def test_names_that_mean_no_waiting_job(name: str, message: str) -> None:
    there = [job("train", tasks=6, cpu=1), job("done", running={"n1": 1}, cpu=1)]
    cluster = planner(node("n1", cpu=3), *there, job("train", tasks=6, cpu=1, namespace="lab"))
    with pytest.raises(InputError) as caught:
        cluster.plan_waiting([name])
    assert str(caught.value) == message


def manifests(tmp_path: Path, *jobs: tuple[str, str, int], phase: str = "", runs: str = "") -> Path:
    file = tmp_path / "state.yaml"
    documents = [*yaml.safe_load_all(STATE), *(yaml.safe_load(JOB[4:] % each) for each in jobs)]
    for document in documents:
        if document["kind"] == "Job" and phase:
            document["status"] = {"state": {"phase": phase}}
        if document["kind"] == "Job" and runs:
            [task] = document["spec"]["tasks"]
            task["template"]["metadata"] = {"annotations": {"hekla.dev/run-seconds": runs}}
    file.write_text(yaml.safe_dump_all(documents))
    return file


def test_a_job_is_told_of_in_the_words_of_its_manifest(tmp_path: Path) -> None:
    state = manifests(tmp_path, ("train", "default", 8))
    told = hekla("plan", "--job", "train", "--state", state)
    assert (told.returncode, told.stderr) == (4, "")
    assert told.stdout.startswith(
        "job default/train: would never start: 8 tasks that start together need 8 cpu"
    )
    assert "it would start, submitted anew, with any one of these changes\n" in told.stdout
    # Its user wrote no minimum, so that there is none to lower with the number of pods.
    assert "spec.tasks[0].replicas: 6 (was 8)\n" in told.stdout


def test_a_job_whose_queue_does_not_exist_is_told_which_queue_would_take_it(tmp_path: Path) -> None:
    state = manifests(tmp_path, ("train", "reserch", 2))
    [answer] = json.loads(hekla("plan", "--job", "train", "--state", state, "-o", "json").stdout)
    assert (answer["job"], answer["start"]) == ("job default/train", "not")
    assert (answer["code"], answer["verdict"], answer["minimum"]) == ("queue", "held", 2)
    assert {each["change"] for each in answer["suggestions"]} >= {"spec.queue: research (was reserch)"}


@pytest.mark.parametrize(
    ("phase", "change"),
    [
        ("Aborted", "resume the job (it is Aborted)"),
        ("Terminated", "submit the job anew (it is Terminated)"),
        ("Failed", "submit the job anew (it is Failed)"),
    ],
)
def test_a_job_that_was_stopped_is_to_go_on(tmp_path: Path, phase: str, change: str) -> None:
    state = manifests(tmp_path, ("train", "default", 2), phase=phase)
    [answer] = json.loads(hekla("plan", "--job", "train", "--state", state, "-o", "json").stdout)
    assert [each["change"] for each in answer["suggestions"]] == [change]


def test_a_job_that_was_stopped_and_is_too_large_is_to_be_made_smaller(tmp_path: Path) -> None:
    state = manifests(tmp_path, ("train", "default", 8), phase="Aborted")
    [answer] = json.loads(hekla("plan", "--job", "train", "--state", state, "-o", "json").stdout)
    assert "spec.tasks[0].replicas: 6 (was 8)" in [each["change"] for each in answer["suggestions"]]


def test_a_job_that_has_ended_waits_for_nothing(tmp_path: Path) -> None:
    state = manifests(tmp_path, ("train", "default", 2), phase="Completed")
    told = hekla("plan", "--job", "train", "--state", state)
    assert told.returncode == 1
    assert told.stderr == "error: job default/train has ended (Completed): nothing of it waits\n"


def test_warnings_about_other_jobs_are_left_out(tmp_path: Path) -> None:
    state = manifests(tmp_path, ("train", "default", 2), ("lost", "nowhere", 2))
    assert hekla("plan", "--job", "train", "--state", state).stderr == ""
    assert "job default/lost: left out" in hekla("plan", "--job", "lost", "--state", state).stderr


def test_a_job_is_expected_to_start_when_the_one_before_it_ends(tmp_path: Path) -> None:
    state = manifests(tmp_path, ("first", "default", 4), ("train", "default", 4), runs="600")
    [answer] = json.loads(
        hekla("plan", "--job", "train", "--state", state, "-o", "json", "--samples", "3").stdout
    )
    assert answer["start"] == "not"
    starts = answer["expectedStart"]["startsInSeconds"]
    assert 600 <= starts["p50"] == starts["p90"] < 610
    assert (
        "expected start: p50 in 10 min, p90 in 10 min; 3 samples\n"
        in hekla("plan", "--job", "train", "--state", state, "--samples", "3").stdout
    )


def test_an_expected_start_is_not_told_where_nothing_tells_how_long_jobs_run(tmp_path: Path) -> None:
    state = manifests(tmp_path, ("first", "default", 4), ("train", "default", 4))
    told = hekla("plan", "--job", "train", "--state", state, "--samples", "3").stdout
    assert "expected start: cannot be told: nothing tells how long jobs run; give --history or" in told
    told = hekla(
        "plan", "--job", "train", "--state", state, "--samples", "3", "--default-duration", "1h"
    ).stdout
    assert "expected start: p50 in 60 min, p90 in 60 min; 3 samples\n" in told


def test_a_job_without_pods_is_planned_in_its_own_words_live_and_from_a_snapshot(tmp_path: Path) -> None:
    """As Jobs are that wait to be admitted: their pods are still to be made."""
    written = tmp_path / "train.yaml"
    written.write_text(JOB % ("train", "default", 8))
    waiting = read_manifests([written]).objects
    state = tmp_path / "state.json"
    with ApiThread(node("n1", cpu=6), queue("default"), *waiting) as server:
        access = ["--kubeconfig", server.kubeconfig(tmp_path)]
        assert hekla("snapshot", *access, "-O", state).returncode == 0
        live = hekla("plan", "--job", "train", "--from-cluster", *access, "--samples", 0)
        assert server.api.methods == {"GET"}, "nothing is written"
    assert "spec.tasks[0].replicas: 6 (was 8)" in live.stdout
    assert hekla("plan", "--job", "train", "--state", state, "--samples", 0).stdout == live.stdout


def test_files_and_names_are_not_planned_together(tmp_path: Path) -> None:
    state = manifests(tmp_path, ("train", "default", 8))
    assert hekla("plan", state, "--job", "train", "--state", state).returncode == 2
    assert hekla("plan", "--job", "train", "--together", "--state", state).returncode == 2
    told = hekla("plan", state, "--state", state)
    assert 'ask "hekla plan --job default/train" what lets it start' in told.stderr
