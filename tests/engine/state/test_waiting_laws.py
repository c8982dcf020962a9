"""What waits is looked at just when it would be if every cycle looked at everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as but_for

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from world import World, assert_bounds_are_high_enough, world_of

from hekla.conf import Conf, PluginEntry, Tier
from hekla.engine.framework.decisions import Bind, Decision, Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import ALLOCATABLE, HEADROOM, JOB_ENQUEUEABLE, Vote, answers
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import snapshot_of, take_snapshot
from hekla.engine.state.waiting import fit_counts
from hekla.objects import Manifest, Node, ObjectMeta, Pod, PodGroup, PriorityClass, Queue
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.story import conf_of
from hekla.testing.strategies import NOW
from properties.effort import examples

QUEUES = ("a", "b", "c")
ADVISING = (
    "priority", "gang", "overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack", "capacity"
)  # fmt: skip
FORGETFUL = but_for(EVERY_SHORTCUT, unchanged_jobs=False)
"""Nothing is known of what waits: every job is asked for and tried in every cycle."""
TURNS = 9
ACTIONS = (
    ("enqueue", "allocate", "backfill"),
    ("enqueue", "allocate", "backfill"),
    ("enqueue", "allocate", "preempt"),
    ("enqueue", "backfill", "allocate"),
    ("allocate", "enqueue", "backfill"),
    ("allocate", "backfill"),
)


@st.composite
def crowds(draw: st.DrawFn) -> list[Manifest]:
    """Small nodes in two zones, and many jobs of a few kinds that nearly all have to wait."""
    nodes = [
        node(f"n{at}", cpu=draw(st.integers(2, 6)), labels={"zone": draw(st.sampled_from("xy"))})
        for at in range(draw(st.integers(1, 4)))
    ]
    limits = st.none() | st.integers(1, 6).map(lambda cpu: {"cpu": cpu})
    queues = [queue(name, weight=draw(st.integers(1, 3)), capability=draw(limits)) for name in QUEUES]
    classes = [PriorityClass(metadata=ObjectMeta(name="high"), value=draw(st.integers(1, 9)))]
    jobs = [draw(crowding_jobs(at)) for at in range(draw(st.integers(3, 14)))]
    return list(stamped([*queues, *classes, *nodes, *(each for one in jobs for each in one)]))


@st.composite
def crowding_jobs(draw: st.DrawFn, at: int) -> Sequence[Manifest]:
    tasks, cpu = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return job(
        f"j{draw(st.integers(0, 9))}-{at}",
        tasks=tasks,
        cpu=cpu,
        best_effort=draw(st.sampled_from([0, 0, 0, 1])),
        min_resources=draw(st.sampled_from([{"cpu": cpu * tasks}, {"cpu": cpu * tasks}, None])),
        min_available=draw(st.sampled_from([tasks, tasks, 1])),
        queue=draw(st.sampled_from(QUEUES)),
        priority=draw(st.sampled_from([None, 5])),
        phase=draw(st.sampled_from(["Pending", "Pending", "Inqueue"])),
    ).objects


@st.composite
def advising_confs(draw: st.DrawFn) -> Conf:
    chosen = [name for name in ADVISING if draw(st.integers(0, 4))]
    if "proportion" in chosen and "capacity" in chosen:
        chosen.remove(draw(st.sampled_from(["proportion", "capacity"])))
    at = draw(st.integers(0, len(chosen)))
    tiers = [tuple(map(PluginEntry, part)) for part in (chosen[:at], chosen[at:]) if part]
    actions = draw(st.sampled_from(ACTIONS))
    return Conf(actions, tuple(map(Tier, tiers)))


def deeds(decisions: Sequence[Decision]) -> list[Decision]:
    return [decision for decision in decisions if isinstance(decision, Bind | Evict)]


def outside(report: CycleReport) -> set[str]:
    """The jobs that are not admitted."""
    return {uid for uid, one in report.session.jobs.items() if one.is_pending}


def assert_alike(world: World, conf: Conf, *, is_quiet: bool, may_leave_out: bool) -> Sequence[Decision]:
    """What a scheduler decides that forgets everything, and one that does not, if it looks at all."""
    world.live.take_in()
    assert_bounds_are_high_enough(world.live)
    attention = world.live.attention
    may_decide, unasked = attention.may_decide, {*attention.unasked}
    before = {uid for uid, one in world.live.jobs.items() if one.is_pending}
    anew = run_cycle(
        take_snapshot(world.objects.values()), conf, memory={}, is_quiet=is_quiet, shortcuts=FORGETFUL
    )
    if may_leave_out and not may_decide:
        assert not deeds(anew.decisions)
        assert before - outside(anew) <= unasked
        return ()
    kept = run_cycle(snapshot_of(world.live), conf, memory={}, is_quiet=is_quiet)
    assert deeds(kept.decisions) == deeds(anew.decisions)
    assert outside(kept) == outside(anew)
    return kept.decisions


@pytest.mark.parametrize("is_quiet", [True, False])
@examples(2)
@given(
    crowd=crowds(),
    conf=advising_confs(),
    other=advising_confs(),
    late=st.integers(0, 4),
    dice=st.randoms(use_true_random=False),
)
def test_jobs_that_wait_start_as_if_each_were_tried(
    is_quiet: bool,
    crowd: list[Manifest],
    conf: Conf,
    other: Conf,
    late: int,
    dice,  # type: ignore[no-untyped-def]
) -> None:
    world = World()
    latecomers = dice.sample([each for each in crowd if isinstance(each, Pod | PodGroup)], late)
    for manifest in crowd:
        if manifest not in latecomers:
            world.put(manifest)
    is_new = True
    for turn in range(TURNS):
        decisions = assert_alike(
            world, conf, is_quiet=is_quiet, may_leave_out=not is_new and dice.random() < 0.7
        )
        for decision in decisions:
            if not isinstance(decision, Bind) or dice.random() < 0.95:
                world.carry_out(decision)
        for manifest in latecomers if turn == 2 else ():
            world.put(manifest)
        shake(world, dice)
        is_new = dice.random() < 0.1
        if is_new:
            conf, other = other, conf


def shake(world: World, dice) -> None:  # type: ignore[no-untyped-def]
    """Something happens to an object that some job may wait for; often a pod ends."""
    if dice.random() < 0.6:
        world.end_a_pod()
    if dice.random() < 0.5:
        return
    chosen = dice.choice([*world.objects.values()])
    match chosen:
        case Pod():
            alter_pod(world, chosen, dice)
        case PodGroup():
            world.put(replace(chosen, spec=altered(chosen, dice)))
        case Node():
            alter_node(world, chosen, dice)
        case Queue():
            spec = dice.choice(
                [
                    replace(chosen.spec, weight=dice.randint(1, 4)),
                    replace(chosen.spec, capability={"cpu": dice.randint(1, 9)}),
                    replace(chosen.spec, capability={}),
                ]
            )
            state = dice.choice(["Open", "Open", "Open", "Closed"])
            world.put(replace(chosen, spec=spec, status=replace(chosen.status, state=state)))
        case PriorityClass():
            world.put(replace(chosen, value=dice.randint(1, 9)))


def alter_pod(world: World, pod: Pod, dice) -> None:  # type: ignore[no-untyped-def]
    """It is gone, or leaves, or comes again under its name."""
    match dice.randint(0, 2):
        case 0:
            world.remove((Pod, pod.key))
        case 1:
            now = pod.metadata.creation_timestamp
            world.put(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=now)))
        case 2:
            fresh = replace(pod.metadata, uid=f"{pod.metadata.uid}~", deletion_timestamp=None)
            world.put(Pod(metadata=fresh, spec=replace(pod.spec, node_name="")))


def altered(group: PodGroup, dice):  # type: ignore[no-untyped-def]
    return dice.choice(
        [
            replace(group.spec, queue=dice.choice(QUEUES)),
            replace(group.spec, min_resources={"cpu": 1}),
            replace(group.spec, min_member=dice.randint(1, 3)),
            replace(group.spec, priority_class_name="high"),
        ]
    )


def alter_node(world: World, machine: Node, dice) -> None:  # type: ignore[no-untyped-def]
    """It is lost, closed, or larger; or there is one more."""
    match dice.randint(0, 3):
        case 0:
            world.remove((Node, machine.key))
        case 1:
            world.put(replace(machine, spec=replace(machine.spec, unschedulable=dice.random() < 0.5)))
        case 2:
            status = replace(machine.status, allocatable={**machine.status.allocatable, "cpu": "7"})
            world.put(replace(machine, status=status))
        case 3:
            world.put(node(f"m{dice.randint(1, 9)}", cpu=dice.randint(1, 4)))


def crowded() -> World:
    jobs = [job(f"j{at}", cpu=1, min_resources={"cpu": 1}, phase="Pending") for at in range(6)]
    return world_of([queue("default"), node("n1", cpu=2), *(each for one in jobs for each in one.objects)])


CONF = conf_of("enqueue, allocate", ("priority, gang", "overcommit, predicates, proportion"))


def test_refused_jobs_are_the_backlog_and_are_admitted_when_there_is_room() -> None:
    world = crowded()
    for _ in range(4):
        for decision in run_cycle(snapshot_of(world.live), CONF, is_quiet=True).decisions:
            world.carry_out(decision)
    assert [each.name for each in world.live.attention.to_admit.jobs()] == ["j2", "j3", "j4", "j5"]
    assert not world.live.attention.active
    world.end_a_pod()
    report = run_cycle(snapshot_of(world.live), CONF, is_quiet=True)
    assert [decision.pod for decision in deeds(report.decisions)] == ["default/j2-0"]
    assert [each.name for each in world.live.attention.to_admit.jobs()] == ["j3", "j4", "j5"]


def test_a_job_is_in_the_backlog_only_once_it_was_told_why_it_waits() -> None:
    world = crowded()
    for _ in range(4):
        for decision in run_cycle(snapshot_of(world.live), CONF, is_quiet=True).decisions:
            world.carry_out(decision)
    report = run_cycle(snapshot_of(world.live), CONF)
    assert not len(world.live.attention.to_admit)
    assert "overcommit" in {note.speaker for note in report.session.trace.jobs["default/j5"]}


def test_what_is_not_asked_for_does_not_count_however_little_of_it_is_left() -> None:
    room = np.array([[7, 0, -2], [5, 9, 4], [0, 0, 0]])
    asks = np.array([[2.0, 2.0, 0.0, 0.0, np.inf], [0.0, 3.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0, 1.0]])
    inf = np.inf
    assert fit_counts(room, asks).tolist() == [[3, 0, 0, inf, 0], [2, 2, 4, inf, 0], [0, 0, 0, inf, 0]]


class Patience(Plugin):
    """Admits a job once it has been asked for often enough, whatever its kind."""

    name = "patience"

    @answers(JOB_ENQUEUEABLE)
    def asked_often_enough(self, job: Job) -> Vote:
        self.session.memory[job.uid] = self.session.memory.get(job.uid, 0) + 1
        return Vote.PERMIT if self.session.memory[job.uid] > 5 else Vote.REJECT


def test_where_a_plugin_does_not_go_by_kind_all_are_asked_for() -> None:
    world, memory = crowded(), dict[str, float]()
    registry = BUILTIN.with_class(Patience)
    conf = conf_of("enqueue, allocate", ("priority, gang", "patience, predicates"))
    for _ in range(6):
        report = run_cycle(snapshot_of(world.live), conf, registry=registry, memory=memory, is_quiet=True)
        for decision in report.decisions:
            world.carry_out(decision)
        assert not len(world.live.attention.to_admit)
    assert set(memory.values()) == {6}


def told_of(world: World, conf: Conf, name: str) -> str:
    """What the job's first pod says by now of why it waits."""
    for _ in range(4):
        for decision in run_cycle(snapshot_of(world.live), conf, now=NOW).decisions:
            world.carry_out(decision)
    pod = world.objects[Pod, f"default/{name}-0"]
    assert isinstance(pod, Pod)
    return " ".join(one.message for one in pod.status.conditions)


