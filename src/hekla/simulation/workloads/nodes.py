"""Nodes in a few words: "100 x cpu=32,memory=128Gi,gpu=8", or out of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from hekla.errors import InputError
from hekla.objects import Node, ObjectMeta, Taint
from hekla.objects.complaint import quoted
from hekla.objects.meta import ResourceList
from hekla.objects.node import NodeSpec, NodeStatus
from hekla.objects.read import read_text
from hekla.objects.typed import problem_with_amount
from hekla.simulation.workloads.openb import GPU_SHARE, WHOLE
from hekla.simulation.workloads.shapes import GPU, GPU_MODEL, taint_of
from hekla.simulation.workloads.source import Source
from hekla.simulation.workloads.trace import Broken, amount, as_name, cells_of, expect_cells, rows_of

MOST_PODS = 110
"""Of a node that does not say, as kubelets have it."""
MOST_NODES = 1_000_000
HOSTNAME = "kubernetes.io/hostname"
EXAMPLE = '"10 x cpu=32,memory=128Gi,nvidia.com/gpu=8"'

_GROUP = re.compile(r"(?:\A|(?<=[\s;+]))(?P<count>[0-9]+)\s*[x×*]\s*(?=[A-Za-z])")  # noqa: RUF001 - as people write
_SHORT = {"gpu": GPU}


@dataclass
class Group:
    """Nodes that are alike but for their names."""

    count: int
    prefix: str = ""
    resources: ResourceList = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[Taint] = field(default_factory=list)


def nodes_of(*texts: str | Path, prefix: str = "node", gpu_shares: bool = False) -> list[Node]:
    """The nodes that are described or that stand in files; no two have one name.

    Groups are separated by white space, `;` or `+`: `8 x cpu=64,gpu=8 2 x name=big,cpu=128`. Besides
    resources there are `name=PREFIX`, `pods=110`, `label.KEY=VALUE` and `taint=KEY=VALUE:EFFECT`. A file
    holds manifests, or the machines of a trace. With `gpu_shares`, machines of Alibaba offer thousandths
    of GPUs.
    """
    groups: list[Group] = []
    nodes: list[Node] = []
    for text in texts:
        if isinstance(text, Path) or is_file(text):
            nodes += nodes_in(Path(text), gpu_shares=gpu_shares)
        else:
            groups += groups_in(text)
    nodes += named(groups, prefix)
    return distinct(nodes)


def is_file(text: str) -> bool:
    """Whether a text names a file rather than describing nodes."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def groups_in(text: str) -> Iterator[Group]:
    """The groups of one text; a group without a count is one node."""
    starts = list(_GROUP.finditer(text))
    if not starts or text[: starts[0].start()].strip(" \t\r\n;+"):
        if "=" not in text:
            raise InputError(f"nodes {quoted(text)}: no such file; describe nodes like {EXAMPLE}")
        if starts:
            raise InputError(f"nodes {quoted(text)}: expected a number of nodes first, as in {EXAMPLE}")
        yield group_of(text, 1)
        return
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        body = text[start.end() : following.start() if following else len(text)]
        yield group_of(body, int(start["count"]))


def group_of(body: str, count: int) -> Group:
    if not 1 <= count <= MOST_NODES:
        raise InputError(f'nodes: expected 1 to {MOST_NODES} nodes, got "{count}"')
    group = Group(count)
    for item in body.strip(" \t\r\n;+,").split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise InputError(f"nodes: {quoted(item.strip())} says nothing; write it like {EXAMPLE}")
        take(group, key, value)
    if not group.resources.keys() - {"pods"}:
        raise InputError(f"nodes: {quoted(body.strip())} offers nothing; write it like {EXAMPLE}")
    return group


def take(group: Group, key: str, value: str) -> None:
    """Put one `key=value` where it belongs; a key that is no special word is a resource."""
    if key == "name":
        group.prefix = value
    elif key.startswith("label."):
        group.labels[key.removeprefix("label.")] = value
    elif key == "taint":
        group.taints.append(taint_of(value))
    elif problem := problem_with_amount(value):
        raise InputError(f"nodes: {key}: {problem}")
    elif _SHORT.get(key, key) in group.resources:
        raise InputError(f'nodes: "{key}" is given twice')
    else:
        group.resources[_SHORT.get(key, key)] = value


def named(groups: Iterable[Group], prefix: str = "node") -> Iterator[Node]:
    """The nodes of all groups; each group without a name has a prefix of its own: node, node2, node3."""
    unnamed = 0
    for group in groups:
        if not group.prefix:
            unnamed += 1
            group.prefix = prefix if unnamed == 1 else f"{prefix}{unnamed}"
        width = max(4, len(str(group.count)))
        status = status_of(group.resources)
        spec = NodeSpec(taints=tuple(group.taints))
        for number in range(1, group.count + 1):
            yield node_called(f"{group.prefix}-{number:0{width}}", status, group.labels, spec)


def status_of(resources: ResourceList) -> NodeStatus:
    """What a node offers; one object for all nodes that are alike."""
    offered = {"pods": MOST_PODS, **resources}
    return NodeStatus(allocatable=offered, capacity=offered)


