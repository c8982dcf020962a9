"""Queues, priority classes, nodes, faults and hazards as workload files write them."""

from __future__ import annotations

from collections.abc import Iterator

from hekla.errors import InputError
from hekla.objects import Node, ObjectMeta, PriorityClass, Queue
from hekla.objects.scheduling import Guarantee, QueueSpec
from hekla.simulation.workloads.fields import Fields, Spot, as_a, is_manifest
from hekla.simulation.workloads.manifests import Placed
from hekla.simulation.workloads.model import Fault, Hazards, NodeDrains, NodeFails, NodesAdded
from hekla.simulation.workloads.nodes import nodes_of
from hekla.simulation.workloads.short_jobs import name_of

QUEUE_KEYS = frozenset(
    {"name", "weight", "capability", "deserved", "guarantee", "parent", "reclaimable", "priority"}
)


def queue_of(data: object, spot: Spot) -> Queue:
    """A queue as a manifest, as a map of its settings, or by name alone."""
    if is_manifest(data):
        return as_a(Queue, data, spot)
    fields = Fields({"name": data} if isinstance(data, str) else data, spot, QUEUE_KEYS)
    fields.need("name")
    return Queue(
        metadata=ObjectMeta(name=name_of(fields, "name")),
        spec=QueueSpec(
            weight=fields.whole("weight", 1, least=1),
            capability=fields.amounts("capability"),
            deserved=fields.amounts("deserved"),
            guarantee=Guarantee(resource=fields.amounts("guarantee")),
            reclaimable=fields.flag("reclaimable"),
            parent=fields.text("parent"),
            priority=fields.whole("priority", 0, least=-(2**31)),
        ),
    )


def priority_classes_of(fields: Fields) -> Iterator[Placed]:
    """A map of names to values, or a list of maps or manifests."""
    if isinstance(fields.data.get("priorityClasses"), dict):
        given = fields.map("priorityClasses")
        for name in given.data:
            value = given.whole(name, 0, least=-(2**31))
            yield PriorityClass(metadata=ObjectMeta(name=name), value=value), given.spot.under(name)
        return
    for spot, data in fields.items("priorityClasses"):
        if is_manifest(data):
            yield as_a(PriorityClass, data, spot), spot
            continue
        given = Fields(data, spot, ("name", "value", "default", "preemptionPolicy"))
        given.need("name")
        yield (
            PriorityClass(
                metadata=ObjectMeta(name=name_of(given, "name")),
                value=given.whole("value", 0, least=-(2**31)),
                global_default=bool(given.flag("default")),
                preemption_policy=given.text("preemptionPolicy"),
            ),
            spot,
        )


def nodes_in(fields: Fields, key: str = "nodes", prefix: str = "node") -> list[Node]:
    """A text, or a list of texts and manifests."""
    value = fields.data.get(key, [])
    items = [(fields.spot.under(key), value)] if isinstance(value, str) else list(fields.items(key))
    texts = [text for _, text in items if isinstance(text, str)]
    found = []
    if texts:
        try:
            found += nodes_of(*texts, prefix=prefix)
        except InputError as error:
            raise fields.wrong(key, str(error).removeprefix("nodes: ")) from error
    return found + [as_a(Node, item, spot) for spot, item in items if not isinstance(item, str)]


def hazards_of(fields: Fields) -> Hazards:
    given = fields.map("hazards", ("nodeFailure", "nodeRepair", "podFailure"))
    for key in given.data:
        if given.seconds(key, 0.0, may_be_endless=True) <= 0:
            raise given.wrong(key, "expected a mean time above 0; leave it out where nothing goes wrong")
    return Hazards(
        node_failure_seconds=given.span("nodeFailure"),
        node_repair_seconds=given.seconds("nodeRepair", Hazards().node_repair_seconds),
        pod_failure_seconds=given.span("podFailure"),
    )


def fault_of(data: object, spot: Spot, prefix: str) -> Fault:
    fields = Fields(data, spot, ("at", "fail", "drain", "add", "for"))
    fields.need("at")
    what = [key for key in ("fail", "drain", "add") if key in fields]
    if len(what) != 1:
        raise spot.wrong('expected exactly one of "fail", "drain" and "add"')
    at, lasting = fields.seconds("at", 0.0), fields.span("for")
    if what == ["fail"]:
        return NodeFails(at, fields.text("fail"), lasting)
    if what == ["drain"]:
        return NodeDrains(at, fields.text("drain"), lasting)
    if "for" in fields:
        raise fields.wrong("for", "nodes that are added stay")
    return NodesAdded(at, tuple(nodes_in(fields, "add", prefix)))
