"""What happens on the cluster, by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from msgspec.structs import replace

from hekla.engine.state.live import LiveState
from hekla.errors import InputError
from hekla.objects import Manifest, ObjectMeta, Pod, PodGroup, PriorityClass, Queue
from hekla.objects.pod import PodStatus
from hekla.objects.scheduling import PodGroupSpec, QueueSpec
from hekla.simulation.run import Ending, State
from hekla.simulation.simulate import Simulation
from hekla.simulation.workloads import Hazards, NodeDrains, NodeFails, NodesAdded, Restart, Workload
from simulation.plays import PLAIN, conf_of, job, node, play, role, times

PREEMPTING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
"""
HIGH = PriorityClass(metadata=ObjectMeta(name="high"), value=100)


def test_a_job_on_an_idle_cluster_starts_at_once_and_ends_when_its_work_is_done():
    assert times(play([job("a", at=0, lasts=10)])) == {"a": (0, 10)}


def test_cycles_fall_on_whole_periods():
    assert times(play([job("a", at=0.4, lasts=10)])) == {"a": (1, 11)}
    assert times(play([job("a", at=0.4, lasts=10)], period=5)) == {"a": (5, 15)}


def test_a_job_starts_in_the_cycle_in_which_another_ends():
    run = play([job("a", 0, 10, cpu=4), job("b", 1, 10, cpu=4), job("c", 2, 10, cpu=4)])
    assert times(run) == {"a": (0, 10), "b": (10, 20), "c": (20, 30)}


def test_a_gang_starts_whole_and_ends_with_its_last_pod():
    roles = (role(1, 1, "quick"), role(2, 1, "slow"))
    slow = roles[1]
    long = type(slow)(slow.name, slow.replicas, slow.template, run_seconds=30)
    gang = job("g", 0, 10)
    gang = type(gang)("g", 0, 10, (roles[0], long))
    run = play([gang, job("late", 5, 1, cpu=2)])
    assert times(run) == {"g": (0, 30), "late": (10, 11)}


def test_work_that_takes_no_time_is_done_at_once():
    assert times(play([job("a", 3, 0)])) == {"a": (3, 3)}


def test_a_pod_takes_its_time_to_start():
    assert times(play([job("a", 0, 10)], start_seconds=2.5)) == {"a": (0, 12.5)}


def test_a_job_that_never_fits_waits_to_the_end_and_does_not_keep_the_others():
    run = play([job("huge", 0, 1, cpu=100), job("a", 1, 5)])
    assert run.jobs.state.tolist() == [State.WAITING, State.COMPLETED]
    assert run.is_complete
    assert math.isnan(run.jobs.started[0])


def test_time_can_be_limited_and_what_still_runs_is_cut():
    run = play([job("a", 0, 100), job("b", 50, 10)], until=20)
    assert (run.end, run.is_complete) == (20, False)
    assert run.jobs.state.tolist() == [State.RUNNING]
    assert (run.pod_runs.ending.tolist(), run.pod_runs.ended.tolist()) == ([Ending.CUT], [20])


def test_a_job_in_a_queue_that_does_not_exist_is_refused_and_told():
    run = play([job("a", 0, 1, queue="nowhere"), job("b", 0, 1)])
    assert run.jobs.state.tolist() == [State.REFUSED, State.COMPLETED]
    assert any('no queue "nowhere"' in note for note in run.notes)


def test_a_second_job_of_one_name_is_refused_while_the_first_is_there():
    run = play([job("a", 0, 10), job("a", 5, 10), job("a", 20, 10)])
    assert run.jobs.state.tolist() == [State.COMPLETED, State.REFUSED, State.COMPLETED]


def test_a_job_may_follow_another():
    jobs = [job("a", 0, 10), job("b", 1, 5, after="default/a", think_seconds=7)]
    run = play(jobs)
    assert times(run)["b"] == (17, 22)
    assert run.jobs.submitted.tolist() == [0, 17]


def test_without_nodes_there_is_no_simulation():
    with pytest.raises(InputError, match="no node to run on"):
        Simulation(Workload("w", lambda: iter(())), conf_of())


# Evictions


def preempted(**more: object):
    """A long job of low priority gives way at 10 to a short one, which runs for 20."""
    low = job("low", 0, 100, cpu=4, min_available=0, **more)
    high = job("high", 10, 20, cpu=4, priority_class="high")
    return play([low, high], conf=PREEMPTING, objects=[HIGH], grace_seconds=5)


