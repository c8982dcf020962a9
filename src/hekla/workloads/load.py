"""Load: how much work the settings of a generator stand for, and what a cluster can take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hekla.errors import InputError
from hekla.objects import Node
from hekla.objects.meta import Amount
from hekla.objects.quantity import exact
from hekla.workloads.settings import HOUR, PodKind, Settings
from hekla.workloads.shapes import Requests


@dataclass(frozen=True)
class Gang:
    """Pods of one kind that start together, and how often such a job comes."""

    pods: int
    kind: PodKind
    weight: float


class Room:
    """What nodes offer, nodes of one kind taken together."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._kinds: Counter[tuple[tuple[str, Amount], ...]] = Counter(
            tuple(sorted(node.status.allocatable.items())) for node in nodes
        )

    def total(self, resource: str) -> float:
        return sum(
            count * float(exact(dict(offered).get(resource, 0))) for offered, count in self._kinds.items()
        )

    def holds(self, gang: Gang) -> bool:
        """Whether the empty cluster has room for all of the gang at once."""
        room = 0
        for offered, count in self._kinds.items():
            room += count * fitting(gang.kind.requests, dict(offered))
            if room >= gang.pods:
                return True
        return False


def fitting(requests: Requests, offered: dict[str, Amount]) -> int:
    """How many such pods an empty node takes."""
    asked = [(name, exact(amount)) for name, amount in requests if exact(amount) > 0]
    return min(int(exact(offered.get(name, 0)) // amount) for name, amount in [*asked, ("pods", exact(1))])


def gangs_for(settings: Settings, nodes: Sequence[Node]) -> list[Gang]:
    """All gangs that may be drawn; those that the cluster could never hold are not, if it is known."""
    gangs = [Gang(*each) for each in settings.gangs() if each[2] > 0]
    if nodes:
        room = Room(nodes)
        gangs = [gang for gang in gangs if room.holds(gang)]
    if not gangs:
        raise InputError("generate: no kind of pod fits the nodes; ask for less, or give more nodes")
    return gangs


def rate_for(settings: Settings, load: float, nodes: Sequence[Node]) -> float:
    """Jobs per hour that keep this share of the scarcest resource of the nodes busy."""
    if not nodes:
        raise InputError("generate: load: no nodes to load; give nodes, or a rate of jobs per hour")
    gangs, room = gangs_for(settings, nodes), Room(nodes)
    total = sum(gang.weight for gang in gangs)
    work: Counter[str] = Counter()
    for gang in gangs:
        for name, amount in gang.kind.requests:
            work[name] += gang.weight / total * gang.pods * float(exact(amount))  # type: ignore[assignment]
    seconds = settings.durations.mean()
    rates = [load * room.total(name) / (amount * seconds) for name, amount in work.items() if amount > 0]
    if not rates:
        raise InputError("generate: load: pods that ask for nothing keep nothing busy; give a rate")
    return min(rates) * HOUR
