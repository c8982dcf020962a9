"""Hard topology holds in every action: no job is torn apart, or evicted for where it then fits nowhere."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from hekla.conf import Conf
from hekla.engine.framework.decisions import Bind, Decision, Evict, Nominate
from hekla.engine.framework.shortcuts import NO_SHORTCUT
from hekla.engine.model.job import is_hard
from hekla.engine.model.task import NOWHERE, Task
from hekla.objects import Manifest, Pod
from hekla.scheduler.cycle import CycleReport
from hekla.testing import conf_of, hypernode, job, node, plugin, priority_class, queue, stamped, sub_group
from hekla.testing.pods import pod
from hekla.testing.strategies import RandomCluster
from hekla.testing.surroundings import PART

FLAG = st.booleans()
WISHES = (("hard", 1), ("hard", 1), ("hard", 2), ("hard", 3), ("soft", 1), None)


@st.composite
def crowded_networks(draw: DrawFn) -> RandomCluster:
    """Racks full of pods that may be evicted, mostly, and gangs of other queues that want a rack each."""
    names = [f"n{at}" for at in range(draw(st.integers(2, 6)))]
    rack_of = {name: f"r{draw(st.integers(0, 2))}" for name in names}
    used = sorted(set(rack_of.values()))
    racks = [hypernode(rack, nodes=[n for n in names if rack_of[n] == rack]) for rack in used]
    spines = [hypernode("s0", tier=2, hypernodes=used[:2]), hypernode("s1", tier=2, hypernodes=used[2:])]
    nodes = tuple(node(name, cpu=draw(st.integers(1, 4))) for name in names)
    queues = [queue("a", weight=draw(st.integers(1, 3))), queue("b", weight=draw(st.integers(1, 9)))]
    running = [
        part for at in range(draw(st.integers(1, 4))) for part in _running_job(draw, f"old{at}", names)
    ]
    waiting = [part for at in range(draw(st.integers(1, 3))) for part in _waiting_job(draw, f"new{at}")]
    classes = [priority_class("priority-1", 1), priority_class("priority-9", 9)]
    return RandomCluster(nodes, tuple(stamped([*queues, *classes, *racks, *spines, *running, *waiting])))


def _running_job(draw: DrawFn, name: str, nodes: Sequence[str]) -> list[Manifest]:
    group = job(name, tasks=0, min_available=draw(st.integers(0, 1)), queue="a", phase="Running", priority=1)
    pods = [
        pod(f"{name}-{at}", job=name, cpu=1, on=draw(st.sampled_from(nodes)), annotations=_notes(draw))
        for at in range(draw(st.integers(1, 5)))
    ]
    return [group.pod_group, *pods]


def _notes(draw: DrawFn) -> dict[str, str]:
    return {"volcano.sh/preemptable": "false"} if draw(st.integers(0, 5)) == 0 else {}


def _waiting_job(draw: DrawFn, name: str) -> list[Manifest]:
    count, request = draw(st.integers(1, 4)), {"cpu": draw(st.sampled_from(("1", "1", "2", "1500m")))}
    asking = draw(st.sampled_from((count, count, count - 1)))
    parts = [sub_group("parts", by=[PART], size=2, minimum=1, wish=draw(st.sampled_from(WISHES)))]
    group = job(
        name,
        tasks=0,
        min_available=draw(st.integers(1, count)),
        queue=draw(st.sampled_from(("a", "b", "b"))),
        topology=draw(st.sampled_from(WISHES)),
        sub_groups=parts if draw(st.integers(0, 3)) == 0 else (),
        priority=9,
    )
    pods = [
        pod(f"{name}-{at}", job=name, labels={PART: str(at // 2)}, **(request if at < asking else {}))
        for at in range(count)
    ]
    return [group.pod_group, *pods]


@st.composite
def evicting_confs(draw: DrawFn) -> Conf:
    may_break = {"enableReclaimable": draw(FLAG), "enablePreemptable": draw(FLAG)}
    network = plugin("network-topology-aware", {"hypernode.gradient.whole-demand": draw(FLAG)})
    first = [
        "priority",
        plugin("gang", **may_break),
        "conformance",
        *draw(st.sampled_from(((), ("proportion",)))),
    ]
    return conf_of(
        actions=draw(
            st.sampled_from(("allocate, reclaim", "allocate, preempt", "reclaim, preempt, allocate"))
        ),
        tiers=(first, ["predicates", "nodeorder", network]),
        configurations={
            "preempt": {"topologyJobs": True, "enableTopologyAwarePreemption": draw(FLAG)},
        },
    )


@given(cluster=crowded_networks(), conf=evicting_confs())
def test_no_job_is_evicted_for_that_then_fits_nowhere(cluster: RandomCluster, conf: Conf) -> None:
    report = cluster.cycle(conf)
    evictions = [decision for decision in report.decisions if isinstance(decision, Evict)]
    gone = {eviction.pod for eviction in evictions}
    for uid in {eviction.beneficiary for eviction in evictions}:
        if report.session.jobs[uid].is_bounded:
            own = {task.key for task in report.session.jobs[uid].tasks.values()}
            left = [one for one in cluster.others if not isinstance(one, Pod) or stays(one, gone, own)]
            afterwards = cluster.with_others(left).cycle(conf_of("allocate", conf_tiers(conf))).session
            assert afterwards.jobs[uid].roster.is_ready


def stays(manifest: Pod, gone: set[str], own: set[str]) -> bool:
    """Runs and was not evicted, or is one of those it was done for."""
    key = f"{manifest.metadata.namespace}/{manifest.metadata.name}"
    return key in own or (bool(manifest.spec.node_name) and key not in gone)


def conf_tiers(conf: Conf) -> list[list[object]]:
    return [list(tier.plugins) for tier in conf.tiers]


@given(cluster=crowded_networks(), conf=evicting_confs())
def test_shortcuts_evict_as_the_long_way_does(cluster: RandomCluster, conf: Conf) -> None:
    assert deeds(cluster.cycle(conf)) == deeds(cluster.cycle(conf, NO_SHORTCUT))


def deeds(report: CycleReport) -> list[Decision]:
    """What becomes of pods; which of several reasons is told may differ."""
    return [decision for decision in report.decisions if isinstance(decision, Bind | Evict | Nominate)]


RESERVING = conf_of(
    "allocate, backfill, reclaim, preempt",
    ("priority, gang", "predicates, nodeorder, network-topology-aware"),
    {
        "allocate": {"unreadyPolicy": "hold"},
        "backfill": {"kubeBatchBackfillEnable": True},
        "preempt": {"topologyJobs": True},
    },
)


@given(cluster=crowded_networks())
def test_no_action_tears_a_job_of_hard_topology_apart(cluster: RandomCluster) -> None:
    session = cluster.cycle(RESERVING).session
    for one in session.jobs.values():
        for part in (one, *one.sub_jobs.values()):
            rows = [task.node for task in part.roster.tasks.values() if is_placed(task)]
            if rows and is_hard(part.topology):
                domains = session.domains
                around = domains.by_name.get(domains.lowest_around(rows), domains.top)
                assert around.tier <= part.topology.highest_tier_allowed


def is_placed(task: Task) -> bool:
    """Best-effort tasks are backfilled anywhere, as in Volcano."""
    return task.node != NOWHERE and not task.is_best_effort
