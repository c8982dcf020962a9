"""Undo is exact: whatever was done, in whatever order it is taken back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from moves import Move, make_all, moves, state

from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.testing.agreement import gangs
from hekla.testing.special_strategies import gang_clusters
from hekla.testing.story import conf_of
from hekla.testing.strategies import RandomCluster, sessions

KEEPERS = conf_of(
    tiers=(
        "priority, gang, conformance",
        "drf, proportion, predicates, nodeorder, binpack, capacity, network-topology-aware",
    )
)
"""The plugins that keep accounts, and those that read them."""


@given(sessions(), moves)
def test_a_discarded_statement_leaves_no_trace(session: Session, made: list[Move]) -> None:
    before = state(session)
    make_all(session, made).discard()
    assert state(session) == before
    assert session.decisions == []


@given(sessions(conf=KEEPERS), st.lists(moves, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_statements_may_be_discarded_in_another_order_than_they_were_made(
    session: Session, made: list[list[Move]], chance: object
) -> None:
    before = state(session)
    statements = [make_all(session, part) for part in made]
    chance.shuffle(statements)
    for statement in statements:
        statement.discard()
    assert state(session) == before


@given(sessions(conf=KEEPERS), moves)
def test_what_was_saved_comes_back_as_it_was(session: Session, made: list[Move]) -> None:
    before = session.fingerprint()
    statement = make_all(session, made)
    applied, saved = state(session), statement.save()
    statement.discard()
    again = session.statement()
    assert again.recover(saved)
    assert state(session) == applied
    again.discard()
    assert session.fingerprint() == before


@given(sessions(conf=KEEPERS), moves, moves)
def test_merged_statements_are_one(session: Session, first: list[Move], second: list[Move]) -> None:
    before = session.fingerprint()
    one, other = make_all(session, first), make_all(session, second)
    count = len(one) + len(other)
    one.merge(other)
    other.discard()
    assert (len(one), len(other)) == (count, 0)
    one.discard()
    assert session.fingerprint() == before


@given(gang_clusters(most_tasks=10), st.lists(st.integers(0, 29), min_size=10, max_size=10), st.booleans())
def test_tasks_placed_at_once_are_placed_as_one_by_one_and_leave_no_trace(
    cluster: RandomCluster, places: list[int], is_undone: bool
) -> None:
    at_once, singly = (cluster.session(KEEPERS) for _ in range(2))
    before = state(at_once)
    many, single = at_once.statement(), singly.statement()
    for tasks, twins in zip(gangs(at_once), gangs(singly), strict=True):
        rows = [place % len(at_once.nodes) for place in places[: len(tasks)]]
        assert many.allocate_all(tasks, rows) == len(tasks)
        for twin, row in zip(twins, rows, strict=True):
            assert single.allocate(twin, row)
    assert state(at_once) == state(singly)
    if is_undone:
        many.discard()
        assert state(at_once) == before
    else:
        many.commit()
        single.commit()
        assert at_once.decisions == singly.decisions
        assert state(at_once) == state(singly)


@given(sessions(conf=KEEPERS), moves, st.lists(st.integers(0, 9), min_size=1, max_size=3), moves)
def test_places_that_were_given_up_come_back(
    session: Session, held: list[Move], givers: list[int], made: list[Move]
) -> None:
    """What backfill does with room that is kept for others: they give it up, and may get it back."""
    with session.statement() as keeping:
        for move in held:
            move.make(session, keeping)
        keeping.hold()
    before = state(session)
    statement = session.statement()
    for giver in givers:
        places = [task for task in session.tasks if task.status is Status.ALLOCATED]
        if places:
            statement.give_up(places[giver % len(places)])
    for move in made:
        move.make(session, statement)
    statement.discard()
    assert state(session) == before
