"""What a simulation finds that binds a job that waits: each reason once, and what it costs."""

from __future__ import annotations

from pathlib import Path

from hekla.conf import BUILT_IN_DEFAULT
from hekla.engine.model.wait_reason import WaitReason
from hekla.objects import ObjectMeta, Queue
from hekla.objects.scheduling import NetworkTopology, QueueSpec
from hekla.simulation.measures import summarize
from hekla.simulation.measures.causes import RunCauses
from hekla.simulation.run import Cause, Run
from hekla.simulation.simulate import Simulation, simulate
from hekla.simulation.workloads import NodeDrains, Restart, Submission, Workload, read_workload
from hekla.testing.network import hypernode
from simulation.plays import PLAIN, conf_of, job, node, play, role
from simulation.test_left_out_cycle_laws import CAPACITY

QUEUES = [Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=1)) for name in ("a", "b")]
ALLOCATE_FIRST = PLAIN.replace("enqueue, allocate", "allocate, enqueue")


def causes(run: Run) -> dict[str, dict[str, float]]:
    """By job that waited, the seconds by cause."""
    known = RunCauses(run)
    names = [name.removeprefix("default/") for name in run.jobs.names]
    rows = [
        {str(cause): seconds for cause, seconds in zip(known.causes, row, strict=True) if seconds > 0}
        for row in known.seconds.round(3).tolist()
    ]
    return {name: row for name, row in zip(names, rows, strict=True) if row}


def test_overcommit_keeps_a_job_out() -> None:
    jobs = [job("first", 0, 10, pods=4), job("late", 0, 5, pods=2)]
    assert causes(play(jobs)) == {"late": {"admission limit (overcommit)": 10}}


def test_a_limit_as_large_as_the_cluster_is_no_matter_of_the_queue() -> None:
    """Of ten cores eight are held: overcommit would let four more be asked for, proportion only two.

    Until a cycle knows that a job runs, overcommit counts it twice.
    """
    run = play([job("first", 0, 10, pods=8, cpu=1), job("late", 0, 5, pods=3)], [node("n1", 10)])
    assert causes(run) == {"late": {"admission limit (overcommit)": 1, "admission limit (proportion)": 9}}


def test_a_queue_at_its_own_limit_is_told_with_the_plugin_that_says_so() -> None:
    small = Queue(metadata=ObjectMeta(name="small"), spec=QueueSpec(weight=1, capability={"cpu": 2}))
    jobs = [job("first", 0, 10, pods=2, queue="small"), job("late", 0, 5, queue="small")]
    run = play(jobs, [node("n1", 8)], objects=[small], conf=CAPACITY)
    assert causes(run) == {"late": {"queue share (capacity)": 10}}


def test_a_queue_that_has_had_its_share_waits_for_it() -> None:
    """Without a say on admission: `a` deserves half of the cluster as long as `b` asks for the other half."""
    conf = BUILT_IN_DEFAULT.replace(
        "  - name: overcommit      # limits how much work may wait for resources\n", ""
    )
    conf = conf.replace("name: proportion ", "name: proportion\n    enableJobEnqueued: false ")
    jobs = [
        job("a1", 0, 10, pods=2, queue="a"),
        job("b1", 0, 10, pods=1, queue="b"),
        job("b2", 1, 10, pods=3, queue="b"),
        job("a2", 1, 5, queue="a"),
    ]
    run = play(jobs, objects=QUEUES, conf=conf)
    assert causes(run)["a2"] == {"queue share": 9}


def test_a_gang_of_unlike_pods_that_its_queue_may_take_waits_for_room_whatever_was_tried() -> None:
    """Ten of twelve cores are for `a`, which holds three: `late` may have all seven; `b` has six."""
    conf = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: sla, arguments: {sla-waiting-time: 20s}}]
