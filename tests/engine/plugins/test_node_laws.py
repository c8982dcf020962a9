"""Laws of predicates and nodeorder: a plain loop agrees, order does not matter, nothing is touched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from plugin_stage import FITS, UU, Stage, U, apart, dislikes, likes, near, node, only, pod, spread, term

from hekla.engine.ledger.arrays import ALL_ROWS
from hekla.engine.model.task import Task
from hekla.engine.plugins.kubernetes.topology_spread import HOSTNAME
from hekla.engine.plugins.nodeorder import share_of_best
from hekla.engine.plugins.nodeorder.allocation_scores import (
    balanced_allocation,
    capacity_of,
    least_allocated,
    most_allocated,
)
from hekla.objects.meta import matches
from hekla.objects.pod import PodAffinityTerm

APPS = st.sampled_from(["web", "db", "noise"])
PLACES = st.sampled_from(["zone", "rack", HOSTNAME])
AMOUNTS = st.integers(0, 2**40) | st.integers(0, 2**52)


@st.composite
def nodes(draw: st.DrawFn) -> list[Any]:
    made = []
    for i in range(draw(st.integers(1, 6))):
        labels = {HOSTNAME: f"n{i}"} if draw(st.booleans()) else {}
        for key in ("zone", "rack"):
            if value := draw(st.sampled_from(["", "a", "b"])):
                labels[key] = value
        taints = draw(
            st.lists(
                st.sampled_from(["t:NoSchedule", "s:PreferNoSchedule", "u=1:PreferNoSchedule"]), unique=True
            )
        )
        made.append(
            node(
                f"n{i}",
                labels=labels,
                taints=taints,
                pods=draw(st.integers(1, 4)),
                cpu=draw(st.integers(0, 4)),
            )
        )
    return made


@st.composite
def wishes(draw: st.DrawFn) -> dict[str, Any]:
    kind, app, place = (
        draw(st.sampled_from(["", "near", "apart", "likes", "dislikes"])),
        draw(APPS),
        draw(PLACES),
    )
    weight = draw(st.integers(1, 100))
    affinity = {
        "": {},
        "near": near(term(app, place)),
        "apart": apart(term(app, place), term(draw(APPS), draw(PLACES))),
        "likes": likes(weight, term(app, place)),
        "dislikes": dislikes(weight, term(app, place)),
    }[kind]
    constraints = [
        spread(draw(APPS), draw(PLACES), hard=draw(st.booleans()), skew=draw(st.integers(1, 2)))
        for _ in range(draw(st.integers(0, 2)))
    ]
    tolerations = [{"key": "t", "operator": "Exists"}] if draw(st.booleans()) else []
    spec: dict[str, Any] = {"topologySpreadConstraints": constraints, "tolerations": tolerations}
    return {**spec, "affinity": affinity} if affinity else spec


@st.composite
def clusters(draw: st.DrawFn) -> list[Any]:
    machines = draw(nodes())
    names = st.sampled_from([machine.metadata.name for machine in machines])
    pods = [
        pod(f"p{i}", on=draw(names), labels={"app": draw(APPS)}, requests={"cpu": "500m"}, **draw(wishes()))
        for i in range(draw(st.integers(0, 6)))
    ]
    task = pod("new", labels={"app": draw(APPS)}, requests={"cpu": 1, "memory": "1Gi"}, **draw(wishes()))
    return [*machines, *pods, task]


# Plain loops, written after the specification


def takes(one: PodAffinityTerm, owner: Task, other: Task) -> bool:
    return owner.namespace == other.namespace and matches(one.label_selector, other.pod.metadata.labels)


def required(task: Task, which: str) -> tuple[PodAffinityTerm, ...]:
    affinity = task.pod.spec.affinity
    wish = getattr(affinity, which) if affinity else None
    return wish.required if wish else ()


def leanings(task: Task) -> list[tuple[PodAffinityTerm, int]]:
    affinity = task.pod.spec.affinity
    both = ((affinity.pod_affinity, 1), (affinity.pod_anti_affinity, -1)) if affinity else ()
    return [
        (one.pod_affinity_term, sign * one.weight) for wish, sign in both if wish for one in wish.preferred
    ]


def located(stage: Stage) -> list[tuple[Task, dict[str, str]]]:
    machines = stage.session.nodes.nodes
    return [
        (task, machines[row].labels)
        for row, on in enumerate(stage.session.pods.pods_on)
        for task in on.values()
    ]


def shares_place(key: str, one: dict[str, str], other: dict[str, str]) -> bool:
    return key in one and one[key] == other.get(key)


def affinity_verdict(stage: Stage, task: Task, labels: dict[str, str]) -> str:
    pods, wanted, unwanted = (
        located(stage),
        required(task, "pod_affinity"),
        required(task, "pod_anti_affinity"),
    )
    if wanted:
        if any(one.topology_key not in labels for one in wanted):
            return UU
        company = [where for other, where in pods if all(takes(one, task, other) for one in wanted)]
        alone = not any(one.topology_key in where for where in company for one in wanted)
        met = all(any(shares_place(one.topology_key, labels, where) for where in company) for one in wanted)
        if not met and not (alone and all(takes(one, task, task) for one in wanted)):
            return UU
    for other, where in pods:
        if any(takes(one, task, other) and shares_place(one.topology_key, labels, where) for one in unwanted):
            return U
        theirs = required(other, "pod_anti_affinity")
        if any(takes(one, other, task) and shares_place(one.topology_key, labels, where) for one in theirs):
            return U
    return FITS


def spread_verdict(stage: Stage, task: Task, labels: dict[str, str]) -> str:
    hard = [c for c in task.pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
    eligible = [n.labels for n in stage.session.nodes.nodes if all(c.topology_key in n.labels for c in hard)]
    for c in hard:
        if c.topology_key not in labels:
            return UU
        counts = {where[c.topology_key]: 0 for where in eligible}
        for other, where in located(stage):
            if where in eligible and matches(c.label_selector, other.pod.metadata.labels):
                counts[where[c.topology_key]] += 1
        itself = int(matches(c.label_selector, task.pod.metadata.labels))
        if counts.get(labels[c.topology_key], 0) + itself - min(counts.values(), default=0) > c.max_skew:
            return U
    return FITS


def affinity_scores(stage: Stage, task: Task) -> list[float]:
    raw = []
    for machine in stage.session.nodes.nodes:
        total = 0
        for other, where in located(stage):
            for one, weight in leanings(task):
                total += weight * (
                    takes(one, task, other) and shares_place(one.topology_key, machine.labels, where)
                )
            for one, weight in leanings(other):
                total += weight * (
                    takes(one, other, task) and shares_place(one.topology_key, machine.labels, where)
                )
        raw.append(total)
    least, most = min(raw), max(raw)
    return [math.trunc(100.0 * ((one - least) / (most - least))) if most > least else 0 for one in raw]


def spread_scores(stage: Stage, task: Task) -> list[float]:
    soft = [c for c in task.pod.spec.topology_spread_constraints if c.when_unsatisfiable == "ScheduleAnyway"]
    machines = [machine.labels for machine in stage.session.nodes.nodes]
    if not soft:
        return [0.0] * len(machines)
    ranked = [labels for labels in machines if all(c.topology_key in labels for c in soft)]
    raw: list[int | None] = []
    for labels in machines:
        if labels not in ranked:
            raw.append(None)
            continue
        total = 0.0
        for c in soft:
            values = [where[c.topology_key] for where in ranked]
            count = sum(
                shares_place(c.topology_key, labels, where) and where in ranked
                for other, where in located(stage)
                if matches(c.label_selector, other.pod.metadata.labels)
            )
            size = len(ranked) if c.topology_key == HOSTNAME else len(set(values))
            total += count * math.log(size + 2) + (c.max_skew - 1)
        raw.append(math.floor(total + 0.5))
    known = [one for one in raw if one is not None]
    most, least = max(known, default=0), min(known, default=0)
    return [0 if one is None else 100 if most == 0 else 100 * (most + least - one) // most for one in raw]


def verdict(refusals: Any, row: int) -> str:
    for refusal in refusals or ():
        if refusal.nodes[row]:
            return U if refusal.code.name == "UNSCHEDULABLE" else UU
    return FITS


@settings(deadline=None)
@given(clusters())
def test_pod_affinity_agrees_with_a_plain_loop(objects: list[Any]) -> None:
    stage = Stage(*objects)
    task = stage.task("new")
    refusals = stage.predicates.refuse_wrong_company(task)
    for row, machine in enumerate(stage.session.nodes.nodes):
        assert verdict(refusals, row) == affinity_verdict(stage, task, machine.labels)


@settings(deadline=None)
@given(clusters())
def test_topology_spread_agrees_with_a_plain_loop(objects: list[Any]) -> None:
    stage = Stage(*objects)
    task = stage.task("new")
    refusals = stage.predicates.refuse_uneven_spread(task)
    for row, machine in enumerate(stage.session.nodes.nodes):
        assert verdict(refusals, row) == spread_verdict(stage, task, machine.labels)


@settings(deadline=None)
@given(clusters())
def test_pod_affinity_scores_agree_with_a_plain_loop(objects: list[Any]) -> None:
    stage = Stage(*objects, nodeorder=only("podaffinity"))
    assert list(stage.scores("new").values()) == affinity_scores(stage, stage.task("new"))


@settings(deadline=None)
@given(clusters())
def test_topology_spread_scores_agree_with_a_plain_loop(objects: list[Any]) -> None:
    stage = Stage(*objects, nodeorder=only("podtopologyspread"))
    assert list(stage.scores("new").values()) == spread_scores(stage, stage.task("new"))


@settings(deadline=None)
@given(clusters(), st.randoms(use_true_random=False))
def test_shuffling_the_nodes_shuffles_the_answer(objects: list[Any], dice: Any) -> None:
    shuffled = list(objects)
    dice.shuffle(shuffled)
    one, other = Stage(*objects), Stage(*shuffled)
    assert one.verdicts("new") == other.verdicts("new")
    assert one.scores("new") == other.scores("new")


@settings(deadline=None)
@given(clusters())
def test_asking_touches_nothing(objects: list[Any]) -> None:
    stage = Stage(*objects)
    before = stage.session.fingerprint()
    first = stage.verdicts("new"), stage.scores("new"), stage.diagnosis("new")
    assert (stage.verdicts("new"), stage.scores("new"), stage.diagnosis("new")) == first
    assert stage.session.fingerprint() == before


@settings(deadline=None)
@given(clusters(), st.data())
def test_live_counts_equal_counting_anew(objects: list[Any], data: st.DataObject) -> None:
    """Answers after evictions and a placement are those of a session that opened that way."""
    stage = Stage(*objects, pod("mover", labels={"app": "web"}))
    stage.verdicts("new"), stage.scores("new")
    names = stage.session.nodes.names
    gone = {task.name for task in stage.session.tasks if task.node_name and data.draw(st.booleans())}
    for name in gone:
        stage.session.start_release(stage.task(name))
    home = data.draw(st.sampled_from(names))
    stage.put("mover", home)
    kept = [one for one in objects if one.metadata.name not in gone]
    anew = Stage(*kept, pod("mover", on=home, labels={"app": "web"}))
    assert np.array_equal(stage.session.pods.requested[:, :2], anew.session.pods.requested[:, :2])
    for ask in ("refuse_wrong_company", "refuse_uneven_spread"):
        live, fresh = (
            [verdict(getattr(one.predicates, ask)(one.task("new")), row) for row in range(len(names))]
            for one in (stage, anew)
        )
        assert live == fresh


def least_allocated_of_one(held: Sequence[int], asked: Sequence[int], has: Sequence[int]) -> int:
    free = [max(c - h - a, 0) * 100 // c for h, a, c in zip(held, asked, has, strict=True) if c]
    return sum(free) // len(free) if free else 0


def most_allocated_of_one(held: Sequence[int], asked: Sequence[int], has: Sequence[int]) -> int:
    used = [min(h + a, c) * 100 // c for h, a, c in zip(held, asked, has, strict=True) if c]
    return sum(used) // len(used) if used else 0


def balanced_allocation_of_one(held: Sequence[int], asked: Sequence[int], has: Sequence[int]) -> int:
    without = [min(h / c, 1.0) for h, c in zip(held, has, strict=True) if c]
    with_task = [min((h + a) / c, 1.0) for h, a, c in zip(held, asked, has, strict=True) if c]
    gain = int((1.0 - unevenness_of_one(with_task)) * 100) - int((1.0 - unevenness_of_one(without)) * 100)
    return 50 + (50 + gain) // 2


def unevenness_of_one(shares: Sequence[float]) -> float:
    """The standard deviation, by the steps that Kubernetes takes, so that rounding agrees."""
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        return abs((shares[0] - shares[1]) / 2)
    mean = reduce(add, shares) / len(shares)  # newer Pythons' sum() rounds differently
    return math.sqrt(reduce(add, [(share - mean) * (share - mean) for share in shares]) / len(shares))


SCORES_AND_THOSE_OF_ONE = (
    (least_allocated, least_allocated_of_one),
    (most_allocated, most_allocated_of_one),
    (balanced_allocation, balanced_allocation_of_one),
)


@given(
    st.lists(st.tuples(*[AMOUNTS] * 6), min_size=1, max_size=12),
    st.tuples(AMOUNTS, AMOUNTS, AMOUNTS),
    st.data(),
)
def test_scores_of_many_nodes_agree_with_whole_numbers_node_by_node(
    table: list[tuple[int, ...]], asked: tuple[int, ...], data: st.DataObject
) -> None:
    amounts = np.array(table, dtype=np.int64)
    some = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=12), label="some rows")
    for count in (2, 3):
        held, has = amounts[:, :count], amounts[:, 3 : 3 + count]
        request, capacity = np.array(asked[:count])[:, None], capacity_of(has, range(count))
        for score, score_of_one in SCORES_AND_THOSE_OF_ONE:
            before = amounts.copy()
            many = score(held.T, request, capacity, ALL_ROWS)
            picked = score(held[some].T, request, capacity, np.array(some))
            assert np.array_equal(amounts, before)
            one = [
                score_of_one(h, asked[:count], c) for h, c in zip(held.tolist(), has.tolist(), strict=True)
            ]
            assert many.tolist() == one
            assert picked.tolist() == [one[row] for row in some]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), min_size=1))
def test_share_of_best_agrees_with_a_plain_loop(rows: list[tuple[int, bool]]) -> None:
    raw, among = (np.array(column) for column in zip(*rows, strict=True))
    best = max((one for one, counts in rows if counts), default=0)
    share = share_of_best(raw, among)
    expected = [one * 100 // best for one, _ in rows] if best else None
    assert (None if share is None else share.tolist()) == expected
