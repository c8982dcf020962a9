"""A cycle that fails leaves no trace: the next one decides as if it had not been."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_live_laws import assert_same
from world import World, world_of

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import JOB_ORDER, answers
from hekla.engine.model.job import Job
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import snapshot_of
from hekla.errors import PluginError
from hekla.objects import Manifest
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.scheduler.loop import Loop
from hekla.testing import conf_of, job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.strategies import CROWDED, NOW, RandomCluster, clusters

ACTIONS = "enqueue, allocate, preempt, reclaim, backfill"
TIERS = ["priority, gang, conformance", "drf, predicates, proportion, nodeorder"]
CONF = conf_of(ACTIONS, TIERS)
FUSED = conf_of(ACTIONS, [f"fuse, {TIERS[0]}", TIERS[1]])


class Fuse(Plugin):
    """Blows after so many questions and changes."""

    name = "fuse"
    left = 0

    def burn(self) -> None:
        type(self).left -= 1
        if type(self).left < 0:
            raise RuntimeError("blown")

    @answers(JOB_ORDER)
    def no_opinion(self, _job: Job) -> int:
        self.burn()
        return 0

    def on_allocate(self, _task: Task) -> None:
        self.burn()

    def on_release(self, _task: Task) -> None:
        self.burn()

    def on_close(self) -> None:
        self.burn()


def attempt(world: World, count: int) -> None:
    """A cycle that fails after so many questions, if it has that many."""
    Fuse.left = count
    with suppress(PluginError):
        run_cycle(snapshot_of(world.live), FUSED, registry=BUILTIN.with_class(Fuse), now=NOW)


@given(cluster=clusters(places=CROWDED), counts=st.lists(st.integers(0, 30), min_size=1, max_size=3))
def test_a_failed_cycle_leaves_the_state_as_it_was(cluster: RandomCluster, counts: list[int]) -> None:
    world = world_of((*cluster.nodes, *cluster.others))
    for _ in range(3):
        for count in counts:
            attempt(world, count)
        for decision in assert_same(world, CONF):
            world.carry_out(decision)


def test_evictions_of_a_failed_cycle_are_undone() -> None:
    world = world_of(
        [
            queue("default"),
            node("n1", cpu=2),
            *job("low", tasks=2, min_available=1, cpu=1, running={"n1": 2}, phase="Running").objects,
            *job("high", tasks=1, cpu=1, task_priorities=[9], phase="Inqueue").objects,
        ]
    )
    for count in range(12):
        attempt(world, count)
        assert_same(world, CONF)


class Forgetful(Plugin):
    """Remembers before it fails."""

    name = "fuse"

    def on_close(self) -> None:
        self.session.memory["fuse"] = self.session.now
        if self.session.now < 2:
            raise RuntimeError("blown")


def test_what_plugins_remember_of_a_failed_cycle_is_forgotten() -> None:
    clock = VirtualClock(1.0)
    loop = Loop(
        EmbeddedCluster([queue("default")], clock), FUSED, clock, registry=BUILTIN.with_class(Forgetful)
    )
    with pytest.raises(PluginError):
        loop.step()
    assert loop._memory == {}
    clock.sleep(2)
    loop.step()
    assert loop._memory == {"fuse": 3.0}


@given(first=clusters(), second=clusters(places=CROWDED))
def test_columns_of_resources_that_are_gone_are_given_up(first: RandomCluster, second: RandomCluster) -> None:
    def named(cluster: RandomCluster) -> list[Manifest]:
        return [*cluster.nodes, *cluster.others]

    extra = [
        manifest
        for number in range(6)
        for manifest in (
            node(f"x{number}", resources={f"example.com/r{number}": 2}),
            *job(f"x{number}", resources={f"example.com/r{number}": 1}, cpu=1, phase="Inqueue").objects,
        )
    ]
    world = World(most_resources=4)
    for manifest in stamped(named(first)):
        world.put(manifest)
    for manifest in extra:
        world.put(manifest)
        assert_same(world, CONF)
        if isinstance(manifest, type(extra[-1])):
            for gone in extra[: extra.index(manifest) + 1]:
                world.remove((type(gone), gone.key))
    for manifest in named(second):
        world.put(manifest)
    for decision in assert_same(world, CONF):
        world.carry_out(decision)
    assert_same(world, CONF)
    assert sum("example.com" in name for name in world.live.axis.names) <= 2
