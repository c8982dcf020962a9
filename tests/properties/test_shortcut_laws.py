"""Shortcuts are for speed alone: with each of them, or all, switched off the decisions are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from moves import Move, deeds, make_all, moves

from hekla.conf import Conf, PluginEntry, Tier
from hekla.engine.framework.decisions import Bind
from hekla.engine.framework.orders import comparison_of_queues
from hekla.engine.framework.session import Session
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, NO_SHORTCUT, Shortcuts
from hekla.engine.framework.statement import Statement
from hekla.scheduler.cycle import CycleReport
from hekla.testing.builders import JobObjects, job, node, queue
from hekla.testing.conf_strategies import confs
from hekla.testing.pods import pod, stamped
from hekla.testing.special_strategies import gang_clusters, gang_confs, medley_confs, medleys
from hekla.testing.story import conf_of
from hekla.testing.strategies import CROWDED, RandomCluster, clusters, sessions
from hekla.testing.victim_strategies import eviction_confs, full_clusters

USUAL = Conf(
    ("enqueue", "allocate", "backfill"),
    (
        Tier(tuple(map(PluginEntry, ("priority", "gang", "conformance")))),
        Tier(tuple(map(PluginEntry, ("overcommit", "drf", "predicates", "proportion", "nodeorder")))),
    ),
)
CONTENDED = ("running", "running", "pending")
"""Nodes are full, and about as many tasks wait as could be evicted."""
FEWER = {"all off": NO_SHORTCUT} | {
    f"{field.name} off": replace(EVERY_SHORTCUT, **{field.name: False}) for field in fields(Shortcuts)
}
for_each_shortcut = pytest.mark.parametrize("fewer", FEWER.values(), ids=FEWER.keys())


def decided(report: CycleReport) -> dict[str, object]:
    """What becomes of pods, and what is remembered and told of them: all that is kept of an attempt."""
    session = report.session
    return {
        "decisions": deeds(report.decisions),
        "tasks": [(task.key, task.node, task.status, task.last) for task in session.tasks],
        "notes": {uid: [str(note) for note in notes] for uid, notes in session.trace.jobs.items() if notes},
        "reasons": {
            (uid, task): str(why) for uid, one in session.jobs.items() for task, why in one.fit_errors.items()
        },
        "others": sorted(str(one) for one in report.decisions if one not in deeds(report.decisions)),
    }


WORLDS = {
    "any": st.tuples(clusters(), confs()),
    "crowded": st.tuples(clusters(places=CROWDED), confs()),
    "gangs that look for victims": st.tuples(
        clusters(most_jobs=7, places=CONTENDED),
        confs(actions=("allocate", "preempt", "reclaim"), always=("priority", "gang", "drf", "predicates")),
    ),
    "jobs like each other that look for victims": st.tuples(full_clusters(), eviction_confs()),
}
"""A cluster and a configuration, drawn together."""


@for_each_shortcut
@pytest.mark.parametrize("world", WORLDS)
@examples(0.5)
@given(data=st.data())
def test_the_long_way_leads_to_the_same_decisions(world: str, data: st.DataObject, fewer: Shortcuts) -> None:
    cluster, conf = data.draw(WORLDS[world])
    quick = cluster.cycle(conf).decisions
    assert deeds(cluster.cycle(conf, fewer).decisions) == deeds(quick)


@for_each_shortcut
@examples(0.5)
@given(cluster=gang_clusters(), conf=gang_confs())
def test_whole_gangs_are_told_the_same_as_well(cluster: RandomCluster, conf: Conf, fewer: Shortcuts) -> None:
    assert decided(cluster.cycle(conf)) == decided(cluster.cycle(conf, fewer))


@for_each_shortcut
@examples(0.5)
@given(cluster=medleys(), conf=medley_confs())
def test_so_is_every_job_that_asks_for_something_else(
    cluster: RandomCluster, conf: Conf, fewer: Shortcuts
) -> None:
    assert decided(cluster.cycle(conf)) == decided(cluster.cycle(conf, fewer))


SIZES = st.lists(st.tuples(st.sampled_from((1, 1, 2, 3)), st.integers(1, 4)), min_size=1, max_size=4)
"""So many tasks in a row that ask for so many cpus."""
PLACING = ("priority, gang", "drf, predicates, nodeorder"), ("priority, gang", "predicates, binpack")


@st.composite
def gangs_of_many_sizes(draw: st.DrawFn) -> RandomCluster:
    """Up to three gangs; tasks of one role ask for different things."""
    sizes = st.integers(1, 8), st.integers(2, 12)
    nodes = [node(f"n{at}", cpu=draw(sizes[0]), pods=draw(sizes[1])) for at in range(draw(st.integers(1, 5)))]
    jobs = [_gang_of_many_sizes(draw, name) for name in "abc"[: draw(st.integers(1, 3))]]
    return RandomCluster(
        tuple(nodes), tuple(stamped([queue("default"), *(o for one in jobs for o in one.objects)]))
    )


def _gang_of_many_sizes(draw: st.DrawFn, name: str) -> JobObjects:
    roles = draw(st.lists(st.sampled_from(("x", "x", "y", "")), min_size=1, max_size=3))
    asked = [(role, cpu) for role in roles for cpu, count in draw(SIZES) for _ in range(count)]
    pods = tuple(
        pod(f"{name}-{role}-{at:02}", job=name, role=role, cpu=cpu) for at, (role, cpu) in enumerate(asked)
    )
    count = len(pods)
    least = draw(st.sampled_from((count, count, max(1, count - 2), 1)))
    return JobObjects(job(name, tasks=1, min_available=least).pod_group, pods, None)


@for_each_shortcut
@given(
    cluster=gangs_of_many_sizes(),
    tiers=st.sampled_from(PLACING),
    error_cache=st.booleans(),
    on_unready=st.sampled_from(("volcano", "hold")),
)
def test_the_memory_of_a_role_is_the_same_for_runs_and_one_by_one(
    cluster: RandomCluster, tiers: Sequence[str], error_cache: bool, on_unready: str, fewer: Shortcuts
) -> None:
    options = {"predicateErrorCacheEnable": error_cache, "unreadyPolicy": on_unready}
    conf = conf_of("allocate", tiers, {"allocate": options})
    assert decided(cluster.cycle(conf)) == decided(cluster.cycle(conf, fewer))


def test_gangs_of_many_sizes_are_placed_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    place = Statement.allocate_all
    monkeypatch.setattr(
        Statement,
        "allocate_all",
        lambda self, tasks, rows: [runs.append(len(tasks)), place(self, tasks, rows)][1],
    )
    pods = tuple(pod(f"a-x-{at}", job="a", role="x", cpu=1 + at // 3) for at in range(6))
    group = job("a", tasks=1, min_available=6).pod_group
    objects = stamped([queue("default"), *JobObjects(group, pods, None).objects])
    report = RandomCluster((node("n0", cpu=16),), tuple(objects)).cycle(conf_of("allocate", PLACING[0]))
    assert runs == [3, 3]
    assert len(deeds(report.decisions)) == 6


@given(cluster=clusters(), conf=confs(always=("proportion",)))
def test_the_keys_of_queues_tell_what_comparing_them_does(cluster: RandomCluster, conf: Conf) -> None:
    session = cluster.cycle(conf).session
    keys = session.queue_keys
    if keys is None:
        return
    goes_first = comparison_of_queues(session)
    queues = [session.queues[name] for name in sorted({job.queue for job in session.jobs.values()})]
    by_key = sorted(queues, key=lambda queue: ([key(queue) for key in keys], queue.created, queue.name))
    for place, left in enumerate(by_key):
        assert not any(goes_first(right, left) for right in by_key[place:])


def test_pods_may_ask_for_dozens_of_resources() -> None:
    devices = {f"example.com/device{number}": 4 for number in range(40)}
    nodes = tuple(node(f"n{at}", cpu=64, memory="64Gi", resources=devices) for at in range(3))
    asks = [dict.fromkeys(devices, number % 2 + 1) for number in range(20)]
    jobs = [job(f"j{at}", tasks=1, cpu=1, memory="1Gi", resources=asked) for at, asked in enumerate(asks)]
    cluster = RandomCluster(nodes, (queue("default"), *(one for built in jobs for one in built.objects)))
    quick, slow = cluster.cycle(USUAL), cluster.cycle(USUAL, NO_SHORTCUT)
    assert deeds(quick.decisions) == deeds(slow.decisions) != []


def test_a_pod_may_ask_for_more_places_for_pods_than_its_own() -> None:
    nodes = tuple(node(name, cpu=8, memory="8Gi", pods=3) for name in ("n0", "n1"))
    running = [
        job("small", tasks=2, running={"n0": 2}, cpu=1, memory="1Gi"),
        job("large", tasks=1, running={"n1": 1}, cpu=2, memory="2Gi"),
    ]
    wide = job("wide", tasks=1, cpu=1, memory="1Gi", resources={"pods": 1})
    objects = (queue("default"), *(one for built in (*running, wide) for one in built.objects))
    report = RandomCluster(nodes, objects).cycle(USUAL)
    assert [bind.node for bind in deeds(report.decisions) if isinstance(bind, Bind)] == ["n1"]


def test_a_cluster_without_nodes_decides_nothing() -> None:
    report = RandomCluster((), tuple(job("a", tasks=2, cpu=1).objects)).cycle(USUAL)
    assert not deeds(report.decisions)


@given(session=sessions(), made=moves)
def test_a_job_that_is_not_in_line_runs_whole(session: Session, made: Sequence[Move]) -> None:
    make_all(session, made)
    line = session.jobs_in_line()
    assert line == [job for job in session.all_jobs if job in line]
    assert all(job.runs_whole for job in session.all_jobs if job not in line)
