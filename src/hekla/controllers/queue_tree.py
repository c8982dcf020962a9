"""The tree of queues: who stands above whom, and which queues take work."""

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
    seen = {queue.metadata.name}
    above = queues.get(parent_of(queue))
    while above is not None and above.metadata.name not in (*seen, ROOT):
        yield above
        seen.add(above.metadata.name)
        above = queues.get(parent_of(above))


def height_of(name: str, queues: Queues, seen: frozenset[str] = frozenset()) -> int:
    """How many levels of queues hang below; a leaf has none."""
    below = [child.metadata.name for child in children_of(name, queues) if child.metadata.name not in seen]
    return max((1 + height_of(child, queues, seen | {name}) for child in below), default=0)


def is_open(queue: Queue) -> bool:
    """A queue without a state has been made a moment ago and will be open."""
    return queue.status.state in ("", "Open")


def is_closed_or_closing(queue: Queue) -> bool:
    return queue.status.state in ("Closed", "Closing")
