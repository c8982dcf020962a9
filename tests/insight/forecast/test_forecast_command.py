"""`hekla forecast` as users call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from states import NOW, runs, state

from fakes.http_api import ApiThread
from hekla.cli.main import cli
from hekla.cluster.export import as_data, as_scenario, listed
from hekla.conf import BUILT_IN_DEFAULT
from hekla.errors import InputError
from hekla.testing.builders import node

AT = "2026-01-01T01:00:00Z"

WORKLOAD = """
nodes: 1 x cpu=4,memory=16Gi
jobs: [{name: work, duration: 100s, cpu: 4, count: 12, every: 60s, estimate: 300s}]
"""


def hekla(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["forecast", *map(str, arguments)])


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    objects = state(
        node("n1"),
        runs("a", 100, on="n1"),
        runs("b", 5000),
        runs("c", 30),
        runs("huge", 5, tasks=2),
        has_run=40,
    )
    path = tmp_path / "state.json"
    path.write_bytes(listed(map(as_data, objects)))
    return path


def test_a_table_of_starts(snapshot: Path) -> None:
    done = hekla(snapshot, "--now", AT, "--samples", 3)

    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == "JOB QUEUE WAITED P50 P90 WAITS FOR"
    assert lines[1].startswith("default/b default 60 min in 60 s (01:01) in 60 s (01:01) ")
    assert lines[2].startswith("default/c default 60 min in 84 min (02:24) in 84 min (02:24) ")
    assert lines[3].startswith(
        "default/huge default 60 min never never 2 tasks that start together need 8 cpu"
    )
    assert lines[-1] == "3 samples; run times: 4 stated; clock times are UTC"


def test_what_waits_for_a_person_is_held_and_told_the_reason(tmp_path: Path) -> None:
    gated = runs("gated", 30, gates=["example.com/wait"])
    chooser = runs("chooser", 30, node_selector={"disk": "ssd"})
    path = tmp_path / "state.json"
    path.write_bytes(listed(map(as_data, state(node("n1"), gated, chooser))))

    lines = [" ".join(line.split()) for line in hekla(path, "--now", AT, "--samples", 2).stdout.splitlines()]
    assert lines[1].endswith("held held 1 of 1 pods are held back by example.com/wait")
    assert lines[2].endswith("never never no node has label disk=ssd")

    told = json.loads(hekla(path, "--now", AT, "--samples", 2, "-o", "json").stdout)["jobs"]
    assert [(job["reason"], job["verdict"], job["isPossible"]) for job in told] == [
        ("gate", "held", False),
        ("filters", "never", False),
    ]
    assert told[0]["waitsFor"] == "1 of 1 pods are held back by example.com/wait"


def test_data_for_machines(snapshot: Path) -> None:
    done = hekla(snapshot, "--now", AT, "--samples", 2, "--job", "b", "-o", "json")

    data = json.loads(done.stdout)
    assert data["now"] == AT
    (told,) = data["jobs"]
    assert told["startsInSeconds"] == {"p10": 60.0, "p50": 60.0, "p90": 60.0}
    assert told["startsAt"]["p90"] == "2026-01-01T01:01:00Z"
    assert yaml.safe_load(hekla(snapshot, "--now", AT, "--samples", 2, "-o", "yaml").stdout)["rolls"] == 2


def test_a_scenario_brings_its_configuration(tmp_path: Path) -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50))
    path = tmp_path / "scenario.json"
    path.write_bytes(as_scenario(map(as_data, objects), BUILT_IN_DEFAULT, "s"))

    done = hekla(path, "--now", AT, "-o", "json")

    assert json.loads(done.stdout)["jobs"][0]["startsInSeconds"]["p50"] == 100.0


def test_a_scenario_brings_its_moment_but_the_command_line_goes_first(tmp_path: Path) -> None:
    """Its pod began 40 s before one o'clock, and the scenario is from then."""
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50), has_run=40)
    path = tmp_path / "scenario.json"
    scenario = json.loads(as_scenario(map(as_data, objects), BUILT_IN_DEFAULT, "s"))
    path.write_text(json.dumps({**scenario, "now": NOW}), "utf-8")

    def start(*more: str) -> float:
        told: float = json.loads(hekla(path, "-o", "json", *more).stdout)["jobs"][0]["startsInSeconds"]["p50"]
        return told

    assert start() == 60.0
    assert start("--now", "2026-01-01T01:00:10Z") == 50.0


