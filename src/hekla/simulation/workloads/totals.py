"""Totals: what a job asks for in all, shared out among its pods; nothing is lost by rounding."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise

import msgspec

from hekla.simulation.workloads.model import Role
from hekla.simulation.workloads.shapes import GPU, MOST_KEPT, Choice, Requests, Shapes

CPU, MEMORY = "cpu", "memory"
MILLI = 1000
_SIZES = (("Gi", 1024**3), ("Mi", 1024**2), ("Ki", 1024))
_PIECES: Mapping[str, tuple[int, ...]] = {CPU: (MILLI,), MEMORY: (1024**2, 1024)}

Units = Mapping[str, int]
"""By resource what is asked for: processors in thousandths, memory in bytes, all else by the piece."""


class Pile(msgspec.Struct, frozen=True):
    """An amount in pieces, and how many of them are in all."""

    name: str
    size: int
    pieces: int

    def share(self, pods: int, at: int) -> int:
        """What the pod at this place gets: the first ones take what is left over."""
        return (self.pieces // pods + (at < self.pieces % pods)) * self.size


class RolesByTotal:
    """The roles of jobs; those of jobs that ask for the same in all are worked out once."""

    def __init__(self, shapes: Shapes, whole: Collection[str] = ()) -> None:
        self._shapes = shapes
        self._whole = whole
        self._known: dict[tuple[tuple[tuple[str, int], ...], int, Choice], tuple[Role, ...]] = {}

    def roles(self, total: Units, pods: int, nodes: Choice = ()) -> tuple[Role, ...]:
        key = (tuple(total.items()), pods, nodes)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            found = self._known[key] = roles_of(total, pods, self._shapes, nodes, self._whole)
        return found


def roles_of(
    total: Units, pods: int, shapes: Shapes, nodes: Choice = (), whole: Collection[str] = ()
) -> tuple[Role, ...]:
    """The pods of a job that together ask for the total, as alike as can be; the larger ones come first.

    `whole` are the resources of which no pod gets a part of one.
    """
    piles = [Pile(name, size, amount // size) for name, amount, size in pieces_of(total, pods, whole)]
    changes = sorted({0, *(pile.pieces % pods for pile in piles), pods})
    return tuple(
        shapes.role(
            f"worker-{number}" if number > 1 else "worker",
            end - at,
            shapes.template(requests_of(piles, pods, at), nodes),
        )
        for number, (at, end) in enumerate(pairwise(changes), start=1)
    )


def pieces_of(total: Units, pods: int, whole: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Each resource with its amount and the size of the pieces that are handed out.

    What cannot be shared out evenly is handed out in pieces as people count it, where that is enough for all.
    """
    for name, amount in total.items():
        sizes = () if amount % pods == 0 and name not in whole else _PIECES.get(name, ())
        is_enough = name in whole
        fitting = (size for size in sizes if amount % size == 0 and (is_enough or amount >= size * pods))
        yield name, amount, next(fitting, 1)


def requests_of(piles: Iterable[Pile], pods: int, at: int) -> Requests:
    shares = ((pile.name, pile.share(pods, at)) for pile in piles)
    return tuple((name, written(name, share)) for name, share in shares if share)


def units_of(cpu: float = 0.0, memory: float = 0.0, gpu: int = 0) -> dict[str, int]:
    """Processors, bytes and whole GPUs as units; nothing of what is not asked for."""
    asked = {CPU: round(cpu * MILLI), MEMORY: round(memory), GPU: gpu}
    return {name: amount for name, amount in asked.items() if amount}


def written(name: str, amount: int) -> str:
    """The amount as a manifest has it: `4`, `500m`, `16Gi`."""
    if name == CPU:
        return f"{amount}m" if amount % MILLI else str(amount // MILLI)
    if name == MEMORY:
        for suffix, size in _SIZES:
            if amount % size == 0:
                return f"{amount // size}{suffix}"
    return str(amount)
