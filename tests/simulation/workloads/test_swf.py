"""Standard Workload Format: lines of 18 numbers become gangs, and what cannot is dropped with a reason."""

from __future__ import annotations

import gc
import gzip
import io
import json
from pathlib import Path

import pytest
from traces import arrivals, most_held, roles, told

from cli.calling import called
from hekla.errors import InputError
from hekla.objects import Node
from hekla.simulation.workloads import Restart, Workload, nodes_of, read_workload
from hekla.simulation.workloads.swf import FIELDS

HEADER = """; Version: 2.2
; Computer: a small one
; Queue: 1 batch
; Queue: 2 Long_Jobs - the long ones
"""
SAMPLE = "1 0 12 300 4 -1 -1 4 600 1048576 1 3 1 7 1 1 -1 -1\n"


def line(number: int, submit: float = 0, **said: float) -> str:
    """A job of one processor that ran 10 seconds, but for what is said."""
    cells: dict[str, float] = {
        "number": number, "submit": submit, "wait": -1, "run": 10, "allocated": 1, "cpu": -1, "used": -1,
        "procs": 1, "time": -1, "memory": -1, "status": 1, "user": -1, "group": -1, "exe": -1, "queue": -1,
        "partition": -1, "before": -1, "think": -1,
    }  # fmt: skip
    assert said.keys() <= cells.keys()
    return " ".join(f"{value:.15g}" for value in (cells | said).values()) + "\n"


def trace(tmp_path: Path, *lines: str, name: str = "log.swf", **options: object) -> Workload:
    (tmp_path / name).write_text("".join(lines))
    return read_workload(tmp_path / name, **options)


def test_a_line_is_a_gang_of_one_pod_per_processor(tmp_path: Path) -> None:
    work = trace(tmp_path, HEADER, SAMPLE)
    (job,) = work.jobs()
    assert (job.key, job.submitted, job.run_seconds, job.estimate) == ("default/swf-1", 0, 300, 600)
    assert (job.queue, job.user, job.restart, job.minimum) == ("batch", "user-3", Restart.JOB, 4)
    assert roles(job) == [("worker", 4, {"cpu": "1", "memory": "1048576Ki"})]
    assert [each.key for each in work.objects] == ["batch", "long-jobs"]
    assert (work.name, work.count) == ("log", 1)


def test_larger_pods_leave_a_smaller_one_for_the_rest(tmp_path: Path) -> None:
    (job,) = trace(tmp_path, line(1, procs=11, memory=1024), pod_cpus=4).jobs()
    assert roles(job) == [
        ("worker", 2, {"cpu": "4", "memory": "4096Ki"}),
        ("rest", 1, {"cpu": "3", "memory": "3072Ki"}),
    ]
    (small,) = trace(tmp_path, line(1, procs=3), pod_cpus=4).jobs()
    assert roles(small) == [("rest", 1, {"cpu": "3"})]


def test_what_is_unknown_is_taken_from_the_next_best_field(tmp_path: Path) -> None:
    work = trace(
        tmp_path,
        line(1, procs=-1, allocated=2),
        line(2, run=-1, time=500),
        line(3, memory=-1, used=64),
        line(4, queue=7),
    )
    allocated, requested, used, queued = work.jobs()
    assert allocated.pods == 2
    assert (requested.run_seconds, requested.estimate) == (500, 500)
    assert roles(used) == [("worker", 1, {"cpu": "1", "memory": "64Ki"})]
    assert [allocated.queue, queued.queue] == ["default", "queue-7"]
    assert work.account.changed == {"run time missing: the requested time is taken": 1}
    assert [each.key for each in work.objects] == ["queue-7"], "the default queue is always there"


