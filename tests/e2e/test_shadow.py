"""A shadow beside another scheduler, on a real API server; the test itself is the other scheduler."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness import Cluster, ControlPlane, wait_until
from harness.manifests import node, pod, pod_group, queue
from looking import command, let_read

PACKING = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: binpack}]
"""
SPREADING = PACKING.replace("binpack", "nodeorder")
EVICTION = [
    {"type": "Ready", "status": "False", "reason": "Evict", "message": 'evicted because of "preempt"'},
    {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempt"},
]


@pytest.fixture(autouse=True, scope="module")
def _reader(plane: ControlPlane) -> None:
    let_read(plane)


class Shadow:
    """`hekla shadow` in a process of its own; what it says is read from files."""

    def __init__(self, plane: ControlPlane, folder: Path, *options: str) -> None:
        self._out, self._err = folder / "out", folder / "err"
        self.report = folder / "report.json"
        arguments = ["shadow", "--log-format", "json", "--period", "200ms", "--report", str(self.report)]
        with self._out.open("w") as out, self._err.open("w") as err:
            self._process = subprocess.Popen(command(plane, *arguments, *options), stdout=out, stderr=err)

    @property
    def differences(self) -> list[dict[str, Any]]:
        lines = self._out.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def wait_for(self, kind: str, pod: str) -> dict[str, Any]:
        return (
            wait_until(
                lambda: next((d for d in self.differences if (d["kind"], d["pod"]) == (kind, pod)), None),
                what=f"{kind} of {pod}; so far {self.differences}; {self._err.read_text()}",
            )
            or {}
        )

    def is_in_sync(self) -> bool:
        assert self._process.poll() is None, self._err.read_text()
        return "in sync" in self._err.read_text()

    def interrupt(self) -> dict[str, Any]:
        """Ctrl-C; the report that it leaves."""
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(30) == 0, self._err.read_text()
        found: dict[str, Any] = json.loads(self.report.read_text())
        return found

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)


@contextmanager
def shadow(plane: ControlPlane, folder: Path, **confs: str) -> Iterator[Shadow]:
    options = []
    for name, text in confs.items():
        file = folder / f"{name}.conf"
        file.write_text(text)
        options += [f"--{name}", str(file)]
    running = Shadow(plane, folder, *options)
    try:
        wait_until(running.is_in_sync, what="the shadow to be in sync")
        yield running
    finally:
        running.kill()


def test_deeds_are_judged_under_both_configurations(cluster: Cluster, tmp_path: Path) -> None:
    cluster.kubelet.add_nodes(node("n1", cpu=4), node("n2", cpu=4))
    api = cluster.api
    api.create(queue("default"), pod_group("base", 1), pod_group("one", 1))
    (base,) = api.create(pod("base-0", group="base", cpu=2))
    api.bind(base, "n1")
    cluster.wait_for_phases(base_0="Running")
    with shadow(cluster.plane, tmp_path, conf=PACKING, candidate=SPREADING) as beside:
        (one,) = api.create(pod("one-0", group="one", cpu=1))
        api.bind(one, "n2")
        told = beside.wait_for("other node", "default/one-0")
        assert (told["configuration"], told["node"], told["ownNode"]) == ("current", "n2", "n1")
        assert told["reason"].startswith("n2 scores ")
        report = beside.interrupt()
    counts = {candidate["configuration"]: candidate for candidate in report["configurations"]}
    assert (counts["current"]["seen"], counts["current"]["agreed"]) == (1, 0)
    assert (counts["candidate"]["seen"], counts["candidate"]["agreed"]) == (1, 1)
    assert report["disagreements"] == 1


def test_what_waits_in_vain_and_what_is_evicted(cluster: Cluster, tmp_path: Path) -> None:
    cluster.kubelet.add_nodes(node("n1", cpu=2))
    api = cluster.api
    api.create(queue("default"), pod_group("low", 1), pod_group("gang", 2), pod_group("late", 1))
    (low,) = api.create(pod("low-0", group="low", cpu=1))
    api.bind(low, "n1")
    cluster.wait_for_phases(low_0="Running")
    with shadow(cluster.plane, tmp_path, conf=PACKING) as beside:
        first, _ = api.create(pod("gang-0", group="gang", cpu=1), pod("gang-1", group="gang", cpu=1))
        api.bind(first, "n1")
        told = beside.wait_for("would wait", "default/gang-0")
        assert "room for 1 of the 2 tasks that start together" in told["reason"]
        api.patch(low, {"status": {"conditions": EVICTION}}, "status")
        api.delete(low)
        kept = beside.wait_for("would not evict", "default/low-0")
        assert kept["reason"] == 'evicted because of "preempt"'
        assert beside.wait_for("would start", "default/gang-1")["ownNode"] == "n1"
        report = beside.interrupt()
    (candidate,) = report["configurations"]
    assert (candidate["binds"], candidate["evictions"], candidate["agreed"]) == (1, 1, 0)
    assert candidate["waitingThatWouldRun"] == 1
    assert not cluster.pods()["gang-1"]["spec"].get("nodeName"), "it binds nothing"
