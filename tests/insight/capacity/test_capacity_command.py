"""`hekla capacity` as users and scripts meet it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from cli.calling import Told, called
from hekla.cli.interrupt import INTERRUPTED

DAY = """
nodes: 4 x cpu=8
queues: [{name: notebooks}, {name: training, capability: {cpu: 16}}]
jobs:
- {name: note, queue: notebooks, every: 100s, count: 20, duration: 16m, cpu: 1}
- {name: train, queue: training, arrival: 5m, every: 2m, count: 10, duration: 9m, cpu: 8}
"""
MADE_UP = """
generate:
  jobs: 60
  rate: 60
  daily: 0
  durations: {kind: exponential, mean: 4m, shortest: 0}
  sizes: {1: 1}
  pods: [{cpu: 1}]
  queues: [{name: default, users: 0}]
  priorities: []
"""
SVG = "{http://www.w3.org/2000/svg}"
NODES = ("--nodes", "2..16 x cpu=8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "day.yaml").write_text(DAY)
    (tmp_path / "made-up.yaml").write_text(MADE_UP)
    return tmp_path


def hekla(folder: Path, *arguments: str, stdin: str = "") -> Told:
    return called("capacity", *arguments, "--processes", "1", stdin=stdin, folder=folder)


def data(folder: Path, *arguments: str) -> Any:
    return json.loads(hekla(folder, *arguments, "-o", "json").stdout)


def test_the_answer_comes_first_then_how_sure_it_is_then_every_size(folder: Path) -> None:
    told = hekla(folder, "day.yaml", *NODES, "--goal", "wait.longest < 1m", "--queue", "notebooks")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines()[:5] == [
        "3 nodes are enough for notebooks: wait.longest < 1m (24 cpu in all)",
        "one run of each size with the jobs as they are; too few jobs for intervals: the",
        "answer is about these jobs alone",
        "",
        "NODES  NOTEBOOKS: WAIT.LONGEST  CPU USED",
    ]
    assert all(len(line) <= 80 for line in told.stdout.splitlines())
    rows = [line.split() for line in told.stdout.splitlines()[5:]]
    assert [(row[0], row[4]) for row in rows[:2]] == [("2", "missed"), ("3", "met")]


def test_several_goals_stand_side_by_side_with_intervals_over_seeds(folder: Path) -> None:
    goals = ("--goal", "wait.mean < 60s", "--goal", "slowdown.mean < 2")
    told = hekla(folder, "made-up.yaml", "--nodes", "cpu=1 x 2..12", *goals, "--seeds", "2")
    lines = told.stdout.splitlines()
    assert "nodes are enough for wait.mean < 60s and slowdown.mean < 2" in lines[0]
    assert "the smallest size" in lines[1]
    assert "2 seeds, each with other jobs; the first 10 % of each run is left out" in told.stdout
    assert "NODES  WAIT.MEAN" in told.stdout
    assert "SLOWDOWN.MEAN" in told.stdout
    assert all(len(line) <= 80 for line in lines)


def test_machines_get_all_of_it(folder: Path) -> None:
    found = data(folder, "day.yaml", *NODES, "--goal", "wait.p50 < 1m", "--goal", "training: wait.p50 < 10h")
    assert found["smallest"] == 3
    assert found["what"] == "number of nodes"
    assert found["isComplete"]
    assert found["isMet"]
    sizes = {size["size"]: size for size in found["sizes"]}
    assert [goal["goal"] for goal in sizes[3]["goals"]] == ["wait.p50 < 1m", "training: wait.p50 < 10h"]
    assert sizes[3]["utilisation"]["cpu"] > sizes[16]["utilisation"]["cpu"]
    text = hekla(folder, "day.yaml", *NODES, "--goal", "wait.p50 < 1m", "-o", "yaml").stdout
    assert yaml.safe_load(text)["smallest"] == 3


def test_a_quota_that_is_too_small_is_named_and_the_exit_code_says_so(folder: Path) -> None:
    told = hekla(folder, "day.yaml", *NODES, "--goal", "training: wait.p95 < 2m")
    assert told.returncode == 4
    assert told.stdout.startswith(
        "no number of nodes helps: queue training's capability (cpu=16) holds it back;\n"
    )
    asked = ("--quota", "training capability cpu=8..96/8", "--nodes", "12 x cpu=8")
    found = data(folder, "day.yaml", *asked, "--goal", "training: wait.p95 < 2m")
    assert found["smallest"] == 40
    assert found["what"] == "capability of queue training"


def test_with_a_quota_the_nodes_of_the_workload_are_taken(folder: Path) -> None:
    found = data(folder, "day.yaml", "--quota", "notebooks weight 1..4", "--goal", "wait.p95 < 10h")
    assert found["smallest"] == 1


def test_the_curve_is_a_picture_or_a_page(folder: Path) -> None:
    told = hekla(
        folder, "day.yaml", *NODES, "--goal", "wait.p95 < 30m", "--goal", "utilisation.cpu > 1%",
        "--plot", "curve.svg", "--plot", "curve.html",
    )  # fmt: skip
    assert told.stderr == "wrote curve.svg\nwrote curve.html\n"
    picture = ET.fromstring((folder / "curve.svg").read_text())
    titles = [each.text for each in picture.iter(f"{SVG}text") if each.get("class") == "title"]
    assert titles == ["wait.p95 < 30m", "utilisation.cpu > 1%"]
    marks = list(picture.iter(f"{SVG}circle"))
    assert len(marks) == 2 * len(data(folder, "day.yaml", *NODES, "--goal", "wait.p95 < 30m")["sizes"])
    page = (folder / "curve.html").read_text()
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


BAD = [
    ((), 2, "say what to look for: a number of nodes"),
    (("--nodes", "4 x cpu=8"), 2, "say what to look for"),
    ((*NODES, "--quota", "training weight 1..3"), 2, "one number is looked for at a time"),
    (("--nodes", "8..2 x cpu=8"), 1, "expected a range from 1 or more upwards"),
    (("--quota", "trainin weight 1..3"), 1, 'column 1: no queue "trainin"; did you mean "training"?'),
    ((*NODES, "--goal", "wait.p95"), 1, 'goal "wait.p95", column 9: expected "<"'),
    ((*NODES, "--goal", "wat.p95 < 3"), 1, 'did you mean "wait"?'),
    ((*NODES, "--queue", "notebook"), 1, 'no queue "notebook"; did you mean "notebooks"?'),
    ((*NODES, "--warm-up", "110%"), 2, '"110%" is no share; write it like "10%"'),
    ((*NODES, "--plot", "curve.png"), 1, "a name ends in .svg or .html"),
    ((*NODES, "--plot", "none/curve.svg"), 1, 'there is no folder "none"'),
    ((*NODES, "--resample", "1d", "--jitter", "1m"), 2, "give either --resample or --jitter"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), BAD, ids=[said for _, _, said in BAD])
def test_what_is_wrong_is_told_in_one_line(
    folder: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    told = hekla(folder, "day.yaml", *arguments, "--goal", "wait.mean < 1h")
    assert told.returncode == code
    assert said in told.stderr.replace("\n", " ")
    assert "Traceback" not in told.stderr


def test_a_mistake_in_the_workload_names_file_line_and_path(folder: Path) -> None:
    (folder / "wrong.yaml").write_text("queues: [a]\njobs:\n- {name: x, duration: 1h, queue: b}\n")
    told = hekla(folder, "wrong.yaml", *NODES, "--goal", "wait.mean < 1h")
    assert (told.returncode, told.stdout) == (1, "")
    assert 'error: wrong.yaml:3: jobs[0].queue: no queue "b"' in told.stderr


def test_the_workload_may_come_from_standard_input(folder: Path) -> None:
    told = hekla(folder, "-", *NODES, "--goal", "wait.p95 < 10h", "--format", "hekla", stdin=DAY)
    assert told.returncode == 0
    assert told.stdout.startswith("2 nodes, the least that was to be tried, are enough for wait.p95 < 10h")


def test_another_part_of_a_trace_is_drawn_with_every_seed(folder: Path) -> None:
    asked = ("--goal", "wait.p95 < 10h", "--resample", "10m", "--seeds", "2")
    told = hekla(folder, "day.yaml", *NODES, *asked)
    assert "2 seeds, each of blocks of 10 min of the workload drawn anew" in told.stdout


@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c_tells_what_is_known_so_far(folder: Path, processes: str) -> None:
    (folder / "long.yaml").write_text(MADE_UP.replace("jobs: 60", "jobs: 100000"))
    words = ("capacity", "long.yaml", "--nodes", "2..12 x cpu=1", "--goal", "wait.mean < 60s")
    command = [sys.executable, "-c", STARTED, *words, "--processes", processes]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    process.send_signal(signal.SIGINT)
    told, complaints = process.communicate(timeout=120)
    assert process.returncode == INTERRUPTED
    assert " ".join(told.split()) == (
        "stopped before the smallest size was found: no size has been tried with all seeds"
    )
    assert complaints == ""


STARTED = """
import hekla.insight.capacity.capacity as under_way
from hekla.insight.capacity.capacity import SizeProgress

told = []
plain = SizeProgress.__call__

def telling(self, number, progress):
    if not told:
        told.append(True)
        print("runs", flush=True)
    plain(self, number, progress)

if __name__ == "__main__":
    SizeProgress.__call__ = telling
    from hekla.cli.main import main
    main()
"""
