"""Files that hekla wrote before its packages moved are read, and decided as they were then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.calling import called
from hekla.insight.forecast.history import read_history

BEFORE = Path(__file__).parent / "before"
DECIDED = json.loads((BEFORE / "decided.json").read_text("utf-8"))
"""File to what was decided of it."""


def answer(*arguments: object) -> dict[str, object]:
    told = called(*arguments, "-o", "json")
    assert told.returncode == 0, told.stderr
    answered: dict[str, object] = json.loads(told.stdout)
    return answered


def test_every_cycle_of_a_recording_is_decided_again_as_it_was() -> None:
    cycles = answer("replay", BEFORE / "recording.gz")["cycles"]

    assert isinstance(cycles, list)
    assert [cycle["identical"] for cycle in cycles] == [True] * 14
    assert (sum(cycle["bound"] for cycle in cycles), sum(cycle["evicted"] for cycle in cycles)) == (8, 2)


@pytest.mark.parametrize("name", DECIDED)
def test_a_snapshot_or_scenario_is_decided_as_it_was(name: str) -> None:
    decided = answer("decide", BEFORE / name)

    assert {part: decided[part] for part in DECIDED[name]} == DECIDED[name]


def test_a_workload_is_simulated_as_it_was() -> None:
    known = json.loads((BEFORE / "run.json").read_text("utf-8"))["jobs"]
    jobs = answer("simulate", BEFORE / "workload.yaml", "--jobs")["jobs"]

    assert isinstance(jobs, list)
    assert [(job["name"], job["started"], job["finished"]) for job in jobs] == [
        (job["name"], job["started"], job["finished"]) for job in known
    ]


@pytest.mark.parametrize("name", ["run.json", "run"])
def test_the_jobs_of_a_saved_run_are_learned_from(name: str) -> None:
    past = read_history(BEFORE / name)

    assert [job.run_seconds for job in past] == [2504.579, 393.591, 1890.029, 879.827, 5303.36, 3925.604]
    assert [job.likeness.queue for job in past] == ["research", "production", *["research"] * 3, "production"]
    assert answer("forecast", BEFORE / "manifests.json", "--history", BEFORE / name)["jobs"]


def test_a_plugin_is_refused_with_the_module_it_has_to_import() -> None:
    told = called("decide", BEFORE / "scenario.json", "--plugin", f"{BEFORE / 'neighbours.py'}:Neighbours")

    assert told.returncode == 1
    assert "hekla.framework has moved to hekla.engine.framework" in told.stderr
    assert "plugins and actions import what they need from hekla.plugin" in told.stderr