def test_evicted_work_starts_again_from_zero():
    run = preempted()
    assert times(run) == {"low": (0, 136), "high": (16, 36)} or times(run) == {
        "low": (0, 135),
        "high": (15, 35),
    }
    assert run.jobs.evictions.tolist() == [1, 0]
    first = run.pod_runs.ending.tolist().index(Ending.EVICTED)
    assert (run.pod_runs.began[first], run.pod_runs.ended[first], run.pod_runs.kept[first]) == (0, 15, 0)
    assert run.pod_runs.beneficiary[first] == 1


def test_evicted_work_goes_on_from_its_last_checkpoint():
    run = preempted(checkpoint_seconds=4)
    first = run.pod_runs.ending.tolist().index(Ending.EVICTED)
    assert run.pod_runs.kept[first] == 8
    high_ends = times(run)["high"][1]
    assert times(run)["low"][1] == high_ends + 92


def test_a_job_may_not_survive_an_eviction():
    run = preempted(restart=Restart.NEVER)
    assert run.jobs.state.tolist() == [State.FAILED, State.COMPLETED]
    assert times(run)["low"][1] == 10


# Failures


def test_a_pod_that_fails_starts_again_alone():
    run = play([job("a", 0, 10, pods=2, fails_after=4)], conf=PLAIN)
    assert times(run) == {"a": (0, 14)}
    assert run.jobs.failures.tolist() == [1]


def test_or_with_its_whole_job():
    run = play(
        [job("a", 0, 10, pods=2, fails_after=4, restart=Restart.JOB, checkpoint_seconds=3)],
        conf=PLAIN,
        grace_seconds=0,
    )
    assert times(run) == {"a": (0, 11)}
    assert run.jobs.restarts.tolist() == [1]
    assert sorted(run.pod_runs.ending.tolist()) == [Ending.DONE, Ending.DONE, Ending.FAILED, Ending.STOPPED]
    assert sorted(run.pod_runs.kept.tolist()) == [3, 3, 7, 7]


def test_or_ends_it():
    run = play([job("a", 0, 10, pods=2, fails_after=4, restart=Restart.NEVER)], conf=PLAIN)
    assert run.jobs.state.tolist() == [State.FAILED]
    assert run.jobs.finished.tolist() == [4]


def test_a_node_that_fails_takes_its_pods_with_it_and_may_come_back():
    run = play([job("a", 0, 10, cpu=4)], faults=[NodeFails(6, "n1", for_seconds=20)])
    assert times(run) == {"a": (0, 36)}
    assert run.pod_runs.ending.tolist() == [Ending.LOST, Ending.DONE]
    assert min(zip(run.nodes.service_began.tolist(), run.nodes.service_ended.tolist(), strict=True)) == (0, 6)


def test_a_node_that_is_drained_gives_its_pods_a_grace_period():
    faults = [NodeDrains(6, "n1", for_seconds=100)]
    run = play([job("a", 0, 50, cpu=4)], [node("n1"), node("n2", cpu=2)], faults=faults, grace_seconds=3)
    assert run.pod_runs.ending.tolist() == [Ending.EVICTED, Ending.DONE]
    assert (run.pod_runs.ended[0], run.pod_runs.began[1]) == (9, 106)


def test_nodes_may_be_added():
    run = play([job("a", 0, 10, cpu=8)], faults=[NodesAdded(30, (node("big", cpu=8),))])
    assert times(run) == {"a": (30, 40)}


def test_a_fault_at_a_node_that_does_not_exist_is_an_error():
    with pytest.raises(InputError, match='no node "n9"'):
        play([job("a", 0, 1)], faults=[NodeFails(6, "n9")])


def test_nodes_that_fail_by_chance_do_not_keep_time_going():
    hazards = Hazards(node_failure_seconds=50, node_repair_seconds=10)
    run = play(
        [job(f"j{i}", i * 10, 20, cpu=2) for i in range(20)], [node("n1"), node("n2")], hazards=hazards
    )
    assert set(run.jobs.state.tolist()) == {State.COMPLETED}
    assert run.jobs.failures.sum() > 0
    assert run.end < 5000


