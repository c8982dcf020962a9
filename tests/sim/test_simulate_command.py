"""`hekla simulate` as people and scripts use it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hekla.cli.main import cli

WORK = """
nodes: ["2 x cpu=4,memory=8Gi"]
queues: [{name: research}]
jobs:
  - {name: train, arrival: 0, duration: 60, pods: 2, cpu: 4, queue: research, user: ada}
  - {name: eval, arrival: 10, duration: 30, pods: 1, cpu: 1}
  - {name: never, arrival: 10, duration: 30, pods: 1, cpu: 9}
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work.yaml"
    path.write_text(WORK)
    return path


def called(*words: object) -> Result:
    return CliRunner().invoke(cli, ["simulate", *map(str, words)])


def test_the_json_has_a_summary_and_every_job(work):
    found = json.loads(called(work, "--preset", "basic", "-o", "json").stdout)
    jobs = {job["name"]: job for job in found["jobs"]}
    assert {
        name: jobs["train"][name] for name in ("queue", "submitted", "started", "finished", "evictions")
    } == {
        "queue": "research",
        "submitted": 0.0,
        "started": 0.0,
        "finished": 60.0,
        "evictions": 0,
    }
    assert (jobs["eval"]["started"], jobs["never"]["started"], jobs["never"]["finished"]) == (
        60.0,
        None,
        None,
    )
    assert found["summary"]["completed"] == 2


def test_the_same_command_twice_prints_the_same_bytes(work):
    assert called(work, "-o", "json").stdout_bytes == called(work, "-o", "json").stdout_bytes


def test_the_table_tells_what_became_of_the_jobs(work):
    text = called(work, "--jobs").stdout
    assert "3: 2 completed, 1 waiting" in text
    assert re.search(r"default/train +research +Completed +2 +0.0s +0.0s +60.0s +0", text)
    assert max(map(len, text.splitlines())) <= 100


def test_nodes_of_the_command_line_take_the_place_of_those_in_the_workload(work):
    found = json.loads(called(work, "--nodes", "1 x name=big,cpu=16,memory=64Gi", "-o", "json").stdout)
    assert found["summary"]["completed"] == 3


def test_without_any_nodes_some_are_taken_and_that_is_told(tmp_path):
    path = tmp_path / "work.yaml"
    path.write_text("jobs: [{name: a, arrival: 0, duration: 1, pods: 1, cpu: 1}]")
    result = called(path)
    assert 'no nodes are named; "10 x cpu=32,memory=128Gi" is taken' in result.stderr
    assert result.exit_code == 0


def test_results_are_written_where_they_are_wanted(work, tmp_path):
    files = [tmp_path / name for name in ("out.json", "out.csv", "out.parquet", "tables")]
    report = tmp_path / "out.html"
    result = called(work, *(word for file in files for word in ("--save", file)), "--report", report)
    assert result.exit_code == 0, result.output
    assert json.loads(files[0].read_text())["jobs"][0]["name"] == "train"
    assert files[1].read_text().splitlines()[1].startswith("train,default,research,ada")
    assert files[2].read_bytes()[:4] == b"PAR1"
    assert {path.name for path in files[3].iterdir()} >= {"jobs.csv", "stints.csv", "series.csv"}
    assert "<html" in report.read_text()


def test_a_limit_of_time_is_no_failure(work):
    result = called(work, "--until", "20", "-o", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["isComplete"] is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobs: [{name: a, arrival: -1, duration: 1, pods: 1}]", "work.yaml:1"),
        (
            "jobs:\n- {name: a, arrival: 0, duration: 1, pods: 1, queue: nowhere}",
            'work.yaml:2: .*no queue "nowhere"',
        ),
        ("jobs: [", "work.yaml:2: not YAML"),
    ],
)
def test_a_bad_workload_is_one_clear_error(tmp_path, text, message):
    path = tmp_path / "work.yaml"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "hekla", "simulate", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert re.search(message, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_interrupted_simulation_tells_what_there_is(tmp_path):
    path = tmp_path / "work.yaml"
    path.write_text("generate: {jobs: 200000, load: 0.5}")
    command = [
        sys.executable,
        "-m",
        "hekla",
        "simulate",
        str(path),
        "--nodes",
        "20 x cpu=96,memory=768Gi,gpu=8",
    ]
    with subprocess.Popen([*command, "-o", "json"], stdout=subprocess.PIPE, env=os.environ) as process:
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    found = json.loads(output)
    assert process.returncode == 130
    assert found["isComplete"] is False
    assert 0 < found["summary"]["completed"] < 200_000
