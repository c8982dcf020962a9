"""The tree of queues: which queue is the parent of which, and which take work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hekla.objects import Queue

ROOT = "root"

Queues = Mapping[str, Queue]


def parent_of(queue: Queue) -> str:
    """The name of the parent; every queue but root has one."""
    if queue.metadata.name == ROOT:
        return ""
    return queue.spec.parent or ROOT


def children_of(name: str, queues: Queues) -> list[Queue]:
    return [queue for queue in queues.values() if parent_of(queue) == name and queue.metadata.name != name]


def has_children(name: str, queues: Queues) -> bool:
    return bool(children_of(name, queues))


def ancestors_of(queue: Queue, queues: Queues) -> Iterator[Queue]:
    """The queues above, the nearest first, root left out; a circle is walked once."""
    seen = {queue.metadata.name, ROOT}
    above = queues.get(parent_of(queue))
    while above is not None and above.metadata.name not in seen:
        yield above
        seen.add(above.metadata.name)
        above = queues.get(parent_of(above))


def height_of(name: str, queues: Queues) -> int:
    """How many levels of queues hang below; a leaf has none, and a circle is walked once."""
    children: dict[str, list[str]] = {}
    for queue in queues.values():
        children.setdefault(parent_of(queue), []).append(queue.metadata.name)
    level, seen, height = [name], {name}, 0
    while level := [child for each in level for child in children.get(each, ()) if child not in seen]:
        seen.update(level)
        height += 1
    return height


def is_open(queue: Queue) -> bool:
    """A queue without a state has been made a moment ago and will be open."""
    return queue.status.state in ("", "Open")


def is_closed_or_closing(queue: Queue) -> bool:
    return queue.status.state in ("Closed", "Closing")