def test_late_jobs_are_told_with_how_many_rolls_they_missed(tmp_path: Path) -> None:
    objects = state(node("n1"), runs("a", 900, on="n1"), runs("b", 50))
    path = tmp_path / "state.json"
    path.write_bytes(listed(map(as_data, objects)))

    done = hekla(path, "--now", AT, "--horizon", "10m", "--samples", 4)

    assert "after 10 min" in done.stdout
    assert "default/b: in 4 of 4 samples not within 10 min" in done.stdout


def test_run_times_are_learned_from_a_workload(tmp_path: Path) -> None:
    (tmp_path / "workload.yaml").write_text(WORKLOAD, "utf-8")
    (tmp_path / "state.json").write_bytes(
        listed(map(as_data, state(node("n1"), runs("a", on="n1"), runs("b"), runs("c"))))
    )

    done = hekla(
        tmp_path / "state.json",
        "--now",
        AT,
        "--history",
        tmp_path / "workload.yaml",
        "--samples",
        2,
        "-o",
        "json",
    )

    data = json.loads(done.stdout)
    assert data["runTimes"]["learned"] == 3
    assert [told["startsInSeconds"]["p90"] for told in data["jobs"]] == [100.0, 200.0]


def test_calibration_as_a_table_and_as_data(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD, "utf-8")
    call = ("--calibrate", path, "--knowing", "exact", "--moments", 3, "--samples", 2, "--precision", 0)

    told, data = hekla(*call), json.loads(hekla(*call, "-o", "json").stdout)

    assert told.exit_code == 0, told.output
    head = " ".join(told.stdout.splitlines()[0].split())
    assert head == "START AHEAD FORECASTS OPEN NEVER BY P50 BY P90 IN BAND MEAN ERROR BIAS"
    assert told.stdout.splitlines()[-2] == "exact: starts were foreseen to within 1.0 s on average"
    assert data["overall"]["meanError"] == 0.0
    assert data["overall"]["forecasts"] > 3


def test_a_live_cluster_is_read_with_the_jobs_in_it(tmp_path: Path) -> None:
    with ApiThread(*state(node("n1"), runs("a", 1e6, on="n1"), runs("b", 50))) as server:
        done = hekla(
            "--from-cluster", "--kubeconfig", server.kubeconfig(tmp_path), "--now", AT, "--samples", 1,
            "--horizon", "400h", "-o", "json",
        )  # fmt: skip

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["jobs"][0]["startsInSeconds"]["p50"] == 1e6


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ((), "give FILES, or --from-cluster"),
        (("state.json", "--calibrate", "w.yaml"), "--calibrate WORKLOAD takes neither FILES nor"),
        (("--calibrate", "w.yaml", "--job", "x"), "--job has no meaning with --calibrate"),
        (("--calibrate", "w.yaml", "--now", AT), "--now has no meaning with --calibrate"),
        (
            ("--calibrate", "w.yaml", "--history", "h.yaml", "--knowing", "exact"),
            "--history needs --knowing history",
        ),
        (("--samples", "0", "x"), "0 is not in the range"),
    ],
)
def test_wrong_calls_are_told(call: tuple[str, ...], said: str) -> None:
    done = hekla(*call)

    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--now", "noon"), '--now: "noon" is no moment; write it like "2026-01-31T12:00:00Z"'),
        (("--now", "9999-12-31T00:00:00Z"), "now: expected a moment from 1970 to 2200"),
        (("--job", "x"), 'no job "x" waits; jobs that do: default/b, default/c, default/huge'),
        (("--arrivals", "-1"), '--arrivals: expected jobs per hour from 0 on, or a workload, got "-1"'),
        (("--history", "nowhere.json"), 'cannot read "nowhere.json"'),
    ],
)
def test_unusable_input_is_told(snapshot: Path, more: tuple[str, ...], said: str) -> None:
    done = hekla(snapshot, "--samples", 1, *more)

    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)


def test_a_file_that_is_not_there_is_told() -> None:
    assert 'no file or folder "nowhere.yaml"' in str(hekla("nowhere.yaml").exception)


def test_samples_may_still_be_called_rolls(snapshot: Path) -> None:
    done = hekla(snapshot, "--now", AT, "--rolls", 2, "-o", "json")
    assert json.loads(done.stdout)["rolls"] == 2
    assert done.stderr == "warning: --rolls is now --samples\n"
