"""Suspects: which objects an exception of a cycle may be the fault of.

The traceback tells: a function that raises mostly has at hand what it was at work on, and so has the one that
called it. So neither actions nor plugins need to say it, and it costs nothing while all is well.
"""

from __future__ import annotations

from collections.abc import Iterator
from traceback import walk_tb
from types import FrameType

from hekla.engine.model.job import Job
from hekla.engine.model.node import NodeInfo
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.errors import BrokenPromise, HeklaError
from hekla.objects import Manifest, Node, Pod, PodGroup, Queue
from hekla.objects.keys import GROUP_NAME

Suspect = tuple[type[Manifest], str]
"""A kind and a name of it."""
OF_TENANTS = (Pod, PodGroup)


def suspects_of(error: BaseException) -> list[Suspect]:
    """The likeliest first: what the innermost functions had at hand, and of that what tenants write."""
    found: dict[Suspect, None] = {}
    for frame in _innermost_first(error):
        at_hand = [suspect for value in frame.f_locals.values() for suspect in _named_by(value)]
        at_hand.sort(key=lambda suspect: suspect[0] not in OF_TENANTS)
        found.update(dict.fromkeys(at_hand))
    return list(found)


def is_foreseen(error: BaseException) -> bool:
    """Whether it was raised on purpose, and does not tell of a bug."""
    first = _first_cause(error)
    return isinstance(first, HeklaError) and not isinstance(first, BrokenPromise)


def _first_cause(error: BaseException) -> BaseException:
    return error if error.__cause__ is None else _first_cause(error.__cause__)


def _innermost_first(error: BaseException) -> Iterator[FrameType]:
    if error.__cause__ is not None:
        yield from _innermost_first(error.__cause__)
    yield from reversed([frame for frame, _ in walk_tb(error.__traceback__)])


def _named_by(value: object) -> Iterator[Suspect]:
    match value:
        case Task():
            yield from _of_pod(value.pod)
        case Pod():
            yield from _of_pod(value)
        case Job():
            yield PodGroup, value.uid
        case QueueInfo():
            yield Queue, value.name
        case NodeInfo():
            yield Node, value.name
        case Manifest():
            yield type(value), value.key


def _of_pod(pod: Pod) -> Iterator[Suspect]:
    """A gang without one of its pods is none: the group comes first."""
    group = pod.metadata.annotations.get(GROUP_NAME, "")
    if group:
        yield PodGroup, f"{pod.metadata.namespace}/{group}"
    yield Pod, pod.key
