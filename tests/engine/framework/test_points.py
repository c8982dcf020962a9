"""How the answers of all plugins become one."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from hekla.conf import SWITCHES
from hekla.engine.framework import points, rules
from hekla.engine.framework.rules import Vote

P, A, R = Vote.PERMIT, Vote.ABSTAIN, Vote.REJECT


def tiers(*rows: list[object]) -> list[list[Callable[..., object]]]:
    """Plugins that always give the same answer."""
    return [[lambda *_question, said=said: said for said in row] for row in rows]


def victims(*names: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(uid=name) for name in names]


def agreed(*rows: list[object]) -> list[str]:
    return [task.uid for task in rules.agreed_victims(tiers(*rows))(None, victims("a", "b", "c"))]


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ([], True),
        ([[]], True),
        ([[A, A], [A]], True),
        ([[P]], True),
        ([[P, R]], False),
        ([[R, P]], False),
        ([[P], [R]], True),
        ([[A], [R]], False),
        ([[A], [P], [R]], True),
    ],
    ids=[
        "nobody is asked",
        "an empty tier says nothing",
        "all abstain",
        "one permits",
        "a reject beats a permit of its tier",
        "in whatever order",
        "a permit settles it before later tiers",
        "an abstaining tier passes the question on",
        "the first permit settles it",
    ],
)
def test_votes(votes: list[list[object]], expected: bool) -> None:
    assert rules.vote(tiers(*votes))() is expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], False),
        ([[]], False),
        ([[True, True]], True),
        ([[True, False]], False),
        ([[], [True]], True),
        ([[True], [False]], True),
        ([[False], [True]], False),
    ],
    ids=[
        "nobody is asked",
        "nobody has an opinion",
        "the first tier agrees",
        "one of it does not",
        "a tier without opinion is skipped",
        "later tiers are not asked",
        "nor can they overrule",
    ],
)
def test_the_first_tier_with_an_opinion_decides_on_starving(
    answers: list[list[object]], expected: bool
) -> None:
    assert rules.first_tier_agrees(tiers(*answers))() is expected


def test_all_and_some_look_at_every_tier() -> None:
    assert rules.every(tiers([True], [True]))()
    assert not rules.every(tiers([True], [False]))()
    assert rules.every([])()
    assert rules.some(tiers([False], [True]))()
    assert not rules.some([])()


class TestVictims:
    """The rules V1 to V4 of combining victims."""

    def test_who_abstains_is_skipped(self) -> None:
        assert agreed([None, victims("a", "b"), None]) == ["a", "b"]

    def test_an_empty_list_ends_its_tier_and_the_next_one_is_asked(self) -> None:
        assert agreed([victims("a"), [], victims("b")], [victims("c")]) == ["c"]

    def test_lists_of_a_tier_are_intersected_in_the_order_of_the_first(self) -> None:
        assert agreed([victims("c", "a", "b"), victims("a", "b", "c")], [victims("b")]) == ["c", "a", "b"]
        assert agreed([victims("a", "b"), victims("b", "c")]) == ["b"]

    def test_after_an_empty_intersection_the_next_plugin_starts_afresh(self) -> None:
        assert agreed([victims("a"), victims("b"), victims("c")]) == ["c"]
        assert agreed([victims("a"), victims("b"), victims("a", "b")]) == ["a", "b"]

    def test_an_empty_intersection_at_the_end_passes_the_question_on(self) -> None:
        assert agreed([victims("a"), victims("b")], [victims("c")]) == ["c"]

    def test_a_tier_that_decides_is_final(self) -> None:
        assert agreed([victims("a")], [victims("b")]) == ["a"]

    def test_nobody_decides_nobody_goes(self) -> None:
        assert agreed([victims("a"), []], [None]) == []


def test_shuffle_unites_the_victims_of_a_tier_in_the_order_of_their_uids() -> None:
    united = rules.united_victims(tiers([victims("b"), victims("a", "b")], [victims("c")]))([])
    assert [task.uid for task in united] == ["a", "b"]
    later = rules.united_victims(tiers([[], None], [victims("c")]))([])
    assert [task.uid for task in later] == ["c"]


def test_the_first_order_that_tells_two_apart_decides() -> None:
    assert rules.first_nonzero(tiers([0, 0], [-1, 1]))() == -1
    assert rules.first_nonzero(tiers([0]))() == 0
    assert rules.sort_key(tiers([1], [2, 3]))("x") == (1, 2, 3)


def test_the_first_objection_wins() -> None:
    assert rules.first_given(tiers([None], ["no", "never"]))() == "no"
    assert rules.first_given(tiers([None]))() is None


def test_every_switch_of_the_table_exists_in_the_configuration() -> None:
    known = {switch.key for switch in SWITCHES}
    assert {switch for point in points.POINTS for switch in point.switches} <= known


def test_names_of_points_are_unique_and_every_point_asks_something() -> None:
    names = [point.name for point in points.POINTS]
    assert len(set(names)) == len(names)
    assert all(point.asks.endswith(("?", ".")) and point.rule for point in points.POINTS)


def test_a_point_without_a_switch_cannot_be_turned_off() -> None:
    assert points.switches_on(points.JOB_VALID, lambda _switch: False)
    assert not points.switches_on(points.JOB_ORDER, lambda _switch: False)
    assert points.switches_on(points.SIMULATE_ADD, lambda switch: switch == "enabledAllocatable")
