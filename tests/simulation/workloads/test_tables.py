"""Any table is a workload once it is said which column says what; that of a saved run says it itself."""

from __future__ import annotations

import csv
import gc
import io
import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import arrivals, most_held, roles, told

from cli.calling import called
from hekla.conf import read_conf
from hekla.errors import InputError
from hekla.simulation.measures import save
from hekla.simulation.options import SimulationOptions
from hekla.simulation.simulate import simulate
from hekla.simulation.workloads import Restart, Submission, Workload, read_workload
from hekla.simulation.workloads.columns import Column, columns_in, suggested

HEADER = "JobName,SubmitTime,Duration,Cores,Mem,Queue,User,Pods\n"
COLUMNS = (
    "name=JobName,submit=SubmitTime,run=Duration:min,cpu=Cores,memory=Mem:GiB,queue=Queue,user=User,pods=Pods"
)
GPU = "nvidia.com/gpu"


def table(tmp_path: Path, text: str, columns: str = COLUMNS, **options: object) -> Workload:
    (tmp_path / "log.csv").write_text(text)
    return read_workload(tmp_path / "log.csv", columns=columns, **options)


def test_named_columns_make_a_gang_of_every_row(tmp_path: Path) -> None:
    work = table(tmp_path, HEADER + "Train_A,100,1.5,4,8,Research,ann,2\n\neval,160,10,0.5,,,,\n")
    train, evaluation = work.jobs()
    assert (train.key, train.submitted, train.run_seconds) == ("default/train-a", 100, 90)
    assert (train.queue, train.user, train.restart, train.minimum) == ("research", "ann", Restart.JOB, 2)
    assert roles(train) == [("worker", 2, {"cpu": "4", "memory": "8Gi"})]
    assert (evaluation.queue, evaluation.pods) == ("default", 1)
    assert roles(evaluation) == [("worker", 1, {"cpu": "500m"})]
    assert [each.key for each in work.objects] == ["research"]
    assert (work.name, work.count, work.account.changed) == ("log", 2, {})


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_and_quotes_are_found_out(tmp_path: Path, delimiter: str) -> None:
    text = f'"Job{delimiter}Name",submit,run\n"a{delimiter}b",1,2\n'.replace(",", delimiter)
    (job,) = table(tmp_path, "\ufeff" + text, "submit=submit,run=run").jobs()
    assert (job.name, job.submitted, job.run_seconds) == ("job-2", 1, 2)


UNITS = {
    "run=x": ("90", 90),
    "run=x:min": ("90", 5400),
    "run=x:h": ("1.5", 5400),
    "run=x:d": ("2", 172_800),
    "run=x:ms": ("1500", 1.5),
}


@pytest.mark.parametrize("column", UNITS)
def test_spans_have_units(tmp_path: Path, column: str) -> None:
    cell, seconds = UNITS[column]
    (job,) = table(tmp_path, f"at,x\n0,{cell}\n", f"submit=at,{column}").jobs()
    assert job.run_seconds == seconds


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("1h30m", 5400),
        ("2d", 172_800),
        ("01:30:00", 5400),
        ("2-01:30:00", 178_200),
        ("2:05.5", 125.5),
        ("unlimited", math.inf),
    ],
)
def test_spans_may_say_their_units_themselves(tmp_path: Path, cell: str, seconds: float) -> None:
    (job,) = table(tmp_path, f"at,x\n0,{cell}\n", "submit=at,run=x:min").jobs()
    assert job.run_seconds == seconds


