"""Random moves: what statements may do to a session, whether or not it makes sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from hekla.engine.framework.decisions import Bind, Decision, Evict
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.model.status import Status
from hekla.testing.answers import GivenAnswer, all_answers

EVICTABLE = (Status.BOUND, Status.RUNNING)


@dataclass(frozen=True)
class Move:
    """A task by number, a node by number, and whether a waiting task is placed or only pipelined."""

    task: int
    node: int
    is_promise: bool

    def make(self, session: Session, statement: Statement) -> None:
        """Evict the task if it runs, place it if it waits, else nothing."""
        tasks = [task for task in session.tasks if task.job in session.jobs]
        task = tasks[self.task % len(tasks)]
        row = self.node % len(session.nodes)
        if task.status in EVICTABLE and task.node >= 0:
            statement.evict(task, "a move")
        elif task.status is Status.PENDING and self.is_promise:
            statement.pipeline(task, row)
        elif task.status is Status.PENDING:
            statement.allocate(task, row)


moves = st.lists(
    st.builds(Move, st.integers(0, 30), st.integers(0, 5), st.booleans()), min_size=1, max_size=8
)


def make_all(session: Session, made: Sequence[Move]) -> Statement:
    statement = session.statement()
    for move in made:
        move.make(session, statement)
    return statement


def state(session: Session) -> dict[str, object]:
    """The fingerprint, and everything the plugins say, as comparable values."""
    said = {str(answer): _comparable(answer) for answer in all_answers(session)}
    return {"fingerprint": session.fingerprint(), **said}


def _comparable(answer: GivenAnswer) -> object:
    value = answer.value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_part(part) for part in value]
    return value


def _part(part: object) -> object:
    if hasattr(part, "nodes"):
        return part.reason, part.nodes.tolist(), part.code
    return getattr(part, "uid", part)


def deeds(decisions: Sequence[Decision]) -> list[Decision]:
    """What happens to pods; what is said about it is left out."""
    return [decision for decision in decisions if isinstance(decision, Bind | Evict)]
