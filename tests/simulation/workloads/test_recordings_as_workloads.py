"""A recording of cycles is a workload: what came and ended while it was written down."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace
from traces import roles

from cli.calling import called
from hekla.cluster.embedded import Options
from hekla.objects import Manifest, Pod, PodGroup, PriorityClass
from hekla.server.recording.writer import older
from hekla.simulation.workloads import NodesAdded, Submission, Workload, read_workload
from hekla.testing import conf_of, job, node, queue
from insight.replay.recorded import START, Recorder

PLAIN = conf_of("enqueue, allocate, backfill", ("priority, gang", "predicates, proportion, binpack"))
EVICTING = conf_of("enqueue, allocate, preempt", ("priority, gang, conformance", "predicates, nodeorder"))
PREEMPTION = Path(__file__).parents[3] / "examples" / "04-preemption"
STILL_RUNS = "a job of which pods still run: its run time is not known"


def recorder(path: Path, *objects: Manifest, run_seconds: float = 5.0, **more: object) -> Recorder:
    options = Options(admission=False, run_seconds=run_seconds)
    return Recorder(path, created([queue("default"), *objects]), PLAIN, options=options, **more)


def created(objects: Iterable[Manifest], at: float = 0.0) -> list[Manifest]:
    """The objects as they are made so many seconds after the recording begins, unless they are older."""
    moment = datetime.fromtimestamp(START + at, UTC)
    return [
        replace(each, metadata=replace(each.metadata, creation_timestamp=moment))
        if each.metadata.creation_timestamp is None
        else each
        for each in objects
    ]


def by_name(work: Workload) -> dict[str, Submission]:
    return {each.name: each for each in work.jobs()}


def test_jobs_come_when_they_came_and_run_as_long_as_they_ran(tmp_path: Path) -> None:
    path = tmp_path / "cycles"
    first = job("first", tasks=2, cpu=2, phase="Pending", queue="research")
    with recorder(path, queue("research", weight=3), node("n1", cpu=4), *first.objects) as one:
        one.cycles(3)
        later = job("later", tasks=3, min_available=2, cpu=1, memory="1Gi", phase="Pending")
        one.cluster.submit(created(later.objects, at=3))
        one.cycles(20)
    work = read_workload(path)
    jobs = by_name(work)
    assert jobs.keys() == {"first", "later"}
    assert (jobs["first"].queue, jobs["first"].submitted, jobs["first"].run_seconds) == ("research", 0, 5)
    assert roles(jobs["first"]) == [("worker", 2, {"cpu": 2})]
    assert (jobs["later"].submitted, jobs["later"].run_seconds, jobs["later"].minimum) == (3, 5, 2)
    assert roles(jobs["later"]) == [("worker", 3, {"cpu": 1, "memory": "1Gi"})]
    assert {each.metadata.name for each in work.objects} == {"default", "root", "research", "n1"}
    assert (work.name, work.count) == ("cycles", 2)


def test_groups_of_one_name_one_after_the_other_are_jobs_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "cycles"
    with recorder(path, node("n1", cpu=4)) as one:
        for at in range(3):
            objects = [
                replace(each, metadata=replace(each.metadata, uid=f"{each.metadata.name}-{at}"))
                for each in job("train", tasks=1 + at, cpu=1, phase="Pending").objects
            ]
            one.cluster.submit(created(objects, at=10 * at))
            one.cycles(9)
            for each in objects:
                one.cluster.delete(each)
            one.cycles(1)
    work = read_workload(path)
    assert [(each.name, each.submitted, each.pods, each.run_seconds) for each in work.jobs()] == [
        ("train", 0, 1, 5),
        ("train-2", 10, 2, 5),
        ("train-3", 20, 3, 5),
    ]
    assert work.account.changed == {"a job called like one before it: a number is added": 2}


def test_what_had_not_ended_is_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "cycles"
    short, waits = (job(name, cpu=4, phase="Pending") for name in ("short", "waits"))
    with recorder(path, node("n1", cpu=4), *short.objects) as one:
        one.cycles(2)
        one.cluster.submit(created([*waits.objects, *job("never", cpu=9, phase="Pending").objects], at=2))
        one.cycles(6)
    work = read_workload(path)
    assert by_name(work).keys() == {"short"}
    assert work.account.dropped == {STILL_RUNS: 1, "a job that has not run": 1}
    assumed = read_workload(path, duration=60.0)
    assert {name: each.run_seconds for name, each in by_name(assumed).items()} == {
        "short": 5,
        "waits": 60,
        "never": 60,
    }
    assert assumed.account.changed["a pod that has not ended: 60 s are assumed"] == 2


def test_what_ran_when_the_recording_began_runs_for_the_rest_of_its_time(tmp_path: Path) -> None:
    path = tmp_path / "cycles"
    early = datetime.fromtimestamp(START - 100, UTC)
    group, *pods = job("old", running={"n1": 1}, cpu=1).objects
    assert isinstance(group, PodGroup)
    group = replace(group, metadata=replace(group.metadata, creation_timestamp=early))
    old = [replace(pod, status=replace(pod.status, start_time=early)) for pod in pods if isinstance(pod, Pod)]
    done = job("done", succeeded=1, cpu=1)
    with recorder(path, node("n1", cpu=4), group, *old, *done.objects, run_seconds=4.0) as one:
        one.cycles(10)
    work = read_workload(path)
    (job_again,) = work.jobs()
    assert (job_again.name, job_again.submitted) == ("old", 0)
    assert job_again.run_seconds == 4
    assert work.account.dropped == {"a pod that had ended when the recording began": 1}
    assert work.account.changed == {
        "a pod that ran when the recording began: it runs for the rest of its time": 1,
        "a job that was there when the recording began: it comes at once": 1,
    }


def test_what_was_evicted_counts_once_as_the_pod_that_did_the_work(tmp_path: Path) -> None:
    path = tmp_path / "cycles"
    files = [PREEMPTION / name for name in ("cluster.yaml", "jobs.yaml")]
    done = called("run", *files, "--conf", PREEMPTION / "scheduler.conf", "--record", path, "--until", "300")
    assert done.returncode == 0, done.stderr
    work = read_workload(path)
    jobs = by_name(work)
    assert {name: (each.pods, each.run_seconds) for name, each in jobs.items()} == {
        "sweep": (4, 60),
        "hotfix": (2, 15),
    }
    assert (jobs["hotfix"].submitted, jobs["hotfix"].priority_class) == (10, "urgent")
    assert work.account.dropped == {"a pod that was evicted: what it did until then is not counted": 2}
    values = {each.metadata.name: each.value for each in work.objects if isinstance(each, PriorityClass)}
    assert values == {"urgent": 1000, "whenever": 10}


def test_a_recording_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "cycles"
    with recorder(path, node("n1", cpu=4), *job("first", cpu=1, phase="Pending").objects) as one:
        one.cycles(20)
    content = path.read_bytes()
    path.write_bytes(content[:-300])
    work = read_workload(path)
    assert by_name(work).keys() == {"first"}
    assert [note.partition(": ")[2] for note in work.account.changed] == [
        "the last record is only half there and left out: was the process killed?"
    ]


def test_a_file_that_continues_another_is_read_with_it(tmp_path: Path) -> None:
    path = tmp_path / "cycles"
    with recorder(path, node("n1", cpu=64), run_seconds=2.0, limit=40_000) as one:
        for at in range(200):
            one.cluster.submit(created(job(f"j{at:03}", cpu=1, phase="Pending").objects, at=at))
            one.cycles(1)
    before = older(path)
    assert before.is_file()
    both, first = (by_name(read_workload(file)).keys() for file in (path, before))
    before.unlink()
    last = by_name(read_workload(path)).keys()
    assert len(first) > 10
    assert len(last) > 10
    assert both >= first | last
    assert len(both) <= len(first | last) + 4, "those that ran when the one file ended and the other began"


def test_nodes_that_came_later_come_later_and_others_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "cycles"
    with recorder(path, node("n1", cpu=4), *job("first", cpu=1, phase="Pending").objects) as one:
        one.cycles(4)
        one.cluster.submit([node("n2", cpu=8)])
        one.cycles(10)
    work = read_workload(path)
    (added,) = work.faults
    assert isinstance(added, NodesAdded)
    assert (added.at, [each.metadata.name for each in added.nodes]) == (4, ["n2"])
    others = read_workload(path, nodes=[node("mine", cpu=1)])
    assert others.faults == ()
    assert {each.metadata.name for each in others.objects} == {"default", "root"}


JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: {name}
  annotations: {{hekla.dev/run-seconds: "{runs}", hekla.dev/arrives-at: "{at}"}}
spec:
  minAvailable: {least}
  schedulerName: volcano
  queue: default
  tasks:
  - name: worker
    replicas: {pods}
    template:
      spec:
        nodeSelector: {{zone: a}}
        containers: [{{name: main, image: none, resources: {{requests: {{cpu: "{cpu}", memory: 1Gi}}}}}}]
---
"""


