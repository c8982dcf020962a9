"""Holdings: which single things (CPUs, cards) a task holds, so that giving back is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from hekla.engine.model.status import Status
from hekla.engine.model.task import Task

Thing = TypeVar("Thing")


class Holdings(Generic[Thing]):
    """Things by the UID of the task that holds them.

    What an evicted task held is remembered: if its eviction is undone, it gets the very same again.
    """

    def __init__(self) -> None:
        self.held: dict[str, Thing] = {}
        self._lost: dict[str, Thing | None] = {}

    def take(self, task: Task, choose: Callable[[], Thing | None]) -> Thing | None:
        """What the task holds from now on: what it lost by an eviction now undone, else what is chosen."""
        thing = self._lost.pop(task.uid) if task.uid in self._lost else choose()
        if thing is not None:
            self.held[task.uid] = thing
        return thing

    def give_back(self, task: Task) -> Thing | None:
        """What the task no longer holds; None where it held nothing."""
        thing = self.held.pop(task.uid, None)
        if task.status is Status.RELEASING:
            self._lost[task.uid] = thing
        return thing
