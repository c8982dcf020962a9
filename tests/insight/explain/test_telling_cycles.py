"""Which cycle explanations are told of, and which explanations say the same."""

from __future__ import annotations

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster
from hekla.engine.explain.explanation import Explanation
from hekla.insight.explain import alike, cycle_that_tells
from hekla.objects import Manifest, VolcanoJob
from hekla.objects.batch import DependsOn, JobSpec, PodTemplate, TaskSpec
from hekla.objects.meta import ObjectMeta
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.scheduler.loop import Loop
from hekla.scheduler.outcome import explanations
from hekla.testing.builders import job, node, queue
from hekla.testing.story import conf_of


def task(name: str, replicas: int, cpu: int, after: str = "") -> TaskSpec:
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu}))
    return TaskSpec(
        name=name,
        replicas=replicas,
        depends_on=DependsOn(name=(after,)) if after else None,
        template=PodTemplate(spec=PodSpec(containers=(container,))),
    )


def volcano_job(name: str, *tasks: TaskSpec) -> VolcanoJob:
    return VolcanoJob(metadata=ObjectMeta(name=name, namespace="default"), spec=JobSpec(tasks=tasks))


def loop_of(*objects: Manifest, actions: str = "enqueue, allocate") -> tuple[EmbeddedCluster, Loop]:
    clock = VirtualClock()
    cluster = EmbeddedCluster([queue("default"), *objects], clock)
    return cluster, Loop(cluster, conf_of(actions, ("gang", "predicates")), clock)


def test_a_job_is_explained_when_its_pods_were_tried() -> None:
    loop = loop_of(node("n1", cpu=4), volcano_job("train", task("worker", 3, cpu=2)))
    [told] = explanations(cycle_that_tells(*loop))
    assert any("not enough cpu (asked 2, most free 0)" in reason for reason in told.reasons)


def test_so_many_cycles_are_as_many() -> None:
    loop = loop_of(node("n1", cpu=4), volcano_job("train", task("worker", 3, cpu=2)))
    [told] = explanations(cycle_that_tells(*loop, 1))
    assert told.reasons[-1] == "pods: 0 of 3 exist; a job's pods are made once it is admitted"


def test_what_is_told_is_what_every_later_cycle_would_tell() -> None:
    parts = (volcano_job("first", task("w", 2, cpu=2)), volcano_job("train", task("w", 3, cpu=2)))
    cluster, loop = loop_of(node("n1", cpu=6), *parts)
    told = explanations(cycle_that_tells(cluster, loop))
    assert [each.job for each in told] == ["default/train"]
    assert explanations(loop.step()) == told
    assert cluster.is_settled()


def test_a_job_that_is_admitted_when_its_turn_is_over_is_tried_in_the_next_cycle() -> None:
    pods = job("train", tasks=2, cpu=1, phase="Pending").objects
    loop = loop_of(node("n1", cpu=1), *pods, actions="allocate, enqueue")
    [told] = explanations(cycle_that_tells(*loop))
    assert any("not enough cpu" in reason for reason in told.reasons)


def test_pods_that_wait_for_other_pods_are_not_waited_for() -> None:
    first, second = task("first", 2, cpu=3), task("second", 1, cpu=1, after="first")
    cluster, loop = loop_of(node("n1", cpu=4), volcano_job("train", first, second))
    cycle_that_tells(cluster, loop)
    assert loop.cycles < 6


def explanation(name: str, *reasons: str, queue: str = "default") -> Explanation:
    return Explanation(f"default/{name}", queue, "Inqueue", "admitted", reasons)


def test_explanations_that_differ_in_names_alone_are_told_once() -> None:
    told = alike(
        explanation(f"sweep-{at}", f"allocate: sweep-{at}-worker-0: 0/3 nodes fit: 3 not enough cpu")
        for at in range(7)
    )
    assert [str(each) for each in told] == [
        "default/sweep-0 and 6 more like it: admitted\n"
        "  - allocate: sweep-0-worker-0: 0/3 nodes fit: 3 not enough cpu"
    ]
    assert told[0].others == [f"default/sweep-{at}" for at in range(1, 7)]


def test_another_reason_queue_or_amount_is_told_by_itself() -> None:
    told = alike(
        [
            explanation("a", "not enough cpu (asked 2)"),
            explanation("b", "not enough cpu (asked 3)"),
            explanation("c", "not enough cpu (asked 2)", queue="other"),
            explanation("d", "not enough cpu (asked 2)"),
        ]
    )
    assert [(each.first.job, each.others) for each in told] == [
        ("default/a", ["default/d"]),
        ("default/b", []),
        ("default/c", []),
    ]


def test_a_name_inside_a_word_is_no_name() -> None:
    told = alike([explanation("a", "a task of a job"), explanation("b", "b task of b job")])
    assert told[0].others == ["default/b"]
    apart = alike([explanation("a", "a task"), explanation("b", "b tbsk")])
    assert [each.others for each in apart] == [[], []]
