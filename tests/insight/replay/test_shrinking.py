"""A planted problem among many innocent objects: only a handful of them is left in the end."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from hekla.conf import Conf
from hekla.engine.framework.action import Action
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.state.snapshot import take_snapshot
from hekla.errors import InputError
from hekla.insight.replay import Budget, Case, Recording, Shrunk, case_of, shrink, travel_to
from hekla.insight.replay.problems import (
    HALF_PLACED,
    OVERCOMMITTED,
    ReplayProblem,
    breaches,
    confs_differ,
    evident_problem,
    job_waits,
    outcome_of,
    pod_outcome,
    says,
)
from hekla.objects import Manifest, Node, Pod, PodGroup
from hekla.objects.keys import CPU_USAGE, MEMORY_USAGE
from hekla.objects.scenario import read_scenario
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.testing import conf_of, job, node, plugin, priority_class, queue, stamped
from insight.replay.recorded import Recorder

PACKING = conf_of("enqueue, allocate, backfill", ("priority, gang", "predicates, proportion, binpack"))
SPREADING = conf_of("enqueue, allocate, backfill", ("priority, gang", "predicates, proportion, nodeorder"))
EVICTING = conf_of("enqueue, allocate, preempt", ("priority, gang, conformance", "predicates"))


def crowd() -> list[Manifest]:
    """Twelve nodes of four cores, and ten gangs of three."""
    nodes = [node(f"n{at:02}", cpu=4, labels={"zone": "ab"[at % 2]}) for at in range(12)]
    jobs = [job(f"j{at:02}", tasks=3, cpu=1, queue=f"q{at % 2}", phase="Inqueue") for at in range(10)]
    return [queue("q0"), queue("q1", weight=3), *nodes, *(one for gang in jobs for one in gang.objects)]


def case(tmp_path: Path, objects: list[Manifest], conf: Conf = PACKING, registry: Registry = BUILTIN) -> Case:
    """The first cycle on these objects, out of a recording."""
    path = tmp_path / "recording"
    with Recorder(path, stamped(objects), conf, registry=registry) as one:
        one.cycles(1)
    return case_of(*travel_to(Recording(path), 1, registry))


def shrunk(one: Case, problem: ReplayProblem, budget: Budget | None = None) -> Shrunk:
    found = shrink(one, problem.shows, budget)
    assert problem.shows(found.case.read_again()), "the file shows it as well"
    return found


def kinds(one: Case) -> Counter[str]:
    return Counter(one.data["kind"] for one in one.objects)


def test_a_job_that_no_node_suits_is_left_with_one_that_does_not(tmp_path: Path) -> None:
    picky = job("picky", tasks=3, cpu=1, queue="q0", phase="Inqueue", node_selector={"zone": "c"})
    full = case(tmp_path, [*crowd(), *picky.objects])
    problem = job_waits(full, "default/picky", "not chosen by the node selector")
    assert str(problem) == "default/picky waits: not chosen by the node selector"
    found = shrunk(full, problem)
    assert found.is_complete
    assert kinds(found.case) == {"Node": 1, "PodGroup": 1, "Pod": 3, "Queue": 1}
    assert found.tries < 300


def test_sizes_stay_as_they_were(tmp_path: Path) -> None:
    """A node of nothing, or a pod that asks for nothing, would be smaller and tell another story."""
    huge = job("huge", tasks=1, cpu=99, queue="q1", phase="Inqueue")
    conf = conf_of("allocate", ("priority, gang", "predicates"))
    full = case(tmp_path, [*crowd(), *huge.objects], conf)
    problem = job_waits(full, "default/huge")
    assert str(problem) == "default/huge waits: not enough cpu (asked #, most free #)"
    found = shrunk(full, problem).case
    assert kinds(found) == {"Node": 1, "PodGroup": 1, "Pod": 1, "Queue": 1}
    (one,) = [one.manifest for one in found.objects if isinstance(one.manifest, Node)]
    (asking,) = [one.manifest for one in found.objects if isinstance(one.manifest, Pod)]
    assert one.status.allocatable["cpu"] == 4
    assert asking.spec.containers[0].resources.requests["cpu"] == 99


def test_the_pod_that_takes_the_room_stays(tmp_path: Path) -> None:
    """The job waits because others were first: without them it would not wait."""
    nodes = [node("n1", cpu=4)]
    first = job("first", tasks=4, cpu=1, running={"n1": 4})
    others = [one for at in range(8) for one in job(f"j{at}", tasks=1, cpu=9, phase="Inqueue").objects]
    late = job("late", tasks=2, cpu=1, phase="Inqueue")
    full = case(tmp_path, [queue("default"), *nodes, *first.objects, *others, *late.objects])
    found = shrunk(full, job_waits(full, "default/late")).case
    names = sorted(one.data["metadata"]["name"] for one in found.objects)
    assert [name for name in names if name.startswith("j")] == []
    # One pod in the way leaves room for three: three of four are enough to stop a gang of two.
    assert sum(name.startswith("first-") for name in names) == 3


def test_a_bound_pod_keeps_its_node(tmp_path: Path) -> None:
    full = case(tmp_path, crowd(), SPREADING)
    outcome = outcome_of(full.decide(), "default/j03-1")
    assert outcome.startswith("bound to n")
    found = shrunk(full, pod_outcome(full, "default/j03-1")).case
    assert outcome_of(found.decide(), "default/j03-1") == outcome
    assert len(found.objects) <= 6


def test_an_evicted_pod_keeps_the_pod_it_makes_way_for(tmp_path: Path) -> None:
    low = job("low", tasks=4, cpu=1, min_available=1, running={"n1": 4}, priority=1)
    high = job("high", tasks=2, cpu=1, phase="Inqueue", priority=100)
    others = [one for at in range(6) for one in job(f"j{at}", tasks=2, cpu=1, running={f"o{at}": 2}).objects]
    rooms = [node(f"o{at}", cpu=2) for at in range(6)]
    classes = [priority_class("priority-1", 1), priority_class("priority-100", 100)]
    objects = [queue("default"), *classes, node("n1", cpu=4), *rooms]
    full = case(tmp_path, [*objects, *low.objects, *high.objects, *others], EVICTING)
    evicted = [
        pod for pod in ("default/low-2", "default/low-3") if "evicted" in outcome_of(full.decide(), pod)
    ]
    found = shrunk(full, pod_outcome(full, evicted[0])).case
    names = {one.data["metadata"]["name"] for one in found.objects}
    assert {"low", "high", "n1"} <= names
    assert not any(name.startswith(("j", "o")) for name in names)
    assert len(found.objects) <= 11


class Careless(Action):
    """Puts every waiting task on the first node, whether or not there is room."""

    name = "careless"

    def run(self, session: Session) -> None:
        for one in session.jobs_in_line():
            for task in list(one.roster.having(Status.PENDING).values())[:2]:
                session.put(task, 0, Status.ALLOCATED)
                session.bind(task)


CARELESS = BUILTIN.with_class(Careless)


def test_an_overcommitted_node_is_found_and_shrunk(tmp_path: Path) -> None:
    full = case(tmp_path, crowd(), conf_of("careless", ("priority", "predicates")), CARELESS)
    problem = evident_problem(full)
    assert str(problem) == OVERCOMMITTED
    found = shrunk(full, problem).case
    # Four cores; two pods of each gang are put there, and five are too many.
    assert kinds(found)["Node"] == 1
    assert kinds(found)["Pod"] == 5
    report = found.decide().report
    assert report is not None
    assert str(breaches(report)[0]) == "overcommitted node n11: cpu: 5000 asked for, 4000 there"


def test_a_half_placed_gang_is_found_and_shrunk(tmp_path: Path) -> None:
    gang = job("gang", tasks=3, cpu=1, phase="Inqueue")
    nodes = [node(f"n{at}", cpu=8) for at in range(5)]
    conf = conf_of("careless", ("gang", "predicates"))
    full = case(tmp_path, [queue("default"), *nodes, *gang.objects], conf, CARELESS)
    problem = evident_problem(full)
    assert str(problem) == HALF_PLACED
    found = shrunk(full, problem).case
    assert kinds(found) == {"Node": 1, "PodGroup": 1, "Pod": 1, "Queue": 1}


class Stumble(Action):
    """Fails when it sees a node of zone b."""

    name = "stumble"

    def run(self, session: Session) -> None:
        for one in session.nodes.nodes:
            if one.labels.get("zone") == "b":
                raise LookupError(f"node {one.name} of {len(session.nodes.nodes)}")


def test_a_cycle_that_fails_is_shrunk_to_what_makes_it_fail(tmp_path: Path) -> None:
    registry = BUILTIN.with_class(Stumble)
    full = case(tmp_path, crowd(), conf_of("allocate, stumble", ("gang", "predicates")), registry)
    problem = evident_problem(full)
    assert str(problem) == 'the cycle fails: action "stumble" failed: LookupError'
    found = shrunk(full, problem).case
    (one,) = found.objects
    assert one.data["kind"] == "Node"
    assert one.data["metadata"]["labels"] == {"zone": "b"}


def test_two_configurations_that_differ_are_left_with_what_they_differ_on(tmp_path: Path) -> None:
    full = case(tmp_path, crowd(), PACKING)
    found = shrunk(full, confs_differ(full, SPREADING)).case
    assert kinds(found)["Node"] == 2
    assert len(found.objects) <= 8
    with pytest.raises(InputError, match="decide alike on all pods"):
        confs_differ(full, PACKING)


def test_words_can_be_kept(tmp_path: Path) -> None:
    full = case(tmp_path, crowd())
    found = shrunk(full, says(full, "bound to n03")).case
    assert len(found.objects) <= 8
    with pytest.raises(InputError, match="is not said of this cycle"):
        says(full, "no such words")


def test_a_limit_ends_the_search_with_the_best_so_far(tmp_path: Path) -> None:
    full = case(tmp_path, crowd())
    some = shrunk(full, pod_outcome(full, "default/j00-0"), Budget(tries=4))
    assert (some.tries, some.is_complete) == (4, False)
    assert len(some.case.objects) < len(full.objects)
    none = shrunk(full, pod_outcome(full, "default/j00-0"), Budget(seconds=0.0))
    assert len(none.case.objects) == len(full.objects)


def test_what_is_no_problem_cannot_be_kept(tmp_path: Path) -> None:
    full = case(tmp_path, crowd())
    with pytest.raises(InputError, match="neither fails nor breaks a rule"):
        evident_problem(full)
    with pytest.raises(InputError, match="does not wait in this cycle"):
        job_waits(full, "default/j00")
    with pytest.raises(InputError, match='no pod "default/nobody"'):
        pod_outcome(full, "default/nobody")


def test_a_scenario_of_a_whole_cycle_is_decided_as_the_cycle_was(tmp_path: Path) -> None:
    """Measured load stands on the nodes, the default queue is named, and the time is that of the cycle."""
    busy = {CPU_USAGE: "95.5", MEMORY_USAGE: "10"}
    conf = conf_of("allocate", (["gang"], ["predicates", plugin("usage", {"thresholds": {"cpu": 80}})]))
    gang = job("gang", tasks=2, cpu=1, phase="Inqueue", queue="")
    objects = [queue("default"), node("n1", annotations=busy), node("n2"), *gang.objects]
    full = case(tmp_path, objects, conf)
    path = tmp_path / "cycle.json"
    path.write_bytes(full.scenario("cycle"))
    scenario = read_scenario(path)
    assert scenario.now == full.now
    assert [group.spec.queue for group in scenario.objects if isinstance(group, PodGroup)] == ["default"]
    (told,) = [one for one in json.loads(path.read_text())["objects"] if one["metadata"]["name"] == "n1"]
    assert told["metadata"]["annotations"][CPU_USAGE] == "95.5"
    report = run_cycle(take_snapshot(scenario.objects), conf, now=full.now)
    mine = full.decide().report
    assert mine is not None
    assert {d.pod for d in report.decisions if hasattr(d, "node")} == {"default/gang-0", "default/gang-1"}
    assert outcome_of(full.decide(), "default/gang-0") == "bound to n2"