@pytest.mark.parametrize(
    ("column", "cell", "resource", "amount"),
    [
        ("cpu=x", "2", "cpu", "2"),
        ("cpu=x", "250m", "cpu", "250m"),
        ("cpu=x:milli", "1500", "cpu", "1500m"),
        ("cpu=x:percent", "600", "cpu", "6"),
        ("memory=x", "1073741824", "memory", "1Gi"),
        ("memory=x", "4Gi", "memory", "4Gi"),
        ("memory=x:MB", "1000", "memory", "1000000000"),
        ("memory=x:MiB", "1.5", "memory", "1536Ki"),
        ("gpu=x", "3", GPU, "3"),
        ("example.com/tpu=x", "2", "example.com/tpu", "2"),
    ],
)
def test_amounts_have_units(tmp_path: Path, column: str, cell: str, resource: str, amount: str) -> None:
    (job,) = table(tmp_path, f"at,run,x\n0,1,{cell}\n", f"submit=at,run=run,{column}").jobs()
    assert roles(job) == [("worker", 1, {resource: amount})]


def test_totals_are_shared_out_and_nothing_is_lost(tmp_path: Path) -> None:
    columns = "submit=at,run=run,pods=pods,cpu=cpu:total,gpu=gpu:total"
    (job,) = table(tmp_path, "at,run,pods,cpu,gpu\n0,1,4,10,6\n", columns).jobs()
    assert roles(job) == [
        ("worker", 2, {"cpu": "2500m", GPU: "2"}),
        ("worker-2", 2, {"cpu": "2500m", GPU: "1"}),
    ]


def test_parts_of_gpus_are_rounded_up_or_counted_in_thousandths(tmp_path: Path) -> None:
    text, columns = "at,run,gpu\n0,1,0.5\n", "submit=at,run=run,gpu=gpu"
    whole = table(tmp_path, text, columns)
    (job,) = whole.jobs()
    assert roles(job) == [("worker", 1, {GPU: "1"})]
    assert whole.account.changed == {"a share of a GPU: rounded up to a whole one": 1}
    (job,) = table(tmp_path, text, columns, gpu_shares=True).jobs()
    assert roles(job) == [("worker", 1, {"alibabacloud.com/gpu-milli": "500"})]


def test_dates_count_from_the_first_row_in_the_zone_that_is_named(tmp_path: Path) -> None:
    text = "at,run\n2026-03-29T03:30:00,1\n2026-03-29T00:30:00Z,1\n2026-03-29 01:30:00+0100,1\n1774744200,1\n"
    work = table(tmp_path, text, "submit=at,run=run", time_zone="Europe/Berlin")
    # 03:30 in Berlin comes an hour after 01:30: the clocks were put forward at 02:00.
    assert arrivals(work) == [("job-3", 0), ("job-4", 0), ("job-5", 0), ("job-2", 3600)]
    assert work.account.changed == {"a time without a zone: Europe/Berlin is taken": 1}
    assert arrivals(table(tmp_path, text, "submit=at,run=run"))[-1] == ("job-2", 10_800)


def test_numbers_count_from_zero_unless_they_are_dates(tmp_path: Path) -> None:
    assert arrivals(table(tmp_path, "at,run\n50,1\n", "submit=at,run=run")) == [("job-2", 50)]
    late = table(tmp_path, "at,run\n1774744200,1\n1774744260,1\n", "submit=at,run=run")
    assert arrivals(late) == [("job-2", 0), ("job-3", 60)]
    milli = table(tmp_path, "at,run\n1774744200000,1\n1774744260500,1\n", "submit=at:ms,run=run")
    assert arrivals(milli) == [("job-2", 0), ("job-3", 60.5)]


def test_start_and_end_stand_for_a_run_time_and_the_start_for_a_submission(tmp_path: Path) -> None:
    work = table(tmp_path, "came,began,ended\n1,5,65\n,7,8\n", "submit=came,start=began,end=ended")
    assert [(job.submitted, job.run_seconds) for job in work.jobs()] == [(1, 60), (7, 1)]
    assert work.account.changed == {"the time of submission is not known: the start is taken": 1}


