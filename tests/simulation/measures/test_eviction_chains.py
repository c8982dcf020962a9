"""Who gave way to whom, and what that led to."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from runs_by_hand import JobOf, PodRunOf, Scene

from hekla.simulation.measures import Chains, chains
from hekla.simulation.run import Ending

Favour = tuple[str, str, float]
"""Who gave way to whom, and when."""


def chains_of(*favours: Favour, jobs: str = "abcde") -> Chains:
    pod_runs = [
        PodRunOf(victim, "n1", 0, at, pod=row, ending=Ending.EVICTED, for_job=to)
        for row, (victim, to, at) in enumerate(favours)
    ]
    return chains(Scene([JobOf(name, started=0) for name in jobs], pod_runs).run())


def links(found: Chains) -> list[Favour]:
    return [(_short(link.victim), _short(link.beneficiary), link.at) for link in found.longest]


def _short(name: str) -> str:
    return name.removeprefix("default/")


def test_what_is_evicted_for_another_and_that_for_a_third_is_a_chain_of_two() -> None:
    found = chains_of(("a", "b", 1), ("b", "c", 2))
    assert found.by_depth == (1, 1)
    assert links(found) == [("a", "b", 1), ("b", "c", 2)]


def test_evictions_count_by_pods() -> None:
    assert chains_of(("a", "b", 1), ("a", "b", 1), ("b", "c", 2)).by_depth == (2, 1)


def test_what_is_evicted_before_it_made_others_give_way_starts_no_chain() -> None:
    assert chains_of(("b", "c", 1), ("a", "b", 2)).by_depth == (2,)


def test_what_happens_at_once_is_no_chain() -> None:
    assert chains_of(("a", "b", 1), ("b", "a", 1)).by_depth == (2,)


def test_two_that_take_turns_make_a_long_chain() -> None:
    found = chains_of(("a", "b", 1), ("b", "a", 2), ("a", "b", 3), ("b", "a", 4))
    assert found.by_depth == (1, 1, 1, 1)
    assert [at for _, _, at in links(found)] == [1, 2, 3, 4]


def test_evictions_for_no_job_make_no_chains() -> None:
    drained = PodRunOf("a", "n1", 0, 10, ending=Ending.EVICTED)
    done = PodRunOf("a", "n1", 10, 20)
    assert chains(Scene([JobOf("a", started=0)], [drained, done]).run()) == Chains((), ())


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.integers(0, 6)), max_size=14)
)
def test_depths_agree_with_a_search_through_all_chains(favours: list[Favour]) -> None:
    def depth(favour: Favour) -> int:
        before = [depth(other) for other in favours if other[1] == favour[0] and other[2] < favour[2]]
        return 1 + max(before, default=0)

    found = chains_of(*favours)
    expected = [depth(favour) for favour in favours]
    counts = [expected.count(level) for level in range(1, max(expected, default=0) + 1)]
    assert list(found.by_depth) == counts
    chain = links(found)
    assert len(chain) == len(counts)
    for (_, to, at), (victim, _, later) in pairwise(chain):
        assert to == victim
        assert at < later
