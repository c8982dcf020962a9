"""A shadow on a scripted sequence of changes: what it says of another scheduler's actions, and why."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from hekla.clock import VirtualClock
from hekla.cluster.conditions import evicted, placed
from hekla.cluster.store import Store
from hekla.conf import Conf, read_conf, require
from hekla.insight.shadow import FindingKind, PodFinding, Shadow
from hekla.insight.shadow.candidate import Candidate, Feed
from hekla.objects import Manifest, Pod
from hekla.scheduler.builtin import BUILTIN
from hekla.testing.builders import JobObjects, job, node, queue

START = 1_800_000_000.0
PACKING = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: proportion}, {name: binpack}]
"""
SPREADING = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins:
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder, arguments: {leastrequested.weight: 10, mostrequested.weight: 0}}
"""
EVICTING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: proportion}]
"""


def conf(text: str) -> Conf:
    return require(read_conf(text, "test", BUILTIN.catalogue()), False)


class Stage:
    """A cluster that a test changes, and a shadow that looks on."""

    def __init__(self, *objects: Manifest | JobObjects, **confs: str) -> None:
        self.clock = VirtualClock(START)
        self.store = Store()
        feed = Feed(self.store, ("volcano",), self.clock)
        candidates = [Candidate(name, conf(text), self.clock, BUILTIN) for name, text in confs.items()]
        self.shadow = Shadow(feed, candidates)
        self.add(queue("default"), *objects)

    def add(self, *objects: Manifest | JobObjects) -> None:
        for thing in objects:
            for manifest in thing.objects if isinstance(thing, JobObjects) else (thing,):
                self.store.put(manifest)

    def pod(self, name: str) -> Pod:
        pod = self.store.get(Pod, f"default/{name}")
        assert pod is not None
        return pod

    def bind(self, name: str, to: str) -> None:
        self.store.put(placed(self.pod(name), to))

    def evict(self, name: str) -> None:
        now = datetime.fromtimestamp(self.clock.now(), UTC)
        pod = evicted(self.pod(name), "preempt", now)
        self.store.put(pod)
        self.store.put(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=now)))

    def gone(self, name: str) -> None:
        self.store.remove(self.pod(name))

    def step(self, seconds: float = 1.0) -> list[PodFinding]:
        found = self.shadow.step()
        self.clock.sleep(seconds)
        return found

    def counted(self, candidate: str = "current") -> dict[str, int]:
        tally = self.shadow.counts[candidate]
        return {kind.value: count for kind, count in tally.kinds.items() if count}


def two_nodes() -> tuple[Manifest, Manifest]:
    return node("n1", cpu=4), node("n2", cpu=4)


def test_a_pod_that_goes_where_it_would_have_gone_is_no_difference() -> None:
    stage = Stage(*two_nodes(), job("base", running={"n1": 1}, cpu=2), current=PACKING)
    stage.add(job("one", tasks=1, cpu=1))
    assert stage.step() == []
    stage.bind("one-0", "n1")
    assert stage.step() == []
    assert stage.counted() == {"same": 1}


def test_a_pod_on_another_node_is_told_with_both_scores() -> None:
    stage = Stage(*two_nodes(), job("base", running={"n1": 1}, cpu=2), current=PACKING)
    stage.add(job("one", tasks=1, cpu=1))
    stage.step()
    stage.bind("one-0", "n2")
    (finding,) = stage.step()
    assert (finding.kind, finding.node, finding.own_node) == (FindingKind.OTHER_NODE, "n2", "n1")
    assert finding.reason.startswith("n2 scores ")
    assert str(finding).startswith("default/one-0 (queue default): bound to n2, here to n1: n2 scores ")


def test_a_node_that_refuses_the_pod_is_told_with_the_reason() -> None:
    tainted = node("n2", cpu=4, taints=["gpu=yes:NoSchedule"])
    stage = Stage(node("n1", cpu=4), tainted, current=PACKING)
    stage.add(job("one", tasks=1, cpu=1))
    stage.step()
    stage.bind("one-0", "n2")
    (finding,) = stage.step()
    assert finding.kind is FindingKind.OTHER_NODE
    assert "n2 refuses it: " in finding.reason
    assert "gpu" in finding.reason


def test_twins_may_swap_their_places() -> None:
    stage = Stage(*two_nodes(), current=SPREADING)
    stage.add(job("gang", tasks=2, cpu=3))
    stage.step()
    stage.bind("gang-0", "n2")
    stage.bind("gang-1", "n1")
    assert stage.step() == []
    assert stage.counted() == {"same": 2}


def test_a_pod_that_is_created_and_bound_between_two_cycles_is_judged_by_the_facts_before_it_was_bound() -> (
    None
):
    stage = Stage(*two_nodes(), job("base", running={"n1": 1}, cpu=2), current=PACKING)
    stage.step()
    stage.add(job("quick", tasks=1, cpu=1))
    stage.bind("quick-0", "n2")
    (finding,) = stage.step()
    assert (finding.kind, finding.own_node) == (FindingKind.OTHER_NODE, "n1")


def test_half_a_gang_is_bound_where_we_would_have_waited() -> None:
    stage = Stage(node("n1", cpu=2), current=PACKING)
    stage.add(job("gang", tasks=3, cpu=1))
    stage.step()
    stage.bind("gang-0", "n1")
    (finding,) = stage.step()
    assert finding.kind is FindingKind.WAITS
    assert "room for 2 of the 3 tasks that start together" in finding.reason
    assert stage.shadow.counts["current"].as_data()["byQueue"] == {"default": {"would wait": 1}}


