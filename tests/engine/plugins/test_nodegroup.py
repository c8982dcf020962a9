"""Nodegroup: queues keep to the groups of nodes they name, and within their limits there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_plugin import Scene, changed

from hekla.engine.model.diagnosis import Code
from hekla.engine.model.status import Status
from hekla.engine.plugins.nodegroup import GroupPreference, NodeGroup
from hekla.objects import Node, Queue
from hekla.objects.keys import NODE_GROUP, NODE_GROUP_LIMITS
from hekla.objects.scheduling import NodeGroupAffinity, QueueAffinity
from hekla.testing import Story, check_plugin, job, node, pod, queue
from hekla.testing.samples import Sample

GROUPS = ("g1", "g2", "g3")


def in_group(name: str, group: str | None, **rest: object) -> Node:
    return node(name, labels={} if group is None else {NODE_GROUP: group}, **rest)  # type: ignore[arg-type]


NODES = [*(in_group(f"n{group[1]}", group) for group in GROUPS), in_group("plain", None)]


def choosy(
    name: str = "default",
    *,
    required: Sequence[str] = (),
    preferred: Sequence[str] = (),
    never: Sequence[str] = (),
    rather_not: Sequence[str] = (),
    limits: Mapping[str, Mapping[str, object]] | str | None = None,
    parent: str = "",
) -> Queue:
    text = limits if isinstance(limits, str) else json.dumps(limits)
    notes = {} if limits is None else {NODE_GROUP_LIMITS: text}
    affinity = QueueAffinity(
        node_group_affinity=NodeGroupAffinity(required=tuple(required), preferred=tuple(preferred)),
        node_group_anti_affinity=NodeGroupAffinity(required=tuple(never), preferred=tuple(rather_not)),
    )
    return changed(queue(name, annotations=notes, parent=parent), "spec.affinity", affinity)


def scene(of: Queue, *parts: object, tasks: int = 3, **told: object) -> Scene:
    waiting = job("a", tasks=tasks, cpu=1, queue=of.metadata.name)
    return Scene(NodeGroup, *NODES, of, waiting, *parts, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wishes", "fits"),
    [
        ({"required": ["g1", "g3"]}, ["n1", "n3"]),
        ({"preferred": ["g2"]}, ["n2"]),
        ({"required": ["g1"], "preferred": ["g2"]}, ["n1", "n2"]),
        ({"required": ["g1", "g2"], "never": ["g2"]}, ["n1"]),
        ({"never": ["g1"]}, []),
        ({"rather_not": ["g3"]}, ["n3"]),
        ({"never": ["g3"], "rather_not": ["g3"]}, ["n3"]),
        ({}, []),
    ],
    ids=[
        "a queue fits where it must be",
        "groups that are merely preferred are the only ones it may use",
        "required and preferred groups add up",
        "what it must avoid beats what it asks for",
        "a queue that only says what it must avoid fits nowhere",
        "a group it would rather not use is one it may use",
        "rather not beats never",
        "a queue without wishes fits nowhere",
    ],
)
def test_where_a_queue_fits(wishes: dict[str, list[str]], fits: list[str]) -> None:
    assert scene(choosy(**wishes)).fits("a-0") == fits  # type: ignore[arg-type]


def test_unless_strict_a_queue_without_wishes_may_use_nodes_without_a_group() -> None:
    lenient = {"strict": False}
    assert scene(queue("default"), arguments=lenient).fits("a-0") == ["plain"]
    assert scene(choosy(), arguments=lenient).fits("a-0") == ["plain"]
    assert scene(choosy(required=["g1"]), arguments=lenient).fits("a-0") == ["n1"]


def test_the_worked_example_of_scores_by_place_in_the_list() -> None:
    both = choosy(required=["g1", "g2", "g3"], preferred=["g1", "g2"])
    by_place = scene(both, arguments={"enablePreferredOrder": True})
    assert by_place.scores("a-0") == {"n1": 150.0, "n2": 125.0, "n3": 100.0, "plain": 0.0}
    assert scene(both).scores("a-0") == {"n1": 150.0, "n2": 150.0, "n3": 100.0, "plain": 0.0}


def test_a_group_it_would_rather_not_use_scores_below_everything() -> None:
    scores = scene(choosy(required=["g1"], preferred=["g1"], rather_not=["g1"])).scores("a-0")
    assert scores == {"n1": -1.0, "n2": 0.0, "n3": 0.0, "plain": 0.0}


def test_a_queue_without_wishes_scores_no_node() -> None:
    assert set(scene(queue("default")).scores("a-0").values()) == {0.0}


class TestHierarchy:
    FAMILY = (choosy("team", required=["g2"]), queue("default", parent="team"))

    def test_a_queue_without_affinity_takes_over_its_parents(self) -> None:
        assert scene(self.FAMILY[1], self.FAMILY[0], hierarchical=True).fits("a-0") == ["n2"]

    def test_without_the_switch_it_does_not(self) -> None:
        assert scene(self.FAMILY[1], self.FAMILY[0]).fits("a-0") == []

    def test_an_affinity_that_names_no_group_is_one_of_its_own(self) -> None:
        assert scene(choosy(parent="team"), self.FAMILY[0], hierarchical=True).fits("a-0") == []

    def test_without_a_parent_the_root_is_asked(self) -> None:
        assert scene(queue("default"), choosy("root", required=["g3"]), hierarchical=True).fits("a-0") == [
            "n3"
        ]

    def test_a_circle_of_parents_ends(self) -> None:
        circle = (queue("default", parent="other"), queue("other", parent="default"))
        assert scene(*circle, hierarchical=True).fits("a-0") == []


class TestLimits:
    def test_a_queue_may_fill_its_limit_in_a_group_and_no_more(self) -> None:
        limited = scene(choosy(required=["g1", "g2"], limits={"g1": {"cpu": 2}}))
        limited.put("a-0", "n1")
        assert limited.fits("a-2") == ["n1", "n2"]
        limited.put("a-1", "n1", Status.PIPELINED)
        assert limited.fits("a-2") == ["n2"]
        limited.take_back("a-0")
        assert limited.fits("a-2") == ["n1", "n2"]

    def test_tasks_that_were_there_before_count_and_those_of_other_queues_do_not(self) -> None:
        here = job("old", tasks=2, cpu=1, running={"n1": 1}, bound={"n1": 1})
        there = job("else", tasks=1, cpu=3, queue="other", running={"n1": 1})
        limits = {"g1": {"cpu": "2500m"}}
        limited = scene(choosy(required=["g1", "g2"], limits=limits), here, there, queue("other"))
        assert limited.fits("a-0") == ["n2"]
        assert 'queue "default" is at its limit' in limited.plainly("a-0")

    def test_every_resource_that_is_named_counts_asked_for_or_not(self) -> None:
        heavy = job("old", tasks=1, memory="2Gi", running={"n1": 1})
        limited = scene(choosy(required=["g1"], limits={"g1": {"memory": "1Gi"}}), heavy)
        assert limited.fits("a-0") == []

    def test_a_task_on_a_node_without_a_group_counts_nowhere(self) -> None:
        limited = scene(choosy(required=["g1"], limits={"g1": {"cpu": 1}}))
        limited.put("a-0", "plain")
        assert limited.fits("a-1") == ["n1"]

    @pytest.mark.parametrize("text", ["{", "[]", '{"g1": 5}', '{"g1": {"cpu": "much"}}'])
    def test_limits_that_cannot_be_read_close_every_node(self, text: str) -> None:
        assert scene(choosy(required=["g1"], limits=text)).fits("a-0") == []

    def test_limits_are_not_inherited(self) -> None:
        parent = choosy("team", required=["g1"], limits={"g1": {"cpu": 0}})
        assert scene(queue("default", parent="team"), parent, hierarchical=True).fits("a-0") == ["n1"]


def test_a_pod_without_a_job_is_an_error_everywhere() -> None:
    stray = Scene(NodeGroup, *NODES, queue("default"), pod("stray", cpu=1))
    refusals = stray.plugin.refuse_other_groups(stray.task("stray"))
    assert [(refusal.code, refusal.nodes.all()) for refusal in refusals] == [(Code.ERROR, True)]
    assert stray.plugin.prefer_groups_of_the_queue(stray.task("stray")) is None


def test_queues_of_alike_tasks_are_told_apart() -> None:
    two = Scene(
        NodeGroup,
        *NODES,
        choosy("red", required=["g1"]),
        choosy("blue", required=["g2"]),
        job("a", tasks=1, cpu=1, queue="red"),
        job("b", tasks=1, cpu=1, queue="blue"),
    )
    assert (two.fits("a-0"), two.fits("b-0")) == (["n1"], ["n2"])


def test_a_whole_cycle_fills_a_group_up_to_its_limit() -> None:
    story = Story(
        "two in the limited group, the rest next door",
        nodes=NODES,
        jobs=[job("a", tasks=4, cpu=1, min_available=1)],
        queues=[choosy(required=["g1", "g2"], preferred=["g1"], limits={"g1": {"cpu": 2}})],
        tiers=["gang, nodegroup"],
        plugins=[NodeGroup],
        expect={"a": {"n1": 2, "n2": 2}},
    )
    assert story.play() == story.expect


def test_it_keeps_the_contract_of_plugins() -> None:
    check_plugin(NodeGroup, {"strict": False})
    queues = (choosy(required=["g1"], preferred=["g2"], limits={"g1": {"cpu": 2}}),)
    waiting = job("a", tasks=4, cpu=1, running={"n1": 1}, min_available=1).objects
    check_plugin(NodeGroup, clusters=[Sample("groups", tuple(NODES), (*queues, *waiting))], hierarchical=True)


def naive_verdict(wishes: GroupPreference, group: str | None) -> bool:
    """The rule as it is written, for one node."""
    lists = (wishes.affinity.required, wishes.affinity.preferred, wishes.anti.required, wishes.anti.preferred)
    if group is None or not any(lists):
        return False
    verdict = group in lists[0] or group in lists[1]
    if group in lists[2]:
        verdict = False
    if group in lists[3]:
        verdict = True
    return verdict


@given(st.lists(st.lists(st.sampled_from(GROUPS), unique=True), min_size=4, max_size=4))
def test_all_nodes_at_once_agree_with_one_node_at_a_time(lists: list[list[str]]) -> None:
    required, preferred, never, rather_not = lists
    of = choosy(required=required, preferred=preferred, never=never, rather_not=rather_not)
    assert of.spec.affinity is not None
    wishes = GroupPreference(of.spec.affinity.node_group_affinity, of.spec.affinity.node_group_anti_affinity)  # type: ignore[arg-type]
    groups = {one.metadata.name: one.metadata.labels.get(NODE_GROUP) for one in NODES}
    expected = [name for name, group in groups.items() if naive_verdict(wishes, group)]
    assert scene(of).fits("a-0") == expected
