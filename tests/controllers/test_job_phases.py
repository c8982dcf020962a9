"""A Job through its phases: the verified traces, with the deliberate differences named."""

from __future__ import annotations

import pytest
from little_cluster import LittleCluster, job, open_queue_named, policy, task
from msgspec.structs import replace

from hekla.controllers import DeletePodGroup, JobOptions, pod_group_of
from hekla.objects import Condition, keys
from hekla.objects.batch import DependsOn, PartitionPolicy
from hekla.objects.scheduling import ExtendCluster


def running(*policies, cluster: LittleCluster | None = None, **fields) -> LittleCluster:
    """One task w of two pods, both running."""
    cluster = cluster or LittleCluster()
    cluster.submit(job("train", task("w", 2), policies=policies, **fields))
    cluster.move_group("Inqueue")
    cluster.move_pods("Running")
    return cluster


def run_again(cluster: LittleCluster) -> None:
    cluster.move_group("Inqueue")
    cluster.move_pods("Running")


def test_a_new_job_gets_a_pod_group_and_no_pods():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 2)))
    assert cluster.phase() == "Pending"
    assert cluster.pod_groups["default/train-u1"].status.phase == ""
    assert cluster.pod_phases() == {}


def test_pods_come_only_once_the_group_is_admitted():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 2)))
    cluster.move_group("Pending")
    assert cluster.pod_phases() == {}
    cluster.move_group("Inqueue")
    assert cluster.pod_phases() == {"train-w-0": "Pending", "train-w-1": "Pending"}
    assert (cluster.phase(), cluster.status().pending) == ("Pending", 2)


def test_a_job_runs_when_its_minimum_does():
    cluster = running()
    assert (cluster.phase(), cluster.status().running, cluster.status().version) == ("Running", 2, 0)


def test_a_job_that_needs_no_pod_runs_before_it_has_one():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 2, min_available=0)))
    assert (cluster.phase(), cluster.pod_phases()) == ("Running", {})
    assert [condition.status for condition in cluster.status().conditions] == ["Pending", "Running"]


def test_a_restart_deletes_all_pods_and_queues_again_from_the_end():
    cluster = running(policy("PodFailed", "RestartJob"), cluster=LittleCluster(graceful=True))
    first = cluster.pod_groups["default/train-u1"].metadata.uid
    cluster.move_pods("Failed", "train-w-0")
    status = cluster.status()
    assert (status.state.phase, status.version, status.retry_count) == ("Restarting", 1, 1)
    assert (status.terminating, status.running, status.failed) == (2, 0, 0)
    group = cluster.pod_groups["default/train-u1"]
    assert (group.metadata.uid != first, group.status.phase) == (True, "")
    cluster.bury()
    assert cluster.phase() == "Restarting"  # the counters are the stored ones until the group is admitted
    cluster.move_group("Inqueue")
    assert (cluster.phase(), cluster.status().pending) == ("Pending", 2)
    assert {pod.metadata.annotations[keys.JOB_VERSION] for pod in cluster.pods_by_key.values()} == {"1"}


def test_three_retries_are_three_runs_and_the_last_failed_pod_is_kept():
    cluster = running(policy("PodFailed", "RestartJob"))
    for _ in range(2):
        cluster.move_pods("Failed", "train-w-0")
        assert cluster.pod_phases() == {}
        run_again(cluster)
    cluster.move_pods("Failed", "train-w-0")
    assert cluster.pod_phases() == {"train-w-0": "Failed"}
    # Volcano makes a PodGroup in the pass that sets Failed, and deletes it in the next; we make none.
    assert cluster.pod_groups == {}
    trace = cluster.trace()
    assert trace[:10] == [
        ("Pending", 0, 0),
        ("Running", 0, 0),
        ("Restarting", 1, 1),
        ("Pending", 1, 1),
        ("Running", 1, 1),
        ("Restarting", 2, 2),
        ("Pending", 2, 2),
        ("Running", 2, 2),
        ("Restarting", 3, 3),
        ("Failed", 3, 3),
    ]
    # Every later event raises the version, and nothing else.
    assert {(phase, retries) for phase, _, retries in trace[10:]} == {("Failed", 3)}


