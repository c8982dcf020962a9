"""A state kept through any sequence of events is the state made anew, and decides the same.

Objects come, change, go and come again under the same UID or another, between any two cycles; cycles tell why
pods wait or not, and what they decide comes true in whole, in part or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from msgspec.structs import replace
from world import Key, World, accounts, differences, facts

from hekla.engine.framework.decisions import Decision, UpdatePodGroup
from hekla.engine.state.snapshot import snapshot_of, take_snapshot
from hekla.objects import Manifest, PodGroup
from hekla.objects.keys import GROUP_NAME, QUEUE_ALLOCATION_GATE
from hekla.objects.scheduling import PodGroupStatus
from hekla.scheduler.cycle import run_cycle
from hekla.testing.builders import job, node, priority_class, queue
from hekla.testing.network import hypernode, sub_group
from hekla.testing.pods import stamped
from hekla.testing.storage import claim, csi_node, storage_class, using, volume
from hekla.testing.story import conf_of
from hekla.testing.strategies import NOW

JOBS = ("a", "b", "c")
PODS = 3
NODES = ("n1", "n2")


def machines() -> list[Manifest]:
    forms: list[Mapping[str, Any]] = [
        {"cpu": 2},
        {"cpu": 4, "labels": {"zone": "east"}},
        {"cpu": 4, "gpu": 1},
        {"cpu": "lots"},
        {"cpu": 2, "unschedulable": True},
    ]
    return [node(name, **form) for name in NODES for form in forms]


def tenants() -> list[Manifest]:
    forms: list[Mapping[str, Any]] = [{}, {"weight": 3}, {"capability": {"cpu": 2}}]
    readable = [queue(name, **form) for name in ("default", "q") for form in forms]
    return [*readable, queue("q", capability={"cpu": "much"})]


def classes() -> list[Manifest]:
    values = (("low", 1), ("high", 5), ("high", 9))
    return [
        priority_class(name, value, is_default=usual) for name, value in values for usual in (False, True)
    ]


def groups() -> list[Manifest]:
    forms: list[Mapping[str, Any]] = [
        {"phase": "Pending", "min_resources": {"cpu": 1}},
        {"phase": "Pending", "min_resources": {"cpu": 1}, "queue": "q"},
        {"phase": "Inqueue", "min_available": 1},
        {"phase": "Inqueue", "topology": ("hard", "rack")},
        {"phase": "Running", "topology": ("soft", 1), "min_available": 2},
        {"phase": "Inqueue", "sub_groups": [sub_group("parts", by=("part",), size=1)], "min_available": 2},
        {"phase": "Pending", "min_resources": {"cpu": "much"}},
        {"phase": "Pending", "min_resources": {"example.com/card": 1}},
    ]
    made = [
        job(name, tasks=0, **{"min_available": PODS, **form}).pod_group for name in JOBS for form in forms
    ]
    spec = [replace(one, spec=replace(one.spec, priority_class_name="high")) for one in made[::3]]
    return [*made, *spec]


def pods() -> list[Manifest]:
    found: list[Manifest] = []
    forms: list[Mapping[str, Any]] = [
        {"cpu": 1},
        {"cpu": 1, "labels": {"part": "x"}},
        {"cpu": 2, "labels": {"part": "y"}, "running": {"n1": PODS}},
        {"cpu": 1, "running": {"n2": PODS}},
        {"cpu": 1, "bound": {"n1": PODS}},
        {"cpu": 1, "releasing": {"n1": PODS}},
        {"cpu": "much"},
        {"cpu": 1, "succeeded": PODS},
        {"cpu": 1, "failed": PODS},
        {"cpu": 1, "nominated": "n1"},
        {"cpu": 1, "gates": [QUEUE_ALLOCATION_GATE]},
    ]
    for name in JOBS:
        for form in forms:
            found += job(name, tasks=PODS, **form).pods
        found += [using(one, "c1") for one in job(name, tasks=PODS, cpu=1).pods]
        moved = job(name, tasks=1, cpu=1).pods[0]
        notes = {**moved.metadata.annotations, GROUP_NAME: "b"}
        found.append(replace(moved, metadata=replace(moved.metadata, annotations=notes)))
    return found


def surroundings() -> list[Manifest]:
    return [
        *(hypernode("r1", nodes=["n1"], tier_name=name) for name in ("rack", "row")),
        *(hypernode("r2", nodes=nodes, tier_name="rack") for nodes in (["n2"], ["n1", "n2"])),
        *(claim("c1", of=of, volume=bound) for of in ("", "s1") for bound in ("", "v1")),
        *(volume("v1", driver=driver) for driver in ("", "fast")),
        *(storage_class("s1", driver) for driver in ("fast", "slow")),
        *(csi_node(name, fast=fast) for name in NODES for fast in (None, 0, 2)),
    ]


KINDS = (
    [*stamped(machines())],
    [*stamped(tenants())],
    [*stamped(classes())],
    [*stamped(groups())],
    [*stamped(pods())],
    [*stamped(pods())],
    [*stamped(surroundings())],
)
THINGS = st.one_of([st.tuples(st.just(at), st.integers(0, len(kind) - 1)) for at, kind in enumerate(KINDS)])
"""Places in KINDS."""
CONF = conf_of(
    "enqueue, allocate, preempt, reclaim, backfill",
    ("priority, gang, conformance", "drf, predicates, proportion, nodeorder, network-topology-aware"),
)
ADMITTING = conf_of(
    "enqueue, allocate, backfill", ("priority, gang", "overcommit, predicates, proportion, nodeorder")
)


CONFS = {"usual": CONF, "admitting": ADMITTING}


class KeptState(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.counted = 0
        self.now = NOW
        for manifest in (queue("default"), node("n1"), hypernode("r1", nodes=["n1"], tier_name="rack")):
            self.world.put(*stamped([manifest]))

    @rule(things=st.lists(THINGS, min_size=1, max_size=8))
    def come_or_change(self, things: list[tuple[int, int]]) -> None:
        for kind, at in things:
            self.world.put(KINDS[kind][at])

    @rule(name=st.sampled_from(JOBS), form=st.integers(0, 7), shape=st.integers(0, 10))
    def a_whole_job(self, name: str, form: int, shape: int) -> None:
        group = groups()[JOBS.index(name) * 8 + form]
        start = JOBS.index(name) * (11 * PODS + PODS + 1) + shape * PODS
        for thing in stamped([group, *pods()[start : start + PODS]]):
            self.world.put(thing)

    @rule(
        dice=st.randoms(use_true_random=False), how=st.sampled_from(["gone", "again", "anew", "again later"])
    )
    def go_or_come_again(self, dice: Any, how: str) -> None:
        keys = list(self.world.objects)
        for key in dice.sample(keys, min(len(keys), dice.randint(1, 3))):
            self._end(key, how)

    @rule(name=st.sampled_from(JOBS), how=st.sampled_from(["gone", "again", "anew"]))
    def a_group_goes(self, name: str, how: str) -> None:
        if (PodGroup, f"default/{name}") in self.world.objects:
            self._end((PodGroup, f"default/{name}"), how)

    def _end(self, key: Key, how: str) -> None:
        thing = self.world.objects[key]
        self.world.remove(key)
        self.counted += 1
        if how == "again later":
            self.world.put(node(f"later-{self.counted % 2}", cpu=1))
        if how == "anew":
            uid = f"{thing.metadata.uid}-{self.counted}"
            thing = replace(thing, metadata=replace(thing.metadata, uid=uid))
        if how != "gone":
            self.world.put(thing)

    @rule()
    def a_pod_ends(self) -> None:
        self.world.end_a_pod()

    @rule()
    def taken_in(self) -> None:
        self.world.live.take_in()

    @rule(
        quiet=st.booleans(),
        conf=st.sampled_from(["usual", "usual", "admitting"]),
        come_true=st.sampled_from([1.0, 1.0, 1.0, 0.5, 0.0]),
        dice=st.randoms(use_true_random=False),
        count=st.integers(1, 3),
    )
    def cycle(self, quiet: bool, conf: str, come_true: float, dice: Any, count: int) -> None:
        world = self.world
        for _ in range(count):
            self.now += 150.0
            kept, anew = snapshot_of(world.live), take_snapshot(world.objects.values())
            assert_no(differences(facts(kept), facts(anew)))
            ours = run_cycle(kept, CONFS[conf], now=self.now, memory={}, is_quiet=quiet)
            theirs = run_cycle(anew, CONFS[conf], now=self.now, memory={}, is_quiet=quiet)
            assert sorted(map(str, kept.complaints)) == sorted(map(str, anew.complaints))
            assert_no(differences(accounts(ours.session), accounts(theirs.session)))
            assert_no(differences(*(told(one.decisions, world, quiet=quiet) for one in (ours, theirs))))
            for decision in theirs.decisions:
                if dice.random() < come_true:
                    world.carry_out(decision)

    def teardown(self) -> None:
        self.world.live.take_in()
        anew = take_snapshot(self.world.objects.values())
        assert_no(differences(facts(snapshot_of(self.world.live)), facts(anew)))


def told(decisions: Sequence[Decision], world: World, *, quiet: bool) -> dict[object, object]:
    """By kind and name; why a job waits is not told by quiet cycles, and left out."""
    found: dict[object, object] = {}
    for one in decisions:
        if quiet and isinstance(one, UpdatePodGroup):
            known = world.objects[PodGroup, one.pod_group]
            assert isinstance(known, PodGroup)
            if essence(one.status) != essence(known.status):
                found[UpdatePodGroup, one.pod_group] = essence(one.status)
        else:
            found[type(one), getattr(one, "pod", ""), getattr(one, "pod_group", "")] = one
    return found


def essence(status: PodGroupStatus) -> tuple[object, ...]:
    conditions = [(one.type, one.status, one.reason) for one in status.conditions]
    return status.phase, conditions, status.running, status.succeeded, status.failed


def assert_no(found: list[str]) -> None:
    assert not found, "\n".join(found)


def test_a_kept_state_is_the_state_made_anew() -> None:
    run_state_machine_as_test(KeptState, settings=settings(stateful_step_count=12))
