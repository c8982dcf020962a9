"""TaskBook: every task by its pod's name, and what of interest tasks carry, counted as they come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping

from hekla.engine.model.task import Task, have_one_template

Trait = Callable[[Task], object]
ThingsOf = Callable[[Task], Iterable[Hashable]]


class TaskBook:
    """Tasks in the order in which their pods arrived.

    Traits and censuses are asked for by function: the first question counts all tasks, and from
    then on the answer follows every change. Hand in functions of a module, not ones made on the spot,
    that go by the pod's metadata and spec alone, not by where it runs.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, Task] = {}
        self._censuses: dict[ThingsOf, Counter[Hashable]] = {}
        self._having: dict[Trait, dict[str, Task]] = {}
        self._plain: Task | None = None
        """The latest task to come in that carries nothing of interest."""

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._by_key.values())

    def __getitem__(self, place: int) -> Task:
        """The task at this place in the order of arrival."""
        return list(self._by_key.values())[place]

    def get(self, key: str) -> Task | None:
        """The task of the pod `namespace/name`."""
        return self._by_key.get(key)

    def put(self, task: Task) -> None:
        """Take the task in, in the place of the one its pod had before."""
        before = self._by_key.get(task.key)
        if before is not None:
            self._strike_out(before)
        self._by_key[task.key] = task
        self._enter(task)

    def renew(self, task: Task) -> None:
        """The pod has only moved on: its new task is and carries what the old one was and carried."""
        self._by_key[task.key] = task
        for tasks in self._having.values():
            if task.key in tasks:
                tasks[task.key] = task

    def remove(self, task: Task) -> None:
        del self._by_key[task.key]
        self._strike_out(task)

    def having(self, trait: Trait) -> Collection[Task]:
        """The tasks with the trait, in no order to rely on; a live view."""
        if trait not in self._having:
            self._plain = None
            self._having[trait] = {task.key: task for task in self if trait(task)}
        return self._having[trait].values()

    def some(self, trait: Trait) -> bool:
        """Whether any task has the trait."""
        return len(self.having(trait)) > 0

    def census(self, things_of: ThingsOf) -> Mapping[Hashable, int]:
        """How many tasks carry each thing; a live view, without zeros."""
        if things_of not in self._censuses:
            self._plain = None
            self._censuses[things_of] = Counter(thing for task in self for thing in things_of(task))
        return self._censuses[things_of]

    def _enter(self, task: Task) -> None:
        if self._plain is not None and have_one_template(self._plain.pod, task.pod):
            return
        is_plain = True
        for trait, tasks in self._having.items():
            if trait(task):
                tasks[task.key] = task
                is_plain = False
        for things_of, counts in self._censuses.items():
            for thing in things_of(task):
                counts[thing] += 1
                is_plain = False
        self._plain = task if is_plain else None

    def _strike_out(self, task: Task) -> None:
        for tasks in self._having.values():
            tasks.pop(task.key, None)
        for things_of, counts in self._censuses.items():
            for thing in things_of(task):
                counts[thing] -= 1
                if not counts[thing]:
                    del counts[thing]
