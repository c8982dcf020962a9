"""Alibaba's GPU traces: openb of 2023, a pod per row, and PAI of 2020, tasks that make up gangs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from traces import arrivals, roles, told

from hekla.objects import PriorityClass
from hekla.simulation.workloads import Restart, Submission, Workload, read_workload
from hekla.simulation.workloads.openb import COLUMNS
from hekla.simulation.workloads.pai import TASKS

PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
)
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,96000,786432,2,T4\n"
GPU, SHARE = "nvidia.com/gpu", "alibabacloud.com/gpu-milli"


def openb(tmp_path: Path, *rows: str, **options: object) -> Workload:
    (tmp_path / "pods.csv").write_text(PODS + "".join(f"{row}\n" for row in rows))
    return read_workload(tmp_path / "pods.csv", **options)


def pai(tmp_path: Path, *rows: str, **options: object) -> Workload:
    (tmp_path / "tasks.csv").write_text("".join(f"{row}\n" for row in rows))
    return read_workload(tmp_path / "tasks.csv", **options)


def models(job: Submission) -> tuple[str, ...]:
    """The GPUs that its pods may have, by the label of nodes."""
    spec = job.roles[0].template.spec
    if spec.node_selector:
        return (spec.node_selector["nvidia.com/gpu.product"],)
    if spec.affinity is None or spec.affinity.node_affinity is None:
        return ()
    assert spec.affinity.node_affinity.required is not None
    (term,) = spec.affinity.node_affinity.required.node_selector_terms
    (expression,) = term.match_expressions
    assert expression.key == "nvidia.com/gpu.product"
    return expression.values


def test_pods_come_by_time_counted_from_the_first(tmp_path: Path) -> None:
    work = openb(
        tmp_path,
        "p-1,16000,32768,2,1000,,LS,Succeeded,150,480,180",
        "p-0,8000,30517,0,0,,BE,Running,100,400,100",
    )
    first, second = work.jobs()
    assert (first.name, first.submitted, first.run_seconds, first.pods) == ("p-0", 0, 300, 1)
    assert roles(first) == [("pod", 1, {"cpu": "8000m", "memory": "30517Mi"})]
    assert (second.submitted, second.run_seconds) == (50, 300)
    assert roles(second) == [("pod", 1, {"cpu": "16000m", "memory": "32768Mi", GPU: "2"})]
    assert [first.priority_class, second.priority_class] == ["qos-be", "qos-ls"]
    classes = {each.key: each.value for each in work.objects if isinstance(each, PriorityClass)}
    assert classes == {"qos-be": 0, "qos-ls": 3000}


def test_a_share_of_a_gpu_is_rounded_up_or_counted_in_thousandths(tmp_path: Path) -> None:
    rows = ("a,1000,1024,1,220,,LS,Running,0,9,0", "b,1000,1024,4,1000,,LS,Running,0,9,0")
    rounded = openb(tmp_path, *rows)
    assert [dict(roles(job)[0][2])[GPU] for job in rounded.jobs()] == ["1", "4"]
    assert rounded.account.changed == {"a share of a GPU: rounded up to a whole one": 1}
    shared = openb(tmp_path, *rows, gpu_shares=True)
    assert [dict(roles(job)[0][2])[SHARE] for job in shared.jobs()] == ["220", "4000"]
    assert shared.account.changed == {}


def test_models_of_gpus_are_asked_for_unless_any_will_do(tmp_path: Path) -> None:
    rows = (
        "a,1000,1024,1,1000,V100M16|V100M32,LS,Running,0,9,0",
        "b,1000,1024,1,1000,T4,LS,Running,0,9,0",
        "c,1000,1024,1,1000,,LS,Running,0,9,0",
    )
    assert [models(job) for job in openb(tmp_path, *rows).jobs()] == [("V100M16", "V100M32"), ("T4",), ()]
    assert [models(job) for job in openb(tmp_path, *rows, any_gpu=True).jobs()] == [(), (), ()]


def test_pods_without_a_run_time_are_dropped_or_given_one(tmp_path: Path) -> None:
    rows = (
        "a,1000,1024,0,0,,LS,Pending,0,9,",
        "b,1000,1024,0,0,,LS,Running,0,,5",
        "c,1,1,0,0,,BE,Failed,0,9,8",
    )
    work = openb(tmp_path, *rows)
    assert arrivals(work) == [("c", 0)]
    assert work.account.dropped == {
        "a pod that was never scheduled: its run time is unknown": 1,
        "a pod that was never deleted: its run time is unknown": 1,
    }
    assert [job.run_seconds for job in openb(tmp_path, *rows, duration=60).jobs()] == [60, 60, 1]


OPENB_MISTAKES = {
    "a,1000,1024,0,0,,LS,Running,-5,9,0": 'a negative time: creation_time: "-5"',
    "a,many,1024,0,0,,LS,Running,0,9,0": 'not a number: cpu_milli: "many"',
    "a,-1,1024,0,0,,LS,Running,0,9,0": 'a negative number: cpu_milli: "-1"',
    "a,1000,1024,0,0": "wrong number of columns: the header has 11, the row 5",
    "a,1000,1024,0,0,,LS,Running,,9,0": "a missing time: creation_time is empty",
}


@pytest.mark.parametrize("row", OPENB_MISTAKES)
def test_a_broken_pod_is_told_with_its_line(tmp_path: Path, row: str) -> None:
    good = "p,1000,1024,0,0,,LS,Running,0,9,0"
    file = tmp_path / "pods.csv"
    file.write_text(f"{PODS}{good}\n{row}\n")
    assert told(file) == f"pods.csv:3: {OPENB_MISTAKES[row]}"
    assert arrivals(read_workload(file, lenient=True)) == [("p", 0)]
    file.write_text(f"{PODS}{row}\n{good.replace('0,9,0', '50,59,50')}\n")
    assert arrivals(read_workload(file, lenient=True)) == [("p", 0)], "a broken row is not the first in time"


def test_missing_columns_are_told(tmp_path: Path) -> None:
    file = tmp_path / "pods.csv"
    file.write_text("name,cpu_milli,memory_mib,num_gpu\na,1,1,0\n")
    assert told(file).startswith('pods.csv:1: no column "gpu_milli", "gpu_spec", "qos"')
    file.write_text("a,b,c\n1,2,3\n")
    assert told(file) == (
        "pods.csv:1: a table of 3 columns is no workload that is known; say which column is what, as in "
        '--columns "submit=SubmitTime,run=Duration:min,cpu=Cores,memory=Mem:GiB"'
    )


def test_a_packed_list_of_pods(tmp_path: Path) -> None:
    file = tmp_path / "pods.csv.gz"
    rows = "b,1000,1024,0,0,,LS,Running,20,29,20\na,1000,1024,0,0,,LS,Running,10,19,10\n"
    file.write_bytes(gzip.compress((PODS + rows).encode()))
    assert arrivals(read_workload(file)) == [("a", 0), ("b", 10)]


def test_tasks_of_a_job_are_one_gang_wherever_they_stand(tmp_path: Path) -> None:
    work = pai(
        tmp_path,
        "j2,tensorflow,1,Terminated,900.0,1000.0,600.0,29.0,50.0,T4",
        "j1,ps,2,Terminated,500.0,800.0,150.0,10.5,,",
        "j3,worker,1,Failed,600.0,600.5,100.0,1.0,,CPU",
        "j1,worker,4,Terminated,510.0,760.0,600.0,29.297,200.0,V100",
    )
    one, three, two = work.jobs()
    assert (one.name, one.submitted, one.run_seconds, one.restart, one.minimum) == (
        "j1",
        0,
        300,
        Restart.JOB,
        6,
    )
    assert roles(one) == [
        ("ps", 2, {"cpu": "1500m", "memory": "10752Mi"}),
        ("worker", 4, {"cpu": "6000m", "memory": "30000Mi", GPU: "2"}),
    ]
    assert [role.run_seconds for role in one.roles] == [300, 250]
    assert one.roles[1].template.spec.node_selector == {"nvidia.com/gpu.product": "V100"}
    assert (three.submitted, three.run_seconds) == (100, 0.5)
    assert (two.submitted, roles(two)[0][2][GPU]) == (400, "1")
    assert work.account.changed == {"a share of a GPU: rounded up to a whole one": 1}
    assert work.count == 3


def test_the_table_of_jobs_knows_users_and_submissions(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(
        "j2,x,bob,Terminated,50,99\nj1,y,eva,Terminated,100,200\nj9,z,,Waiting,,\n"
    )
    rows = ("j1,t,1,Terminated,130,200,100,1,,", "j2,t,1,Terminated,150,190,100,1,,")
    work = pai(tmp_path, *rows, job_table=tmp_path / "jobs.csv")
    assert [(job.name, job.submitted, job.run_seconds, job.user) for job in work.jobs()] == [
        ("j2", 0, 40, "bob"),
        ("j1", 50, 70, "eva"),
    ]
    assert told(tmp_path / "jobs.csv") == (
        "jobs.csv:1: a table of 6 columns is no workload that is known; "
        "this may be the table of jobs; give that of tasks, and this one with --job-table"
    )


def test_tasks_that_cannot_be_played_are_dropped(tmp_path: Path) -> None:
    work = pai(
        tmp_path,
        "j1,a,1,Terminated,10,20,100,1,,",
        "j1,b,1,Waiting,,,100,1,,",
        "j2,a,1,Running,15,,100,1,,",
        "j3,a,,Terminated,16,18,100,1,,",
    )
    (job,) = work.jobs()
    assert [role.name for role in job.roles] == ["a"]
    assert job.submitted == 0, "a task that never began has no time that could be the first"
    assert work.account.dropped == {
        "a task that never began": 1,
        "a task that did not end: its run time is unknown": 1,
        "a task of no instances": 1,
        "a job: none of its tasks can be played": 2,
    }


PAI_MISTAKES = {
    "j,t,1,Terminated,10,20": "wrong number of columns: expected 10 (job_name, task_name, inst_num, status, "
    "start_time, end_time, plan_cpu, plan_mem, plan_gpu, gpu_type), got 6",
    "j,t,1,Terminated,x,20,1,1,,": 'not a number: start_time: "x"',
    "j,t,1,Terminated,-1,20,1,1,,": 'a negative time: start_time: "-1"',
    ",t,1,Terminated,1,20,1,1,,": "a missing name: job_name is empty",
}


@pytest.mark.parametrize("row", PAI_MISTAKES)
def test_a_broken_task_is_told_with_its_line(tmp_path: Path, row: str) -> None:
    file = tmp_path / "tasks.csv"
    file.write_text(f"j,t,1,Terminated,10,20,100,1,,\n{row}\n")
    assert told(file) == f"tasks.csv:2: {PAI_MISTAKES[row]}"
    assert len(list(read_workload(file, lenient=True).jobs())) == 1


def test_a_list_of_pods_without_its_header_is_known_by_its_columns(tmp_path: Path) -> None:
    row = "p-0,8000,30517,0,0,,BE,Running,100,400,150\n"
    header = ",".join(COLUMNS) + "\n"
    (tmp_path / "with.csv").write_text(header + row)
    (tmp_path / "without.csv").write_text(row)
    (tmp_path / "quoted.csv").write_text('\ufeff"' + header.strip().replace(",", '","') + '"\n' + row)
    first, *others = (
        list(read_workload(tmp_path / f"{name}.csv").jobs()) for name in ("with", "without", "quoted")
    )
    assert [first, first] == others
    assert first[0].run_seconds == 250


def test_tasks_are_read_by_the_names_in_their_header_whatever_its_order(tmp_path: Path) -> None:
    row = ("j1", "ps", "2", "Terminated", "500.0", "800.0", "150.0", "10.5", "50", "T4")
    cells = dict(zip(TASKS, row, strict=True))
    (tmp_path / "plain.csv").write_text(",".join(cells.values()) + "\n")
    turned = {name: cells[name] for name in sorted(cells)} | {"extra": "x"}
    (tmp_path / "named.csv").write_text(f"{','.join(turned)}\n{','.join(turned.values())}\n")
    plain, named = (list(read_workload(tmp_path / name).jobs()) for name in ("plain.csv", "named.csv"))
    assert plain == named
    (tmp_path / "wrong.csv").write_text(",".join(TASKS).replace("plan_cpu", "plancpu") + "\n")
    assert told(tmp_path / "wrong.csv") == (
        'wrong.csv:1: no column "plan_cpu" in the header of a table of tasks; did you mean "plancpu"?'
    )
