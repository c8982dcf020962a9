"""Ended jobs out of saved runs, workloads and the state itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from states import CONF

from cli.calling import called
from hekla.errors import InputError
from hekla.insight.forecast import Past, read_history
from hekla.insight.forecast.history import ended_by, ended_in, likeness_of
from hekla.objects import ObjectMeta, VolcanoJob
from hekla.objects.batch import JobSpec, JobState, JobStatus, TaskSpec
from hekla.simulation.measures import save
from hekla.simulation.run import Run
from hekla.simulation.simulate import simulate
from hekla.simulation.workloads import read_workload

WORKLOAD = """
nodes: 1 x cpu=4,memory=16Gi
jobs:
- {name: first-1, duration: 100s, cpu: 4, user: ann, estimate: 400s}
- {name: first-2, duration: 50s, cpu: 4, user: ann}
- {name: endless, duration: forever, cpu: 4, user: bob}
"""

STATE = """
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: 4, pods: 9}}
---
apiVersion: v1
kind: Pod
metadata: {name: first-1, annotations: {hekla.dev/run-seconds: "50"}}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: 4}}}]}
"""
FIRST = Past(likeness_of("default/first-1", queue="default", pods=1, user="ann"), 100.0, 400.0)
SECOND = Past(likeness_of("default/first-2", queue="default", pods=1, user="ann"), 50.0)


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD, "utf-8")
    return path


@pytest.fixture
def run(workload: Path) -> Run:
    return simulate(read_workload(workload), CONF)


@pytest.mark.parametrize("name", ["run.json", "jobs.csv", "folder"])
def test_jobs_that_ended_in_a_saved_run(run: Run, name: str, tmp_path: Path) -> None:
    save(run, tmp_path / name)

    assert read_history(tmp_path / name) == [FIRST, SECOND]


def test_a_workload_with_durations_tells_as_much(workload: Path) -> None:
    assert read_history(workload) == [FIRST, SECOND]


def test_slurm_and_recordings_tell_as_much(tmp_path: Path) -> None:
    log = "JobID|JobName|User|Partition|Submit|State|Elapsed|Timelimit|AllocTRES\n"
    log += "7|first|ann|default|2026-01-31T12:00:00Z|COMPLETED|00:01:40|00:06:40|cpu=4\n"
    log += "8|other|ann|default|2026-01-31T12:00:00Z|RUNNING|00:01:40||cpu=4\n"
    (tmp_path / "log.txt").write_text(log)
    assert read_history(tmp_path / "log.txt") == [FIRST]
    (tmp_path / "state.yaml").write_text(STATE)
    assert called("run", "state.yaml", "--record", "cycles", folder=tmp_path).returncode == 0
    assert read_history(tmp_path / "cycles") == [
        Past(likeness_of("default/first", queue="default", pods=1), 50.0)
    ]


def test_only_what_had_ended_by_a_moment_is_past(run: Run) -> None:
    assert ended_by(run, 99.0) == []
    assert ended_by(run, 100.0) == [FIRST]


def test_a_completed_job_of_the_state_tells_how_long_it_ran() -> None:
    done = VolcanoJob(
        metadata=ObjectMeta(name="old-7", namespace="ml"),
        spec=JobSpec(queue="research", running_estimate="1h", tasks=(TaskSpec(replicas=4),)),
        status=JobStatus(state=JobState(phase="Completed"), running_duration="10m30s"),
    )
    running = replace(done, status=replace(done.status, state=JobState(phase="Running")))

    assert ended_in([done, running]) == [Past(likeness_of("ml/old", queue="research", pods=4), 630.0, 3600.0)]


def test_a_file_without_ended_jobs_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"summary": {}, "jobs": [{"name": "a", "state": "running"}]}), "utf-8")

    with pytest.raises(InputError, match="no job that has ended; expected a saved run, or a workload"):
        read_history(path)


def test_a_broken_number_is_told_with_its_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    save(run, path)
    path.write_text(path.read_text("utf-8").replace("50.0", "soon"), "utf-8")

    with pytest.raises(InputError, match=r'jobs.csv:3: run_seconds: expected a number .*, got text "soon"'):
        read_history(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        read_history(tmp_path / "nowhere.csv")
