"""Trial: operations made to see whether they work out, and then left to stand or undone."""

from __future__ import annotations

from hekla.engine.framework.statement import Operation, Statement


class Trial:
    """Statements that are applied as long as the trial stands; once undone, they can be made again."""

    def __init__(self, statements: list[Statement]) -> None:
        self._statements = statements
        self._saved: tuple[Operation, ...] | None = None

    def __bool__(self) -> bool:
        """Whether anything was done at all."""
        return bool(self._saved) or any(statement.operations for statement in self._statements)

    def undo(self) -> None:
        if self._saved is None:
            self._saved = tuple(operation for one in self._statements for operation in one.operations)
            for statement in self._statements:
                statement.discard()

    def settle_in(self, statement: Statement) -> bool:
        """Hand everything over to the statement; False, and nothing done, where it cannot be made again."""
        if self._saved is not None:
            return statement.recover(self._saved)
        for one in self._statements:
            for operation in one.operations:
                # As if undone and made again: nothing of the search stays with the task.
                operation.task.last, operation.task.near = None, ""
        statement.merge(*self._statements)
        return True
