"""TaskBook: every task by its pod's name, and what of interest tasks carry, counted as they come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from hekla.model.task import Task

Trait = Callable[[Task], object]
ThingsOf = Callable[[Task], Iterable[Hashable]]


class TaskBook:
    """Tasks in the order in which their pods arrived.

    Traits and censuses are asked for by function: the first question counts all tasks, and from
    then on the answer follows every change. Hand in functions of a module, not ones made on the spot.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, Task] = {}
        self._censuses: dict[ThingsOf, Counter[Hashable]] = {}
        self._having: dict[Trait, int] = {}

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
            self._count(before, -1)
        self._by_key[task.key] = task
        self._count(task, 1)

    def remove(self, task: Task) -> None:
        del self._by_key[task.key]
        self._count(task, -1)

    def some(self, trait: Trait) -> bool:
        """Whether any task has the trait."""
        if trait not in self._having:
            self._having[trait] = sum(bool(trait(task)) for task in self)
        return self._having[trait] > 0

    def census(self, things_of: ThingsOf) -> Mapping[Hashable, int]:
        """How many tasks carry each thing; a live view, without zeros."""
        if things_of not in self._censuses:
            self._censuses[things_of] = Counter(thing for task in self for thing in things_of(task))
        return self._censuses[things_of]

    def _count(self, task: Task, sign: int) -> None:
        for trait in self._having:
            if trait(task):
                self._having[trait] += sign
        for things_of, counts in self._censuses.items():
            for thing in things_of(task):
                counts[thing] += sign
                if not counts[thing]:
                    del counts[thing]
