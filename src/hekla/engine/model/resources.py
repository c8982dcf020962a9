"""Resources: named amounts in canonical units, where an absent name differs from a zero.

cpu counts millicores; memory, storage and huge pages count bytes; pods count pods; every other
resource counts thousandths (one GPU is 1000).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hekla.errors import InputError
from hekla.objects.complaint import quoted
from hekla.objects.meta import Amount, ResourceList
from hekla.objects.quantity import LARGEST, milli, whole

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
EPHEMERAL_STORAGE = "ephemeral-storage"

MOST = LARGEST // 1024
"""Amounts are added up in 64 bits: what many objects say of a resource has to fit."""
HIGHEST_LIMIT = LARGEST // 2
"""What is only compared may be larger, but still has to go through floating point and back."""

Resources = dict[str, int]
"""Amounts by resource name. Absent means "never mentioned", which some comparisons tell from 0."""


def is_counted(name: str) -> bool:
    """Does the scheduler keep accounts of this resource?"""
    if name in (CPU, MEMORY, PODS, EPHEMERAL_STORAGE):
        return True
    if name.startswith("count/"):
        return False
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    return "/" in name and not name.startswith("requests.")


def is_whole(name: str) -> bool:
    """Counted in whole units; Volcano counts storage in thousandths of bytes, which sums overflow with."""
    return name in (MEMORY, PODS, EPHEMERAL_STORAGE) or name.startswith("hugepages-")


def spelled(name: str, amount: float) -> str:
    """An amount in canonical units as people write it: cores, GiB, devices."""
    if name == PODS:
        return f"{amount:g}"
    return f"{amount / 2**30:.4g}Gi" if is_whole(name) else f"{amount / 1000:.4g}"


def canonical(name: str, amount: Amount) -> int:
    """The amount in the units that this resource is counted in."""
    value = whole(amount) if is_whole(name) else milli(amount)
    if value < 0:
        raise InputError(f"{name}: {quoted(amount)} is negative; amounts start at 0")
    return value


def amounts_in(amounts: ResourceList) -> Resources:
    """What a manifest's resource list comes to, however large; names that are not counted are left out."""
    return {name: canonical(name, amount) for name, amount in amounts.items() if is_counted(name)}


def read_resources(amounts: ResourceList) -> Resources:
    """The same for amounts that are added up."""
    return countable(amounts_in(amounts))


def read_limits(amounts: ResourceList) -> Resources:
    """The same for amounts that are only compared."""
    return countable(amounts_in(amounts), HIGHEST_LIMIT)


def countable(resources: Resources, most: int = MOST) -> Resources:
    """The same amounts; raises InputError where one is too large for 64 bits."""
    for name, amount in resources.items():
        if amount > most:
            given, largest = _quantity(name, amount), _quantity(name, most)
            raise InputError(f'{name}: "{given}" is too large to be counted; at most "{largest}" can be')
    return resources


def add(left: Mapping[str, int], right: Mapping[str, int]) -> Resources:
    total = dict(left)
    for name, amount in right.items():
        total[name] = total.get(name, 0) + amount
    return total


def largest(left: Mapping[str, int], right: Mapping[str, int]) -> Resources:
    """Per name, the larger of the two."""
    most = dict(left)
    for name, amount in right.items():
        most[name] = max(most.get(name, 0), amount)
    return most


def total(parts: Iterable[Mapping[str, int]]) -> Resources:
    result: Resources = {}
    for part in parts:
        result = add(result, part)
    return result


def is_empty(resources: Mapping[str, int]) -> bool:
    """Nothing asked for, apart from the place a pod takes."""
    return all(amount == 0 for name, amount in resources.items() if name != PODS)


def as_quantities(resources: Mapping[str, int]) -> ResourceList:
    """Amounts as manifests write them; cpu and memory first."""
    ordered = sorted(resources.items(), key=lambda item: (item[0] not in (CPU, MEMORY), item[0]))
    return {name: _quantity(name, amount) for name, amount in ordered}


def _quantity(name: str, amount: int) -> str:
    if is_whole(name):
        return str(amount)
    return f"{amount}m" if amount % 1000 else str(amount // 1000)
