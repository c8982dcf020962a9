"""Which action answers which event, at once or later, and what is tried again."""

from __future__ import annotations

import pytest
from little_cluster import LittleCluster, job, policy, task
from msgspec.structs import replace

from hekla.controllers import JobOptions
from hekla.controllers.policy import Event, PolicyAction, PolicyRequest, answer_to
from hekla.objects.batch import JobVolume, LifecyclePolicy

EXIT_3 = LifecyclePolicy(exit_code=3, action="AbortJob")
FAILED = policy("PodFailed", "RestartJob")


def started(*policies: LifecyclePolicy, of_task: tuple[LifecyclePolicy, ...] = (), **fields) -> LittleCluster:
    cluster = fields.pop("cluster", None) or LittleCluster()
    cluster.submit(job("train", task("w", 2, policies=of_task), policies=policies, **fields))
    cluster.move_group("Inqueue")
    return cluster


def failure(**fields) -> PolicyRequest:
    return PolicyRequest(
        "default/train", Event.POD_FAILED, "u1", task="w", pod="train-w-0", exit_code=3, **fields
    )


@pytest.mark.parametrize(
    ("story", "of_task", "of_job", "action"),
    [
        ("nothing matches", (), (), PolicyAction.SYNC),
        ("the task comes first", (policy("PodFailed", "RestartTask"),), (FAILED,), PolicyAction.RESTART_TASK),
        (
            "what the task does not match falls through",
            (policy("PodEvicted", "RestartPod"),),
            (FAILED,),
            PolicyAction.RESTART,
        ),
        ("the star matches", (), (policy("*", "TerminateJob"),), PolicyAction.TERMINATE),
        ("an exit code in front wins", (), (EXIT_3, FAILED), PolicyAction.ABORT),
        ("an event in front wins", (), (FAILED, EXIT_3), PolicyAction.RESTART),
        (
            "another exit code does not match",
            (),
            (LifecyclePolicy(exit_code=4, action="AbortJob"),),
            PolicyAction.SYNC,
        ),
        (
            "a partition that is none cannot be restarted",
            (),
            (policy("*", "RestartPartition"),),
            PolicyAction.SYNC,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_match_wins(story, of_task, of_job, action):
    train = job("train", task("w", 2, policies=of_task), policies=of_job)
    assert answer_to(train, failure()).action == action


def test_a_pod_of_an_earlier_run_has_no_say():
    train = job("train", task("w", 2), policies=(FAILED,))
    later = replace(train, status=replace(train.status, version=1))
    assert answer_to(later, failure()).action == PolicyAction.SYNC
    assert answer_to(later, failure(version=1)).action == PolicyAction.RESTART


def test_a_pod_of_another_job_of_that_name_has_no_say():
    train = job("train", task("w", 2), policies=(FAILED,), uid="u2")
    assert answer_to(train, failure()).action == PolicyAction.SYNC


def test_a_star_without_timeout_leaves_pending_pods_alone():
    cluster = started(policy("*", "RestartJob"))
    assert (cluster.phase(), cluster.status().retry_count) == ("Pending", 0)


def test_pending_too_long_restarts_the_task_and_running_in_time_does_not():
    in_time = started(policy("*", "RestartJob"), of_task=(policy("PodPending", "RestartTask", "10m"),))
    in_time.wait(minutes=3)
    in_time.move_pods("Running")
    in_time.wait(minutes=30)
    assert (in_time.phase(), in_time.status().retry_count) == ("Running", 0)
    in_time.move_pods("Failed", "train-w-0")
    assert in_time.status().retry_count == 1

    late = started(of_task=(policy("PodPending", "RestartTask", "10m"),))
    late.wait(minutes=9)
    assert late.status().retry_count == 0
    late.wait(minutes=1)
    assert late.status().retry_count == 1


def test_running_pods_seen_at_start_up_are_not_pending():
    cluster = started(policy("PodPending", "RestartJob", "1m"))
    cluster.move_pods("Running")
    pod = cluster.pods_by_key["default/train-w-0"]
    cluster.tell(lambda: cluster.controller.pod_added(cluster, pod, cluster.now))
    cluster.wait(minutes=5)
    assert (cluster.phase(), cluster.status().retry_count) == ("Running", 0)


def test_a_delayed_answer_waits_even_when_all_pods_have_failed():
    cluster = started(policy("PodFailed", "RestartJob", "1m"))
    cluster.move_pods("Running")
    cluster.move_pods("Failed")
    assert cluster.phase() == "Running"
    cluster.wait(minutes=1)
    assert (cluster.status().retry_count, cluster.status().version) == (1, 1)


def test_a_pod_that_recovers_calls_its_timer_off():
    cluster = started(policy("PodEvicted", "RestartJob", "1m"))
    cluster.move_pods("Running")
    cluster.evict("train-w-0")
    cluster.move_group("Running")
    cluster.move_pods("Running", "train-w-0")
    cluster.wait(minutes=2)
    assert (cluster.phase(), cluster.status().retry_count) == ("Running", 0)


def test_a_second_action_replaces_the_first():
    cluster = started(policy("PodPending", "AbortJob", "10m"), policy("PodFailed", "RestartJob", "30m"))
    cluster.move_pods("Failed", "train-w-0")
    cluster.move_pods("Running", "train-w-1")
    cluster.wait(minutes=29)
    assert cluster.phase() == "Running"
    cluster.wait(minutes=1)
    assert cluster.status().retry_count == 1


def test_a_task_is_completed_when_all_its_pods_have_succeeded():
    cluster = LittleCluster()
    completes = (policy("TaskCompleted", "CompleteJob"),)
    cluster.submit(job("train", task("chief", 2, policies=completes), task("ps", 1)))
    cluster.move_group("Inqueue")
    cluster.move_pods("Running")
    cluster.move_pods("Succeeded", "train-chief-0")
    assert cluster.phase() == "Running"
    cluster.move_pods("Succeeded", "train-chief-1")
    assert cluster.phase() == "Completed"
    assert "train-ps-0" not in cluster.pod_phases()


def test_a_task_fails_when_its_containers_restart_too_often():
    cluster = started(policy("TaskFailed", "TerminateJob"))
    cluster.move_pods("Running")
    cluster.restart_containers("train-w-0", 2)
    assert cluster.phase() == "Running"
    cluster.restart_containers("train-w-1", 1)
    assert cluster.phase() == "Terminated"


def test_an_unknown_group_is_answered_also_after_a_restart():
    cluster = started(policy("Unknown", "RestartJob"))
    cluster.move_pods("Running")
    for retries in (1, 2):
        cluster.move_group("Unknown")
        assert cluster.status().retry_count == retries
        cluster.move_group("Inqueue")
        cluster.move_pods("Running")


def test_a_missing_queue_ends_the_job_when_patience_runs_out():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 1), queue="ghost"))
    assert 'queue "ghost"' in cluster.events[0].message
    cluster.wait(seconds=163)
    assert cluster.phase() == ""
    cluster.wait(seconds=1)
    assert cluster.phase() == "Terminated"


