"""Volcano Jobs: expanded as their controller does, changed in their own words, refused as admission does."""

from __future__ import annotations

import pytest

from hekla.errors import InputError
from hekla.insight.plan import Plan, PlannedStart, Planner, admitted_state, plan
from hekla.objects import Manifest
from hekla.objects.read import read_text
from hekla.testing.builders import job, node, priority_class, queue
from hekla.testing.pods import pod, stamped
from hekla.testing.story import conf_of

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  tasks:
  - {name: chief, replicas: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}
  - {name: worker, replicas: 6, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}
"""
CLUSTER = stamped([queue("default"), queue("research"), node("n1", cpu=8), node("n2", cpu=4)])


def read(text: str) -> list[Manifest]:
    reading = read_text(text, "job.yaml")
    assert not reading.complaints
    return reading.objects


def planned(text: str, tries: int = 100) -> Plan:
    [answer] = plan(CLUSTER, read(text), conf_of(tiers=("gang", "predicates, nodeorder")), tries=tries)
    return answer


def test_a_job_is_expanded_and_its_pods_have_their_names() -> None:
    answer = planned(JOB.replace("replicas: 6", "replicas: 2"))
    assert (answer.job, answer.queue, answer.start) == ("job default/train", "default", PlannedStart.NOW)
    assert sorted(answer.placements) == [
        f"default/train-{name}" for name in ("chief-0", "worker-0", "worker-1")
    ]


def test_changes_are_told_in_the_words_of_the_job() -> None:
    # 12 cores: the chief and five workers take 11, the sixth would make it 13.
    changes = {each.kind: each.change for each in planned(JOB).suggestions}
    assert changes == {
        "minimum": "spec.minAvailable: 6 (was 7)",
        "pods": "spec.tasks[1].replicas: 5 (was 6)",
        "request": "spec.tasks[1].template.spec.containers[0].resources.requests[cpu]: 1 (was 2)",
    }


def test_minimums_that_are_written_down_must_be_lowered_too() -> None:
    stated = JOB.replace("  tasks:", "  minAvailable: 7\n  tasks:").replace(
        "replicas: 6", "replicas: 6, minAvailable: 6"
    )
    change = next(each.change for each in planned(stated).suggestions if each.kind == "pods")
    assert change == (
        "spec.tasks[1].replicas: 5 (was 6), spec.minAvailable: 6 (was 7),"
        " spec.tasks[1].minAvailable: 5 (was 6)"
    )


def test_a_limit_that_equals_the_request_goes_down_with_it() -> None:
    limited = JOB.replace("requests: {cpu: 2}", "requests: {cpu: 2}, limits: {cpu: 2}")
    change = next(each.change for each in planned(limited).suggestions if each.kind == "request")
    assert change.endswith("containers[0].resources.requests[cpu] and limits[cpu]: 1 (was 2)")


def test_partitions_go_as_a_whole() -> None:
    parts = "replicas: 8, partitionPolicy: {totalPartitions: 4, partitionSize: 2}"
    change = next(
        each.change for each in planned(JOB.replace("replicas: 6", parts)).suggestions if each.kind == "pods"
    )
    assert change == (
        "spec.tasks[1].replicas: 4 (was 8), spec.tasks[1].partitionPolicy.totalPartitions: 2 (was 4)"
    )


def test_a_task_that_depends_on_another_does_not_exist_at_the_start() -> None:
    text = JOB.replace("replicas: 6", "replicas: 6, minAvailable: 0, dependsOn: {name: [chief]}")
    answer = planned(text.replace("  tasks:", "  minAvailable: 1\n  tasks:"))
    assert answer.start is PlannedStart.NOW
    assert answer.placements.keys() == {"default/train-chief-0"}


def test_jobs_that_wait_in_the_state_take_part_with_their_pods() -> None:
    waiting = [*read(JOB.replace("name: train", "name: first")), node("n1", cpu=13)]
    state = admitted_state(waiting)
    assert state.complaints == []
    conf = conf_of(tiers=("gang", "predicates"))
    [answer] = plan(state.objects, read(JOB), conf, tries=0)
    assert answer.start is PlannedStart.NOT
    assert "not enough cpu" in answer.shortages[0].reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (JOB.replace("spec:\n  tasks", "spec:\n  queue: reserach\n  tasks", 1), 'did you mean "research"?'),
        (JOB.replace("replicas: 1", "replicas: 0").replace("replicas: 6", "replicas: 0"), "nothing to start"),
        (JOB.replace("replicas: 6", "replicas: -1"), '"-1" is negative'),
        (JOB.replace("replicas: 6", "replicas: 1000000"), "too many"),
        (JOB.replace("name: worker", "name: chief"), 'there are two tasks "chief"'),
        (JOB.replace("spec:\n  tasks", "spec:\n  priorityClassName: x\n  tasks", 1), 'no priority class "x"'),
        ("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: e}\n", "no task"),
        ("apiVersion: v1\nkind: Namespace\nmetadata: {name: e}\n", "no job to plan"),
    ],
)
def test_a_job_that_a_cluster_would_refuse_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        planned(text)


@pytest.mark.parametrize(
    ("manifests", "message"),
    [
        (job("train", queue="nowhere").objects, 'no queue "nowhere"; known queues: default, research'),
        (job("train", tasks=2, min_available=3).objects, '"3" is above the "2" pods'),
        (job("train").objects[:1], "pods that name it: none"),
        (job("train").objects[1:], 'names pod group "default/train", which is not in the file'),
        ([pod("solo", pod_priority_class="x")], 'no priority class "x"'),
    ],
)
def test_groups_and_pods_that_cannot_be_planned(manifests: list[Manifest], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(CLUSTER, manifests, conf_of())


def test_a_pod_of_another_scheduler_is_not_planned() -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {%s containers: [{name: c}]}}"
    with pytest.raises(InputError, match='names no scheduler; write "volcano"'):
        planned(text % "")
    with pytest.raises(InputError, match='"default-scheduler" schedules it'):
        planned(text % "schedulerName: default-scheduler,")


def test_what_is_there_already_is_not_planned_again() -> None:
    old = job("old", cpu=1, running={"n1": 1})
    cluster = [*CLUSTER, *old.objects]
    with pytest.raises(InputError, match="podgroup default/old is in the cluster already"):
        plan(cluster, old.objects, conf_of())
    state = admitted_state([*CLUSTER, *read(JOB)])
    with pytest.raises(InputError, match="job default/train is in the cluster already"):
        plan(state.objects, read(JOB), conf_of())


def test_a_refused_job_leaves_the_planner_usable() -> None:
    planner = Planner([*CLUSTER, priority_class("p", 1)], conf_of())
    with pytest.raises(InputError):
        planner.plan(job("train", queue="nowhere").objects)
    assert planner.plan(job("train", cpu=1).objects)[0].start is PlannedStart.NOW