def told_of(work: Workload) -> dict[str, object]:
    """What both a Job and its pods tell of it."""
    return {
        job.name: (
            job.submitted,
            job.run_seconds,
            job.pods,
            job.minimum,
            roles(job),
            job.roles[0].template.spec.node_selector,
        )
        for job in work.jobs()
    }


def test_what_a_run_records_is_what_was_handed_in(tmp_path: Path) -> None:
    one = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {zone: a}}\n"
    texts = [f"{one}status: {{allocatable: {{cpu: '8', memory: 16Gi, pods: '110'}}}}\n---\n"]
    for at in range(12):
        pods = 1 + at % 3
        texts.append(
            JOB.format(name=f"j{at}", runs=40 + 9 * at, at=7 * at, least=max(1, pods - 1), pods=pods, cpu=2)
        )
    (tmp_path / "jobs.yaml").write_text("".join(texts))
    done = called("run", "jobs.yaml", "--record", "cycles", "--until", "5000", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    recorded, given = (read_workload(tmp_path / name) for name in ("cycles", "jobs.yaml"))
    assert told_of(recorded) == told_of(given)
    assert recorded.account.dropped == {}
    again = called("simulate", "cycles", "-o", "json", folder=tmp_path)
    assert json.loads(again.stdout)["summary"]["completed"] == 12
