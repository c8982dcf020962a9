"""Slurm's accounting as `sacct --parsable2` prints it: one gang per job, one pod per node."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from traces import arrivals, most_held, roles, told

from cli.calling import called
from hekla.simulation.workloads import Restart, Workload, read_workload
from hekla.simulation.workloads.shapes import GPU_MODEL

GPU = "nvidia.com/gpu"
COLUMNS = (
    "JobID", "JobName", "User", "Partition", "State", "Submit", "Start", "End", "Elapsed", "Timelimit",
    "NNodes", "AllocTRES", "ReqTRES",
)  # fmt: skip
USUAL = {
    "JobID": "7", "JobName": "train", "User": "ann", "Partition": "gpu", "State": "COMPLETED",
    "Submit": "2026-01-31T12:00:00Z", "Start": "2026-01-31T12:05:00Z", "End": "2026-01-31T13:05:00Z",
    "Elapsed": "01:00:00", "Timelimit": "1-00:00:00", "NNodes": "1",
    "AllocTRES": "billing=8,cpu=8,mem=16G,node=1",
}  # fmt: skip


def job(number: str = "7", **said: str) -> dict[str, str]:
    return {**USUAL, "JobID": number, **said}


def written(*rows: dict[str, str], columns: tuple[str, ...] = COLUMNS, end: str = "\n") -> str:
    lines = [columns, *([row.get(column, "") for column in columns] for row in rows)]
    return "".join("|".join(line) + end for line in lines)


def log(tmp_path: Path, *rows: dict[str, str], **options: object) -> Workload:
    (tmp_path / "log.txt").write_text(written(*rows))
    return read_workload(tmp_path / "log.txt", **options)


def test_a_job_is_a_gang_of_one_pod_per_node(tmp_path: Path) -> None:
    tres = "billing=64,cpu=64,gres/gpu:a100=8,gres/gpu=8,mem=500G,node=2"
    work = log(tmp_path, job(NNodes="2", AllocTRES=tres), job("8", Submit="2026-01-31T12:00:30Z"))
    train, _ = work.jobs()
    assert (train.key, train.submitted, train.run_seconds, train.estimate) == (
        "default/train-7",
        0,
        3600,
        86_400,
    )
    assert (train.queue, train.user, train.restart, train.minimum) == ("gpu", "ann", Restart.JOB, 2)
    assert roles(train) == [("worker", 2, {"cpu": "32", "memory": "250Gi", GPU: "4"})]
    assert train.roles[0].template.spec.node_selector == {GPU_MODEL: "a100"}
    assert work.account.changed == {f"GPUs of a100: on nodes with {GPU_MODEL}, see --any-gpu": 1}
    assert [each.key for each in work.objects] == ["gpu"]
    assert arrivals(work) == [("train-7", 0), ("train-8", 30)]


def test_any_gpu_will_do_if_one_says_so(tmp_path: Path) -> None:
    work = log(tmp_path, job(AllocTRES="cpu=1,gres/gpu:a100=2,gres/gpu:h100=1,mem=1G"), any_gpu=True)
    (train,) = work.jobs()
    assert roles(train) == [("worker", 1, {"cpu": "1", "memory": "1Gi", GPU: "3"})]
    assert (train.roles[0].template.spec.node_selector, work.account.changed) == ({}, {})


def test_steps_are_passed_over_and_tasks_of_arrays_are_jobs(tmp_path: Path) -> None:
    rows = [
        job("7"),
        job("7.batch", State="FAILED"),
        job("7.0"),
        job("9_4", JobName="Sweep"),
        job("9_5", JobName=""),
    ]
    assert [each.name for each in log(tmp_path, *rows).jobs()] == ["train-7", "sweep-9-4", "slurm-9-5"]


def test_parts_of_a_heterogeneous_job_are_one_gang(tmp_path: Path) -> None:
    work = log(
        tmp_path,
        job("7+0", AllocTRES="cpu=2,node=1"),
        job("6"),
        job("7+1", NNodes="2", AllocTRES="cpu=8,gres/gpu=2,node=2", Elapsed="00:30:00"),
    )
    whole, _ = work.jobs()
    assert (whole.name, whole.run_seconds, whole.pods, whole.minimum) == ("train-7", 3600, 3, 3)
    assert roles(whole) == [("part-1", 1, {"cpu": "2"}), ("part-2", 2, {"cpu": "4", GPU: "1"})]
    assert [role.run_seconds for role in whole.roles] == [3600, 1800]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            {"State": "RUNNING", "End": "Unknown"},
            "a job that has not ended: its run time is unknown (RUNNING)",
        ),
        (
            {"State": "PENDING", "Start": "Unknown"},
            "a job that has not ended: its run time is unknown (PENDING)",
        ),
        ({"State": "CANCELLED by 1000", "Start": "None", "Elapsed": "0"}, "a job that never ran (CANCELLED)"),
        ({"AllocTRES": "", "ReqTRES": ""}, "no processors"),
        ({"NNodes": "200000"}, "more than 100000 pods"),
    ],
)
def test_what_cannot_be_played_is_left_out_and_told(
    tmp_path: Path, said: dict[str, str], reason: str
) -> None:
    work = log(tmp_path, job("1"), job("2", **said))
    assert arrivals(work) == [("train-1", 0)]
    assert work.account.dropped == {reason: 1}


@pytest.mark.parametrize(
    "state", ["FAILED", "TIMEOUT", "CANCELLED by 1000", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"]
)
def test_whatever_its_end_was_a_job_runs_for_as_long_as_it_did(tmp_path: Path, state: str) -> None:
    (train,) = log(tmp_path, job(State=state, Elapsed="1-02:03:04")).jobs()
    assert train.run_seconds == 93_784


def test_jobs_that_have_not_ended_may_be_given_a_run_time(tmp_path: Path) -> None:
    work = log(tmp_path, job(State="RUNNING"), job("8", State="PENDING", ReqTRES="cpu=2"), duration=60.0)
    assert [each.run_seconds for each in work.jobs()] == [60, 60]
    assert work.account.changed == {"a job that has not ended: 60 s are assumed": 2}


MEMORIES = {
    "mem in TRES": ({"AllocTRES": "cpu=4,mem=1500M,node=2"}, "750Mi"),
    "mem in TRES without a unit": ({"AllocTRES": "cpu=4,mem=1024,node=2"}, "512Mi"),
    "per processor": ({"AllocTRES": "cpu=4,node=2", "ReqMem": "1Gc"}, "2Gi"),
    "per node": ({"AllocTRES": "cpu=4,node=2", "ReqMem": "1.5Gn"}, "1536Mi"),
    "in all": ({"AllocTRES": "cpu=4,node=2", "ReqMem": "1G"}, "512Mi"),
}


@pytest.mark.parametrize("kind", MEMORIES)
def test_memory_is_in_tres_or_as_it_was_asked_for(tmp_path: Path, kind: str) -> None:
    said, each = MEMORIES[kind]
    (tmp_path / "log.txt").write_text(written(job(NNodes="2", **said), columns=(*COLUMNS, "ReqMem")))
    (train,) = read_workload(tmp_path / "log.txt").jobs()
    assert roles(train) == [("worker", 2, {"cpu": "2", "memory": each})]


def test_an_older_log_without_tres_says_that_gpus_are_not_known(tmp_path: Path) -> None:
    columns = (
        "JobIDRaw",
        "Partition",
        "Submit",
        "Start",
        "End",
        "AllocCPUS",
        "NNodes",
        "TimelimitRaw",
        "State",
    )
    row = {**job(), "JobIDRaw": "7", "AllocCPUS": "7", "NNodes": "2", "TimelimitRaw": "90"}
    (tmp_path / "log.txt").write_text(written(row, columns=columns, end="|\n"))
    work = read_workload(tmp_path / "log.txt")
    (old,) = work.jobs()
    assert (old.name, old.run_seconds, old.estimate) == ("slurm-7", 3600, 5400)
    assert roles(old) == [("worker", 1, {"cpu": "4"}), ("worker-2", 1, {"cpu": "3"})]
    assert work.account.changed == {
        "neither AllocTRES nor ReqTRES is there: GPUs are not known, and none are asked for": 1
    }


def test_generic_resources_that_are_no_gpus_are_told(tmp_path: Path) -> None:
    work = log(tmp_path, job(AllocTRES="cpu=1,gres/shard=4,license/matlab=1,fs/disk=5,energy=99"))
    (train,) = work.jobs()
    assert roles(train) == [("worker", 1, {"cpu": "1"})]
    assert work.account.changed == {"gres/shard is not asked for": 1, "license/matlab is not asked for": 1}


def test_a_job_that_waited_for_another_comes_when_it_became_eligible(tmp_path: Path) -> None:
    rows = [
        job(Eligible="2026-01-31T12:00:00Z"),
        job("8", Eligible="2026-01-31T12:10:00Z"),
        job("9", Eligible="Unknown"),
    ]
    (tmp_path / "log.txt").write_text(written(*rows, columns=(*COLUMNS, "Eligible")))
    work = read_workload(tmp_path / "log.txt")
    assert arrivals(work) == [("train-7", 0), ("train-9", 0), ("train-8", 600)]
    assert work.account.changed == {
        "a job that had to wait for another or for a date: it comes when it became eligible": 1
    }


def test_times_without_a_zone_are_of_the_zone_that_is_named_and_that_is_told(tmp_path: Path) -> None:
    rows = [
        job("1", Submit="2026-10-25T02:30:00+0200"),
        job("2", Submit="2026-10-25T03:30:00"),
        job("3", Submit="1792891800"),
    ]
    berlin = log(tmp_path, *rows, time_zone="Europe/Berlin")
    # 02:30 summer time, and 03:30 winter time: two hours apart. The number is 01:30 UTC.
    assert arrivals(berlin) == [("train-1", 0), ("train-3", 3600), ("train-2", 7200)]
    assert berlin.account.changed == {"a time without a zone: Europe/Berlin is taken": 1}
    assert arrivals(log(tmp_path, *rows))[2] == ("train-2", 10_800)


def test_another_column_may_be_the_queue(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(written({**job(), "Account": "Physics"}, columns=(*COLUMNS, "Account")))
    (train,) = read_workload(tmp_path / "log.txt", queue_from="Account").jobs()
    assert train.queue == "physics"
    assert told(tmp_path / "log.txt", queue_from="Acount").endswith(
        'no column "Acount"; did you mean "Account"?'
    )


def test_columns_may_be_in_any_order_and_case_and_end_in_a_delimiter(tmp_path: Path) -> None:
    text = written(job(), columns=COLUMNS[::-1], end="|\n").replace("AllocTRES", "ALLOCTRES")
    (tmp_path / "anything").write_text(text)
    (train,) = read_workload(tmp_path / "anything").jobs()
    assert (train.name, roles(train)) == ("train-7", [("worker", 1, {"cpu": "8", "memory": "16Gi"})])


BROKEN = {
    "no job": (
        job("seven"),
        'not a job: column "JobID": expected a number, as "123", "123_4" or "123+0", got "seven"',
    ),
    "no time": (
        job(Submit="Unknown"),
        'a missing time: column "Submit": expected the time at which the job came',
    ),
    "no span": (job(Elapsed="long"), 'not a span of time: column "Elapsed": expected a span as 90, "1h30m"'),
    "no resources": (
        job(AllocTRES="cpu"),
        'not a list of resources: column "AllocTRES": expected resources as "cpu=4',
    ),
    "no amount": (
        job(AllocTRES="cpu=x"),
        'not an amount: column "AllocTRES": expected amounts as "cpu=4" or',
    ),
    "no count": (
        job(NNodes="some"),
        'not a count: column "NNodes": expected a whole number from 0 on, got "some"',
    ),
    "a delimiter too many": (job(JobName="a|b"), "wrong number of columns: the header has 13, the row 14"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_row_tells_line_and_column_unless_one_is_lenient(tmp_path: Path, kind: str) -> None:
    row, message = BROKEN[kind]
    (tmp_path / "log.txt").write_text(written(job("1"), job("1.batch"), row))
    assert told(tmp_path / "log.txt").startswith(f"log.txt:4: {message}")
    work = read_workload(tmp_path / "log.txt", lenient=True)
    assert arrivals(work) == [("train-1", 0)]
    assert work.account.dropped == {f"broken: {message.partition(':')[0]}": 1}


def test_a_column_that_is_missing_is_told_with_what_to_ask_for(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text("JobID|State|Start|AllocTRES\n")
    assert told(file).startswith(
        'log.txt:1: no column "Submit"; call sacct with --format=JobID,JobName,User,'
    )
    file.write_text("JobID|State|Submitt|Start|End|AllocTRES\n")
    assert told(file) == 'log.txt:1: no column "Submit"; did you mean "Submitt"?'
    file.write_text(written(job()).partition("\n")[2])
    assert told(file, format="sacct").startswith('log.txt:1: no column "JobID" or "JobIDRaw"')


def test_it_is_found_out_whatever_the_file_is_called(tmp_path: Path) -> None:
    for name in ("log.txt", "log.csv", "log"):
        (tmp_path / name).write_text(written(job()))
        done = called("workload", "show", name, folder=tmp_path)
        assert done.stdout.startswith("log: 1 job of 1 user"), done.stderr


@pytest.mark.parametrize("part", ["", "+0"], ids=["plain", "heterogeneous"])
def test_a_long_log_is_never_held(tmp_path: Path, part: str) -> None:
    count = 20_000
    with (tmp_path / "log.txt").open("w") as out:
        out.write("JobID|Submit|ElapsedRaw|AllocTRES\n")
        out.writelines(
            f"{n}{part}|{1_700_000_000 + n}|9|cpu={n % 50 + 1},node=1\n{n}.batch|||\n" for n in range(count)
        )
    gc.collect()
    before = len(gc.get_objects())
    work = read_workload(tmp_path / "log.txt")
    gc.collect()
    assert len(gc.get_objects()) - before < 2000
    assert most_held(work, every=6000) == (count, pytest.approx(0, abs=2000))
