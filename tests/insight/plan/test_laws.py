"""Laws on random clusters: tries leave no trace, suggestions hold, and a whole cluster does the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import PRESETS, read_conf, require
from hekla.insight.plan import admitted_state
from hekla.insight.plan.changes import ladders, queues
from hekla.insight.plan.intake import PlanIntake, moment_after
from hekla.insight.plan.plan import Planner
from hekla.insight.plan.request import PlanRequest
from hekla.insight.plan.search import Search, lowered, scales
from hekla.insight.plan.trial import Trial, try_out
from hekla.insight.plan.whatif import Setting, WhatIfCluster
from hekla.objects import Manifest, Pod
from hekla.objects.scheduling import PodGroupStatus
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.loop import Loop
from hekla.testing.builders import JobObjects, job, node, priority_class, queue
from hekla.testing.pods import stamped

CONF = require(read_conf(PRESETS["everything"].text, "everything", BUILTIN.catalogue()), strict=True)
SEEDS = range(12)


def random_cluster(random: np.random.Generator) -> list[Manifest]:
    """A few nodes, some of them tainted, with jobs that run, leave and wait in two queues."""
    objects: list[Manifest] = [queue("a", reclaimable=True), queue("b", reclaimable=True)]
    objects += [priority_class("low", 10), priority_class("high", 100)]
    free = {}
    for i in range(int(random.integers(2, 5))):
        free[f"n{i}"] = int(random.integers(2, 9))
        taints = ["team=x:NoSchedule"] if random.random() < 0.3 else []
        objects.append(node(f"n{i}", cpu=free[f"n{i}"], taints=taints))
    for i in range(int(random.integers(1, 5))):
        on = f"n{random.integers(len(free))}"
        count = int(random.integers(free[on] // 2, free[on] + 1))
        free[on] -= count
        name, where = f"old{i}", str(random.choice(["a", "b"]))
        state = {"releasing" if random.random() < 0.2 else "running": {on: count}} if count else {}
        tasks = count + int(random.integers(0, 2)) or 1
        minimum = int(random.integers(1, tasks + 1))
        objects += job(name, tasks=tasks, min_available=minimum, cpu=1, queue=where, **state).objects  # type: ignore[arg-type]
    return stamped(objects)


def random_job(random: np.random.Generator, name: str) -> JobObjects:
    tasks = int(random.integers(1, 9))
    where, cpu = str(random.choice(["a", "b"])), int(random.integers(1, 5))
    return job(name, tasks=tasks, min_available=int(random.integers(1, tasks + 1)), cpu=cpu, queue=where)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_planner_that_has_planned_says_what_a_new_one_says(seed: int) -> None:
    random = np.random.default_rng(seed)
    cluster = random_cluster(random)
    used = Planner(cluster, CONF)
    for i in range(4):
        wanted = random_job(random, f"new{i}").objects
        assert used.plan(wanted, tries=30) == Planner(cluster, CONF).plan(wanted, tries=30)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_suggestion_holds_on_a_cluster_built_anew(seed: int) -> None:
    random = np.random.default_rng(seed)
    cluster = random_cluster(random)
    whatif = WhatIfCluster(cluster, Setting(CONF, moment_after(cluster)))
    intake = PlanIntake(whatif)
    [request] = intake.requests_in(random_job(random, "new").objects)
    for found in Search(whatif, intake, tries=60).smallest(request):
        assert afresh(cluster, found.change.request) == found.trial


def afresh(cluster: list[Manifest], request: PlanRequest) -> Trial:
    whatif = WhatIfCluster(cluster, Setting(CONF, moment_after(cluster)))
    return try_out(whatif, *PlanIntake(whatif).objects_of(request))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_smaller_change_does_not_work(seed: int) -> None:
    random = np.random.default_rng(100 + seed)
    cluster = random_cluster(random)
    whatif = WhatIfCluster(cluster, Setting(CONF, moment_after(cluster)))
    intake = PlanIntake(whatif)
    [request] = intake.requests_in(random_job(random, "new").objects)
    if try_out(whatif, *intake.objects_of(request)).starts:
        return
    told = {found.change.line for found in Search(whatif, intake, tries=200).smallest(request)}
    for scale in scales(request):
        lines = [lowered(request, [(scale, value)]).line for value in scale.values]
        for place, line in enumerate(lines[:-1]):
            if line in told:
                assert not afresh(
                    cluster, lowered(request, [(scale, scale.values[place + 1])]).request
                ).starts
    for ladder in [*ladders(request, whatif), *queues(request, whatif)]:
        reached = [place for place, change in enumerate(ladder) if change.line in told]
        for place in range(reached[0] if reached else 0):
            assert not afresh(cluster, ladder[place].request).starts


@pytest.mark.parametrize("seed", range(24))
def test_an_embedded_cluster_starts_what_a_plan_says(seed: int) -> None:
    """The short way of carrying decisions out comes to what a whole cluster comes to."""
    random = np.random.default_rng(200 + seed)
    cluster = random_cluster(random)
    wanted = random_job(random, "new")
    urgent = priority_class("urgent", 1_000)
    group = wanted.pod_group
    group = replace(
        group,
        spec=replace(group.spec, priority_class_name="urgent"),
        status=PodGroupStatus(),
    )
    pods = [replace(pod, spec=replace(pod.spec, priority_class_name="urgent")) for pod in wanted.pods]
    state = admitted_state([*cluster, urgent])
    [answer] = Planner(state.objects, CONF).plan([group, *pods], tries=0)
    clock = VirtualClock(moment_after(state.objects))
    embedded = EmbeddedCluster(
        [*cluster, urgent, group, *pods], clock, options=Options(run_seconds=math.inf, grace_seconds=0.5)
    )
    Loop(embedded, CONF, clock).run(max_cycles=max(answer.cycles, 1))
    placed = {
        pod.key: pod.spec.node_name
        for pod in embedded.all_of(Pod)
        if pod.spec.node_name and pod.metadata.name.startswith("new-")
    }
    assert placed == answer.placements
