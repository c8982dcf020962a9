"""Nodes out of files: manifests, or the lists of machines that come with traces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hekla.errors import InputError
from hekla.objects import Node
from hekla.objects.meta import ResourceList
from hekla.objects.node import NodeStatus
from hekla.objects.read import read_text
from hekla.simulation.workloads.nodes import distinct, node_called, status_of
from hekla.simulation.workloads.openb import GPU_SHARE, WHOLE
from hekla.simulation.workloads.rows import amount, as_name, cells_of, expect_cells, rows_of
from hekla.simulation.workloads.shapes import GPU, GPU_MODEL
from hekla.simulation.workloads.source import Source
from hekla.simulation.workloads.trace import Broken

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