@pytest.mark.parametrize(
    ("options", "succeeded"), [(JobOptions(), 2), (JobOptions(zero_counters_after_kill=True), 0)]
)
def test_a_completed_job_keeps_its_pods_and_gives_up_its_group(options, succeeded):
    cluster = running(cluster=LittleCluster(options))
    cluster.move_pods("Succeeded")
    status = cluster.status()
    assert (status.state.phase, status.version, status.succeeded) == ("Completed", 1, succeeded)
    assert cluster.pod_groups == {}
    assert cluster.pod_phases() == {"train-w-0": "Succeeded", "train-w-1": "Succeeded"}


def test_restarting_one_pod_keeps_the_group_and_counts_a_retry():
    cluster = running(policy("PodFailed", "RestartPod"), cluster=LittleCluster(graceful=True))
    group = cluster.pod_groups["default/train-u1"].metadata.uid
    cluster.move_group("Running")
    cluster.move_pods("Failed", "train-w-0")
    restarting = next(status for status in cluster.history if status.state.phase == "Restarting")
    assert (restarting.retry_count, restarting.version, restarting.terminating) == (1, 0, 1)
    assert (restarting.running, restarting.failed) == (0, 0)
    cluster.bury()
    assert cluster.pod_groups["default/train-u1"].metadata.uid == group
    assert cluster.phase() == "Pending"
    cluster.move_pods("Running", "train-w-0")
    assert cluster.phase() == "Running"


def test_restarting_a_partition_spares_the_others():
    partitioned = task(
        "w", 4, partition_policy=PartitionPolicy(total_partitions=2, partition_size=2, min_partitions=1)
    )
    cluster = LittleCluster()
    cluster.submit(job("train", partitioned, policies=(policy("PodFailed", "RestartPartition"),)))
    cluster.move_group("Inqueue")
    cluster.move_pods("Running")
    cluster.move_pods("Failed", "train-w-3")
    assert cluster.pod_phases() == {
        "train-w-0": "Running",
        "train-w-1": "Running",
        "train-w-2": "Pending",
        "train-w-3": "Pending",
    }


def test_two_resumes_end_a_job_of_two_retries():
    cluster = running(max_retry=2)
    cluster.command("default/train", "AbortJob")
    assert cluster.phase() == "Aborted"
    cluster.command("default/train", "ResumeJob")
    assert cluster.phase() == "Pending"
    run_again(cluster)
    cluster.command("default/train", "AbortJob")
    cluster.command("default/train", "ResumeJob")
    assert cluster.phase() == "Failed"


def test_a_resume_can_be_free():
    cluster = running(max_retry=1, cluster=LittleCluster(JobOptions(resume_is_retry=False)))
    cluster.command("default/train", "AbortJob")
    cluster.command("default/train", "ResumeJob")
    assert (cluster.phase(), cluster.status().retry_count) == ("Pending", 0)


def test_aborting_waits_for_the_last_pod():
    cluster = running(cluster=LittleCluster(graceful=True))
    cluster.command("default/train", "AbortJob")
    assert (cluster.phase(), cluster.status().terminating) == ("Aborting", 2)
    cluster.bury()
    assert cluster.phase() == "Aborted"


@pytest.mark.parametrize(
    ("action", "end"), [("AbortJob", "Aborted"), ("CompleteJob", "Completed"), ("TerminateJob", "Terminated")]
)
def test_a_restarting_job_can_be_stopped(action, end):
    cluster = running(policy("PodFailed", "RestartJob"), cluster=LittleCluster(graceful=True))
    cluster.move_pods("Failed", "train-w-0")
    assert cluster.phase() == "Restarting"
    cluster.command("default/train", action)
    cluster.bury()
    assert cluster.phase() == end


def test_a_resumed_job_waits_for_its_group_though_a_pod_had_succeeded():
    cluster = running(min_available=1)
    cluster.move_pods("Succeeded", "train-w-0")
    cluster.command("default/train", "AbortJob")
    assert (cluster.phase(), cluster.status().succeeded) == ("Aborted", 1)
    cluster.command("default/train", "ResumeJob")
    assert (cluster.phase(), cluster.status().succeeded) == ("Pending", 0)


