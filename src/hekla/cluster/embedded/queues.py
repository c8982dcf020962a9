"""Queues enter parents first, so that each is judged in the tree that it joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from hekla.controllers import default_queue, loaded_queue, problems_of_queue, standing_queues
from hekla.controllers.queue_tree import ROOT, parent_of
from hekla.objects import Queue


@dataclass
class Admitted:
    """The queues that may come in, parents first, and those that may not, with the reason."""

    queues: list[Queue] = field(default_factory=list)
    refusals: list[tuple[Queue, str]] = field(default_factory=list)


def admitted(given: Sequence[Queue], known: Mapping[str, Queue], *, is_strict: bool) -> Admitted:
    """The queues that join the known ones; root and the default queue are always there."""
    names = {queue.metadata.name for queue in given}
    waiting = [*standing_queues({*names, *known}), *map(_at_load, given)]
    result, tree = Admitted(), dict(known)
    if not is_strict:
        result.queues = waiting
        return result
    while ready := [queue for queue in waiting if _has_parent(queue, tree)]:
        for queue in ready:
            if problems := problems_of_queue(queue, tree):
                result.refusals += [(queue, f"left out: {problem}") for problem in problems]
            else:
                tree[queue.metadata.name] = queue
                result.queues.append(queue)
        waiting = [queue for queue in waiting if queue not in ready]
    result.refusals += [(queue, f"left out: {_why_rootless(queue, waiting, tree)}") for queue in waiting]
    return result


def _at_load(queue: Queue) -> Queue:
    """The queue with its defaults; what it had allocated elsewhere counts for nothing here."""
    queue = loaded_queue(default_queue(queue))
    return replace(queue, status=replace(queue.status, allocated={}))


def _has_parent(queue: Queue, tree: Mapping[str, Queue]) -> bool:
    return queue.metadata.name == ROOT or parent_of(queue) in tree


def _why_rootless(queue: Queue, waiting: Sequence[Queue], tree: Mapping[str, Queue]) -> str:
    """Why no way leads from the queue to root: a circle, a missing parent, or one that was refused."""
    together = {**tree, **{other.metadata.name: other for other in waiting}}
    problems = [each for each in problems_of_queue(queue, together) if each.path == "spec.parent"]
    if problems:
        return str(problems[0])
    return f'spec.parent: no way leads from "{parent_of(queue)}" to "{ROOT}"'
