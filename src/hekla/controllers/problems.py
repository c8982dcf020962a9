"""Problems: what is wrong with a manifest, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from hekla.controllers.usage import is_extended
from hekla.errors import InputError
from hekla.objects.meta import Amount
from hekla.objects.quantity import exact
from hekla.objects.scheduling import NetworkTopology

_QUALIFIED_NAME = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$")
_LABEL = re.compile(r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$")


@dataclass(frozen=True)
class Problem:
    """A path into the manifest, and what is wrong there."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def is_qualified_name(name: str) -> bool:
    """Kubernetes' rule for the name part of a label key."""
    return len(name) <= 63 and _QUALIFIED_NAME.match(name) is not None


def is_dns_label(name: str) -> bool:
    return len(name) <= 63 and _LABEL.match(name) is not None


def is_dns_subdomain(name: str) -> bool:
    return len(name) <= 253 and _SUBDOMAIN.match(name) is not None


def problems_of_topology(path: str, topology: NetworkTopology | None) -> list[Problem]:
    """A highest tier is named by its number or by its name."""
    if topology is None or topology.highest_tier_allowed is None or not topology.highest_tier_name:
        return []
    message = (
        f'highestTierAllowed "{topology.highest_tier_allowed}" and highestTierName'
        f' "{topology.highest_tier_name}" are both given; keep one'
    )
    return [Problem(path, message)]


def problems_of_amounts(path: str, resources: Mapping[str, Amount]) -> Iterable[Problem]:
    """Quantities must be readable, not negative, and whole where things cannot be divided."""
    for name, amount in resources.items():
        where = f"{path}[{name}]"
        try:
            value = exact(amount)
        except InputError as error:
            yield Problem(where, str(error))
            continue
        if value < 0:
            yield Problem(where, f'"{amount}" is negative')
        elif is_indivisible(name) and value != value.to_integral_value():
            yield Problem(where, f'"{amount}" is not a whole number, and {name} cannot be divided')


def is_indivisible(name: str) -> bool:
    return name == "pods" or name.startswith("count/") or is_extended(name)


def readable(resources: Mapping[str, Amount]) -> dict[str, Decimal]:
    """The quantities that can be read; the others have been reported."""
    amounts: dict[str, Decimal] = {}
    for name, amount in resources.items():
        try:
            amounts[name] = exact(amount)
        except InputError:
            continue
    return amounts