def test_enough_successes_complete_the_job_and_end_the_rest():
    cluster = running(min_success=1, min_available=1)
    cluster.move_pods("Succeeded", "train-w-0")
    assert cluster.phase() == "Completed"
    assert cluster.pod_phases() == {"train-w-0": "Succeeded"}


def test_a_job_short_of_successes_fails():
    cluster = running(min_success=2, min_available=1)
    cluster.move_pods("Succeeded", "train-w-0")
    cluster.move_pods("Failed", "train-w-1")
    assert cluster.phase() == "Failed"


def test_a_task_short_of_its_minimum_fails_the_job():
    cluster = LittleCluster()
    cluster.submit(
        job("train", task("a", 2, min_available=0), task("b", 1, min_available=1), min_available=1)
    )
    cluster.move_group("Inqueue")
    cluster.move_pods("Running")
    cluster.move_pods("Succeeded", "train-a-0", "train-a-1")
    cluster.move_pods("Failed", "train-b-0")
    assert cluster.phase() == "Failed"


def test_an_evicted_pod_comes_back_under_its_name_and_costs_no_retry():
    cluster = running(cluster=LittleCluster(graceful=True))
    cluster.move_group("Running")
    before = cluster.pods_by_key["default/train-w-0"].metadata.uid
    cluster.evict("train-w-0")
    assert (cluster.status().running, cluster.status().terminating) == (1, 1)
    cluster.bury()
    assert cluster.pods_by_key["default/train-w-0"].metadata.uid != before
    assert (cluster.phase(), cluster.status().retry_count, cluster.status().version) == ("Pending", 0, 0)


def test_an_elastic_job_goes_on_running_when_one_pod_is_evicted():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 3, min_available=1), min_available=1))
    cluster.move_group("Inqueue")
    cluster.move_pods("Running")
    cluster.move_group("Running")
    cluster.evict("train-w-2")
    assert cluster.phase() == "Running"
    assert cluster.pod_phases() == {"train-w-0": "Running", "train-w-1": "Running", "train-w-2": "Pending"}


def test_a_group_that_falls_back_freezes_the_job():
    cluster = running()
    cluster.move_group("Pending")
    cluster.evict("train-w-0")
    assert (cluster.pod_phases(), cluster.status().running) == ({"train-w-1": "Running"}, 2)
    cluster.move_group("Inqueue")
    assert cluster.pod_phases() == {"train-w-1": "Running", "train-w-0": "Pending"}


def test_scaling_down_restarts_nothing():
    cluster = LittleCluster()
    cluster.submit(
        job("train", task("w", 3, min_available=1), policies=(policy("PodEvicted", "RestartJob"),))
    )
    cluster.move_group("Inqueue")
    cluster.move_pods("Running")
    cluster.edit("default/train", tasks=(task("w", 2, min_available=1, max_retry=3),))
    assert cluster.pod_phases() == {"train-w-0": "Running", "train-w-1": "Running"}
    assert (cluster.phase(), cluster.status().retry_count) == ("Running", 0)


def test_scaling_to_nothing_keeps_a_running_job_running():
    cluster = running(min_available=0)
    cluster.edit("default/train", min_available=0, tasks=(task("w", 0, min_available=0),))
    assert (cluster.phase(), cluster.pod_phases()) == ("Running", {})


@pytest.mark.parametrize(
    ("iteration", "done", "starts"),
    [
        ("all", ("a",), False),
        ("all", ("a", "b"), True),
        ("any", ("a",), True),
        ("", ("b",), False),
    ],
)
def test_a_task_waits_for_those_it_depends_on(iteration, done, starts):
    cluster = LittleCluster()
    last = task("c", 1, min_available=0, depends_on=DependsOn(name=("a", "b"), iteration=iteration))
    cluster.submit(job("train", task("a", 1), task("b", 1), last, min_available=1))
    cluster.move_group("Inqueue")
    assert set(cluster.pod_phases()) == {"train-a-0", "train-b-0"}
    cluster.move_pods("Running", *(f"train-{name}-0" for name in done))
    assert ("train-c-0" in cluster.pod_phases()) is starts


def test_an_unknown_dependency_is_never_ready():
    cluster = LittleCluster()
    cluster.submit(job("train", task("a", 1, depends_on=DependsOn(name=("ghost",)))))
    cluster.move_group("Inqueue")
    assert cluster.pod_phases() == {}


