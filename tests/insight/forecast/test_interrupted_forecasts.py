"""Forecasts that are interrupted: the samples so far are told, and no process is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from states import CONF, NOW, runs, state

from cli.calling import called
from hekla.cluster.export import as_data, listed
from hekla.insight.forecast import Sampling, forecast
from hekla.insight.forecast.calibration import calibrate
from hekla.insight.forecast.samples import sample
from hekla.simulation.cluster import SimulatedCluster
from hekla.simulation.workloads import read_workload
from hekla.testing.builders import node

LATE = """
import hekla.insight.forecast.samples as samples
samples.WORTH_PROCESSES = 0.0
from hekla.cli.main import main
sample = samples.sample
def counted(*given):
    found = sample(*given)
    with open("rolled", "a") as file:
        file.write(".")
    return found
samples.sample = counted
if __name__ == "__main__":
    main()
"""
"""The command, with samples in processes however few there are; a file tells how many are done."""


def interrupted_at(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Ctrl-C as soon as so much time has passed in a simulation."""
    now = SimulatedCluster.now.fget  # type: ignore[attr-defined]

    def or_interrupt(cluster: SimulatedCluster) -> float:
        at: float = now(cluster)
        if at >= seconds:
            raise KeyboardInterrupt
        return at

    monkeypatch.setattr(SimulatedCluster, "now", property(or_interrupt))


def test_an_interrupted_roll_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """c would start after 150 s: interrupted before, it must not seem to start never."""
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50), runs("c", 30))
    interrupted_at(monkeypatch, 100.0)

    with pytest.raises(KeyboardInterrupt):
        forecast(objects, CONF, now=NOW, sampling=Sampling(rolls=2))


@pytest.mark.parametrize("processes", [1, 2])
def test_an_interrupted_forecast_is_that_of_the_samples_so_far(processes: int) -> None:
    objects = state(node("n1"), runs("a", on="n1"), *(runs(f"b-{number}") for number in range(4)))

    def after_eight(done: int) -> None:
        if done == 8:
            raise KeyboardInterrupt

    sampling = Sampling(rolls=30, processes=processes, worth_processes=0.0)
    found = forecast(objects, CONF, now=NOW, sampling=sampling, on_sample=after_eight)
    fewer = forecast(objects, CONF, now=NOW, sampling=replace(sampling, rolls=found.rolls, processes=1))

    assert not found.is_complete
    assert fewer.is_complete
    assert found.starts == fewer.starts
    assert found.rolls == 8 if processes == 1 else 1 <= found.rolls <= 8


def test_an_interrupted_calibration_tells_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        "nodes: 1 x cpu=4\njobs: [{name: a, duration: 100s, cpu: 4, count: 5, every: 1s}]", "utf-8"
    )
    workload = read_workload(path)
    interrupted_at(monkeypatch, 300.0)

    with pytest.raises(KeyboardInterrupt):
        calibrate(workload, CONF, moments=2, sampling=Sampling(rolls=1))


def test_the_command_tells_what_the_samples_so_far_say_and_ends_with_130(tmp_path: Path) -> None:
    started = begun(tmp_path, "--processes", "1")
    wait_for_rolls(tmp_path)
    os.killpg(started.pid, signal.SIGINT)
    output, errors = started.communicate(timeout=60)
    found = json.loads(output)

    assert started.returncode == 130
    assert found["isComplete"] is False
    assert 9 <= found["rolls"] < 3000
    assert len(found["jobs"]) == 8
    assert "Traceback" not in errors


def test_people_are_told_how_many_samples_there_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    objects = state(node("n1"), runs("a", on="n1"), runs("b"))
    file = tmp_path / "state.json"
    file.write_bytes(listed(map(as_data, objects)))
    samples_taken: list[int] = []

    def third_interrupted(*given: Any) -> Any:
        samples_taken.append(given[1])
        if len(samples_taken) == 3:
            raise KeyboardInterrupt
        return sample(*given)

    monkeypatch.setattr("hekla.insight.forecast.samples.sample", third_interrupted)
    told = called("forecast", file, "--samples", 30)

    assert told.returncode == 130
    assert told.stdout.startswith("not complete: what 2 samples had told when it was stopped\n")
    assert "\n2 samples; run times:" in told.stdout


def test_interrupted_before_the_first_sample_there_is_nothing_to_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "state.json"
    file.write_bytes(listed(map(as_data, state(node("n1"), runs("a", on="n1"), runs("b")))))
    interrupted_at(monkeypatch, 0.0)
    told = called("forecast", file)

    assert (told.returncode, told.stdout, told.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_workers_end_with_the_command_however_that_ends(
    tmp_path: Path, sign: signal.Signals, code: int
) -> None:
    started = begun(tmp_path, "--processes", "2")
    wait_for_rolls(tmp_path)
    assert len(members(started.pid)) == 4  # with the command, and the tracker of what they share
    # Ctrl-C goes to all of them, other signals to the one that was started.
    (os.killpg if sign == signal.SIGINT else os.kill)(started.pid, sign)
    _, errors = started.communicate(timeout=60)  # ends when the last process has closed its output

    assert started.returncode == code
    assert "Traceback" not in errors
    if sign != signal.SIGKILL:  # after that, what they shared is cleaned up by its tracker, which says so
        assert "leaked" not in errors
    wait_until(lambda: members(started.pid) == [], "a process is left")


def begun(folder: Path, *more: str) -> subprocess.Popen[str]:
    """A forecast that takes very long: a job of random length after the other, in a session of its own."""
    objects = state(node("n1"), runs("a", on="n1"), *(runs(f"b-{number}") for number in range(8)))
    (folder / "state.json").write_bytes(listed(map(as_data, objects)))
    (folder / "late.py").write_text(LATE, "utf-8")
    return subprocess.Popen(
        [sys.executable, "late.py", "forecast", "state.json", "--samples", "3000", "-o", "json", *more],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True,
    )  # fmt: skip


def wait_for_rolls(folder: Path) -> None:
    """Until ten samples are done: all but the first in workers, where there are any."""
    rolled = folder / "rolled"
    wait_until(lambda: rolled.exists() and rolled.stat().st_size >= 10, "no samples are taken")


def wait_until(is_so: Callable[[], bool], otherwise: str) -> None:
    for _ in range(3_000):
        if is_so():
            return
        time.sleep(0.02)
    pytest.fail(otherwise)


def members(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text("utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z" and int(fields[3]) == session:
                found.append(int(entry.name))
    return found