def test_the_same_nodes_fail_at_the_same_moments_whatever_runs_on_them():
    hazards = Hazards(node_failure_seconds=50, node_repair_seconds=10)
    few = play([job("a", 0, 400)], [node("n1"), node("n2")], hazards=hazards, until=300, seed=3)
    many = play(
        [job(f"j{i}", i, 400) for i in range(5)], [node("n1"), node("n2")], hazards=hazards, until=300, seed=3
    )
    assert np.array_equal(few.nodes.service_ended, many.nodes.service_ended)


# What is there at the start


def test_pods_that_run_at_the_start_run_on_for_as_long_as_they_say():
    spec = role(1, 4).template.spec
    group = PodGroup(
        metadata=ObjectMeta(name="old", namespace="default"), spec=PodGroupSpec(min_member=1, queue="default")
    )
    pod = Pod(
        metadata=ObjectMeta(
            name="old-0",
            namespace="default",
            uid="old-0",
            annotations={"scheduling.k8s.io/group-name": "old", "hekla.dev/run-seconds": "25"},
        ),
        spec=replace(spec, node_name="n1", scheduler_name="volcano"),
        status=PodStatus(phase="Running"),
    )
    run = play([job("new", 0, 10, cpu=4)], objects=[group, pod])
    assert times(run) == {"old": (0, 25), "new": (25, 35)}


def test_queues_share_by_weight():
    queues = [
        Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=weight))
        for name, weight in (("a", 3), ("b", 1))
    ]
    jobs = [job(f"{queue}{i}", 0, 100, queue=queue) for i in range(8) for queue in "ab"]
    run = play(jobs, [node("n1", cpu=8)], conf=f"{PLAIN}  - name: proportion\n", objects=queues, until=50)
    started = [
        run.queues[queue] for queue, at in zip(run.jobs.queue, run.jobs.started, strict=True) if at < 50
    ]
    assert (started.count("a"), started.count("b")) == (6, 2)
    assert np.nanmax(run.samples.deserved[:, run.queues.index("a"), 0]) == 6000


def test_the_same_run_twice_is_the_same():
    def once():
        hazards = Hazards(node_failure_seconds=80, node_repair_seconds=10, pod_failure_seconds=200)
        jobs = [job(f"j{i}", i * 3.3, 20 + i, pods=1 + i % 3, checkpoint_seconds=5) for i in range(30)]
        return play(jobs, [node("n1"), node("n2")], hazards=hazards, seed=7)

    one, other = once(), once()
    for columns in ("jobs", "pod_runs", "nodes", "samples"):
        for name, column in vars(getattr(one, columns)).items():
            assert np.array_equal(
                np.asarray(column),
                np.asarray(getattr(getattr(other, columns), name)),
                equal_nan=not isinstance(column, list),
            )


# Told by readers


def test_a_job_that_ends_within_a_period_does_not_keep_the_scheduler_busy():
    run = play([job("a", 0, 1), job("big", 0, 1, cpu=9)])
    assert run.is_complete
    assert run.cycles < 6


def test_a_chain_of_jobs_that_are_handed_in_together_runs_one_after_the_other():
    jobs = [job("a", 0, 100), job("b", 0, 100, after="default/a"), job("c", 0, 100, after="default/b")]
    assert times(play(jobs)) == {"a": (0, 100), "b": (100, 200), "c": (200, 300)}


def test_who_follows_a_job_that_has_ended_thinks_all_the_same():
    jobs = [job("a", 0, 99), job("b", 100, 1, after="default/a", think_seconds=60)]
    assert times(play(jobs))["b"] == (159, 160)


def test_who_follows_a_job_that_never_ends_is_told():
    run = play([job("a", 0, 10, cpu=99), job("b", 0, 10, after="default/a")])
    assert any("1 x never submitted: default/b waits for the end of default/a" in note for note in run.notes)


def test_two_pods_of_a_job_that_cannot_go_on_may_be_drained():
    run = play([job("a", 0, 100, pods=2, restart=Restart.NEVER)], faults=[NodeDrains(10, "n1")])
    assert run.jobs.state.tolist() == [State.FAILED]


def test_a_job_that_lost_its_node_for_good_waits_at_the_end():
    run = play([job("a", 0, 100)], faults=[NodeFails(50, "n1")])
    assert run.jobs.state.tolist() == [State.WAITING]


