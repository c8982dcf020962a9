"""The search for the smallest size, on verdicts that are made up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.insight.capacity.search import SizeSearch, SizeVerdict
from hekla.simulation.simulate import Stopped

SURELY, BARELY, HARDLY, NEVER = (
    SizeVerdict(is_met=True, is_surely_met=True, is_surely_missed=False),
    SizeVerdict(is_met=True, is_surely_met=False, is_surely_missed=False),
    SizeVerdict(is_met=False, is_surely_met=False, is_surely_missed=False),
    SizeVerdict(is_met=False, is_surely_met=False, is_surely_missed=True),
)


def searched(last: int, judge: Callable[[int], SizeVerdict]) -> SizeSearch:
    search = SizeSearch(last, judge)
    search.run()
    return search


@given(st.data())
def test_where_more_is_better_the_three_turns_are_found_in_few_steps(data: st.DataObject) -> None:
    last = data.draw(st.integers(0, 2000))
    low, smallest, high = sorted(data.draw(st.tuples(*[st.integers(0, last)] * 3)))

    def judge(size: int) -> SizeVerdict:
        return SURELY if size >= high else BARELY if size >= smallest else HARDLY if size >= low else NEVER

    search = searched(last, judge)
    assert (search.low, search.smallest, search.high) == (low, smallest, high)
    assert search.turns_back == []
    assert len(search.verdicts) <= 3 * 12 + 5


def test_neighbours_are_looked_at() -> None:
    search = searched(64, lambda size: SURELY if size >= 20 else NEVER)
    assert {18, 19, 20, 21, 22} <= set(search.verdicts)


def test_a_size_whose_larger_neighbour_fails_is_not_the_answer() -> None:
    """20 meets it by luck, 21 does not, and from 22 on all do."""
    search = searched(64, lambda size: SURELY if size == 20 or size >= 22 else NEVER)
    assert search.smallest == 22
    assert search.turns_back == [(20, 21)]
    assert search.high == 22


def test_where_none_is_enough_there_is_none() -> None:
    search = searched(64, lambda _size: NEVER)
    assert (search.low, search.smallest, search.high) == (None, None, None)
    assert len(search.verdicts) <= 5


def test_where_the_largest_may_be_enough_that_is_told() -> None:
    search = searched(64, lambda size: HARDLY if size == 64 else NEVER)
    assert (search.smallest, search.high) == (None, None)
    assert search.low is not None


def test_too_much_may_fail_where_less_is_enough() -> None:
    """As where a queue's quota takes from another queue."""
    search = searched(64, lambda size: SURELY if 20 <= size <= 40 else NEVER)
    assert search.smallest == 20


def test_one_size_is_a_range_too() -> None:
    search = searched(0, lambda _size: SURELY)
    assert (search.low, search.smallest, search.high) == (0, 0, 0)


def test_what_is_known_stays_known_when_the_search_is_stopped() -> None:
    asked: list[int] = []

    def judge(size: int) -> SizeVerdict:
        if len(asked) == 3:
            raise Stopped
        asked.append(size)
        return SURELY if size >= 20 else NEVER

    search = SizeSearch(64, judge)
    with pytest.raises(Stopped):
        search.run()
    assert set(search.verdicts) == {64, 31, 15}
    assert search.smallest == 31
