"""The cluster that past jobs ran on: its nodes, and the queues and priority classes that they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hekla.objects import HyperNode, Manifest, Node, ObjectMeta, Pod, PriorityClass, Queue
from hekla.objects.keys import is_read
from hekla.objects.node import NodeStatus
from hekla.objects.scheduling import QueueStatus
from hekla.simulation.workloads.model import Submission
from hekla.simulation.workloads.trace import DEFAULT_QUEUE

BUILT_IN = frozenset({"", "system-cluster-critical", "system-node-critical"})
"""Priority classes that every cluster has."""


def surroundings(objects: Sequence[Manifest], jobs: Sequence[Submission]) -> list[Manifest]:
    """What is there at the start; a queue or priority class that is gone by now is made up again."""
    found = [each for manifest in objects for each in at_start(manifest)]
    queues = {each.metadata.name for each in found if isinstance(each, Queue)} | {DEFAULT_QUEUE}
    wanted = sorted({job.queue for job in jobs} - queues)
    found += [Queue(metadata=ObjectMeta(name=name)) for name in wanted]
    classes = {each.metadata.name for each in found if isinstance(each, PriorityClass)}
    pods = (each for each in objects if isinstance(each, Pod))
    values = {pod.spec.priority_class_name: pod.spec.priority or 0 for pod in pods}
    missing = sorted({job.priority_class for job in jobs} - classes - BUILT_IN)
    found += [PriorityClass(metadata=ObjectMeta(name=name), value=values.get(name, 0)) for name in missing]
    return found


def at_start(manifest: Manifest) -> Iterator[Manifest]:
    """The object as it is before anything has run; nothing of what is no part of the cluster itself."""
    metadata = bare(manifest.metadata)
    match manifest:
        case Node(status=status):
            plain = NodeStatus(allocatable=status.allocatable, capacity=status.capacity)
            yield replace(manifest, metadata=metadata, status=plain)
        case Queue():
            yield replace(manifest, metadata=metadata, status=QueueStatus())
        case PriorityClass() | HyperNode():
            yield replace(manifest, metadata=metadata)


def bare(metadata: ObjectMeta) -> ObjectMeta:
    """Names, labels and those annotations that schedulers read; nothing of who made the object, and when."""
    notes = {key: text for key, text in metadata.annotations.items() if is_read(key)}
    return ObjectMeta(
        name=metadata.name, namespace=metadata.namespace, labels=metadata.labels, annotations=notes
    )
