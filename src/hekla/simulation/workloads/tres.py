"""Trackable resources, as Slurm writes them: `cpu=64,gres/gpu:a100=8,gres/gpu=8,mem=500G,node=2`."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from hekla.simulation.workloads.cells import is_unknown, wrong

MOST_KEPT = 4_096
"""Of so many texts it is remembered what they say; most jobs of a log ask for what others have asked for."""
_GPU = "gres/gpu"
_COUNTED = frozenset({"billing", "cpu", "energy", "mem", "node", "pages", "vmem"})
"""Resources that are asked for otherwise, or that no node offers."""
_AMOUNT = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[KMGTP]?)(?P<per>[cn]?)\Z", re.IGNORECASE)
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_WITHOUT_UNIT = "M"
"""What Slurm counts memory in where it names no unit."""


class Tres(msgspec.Struct, frozen=True):
    """What a job has in all."""

    cpus: int = 0
    memory: float = 0.0
    """Bytes."""
    nodes: int = 0
    gpus: int = 0
    models: tuple[str, ...] = ()
    """Of its GPUs, where that is said."""
    others: tuple[str, ...] = ()
    """Generic resources that are no GPUs, licenses and the like."""

    def __bool__(self) -> bool:
        return bool(self.cpus or self.memory or self.nodes or self.gpus)


@lru_cache(maxsize=MOST_KEPT)
def tres_in(text: str, column: str) -> Tres:
    """The resources that a cell lists; none where it lists none."""
    if is_unknown(text.strip("()")):
        return Tres()
    amounts: dict[str, float] = {}
    for part in text.split(","):
        name, equals, amount = part.strip().partition("=")
        if not equals:
            raise wrong("not a list of resources", column, 'resources as "cpu=4,mem=16G,node=1"', text)
        amounts[name] = number_in(amount, column, text, default=_WITHOUT_UNIT if name == "mem" else "")
    typed = {
        name.partition(":")[2]: amount for name, amount in amounts.items() if name.startswith(f"{_GPU}:")
    }
    others = (
        n for n in amounts if n not in _COUNTED and n.partition(":")[0] != _GPU and not n.startswith("fs/")
    )
    return Tres(
        cpus=round(amounts.get("cpu", 0.0)),
        memory=amounts.get("mem", 0.0),
        nodes=round(amounts.get("node", 0.0)),
        # The number of all GPUs stands beside those of each model, or is their sum.
        gpus=round(max(amounts.get(_GPU, 0.0), sum(typed.values()))),
        models=tuple(sorted(model for model, amount in typed.items() if amount)),
        others=tuple(sorted(others)),
    )


def number_in(text: str, column: str, cell: str, default: str = "") -> float:
    """The number in a text as `16G`; one without a unit is in `default`."""
    shape = _AMOUNT.match(text)
    if shape is None or shape["per"]:
        raise wrong("not an amount", column, 'amounts as "cpu=4" or "mem=16G"', cell)
    return float(shape["number"]) * factor(shape["unit"] or default)


def factor(unit: str) -> float:
    return float(1024 ** _POWERS[unit.upper()]) if unit else 1.0


@lru_cache(maxsize=MOST_KEPT)
def memory_in(cell: str, column: str, cpus: int, nodes: int) -> float:
    """The bytes of a job whose memory is said as `16Gn` per node, `4000Mc` per processor, or `32G` in all."""
    if is_unknown(cell):
        return 0.0
    shape = _AMOUNT.match(cell)
    if shape is None:
        raise wrong("not an amount", column, 'memory as "4000Mc", "16Gn" or "32G"', cell)
    each = float(shape["number"]) * factor(shape["unit"] or _WITHOUT_UNIT)
    return each * {"c": cpus, "n": nodes}.get(shape["per"].lower(), 1)