def test_a_queue_that_comes_in_time_saves_the_job():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 1), queue="late"))
    cluster.wait(seconds=10)
    cluster.queues["late"] = cluster.queues["default"]
    cluster.wait(hours=1)
    assert cluster.phase() == "Pending"
    assert cluster.controller.next_due() is None


def test_a_job_on_its_way_out_is_not_tried_again():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 1), queue="ghost"))
    train = cluster.jobs["default/train"]
    leaving = replace(train, metadata=replace(train.metadata, deletion_timestamp=cluster.now))
    cluster.jobs["default/train"] = leaving
    cluster.wait(hours=1)
    assert (cluster.phase(), cluster.controller.next_due()) == ("", None)


def test_patience_can_be_endless():
    cluster = LittleCluster(JobOptions(repeats=None))
    cluster.submit(job("train", task("w", 1), queue="ghost"))
    cluster.wait(hours=2)
    assert cluster.phase() == ""


def test_a_pod_group_that_is_refused_for_long_ends_the_job():
    cluster = LittleCluster()
    cluster.refuses_pod_groups = True
    cluster.submit(job("train", task("w", 1)))
    cluster.wait(seconds=150)
    assert cluster.phase() == "Pending"
    cluster.wait(hours=1)
    assert cluster.phase() == "Terminated"


def test_a_claim_that_does_not_exist_is_waited_for():
    cluster = LittleCluster()
    volume = JobVolume(mount_path="/data", volume_claim_name="data")
    cluster.submit(job("train", task("w", 1), volumes=(volume,)))
    assert cluster.events[0].reason == "PVCError"
    cluster.claims.add("default/data")
    cluster.wait(seconds=1)
    cluster.move_group("Inqueue")
    [pod] = cluster.pods_by_key.values()
    assert [volume.persistent_volume_claim.claim_name for volume in pod.spec.volumes] == ["data"]
