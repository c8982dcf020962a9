"""What once differed between a state kept and a state made anew, one story each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from world import STARTING, World, assert_same, differences, facts, world_of

from hekla.conf import Conf
from hekla.engine.framework.decisions import Decision, UpdatePodGroup
from hekla.engine.model.benefit import BENEFICIARY, Benefit, BenefitStage
from hekla.engine.model.task import GROUP_NAME
from hekla.engine.state.snapshot import snapshot_of, take_snapshot
from hekla.objects import HyperNode, Manifest, Node, Pod, PodGroup
from hekla.objects.scheduling import PodGroupStatus
from hekla.scheduler.cycle import run_cycle
from hekla.testing.builders import job, node, priority_class, queue
from hekla.testing.network import hypernode, racks, sub_group
from hekla.testing.story import conf_of
from hekla.testing.strategies import NOW

PLAIN = conf_of("enqueue, allocate", ("priority", "predicates, proportion"))


def again(manifest: Manifest, *, uid: str = "") -> Manifest:
    meta = manifest.metadata
    return replace(manifest, metadata=replace(meta, uid=uid or meta.uid))


def assert_kept(world: World) -> None:
    anew = take_snapshot(world.objects.values())
    assert not differences(facts(snapshot_of(world.live)), facts(anew))


def carry_on(world: World, conf: Conf, *, cycles: int = 3) -> Sequence[Decision]:
    """So many cycles come true; what the last of them decided."""
    decisions: Sequence[Decision] = ()
    for _ in range(cycles):
        decisions = assert_same(world, conf)
        for decision in decisions:
            world.carry_out(decision)
    world.live.take_in()
    return decisions


def news_of(job: str, decisions: Sequence[Decision]) -> list[PodGroupStatus]:
    return [one.status for one in decisions if isinstance(one, UpdatePodGroup) and one.pod_group == job]


def two_of_everything() -> World:
    jobs = [one for name in "ab" for one in job(name, tasks=2, cpu=1, priority=5).objects]
    usual = [priority_class(name, value, is_default=True) for name, value in (("some", 1), ("more", 2))]
    return world_of([queue("default"), queue("q"), node("n1"), node("n2"), *usual, *jobs])


FIRST = ["n1", "default", "default/a", "default/a-0", "some"]


@pytest.mark.parametrize("key", FIRST)
def test_an_object_that_is_gone_and_comes_again_under_its_uid_stands_last(key: str) -> None:
    world = two_of_everything()
    world.live.take_in()
    [of_kind] = [kind for kind, name in world.objects if name == key]
    thing = world.objects[of_kind, key]
    world.remove((of_kind, key))
    world.put(thing)
    assert next(iter(world.live.manifests[of_kind])) == key
    assert_kept(world)
    assert list(world.live.manifests[of_kind])[-1] == key


def test_an_object_that_comes_again_under_another_uid_stands_after_those_that_came_meanwhile() -> None:
    world = two_of_everything()
    world.live.take_in()
    first = world.objects[Node, "n1"]
    world.remove((Node, "n1"))
    world.put(node("n3"))
    world.put(again(first, uid="n1-again"))
    assert_kept(world)
    assert world.live.nodes.names == ["n2", "n3", "n1"]


def test_a_recording_hears_that_an_object_was_gone() -> None:
    world, heard = two_of_everything(), list[object]()
    world.live.take_in()
    world.live.on_take_in = lambda noted: heard.append([(k, list(one.values())) for k, one in noted.items()])
    first = world.objects[Node, "n1"]
    world.remove((Node, "n1"))
    world.put(first)
    world.live.take_in()
    assert heard == [[(Node, [None])], [(Node, [first])]]


def test_a_pod_that_becomes_readable_stands_where_it_arrived() -> None:
    world = two_of_everything()
    good = world.objects[Pod, "default/a-0"]
    bad = next(one for one in job("a", tasks=1, cpu="much").objects if isinstance(one, Pod))
    world.put(bad)
    assert_kept(world)
    world.put(good)
    assert_kept(world)
    assert [task.name for task in world.live.tasks] == ["a-0", "a-1", "b-0", "b-1"]


def test_a_pod_that_goes_to_another_job_stands_there_where_it_arrived() -> None:
    world = two_of_everything()
    world.live.take_in()
    pod = world.objects[Pod, "default/a-0"]
    notes = {**pod.metadata.annotations, GROUP_NAME: "b"}
    world.put(replace(pod, metadata=replace(pod.metadata, annotations=notes)))
    assert_kept(world)
    assert [task.name for task in world.live.jobs["default/b"].tasks.values()] == ["a-0", "b-0", "b-1"]


def test_parts_of_a_job_stand_in_the_order_of_their_first_tasks() -> None:
    parts = [sub_group("parts", by=("part",), size=1)]
    built = [job("a", tasks=3, cpu=1, sub_groups=parts, labels={"part": part}).objects for part in "xy"]
    world = world_of([queue("default"), node("n1"), built[0][0], built[0][1], built[1][2], built[0][3]])
    world.live.take_in()
    world.remove((Pod, "default/a-0"))
    assert_kept(world)
    assert list(world.live.jobs["default/a"].sub_jobs) == ["default/a/parts-y", "default/a/parts-x"]


def test_a_soft_constraint_stays_soft_where_pods_come_after_a_session() -> None:
    group, pod = job("a", tasks=1, cpu=1, topology=("soft", 1)).objects
    world = world_of([queue("default"), node("n1"), *racks(r1=["n1"]), group])
    assert_same(world, STARTING)
    world.put(pod)
    assert_kept(world)
    assert_same(world, STARTING)
    assert not world.live.jobs["default/a"].asks_for_hard_topology


def test_a_job_that_names_an_unknown_tier_is_complained_of_in_every_cycle() -> None:
    asking = job("a", tasks=1, cpu=1, topology=("hard", "rack"))
    rack = hypernode("r1", nodes=["n1"], tier_name="rack")
    world = world_of([queue("default"), node("n1"), rack, *asking.objects])
    carry_on(world, STARTING)
    assert not world.live.attention.active
    world.remove((HyperNode, "r1"))
    for _ in range(3):
        snapshot = snapshot_of(world.live)
        decisions = run_cycle(snapshot, STARTING, now=NOW, memory={}).decisions
        assert 'no hypernode has tier name "rack"' in str(snapshot.complaints)
        for decision in decisions:
            world.carry_out(decision)


def test_a_job_for_which_room_is_kept_is_told_when_that_proves_futile() -> None:
    since = datetime.fromtimestamp(NOW - 60, UTC)
    benefit = replace(Benefit(BenefitStage.RESERVED, 0, evicted=1).as_condition(), last_transition_time=since)
    waiting = job("a", tasks=2, failed=1, running={"n1": 1}, cpu=1, phase="Running")
    leaving = job("b", tasks=1, releasing={"n1": 1}, cpu=1, phase="Running")
    world = world_of([queue("default"), node("n1"), *waiting.objects, *leaving.objects])
    group = world.objects[PodGroup, "default/a"]
    assert isinstance(group, PodGroup)
    world.put(replace(group, status=replace(group.status, conditions=(benefit,))))
    carry_on(world, STARTING)
    world.remove((Pod, "default/b-0"))
    [told] = news_of("default/a", carry_on(world, STARTING, cycles=1))
    assert [one.reason for one in told.conditions if one.type == BENEFICIARY] == [BenefitStage.FUTILE.value]


def test_under_another_configuration_jobs_that_run_are_looked_at_again() -> None:
    world = world_of([queue("default"), node("n1"), *job("a", tasks=2, cpu=1, phase="Inqueue").objects])
    carry_on(world, PLAIN)
    assert not world.live.attention.active
    [told] = news_of("default/a", carry_on(world, STARTING, cycles=1))
    assert [condition.type for condition in told.conditions] == ["Scheduled"]


def test_why_a_job_lacks_tasks_is_told_in_full_after_cycles_that_were_quiet() -> None:
    lacking = job("a", tasks=2, failed=1, running={"n1": 1}, cpu=1, phase="Running")
    world = world_of([queue("default"), node("n1"), *lacking.objects])
    for _ in range(3):
        for decision in run_cycle(snapshot_of(world.live), STARTING, now=NOW, is_quiet=True).decisions:
            world.carry_out(decision)
    [told] = news_of("default/a", assert_same(world, STARTING))
    assert "1/2 tasks in gang unschedulable" in told.conditions[0].message


def test_a_job_that_failed_before_it_was_admitted_is_told_so_until_nothing_is_new() -> None:
    failed = job("a", tasks=2, failed=2, cpu=9, phase="Pending", min_resources={"cpu": 9})
    world = world_of([queue("default", capability={"cpu": 1}), node("n1"), *failed.objects])
    carry_on(world, STARTING, cycles=4)
    assert not world.live.attention.active
