"""What pods, PodGroups and Jobs that have ended tell of the work they were."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from traces import roles

from hekla.objects import (
    Condition,
    Manifest,
    Node,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodGroup,
    Queue,
    Toleration,
)
from hekla.objects.batch import (
    JobSpec,
    JobState,
    JobStatus,
    LifecyclePolicy,
    PodTemplate,
    TaskSpec,
    VolcanoJob,
)
from hekla.objects.node import NodeStatus
from hekla.objects.pod import (
    Affinity,
    ClaimSource,
    Container,
    ContainerState,
    ContainerStatus,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    ResourceRequirements,
    Terminated,
    Volume,
)
from hekla.objects.scheduling import PodGroupSpec
from hekla.simulation.workloads import Restart, Submission
from hekla.simulation.workloads.manifests import SCHEDULERS
from hekla.simulation.workloads.past import PastJobs, past_jobs, past_workload
from hekla.testing import node

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
CREATED = timedelta(seconds=-60)
TOLERATED = tuple(
    Toleration(
        key=f"node.kubernetes.io/{what}", operator="Exists", effect="NoExecute", toleration_seconds=300
    )
    for what in ("not-ready", "unreachable")
)
"""What the API server puts into every pod."""


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def ended(
    name: str,
    group: str = "",
    began: float | None = 0,
    over: float | None = 100,
    *,
    phase: str = "Succeeded",
    came: float = -60,
    notes: dict[str, str] | None = None,
    cpu: str = "2",
    **spec: Any,
) -> Pod:
    """A pod as the API server shows it once its container has ended."""
    asked = ResourceRequirements(requests={"cpu": cpu, "memory": "1Gi"})
    token = Volume(name=f"kube-api-access-{name}")
    states = (
        ()
        if over is None
        else (
            ContainerStatus(
                name="main", state=ContainerState(terminated=Terminated(finished_at=after(over)))
            ),
        )
    )
    annotations = {**({"scheduling.k8s.io/group-name": group} if group else {}), **(notes or {})}
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="ml",
            uid=f"u-{name}",
            annotations=annotations,
            creation_timestamp=after(came),
        ),
        spec=PodSpec(
            **{
                "containers": (Container(name="main", image="registry/x:1", resources=asked),),
                "scheduler_name": "volcano",
                "node_name": "n1",
                "volumes": (token,),
                "tolerations": TOLERATED,
                **spec,
            }
        ),
        status=replace(
            Pod().status,
            phase=phase,
            start_time=None if began is None else after(began),
            container_statuses=states,
        ),
    )


def group(name: str, least: int = 1, queue: str = "research", came: float = -30, **more: Any) -> PodGroup:
    meta = ObjectMeta(name=name, namespace="ml", creation_timestamp=after(came), **more)
    return PodGroup(metadata=meta, spec=PodGroupSpec(min_member=least, queue=queue))


def found(*objects: Manifest, **options: Any) -> PastJobs:
    return past_jobs(objects, SCHEDULERS, **options)


def only(past: PastJobs) -> Submission:
    (job,) = past.jobs
    return job


def test_pods_of_a_group_are_a_job() -> None:
    past = found(group("train", least=2), *(ended(f"train-{at}", "train", 0, 100 + at) for at in range(2)))
    job = only(past)
    assert (job.key, job.queue, job.submitted, job.minimum) == (
        "ml/train",
        "research",
        after(-30).timestamp(),
        2,
    )
    assert (job.run_seconds, roles(job)) == (101, [("worker", 2, {"cpu": "2", "memory": "1Gi"})])
    assert job.roles[0].template.spec == replace(
        PodSpec(), containers=job.roles[0].template.spec.containers, scheduler_name="volcano"
    )
    assert (past.dropped, past.changed) == ({}, {})
    assert [round(end) for end in past.ends] == [after(100).timestamp(), after(101).timestamp()]


def test_pods_that_ran_unlike_are_roles_of_their_own() -> None:
    pods = [ended(f"p{at}", "sweep", 0, over) for at, over in enumerate((10, 11, 500, 900))]
    job = only(found(group("sweep"), *pods, ended("big", "sweep", 0, 10, cpu="8")))
    assert [(role.name, role.replicas, role.run_seconds) for role in job.roles] == [
        ("worker", 2, 11),
        ("worker-2", 1, 500),
        ("worker-3", 1, 900),
        ("worker-4", 1, 10),
    ]
    assert (job.pods, job.minimum, job.run_seconds) == (5, 1, 900)


def test_a_lone_pod_is_a_job_under_the_name_of_what_made_it() -> None:
    alone = ended("alone")
    owner = OwnerReference(kind="Job", name="nightly-28", uid="u", controller=True)
    made = replace(
        ended("nightly-28-x7k2p"),
        metadata=replace(ended("nightly-28-x7k2p").metadata, owner_references=(owner,)),
    )
    jobs = found(alone, made).jobs
    assert [(job.name, job.queue, job.submitted) for job in jobs] == [
        ("alone", "default", after(-60).timestamp()),
        ("nightly-28", "default", after(-60).timestamp()),
    ]


def test_an_end_without_a_stamp_of_the_container_is_that_of_the_last_condition() -> None:
    pod = ended("alone", over=None)
    conditions = (
        Condition(type="PodScheduled", status="True", last_transition_time=after(-1)),
        Condition(type="Ready", status="False", reason="PodCompleted", last_transition_time=after(40)),
    )
    pod = replace(pod, status=replace(pod.status, conditions=conditions))
    assert only(found(pod)).run_seconds == 40


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (ended("p", over=None, phase="Running"), "a job of which pods still run: its run time is not known"),
        (ended("p", began=None, over=None, phase="Pending", node_name=""), "a job that has not run"),
        (ended("p", scheduler_name="default-scheduler"), "a pod of another scheduler (default-scheduler)"),
    ],
)
def test_what_is_no_past_job_is_left_out_and_told(pod: Pod, reason: str) -> None:
    past = found(pod)
    assert (past.jobs, past.dropped) == ([], {reason: 1})


def test_a_group_of_which_one_pod_still_runs_has_not_ended() -> None:
    pods = [ended("a", "train"), ended("b", "train", over=None, phase="Running")]
    assert found(group("train"), *pods).jobs == []
    assumed = found(group("train"), *pods, duration=50.0)
    assert [role.run_seconds for role in only(assumed).roles] == [50, 100]
    assert assumed.changed == {"a pod that has not ended: 50 s are assumed": 1}


def test_a_pod_that_has_not_ended_may_state_its_run_time() -> None:
    past = found(ended("p", over=None, phase="Running", notes={"hekla.dev/run-seconds": "77"}))
    assert only(past).run_seconds == 77
    assert past.changed == {"a pod that has not ended: the run time that it states is taken": 1}


def test_jobs_of_one_name_get_numbers_that_no_other_has() -> None:
    owners = [OwnerReference(kind="Job", name=name, uid=name, controller=True) for name in ("a", "a-2", "a")]
    pods = [ended(f"p{at}", f"g{at}") for at in range(3)]
    groups = [group(f"g{at}", owner_references=(owner,)) for at, owner in enumerate(owners)]
    past = found(*groups, *pods)
    assert [job.name for job in past.jobs] == ["a", "a-2", "a-3"]
    assert past.changed == {"a job called like one before it: a number is added": 1}


def volcano_job(phase: str = "Completed", **status: Any) -> VolcanoJob:
    asked = ResourceRequirements(requests={"cpu": "4"})
    template = PodTemplate(spec=PodSpec(containers=(Container(name="main", image="x", resources=asked),)))
    return VolcanoJob(
        metadata=ObjectMeta(name="train", namespace="ml", uid="u-train", creation_timestamp=after(-300)),
        spec=JobSpec(
            scheduler_name="volcano",
            queue="research",
            min_available=3,
            running_estimate="1h",
            policies=(LifecyclePolicy(event="PodFailed", action="RestartJob"),),
            tasks=(
                TaskSpec(name="ps", replicas=1, template=template),
                TaskSpec(name="worker", replicas=2, template=template),
            ),
        ),
        status=JobStatus(state=JobState(phase=phase, last_transition_time=after(700)), **status),
    )


def of_job(name: str, task: str, over: float) -> Pod:
    return ended(
        name, "train-u", 0, over, notes={"volcano.sh/job-name": "train", "volcano.sh/task-spec": task}
    )


def test_a_job_tells_all_but_what_its_pods_know_better() -> None:
    pods = [
        of_job("t-ps-0", "ps", 650),
        of_job("t-worker-0", "worker", 600),
        of_job("t-worker-1", "worker", 602),
    ]
    past = found(volcano_job(running_duration="11m40s"), group("train-u"), *pods)
    job = only(past)
    assert (job.key, job.queue, job.submitted) == ("ml/train", "research", after(-300).timestamp())
    assert (job.run_seconds, job.estimate, job.minimum, job.restart) == (650, 3600, 3, Restart.JOB)
    assert [(role.name, role.replicas, role.run_seconds) for role in job.roles] == [
        ("ps", 1, 650),
        ("worker", 2, 602),
    ]
    assert past.dropped == {}


def test_a_job_whose_pods_are_gone_tells_how_long_it_ran() -> None:
    job = only(found(volcano_job("Failed", running_duration="11m40s")))
    assert (job.run_seconds, roles(job)) == (700, [("ps", 1, {"cpu": "4"}), ("worker", 2, {"cpu": "4"})])
    assert job.job is None


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (volcano_job(), "a Job that has ended, but it is not known any more how long it ran"),
        (volcano_job("Running", running_duration="1s"), "a Job that has not ended (Running)"),
        (volcano_job(""), "a Job that has not ended (new)"),
    ],
)
def test_a_job_that_does_not_tell_is_left_out_and_told(job: VolcanoJob, reason: str) -> None:
    past = found(job)
    assert (past.jobs, past.dropped) == ([], {reason: 1})


def near(label: str) -> Affinity:
    term = PodAffinityTerm(topology_key=label)
    return Affinity(pod_affinity=PodAffinity(required=(term,)))


def test_what_schedulers_look_at_stays_and_what_cannot_be_played_goes() -> None:
    claim = Volume(name="data", persistent_volume_claim=ClaimSource(claim_name="dataset"))
    plain = only(found(ended("p", node_selector={"zone": "a"}, volumes=(claim,), priority=7)))
    assert plain.roles[0].template.spec.node_selector == {"zone": "a"}
    assert (plain.roles[0].template.spec.volumes, plain.roles[0].template.spec.node_name) == ((), "")
    special = only(found(ended("p", affinity=near("rack"), notes={"volcano.sh/preemptable": "true"})))
    assert special.roles[0].template.spec.affinity == near("rack")
    assert special.roles[0].template.metadata.annotations == {"volcano.sh/preemptable": "true"}
    assert special.roles[0].template.spec.containers[0].image == "registry/x:1"


def test_the_workload_begins_with_its_first_job_on_the_cluster_as_it_is() -> None:
    objects: Sequence[Manifest] = [
        replace(
            node("n1", cpu=8),
            status=NodeStatus(allocatable={"cpu": "8"}, conditions=(Condition(type="Ready"),)),
        ),
        Queue(metadata=ObjectMeta(name="research", uid="u", creation_timestamp=NOON)),
        group("late", came=100, queue="gone"),
        ended("late-0", "late", priority_class_name="urgent", priority=1000),
        group("early", came=0),
        ended("early-0", "early"),
    ]
    work = past_workload(found(*objects), objects, "history")
    assert [(job.name, job.submitted) for job in work.jobs()] == [("early", 0), ("late", 100)]
    assert [(type(each).__name__, each.metadata) for each in work.objects] == [
        ("Node", ObjectMeta(name="n1")),
        ("Queue", ObjectMeta(name="research")),
        ("Queue", ObjectMeta(name="gone")),
        ("PriorityClass", ObjectMeta(name="urgent")),
    ]
    (machine,) = (each for each in work.objects if isinstance(each, Node))
    assert machine.status.conditions == ()
