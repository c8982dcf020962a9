"""`hekla simulate` as people and scripts use it."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import hekla
from cli import calling
from hekla.cli.main import cli
from hekla.cli.options import SPAN
from hekla.errors import InputError
from hekla.simulation.options import SimulationOptions

WORK = """
nodes: ["2 x cpu=4,memory=8Gi"]
queues: [{name: research}]
jobs:
  - {name: train, arrival: 0, duration: 60, pods: 2, cpu: 4, queue: research, user: ada}
  - {name: eval, arrival: 10, duration: 30, pods: 1, cpu: 1}
  - {name: never, arrival: 10, duration: 30, pods: 1, cpu: 9}
"""
COUNTING = """
from pathlib import Path
from hekla import Plugin

class Counting(Plugin):
    name = "counting"

    def on_open(self) -> None:
        with Path("cycles").open("ab") as file:
            file.write(b".")
"""
COUNTING_CONF = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: counting}, {name: gang}, {name: predicates}]
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
    text = called(work, "--list-jobs").stdout
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


def test_one_of_the_results_failing_late_loses_nothing_that_can_be_printed(work, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise InputError("the disk is full")

    monkeypatch.setattr("hekla.cli.simulate.save", full)
    result = called(work, "--save", tmp_path / "out.json")
    assert isinstance(result.exception, InputError)
    assert "3: 2 completed, 1 waiting" in result.stdout


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--save", "out.txt", "a name ends in .json, .csv or .parquet, or is a folder"),
        ("--save", "nowhere/out.csv", 'there is no folder ".*nowhere"'),
        ("--save", "work.yaml/tables", 'work.yaml" is no folder'),
        ("--report", "nowhere/out.html", 'there is no folder ".*nowhere"'),
        ("--report", ".", "it is a folder"),
    ],
)
def test_a_place_that_takes_no_results_is_told_before_anything_runs(work, option, name, message, monkeypatch):
    monkeypatch.chdir(work.parent)
    monkeypatch.setattr("hekla.simulation.simulate.Simulation.run", lambda *_: pytest.fail("it ran"))
    result = called(work, option, name)
    assert isinstance(result.exception, InputError)
    assert re.search(message, str(result.exception))


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "-5s", "1e15", "999999999999h", "soon", "1d2d"])
@pytest.mark.parametrize("option", ["--period", "--until", "--grace", "--start-seconds"])
def test_a_span_beyond_all_measure_is_a_wrong_call(work, option, value):
    result = called(work, f"{option}={value}")
    assert result.exit_code == 2
    assert f'"{value}" is' in result.stderr


def test_a_cycle_after_no_time_at_all_is_a_wrong_call(work):
    result = called(work, "--period", "0")
    assert result.exit_code == 2
    assert '"0" is too short; expected a span above 0' in result.stderr


@pytest.mark.parametrize(("text", "seconds"), [("7d", 604_800), ("1d12h", 129_600), ("90", 90), ("1m", 60)])
def test_spans_may_be_days(text, seconds):
    assert SPAN.convert(text, None, None) == seconds


def test_an_endless_job_leaves_the_json_json(tmp_path):
    path, saved = tmp_path / "work.yaml", tmp_path / "out.json"
    path.write_text(
        "nodes: [1 x cpu=4]\njobs: [{name: server, duration: forever, cpu: 1}, {name: a, duration: 9}]"
    )
    printed = called(path, "-o", "json", "--save", saved).stdout
    shown = CliRunner().invoke(cli, ["workload", "show", str(path), "-o", "json"]).stdout
    for text in (printed, saved.read_text(), shown):
        json.loads(text, parse_constant=pytest.fail)
    assert [job["runSeconds"] for job in json.loads(printed)["jobs"]] == [None, 9.0]
    assert json.loads(shown)["runSeconds"]["most"] is None


def test_the_seed_makes_up_other_work_unless_that_has_a_seed_of_its_own(tmp_path):
    path = tmp_path / "work.yaml"
    path.write_text("nodes: 4 x cpu=96,memory=1Ti,gpu=8\ngenerate: {jobs: 5, rate: 60}")

    def jobs(*options: object) -> list[float]:
        found = json.loads(called(path, "-o", "json", *options).stdout)
        return [job["runSeconds"] for job in found["jobs"]]

    assert jobs("--seed", 1) != jobs("--seed", 0) == jobs()
    assert jobs("--seed", 1) == jobs("--sample-seed", 1) == jobs("--seed", 2, "--sample-seed", 1)
    run = hekla.simulate(path, seed=1)
    assert jobs("--seed", 1) == [round(each, 3) for each in run.jobs.run_seconds.tolist()]


def test_a_script_may_limit_the_time_and_set_other_options(work):
    def end(until: float, limit: float) -> float:
        return hekla.simulate(work, until=until, options=SimulationOptions(grace_seconds=5, until=limit)).end

    assert (end(20, math.inf), end(math.inf, 20), end(20, 15)) == (20, 20, 15)


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
    done = calling.called("simulate", path)
    assert done.returncode == 1
    assert re.search(message, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("limit", [[], ["--until", "3650d"]], ids=["", "with a limit of time"])
def test_an_interrupted_simulation_tells_what_there_is(tmp_path, limit):
    (tmp_path / "work.yaml").write_text("generate: {jobs: 200000, load: 0.5}")
    (tmp_path / "own.py").write_text(COUNTING)
    (tmp_path / "counting.conf").write_text(COUNTING_CONF)
    command = [sys.executable, "-m", "hekla", "simulate", "work.yaml", "--nodes"]
    command += ["20 x cpu=96,memory=768Gi,gpu=8", *limit, "-o", "json"]
    command += ["--conf", "counting.conf", "--plugin", "own.py:Counting"]
    counted = tmp_path / "cycles"
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        while not counted.exists() or counted.stat().st_size < 100:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    found = json.loads(output)
    assert process.returncode == 130
    assert found["isComplete"] is False
    assert 0 < found["summary"]["completed"] < 200_000