def test_what_has_not_ended_is_left_out_and_told(tmp_path: Path) -> None:
    text, columns = "at,run\n0,5\n1,\n2,Unknown\n", "submit=at,run=run"
    work = table(tmp_path, text, columns)
    assert arrivals(work) == [("job-2", 0)]
    assert work.account.dropped == {"a job that has not ended, or never ran: its run time is unknown": 2}
    assumed = table(tmp_path, text, columns, duration=60.0)
    assert [job.run_seconds for job in assumed.jobs()] == [5, 60, 60]
    assert assumed.account.changed == {"run time unknown: 60 s are assumed": 2}


BROKEN = {
    "a text for a span": (
        "a,0,long,1,1,,,1",
        'not a span of time: column "Duration": expected a span as 90, "1h30m" or "2-01:30:00", got "long"',
    ),
    "a text for a time": (
        "a,noon,1,1,1,,,1",
        'not a time: column "SubmitTime": expected seconds, or "2026-01-31T12:00:00Z", got "noon"',
    ),
    "no time": (
        "a,,1,1,1,,,1",
        'a missing time: column "SubmitTime": expected the time at which the job came, got ""',
    ),
    "a negative time": (
        "a,-5,1,1,1,,,1",
        'a negative time: column "SubmitTime": expected a moment from 0 on, got "-5"',
    ),
    "a text for an amount": (
        "a,0,1,four,1,,,1",
        'not an amount: column "Cores": expected an amount such as 2, "500m" or "4Gi", got "four"',
    ),
    "a negative amount": (
        "a,0,1,1,-3,,,1",
        'not an amount: column "Mem": expected an amount from 0 on that can be counted, got "-3"',
    ),
    "half a pod": (
        "a,0,1,1,1,,,1.5",
        'not a count: column "Pods": expected a whole number from 1 on, got "1.5"',
    ),
    "too many pods": (
        "a,0,1,1,1,,,200000",
        'too many pods: column "Pods": expected at most 100000, got "200000"',
    ),
    "too few cells": ("a,0,1", "wrong number of columns: the header has 8, the row 3"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_row_tells_line_and_column_unless_one_is_lenient(tmp_path: Path, kind: str) -> None:
    row, message = BROKEN[kind]
    text = HEADER + "x,0,1,1,1,,,1\n" + row + "\n"
    (tmp_path / "log.csv").write_text(text)
    assert told(tmp_path / "log.csv", columns=COLUMNS) == f"log.csv:3: {message}"
    work = table(tmp_path, text, lenient=True)
    assert arrivals(work) == [("x", 0)]
    assert work.account.dropped == {f"broken: {message.partition(':')[0]}": 1}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("submit=SubmitTim,run=Duration", 'log.csv:1: no column "SubmitTim"; did you mean "SubmitTime"?'),
        ("submit=SubmitTime,run=Xyzzy", 'log.csv:1: no column "Xyzzy"; columns are "JobName", "SubmitTime",'),
        ("sumbit=SubmitTime", 'columns: no key "sumbit"; did you mean "submit"?'),
        ("run=Duration", 'columns: "submit" is missing: when jobs arrive; write it like "submit='),
        (
            "submit=SubmitTime,run=Duration:minn",
            'columns: run=Duration:minn: no unit "minn"; did you mean "min"?',
        ),
        ("submit=SubmitTime,user=User:GiB", 'columns: user=User:GiB: no unit "GiB"; it has none'),
        ("submit=SubmitTime,submit=Cores", 'columns: "submit" is given twice'),
        ("submit", 'columns: "submit" names no column; write it like "submit='),
    ],
)
def test_columns_that_cannot_be_meant_are_told(tmp_path: Path, columns: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        table(tmp_path, HEADER, columns)
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)


def test_a_name_with_a_comma_stands_in_quotes_and_two_columns_of_one_name_are_told(tmp_path: Path) -> None:
    assert columns_in(['"submit=Submit, local",run=r'])["submit"] == Column("Submit, local")
    assert told_of(tmp_path, "at,at,run\n", "submit=at,run=run") == 'log.csv:1: two columns are called "at"'


def told_of(tmp_path: Path, text: str, columns: str) -> str:
    (tmp_path / "log.csv").write_text(text)
    return told(tmp_path / "log.csv", columns=columns)