def test_what_is_of_no_use_is_dropped_with_its_reason(tmp_path: Path) -> None:
    work = trace(
        tmp_path,
        line(1),
        line(2, procs=0, allocated=-1),
        line(3, status=5, run=-1, time=600),
        line(4, status=2),
        line(4, status=3),
        line(5, run=-1),
        line(6, status=0),
        line(7, status=5, run=3),
        line(8, run=0),
        line(9, procs=200_000),
    )
    assert [job.name for job in work.jobs()] == ["swf-1", "swf-6", "swf-7", "swf-8"]
    assert work.account.dropped == {
        "no processors": 1,
        "a job that never ran (status 5, no run time)": 1,
        "a part of a job that has a line of its own (status 2)": 1,
        "a part of a job that has a line of its own (status 3)": 1,
        "no run time, and no requested time to take for it": 1,
        "more than 100000 pods; try larger pods": 1,
    }
    assert (work.account.taken, work.count) == (4, 4)
    assert work.account.notes()[0] == "1 left out: no processors"


def test_statuses_can_be_chosen(tmp_path: Path) -> None:
    lines = [line(1), line(2, status=0), line(3, status=2)]
    assert arrivals(trace(tmp_path, *lines, statuses=frozenset({0, 2}))) == [("swf-2", 0), ("swf-3", 0)]


def test_jobs_wait_for_those_before_them_only_if_wanted(tmp_path: Path) -> None:
    lines = [line(1), line(2, 5, before=1, think=30), line(3, 6, before=99, think=30)]
    alone = trace(tmp_path, *lines)
    assert [job.after for job in alone.jobs()] == ["", "", ""]
    assert alone.account.changed == {"a preceding job is not waited for: the submit time alone counts": 2}
    following = trace(tmp_path, *lines, follow=True)
    assert [(job.after, job.think_seconds) for job in following.jobs()] == [
        ("", 0),
        ("default/swf-1", 30),
        ("", 0),
    ]
    assert following.account.changed == {"a preceding job is not there: the submit time alone counts": 1}


def test_who_waits_for_a_job_outside_the_sample_does_not_wait(tmp_path: Path) -> None:
    lines = [line(1), *(line(number, number, before=1, think=1) for number in range(2, 40))]
    for seed in range(10):
        work = trace(tmp_path, *lines, follow=True, sample=0.5, seed=seed)
        jobs = list(work.jobs())
        names = {job.key for job in jobs}
        assert all(job.after in names for job in jobs if job.after)


def test_lines_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    work = trace(tmp_path, line(3, 30), line(1, 10), "; a remark\n", "\n", line(2, 20), line(4, 10))
    assert arrivals(work) == [("swf-1", 10), ("swf-4", 10), ("swf-2", 20), ("swf-3", 30)]
    assert arrivals(work) == arrivals(work)


def test_a_part_of_a_log_begins_with_its_first_job(tmp_path: Path) -> None:
    epoch = 1_200_000_000
    work = trace(tmp_path, line(2, epoch + 50), line(1, epoch), line(3, epoch + 60, status=2))
    assert arrivals(work) == [("swf-1", 0), ("swf-2", 50)]
    assert work.account.changed == {"the first job comes 13,889 days after the start: time begins with it": 1}
    near = trace(tmp_path, line(1, 86_400), line(2, 90_000))
    assert (arrivals(near), near.account.changed) == ([("swf-1", 86_400), ("swf-2", 90_000)], {})


def test_a_number_that_occurs_twice_still_names_one_job(tmp_path: Path) -> None:
    work = trace(tmp_path, line(1), line(1, 5), line(2, 6))
    assert [job.name for job in work.jobs()] == ["swf-1-1", "swf-1-2", "swf-2"]


def test_a_file_is_read_packed_and_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "log.swf.gz"
    packed.write_bytes(gzip.compress((HEADER + SAMPLE).encode()))
    assert arrivals(read_workload(packed)) == [("swf-1", 0)]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((HEADER + SAMPLE).encode())))
    piped = read_workload("-")
    assert arrivals(piped) == [("swf-1", 0)]
    assert arrivals(piped) == [("swf-1", 0)], "standard input can be read again, too"


def test_a_mark_at_the_start_and_ends_of_lines_do_not_matter(tmp_path: Path) -> None:
    text = HEADER + line(2, 9) + line(1, 3)
    (tmp_path / "log.swf").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    work = read_workload(tmp_path / "log.swf")
    assert arrivals(work) == [("swf-1", 3), ("swf-2", 9)]
    assert [each.key for each in work.objects] == ["batch", "long-jobs"]


