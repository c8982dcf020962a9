"""JSON lines: short jobs one by one, behind a line that says what is there at the start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from traces import arrivals, most_held, told

from hekla.objects import Node, Queue
from hekla.simulation.workloads import Workload, read_workload

HEAD = {
    "name": "week",
    "queues": [{"name": "lab", "weight": 2}],
    "nodes": ["2 x cpu=8"],
    "priorityClasses": {"p": 1},
}


def written(tmp_path: Path, *lines: object) -> Path:
    file = tmp_path / "work.jsonl"
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return file


def read(tmp_path: Path, *lines: object, **options: object) -> Workload:
    return read_workload(written(tmp_path, *lines), **options)


def test_a_head_and_jobs_in_any_order(tmp_path: Path) -> None:
    work = read(
        tmp_path,
        HEAD,
        {"name": "b", "arrival": 20, "duration": 5, "queue": "lab", "priorityClass": "p"},
        "",
        {"name": "a", "arrival": "10s", "duration": 5, "cpu": 1, "after": "b"},
    )
    assert (arrivals(work), work.name, work.count) == ([("a", 10), ("b", 20)], "week", 2)
    assert [type(each) for each in work.objects] == [Queue, type(work.objects[1]), Node, Node]
    assert next(work.jobs()).after == "default/b"


def test_a_file_without_a_head(tmp_path: Path) -> None:
    work = read(tmp_path, {"name": "a", "duration": 5}, {"name": "b", "duration": 5})
    assert (arrivals(work), work.name) == ([("a", 0), ("b", 0)], "work")


MISTAKES = {
    '{"name": "b", "durtion": 5}': "work.jsonl:3: a line that is no job: durtion: no such key; "
    'did you mean "duration"?',
    '{"name": "b", "duration": 5, "queue": "x"}': 'work.jsonl:3: a line that is no job: queue: no queue "x"; '
    "known: default, lab, root",
    '{"name": "b", "dura': "work.jsonl:3: a line that is no job: not JSON: Input data was truncated",
    '{"name": "b", "duration": 5, "arrival": -1}': "work.jsonl:3: a line that is no job: arrival: "
    "number -1 is negative; spans of time start at 0",
    '{"name": "a", "duration": 5}': 'work.jsonl:3: two jobs are called "default/a"',
    '{"name": "b", "duration": 5, "after": "z"}': 'work.jsonl:3: after: no job "default/z"',
    '{"name": "b", "duration": 5, "count": 5, "every": 1}': "work.jsonl:3: a line that is no job: count: "
    "one line is one job; write repeated jobs in YAML",
}


def test_jobs_that_wait_for_each_other_in_a_circle_are_told(tmp_path: Path) -> None:
    circle = [{"name": name, "duration": 5, "after": after} for name, after in ("ab", "bc", "cb")]
    assert told(written(tmp_path, *circle)) == (
        'work.jsonl:2: after: the job waits for itself by way of "default/c"'
    )
    alone = {"name": "a", "duration": 5, "after": "a"}
    assert told(written(tmp_path, alone)) == (
        'work.jsonl:1: after: the job waits for itself by way of "default/a"'
    )


def test_a_long_chain_of_jobs_is_no_circle_and_soon_looked_through(tmp_path: Path) -> None:
    chain = ({"name": f"j{at}", "duration": 5, "after": f"j{at + 1}"} for at in range(20_000))
    work = read(tmp_path, *chain, {"name": "j20000", "duration": 5})
    assert work.count == 20_001


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    assert told(written(tmp_path, HEAD, {"name": "a", "duration": 5}, line)) == MISTAKES[line]


def test_lenient_readers_count_what_is_no_job(tmp_path: Path) -> None:
    work = read(tmp_path, {"name": "a", "duration": 5}, {"nam": "b"}, '{"name', lenient=True)
    assert arrivals(work) == [("a", 0)]
    assert work.account.dropped == {"broken: a line that is no job": 2}


def test_many_lines_are_never_held(tmp_path: Path) -> None:
    lines = ({"name": f"j{number}", "arrival": number, "duration": 1, "cpu": 1} for number in range(3000))
    assert most_held(read(tmp_path, *lines), every=1000) == (3000, pytest.approx(0, abs=1000))
