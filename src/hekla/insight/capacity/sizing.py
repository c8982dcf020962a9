"""Sizing: what is counted, as users write it, and the cluster and the queues that each number stands for.

4..64 x cpu=32,memory=128Gi         how many nodes; also with the range last: cpu=32,memory=128Gi x 4..64
8 x cpu=64,gpu=1..8                 how much of a resource each node has
4..64/4 x cpu=32                    in steps of four
research capability gpu=8..64       how much of a resource a queue may have (capability, deserved, guarantee)
research capability cpu=8,gpu=1 x 8..64        several resources together
research weight 1..10               a queue's weight
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hekla.errors import InputError
from hekla.objects import Manifest, Node, ObjectMeta, Queue
from hekla.objects.complaint import did_you_mean, quoted
from hekla.objects.meta import ResourceList
from hekla.objects.quantity import exact
from hekla.objects.scheduling import Guarantee
from hekla.objects.typed import problem_with_amount
from hekla.simulation.workloads import Workload
from hekla.simulation.workloads.nodes import is_file, nodes_of
from hekla.simulation.workloads.shapes import GPU
from hekla.text import counted

MOST_SIZES = 100_000
NODES_EXAMPLE = '"4..64 x cpu=32,memory=128Gi"'
QUOTA_EXAMPLE = '"research capability gpu=8..64"'
QUOTA_FIELDS = ("capability", "deserved", "guarantee", "weight")
WEIGHT = "weight"
DEFAULT_QUEUE = "default"

_RANGE = re.compile(r"(?P<low>[0-9]+)\.\.(?P<high>[0-9]+)(?P<suffix>[A-Za-z]*)(?:/(?P<step>[0-9]+))?")
_TIMES = r"\s*[x×*]\s*"  # noqa: RUF001 - as people write
_COUNTED_LAST = re.compile(rf"\A(?P<body>.+?){_TIMES}(?P<range>[0-9]+\.\.[0-9]+(?:/[0-9]+)?)\Z", re.DOTALL)
_RESOURCE = re.compile(r"(?P<name>[A-Za-z][\w./-]*)\s*=\s*\Z")
_WORD = re.compile(r"\S+\s*")


@dataclass(frozen=True)
class NodeSizing:
    """Nodes, of which a number or a resource is open."""

    texts: tuple[str, ...]
    """Groups of nodes; `{}` stands in one of them for the number."""
    values: tuple[int, ...]
    resource: str = ""
    """What each node has more or less of; empty: nodes are counted."""
    suffix: str = ""

    def nodes(self, value: int) -> list[Node]:
        filled = [text.replace("{}", f"{value}{self.suffix}") for text in self.texts]
        return nodes_of(*filled)

    def workload(self, workload: Workload, value: int) -> Workload:  # noqa: ARG002 - queues stay as they are
        return workload

    @property
    def counts_nodes(self) -> bool:
        return not self.resource

    @property
    def heading(self) -> str:
        """Above a column of numbers."""
        return f"{_plain(self.resource)} per node" if self.resource else "nodes"

    @property
    def subject(self) -> str:
        """What there may be no right one of."""
        return "number of nodes" if self.counts_nodes else self.heading

    def spoken(self, value: int) -> str:
        """`12 nodes`, `6 gpu per node`."""
        return counted(value, "node") if self.counts_nodes else f"{value}{self.suffix} {self.heading}"


@dataclass(frozen=True)
class QuotaSizing:
    """A queue, of whose quota a number is open; the nodes are given."""

    queue: str
    field: str
    """One of `QUOTA_FIELDS`."""
    amounts: tuple[tuple[str, str], ...]
    """Resources, and how much of each a unit is."""
    values: tuple[int, ...]
    given: tuple[Node, ...] = ()

    def nodes(self, value: int) -> list[Node]:  # noqa: ARG002 - the nodes stay as they are
        return list(self.given)

    def workload(self, workload: Workload, value: int) -> Workload:
        objects = [*workload.objects]
        place = next(place for place, each in enumerate(objects) if is_queue(each, self.queue))
        queue = objects[place]
        assert isinstance(queue, Queue)
        objects[place] = self._changed(queue, value)
        return replace(workload, objects=tuple(objects))

    def _changed(self, queue: Queue, value: int) -> Queue:
        if self.field == WEIGHT:
            return msgspec.structs.replace(queue, spec=msgspec.structs.replace(queue.spec, weight=value))
        had = queue.spec.guarantee.resource if self.field == "guarantee" else getattr(queue.spec, self.field)
        amounts: ResourceList = {**had, **{name: _times(unit, value) for name, unit in self.amounts}}
        changed = Guarantee(resource=amounts) if self.field == "guarantee" else amounts
        return msgspec.structs.replace(
            queue, spec=msgspec.structs.replace(queue.spec, **{self.field: changed})
        )

    @property
    def counts_nodes(self) -> bool:
        return False

    @property
    def heading(self) -> str:
        """Above a column of numbers."""
        return self.field

    @property
    def subject(self) -> str:
        """What there may be no right one of."""
        return f"{self.field} of queue {self.queue}"

    def spoken(self, value: int) -> str:
        """`capability cpu=48 of queue research`."""
        if self.field == WEIGHT:
            return f"{self.field} {value} of queue {self.queue}"
        amounts: ResourceList = {name: _times(unit, value) for name, unit in self.amounts}
        return f"{self.field} {amounts_in_words(amounts)} of queue {self.queue}"


Sizing = NodeSizing | QuotaSizing


def is_queue(manifest: Manifest, name: str) -> bool:
    return isinstance(manifest, Queue) and manifest.metadata.name == name


def with_default_queue(workload: Workload) -> Workload:
    """The workload with the queue that is always there written down, so that it can be changed."""
    if any(is_queue(each, DEFAULT_QUEUE) for each in workload.objects):
        return workload
    return replace(workload, objects=(*workload.objects, Queue(metadata=ObjectMeta(name=DEFAULT_QUEUE))))


def read_nodes(texts: Sequence[str | Path]) -> NodeSizing | None:
    """The sizing that the texts say; none where no number in them is open."""
    found: list[tuple[int, str, re.Match[str]]] = []
    for place, text in enumerate(texts):
        if isinstance(text, str) and not is_file(text):
            written = _count_first(text)
            found += [(place, written, match) for match in _RANGE.finditer(written)]
    if not found:
        return None
    if len(found) > 1:
        raise InputError(f"nodes {quoted(found[1][1])}: a second range; one number is looked for at a time")
    place, written, match = found[0]
    before, after = written[: match.start()], written[match.end() :]
    resource = _RESOURCE.search(before)
    is_named = resource is not None and (resource["name"] == "name" or resource["name"].startswith("label."))
    if is_named or (resource is None and (match["suffix"] or not re.match(rf"{_TIMES}[A-Za-z]", after))):
        raise InputError(
            f"nodes {quoted(written)}, column {match.start() + 1}: expected the range as a number of nodes "
            f'or an amount, as in {NODES_EXAMPLE} or "8 x cpu=64,gpu=1..8"'
        )
    filled = [str(each) for each in texts]
    filled[place] = f"{before}{{}}{after}"
    sizing = NodeSizing(
        tuple(filled),
        _values(match, f"nodes {quoted(written)}"),
        _full(resource["name"]) if resource else "",
        match["suffix"] if resource else "",
    )
    sizing.nodes(sizing.values[0])
    return sizing


def _count_first(text: str) -> str:
    """`cpu=32 x 4..64` as `4..64 x cpu=32`."""
    found = _COUNTED_LAST.match(text.strip())
    return f"{found['range']} x {found['body']}" if found else text


def read_quota(text: str, workload: Workload, nodes: Sequence[Node]) -> QuotaSizing:
    """The sizing that a quota says, of a queue of the workload, on these nodes."""
    words = [found[0].strip() for found in _WORD.finditer(text)]
    if len(words) < 3:
        raise _wrong_quota(text, len(text), f"expected a queue, a field and a range, as in {QUOTA_EXAMPLE}")
    queue, field = words[0], words[1]
    _require_queue(text, queue, workload)
    if field not in QUOTA_FIELDS:
        known = did_you_mean(field, QUOTA_FIELDS) or f"; known are {', '.join(QUOTA_FIELDS)}"
        raise _wrong_quota(text, text.index(field, len(queue)), f"no field {quoted(field)} of a queue{known}")
    place = text.index(field, text.index(queue) + len(queue)) + len(field)
    place += len(text[place:]) - len(text[place:].lstrip())
    amounts, values = _quota_amounts(text, field, place)
    return QuotaSizing(queue, field, amounts, values, tuple(nodes))


def _require_queue(text: str, queue: str, workload: Workload) -> None:
    known = [each.metadata.name for each in workload.objects if isinstance(each, Queue)]
    if queue not in known:
        hint = did_you_mean(queue, known) or f"; known are {', '.join(known)}"
        raise _wrong_quota(text, text.index(queue), f"no queue {quoted(queue)}{hint}")


def _quota_amounts(text: str, field: str, place: int) -> tuple[tuple[tuple[str, str], ...], tuple[int, ...]]:
    """Resources with what a unit of each is, and the numbers of units, of what stands at that place."""
    written = text[place:].strip()
    found = list(_RANGE.finditer(written))
    if len(found) != 1:
        problem = (
            "a second range; one number is looked for at a time"
            if found
            else "expected a range such as 8..64"
        )
        raise _wrong_quota(text, place + (found[1].start() if found else 0), problem)
    values = _values(found[0], f"quota {quoted(text)}")
    if field == WEIGHT:
        if found[0][0] != written:
            raise _wrong_quota(text, place, f'a weight is a number, as in "research {WEIGHT} 1..10"')
        return (), values
    last = _COUNTED_LAST.match(written)
    if last is not None:
        return tuple(_units(text, place, last["body"])), values
    resource = _RESOURCE.search(written[: found[0].start()])
    if resource is None or resource.start() or found[0].end() < len(written):
        raise _wrong_quota(text, place, 'expected an amount, as in "gpu=8..64" or "cpu=8,gpu=1 x 8..64"')
    return ((_full(resource["name"]), f"1{found[0]['suffix']}"),), values


def _units(text: str, place: int, body: str) -> list[tuple[str, str]]:
    units = []
    for item in body.split(","):
        name, equals, amount = (part.strip() for part in item.partition("="))
        problem = problem_with_amount(amount) if equals else 'write it like "cpu=8"'
        if problem:
            raise _wrong_quota(text, place + body.index(item), f"{quoted(item.strip())}: {problem}")
        units.append((_full(name), amount))
    return units


def _values(match: re.Match[str], what: str) -> tuple[int, ...]:
    low, high, step = int(match["low"]), int(match["high"]), int(match["step"] or 1)
    if not 1 <= low <= high or step < 1:
        raise InputError(
            f"{what}: expected a range from 1 or more upwards, as in 4..64, got {quoted(match[0])}"
        )
    values = tuple(range(low, high + 1, step))
    if len(values) > MOST_SIZES:
        raise InputError(
            f"{what}: {len(values):,} sizes are too many to choose from; take steps, as in 10..1000/10"
        )
    return values


def _times(unit: str, value: int) -> str:
    """So many units, in the words of the unit where it is a whole number."""
    found = re.fullmatch(r"([0-9]+)([A-Za-z]*)", unit)
    if found:
        return f"{int(found[1]) * value}{found[2]}"
    return f"{(exact(unit) * value).normalize():f}"


def amounts_in_words(amounts: ResourceList) -> str:
    """`cpu=32,gpu=4`."""
    return ",".join(f"{_plain(name)}={amount}" for name, amount in amounts.items())


def _full(resource: str) -> str:
    return GPU if resource == "gpu" else resource


def _plain(resource: str) -> str:
    return resource.rpartition("/")[2]


def _wrong_quota(text: str, place: int, message: str) -> InputError:
    return InputError(f"quota {quoted(text)}, column {place + 1}: {message}")
