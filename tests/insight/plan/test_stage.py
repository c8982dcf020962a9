"""What is supposed can be taken back without a trace, and costs what it is."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from fakes.steps import steps_of
from hekla.conf import read_conf, require
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.framework.plugin import Plugin
from hekla.insight.plan import PlannedStart, Planner
from hekla.insight.plan.whatif import Setting, WhatIfCluster
from hekla.objects import Manifest, Pod
from hekla.scheduler.builtin import BUILTIN
from hekla.testing.builders import job, node, priority_class, queue
from hekla.testing.pods import stamped
from hekla.testing.story import conf_of


def stage_of(*objects: Manifest) -> WhatIfCluster:
    return WhatIfCluster(stamped(list(objects)), Setting(conf_of(), now=2e9))


def test_an_evicted_pod_waits_again_and_a_bound_one_runs() -> None:
    old = job("old", tasks=2, cpu=1, running={"n1": 1})
    cluster = stage_of(queue("default"), node("n1", cpu=2), *old.objects)
    cluster.carry_out(
        [
            Evict("default/old-0", "default-old-0", "n1", "preempt"),
            Bind("default/old-1", "default-old-1", "n1"),
        ]
    )
    cluster.cycle(2, {})
    pods = cluster.by_key(Pod)
    assert (pods["default/old-0"].spec.node_name, pods["default/old-0"].status.phase) == ("", "Pending")
    assert (pods["default/old-1"].spec.node_name, pods["default/old-1"].status.phase) == ("n1", "Running")


def test_taking_back_restores_every_object() -> None:
    old = job("old", tasks=2, cpu=1, running={"n1": 1}, releasing={"n1": 1})
    cluster = stage_of(queue("default"), node("n1", cpu=4), *old.objects)
    before = {kind: dict(cluster.by_key(kind)) for kind in (Pod,)}
    decisions = cluster.cycle(1, {}).decisions
    for manifest in job("new", cpu=1).objects:
        cluster.put(manifest)
    cluster.carry_out(cluster.cycle(1, {}).decisions)
    cluster.cycle(2, {})
    cluster.take_back()
    assert {kind: dict(cluster.by_key(kind)) for kind in (Pod,)} == before
    assert cluster.cycle(1, {}).decisions == decisions


def test_a_plan_takes_so_many_steps_more_for_every_node_and_no_more() -> None:
    plan_in_vain(full_cluster(50))  # what is imported and made but once does not count
    small, middle, large = (steps_of(partial(plan_in_vain, full_cluster(nodes))) for nodes in (200, 400, 800))

    assert large - middle < 2.2 * (middle - small)


def full_cluster(nodes: int) -> list[Manifest]:
    objects: list[Manifest] = [queue("default"), queue("other"), priority_class("high", 100)]
    objects += [node(f"n{i}", cpu=64, memory="256Gi", gpu=8) for i in range(nodes)]
    for i in range(nodes // 2):
        on = {f"n{(8 * i + k) % nodes}": 1 for k in range(8)}
        objects += job(f"j{i}", tasks=8, cpu=14, gpu=2, memory="32Gi", running=on).objects
    return stamped(objects)


def plan_in_vain(objects: list[Manifest]) -> None:
    """Nothing helps the new job, and that takes several tries to tell."""
    [answer] = Planner(objects, conf_of()).plan(job("new", tasks=64, cpu=16, gpu=4).objects, tries=50)
    assert answer.start is PlannedStart.NOT
    assert answer.tries > 5


def test_every_first_cycle_remembers_the_same() -> None:
    setting = Setting(conf_of(), now=2e9, memory={"tdm.last": 5.0})
    cluster = WhatIfCluster(stamped([queue("default")]), setting)
    memory = cluster.fresh_memory()
    assert memory == {"tdm.last": 5.0}
    memory["tdm.last"] = 2e9
    assert cluster.fresh_memory() == {"tdm.last": 5.0}


class Remembering(Plugin):
    """Notes what each cycle remembers, and leaves something behind for the next."""

    name = "remembering"
    seen: ClassVar[list[dict[str, float]]] = []

    def on_open(self) -> None:
        self.seen.append(dict(self.session.memory))
        self.session.memory["cycles"] = self.session.memory.get("cycles", 0.0) + 1


def test_what_earlier_cycles_remembered_counts_in_every_try_of_a_plan() -> None:
    registry = BUILTIN.with_class(Remembering)
    text = 'actions: "enqueue, allocate"\ntiers: [{plugins: [{name: gang}, {name: remembering}]}]\n'
    conf = require(read_conf(text, "", registry.catalogue()), strict=True)
    cluster = stamped([queue("default"), node("n1", cpu=2)])
    Remembering.seen.clear()
    planner = Planner(cluster, conf, registry=registry, memory={"cycles": 7.0})
    planner.plan(job("new", tasks=3, cpu=1).objects, tries=2)
    assert len(Remembering.seen) == 4  # the first look, the job as it is, and two tries
    assert all(memory == {"cycles": 7.0} for memory in Remembering.seen)
