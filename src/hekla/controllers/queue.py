"""The queue controller: which queues are open, and how closing one spreads down the tree.

Call `sync_queue` when a queue appears or changes its parent, and when a PodGroup of it appears, changes its
phase or goes. How many PodGroups a queue has, of any phase, is all it needs to know of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from hekla.controllers.commands import PutQueue, QueueCommand, RecordEvent
from hekla.controllers.queue_tree import ROOT, Queues, children_of, is_closed_or_closing, is_open, parent_of
from hekla.objects import ObjectMeta, Queue, keys
from hekla.objects.keys import DEFAULT_QUEUE
from hekla.objects.scheduling import QueueSpec, QueueStatus

_STATES = ("", "Open", "Closing", "Closed", "Unknown")


def standing_queues(existing: Collection[str], default_queue: str = DEFAULT_QUEUE) -> list[Queue]:
    """The queues that must always be there and are not: root, and the default queue."""
    wanted = {ROOT: False, default_queue: True}
    return [
        Queue(
            metadata=ObjectMeta(name=name),
            spec=QueueSpec(weight=1, reclaimable=reclaimable, parent="" if name == ROOT else ROOT),
            status=QueueStatus(state="Open"),
        )
        for name, reclaimable in wanted.items()
        if name not in existing
    ]


def loaded_queue(queue: Queue) -> Queue:
    """A queue from a file, as its controller would have it at once: below root, and open."""
    spec = queue.spec if queue.metadata.name == ROOT else replace(queue.spec, parent=parent_of(queue))
    return _in_state(replace(queue, spec=spec), queue.status.state or "Open")


def sync_queue(name: str, queues: Queues, pod_groups: Mapping[str, int]) -> list[QueueCommand]:
    """What a queue must become; `pod_groups` counts the PodGroups of every queue that has some."""
    tree = Tree(dict(queues), pod_groups)
    queue = queues[name]
    if problem := _problem_of_state(queue, "SyncQueue"):
        return [problem]
    if name != ROOT:
        tree.put(replace(queue, spec=replace(queue.spec, parent=parent_of(queue))))
    parent = queues.get(parent_of(queue))
    if parent is not None and is_closed_or_closing(parent) and not is_closed_or_closing(queue):
        tree.mark(name, closed_by_parent=True)
        tree.close(name)
    elif (
        parent is not None and is_open(parent) and is_closed_or_closing(queue) and is_closed_by_parent(queue)
    ):
        tree.open(name)
    else:
        tree.settle(name)
    return tree.changes(queues)


def close_queue(name: str, queues: Queues, pod_groups: Mapping[str, int]) -> list[QueueCommand]:
    """Close the queue and all below it; those that still hold PodGroups are closing until they go."""
    if name == ROOT:
        return [RecordEvent(ROOT, "Warning", "CloseQueue", f'queue "{ROOT}" cannot be closed')]
    if problem := _problem_of_state(queues[name], "CloseQueue"):
        return [problem]
    tree = Tree(dict(queues), pod_groups)
    tree.close(name)
    return tree.changes(queues)


def open_queue(name: str, queues: Queues, pod_groups: Mapping[str, int]) -> list[QueueCommand]:
    """Open the queue, and those below that were closed because of it."""
    queue = queues[name]
    if problem := _problem_of_state(queue, "OpenQueue"):
        return [problem]
    parent = queues.get(parent_of(queue))
    if parent is not None and is_closed_or_closing(parent):
        state = parent.status.state
        message = f'queue "{name}" cannot be opened while its parent "{parent.metadata.name}" is "{state}"'
        return [RecordEvent(name, "Warning", "OpenQueue", message)]
    tree = Tree(dict(queues), pod_groups)
    tree.open(name)
    return tree.changes(queues)


@dataclass
class Tree:
    """A working copy of the queues, and how many PodGroups they hold."""

    queues: dict[str, Queue]
    pod_groups: Mapping[str, int]

    def put(self, queue: Queue) -> None:
        self.queues[queue.metadata.name] = queue

    def mark(self, name: str, *, closed_by_parent: bool) -> None:
        queue = self.queues[name]
        mark = {keys.CLOSED_BY_PARENT: "true" if closed_by_parent else "false"}
        annotations = queue.metadata.annotations | mark
        self.put(replace(queue, metadata=replace(queue.metadata, annotations=annotations)))

    def close(self, name: str) -> None:
        # Before its children: a circle of queues would never end otherwise.
        queue = self.queues[name]
        if queue.status.state != "Closed":
            self.put(_in_state(queue, "Closing" if self.pod_groups.get(name, 0) else "Closed"))
        for child in children_of(name, self.queues):
            if not is_closed_or_closing(child):
                self.mark(child.metadata.name, closed_by_parent=True)
                self.close(child.metadata.name)

    def open(self, name: str) -> None:
        self.put(_in_state(self.queues[name], "Open"))
        if is_closed_by_parent(self.queues[name]):
            self.mark(name, closed_by_parent=False)
        for child in children_of(name, self.queues):
            if is_closed_by_parent(child):
                self.open(child.metadata.name)

    def settle(self, name: str) -> None:
        """A closing queue is closed once it is empty; a new one is open."""
        queue = self.queues[name]
        if queue.status.state == "":
            self.put(_in_state(queue, "Open"))
        elif queue.status.state == "Closing" and not self.pod_groups.get(name, 0):
            self.put(_in_state(queue, "Closed"))

    def changes(self, before: Queues) -> list[QueueCommand]:
        commands: list[QueueCommand] = []
        for name, queue in self.queues.items():
            if queue == before[name]:
                continue
            commands.append(PutQueue(queue))
            if is_closed_or_closing(queue) and not is_closed_or_closing(before[name]):
                message = f'queue "{name}" is now "{queue.status.state}"'
                commands.append(RecordEvent(name, "Normal", "CloseQueue", message))
        return commands


def is_closed_by_parent(queue: Queue) -> bool:
    return queue.metadata.annotations.get(keys.CLOSED_BY_PARENT) == "true"


def _in_state(queue: Queue, state: str) -> Queue:
    return replace(queue, status=replace(queue.status, state=state))


def _problem_of_state(queue: Queue, reason: str) -> RecordEvent | None:
    if queue.status.state in _STATES:
        return None
    message = f'no queue state "{queue.status.state}"; known states: {", ".join(_STATES[1:])}'
    return RecordEvent(queue.key, "Warning", reason, message)
