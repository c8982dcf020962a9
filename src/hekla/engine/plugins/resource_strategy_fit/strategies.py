"""Resource strategies: the nested settings of `resource-strategy-fit`, and what single pods say instead.

As in Volcano, a weight or type that makes no sense is replaced by its default, one by one. What
cannot be read at all is told when the configuration is read, and then nothing of that map counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import msgspec

from hekla.engine.model.resources import CPU, MEMORY
from hekla.objects import Pod
from hekla.objects.keys import STRATEGY_TYPE, STRATEGY_WEIGHT

MOST, LEAST = "MostAllocated", "LeastAllocated"
WILDCARD = "*"

Part = TypeVar("Part")
Number = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
"""Volcano cuts fractions off where it wants whole numbers."""


@dataclass(frozen=True)
class Strategy:
    """Whether a resource should be used up or kept free, and how much that counts."""

    type: str = LEAST
    weight: int = 1


Strategies = Mapping[str, Strategy]
DEFAULT_STRATEGIES: Strategies = {CPU: Strategy(), MEMORY: Strategy()}


def read_strategies(raw: Mapping[str, object]) -> Strategies:
    """By resource name or `prefix*`; what ends in no prefix is left out."""
    if not raw:
        return DEFAULT_STRATEGIES
    written = {name: _read(entry, WrittenStrategy, name) for name, entry in raw.items() if _is_name(name)}
    return {
        name: Strategy(entry.type if entry.type in (MOST, LEAST) else LEAST, max(int(entry.weight), 0) or 1)
        for name, entry in written.items()
    }


def _is_name(name: str) -> bool:
    return WILDCARD not in name[:-1] and name != WILDCARD


def strategy_for(resource: str, strategies: Strategies) -> Strategy | None:
    """Its own strategy, else that of the longest prefix."""
    if resource in strategies:
        return strategies[resource]
    prefixes = [name for name in strategies if name[-1:] == WILDCARD and resource.startswith(name[:-1])]
    return strategies[max(prefixes, key=len)] if prefixes else None


def strategies_of(pod: Pod, usual: Strategies) -> Strategies:
    """The pod's own strategies where it has some; a pod that names a type but no weights has none at all."""
    notes = pod.metadata.annotations
    if STRATEGY_TYPE not in notes:
        return usual
    try:
        weights = msgspec.json.decode(notes.get(STRATEGY_WEIGHT, ""), type=dict[str, int])
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return {name: Strategy(notes[STRATEGY_TYPE], weight) for name, weight in weights.items()}


@dataclass(frozen=True)
class Scarce:
    """Resources whose nodes are spared for those who ask for them."""

    weight: int = 0
    weights: Mapping[str, int] = field(default_factory=dict)


def read_scarce(raw: Mapping[str, object]) -> Scarce:
    written = _read(raw, WrittenScarce, "sra")
    if not written.enable or written.weight <= 0:
        return Scarce()
    given = {name: int(weight) for name, weight in written.resource_weight.items()}
    weights = {name: given.get(name, 1) for name in listed(written.resources)}
    return Scarce(
        int(written.weight), {name: weight if weight >= 0 else 1 for name, weight in weights.items()}
    )


@dataclass(frozen=True)
class Reserve:
    """How many cores and GB stay free for every idle device of a kind."""

    cpu: float = 1.0
    memory: float = 1.0


def read_reserves(raw: Mapping[str, object]) -> Mapping[str, Reserve]:
    written = _read(raw, WrittenProportional, "proportional")
    if not written.enable:
        return {}
    given = {key: ratio if ratio >= 0 else 1.0 for key, ratio in written.resource_proportion.items()}
    return {
        name: Reserve(given.get(f"{name}.{CPU}", 1.0), given.get(f"{name}.{MEMORY}", 1.0))
        for name in listed(written.resources)
    }


def listed(text: str) -> tuple[str, ...]:
    """The names in a comma list, each once."""
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


class WrittenStrategy(msgspec.Struct, frozen=True):
    type: str = ""
    weight: Number = 1


class WrittenScarce(msgspec.Struct, frozen=True, rename="camel"):
    enable: bool = False
    resources: str = ""
    weight: Number = 0
    resource_weight: dict[str, Number] = {}


class WrittenProportional(msgspec.Struct, frozen=True, rename="camel"):
    enable: bool = False
    resources: str = ""
    resource_proportion: dict[str, Number] = {}


def _read(raw: object, shape: type[Part], where: str) -> Part:
    try:
        return msgspec.convert(raw, shape)
    except msgspec.ValidationError as problem:
        raise ValueError(f"{where}: {problem}") from problem
