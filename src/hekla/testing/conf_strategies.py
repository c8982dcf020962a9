"""Strategies for configurations: all built-in actions and plugins, in random tiers, with random arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from hekla.conf import Conf, PluginEntry, Tier
from hekla.objects.keys import WAITING_TIME
from hekla.scheduler.builtin import BUILTIN

Arguments = Mapping[str, SearchStrategy[object]]

ZONE = "rz1"
GPU = "nvidia.com/gpu"
FLAG = st.booleans()
WEIGHT = st.sampled_from((0, 1, 2, 10))
WINDOWS = st.sampled_from(("00:00-23:59", "03:00-04:00"))
"""The second one is closed at the time of every cycle here."""

ARGUMENTS: Mapping[str, Arguments] = {
    "binpack": {
        "binpack.weight": WEIGHT,
        "binpack.cpu": WEIGHT,
        "binpack.resources": st.just(GPU),
        f"binpack.resources.{GPU}": WEIGHT,
    },
    "capacity": {"ancestorReclaimLevel": st.integers(0, 2)},
    "deviceshare": {"deviceshare.VGPUEnable": FLAG, "deviceshare.ScheduleWeight": WEIGHT},
    "network-topology-aware": {
        "weight": WEIGHT,
        "hypernode.binpack.cpu": WEIGHT,
        "hypernode.binpack.normal-pod.enable": FLAG,
        "hypernode.binpack.normal-pod.fading": st.sampled_from((0.0, 0.5, 1.0)),
        "hypernode.gradient.evict.max-hypernodes": st.integers(1, 2),
    },
    "nodegroup": {"strict": FLAG, "enablePreferredOrder": FLAG},
    "nodeorder": {
        f"{name}.weight": WEIGHT
        for name in ("leastrequested", "mostrequested", "balancedresource", "podaffinity", "tainttoleration")
    },
    "numa-aware": {"weight": WEIGHT},
    "overcommit": {"overcommit-factor": st.sampled_from((1.0, 1.5, 3.0))},
    "predicates": {
        f"predicate.{name}Enable": FLAG
        for name in ("NodeAffinity", "TaintToleration", "PodAffinity", "PodTopologySpread")
    },
    "rescheduling": {
        "interval": st.just("1s"),
        "strategies": st.just(
            [
                {
                    "name": "lowNodeUtilization",
                    "params": {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 60}},
                }
            ]
        ),
    },
    "resource-strategy-fit": {
        "resourceStrategyFitWeight": WEIGHT,
        "resources": st.sampled_from(
            ({GPU: {"type": "MostAllocated", "weight": 2}}, {"cpu": {"type": "LeastAllocated", "weight": 1}})
        ),
        "sra": st.just({"enable": True, "resources": GPU, "weight": 3, "resourceWeight": {GPU: 1}}),
    },
    "sla": {WAITING_TIME: st.sampled_from(("1s", "30m", "1000h"))},
    "task-topology": {"task-topology.weight": WEIGHT},
    "tdm": {f"tdm.revocable-zone.{ZONE}": WINDOWS, "tdm.evict.period": st.just("1s")},
    "usage": {"usage.weight": WEIGHT, "thresholds": st.just({"cpu": 60, "mem": 90})},
}
"""By plugin; the extender gets none, so it asks no service."""

VICTIMS = st.sampled_from(("tiers", "intersectAll"))
GANG_EVICTION: Arguments = {"maxDomains": st.integers(1, 3), "allowWholeBundle": FLAG}
OPTIONS: Mapping[str, Arguments] = {
    "enqueue": {"drainQueue": FLAG, "checkMinMember": FLAG},
    "allocate": {
        "predicateErrorCacheEnable": FLAG,
        "unreadyPolicy": st.sampled_from(("volcano", "hold")),
        "onPipelined": st.sampled_from(("keep", "discard", "commit")),
        "keepNominations": FLAG,
        "jobHyperNodeScore": st.sampled_from(("sum", "hypernodeOrder")),
    },
    "backfill": {"kubeBatchBackfillEnable": FLAG},
    "preempt": {
        "predicateErrorCacheEnable": FLAG,
        "enableTopologyAwarePreemption": FLAG,
        "minCandidateNodesAbsolute": st.integers(1, 3),
        "commitOn": st.sampled_from(("pipelined", "pipelined", "ready")),
        "topologyJobs": FLAG,
        "victimMode": VICTIMS,
    },
    "reclaim": {"sameQueueLowerPriority": FLAG, "topologyCheck": FLAG, "victimMode": VICTIMS},
    "shuffle": {"respectPreemptable": FLAG},
    "gangpreempt": GANG_EVICTION,
    "gangreclaim": GANG_EVICTION,
}
"""By action."""

SWITCHES: Mapping[str, Sequence[str]] = {
    "drf": ("enableHierarchy", "enablePreemptable"),
    "gang": ("enablePreemptable", "enablePreemptable"),
    "capacity": ("enableHierarchy",),
}


@st.composite
def confs(
    draw: DrawFn,
    *,
    actions: Sequence[str] = tuple(sorted(BUILTIN.actions)),
    always: Sequence[str] = (),
    switches: Mapping[str, Mapping[str, bool]] | None = None,
    fixed: Mapping[str, Mapping[str, object]] | None = None,
) -> Conf:
    """Some of the actions in some order, and some of the plugins (and `always` these) in random tiers.

    `switches` by plugin and options `fixed` by action are taken as they are.
    """
    chosen = draw(st.lists(st.sampled_from(list(actions)), min_size=1, max_size=5, unique=True))
    others = [name for name in sorted(BUILTIN.plugins) if name not in always]
    names = [*always, *draw(st.lists(st.sampled_from(others), max_size=6, unique=True))]
    tiers: list[list[PluginEntry]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for name in draw(st.permutations(names)):
        entry = PluginEntry(
            name, (switches or {}).get(name, _some_switches(draw, name)), _some(draw, ARGUMENTS.get(name))
        )
        draw(st.sampled_from(tiers)).append(entry)
    options = {name: {**_some(draw, OPTIONS.get(name)), **(fixed or {}).get(name, {})} for name in chosen}
    return Conf(tuple(chosen), tuple(Tier(tuple(tier)) for tier in tiers), options)


def _some(draw: DrawFn, arguments: Arguments | None) -> dict[str, object]:
    """None of the arguments as often as some of them."""
    if not arguments or draw(st.booleans()):
        return {}
    named = draw(st.lists(st.sampled_from(sorted(arguments)), min_size=1, max_size=3, unique=True))
    return {name: draw(arguments[name]) for name in named}


def _some_switches(draw: DrawFn, name: str) -> dict[str, bool]:
    switch = draw(st.sampled_from(("", *SWITCHES.get(name, ()))))
    return {switch: switch == "enableHierarchy"} if switch else {}