def node_called(name: str, status: NodeStatus, labels: dict[str, str], spec: NodeSpec = NodeSpec()) -> Node:  # noqa: B008 - read-only
    return Node(metadata=ObjectMeta(name=name, labels={HOSTNAME: name, **labels}), spec=spec, status=status)


def distinct(nodes: list[Node]) -> list[Node]:
    """The nodes, if no two have one name."""
    seen: set[str] = set()
    for node in nodes:
        name = node.metadata.name
        if name in seen:
            raise InputError(f'nodes: two are called "{name}"; give groups a name=PREFIX of their own')
        seen.add(name)
    return nodes


def in_words(nodes: Sequence[Node]) -> tuple[list[str], list[Node]]:
    """Nodes as texts that `nodes_of` reads, and those that no text says all of."""
    texts, rest = [], []
    for _, group in groupby(nodes, key=_likeness):
        alike = list(group)
        text = _words(alike)
        try:
            says_all = nodes_of(text) == alike
        except InputError:
            says_all = False
        if says_all:
            texts.append(text)
        else:
            rest += alike
    return texts, rest


def _likeness(node: Node) -> object:
    return _prefix(node), node.spec, node.status, {**node.metadata.labels, HOSTNAME: ""}


def _prefix(node: Node) -> str:
    return node.metadata.name.rpartition("-")[0]


def _words(alike: Sequence[Node]) -> str:
    node = alike[0]
    offered = {name: amount for name, amount in node.status.allocatable.items() if amount != MOST_PODS}
    labels = {f"label.{key}": value for key, value in node.metadata.labels.items() if key != HOSTNAME}
    items = [f"{key}={value}" for key, value in ({"name": _prefix(node)} | offered | labels).items()]
    items += [f"taint={taint.key}={taint.value}:{taint.effect}" for taint in node.spec.taints]
    return f"{len(alike)} x {','.join(items)}"


OPENB = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
PAI = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")
PHILLY = ("machineId", "number of GPUs", "single GPU mem")
GPU_MEMORY = "nvidia.com/gpu.memory"


def nodes_in(path: Path, *, gpu_shares: bool = False) -> list[Node]:
    """The nodes of a file."""
    source = Source(path)
    columns = columns_of(source)
    if columns is not None:
        return distinct(list(Machines(source, columns, gpu_shares=gpu_shares).nodes()))
    reading = read_text(source.content(), source.name)
    for complaint in reading.complaints:
        raise InputError(str(complaint))
    nodes = [each for each in reading.objects if isinstance(each, Node)]
    if not nodes:
        raise InputError(f"{source.name}: no nodes in it; expected manifests of nodes, or a list of machines")
    return nodes


def columns_of(source: Source) -> tuple[str, ...] | None:
    """The columns of a list of machines; none where the file is no table."""
    first = next(rows_of(source), None)
    if first is None:
        raise InputError(f"{source.name}: the file is empty")
    cells = [cell.strip() for cell in first.content.decode("utf-8", "replace").split(",")]
    for columns in (OPENB, PAI, PHILLY):
        if cells[0] == columns[0] or (
            source.suffix == ".csv" and len(cells) == len(columns) and columns is PAI
        ):
            return columns
    if source.suffix == ".csv":
        known = "; ".join(",".join(columns) for columns in (OPENB, PAI, PHILLY))
        raise source.wrong(first.line, f"no list of machines that is known; known are those of {known}")
    return None


class Machines:
    """Rows of one list; machines that are alike share what they offer."""

    def __init__(self, source: Source, columns: tuple[str, ...], *, gpu_shares: bool) -> None:
        self._source = source
        self._columns = columns
        self._gpu_shares = gpu_shares
        self._statuses: dict[tuple[tuple[str, object], ...], NodeStatus] = {}

    def nodes(self) -> Iterator[Node]:
        for piece in rows_of(self._source):
            try:
                cells = cells_of(piece.content)
                expect_cells(cells, self._columns)
                if cells[0] != self._columns[0]:
                    yield self._node(cells)
            except Broken as broken:
                raise self._source.wrong(piece.line, str(broken)) from broken

    def _node(self, cells: list[str]) -> Node:
        if self._columns is PHILLY:
            name, gpus, memory = cells
            return node_called(as_name(name), self._status(self._gpus(gpus)), {GPU_MEMORY: memory})
        if self._columns is OPENB:
            name, cpu, memory, gpus, model = cells
            millicores, mebibytes = amount(cpu, "cpu_milli"), amount(memory, "memory_mib")
        else:
            name, model, cpu, memory, gpus = cells
            millicores, mebibytes = amount(cpu, "cap_cpu") * 1000, amount(memory, "cap_mem") * 1024
        offered: ResourceList = {"cpu": f"{round(millicores)}m", "memory": f"{round(mebibytes)}Mi"}
        status = self._status(offered | self._gpus(gpus))
        return node_called(as_name(name), status, {GPU_MODEL: model} if model else {})

    def _gpus(self, cell: str) -> ResourceList:
        count = int(amount(cell, "GPUs"))
        if not count:
            return {}
        return {GPU_SHARE: count * WHOLE} if self._gpu_shares else {GPU: count}

    def _status(self, offered: ResourceList) -> NodeStatus:
        key = tuple(offered.items())
        if key not in self._statuses:
            self._statuses[key] = status_of(offered)
        return self._statuses[key]