- plugins: [{name: predicates}, {name: proportion, enableJobEnqueued: false}]
"""
    queues = [
        Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=w)) for name, w in (("a", 9), ("b", 1))
    ]
    late = Submission("late", 10, 5, (role(1, 1, "main"), role(3, 2, "worker")), queue="a")
    jobs = [job("first", 0, 100, pods=3, queue="a"), job("other", 0, 100, pods=6, queue="b"), late]
    assert causes(play(jobs, [node("n1", 12)], objects=queues, conf=conf)) == {"late": {"no room": 90}}


def test_too_little_is_free() -> None:
    jobs = [job("first", 0, 10, pods=3), job("late", 0, 5, pods=2)]
    assert causes(play(jobs, conf=PLAIN)) == {"late": {"no room": 10}}


def test_enough_is_free_but_in_pieces() -> None:
    jobs = [job("one", 0, 10, cpu=3), job("two", 0, 10, cpu=3), job("late", 0, 5, cpu=2)]
    run = play(jobs, [node("n1"), node("n2")], conf=PLAIN)
    assert causes(run) == {"late": {"fragmentation": 10}}


def test_what_is_free_is_followed_where_no_cycle_takes_place() -> None:
    """At 10 a core is free on each node: no cycle could start the job, but what binds it is another thing."""
    jobs = [
        *[job(f"long{at}", 0, 30, cpu=3) for at in (1, 2)],
        *[job(f"short{at}", 0, 10, cpu=1) for at in (1, 2)],
        job("late", 0, 5, cpu=2),
    ]
    run = play(jobs, [node("n1"), node("n2")], conf=PLAIN)
    assert causes(run) == {"late": {"no room": 10, "fragmentation": 20}}
    assert run.cycles == 2


def test_a_job_that_comes_when_no_cycle_is_called_for_is_bound_from_then_on() -> None:
    jobs = [job("first", 0, 30, pods=3), job("late", 7.25, 5, pods=2)]
    run = play(jobs, conf=PLAIN)
    assert causes(run) == {"late": {"no room": 22.75}}
    assert run.cycles == 2


def test_a_job_that_never_fits_lacks_room_whatever_keeps_it_out() -> None:
    jobs = [job("first", 0, 10, pods=4), job("late", 0, 5, pods=5)]
    assert causes(play(jobs)) == {"late": {"no room": 10}}


def test_a_job_does_not_take_over_what_bound_others_before_it() -> None:
    """`a` has had its share until 10; the job of `b` that comes later, without a cycle, lacks room."""
    small = Queue(metadata=ObjectMeta(name="small"), spec=QueueSpec(weight=1, capability={"cpu": 2}))
    conf = CAPACITY.replace("enqueue, allocate", "allocate")
    jobs = [
        job("first", 0, 10, pods=2, queue="small"),
        job("held", 1, 5, queue="small"),
        job("full", 10, 30, pods=3),
        job("late", 17, 5, pods=4),
    ]
    found = causes(play(jobs, objects=[small], conf=conf))
    assert found["held"] == {"queue share": 9}
    assert found["late"] == {"no room": 23}


def test_nodes_with_room_are_closed() -> None:
    jobs = [job("first", 0, 30, pods=4), job("late", 10, 5, pods=2)]
    run = play(jobs, [node("n1"), node("n2")], conf=PLAIN, faults=[NodeDrains(5, "n2", 15)])
    assert causes(run) == {"late": {"filters": 10}}


def test_a_job_that_is_drained_waits_again_for_its_own_reason() -> None:
    run = play([job("only", 0, 30)], conf=PLAIN, faults=[NodeDrains(10, "n1", 60)], grace_seconds=0)
    assert causes(run) == {"only": {"filters": 60}}


def test_a_job_that_was_admitted_after_its_turn_waits_for_the_next() -> None:
    run = play([job("only", 0, 30)], conf=ALLOCATE_FIRST)
    assert causes(run) == {"only": {"order": 1}}


def test_a_job_that_comes_between_two_cycles_waits_for_the_next() -> None:
    assert causes(play([job("a", 0, 10), job("b", 3.25, 10)], conf=PLAIN)) == {"b": {"order": 0.75}}


def test_room_that_is_promised_is_waited_for_by_its_own_name() -> None:
    """From 10 on `first` leaves the node, for half a minute; then it comes first once more."""
    jobs = [job("first", 0, 100, pods=4, restart=Restart.JOB, fails_after=10), job("late", 2, 5, pods=2)]
    found = causes(play(jobs, conf=PLAIN))
    assert found["late"] == {"no room": 8 + 100, "release": 30}


def test_jobs_that_get_what_they_were_promised_together_are_noted_in_order() -> None:
    """Half a minute after 10 `first` is gone: run after run the others are told of in one order."""
    jobs = [
        job("first", 0, 100, pods=64, restart=Restart.JOB, fails_after=10),
        *[job(f"late{at}", 2, 5, pods=2) for at in range(24)],
    ]
    run = play(jobs, [node("n1", 64)], conf=PLAIN)
    told = run.waits.job[run.waits.since == 40].tolist()
    assert len(told) > 16
    assert told == sorted(told)


def test_no_network_domain_has_room_for_a_job_that_asks_for_one() -> None:
    network = [hypernode(name, nodes=[name]) for name in ("n1", "n2")]
    tight = NetworkTopology(mode="hard", highest_tier_allowed=1)
    jobs = [job("other", 0, 10), job("late", 0, 5, pods=2, cpu=3, topology=tight)]
    conf = PLAIN + "  - name: network-topology-aware\n"
    found = causes(play(jobs, [node("n1"), node("n2")], conf=conf, objects=network))
    assert found == {"late": {"topology": 10}}


def test_a_job_with_closed_gates_is_not_said_to_lack_room(tmp_path: Path) -> None:
    file = tmp_path / "gated.yaml"
    file.write_text(GATED)
    run = simulate(read_workload(file), conf_of(PLAIN), nodes=[node("n1")])
    assert causes(run)["gated"].keys() == {"gate"}


GATED = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: gated}
spec:
  minAvailable: 1
  tasks:
  - name: main
    replicas: 1
    template:
      spec:
        schedulingGates: [{name: example.com/wait}]
        containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: plain, annotations: {hekla.dev/run-seconds: "60"}}
spec:
  minAvailable: 1
  tasks:
  - name: main
    replicas: 1
    template:
      spec:
        containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
"""


def test_all_that_jobs_wait_for_is_all_that_they_wait() -> None:
    run = play([job("first", 0, 10, pods=4), job("late", 0.5, 5, pods=2)])
    lost = summarize(run).lost_time
    assert lost is not None
    assert [one.cause for one in lost.waits] == [Cause(WaitReason.ADMISSION_LIMIT, "overcommit")]
    assert sum(one.seconds for one in lost.waits) == 9.5
    assert {one.cause: round(one.part * 15) for one in lost.idle["cpu"]} == {None: 2}


def test_causes_are_not_looked_for_where_that_is_not_wanted() -> None:
    workload = Workload("play", lambda: iter([job("a", 0, 10), job("b", 0, 10, cpu=4)]))
    run = Simulation(workload, conf_of(), nodes=[node("n1")], tells_causes=False).run()
    assert run.waits is None
    assert summarize(run).lost_time is None
