"""Totals: what a job asks for in all, shared out among its pods; nothing is lost by rounding."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from hekla.simulation.workloads.model import Role
from hekla.simulation.workloads.shapes import GPU, Choice, Requests, Shapes

CPU, MEMORY = "cpu", "memory"
MILLI = 1000
_SIZES = (("Gi", 1024**3), ("Mi", 1024**2), ("Ki", 1024))

Units = Mapping[str, int]
"""By resource what is asked for: processors in thousandths, memory in bytes, all else by the piece."""


def roles_of(total: Units, pods: int, shapes: Shapes, nodes: Choice = ()) -> tuple[Role, ...]:
    """The pods of a job that together ask for the total, as alike as can be; the larger ones come first."""
    changes = sorted({0, *(amount % pods for amount in total.values()), pods})
    return tuple(
        shapes.role(
            f"worker-{number}" if number > 1 else "worker",
            end - at,
            shapes.template(share_of(total, pods, at), nodes),
        )
        for number, (at, end) in enumerate(pairwise(changes), start=1)
    )


def share_of(total: Units, pods: int, at: int) -> Requests:
    """What the pod at this place asks for: the first ones take what is left over."""
    shares = ((name, amount // pods + (at < amount % pods)) for name, amount in total.items())
    return tuple((name, written(name, share)) for name, share in shares if share)


def each_times(units: Units, pods: int) -> dict[str, int]:
    """The total of so many pods that ask for this each."""
    return {name: amount * pods for name, amount in units.items()}


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
