"""Ctrl-C: what there is so far is told, and the exit code is 130."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from cli.calling import called as hekla
from hekla.cli.embedded_run import START
from hekla.cli.interrupt import INTERRUPTED, interruptible
from hekla.clock import VirtualClock
from hekla.insight.plan import search

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 2, pods: 10}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: short}
spec:
  schedulerName: volcano
  minAvailable: 1
  tasks:
  - name: worker
    replicas: 1
    template:
      metadata: {annotations: {hekla.dev/run-seconds: "5"}}
      spec: {containers: [{name: main, resources: {requests: {cpu: 2}}}]}
"""
LONG = CLUSTER + "---" + CLUSTER.partition("---")[2].replace("short", "long").replace('"5"', '"500"')


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(LONG)
    return file


def interrupted_after(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Ctrl-C as soon as virtual time is to go beyond so many seconds."""
    sleep = VirtualClock.sleep

    def or_interrupt(clock: VirtualClock, length: float) -> None:
        if clock.now() + length > START + seconds:
            raise KeyboardInterrupt
        sleep(clock, length)

    monkeypatch.setattr(VirtualClock, "sleep", or_interrupt)


def test_run_tells_its_summary_and_ends_with_130(monkeypatch: pytest.MonkeyPatch, cluster: Path) -> None:
    interrupted_after(monkeypatch, 100.0)
    told = hekla("run", cluster)
    lines = told.stdout.splitlines()

    assert told.returncode == INTERRUPTED == 130
    assert "not complete: what happened up to the moment at which it was stopped" in lines
    states = [line.split()[:3] for line in lines if line.startswith("default/")]
    assert ["default/short", "default", "Completed"] in states
    assert ["default/long", "default", "Running"] in states
    assert any("decisions: enqueue 2, allocate 2" in line for line in lines)


def test_run_writes_its_report_and_its_recording_as_far_as_they_go(
    monkeypatch: pytest.MonkeyPatch, cluster: Path, tmp_path: Path
) -> None:
    interrupted_after(monkeypatch, 100.0)
    report, recording = tmp_path / "run.html", tmp_path / "run.hekla"
    told = hekla("run", cluster, "--report", report, "--record", recording, "-o", "json")
    monkeypatch.undo()

    assert told.returncode == 130
    data = json.loads(told.stdout)
    assert data["isInterrupted"] is True
    assert "This run was interrupted" in report.read_text("utf-8")
    replayed = hekla("replay", recording, "-o", "json")
    assert replayed.returncode == 0
    assert len(json.loads(replayed.stdout)["cycles"]) == data["cycles"]


def test_a_run_that_nothing_interrupts_says_so_too(cluster: Path) -> None:
    told = hekla("run", cluster, "-o", "json")
    assert told.returncode == 0
    assert json.loads(told.stdout)["isInterrupted"] is False


def test_the_demo_ends_in_the_same_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    interrupted_after(monkeypatch, 30.0)
    told = hekla("demo", folder=tmp_path)

    assert told.returncode == 130
    assert "what each action did" in told.stdout
    assert "as far as it came, as a page, to open in a browser: hekla-demo.html" in told.stdout
    assert "what to try next" not in told.stdout
    assert (tmp_path / "hekla-demo.html").exists()


def test_what_has_nothing_to_tell_yet_ends_in_one_line(
    monkeypatch: pytest.MonkeyPatch, cluster: Path
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hekla.cli.decide.run_cycle", interrupt)
    monkeypatch.setattr("hekla.scheduler.loop.run_cycle", interrupt)
    told = hekla("decide", cluster)
    assert (told.returncode, told.stdout, told.stderr) == (130, "", "interrupted\n")


PENDING = CLUSTER.partition("---")[2].replace("short", "wide").replace("replicas: 1", "replicas: 8")


def test_plan_tells_what_its_search_has_found(
    monkeypatch: pytest.MonkeyPatch, cluster: Path, tmp_path: Path
) -> None:
    """The search of changes ends at the next one."""
    job = tmp_path / "job.yaml"
    job.write_text(PENDING.replace("minAvailable: 1", "minAvailable: 8"))
    in_full = json.loads(hekla("plan", job, "--state", cluster, "-o", "json").stdout)[0]
    interrupted_at_try(monkeypatch, in_full["tries"] - 1)
    told = hekla("plan", job, "--state", cluster)

    assert told.returncode == 130
    assert f"the search stopped after {in_full['tries'] - 1} tries" in told.stdout


def interrupted_at_try(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    tried: list[object] = []
    try_out = search.try_out

    def or_interrupt(*given: object, **more: object) -> object:
        tried.append(given)
        if len(tried) == number:
            signal.raise_signal(signal.SIGINT)
        return try_out(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "try_out", or_interrupt)


def test_the_second_ctrl_c_ends_everything_at_once() -> None:
    with interruptible() as is_stopped:
        signal.raise_signal(signal.SIGINT)
        assert is_stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
