"""Class memory: what a plugin worked out once per class of tasks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from hekla.engine.framework.session import Session
from hekla.engine.model.task import Task

Result = TypeVar("Result")

MOST_CLASSES_KEPT = 256


class ClassMemory(Generic[Result]):
    """Results by class of tasks; the classes asked about longest ago are forgotten."""

    def __init__(self, session: Session, work_out: Callable[[Task], Result]) -> None:
        self._session = session
        self._work_out = work_out
        self._results: OrderedDict[Hashable, Result] = OrderedDict()

    def of(self, task: Task) -> Result:
        key = self._session.scoring.key_of(task)
        if key in self._results:
            self._results.move_to_end(key)
            return self._results[key]
        result = self._results[key] = self._work_out(task)
        if len(self._results) > MOST_CLASSES_KEPT:
            self._results.popitem(last=False)
        return result
