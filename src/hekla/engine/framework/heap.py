"""Heap: hands out the best element, compared only when something is pushed or popped.

Keys may move while elements wait (a queue's share, a job's readiness). Volcano does not
re-order its heap then, so the order that comes out depends on how the heap is built; this one
is built the same way. Where keys stand still it is an ordinary priority queue.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

Element = TypeVar("Element")


class Heap(Generic[Element]):
    """A binary heap on a list; `before(a, b)` tells whether a goes before b."""

    def __init__(self, before: Callable[[Element, Element], bool], elements: Iterable[Element] = ()) -> None:
        self._before = before
        self._items: list[Element] = []
        for element in elements:
            self.push(element)

    def __len__(self) -> int:
        return len(self._items)

    def copy(self) -> Heap[Element]:
        """The same elements in the same places."""
        twin: Heap[Element] = Heap(self._before)
        twin._items = list(self._items)
        return twin

    def __iter__(self) -> Iterator[Element]:
        """All elements, in no order to rely on."""
        return iter(self._items)

    def push(self, element: Element) -> None:
        items, before = self._items, self._before
        items.append(element)
        at = len(items) - 1
        while at > 0:
            parent = (at - 1) // 2
            if not before(items[at], items[parent]):
                break
            items[at], items[parent] = items[parent], items[at]
            at = parent

    def pop(self) -> Element:
        items, before = self._items, self._before
        items[0], items[-1] = items[-1], items[0]
        top = items.pop()
        at, size = 0, len(items)
        while (child := 2 * at + 1) < size:
            if child + 1 < size and before(items[child + 1], items[child]):
                child += 1
            if not before(items[child], items[at]):
                break
            items[at], items[child] = items[child], items[at]
            at = child
        return top


class KeyedHeap(Generic[Element]):
    """The same for elements whose keys, all different, stand still while they wait.

    The key of an element that waits alone, as most do, is not asked for.
    """

    def __init__(self, key_of: Callable[[Element], tuple[Any, ...]]) -> None:
        self._key_of = key_of
        self._items: list[tuple[tuple[Any, ...], Element]] = []
        self._alone: Element | None = None

    def __len__(self) -> int:
        return len(self._items) + (self._alone is not None)

    def __bool__(self) -> bool:
        return self._alone is not None or bool(self._items)

    def push(self, element: Element) -> None:
        if self._alone is not None:
            alone, self._alone = self._alone, None
            heapq.heappush(self._items, (self._key_of(alone), alone))
        elif not self._items:
            self._alone = element
            return
        heapq.heappush(self._items, (self._key_of(element), element))

    def pop(self) -> Element:
        if self._alone is None:
            return heapq.heappop(self._items)[1]
        element, self._alone = self._alone, None
        return element
