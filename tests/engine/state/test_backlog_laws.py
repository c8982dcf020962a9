"""Jobs in the admission backlog are admitted just when they would be if each of them were asked for."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from world import World, world_of

from hekla.conf import Conf, PluginEntry, Tier
from hekla.engine.framework.decisions import Bind, Decision, Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import JOB_ENQUEUEABLE, Vote, answers
from hekla.engine.model.job import Job
from hekla.engine.state.snapshot import snapshot_of, take_snapshot
from hekla.objects import Manifest, Pod, PodGroup
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.story import conf_of

QUEUES = ("a", "b", "c")
ADMITTING = ("priority", "gang", "overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack")


@st.composite
def crowds(draw: st.DrawFn) -> list[Manifest]:
    """Small nodes, and many jobs of a few kinds that all wait to be admitted."""
    nodes = [node(f"n{at}", cpu=draw(st.integers(2, 6))) for at in range(draw(st.integers(1, 3)))]
    limits = st.none() | st.integers(1, 6).map(lambda cpu: {"cpu": cpu})
    queues = [queue(name, weight=draw(st.integers(1, 3)), capability=draw(limits)) for name in QUEUES]
    jobs = [
        job(
            f"j{draw(st.integers(0, 9))}-{at}",
            tasks=(tasks := draw(st.integers(1, 3))),
            cpu=(cpu := draw(st.integers(1, 2))),
            min_resources=draw(st.sampled_from([{"cpu": cpu * tasks}, {"cpu": cpu * tasks}, None])),
            min_available=draw(st.sampled_from([tasks, tasks, 1])),
            queue=draw(st.sampled_from(QUEUES)),
            priority=draw(st.sampled_from([None, 5])),
            phase="Pending",
        )
        for at in range(draw(st.integers(3, 14)))
    ]
    return list(stamped([*queues, *nodes, *(each for one in jobs for each in one.objects)]))


@st.composite
def admitting_confs(draw: st.DrawFn) -> Conf:
    chosen = [name for name in ADMITTING if draw(st.integers(0, 4))]
    return Conf(("enqueue", "allocate", "backfill"), (Tier(tuple(map(PluginEntry, chosen))),))


def deeds(decisions: Sequence[Decision]) -> list[Decision]:
    return [decision for decision in decisions if isinstance(decision, Bind | Evict)]


def outside(report: CycleReport) -> list[str]:
    """The jobs that are not admitted."""
    return sorted(uid for uid, job in report.session.jobs.items() if job.is_pending)


@given(crowd=crowds(), conf=admitting_confs(), dice=st.randoms(use_true_random=False))
def test_jobs_of_the_backlog_are_admitted_as_if_asked_for(
    crowd: list[Manifest],
    conf: Conf,
    dice,  # type: ignore[no-untyped-def]
) -> None:
    world = World()
    late = dice.sample(crowd, len(crowd) // 4)
    for manifest in crowd:
        if manifest not in late or not isinstance(manifest, Pod | PodGroup):
            world.put(manifest)
    for turn in range(8):
        quiet = run_cycle(snapshot_of(world.live), conf, memory={}, is_quiet=True)
        asked = run_cycle(take_snapshot(world.objects.values()), conf, memory={})
        assert deeds(quiet.decisions) == deeds(asked.decisions)
        assert outside(quiet) == outside(asked)
        for decision in asked.decisions if dice.random() < 0.2 else quiet.decisions:
            world.carry_out(decision)
        if turn == 2:
            for manifest in late:
                world.put(manifest)
        if turn >= 1:
            world.end_a_pod()
        if dice.random() < 0.3:
            shake(world, dice)


def shake(world: World, dice) -> None:  # type: ignore[no-untyped-def]
    """Something happens to a job that may be in the backlog."""
    groups = [each for each in world.objects.values() if isinstance(each, PodGroup)]
    pods = [each for each in world.objects.values() if isinstance(each, Pod)]
    if not groups or not pods:
        return
    group = dice.choice(groups)
    match dice.randint(0, 3):
        case 0:
            world.remove((PodGroup, group.key))
        case 1:
            world.put(replace(group, spec=replace(group.spec, queue=dice.choice(QUEUES))))
        case 2:
            world.put(replace(group, spec=replace(group.spec, min_resources={"cpu": 1})))
        case 3:
            world.remove((Pod, dice.choice(pods).key))


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


def test_where_it_is_told_why_jobs_wait_there_is_no_backlog() -> None:
    world = crowded()
    for _ in range(4):
        for decision in run_cycle(snapshot_of(world.live), CONF, is_quiet=True).decisions:
            world.carry_out(decision)
    report = run_cycle(snapshot_of(world.live), CONF)
    assert not len(world.live.attention.to_admit)
    assert "overcommit" in {note.speaker for note in report.session.trace.jobs["default/j5"]}


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