def test_a_job_that_was_not_admitted_is_told_when_it_is_refused_for_another_reason() -> None:
    world = crowded()
    assert "cannot take in more waiting work" in told_of(world, CONF, "j2")
    world.put(queue("default", state="Closed"))
    world.end_a_pod()
    assert 'queue "default" is not open' in told_of(world, CONF, "j2")


def test_what_was_said_of_a_job_that_waited_is_forgotten_with_the_columns() -> None:
    world = crowded()
    told_of(world, CONF, "j5")
    assert world.live.attention.last_notes
    world.put(node("n2", cpu=9, resources={"example.com/new": 1}))
    told_of(world, CONF, "j5")
    assert not world.live.attention.last_notes


class Purse(Plugin):
    """Lets only one job of a queue take anything, whatever it asks for."""

    name = "purse"

    @answers(ALLOCATABLE)
    def is_rich(self, queue: QueueInfo, task: Task) -> bool:
        return task.job == "default/j3"

    @answers(HEADROOM)
    def what_the_rich_may_take(self, queue: QueueInfo, task: Task, count: int) -> int:
        return count if self.is_rich(queue, task) else 0


def test_where_a_queue_does_not_go_by_kind_a_job_does_not_speak_for_its_like() -> None:
    world = crowded()
    registry = BUILTIN.with_class(Purse)
    conf = conf_of("enqueue, allocate", ("priority, gang", "purse, predicates"))
    bound: list[str] = []
    for _ in range(4):
        report = run_cycle(snapshot_of(world.live), conf, registry=registry, is_quiet=True)
        bound += [one.pod for one in report.decisions if isinstance(one, Bind)]
        for decision in report.decisions:
            world.carry_out(decision)
    assert bound == ["default/j3-0"]
