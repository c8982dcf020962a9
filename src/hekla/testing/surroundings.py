"""Surroundings: what may stand around the nodes and jobs of a random cluster.

Networks, trees of queues, groups of nodes, zones that are lent for a time, budgets and quotas;
each of them is there in some clusters only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from msgspec.structs import replace

from hekla.objects import (
    HyperNode,
    LabelSelector,
    Manifest,
    PodDisruptionBudget,
    Queue,
    ResourceQuota,
)
from hekla.objects.keys import (
    BUDGET_MIN_AVAILABLE,
    COOLDOWN_TIME,
    NODE_GROUP,
    PREEMPTABLE,
    REVOCABLE_ZONE,
    ROLE_AFFINITY,
    ROLE_ANTI_AFFINITY,
    WAITING_TIME,
)
from hekla.objects.meta import ResourceList
from hekla.objects.scheduling import NodeGroupAffinity, QueueAffinity, SubGroupPolicy
from hekla.objects.storage import (
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    ResourceQuotaSpec,
    ResourceQuotaStatus,
)
from hekla.testing.builders import queue
from hekla.testing.conf_strategies import ZONE
from hekla.testing.network import Wish, hypernode, sub_group
from hekla.testing.pods import metadata

PART = "part"
"""The label by which tasks are sorted into sub-jobs."""

WISHES: tuple[Wish | None, ...] = (
    None,
    None,
    None,
    ("hard", 1),
    ("hard", 2),
    ("soft", 1),
    ("hard", "rack"),
    ("hard", "hall"),
)
"""What a job asks of the network; no tier is called a hall."""

DEPARTMENT = "department"
GROUPS = ("red", "blue")

job_notes: SearchStrategy[dict[str, str]] = st.sampled_from(
    (
        {},
        {},
        {REVOCABLE_ZONE: "*"},
        {WAITING_TIME: "10m"},
        {ROLE_AFFINITY: "w"},
        {ROLE_ANTI_AFFINITY: "w"},
        {COOLDOWN_TIME: "1h"},
        {BUDGET_MIN_AVAILABLE: "1"},
        {PREEMPTABLE: "false"},
    )
)
amounts: SearchStrategy[ResourceList | None] = st.none() | st.fixed_dictionaries({"cpu": st.integers(1, 6)})


def node_labels(draw: DrawFn) -> dict[str, str]:
    """A group of nodes and a zone, for some."""
    labels = {}
    if group := draw(st.sampled_from(("", "", *GROUPS))):
        labels[NODE_GROUP] = group
    if draw(st.integers(0, 5)) == 5:
        labels[REVOCABLE_ZONE] = ZONE
    return labels


def networks(draw: DrawFn, nodes: Sequence[str]) -> list[HyperNode]:
    """Two racks and a spine above them, or only racks, or a broken tree, or nothing."""
    shape = draw(st.sampled_from(("none", "none", "racks", "tree", "tree", "tree", "broken")))
    if shape == "none":
        return []
    rack_of = {name: draw(st.sampled_from(("r0", "r1", ""))) for name in nodes}
    racks = [
        hypernode(rack, nodes=[name for name in nodes if rack_of[name] == rack], tier_name="rack")
        for rack in ("r0", "r1")
    ]
    spine = hypernode("spine", tier=2, hypernodes=["r0", "r1"])
    if shape == "broken":
        return [*racks, spine, hypernode("other", tier=2, hypernodes=["r1"])]
    return [*racks, spine] if shape == "tree" else racks


def queues(draw: DrawFn, names: Sequence[str]) -> list[Queue]:
    """The queues that jobs name, some of them under a department, with all that queues may say."""
    has_department = draw(st.booleans())
    made = [draw(_queue(name, ("", DEPARTMENT) if has_department else ("",))) for name in names]
    if has_department:
        made.append(queue(DEPARTMENT, capability=draw(amounts), deserved=draw(amounts)))
    if draw(st.booleans()):
        made.append(queue("root"))
    return made


@cache  # a strategy is dearer to make than to draw from
def _queue(name: str, parents: tuple[str, ...]) -> SearchStrategy[Queue]:
    built = st.builds(
        queue,
        st.just(name),
        weight=st.integers(1, 4),
        capability=amounts,
        deserved=amounts,
        guarantee=st.none() | st.none() | amounts,
        reclaimable=st.sampled_from((None, None, True, False)),
        priority=st.sampled_from((0, 0, 0, 1)),
        parent=st.sampled_from(parents),
        hierarchy=st.sampled_from(("root/a", "root/b", "root/a/x")),
        hierarchy_weights=st.sampled_from(("1/1/1", "1/2/3")),
    )
    return st.builds(_with_affinity, built, st.sampled_from(("", "", *GROUPS)), st.booleans())


def _with_affinity(given: Queue, group: str, is_needed: bool) -> Queue:
    """The queue, where a group is named, as one that must or would rather be there."""
    if not group:
        return given
    wish = NodeGroupAffinity(required=(group,)) if is_needed else NodeGroupAffinity(preferred=(group,))
    return replace(given, spec=replace(given.spec, affinity=QueueAffinity(node_group_affinity=wish)))


def sub_groups(draw: DrawFn) -> list[SubGroupPolicy]:
    """Mostly none; otherwise a policy that sorts tasks into parts, or one that selects no task."""
    if draw(st.integers(0, 3)):
        return []
    policy = sub_group(
        "parts",
        by=draw(st.sampled_from(((PART,), (PART,), ()))),
        size=draw(st.sampled_from((None, 1, 2))),
        minimum=draw(st.sampled_from((None, 1, 2))),
        wish=draw(st.sampled_from(WISHES)),
    )
    return [policy]


def job_annotations(draw: DrawFn) -> dict[str, str]:
    """What a PodGroup and its pods may say to one plugin or another."""
    return dict(draw(job_notes))


def budgets(draw: DrawFn, apps: Sequence[str]) -> list[Manifest]:
    """A disruption budget for one of the jobs, and a quota for their namespace, where there are any."""
    made: list[Manifest] = []
    if draw(st.integers(0, 3)) == 3:
        selector = LabelSelector(match_labels={"app": draw(st.sampled_from(tuple(apps)))})
        status = PodDisruptionBudgetStatus(disruptions_allowed=draw(st.integers(0, 1)))
        made.append(
            PodDisruptionBudget(
                metadata=metadata("budget", namespace="default"),
                spec=PodDisruptionBudgetSpec(selector=selector),
                status=status,
            )
        )
    if draw(st.integers(0, 3)) == 3:
        hard: ResourceList = {"cpu": draw(st.integers(1, 6))}
        made.append(
            ResourceQuota(
                metadata=metadata("quota", namespace="default"),
                spec=ResourceQuotaSpec(hard=hard),
                status=ResourceQuotaStatus(hard=hard, used={"cpu": 1}),
            )
        )
    return made