def test_the_other_pods_of_a_job_that_starts_again_have_their_grace_too():
    gang = job("a", 0, 100, pods=2, cpu=2, restart=Restart.JOB, fails_after=40)
    run = play([gang], grace_seconds=30)
    assert times(run)["a"][1] == 170
    assert run.jobs.evictions.tolist() == [0]


def test_a_node_with_two_reasons_to_be_down_comes_back_with_the_second():
    faults = [NodeFails(0.5, "n1", for_seconds=100), NodeFails(50, "n1", for_seconds=500)]
    assert times(play([job("a", 1, 10)], faults=faults)) == {"a": (550, 560)}


def test_a_node_that_is_drained_while_it_is_down_comes_back_closed():
    faults = [NodeFails(0.5, "n1", for_seconds=50), NodeDrains(10, "n1", for_seconds=500)]
    assert times(play([job("a", 1, 10)], faults=faults)) == {"a": (510, 520)}


def test_a_failure_at_the_very_end_of_the_work_counts():
    run = play([job("a", 0, 100, fails_after=100, restart=Restart.NEVER)])
    assert run.jobs.state.tolist() == [State.FAILED]


def test_a_pod_that_ends_when_its_node_fails_has_ended():
    run = play([job("a", 0, 100)], faults=[NodeFails(100, "n1", for_seconds=10)])
    assert times(run) == {"a": (0, 100)}


def test_a_service_runs_up_to_the_limit_of_time():
    run = play([job("svc", 0, math.inf)], until=3600)
    assert (run.end, run.is_complete) == (3600, False)
    assert run.pod_runs.ended.tolist() == [3600]


def test_work_that_is_done_twice_is_lost_once():
    quick = type(role(2, 1))("w", 2, role(2, 1).template, run_seconds=40)
    both = type(job("x", 0, 1))("a", 0, 100, (role(1, 1, "m"), quick), restart=Restart.JOB, fails_after=80)
    run = play([both], grace_seconds=0)
    lengths = run.pod_runs.ended - run.pod_runs.began
    assert (lengths - run.pod_runs.kept).sum() == 80 + 2 * 40


def test_a_queue_that_admission_refuses_is_not_there():
    bad = Queue(metadata=ObjectMeta(name="bad"), spec=QueueSpec(parent="nowhere"))
    run = play([job("a", 0, 10)], objects=[bad])
    assert any(note.startswith("queue bad: left out") for note in run.notes)
    assert "bad" not in run.queues


def test_a_plugin_that_acts_on_time_is_asked_now_and_then():
    conf = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: sla
    arguments: {sla-waiting-time: 60s}
- plugins:
  - name: overcommit
  - name: predicates
  - name: proportion
"""
    jobs = [job("r", 0, 10_000), job("w", 0, 10, cpu=3), job("x", 5, 100)]
    nodes = [node("n1", cpu=2), node("n2", cpu=2)]
    assert times(play(jobs, nodes, conf=conf, until=300))["x"][0] < 200


def test_a_pod_on_a_node_that_is_not_there_is_left_out_and_told():
    lost = Pod(
        metadata=ObjectMeta(name="lost", namespace="default"),
        spec=replace(role(1, 1).template.spec, node_name="gone"),
        status=PodStatus(phase="Running"),
    )
    run = play([job("a", 0, 10)], objects=[lost])
    assert times(run) == {"a": (0, 10)}
    assert "left out: 1 x a pod on a node that is not there" in run.notes


def test_a_limit_that_is_never_reached_changes_nothing_for_a_job_that_cannot_start():
    run = play([job("a", 0, 10), job("huge", 0, 1, cpu=99)], until=1_000_000)
    assert run.is_complete
    assert run.end < 100
    assert any("still waiting at the end" in note for note in run.notes)


def test_a_run_that_is_interrupted_while_pods_are_bound_knows_when_they_began(monkeypatch):
    note_all = LiveState.note_all

    def interrupted(state: LiveState, manifests: Iterable[Manifest]) -> None:
        noted = list(manifests)
        if any(isinstance(manifest, Pod) and manifest.spec.node_name for manifest in noted):
            raise KeyboardInterrupt
        note_all(state, noted)

    monkeypatch.setattr(LiveState, "note_all", interrupted)
    run = play([job("late", 50, 100, pods=2)])
    assert not run.is_complete
    assert run.pod_runs.began.tolist() == [50, 50]
