"""The header of Standard Workload Format: its queues, and the machine that the jobs ran on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from hekla.simulation.workloads.nodes import MOST_PODS, nodes_of
from hekla.simulation.workloads.selection import Content
from hekla.simulation.workloads.source import Source
from hekla.simulation.workloads.trace import as_name
from hekla.text import counted

_QUEUE = re.compile(rb"^;\s*Queue:\s*(?P<number>\d+)[\s:-]+(?P<name>\S+)", re.IGNORECASE)
_SIZE = re.compile(rb"^;\s*(?P<what>MaxProcs|MaxNodes):\s*(?P<number>\d{1,9})\b", re.IGNORECASE)


class SwfHeader(msgspec.Struct, frozen=True):
    """What the remarks before the jobs say."""

    queues: Mapping[int, str]
    """By number their names; a name that is used twice names neither."""
    processors: int = 0
    nodes: int = 0
    """0: that is not said."""

    def node_sizes(self) -> Iterator[tuple[int, int]]:
        """How many nodes there are of how many processors; all are in one where their number is not said.

        In one node no processor is out of reach of a job: nothing waits for a reason that is made up.
        """
        count = self.nodes if 0 < self.nodes <= self.processors else 1
        size, rest = divmod(self.processors, count)
        if rest:
            yield rest, size + 1
        yield count - rest, size


def header_of(source: Source) -> SwfHeader:
    """The remarks before the first job."""
    queues: dict[int, str] = {}
    sizes = {b"maxprocs": 0, b"maxnodes": 0}
    for piece in source.lines():
        text = piece.content.strip()
        if text and not text.startswith(b";"):
            break
        if declared := _QUEUE.match(text):
            name = as_name(declared["name"].decode("latin-1"))
            number = int(declared["number"])
            is_taken = name in queues.values() or name == "unnamed"
            queues[number] = f"queue-{number}" if is_taken else name
        elif size := _SIZE.match(text):
            sizes[size["what"].lower()] = int(size["number"])
    return SwfHeader(queues, sizes[b"maxprocs"], sizes[b"maxnodes"])


def on_machine(content: Content, header: SwfHeader, memory: int) -> Content:
    """The content with the nodes of the header, if it tells of any, and with what was assumed of them.

    Memory is not in the header: nodes have the most that any job asks for, in kilobytes per processor.
    """
    if not header.processors:
        return content
    sizes = list(header.node_sizes())
    nodes = nodes_of(*(f"{count} x {offered(cpus, memory)}" for count, cpus in sizes))
    told = " and ".join(f"{counted(count, 'node')} of {cpus:,} cpu" for count, cpus in sizes)
    said = f"MaxNodes {header.nodes}" if header.nodes else "and not how many nodes"
    limit = ", memory without limit" if memory else ""
    assumed = f"the cluster: {told}{limit} (header: MaxProcs {header.processors}, {said}); see --nodes"
    objects = (*content.objects, *nodes)
    return replace(content, objects=objects, changed=content.changed + Counter({assumed: 1}))


def offered(cpus: int, memory: int) -> str:
    """What a node has, as `nodes_of` reads it; as many pods as processors find room."""
    pods = f",pods={cpus}" if cpus > MOST_PODS else ""
    return f"cpu={cpus}{f',memory={cpus * memory}Ki' if memory else ''}{pods}"
