"""Statements: a journal that is committed, held, or undone without a trace."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task, UndonePlacement
from hekla.errors import BrokenPromise
from hekla.testing import job, node, pod, session_of


class Picky(Plugin):
    """Objects to one task, and remembers all it was told."""

    name = "picky"
    unwanted = "a-1"

    def on_open(self) -> None:
        self.heard: list[tuple[str, str, str]] = []

    def on_allocate(self, task: Task) -> str | None:
        self.heard.append(("allocate", task.name, task.status.name))
        return "not that one" if task.name == self.unwanted else None

    def on_release(self, task: Task) -> None:
        self.heard.append(("release", task.name, task.status.name))


@pytest.fixture
def session() -> Session:
    return session_of(
        node("n1", cpu=4),
        node("n2", cpu=4),
        job("a", tasks=3, cpu=1),
        job("b", tasks=1, cpu=1, running={"n1": 1}),
        job("c", tasks=1, cpu=1, bound={"n1": 1}),
        tiers=("priority, gang", "drf, proportion, predicates"),
    )


def test_commit_binds_and_evicts_in_order(session: Session) -> None:
    first, second, _, victim, _ = session.tasks
    with session.statement() as statement:
        statement.evict(victim, "because", beneficiary="default/a")
        statement.allocate(first, 1)
        statement.pipeline(second, 0)
        statement.commit()
    assert session.decisions == [
        Evict("default/b-0", "default-b-0", "n1", "because", "default/a"),
        Bind("default/a-0", "default-a-0", "n2"),
    ]
    assert [t.status for t in (first, second, victim)] == [Status.BINDING, Status.PIPELINED, Status.RELEASING]


def test_a_block_left_without_commit_undoes_itself(session: Session) -> None:
    before = session.fingerprint()
    with session.statement() as statement:
        statement.allocate(session.tasks[0], 0)
        statement.pipeline(session.tasks[1], 1)
        statement.evict(session.tasks[3], "because")
        assert session.fingerprint() != before
    assert session.fingerprint() == before
    assert session.decisions == []


def test_an_exception_undoes_it_too(session: Session) -> None:
    before = session.fingerprint()
    with suppress(KeyError), session.statement() as statement:
        statement.allocate(session.tasks[0], 0)
        raise KeyError
    assert session.fingerprint() == before


def test_held_operations_stay_and_send_nothing(session: Session) -> None:
    task = session.tasks[0]
    with session.statement() as statement:
        statement.allocate(task, 0)
        statement.hold()
    assert task.status is Status.ALLOCATED
    assert session.decisions == []


def test_an_undone_eviction_gives_back_the_very_status(session: Session) -> None:
    running, bound = session.tasks[3:]
    with session.statement() as statement:
        statement.evict(running, "because")
        statement.evict(bound, "because")
    assert running.status is Status.RUNNING
    assert bound.status is Status.BOUND


def test_a_discarded_task_remembers_what_it_nearly_got(session: Session) -> None:
    first, second, *_ = session.tasks
    with session.statement() as statement:
        statement.allocate(first, 1)
        statement.pipeline(second, 0, evicted=True)
    assert first.last == UndonePlacement(Status.ALLOCATED, 1, evicted=False)
    assert second.last == UndonePlacement(Status.PIPELINED, 0, evicted=True)


def test_what_was_saved_can_be_applied_again(session: Session) -> None:
    before = session.fingerprint()
    statement = session.statement()
    statement.evict(session.tasks[3], "because", beneficiary="default/a")
    statement.allocate(session.tasks[0], 1)
    statement.pipeline(session.tasks[1], 0, evicted=True)
    applied, saved = session.fingerprint(), statement.save()
    statement.discard()
    assert session.fingerprint() == before
    again = session.statement()
    assert again.recover(saved)
    assert session.fingerprint() == applied
    assert session.tasks[1].evicted
    again.discard()
    assert session.fingerprint() == before


def test_merge_takes_over_and_leaves_the_other_empty(session: Session) -> None:
    before = session.fingerprint()
    one, other = session.statement(), session.statement()
    one.allocate(session.tasks[0], 0)
    other.allocate(session.tasks[1], 0)
    one.merge(other)
    assert (len(one), len(other)) == (2, 0)
    other.discard()
    one.discard()
    assert session.fingerprint() == before


def test_an_objecting_plugin_keeps_the_task_out_and_nothing_is_left_behind() -> None:
    session = session_of(
        node("n1", cpu=4), job("a", tasks=2, cpu=1), tiers=("drf, picky, proportion",), plugins=[Picky]
    )
    before = session.fingerprint()
    statement = session.statement()
    assert not statement.allocate(session.tasks[1], 0)
    assert session.fingerprint() == before
    assert len(statement) == 0
    assert statement.allocate(session.tasks[0], 0)


def test_recovering_stops_at_an_objection_and_undoes_what_it_did() -> None:
    session = session_of(node("n1", cpu=4), job("a", tasks=3, cpu=1), tiers=("picky",), plugins=[Picky])
    first, unwanted, third = session.tasks
    Picky.unwanted = ""
    try:
        statement = session.statement()
        for task in (first, unwanted, third):
            statement.allocate(task, 0)
        saved = statement.save()
        statement.discard()
    finally:
        Picky.unwanted = "a-1"
    before = session.fingerprint()
    again = session.statement()
    assert not again.recover(saved)
    assert session.fingerprint() == before


def test_plugins_hear_of_placements_and_releases_with_the_new_status() -> None:
    session = session_of(
        node("n1", cpu=4), job("a", tasks=1, cpu=1), job("r", tasks=1, cpu=1, running={"n1": 1}),
        tiers=("picky",), plugins=[Picky],
    )  # fmt: skip
    picky = session.plugins[0]
    waiting, running = session.tasks
    with session.statement() as statement:
        statement.pipeline(waiting, 0)
        statement.evict(running, "because")
    assert picky.heard == [
        ("allocate", "a-0", "PIPELINED"),
        ("release", "r-0", "RELEASING"),
        ("allocate", "r-0", "RUNNING"),
        ("release", "a-0", "PIPELINED"),
    ]


class Trying(Plugin):
    """Tries a placement and an eviction as it opens, and undoes both."""

    name = "trying"

    def on_open(self) -> None:
        waiting, running = self.session.tasks
        with self.session.statement() as statement:
            statement.allocate(waiting, 0)
            statement.evict(running, "because")


def test_what_a_plugin_tries_as_it_opens_is_no_news_and_all_that_follows_is() -> None:
    session = session_of(
        node("n1", cpu=4), job("a", tasks=1, cpu=1), job("r", tasks=1, cpu=1, running={"n1": 1}),
        tiers=("trying, picky",), plugins=[Trying, Picky],
    )  # fmt: skip
    picky = session.plugins[1]
    assert picky.heard == []
    with session.statement() as statement:
        statement.allocate(session.tasks[0], 0)
    assert picky.heard == [("allocate", "a-0", "ALLOCATED"), ("release", "a-0", "ALLOCATED")]


def test_a_pod_without_a_job_may_be_evicted_and_spared_again() -> None:
    session = session_of(
        node("n1"),
        pod("stray", on="n1", cpu=1),
        job("a", cpu=1),
        tiers=("gang", "drf, proportion, predicates"),
    )
    before = session.fingerprint()
    with session.statement() as statement:
        statement.evict(session.tasks[0], "because")
        assert session.nodes.releasing[0, 0] == 1000
    assert session.fingerprint() == before


def test_placing_a_task_twice_is_a_broken_promise(session: Session) -> None:
    session.statement().allocate(session.tasks[0], 0)
    with pytest.raises(BrokenPromise, match="is on node n1 already"):
        session.nodes.place(session.tasks[0], 0)
