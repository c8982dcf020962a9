"""Domains: the tree of network domains over the nodes, with a virtual one on top."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hekla.engine.framework.session import Session
from hekla.engine.ledger.domain_tree import Domain, DomainTree
from hekla.engine.ledger.domains import TOP, Domains
from hekla.objects import HyperNode, LabelSelector
from hekla.objects.meta import LabelRequirement
from hekla.testing import Story, hypernode, job, node, plugin, pod, racks, session_of

NAMES = ("n1", "n2", "n3", "n4")
NODES = [node(name, cpu=2, labels={"row": "a" if name in ("n1", "n2") else "b"}) for name in NAMES]
SPINE = [*racks(s0=["n1", "n2"], s1=["n3"]), hypernode("s2", tier=2, hypernodes=["s0", "s1"])]


def domains(*hypernodes: HyperNode) -> Domains:
    return session_of(*NODES, *hypernodes).domains


def members(found: Domains, name: str) -> list[str]:
    return [node for node, is_in in zip(NAMES, found.by_name[name].nodes, strict=True) if is_in]


def said(found: Domains) -> tuple[list[str], list[str]]:
    return [str(c) for c in found.complaints], [str(w) for w in found.warnings]


# Members


@pytest.mark.parametrize(
    ("hypernode", "expected"),
    [
        (hypernode("s", nodes=["n1", "n3"]), ["n1", "n3"]),
        (hypernode("s", nodes=["n1", "ghost"]), ["n1"]),
        (hypernode("s"), []),
        (hypernode("s", regex="^n[12]$"), ["n1", "n2"]),
        (hypernode("s", regex="3|4"), ["n3", "n4"]),
        (hypernode("s", regex="^m"), []),
        (hypernode("s", labels={"row": "b"}), ["n3", "n4"]),
        (hypernode("s", labels={"row": "c"}), []),
        (hypernode("s", labels=LabelSelector()), []),
        (hypernode("s", nodes=["n1"], regex="4", labels={"row": "a"}), ["n1", "n2", "n4"]),
    ],
    ids=[
        "nodes by their exact names",
        "a node that is not there is none",
        "no members at all",
        "a pattern from end to end",
        "a pattern that occurs anywhere in the name",
        "a pattern that occurs nowhere",
        "nodes by their labels",
        "labels that nobody has",
        "an empty selector chooses nothing",
        "several members are taken together",
    ],
)
def test_members(hypernode: HyperNode, expected: list[str]) -> None:
    found = domains(hypernode)
    assert members(found, "s") == expected
    assert (found.is_ready, said(found)) == (True, ([], []))


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ("a", "c"), ["n1", "n2"]),
        ("In", (), []),
        ("NotIn", ("a",), ["n3", "n4", "n5"]),
        ("Exists", (), ["n1", "n2", "n3", "n4"]),
        ("DoesNotExist", (), ["n5"]),
        ("Resembles", ("a",), []),
    ],
)
def test_members_by_requirements_on_labels(
    operator: str, values: tuple[str, ...], expected: list[str]
) -> None:
    wanted = LabelSelector(match_expressions=(LabelRequirement("row", operator, values),))
    session = session_of(*NODES, node("n5"), hypernode("s", labels=wanted))
    rows = session.domains.by_name["s"].rows
    assert [session.nodes.names[row] for row in rows] == expected


def test_a_pattern_that_is_none_has_no_members_and_is_told() -> None:
    found = domains(hypernode("s", regex="n(1"))
    assert members(found, "s") == []
    assert said(found) == ([], ['hypernode s: spec.members: "n(1" is not a regular expression'])


def test_a_pattern_that_takes_backtracking_for_ever_is_matched() -> None:
    """Two to the power of 250 ways to match: with backtracking it never returns."""
    names = ["a" * 250 + "!" for _ in range(3)]
    session = session_of(
        *(node(f"{name}{at}") for at, name in enumerate(names)), hypernode("s", regex="(a+)+$")
    )
    assert not session.domains.by_name["s"].nodes.any()


def test_a_hypernode_that_is_not_there_is_told_and_left_out() -> None:
    found = domains(hypernode("s2", tier=2, hypernodes=["s0", "ghost"]), *racks(s0=["n1"]))
    assert members(found, "s2") == ["n1"]
    assert (found.is_ready, said(found)) == (
        True,
        ([], ['hypernode s2: spec.members: no hypernode "ghost"']),
    )


def test_a_tree_may_be_written_in_any_order() -> None:
    straight, reverse = domains(*SPINE), domains(*SPINE[::-1])
    for name in ("s0", "s1", "s2", TOP):
        assert members(straight, name) == members(reverse, name)
        assert straight.ancestors(name) == reverse.ancestors(name)


# The tree


def test_a_domain_holds_what_its_children_hold() -> None:
    found = domains(*SPINE)
    assert {name: members(found, name) for name in found.by_name} == {
        "s0": ["n1", "n2"],
        "s1": ["n3"],
        "s2": ["n1", "n2", "n3"],
        TOP: ["n1", "n2", "n3", "n4"],
    }


def test_over_everything_stands_a_virtual_domain() -> None:
    found = domains(*SPINE)
    assert (found.top.name, found.top.tier, found.top.children) == (TOP, 3, ["s2"])
    assert found.tiers == [1, 2, 3]
    assert found.ancestors("s0") == ["s0", "s2", TOP]


def test_it_is_there_without_any_hypernode() -> None:
    found = domains()
    assert (found.top.tier, found.top.children, found.tiers) == (1, [], [1])
    assert members(found, TOP) == list(NAMES)


def test_it_stands_above_the_first_tier_even_where_all_others_are_of_tier_0() -> None:
    assert domains(hypernode("s", tier=0, nodes=["n1"])).top.tier == 1


def test_a_node_in_no_hypernode_lies_in_the_virtual_one_alone() -> None:
    found = domains(*SPINE)
    assert found.closest == ["s0", "s0", "s1", ""]
    assert found.lowest_around([3]) == ""
    assert found.lowest_around([2, 3]) == ""


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("s0", "s0", "s0"),
        ("s0", "s1", "s2"),
        ("s0", "s2", "s2"),
        ("s2", "s1", "s2"),
        ("s0", "far", TOP),
        ("", "s1", "s1"),
        ("s0", "", "s0"),
        ("", "", ""),
    ],
)
def test_the_lowest_domain_that_contains_both(left: str, right: str, expected: str) -> None:
    found = domains(*SPINE, hypernode("far", nodes=["n4"]))
    assert found.common(left, right) == expected


def test_the_lowest_domain_around_several() -> None:
    found = domains(*SPINE, hypernode("far", nodes=["n4"]))
    assert found.common_of(["s0", "", "s1"]) == "s2"
    assert found.common_of(["s0", "far"]) == TOP
    assert found.common_of([]) == ""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([0], "s0"), ([0, 1], "s0"), ([0, 2], "s2"), ([0, 1, 2], "s2"), ([0, 3], ""), ([], "")],
)
def test_the_lowest_domain_around_nodes(rows: list[int], expected: str) -> None:
    assert domains(*SPINE).lowest_around(rows) == expected


def test_among_equals_the_smallest_name_is_the_lowest() -> None:
    found = domains(hypernode("b", nodes=["n1", "n2"]), hypernode("a", nodes=["n1", "n3"]))
    assert found.lowest_around([0]) == "a"
    assert found.closest == ["a", "b", "a", ""]


def test_sums_are_those_of_session_open() -> None:
    session = session_of(
        *NODES,
        *SPINE,
        pod("runs", on="n1", cpu=1),
        pod("leaves", on="n3", cpu=1, is_leaving=True),
    )
    cpu, found = session.axis.column_of["cpu"], session.domains
    sums = {
        name: tuple(int(part[domain.place, cpu]) for part in (found.idle, found.future, found.allocatable))
        for name, domain in found.by_name.items()
    }
    assert sums == {
        "s0": (3000, 3000, 4000),
        "s1": (1000, 2000, 2000),
        "s2": (4000, 5000, 6000),
        TOP: (6000, 7000, 8000),
    }


def test_a_tree_may_be_kept_for_the_next_session() -> None:
    before = session_of(*NODES, *SPINE)
    after = session_of(*NODES, *SPINE, pod("runs", on="n1", cpu=1))
    kept = Domains(after.nodes, before.domains.tree)
    assert kept.tree is before.domains.tree
    assert (kept.idle == after.domains.idle).all()
    assert (kept.room() == after.domains.room()).all()
    assert kept.closest == after.domains.closest


def test_without_nodes_there_is_still_a_tree() -> None:
    found = session_of(*SPINE).domains
    assert [len(domain.rows) for domain in found.by_name.values()] == [0, 0, 0, 0]
    assert (found.ancestors("s0"), found.closest) == (["s0", "s2", TOP], [])


def test_tier_names_stand_for_tiers_and_the_last_one_wins() -> None:
    found = domains(
        hypernode("s0", nodes=["n1"], tier_name="rack"),
        hypernode("s2", tier=2, hypernodes=["s0"], tier_name="row"),
        hypernode("far", tier=3, nodes=["n4"], tier_name="rack"),
    )
    assert found.tier_of_name == {"rack": 3, "row": 2}
    assert said(found) == ([], ['hypernode far: spec.tierName: "rack" stands for tier 1 elsewhere'])


# Broken trees

PACKS = "hypernode.binpack.normal-pod.enable"

TWO_PARENTS = [
    *racks(s0=["n1", "n2"]),
    hypernode("a", tier=2, hypernodes=["s0"]),
    hypernode("b", tier=2, hypernodes=["s0"]),
]
CIRCLE = [
    hypernode("a", tier=1, nodes=["n1"], hypernodes=["b"]),
    hypernode("b", tier=2, nodes=["n2"], hypernodes=["a"]),
]
CIRCLE_END = hypernode("b", tier=3, hypernodes=["a"])
BROKEN = {
    "two parents": (TWO_PARENTS, 'hypernode b: spec.members: "s0" belongs to "a" already'),
    "a circle": (
        CIRCLE,
        'hypernode a: spec.members: "a" lies inside itself; it is taken out of the circle',
    ),
    "a domain inside itself": (
        [hypernode("a", nodes=["n1"], hypernodes=["a"])],
        'hypernode a: spec.members: "a" lies inside itself; it is taken out of the circle',
    ),
}


def broken(tree: list[HyperNode]) -> Session:
    story = Story(
        "a broken tree",
        NODES,
        [job("close", tasks=2, cpu=1, topology=("hard", 1)), job("plain", cpu=1)],
        objects=tree,
        tiers=("priority, gang", ["predicates", plugin("network-topology-aware", {PACKS: False})]),
    )
    assert story.play() == {"close": "pending", "plain": {"n1": 1}}
    return story.cycle().session


@pytest.mark.parametrize(("tree", "complaint"), BROKEN.values(), ids=BROKEN)
def test_a_broken_tree_is_told_and_only_those_who_need_it_wait(tree: list[HyperNode], complaint: str) -> None:
    found = domains(*tree)
    assert (found.is_ready, said(found)) == (False, ([complaint], []))
    session = broken(tree)
    assert complaint in [str(c) for c in session.snapshot.complaints]
    notes = [str(note) for note in session.trace.jobs["default/close"]]
    assert notes == [f"allocate: the network topology cannot be used: {complaint}"]


def test_what_hangs_below_a_circle_is_not_taken_out_of_it() -> None:
    found = domains(
        hypernode("below", nodes=["n1"]), hypernode("a", tier=2, hypernodes=["below", "b"]), CIRCLE_END
    )
    assert said(found)[0] == [
        'hypernode a: spec.members: "a" lies inside itself; it is taken out of the circle'
    ]
    assert (found.by_name["below"].parent, found.by_name["b"].parent) == ("a", "a")


def test_a_tree_of_any_depth_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand tiers: where every way up is gone to its end, that is fifty million steps."""
    walk, steps = DomainTree._line_from, [0]

    def counted(tree: DomainTree, name: str) -> Iterator[Domain]:
        for step in walk(tree, name):
            steps[0] += 1
            yield step

    monkeypatch.setattr(DomainTree, "_line_from", counted)
    deep = [
        hypernode(
            f"h{tier}", tier=tier, hypernodes=[f"h{tier - 1}"] if tier > 1 else [], nodes=["n1"][tier - 1 :]
        )
        for tier in range(1, 10_001)
    ]
    found = domains(*deep)
    assert (found.is_ready, said(found)) == (True, ([], []))
    assert members(found, "h10000") == ["n1"]
    assert steps[0] < 5 * len(deep)


def test_to_be_named_twice_by_the_same_parent_is_no_harm() -> None:
    found = domains(*racks(s0=["n1"]), hypernode("a", tier=2, hypernodes=["s0", "s0"]))
    assert (found.is_ready, said(found)) == (True, ([], []))
    assert found.by_name["a"].children == ["s0"]


def test_a_hypernode_called_as_the_virtual_one_is_no_harm() -> None:
    found = domains(hypernode(TOP, nodes=["n1"]))
    assert members(found, TOP) == list(NAMES)
