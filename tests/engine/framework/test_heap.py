"""The heap compares only when something is pushed or popped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hekla.engine.framework.heap import Heap


def drained(heap: Heap[str]) -> list[str]:
    return [heap.pop() for _ in range(len(heap))]


@given(st.lists(st.integers(0, 9)))
def test_with_fixed_keys_it_is_an_ordinary_priority_queue(values: list[int]) -> None:
    elements = list(enumerate(values))
    heap = Heap(lambda left, right: (left[1], left[0]) < (right[1], right[0]), elements)
    assert [heap.pop() for _ in elements] == sorted(elements, key=lambda pair: (pair[1], pair[0]))


def test_an_empty_heap_is_false_and_a_filled_one_true() -> None:
    heap: Heap[str] = Heap(lambda left, right: left < right)
    assert not heap
    heap.push("a")
    assert heap


def test_a_push_moves_up_only_past_what_it_goes_before() -> None:
    heap: Heap[str] = Heap(lambda left, right: left < right, "dbca")
    assert drained(heap) == ["a", "b", "c", "d"]


def test_a_key_that_moves_while_its_element_waits_does_not_reorder_the_heap() -> None:
    """The smallest key belongs to an element that is not on the path, so another one comes out first."""
    keys = {"a": 1, "b": 2, "c": 3, "d": 4}
    heap: Heap[str] = Heap(lambda left, right: keys[left] < keys[right], keys)
    keys["d"] = 0
    assert heap.pop() == "a"


def test_only_the_path_of_a_pop_sees_the_new_key() -> None:
    """After "a" went, "d" sank from the top: compared with b and c, it stays on top with its new key."""
    keys = {"a": 1, "b": 2, "c": 3, "d": 4}
    heap: Heap[str] = Heap(lambda left, right: keys[left] < keys[right], keys)
    heap.pop()
    assert drained(heap) == ["b", "c", "d"]
    heap = Heap(lambda left, right: keys[left] < keys[right], keys)
    keys["d"] = 0
    assert drained(heap) == ["a", "d", "b", "c"]


def test_of_two_equal_children_the_left_one_rises() -> None:
    """Elements that are equal come out in the order that the heap's shape gives."""
    heap: Heap[str] = Heap(lambda _left, _right: False, "abcd")
    assert drained(heap) == ["a", "d", "c", "b"]
