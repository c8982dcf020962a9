"""A state that was kept up to date change by change is the state that is made of all objects anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from world import STARTING, World, assert_same, cycle, facts, of_jobs_looked_at, one_gang, world_of

from hekla.conf import Conf
from hekla.engine.framework.decisions import Bind
from hekla.engine.framework.shortcuts import NO_SHORTCUT
from hekla.engine.model.status import Status
from hekla.engine.state.snapshot import snapshot_of, take_snapshot
from hekla.objects import Pod
from hekla.scheduler.cycle import run_cycle
from hekla.testing.builders import job, node, queue
from hekla.testing.conf_strategies import confs
from hekla.testing.pods import stamped
from hekla.testing.special_strategies import medley_confs, medleys
from hekla.testing.strategies import CROWDED, NOW, RandomCluster, clusters


@given(
    first=clusters(), second=clusters(places=CROWDED), conf=confs(), dice=st.randoms(use_true_random=False)
)
def test_changes_one_by_one_lead_to_the_same_place(
    first: RandomCluster, second: RandomCluster, conf: Conf, dice
) -> None:  # type: ignore[no-untyped-def]
    world = World()
    for manifest in (*first.nodes, *first.others):
        world.put(manifest)
    assert_same(world, conf)
    wanted = {(type(m), m.key): m for m in (*second.nodes, *second.others)}
    keys = list({**world.objects, **wanted})
    for _ in range(4):
        for key in dice.sample(keys, dice.randint(1, len(keys))):
            if key in wanted and dice.random() < 0.8:
                world.put(wanted[key])
            else:
                world.remove(key)
        assert_same(world, conf)


@given(cluster=clusters(), conf=confs())
def test_decisions_carried_out_are_changes_like_others(cluster: RandomCluster, conf: Conf) -> None:
    """So that jobs start, come to rest, and are stirred again when pods of theirs end."""
    world = World()
    for manifest in (*cluster.nodes, *cluster.others):
        world.put(manifest)
    for turn in range(6):
        for decision in assert_same(world, conf):
            world.carry_out(decision)
        if turn >= 3:
            world.end_a_pod()


@given(cluster=clusters(), conf=confs(), dice=st.randoms(use_true_random=False))
def test_not_all_that_is_decided_comes_true(cluster: RandomCluster, conf: Conf, dice) -> None:  # type: ignore[no-untyped-def]
    """Pods land elsewhere, late or not at all, nodes go and change, and some pods run only after a while."""
    world = World()
    for manifest in (*cluster.nodes, *cluster.others):
        world.put(manifest)
    names = [manifest.metadata.name for manifest in cluster.nodes]
    for _ in range(5):
        for decision in assert_same(world, conf):
            chance = dice.random()
            if isinstance(decision, Bind) and chance < 0.6:
                node = decision.node if chance < 0.4 or not names else dice.choice(names)
                world.bind(decision.pod, node, dice.choice(["Pending", "Running"]))
            elif chance < 0.8:
                world.carry_out(decision)
        bound = [m for m in world.objects.values() if isinstance(m, Pod) and m.spec.node_name]
        for pod in dice.sample(bound, min(2, len(bound))):
            world.bind(
                pod.key, pod.spec.node_name, dice.choice(["Running", "Running", "Succeeded", "Failed"])
            )
        if cluster.nodes and dice.random() < 0.4:
            machine = dice.choice(cluster.nodes)
            if dice.random() < 0.5:
                world.remove((type(machine), machine.key))
            else:
                world.put(replace(machine, spec=replace(machine.spec, unschedulable=dice.random() < 0.5)))


@given(cluster=medleys(), conf=medley_confs())
def test_the_kept_state_decides_as_the_long_way_does(cluster: RandomCluster, conf: Conf) -> None:
    """The long way starts from the objects in every cycle, and takes no shortcut."""
    world = World()
    for manifest in (*cluster.nodes, *cluster.others):
        world.put(manifest)
    for turn in range(5):
        quick = cycle(snapshot_of(world.live), conf)
        objects = take_snapshot(world.objects.values())
        anew = run_cycle(objects, conf, now=NOW, memory={}, shortcuts=NO_SHORTCUT).decisions
        assert quick.decisions == of_jobs_looked_at(anew, quick.session)
        for decision in quick.decisions:
            world.carry_out(decision)
        if turn >= 1:
            world.end_a_pod()


def test_a_job_at_rest_is_passed_over_until_something_happens_to_it() -> None:
    world = one_gang("Pending")
    for _ in range(5):
        for decision in assert_same(world, STARTING):
            world.carry_out(decision)
    assert (list(world.live.attention.active), list(world.live.attention.resting)) == ([], ["default/a"])
    world.end_a_pod()
    assert_same(world, STARTING)
    assert (list(world.live.attention.active), list(world.live.attention.resting)) == (["default/a"], [])


def test_a_job_that_runs_whole_is_at_rest_once_its_group_says_so() -> None:
    world = one_gang("Pending")
    looked_at = []
    for _ in range(4):
        for decision in cycle(snapshot_of(world.live), STARTING).decisions:
            world.carry_out(decision)
        looked_at.append(list(world.live.attention.active))
    # It starts, it is told that it runs, and then nobody needs to look.
    assert looked_at == [["default/a"], ["default/a"], [], []]


def test_a_job_of_which_news_was_lost_is_looked_at_again() -> None:
    world = one_gang("Pending")
    for _ in range(4):
        for decision in cycle(snapshot_of(world.live), STARTING).decisions:
            if isinstance(decision, Bind):
                world.carry_out(decision)
    world.live.take_in()
    assert list(world.live.attention.active) == ["default/a"]


def test_pods_that_went_where_they_were_put_keep_their_tasks() -> None:
    world = one_gang("Inqueue")
    decisions = cycle(snapshot_of(world.live), STARTING).decisions
    tasks, changes = list(world.live.tasks), world.live.nodes.journal.now
    for decision in decisions:
        world.carry_out(decision)
    world.live.take_in()
    assert list(world.live.tasks) == tasks
    assert [task.status for task in tasks] == [Status.RUNNING] * 2
    assert changes > 0
    assert world.live.nodes.journal.now == changes, "nothing was undone and done again"


@given(cluster=clusters(), conf=confs())
def test_two_sessions_on_one_snapshot_decide_the_same(cluster: RandomCluster, conf: Conf) -> None:
    snapshot = cluster.snapshot()
    first = cycle(snapshot, conf).decisions
    assert cycle(snapshot, conf).decisions == first


def test_a_node_that_is_made_anew_under_its_name_stands_last() -> None:
    nodes = [node(name, cpu=2) for name in ("n1", "n2")]
    gang = job("a", tasks=2, cpu=1, running={"n1": 1}, min_available=1)
    world = world_of([queue("default"), *nodes, *gang.objects])
    assert_same(world, STARTING)
    first = world.objects[type(nodes[0]), "n1"]
    world.remove((type(first), "n1"))
    world.put(replace(first, metadata=replace(first.metadata, uid="n1-again")))
    assert_same(world, STARTING)
    assert world.live.nodes.names == ["n2", "n1"]


def test_many_pods_at_once_load_nodes_as_each_by_itself_does() -> None:
    world = World()
    nodes = [node(f"n{at}", cpu=64) for at in range(3)]
    gang = job("a", tasks=40, cpu=1, memory="1Gi", running={"n0": 32, "n2": 4}, releasing={"n1": 4})
    for manifest in stamped([queue("default"), *nodes, *gang.objects]):
        world.put(manifest)
        world.live.take_in()
    assert_same(world, STARTING)


def test_many_objects_at_once_are_noted_and_forgotten_as_each_by_itself() -> None:
    gang = job("a", tasks=8, cpu=1, running={"n0": 3, "n1": 2}, releasing={"n0": 2})
    other = job("b", tasks=3, cpu=2, memory="1Gi", best_effort=1, running={"n1": 2})
    again = replace(gang.pods[0], metadata=replace(gang.pods[0].metadata, uid="another"))
    lost = [*gang.pods[1:], *other.pods[:2], other.pod_group]
    together, one_by_one = (world_of([queue("default"), node("n0", cpu=64), node("n1")]).live for _ in "ab")
    for changes in ([*gang.objects, *other.objects, again], [again, gang.pods[1], other.pods[0]]):
        together.note_all(changes)
        for manifest in changes:
            one_by_one.note(manifest)
        assert facts(snapshot_of(together)) == facts(snapshot_of(one_by_one))
        together.forget_all(lost)
        for manifest in lost:
            one_by_one.forget(manifest)
        assert facts(snapshot_of(together)) == facts(snapshot_of(one_by_one))
    assert together.nodes.used[0].any()
    together.forget_all([*gang.pods, *other.pods])
    together.take_in()
    assert not together.nodes.used[0].any()
    assert not together.pods.requested[0].any()
    assert not together.nodes.releasing_in_all.any()