def test_what_we_would_have_started_earlier_is_told_in_seconds_and_while_it_waits() -> None:
    stage = Stage(*two_nodes(), current=PACKING)
    stage.add(job("late", tasks=1, cpu=1))
    told = [finding for _ in range(8) for finding in stage.step()]
    assert [finding.kind for finding in told] == [FindingKind.STARTS], "once, however long it waits"
    stage.bind("late-0", "n1")
    (finding,) = stage.step()
    assert (finding.kind, finding.seconds) == (FindingKind.EARLIER, 8.0)
    assert stage.shadow.counts["current"].as_data()["earlierSeconds"] == {
        "total": 8.0,
        "mean": 8.0,
        "most": 8.0,
    }


def test_evictions_that_we_would_do_as_well_are_agreed_on() -> None:
    stage = Stage(
        node("n1", cpu=1), job("low", running={"n1": 1}, cpu=1, priority=1, min_available=0), current=EVICTING
    )
    stage.add(job("high", tasks=1, cpu=1, priority=10))
    stage.step()
    stage.evict("low-0")
    assert stage.step() == []
    stage.gone("low-0")
    stage.step()
    stage.bind("high-0", "n1")
    stage.step()
    assert stage.counted() == {"same": 2}
    assert stage.shadow.counts["current"].evictions == 1


def test_an_eviction_that_we_would_not_do() -> None:
    stage = Stage(
        node("n1", cpu=2), job("low", running={"n1": 1}, cpu=1, priority=1, min_available=0), current=PACKING
    )
    stage.add(job("high", tasks=1, cpu=2, priority=10))
    stage.step()
    stage.evict("low-0")
    (finding,) = stage.step()
    assert (finding.kind, finding.node, finding.is_eviction) == (FindingKind.KEEPS, "n1", True)
    assert 'evicted because of "preempt"' in finding.reason


def test_an_eviction_that_does_not_happen_is_told_after_a_while() -> None:
    stage = Stage(
        node("n1", cpu=1), job("low", running={"n1": 1}, cpu=1, priority=1, min_available=0), current=EVICTING
    )
    stage.add(job("high", tasks=1, cpu=1, priority=10))
    told = [finding for _ in range(8) for finding in stage.step()]
    assert [(finding.kind, finding.pod) for finding in told] == [(FindingKind.EVICTS, "default/low-0")]
    assert "default/high" in told[0].reason


def test_pods_that_a_user_deletes_are_no_schedulers_action() -> None:
    stage = Stage(node("n1", cpu=2), job("low", running={"n1": 1}, cpu=1), current=PACKING)
    stage.step()
    stage.gone("low-0")
    stage.step()
    assert stage.shadow.counts["current"].seen == 0


def test_two_configurations_are_judged_apart_on_the_same_facts() -> None:
    base = job("base", running={"n1": 1}, cpu=2)
    stage = Stage(*two_nodes(), base, current=PACKING, candidate=SPREADING)
    stage.add(job("one", tasks=1, cpu=1))
    stage.step()
    stage.bind("one-0", "n1")
    (finding,) = stage.step()
    assert (finding.candidate, finding.kind, finding.own_node) == ("candidate", FindingKind.OTHER_NODE, "n2")
    assert stage.counted("current") == {"same": 1}
    summary = stage.shadow.summary()
    assert summary["disagreements"] == 1


def test_one_difference_does_not_make_all_that_follows_different() -> None:
    stage = Stage(*two_nodes(), current=PACKING)
    stage.add(job("gang", tasks=4, cpu=1, min_available=1))
    stage.step()
    for at in range(4):
        stage.bind(f"gang-{at}", "n2")
    assert [finding.kind for finding in stage.step()] == [FindingKind.OTHER_NODE]
    assert stage.counted() == {"other node": 1, "same": 3}


def test_pods_of_other_schedulers_are_load_and_not_judged() -> None:
    stage = Stage(*two_nodes(), current=PACKING)
    foreign = job("web", tasks=1, cpu=3)
    pods = [replace(pod, spec=replace(pod.spec, scheduler_name="default-scheduler")) for pod in foreign.pods]
    stage.add(*pods)
    stage.step()
    stage.bind("web-0", "n1")
    stage.step()
    assert stage.shadow.counts["current"].seen == 0
    stage.add(job("one", tasks=1, cpu=2))
    stage.step()
    stage.bind("one-0", "n2")
    assert stage.step() == [], "n1 is full of what others put there"


@pytest.mark.parametrize("rounds", [30])
def test_a_flood_of_news_costs_a_limited_number_of_cycles(rounds: int) -> None:
    stage = Stage(node("n1", cpu=64), current=PACKING)
    stage.step()
    before = stage.shadow.comparators[0].candidate.cycles
    for at in range(rounds):
        stage.add(job(f"j{at}", tasks=1, cpu=1))
        stage.bind(f"j{at}-0", "n1")
    stage.step()
    spent = stage.shadow.comparators[0].candidate.cycles - before
    assert spent == stage.shadow.options.cycles_per_step + 1
    tally = stage.shadow.counts["current"]
    assert tally.seen == rounds
    assert set(tally.kinds) <= {FindingKind.SAME, FindingKind.NOT_COMPARED}
