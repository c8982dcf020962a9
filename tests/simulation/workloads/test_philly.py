"""Microsoft's Philly trace: a long JSON list, read an element at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from traces import arrivals, most_held, roles, told

from hekla.simulation.workloads import Restart, Workload, read_workload
from hekla.simulation.workloads.philly import CHUNK, elements_of
from hekla.simulation.workloads.source import Source


def job(name: str, submitted: str = "07:00:00", *attempts: object, **said: object) -> dict[str, object]:
    return {
        "status": "Pass",
        "vc": "6214e9",
        "jobid": name,
        "attempts": list(attempts),
        "submitted_time": f"2017-10-09 {submitted}",
        "user": "eva",
        **said,
    }


def attempt(start: str, end: str | None, *gpus: int) -> dict[str, object]:
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{n}" for n in range(count)]} for i, count in enumerate(gpus)]
    return {
        "start_time": f"2017-10-09 {start}",
        "end_time": None if end is None else f"2017-10-09 {end}",
        "detail": detail,
    }


def trace(tmp_path: Path, *jobs: dict[str, object], **options: object) -> Workload:
    file = tmp_path / "cluster_job_log"
    file.write_text(json.dumps(jobs, indent=1))
    return read_workload(file, **options)


def test_a_job_is_a_gang_of_one_pod_per_machine(tmp_path: Path) -> None:
    work = trace(
        tmp_path,
        job("application_2", "08:00:00", attempt("08:10:00", "09:10:00", 1)),
        job("application_1", "07:00:00", attempt("07:30:00", "07:40:00", 8, 8, 2)),
    )
    first, second = work.jobs()
    assert (first.name, first.submitted, first.run_seconds) == ("application-1", 0, 600)
    assert roles(first) == [("gpu-8", 2, {"nvidia.com/gpu": "8"}), ("gpu-2", 1, {"nvidia.com/gpu": "2"})]
    assert (first.queue, first.user, first.restart, first.minimum) == ("6214e9", "eva", Restart.JOB, 3)
    assert (second.submitted, second.run_seconds) == (3600, 3600)
    assert [each.key for each in work.objects] == ["6214e9"]


def test_attempts_are_added_up_and_the_last_says_the_size(tmp_path: Path) -> None:
    attempts = (attempt("07:00:00", "07:01:00", 4), attempt("07:05:00", "07:07:00", 2))
    work = trace(tmp_path, job("a", "07:00:00", *attempts))
    (only,) = work.jobs()
    assert (only.run_seconds, roles(only)) == (180, [("gpu-2", 1, {"nvidia.com/gpu": "2"})])
    assert work.account.changed == {"several attempts: their run times are added up": 1}


def test_what_never_ran_or_never_ended_is_dropped(tmp_path: Path) -> None:
    jobs = (
        job("a"),
        job("b", "07:00:00", attempt("07:00:00", None, 1)),
        job("c", "07:00:00", attempt("07:00:00", "07:01:00")),
        job("d", "07:00:00", attempt("07:02:00", "07:01:00", 1)),
        job("e", "07:00:00", attempt("07:00:00", "07:01:00", 1), user=None),
    )
    work = trace(tmp_path, *jobs)
    assert [(each.name, each.user) for each in work.jobs()] == [("e", "")]
    assert work.account.dropped == {
        "a job that never ran (no attempts)": 1,
        "an attempt that did not end: the run time is unknown": 1,
        "no GPUs are known of its last attempt": 1,
        "an attempt that ended before it began": 1,
    }
    assert [each.run_seconds for each in trace(tmp_path, *jobs, duration=50).jobs()] == [50, 60]


MISTAKES = {
    '[{"jobid": "a"}]': "log.json:1: not a job: object missing required field `submitted_time`",
    '[\n{"jobid": "a", "vc": "v", "submitted_time": "soon"}]': (
        'log.json:2: not a time: submitted_time: "soon"'
    ),
    '[\n{"jobid": "a", "submitted_time": 5}]': (
        "log.json:2: not a job: expected `str`, got `int` - at `$.submitted_time`"
    ),
    '[\n{"jobid": "a", "submi': "log.json:2: the file ends in the middle of an element; is it whole?",
    '[\n{"jobid": "a", "submitted_time": "2017-10-09 00:00:00"},\n': (
        "log.json:3: the file ends before the list does; is it whole?"
    ),
    '[{"jobid": "a", "submitted_time": "2017-10-09 00:00:00"} 5]': (
        'log.json:1: expected "," or the end of the list'
    ),
    "[5]": "log.json:1: expected an object, in curly brackets",
    "{}": "log.json:1: expected a list, in square brackets",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_broken_list_is_told_with_its_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "log.json"
    file.write_text(text)
    assert told(file, format="philly") == MISTAKES[text]


def test_elements_are_found_across_chunks_and_quotes(tmp_path: Path) -> None:
    odd = [{"a": 'quote " and \\ and ] } ü' * 3, "b": [{"c": []}], "n": n} for n in range(5000)]
    odd[7]["a"] = "x" * (2 * CHUNK)
    file = tmp_path / "list.json"
    file.write_text(json.dumps(odd, indent=1, ensure_ascii=False))
    source, text = Source(file), file.read_bytes()
    pieces = list(elements_of(source))
    assert [json.loads(piece.content) for piece in pieces] == odd
    assert all(text[piece.offset : piece.offset + 1] == b"{" for piece in pieces)
    assert pieces[1].line == text[: pieces[1].offset].count(b"\n") + 1


def test_a_long_list_is_never_held(tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    with file.open("w") as out:
        for number in range(4000):
            moment = f"{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
            one = json.dumps(job(f"j{4000 - number}", moment, attempt("08:00:00", "09:00:00", 8, 8)))
            out.write(f"{',' if number else '['}{one}\n")
        out.write("]")
    assert file.stat().st_size > 1_200_000
    assert most_held(read_workload(file), every=1000) == (4000, pytest.approx(0, abs=1000))
    assert arrivals(read_workload(file, limit=2)) == [("j4000", 0), ("j3999", 1)]