def test_a_finished_job_is_deleted_when_its_time_is_over():
    cluster = running(ttl_seconds_after_finished=60)
    cluster.move_pods("Succeeded")
    cluster.wait(seconds=59)
    assert "default/train" in cluster.jobs
    cluster.wait(seconds=1)
    assert cluster.jobs == {}


def test_an_aborted_job_is_kept():
    cluster = running(ttl_seconds_after_finished=0)
    cluster.command("default/train", "AbortJob")
    cluster.wait(hours=1)
    assert cluster.phase() == "Aborted"


def test_a_job_knows_how_long_it_ran():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 1)))
    cluster.wait(hours=1)
    cluster.move_group("Inqueue")
    cluster.move_pods("Running")
    cluster.wait(seconds=90)
    cluster.move_pods("Succeeded")
    assert cluster.status().running_duration == "1m30s"


@pytest.mark.parametrize("action", ["RestartTask", "RestartPod", "RestartPartition", "Dance"])
def test_a_command_that_makes_no_sense_is_refused(action):
    cluster = running()
    cluster.command("default/train", action)
    assert (cluster.phase(), cluster.status().retry_count) == ("Running", 0)
    assert cluster.events[-1].type == "Warning"
    assert f'"{action}"' in cluster.events[-1].message


def test_nothing_joins_a_group_that_is_on_its_way_out():
    cluster = running()
    [old] = cluster.pod_groups.values()
    for command in cluster.controller.command(cluster, "default/train", "RestartJob", cluster.now):
        if not isinstance(command, DeletePodGroup):
            cluster.carry_out(command)
    cluster.tell(list)
    assert (cluster.pod_phases(), cluster.pod_groups) == ({}, {old.key: old})
    cluster.carry_out(DeletePodGroup(old.key))
    cluster.tell(list)
    [new] = cluster.pod_groups.values()
    assert new.metadata.uid != old.metadata.uid


def test_a_group_of_the_old_name_is_used_and_joined():
    cluster = LittleCluster()
    train = job("train", task("w", 1))
    old = pod_group_of(train, {})
    meta = replace(old.metadata, name="train", uid="old")
    cluster.pod_groups["default/train"] = replace(old, metadata=meta)
    cluster.submit(train)
    cluster.move_group("Inqueue")
    [pod] = cluster.pods_by_key.values()
    assert pod.metadata.annotations[keys.GROUP_NAME] == "train"


def test_a_queue_of_several_clusters_marks_what_it_forwards():
    cluster = LittleCluster()
    cluster.queues["default"] = open_queue_named("default", extend_clusters=(ExtendCluster(name="far"),))
    cluster.submit(job("train", task("w", 1)))
    cluster.move_group("Inqueue")
    [pod] = cluster.pods_by_key.values()
    [group] = cluster.pod_groups.values()
    assert pod.metadata.labels[keys.JOB_FORWARDING] == pod.metadata.annotations[keys.JOB_FORWARDING] == "true"
    assert group.metadata.annotations[keys.JOB_FORWARDING] == "true"


def test_scaling_refreshes_the_group_and_keeps_its_queue():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 2)))
    cluster.edit("default/train", min_available=3, tasks=(task("w", 3, min_available=3),), queue="other")
    cluster.queues["other"] = cluster.queues["default"]
    cluster.wait(seconds=1)
    [group] = cluster.pod_groups.values()
    assert (group.spec.min_member, group.spec.min_task_member) == (3, {"w": 3})
    assert (group.spec.min_resources["cpu"], group.spec.queue) == (3, "default")


def test_a_job_says_why_it_waits():
    cluster = LittleCluster()
    cluster.submit(job("train", task("w", 2)))
    [(key, group)] = cluster.pod_groups.items()
    full = Condition(type="Unschedulable", status="True", message="no room", last_transition_time=cluster.now)
    cluster.pod_groups[key] = replace(group, status=replace(group.status, conditions=(full,)))
    cluster.move_group("Inqueue")
    assert {event.message for event in cluster.events if event.reason == "PodGroupPending"} == {
        "Unschedulable: no room"
    }