def test_columns_are_for_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='columns are for tables: "sacct" knows what its own mean'):
        table(tmp_path, HEADER, format="sacct")


def test_an_unknown_zone_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='no time zone "Berlin"; write it like "Europe/Berlin" or "UTC"'):
        table(tmp_path, HEADER, time_zone="Berlin")


def test_a_table_that_is_not_known_is_told_what_to_say(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(HEADER)
    message = told(tmp_path / "log.csv")
    hint = "submit=SubmitTime,run=Duration,name=JobName,queue=Queue,user=User,pods=Pods,cpu=Cores,memory=Mem"
    assert message.endswith(f'--columns "{hint}"')
    assert columns_in([suggested(HEADER.strip().split(","))]).keys() >= {"submit", "run", "cpu"}


@given(st.text(alphabet='0123456789-:TZ.,"|; \nabcGi', max_size=60))
def test_whatever_a_table_holds_it_is_a_workload_or_an_error(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "log.csv")
        file.write_text("submit,run,cpu\n" + text)
        try:
            work = read_workload(file, columns="submit=submit,run=run,cpu=cpu")
        except InputError as error:
            problem = str(error)
        else:
            problem = ""
            times = [job.submitted for job in work.jobs()]
            assert times == sorted(times)
        assert problem.startswith(str(file) if problem else "")


# What a simulation saves

WORK = """
nodes: 4 x cpu=8,memory=32Gi,gpu=2
queues: [{name: research, weight: 2}]
jobs:
- {name: train, arrival: 10, duration: 1m40s, queue: research, user: ann, pods: 3, minAvailable: 2, gpu: 1}
- name: mixed
  arrival: 12.5
  duration: 1m
  estimate: 2m
  roles: [{name: ps, pods: 1, cpu: 1, memory: 1Gi}, {name: w, pods: 2, cpu: 3, memory: 2Gi}]
- {name: web, namespace: prod, duration: forever, cpu: 500m, memory: 100Mi}
"""


def demand(job: Submission) -> dict[str, float]:
    """What all pods of a job ask for together."""
    total: dict[str, float] = {}
    for role in job.roles:
        for name, amount in role.template.spec.containers[0].resources.requests.items():
            number = {"m": 1e-3, "Gi": 2.0**30, "Mi": 2.0**20, "Ki": 2.0**10}
            text = str(amount)
            unit = next((unit for unit in number if text.endswith(unit)), "")
            total[name] = total.get(name, 0) + role.replicas * float(text.removesuffix(unit)) * number.get(
                unit, 1
            )
    return total


@pytest.mark.parametrize("place", ["run.csv", "folder/jobs.csv", "run.json"])
def test_saved_jobs_come_again_at_the_same_times_and_ask_for_the_same(tmp_path: Path, place: str) -> None:
    (tmp_path / "work.yaml").write_text(WORK)
    first = read_workload(tmp_path / "work.yaml")
    conf = read_conf('actions: "enqueue, allocate"\ntiers: [{plugins: [{name: gang}]}]\n')[0]
    target = tmp_path / place
    save(
        simulate(first, conf, options=SimulationOptions(until=500.0)),
        target.parent if "/" in place else target,
    )
    again = read_workload(target)
    before, after = ({job.key: job for job in work.jobs()} for work in (first, again))
    assert before.keys() == after.keys()
    for key, job in after.items():
        was = before[key]
        assert demand(job) == demand(was)
        assert (job.pods, job.minimum) == (was.pods, was.minimum)
        assert (job.submitted, job.run_seconds, job.estimate) == (
            was.submitted,
            was.run_seconds,
            was.estimate,
        )
        assert (job.queue, job.user) == (was.queue, was.user)
    assert again.account.notes() == []


def test_a_saved_run_is_run_again_with_the_same_waits(tmp_path: Path) -> None:
    jobs = "".join(
        f"- {{name: j{at}, arrival: {at * 7}, duration: {90 + at}, cpu: {1 + at % 4}, pods: 2}}\n"
        for at in range(30)
    )
    (tmp_path / "work.yaml").write_text(f"nodes: 4 x cpu=4\njobs:\n{jobs}")
    nodes = ("--nodes", "4 x cpu=4")
    first = called("simulate", "work.yaml", "--save", "first.csv", "-o", "json", folder=tmp_path)
    again = called("simulate", "first.csv", *nodes, "--save", "again.csv", "-o", "json", folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "first.csv").read_text() == (tmp_path / "again.csv").read_text()
    assert json.loads(first.stdout)["summary"]["wait"] == json.loads(again.stdout)["summary"]["wait"]


def test_what_spreadsheets_would_take_for_a_formula_is_read_as_it_was(tmp_path: Path) -> None:
    header = "name,namespace,queue,user,state,submitted,run_seconds,estimate,pods,minimum\n"
    (tmp_path / "jobs.csv").write_text(header + "a,default,default,'@ann,completed,0,1,,1,1\n")
    assert [job.user for job in read_workload(tmp_path / "jobs.csv").jobs()] == ["@ann"]


def test_columns_count_more_than_what_a_table_is_known_as(tmp_path: Path) -> None:
    header = "name,namespace,queue,user,state,submitted,run_seconds,estimate,pods,minimum,other\n"
    (tmp_path / "jobs.csv").write_text(header + "a,default,default,ann,completed,0,1,,1,1,77\n")
    (job,) = read_workload(tmp_path / "jobs.csv", columns="submit=submitted,run=other").jobs()
    assert job.run_seconds == 77


# On the command line


def test_columns_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(HEADER + "train,100,1.5,4,8,research,ann,2\n")
    first, second = COLUMNS.split(",queue=")
    done = called(
        "workload", "convert", "log.csv", "--columns", first, "--columns", f"queue={second}", folder=tmp_path
    )
    assert done.stdout.splitlines()[-1] == (
        '- {"name": "train", "arrival": 100.0, "duration": 90.0, "queue": "research", "user": "ann", '
        '"restart": "job", "pods": 2, "cpu": "4", "memory": "8Gi"}'
    )
    wrong = called("simulate", "log.csv", "--columns", "submit=At,run=Duration", folder=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    assert wrong.stderr.startswith('error: log.csv:1: no column "At"')


def test_forecasts_learn_from_a_table(tmp_path: Path) -> None:
    rows = "".join(f"train-{at},{at},2,1,1,default,,1\n" for at in range(9))
    (tmp_path / "log.csv").write_text(HEADER + rows)
    waiting = "apiVersion: v1\nkind: Pod\nmetadata: {name: train-99}\nspec: {schedulerName: volcano}\n"
    (tmp_path / "state.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 1, pods: 9}}\n---\n"
        + waiting
    )
    done = called(
        "forecast",
        "state.yaml",
        "--history",
        "log.csv",
        "--columns",
        COLUMNS,
        "--samples",
        "2",
        folder=tmp_path,
    )
    assert "1 learned" in done.stdout, done.stderr


@pytest.mark.parametrize("is_sorted", [True, False], ids=["in order", "out of order"])
def test_a_long_table_is_never_held(tmp_path: Path, is_sorted: bool) -> None:
    count = 20_000
    with (tmp_path / "log.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["at", "run", "cpu"])
        writer.writerows((at if is_sorted else count - at, 9, at % 50) for at in range(count))
    gc.collect()
    before = len(gc.get_objects())
    work = read_workload(tmp_path / "log.csv", columns="submit=at,run=run,cpu=cpu")
    gc.collect()
    assert len(gc.get_objects()) - before < 2000
    assert most_held(work, every=6000) == (count, pytest.approx(0, abs=2000))


def test_a_table_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"at,run\n3,4\n")))
    assert arrivals(read_workload("-", columns="submit=at,run=run")) == [("job-2", 3)]
