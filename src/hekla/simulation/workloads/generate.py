"""Generate: made-up work that looks like that of a cluster. Same settings and same seed, same jobs.

Every trait is drawn from a generator of its own, so that longer jobs, say, arrive when the shorter ones did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice

import msgspec
import numpy as np
from msgspec.structs import replace

from hekla.errors import InputError
from hekla.objects import Manifest, Node, ObjectMeta, PriorityClass, Queue
from hekla.objects.meta import Amount
from hekla.objects.quantity import exact
from hekla.objects.scheduling import QueueSpec
from hekla.simulation.workloads.generator_form import HOUR, Floats, PodKind, QueueMix, Settings
from hekla.simulation.workloads.model import Account, Role, Submission, Workload
from hekla.simulation.workloads.shapes import Requests, Shapes


class GangKind(msgspec.Struct, frozen=True):
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
            number * float(exact(dict(offered).get(resource, 0))) for offered, number in self._kinds.items()
        )

    def holds(self, gang: GangKind) -> bool:
        """Whether the empty cluster has room for all of the gang at once."""
        room = 0
        for offered, number in self._kinds.items():
            room += number * fitting(gang.kind.requests, dict(offered))
            if room >= gang.pods:
                return True
        return False


def fitting(requests: Requests, offered: dict[str, Amount]) -> int:
    """How many such pods an empty node takes."""
    asked = [(name, exact(amount)) for name, amount in requests if exact(amount) > 0]
    return min(int(exact(offered.get(name, 0)) // amount) for name, amount in [*asked, ("pods", exact(1))])


def gangs_for(settings: Settings, nodes: Sequence[Node]) -> list[GangKind]:
    """All gangs that may be drawn; those that the cluster could never hold are not, if it is known."""
    gangs = [GangKind(*each) for each in settings.gangs() if each[2] > 0]
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


BLOCK = 1024
"""How many jobs are drawn at a time."""
TRAITS = ("arrival", "duration", "gang", "queue", "user", "priority", "estimate")


def generate(settings: Settings = Settings(), seed: int = 0, nodes: Sequence[Node] = ()) -> Workload:  # noqa: B008 - read-only
    """The jobs that the settings describe, drawn as they are asked for.

    With nodes, jobs that they could never hold are not drawn, and a load can be given in place of a rate.
    """
    if settings.jobs is None and settings.horizon is None:
        raise InputError("generate: give a number of jobs or a horizon")
    gangs = gangs_for(settings, nodes)
    if settings.load is not None:
        settings = replace(settings, rate=rate_for(settings, settings.load, nodes))
    if not settings.rate > 0:
        raise InputError("generate: nothing would ever arrive; give a rate above 0")
    left_out = len(list(settings.gangs())) - len(gangs)
    account, shapes = Account(), Shapes()

    def jobs() -> Iterator[Submission]:
        account.clear()
        if left_out:
            account.changed["a kind of gang that the nodes could never hold: not drawn"] = left_out
        for submission in _jobs(settings, gangs, seed, shapes):
            account.taken += 1
            yield submission

    objects = tuple(objects_of(settings))
    known = settings.jobs if settings.horizon is None else None
    return Workload("generated", jobs, objects=objects, count=known, account=account)


def objects_of(settings: Settings) -> Iterator[Manifest]:
    """The queues and priority classes that the jobs name."""
    for queue in settings.queues:
        yield Queue(metadata=ObjectMeta(name=queue.name), spec=QueueSpec(weight=queue.weight))
    for priority in settings.priorities:
        if priority.name:
            yield PriorityClass(metadata=ObjectMeta(name=priority.name), value=priority.value)


def _jobs(settings: Settings, gangs: Sequence[GangKind], seed: int, shapes: Shapes) -> Iterator[Submission]:
    streams = np.random.SeedSequence(seed).spawn(len(TRAITS))
    dice = {trait: np.random.default_rng(stream) for trait, stream in zip(TRAITS, streams, strict=True)}
    times = islice(arrivals(settings, dice["arrival"]), settings.jobs)
    roles = [(shapes.role("worker", gang.pods, shapes.template(gang.kind.requests)),) for gang in gangs]
    numbers = count(1)
    while block := list(islice(times, BLOCK)):
        draws = {trait: dice[trait].random(len(block)) for trait in TRAITS[1:]}
        picked = pick([gang.weight for gang in gangs], draws["gang"])
        yield from _block(settings, numbers, block, [roles[i] for i in picked], draws)


def arrivals(settings: Settings, dice: np.random.Generator) -> Iterator[float]:
    """Times of arrival: as many as at the busiest hour, of which the less busy hours keep a part."""
    highest = settings.highest_intensity
    pause = HOUR / (settings.rate * highest)
    now, horizon = 0.0, settings.horizon if settings.horizon is not None else float("inf")
    while now <= horizon:
        times = now + np.cumsum(dice.exponential(pause, BLOCK))
        kept = dice.random(BLOCK) * highest < settings.intensity(times)
        now = float(times[-1])
        yield from (float(time) for time in np.round(times[kept], 3) if time <= horizon)


def _block(
    settings: Settings,
    numbers: Iterator[int],
    times: Sequence[float],
    roles: Sequence[tuple[Role, ...]],
    draws: Mapping[str, Floats],
) -> Iterator[Submission]:
    durations: list[float] = np.round(settings.durations.at(draws["duration"]), 3).tolist()
    estimates = estimates_of(settings, durations, draws["estimate"])
    queues = pick([queue.share for queue in settings.queues], draws["queue"])
    priorities = pick([priority.share for priority in settings.priorities], draws["priority"])
    users = [users_of(queue, draws["user"]) for queue in settings.queues]
    for i, time in enumerate(times):
        yield Submission(
            name=f"{settings.prefix}-{next(numbers):06}",
            submitted=time,
            run_seconds=durations[i],
            roles=roles[i],
            queue=settings.queues[queues[i]].name,
            namespace=settings.namespace,
            user=users[queues[i]][i],
            priority_class=settings.priorities[priorities[i]].name if settings.priorities else "",
            estimate=estimates[i],
            checkpoint_seconds=settings.checkpoint,
            restart=settings.restart,
        )


def pick(weights: Sequence[float], draws: Floats) -> list[int]:
    """For every draw the number of the choice that it falls on."""
    if not weights:
        return [0] * len(draws)
    bounds = np.cumsum(weights) / np.sum(weights)
    found: list[int] = np.minimum(np.searchsorted(bounds, draws, side="right"), len(weights) - 1).tolist()
    return found


def users_of(queue: QueueMix, draws: Floats) -> list[str]:
    """The second user hands in half as many jobs as the first, the third a third as many."""
    if queue.users < 1:
        return [""] * len(draws)
    names = [f"{queue.name}-{number:02}" for number in range(1, queue.users + 1)]
    return [names[rank] for rank in pick([1.0 / rank for rank in range(1, queue.users + 1)], draws)]


def estimates_of(settings: Settings, durations: Sequence[float], draws: Floats) -> Sequence[float | None]:
    """What users say, longer than the truth by factors of which the logarithms are spread evenly."""
    if settings.estimate is None:
        return [None] * len(durations)
    least, most = settings.estimate
    said: list[float] = np.round(np.array(durations) * least * (most / least) ** draws, 3).tolist()
    return said
