"""What pods ask for, as integers: millicores, and thousandths of everything else.

Written from the specification of Kubernetes and not from hekla's own reading of it: whoever referees must
not share the mistakes of the players.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from harness.kinds import Object

Amounts = Counter[str]

_QUANTITY = re.compile(r"([+-]?\d*\.?\d*)(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)")
_DECIMAL = {suffix: Fraction(10) ** (3 * power) for power, suffix in enumerate("num kMGTPE", -3)}
_BINARY = {f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)}
_FACTOR = {**_DECIMAL, **_BINARY, "": Fraction(1)}


@lru_cache(maxsize=4096)
def thousandths(quantity: str | int) -> int:
    """A quantity times 1000, rounded up, as Kubernetes rounds what is finer than its unit."""
    parts = _QUANTITY.fullmatch(str(quantity).strip())
    if parts is None:
        raise ValueError(f'not a quantity: "{quantity}"')
    number, exponent, suffix = parts.groups()
    scale = Fraction(10) ** int(exponent[1:]) if exponent else _FACTOR[suffix or ""]
    return math.ceil(Fraction(number) * scale * 1000)


def amounts(resources: Mapping[str, str | int] | None) -> Amounts:
    return Counter({name: thousandths(quantity) for name, quantity in (resources or {}).items()})


def demand_of(pod: Object) -> Amounts:
    """What a node gives away when it takes the pod, and one of its places.

    Init containers run one after the other, beside those of them that stay (sidecars); then the
    containers run together with all that stayed. Resources of the pod as a whole replace the sum.
    """
    spec = pod["spec"]
    staying: Amounts = Counter()
    peak: Amounts = Counter()
    for container in spec.get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            staying = _sum(staying, _requests(container))
            peak = peak | staying
        else:
            peak = peak | _sum(staying, _requests(container))
    running = staying
    for container in spec["containers"]:
        running = _sum(running, _requests(container))
    asked = Counter({**(running | peak), **_requests(spec)})
    return _sum(asked, amounts(spec.get("overhead")), Counter({"pods": 1000}))


def total(pods: Iterable[Object]) -> Amounts:
    summed: Amounts = Counter()
    for pod in pods:
        summed.update(demand_of(pod))
    return summed


def shortages(wanted: Amounts, used: Amounts, offered: Amounts) -> list[str]:
    """The resources of which there is too little; places for pods first, as kubelet tells it."""
    short = [name for name, amount in wanted.items() if amount and used[name] + amount > offered[name]]
    order = {"pods": 0, "cpu": 1, "memory": 2, "ephemeral-storage": 3}
    return sorted(short, key=lambda name: (order.get(name, 4), name))


def readable(resource: str, amount: int) -> str:
    """As people write it: cores, GiB, or a plain number."""
    if resource in ("memory", "ephemeral-storage"):
        return f"{amount / 1000 / 2**30:g}Gi"
    return f"{amount / 1000:g}"


def _requests(part: Object) -> Amounts:
    """Where only a limit is written, the API server has made it the request, but not in all old objects."""
    resources = part.get("resources", {})
    return Counter({**amounts(resources.get("limits")), **amounts(resources.get("requests"))})


def _sum(*parts: Amounts) -> Amounts:
    summed: Amounts = Counter()
    for part in parts:
        summed.update(part)
    return summed
