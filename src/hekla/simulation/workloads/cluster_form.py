"""The cluster as a workload writes it, and whether all that jobs name is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from hekla.cluster.admission.pods import BUILT_IN
from hekla.errors import InputError
from hekla.objects import Manifest, Node, ObjectMeta, PriorityClass, Queue
from hekla.objects.complaint import did_you_mean, quoted
from hekla.objects.scheduling import Guarantee, QueueSpec
from hekla.simulation.workloads.fields import Fields, Spot, as_a, is_manifest
from hekla.simulation.workloads.generator_form import Settings
from hekla.simulation.workloads.manifests import Placed, Sorted
from hekla.simulation.workloads.model import Fault, Hazards, NodeDrains, NodeFails, NodesAdded, Submission
from hekla.simulation.workloads.nodes import nodes_of
from hekla.simulation.workloads.short_jobs import Entry, name_of

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


MOST_LISTED = 12
STANDING_QUEUES = frozenset({"default", "root"})


def check_objects(objects: Sequence[Placed]) -> None:
    """No two objects of one kind and name, and parents of queues that exist."""
    seen: set[tuple[type[Manifest], str]] = set()
    for manifest, spot in objects:
        if (type(manifest), manifest.key) in seen:
            raise spot.wrong(f'{type(manifest).__name__.lower()} "{manifest.key}" is given twice')
        seen.add((type(manifest), manifest.key))
    queues = {name for kind, name in seen if kind is Queue} | STANDING_QUEUES
    for manifest, spot in objects:
        if isinstance(manifest, Queue) and manifest.spec.parent and manifest.spec.parent not in queues:
            raise spot.wrong(unknown("queue", manifest.spec.parent, queues))


def check_names(entries: Sequence[Entry], objects: Iterable[Manifest]) -> None:
    """Queues and priority classes that jobs name are there, and no two jobs have one name."""
    known = Names(objects)
    repeats = {entry.submission.key: entry for entry in entries if entry.count > 1}
    seen: set[str] = set()
    for entry in entries:
        known.check(entry.submission, entry.spot)
        key = entry.submission.key
        if key in seen or is_repeat(key, repeats):
            raise entry.spot.under("name").wrong(f'two jobs are called "{key}"')
        seen.add(key)


def is_repeat(key: str, repeats: Mapping[str, Entry]) -> bool:
    """Whether a job that is there several times has this name as well, with its number."""
    base, _, number = key.rpartition("-")
    entry = repeats.get(base)
    if entry is None or not number.isdecimal() or len(number) != len(str(entry.count)):
        return False
    return 1 <= int(number) <= entry.count


def check_generated(entries: Iterable[Entry], settings: Settings, spot: Spot) -> None:
    """Names of generated jobs are theirs alone."""
    numbered = re.compile(rf"{re.escape(f'{settings.namespace}/{settings.prefix}')}(-[0-9]{{6,}})?")
    for entry in entries:
        if numbered.fullmatch(entry.submission.key):
            name = entry.submission.name
            raise spot.wrong(f'job "{name}" is called as generated jobs are; give these another "name"')


class Names:
    """What jobs may name."""

    def __init__(self, objects: Iterable[Manifest]) -> None:
        objects = list(objects)
        self._queues = {each.metadata.name for each in objects if isinstance(each, Queue)} | STANDING_QUEUES
        classes = [each for each in (*objects, *BUILT_IN) if isinstance(each, PriorityClass)]
        self._classes = {each.metadata.name for each in classes} | {""}

    def usable(self, entries: Iterable[Entry], found: Sorted) -> Iterator[Entry]:
        """Jobs of a recorded cluster: one in a queue that was not recorded is left out, and counted."""
        for entry in entries:
            job = entry.submission
            if job.queue not in self._queues:
                found.dropped[f"a pod group in a queue that is not there ({quoted(job.queue)})"] += 1
            elif job.priority_class not in self._classes:
                found.changed["a priority class that is not there: it has none"] += 1
                yield replace(entry, submission=replace(job, priority_class=""))
            else:
                yield entry

    def check(self, job: Submission, spot: Spot) -> None:
        if job.queue not in self._queues:
            raise spot.under("queue").wrong(unknown("queue", job.queue, self._queues))
        if job.priority_class not in self._classes:
            message = unknown("priority class", job.priority_class, self._classes)
            raise spot.under("priorityClass").wrong(message)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    names = sorted(filter(None, known))
    more = "" if len(names) <= MOST_LISTED else ", …"
    listed = f"; known: {', '.join(names[:MOST_LISTED])}{more}" if names else ""
    return f"no {what} {quoted(name)}{did_you_mean(name, names) or listed}"


def check_dependencies(entries: Sequence[Entry]) -> None:
    """Jobs wait for jobs that are there, and none waits for itself in the end."""
    waits = {entry.submission.key: entry.submission.after for entry in entries if entry.count == 1}
    for entry in entries:
        after = entry.submission.after
        if after and after not in waits:
            raise entry.spot.under("after").wrong(unknown("job", after, waits))
    in_circles = frozenset(waiting_for_themselves(waits))
    for entry in entries:
        if entry.submission.key in in_circles:
            message = f'the job waits for itself by way of "{entry.submission.after}"'
            raise entry.spot.under("after").wrong(message)


def waiting_for_themselves(after: Mapping[str, str]) -> Iterator[str]:
    """The first found of the jobs of every circle; `after` says what each waits for."""
    walk_of: dict[str, int] = {}
    for walk, start in enumerate(after):
        key = start
        while key and key not in walk_of:
            walk_of[key] = walk
            key = after.get(key, "")
        if key and walk_of[key] == walk:
            yield key


def check_faults(faults: Sequence[tuple[Fault, Spot]], nodes: Sequence[Node]) -> None:
    """Nodes that fail are there, as far as it is known which are."""
    names = {node.metadata.name for node in nodes}
    for fault, _ in faults:
        if isinstance(fault, NodesAdded):
            names |= {node.metadata.name for node in fault.nodes}
    for fault, spot in faults:
        if nodes and not isinstance(fault, NodesAdded) and fault.node not in names:
            raise spot.wrong(unknown("node", fault.node, names))