BROKEN = {
    "too few fields": ("1 0 12\n", "wrong number of fields: expected 18, got 3"),
    "a text for a number": (SAMPLE.replace("300", "long"), 'not a number: run time: "long"'),
    "no number": (SAMPLE.replace("300", "nan"), 'not a number: run time: "nan"'),
    "an endless number": (SAMPLE.replace("300", "inf"), 'not a number: run time: "inf"'),
    "a negative time": (line(2, -7), "a negative time: submit time: -7"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_line_is_an_error_unless_one_is_lenient(tmp_path: Path, kind: str) -> None:
    broken, message = BROKEN[kind]
    file = tmp_path / "log.swf"
    file.write_text(HEADER + line(1, 3) + broken + line(9, 4))
    assert told(file) == f"log.swf:6: {message}"
    work = read_workload(file, lenient=True)
    assert arrivals(work) == [("swf-1", 3), ("swf-9", 4)]
    assert work.account.dropped == {f"broken: {message.partition(':')[0]}": 1}


def test_half_a_packed_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "log.swf.gz"
    file.write_bytes(gzip.compress(SAMPLE.encode() * 1000)[:-20])
    assert told(file).startswith("log.swf.gz: the packed file is cut off or damaged")


def test_a_line_without_end_is_told(tmp_path: Path) -> None:
    file = tmp_path / "log.swf"
    file.write_bytes(b"1 " * 1_000_000)
    assert told(file) == "log.swf:1: a line of more than 1048576 bytes; is this the right format?"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample": 2}, 'sample: expected a number from 0 to 1, got "2"'),
        ({"limit": 0}, 'limit: expected a number of at least 1, got "0"'),
        ({"speedup": 0}, 'speedup: expected a number above 0, got "0"'),
        ({"format": "swff"}, 'no format "swff"; did you mean "swf"?; known formats: hekla, jsonl,'),
    ],
)
def test_options_out_of_range_are_told(tmp_path: Path, options: dict[str, object], message: str) -> None:
    (tmp_path / "log.swf").write_text(SAMPLE)
    with pytest.raises(InputError) as caught:
        read_workload(tmp_path / "log.swf", **options)
    assert str(caught.value).startswith(message)


def test_limit_sample_and_speed(tmp_path: Path) -> None:
    lines = [line(number, number * 10) for number in range(1, 1001)]
    first = trace(tmp_path, *lines, limit=3)
    assert (arrivals(first), first.count) == ([("swf-1", 10), ("swf-2", 20), ("swf-3", 30)], 3)
    assert arrivals(trace(tmp_path, *lines, limit=2, speedup=4)) == [("swf-1", 2.5), ("swf-2", 5)]
    some = trace(tmp_path, *lines, sample=0.25, seed=1)
    picked = arrivals(some)
    assert 200 < len(picked) < 300
    assert arrivals(some) == picked == arrivals(trace(tmp_path, *lines, sample=0.25, seed=1))
    assert arrivals(trace(tmp_path, *lines, sample=0.25, seed=2)) != picked
    assert some.account.dropped == {"not picked for the sample of 0.25": 1000 - len(picked)}
    assert list(trace(tmp_path, *lines, sample=0).jobs()) == []


def test_jobs_that_look_alike_share_one_role(tmp_path: Path) -> None:
    work = trace(tmp_path, line(1, procs=8), line(2, procs=8), line(3, procs=9))
    one, two, three = work.jobs()
    assert one.roles[0] is two.roles[0]
    assert one.roles[0].template is three.roles[0].template
    assert next(work.jobs()).roles[0] is one.roles[0], "and so at the next reading"


@pytest.mark.parametrize("is_sorted", [True, False], ids=["in order", "out of order"])
def test_a_long_trace_is_never_held(tmp_path: Path, is_sorted: bool) -> None:
    count = 20_000
    file = tmp_path / "log.swf"
    with file.open("w") as out:
        for number in range(1, count + 1):
            moment = number if is_sorted else count - number
            out.write(f"{number} {moment} -1 9 {number % 50 + 1} -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n")
    gc.collect()
    before = len(gc.get_objects())
    work = read_workload(file)
    gc.collect()
    assert len(gc.get_objects()) - before < 2000, "of the first pass nothing remains but shapes and numbers"
    assert most_held(work, every=6000) == (count, pytest.approx(0, abs=2000))


