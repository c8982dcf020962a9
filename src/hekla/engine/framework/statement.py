"""Statement: a journal of operations that are already applied to the session.

`commit` makes them real, `discard` undoes them in reverse. Left neither committed nor held,
a `with session.statement()` block undoes itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import groupby
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from hekla.engine.framework.decisions import Evict
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task, UndonePlacement

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session


class Kind(Enum):
    ALLOCATE = "allocate"
    PIPELINE = "pipeline"
    EVICT = "evict"
    GIVE_UP = "give up"


class Operation(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One step: `before` is the status an evicted task had, `beneficiary` the job it makes room for."""

    kind: Kind
    task: Task
    node: int
    before: Status = Status.PENDING
    evicted: bool = False
    reason: str = ""
    beneficiary: str = ""


class Statement:
    """Operations in the order they were applied."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.operations: list[Operation] = []
        self._is_held = False

    def __enter__(self) -> Statement:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_held:
            self.discard()

    def __len__(self) -> int:
        return len(self.operations)

    @property
    def has_evictions(self) -> bool:
        return any(operation.kind is Kind.EVICT for operation in self.operations)

    def allocate(self, task: Task, node: int) -> bool:
        """Give the task a node that has room now; False, and nothing done, where a plugin objects."""
        return self._place(Operation(Kind.ALLOCATE, task, node), Status.ALLOCATED)

    def allocate_all(self, tasks: Sequence[Task], nodes: Sequence[int]) -> int:
        """The same for tasks of one job that look alike, in this order; how many got their node.

        It ends with the first that a plugin objects to: where the others would go then is another question.
        """
        for task in tasks:
            task.evicted = False
        done = self._session.put_all(tasks, nodes, Status.ALLOCATED)
        placed = zip(tasks[:done], nodes, strict=False)
        self.operations += [Operation(Kind.ALLOCATE, task, node) for task, node in placed]
        return done

    def pipeline(self, task: Task, node: int, *, evicted: bool = False) -> bool:
        """Promise the task room that is being freed; `evicted` says that it was freed for it."""
        return self._place(Operation(Kind.PIPELINE, task, node, evicted=evicted), Status.PIPELINED)

    def evict(self, task: Task, reason: str, *, beneficiary: str = "") -> None:
        """Start taking the task off its node."""
        operation = Operation(
            Kind.EVICT, task, task.node, before=task.status, reason=reason, beneficiary=beneficiary
        )
        self._session.start_release(task)
        self.operations.append(operation)

    def give_up(self, task: Task) -> None:
        """Take back a place that the session had given the task and that was never made real."""
        operation = Operation(Kind.GIVE_UP, task, task.node)
        self._session.take_back(task)
        self.operations.append(operation)

    def _place(self, operation: Operation, status: Status) -> bool:
        task = operation.task
        task.evicted = operation.evicted
        if not self._session.put(task, operation.node, status):
            return False
        self.operations.append(operation)
        return True

    def commit(self) -> None:
        """Make everything real, first to last."""
        session = self._session
        for kind, operations in groupby(self.operations, key=attrgetter("kind")):
            if kind is Kind.ALLOCATE:
                session.bind_all([operation.task for operation in operations])
                continue
            for operation in operations:
                task = operation.task
                task.last = None
                if kind is Kind.EVICT:
                    session.decisions.append(
                        Evict(task.key, task.uid, task.node_name, operation.reason, operation.beneficiary)
                    )
        self.operations = []

    def discard(self) -> None:
        """Undo everything, last to first; each task remembers what it nearly got."""
        session = self._session
        for operation in reversed(self.operations):
            task = operation.task
            task.last = UndonePlacement(task.status, task.node, task.evicted)
            if operation.kind is Kind.EVICT:
                session.cancel_release(task, operation.before)
            elif operation.kind is Kind.GIVE_UP:
                session.put(task, operation.node, Status.ALLOCATED)
                task.last = None
            else:
                session.take_back(task)
        self.operations = []

    def hold(self) -> None:
        """Leave everything applied until the session ends, without making it real."""
        self._is_held = True

    def save(self) -> tuple[Operation, ...]:
        """The operations, to be applied again with `recover` after a discard."""
        return tuple(self.operations)

    def recover(self, saved: tuple[Operation, ...]) -> bool:
        """Apply saved operations again; False, and all of them undone, where one cannot be."""
        start = len(self.operations)
        for operation in saved:
            if not self._again(operation):
                later, self.operations = self.operations[start:], self.operations[:start]
                partial = Statement(self._session)
                partial.operations = later
                partial.discard()
                return False
        return True

    def _again(self, operation: Operation) -> bool:
        operation.task.last = None
        match operation.kind:
            case Kind.EVICT:
                self.evict(operation.task, operation.reason, beneficiary=operation.beneficiary)
                return True
            case Kind.PIPELINE:
                return self.pipeline(operation.task, operation.node, evicted=operation.evicted)
            case Kind.ALLOCATE:
                return self.allocate(operation.task, operation.node)
            case Kind.GIVE_UP:
                self.give_up(operation.task)
                return True

    def merge(self, *others: Statement) -> None:
        """Take over the operations of others, which are left empty."""
        for other in others:
            self.operations += other.operations
            other.operations = []