MACHINES = {
    "nodes and processors": ("; MaxNodes: 4\n; MaxProcs: 32\n", ["8"] * 4, "4 nodes of 8 cpu", "MaxNodes 4"),
    "an odd one": (
        "; MaxProcs: 10\n; MaxNodes: 3\n",
        ["4", "3", "3"],
        "1 node of 4 cpu and 2 nodes of 3 cpu",
        "MaxNodes 3",
    ),
    "processors alone": ("; MaxProcs: 300\n", ["300"], "1 node of 300 cpu", "and not how many nodes"),
    "no sense": ("; MaxProcs: 2\n; MaxNodes: 3\n", ["2"], "1 node of 2 cpu", "MaxNodes 3"),
}


@pytest.mark.parametrize("kind", MACHINES)
def test_the_header_tells_of_the_machine_unless_nodes_are_named(tmp_path: Path, kind: str) -> None:
    header, sizes, told_nodes, said = MACHINES[kind]
    work = trace(tmp_path, header, line(1, procs=2))
    machines = [each for each in work.objects if isinstance(each, Node)]
    assert [node.status.allocatable["cpu"] for node in machines] == sizes
    assert all(
        int(str(node.status.allocatable["pods"])) >= int(size)
        for node, size in zip(machines, sizes, strict=True)
    )
    list(work.jobs())
    processors = sum(map(int, sizes))
    assert work.account.changed == {
        f"the cluster: {told_nodes} (header: MaxProcs {processors}, {said}); see --nodes": 1
    }
    named = trace(tmp_path, header, line(1, procs=2), nodes=nodes_of("3 x cpu=1"))
    assert not any(isinstance(each, Node) for each in named.objects)
    assert [job.name for job in named.jobs()] == ["swf-1"]
    assert named.account.changed == {}


def test_memory_that_the_header_does_not_tell_of_holds_no_job_back(tmp_path: Path) -> None:
    work = trace(tmp_path, "; MaxProcs: 4\n", line(1, procs=4, memory=1000), line(2, procs=4, memory=3000))
    (machine,) = (each for each in work.objects if isinstance(each, Node))
    assert machine.status.allocatable["memory"] == "12000Ki"
    done = called("simulate", tmp_path / "log.swf", "-o", "json")
    assert json.loads(done.stdout)["summary"]["completed"] == 2
    lines = called("simulate", tmp_path / "log.swf").stderr.splitlines()
    assert lines == [
        "warning: assumed: 1 x the cluster: 1 node of 4 cpu, memory without limit "
        "(header: MaxProcs 4, and not how many nodes); see --nodes"
    ]


def test_a_header_without_a_machine_leaves_it_to_the_command(tmp_path: Path) -> None:
    trace(tmp_path, "; MaxProcs: -1\n", line(1))
    told_now = called("simulate", tmp_path / "log.swf").stderr
    assert 'no nodes are named; "10 x cpu=32,memory=128Gi" is taken' in told_now


def test_what_is_written_with_nodes_brings_its_machine(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(
        "nodes: 3 x cpu=8,memory=1Gi\njobs: [{name: a, duration: 9, cpu: 8, pods: 3}]\n"
    )
    done = called("workload", "convert", "work.yaml", "-O", "work.swf", folder=tmp_path)
    assert "3 not written: of a Node all but its processors" in done.stderr
    work = read_workload(tmp_path / "work.swf")
    assert [each.status.allocatable["cpu"] for each in work.objects if isinstance(each, Node)] == ["8"] * 3


def test_a_line_of_words_before_the_jobs_names_the_fields(tmp_path: Path) -> None:
    words = " ".join(field.replace(" ", "_") for field in FIELDS)
    work = trace(tmp_path, HEADER, f"{words}\n", SAMPLE)
    assert arrivals(work) == [("swf-1", 0)]
    (tmp_path / "log.swf").write_text(HEADER + SAMPLE + f"{words}\n")
    assert told(tmp_path / "log.swf") == 'log.swf:6: not a number: job number: "job_number"'
