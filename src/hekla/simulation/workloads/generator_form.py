"""Generated work as it is written: its settings, and how a file says them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.errors import InputError
from hekla.objects.quantity import DAY
from hekla.simulation.workloads.fields import Fields, Spot
from hekla.simulation.workloads.model import Restart
from hekla.simulation.workloads.shapes import GPU, Requests
from hekla.simulation.workloads.short_jobs import name_of, requests_of

Floats = npt.NDArray[np.float64]

HOUR = 3600.0
WEEK = 7 * DAY
WORKDAYS = 5
SLICES = 20_000
"""Into how many parts a distribution is cut to find its mean."""


class Durations(msgspec.Struct, frozen=True):
    """How long jobs run."""

    kind: str = "lognormal"
    typical: float = 1200.0
    """The median of `lognormal`, the mean of `exponential`, the least of `pareto`, the value of `fixed`."""
    spread: float = 1.6
    """Sigma of `lognormal`, alpha of `pareto`."""
    shortest: float = 10.0
    longest: float = 3 * DAY

    def at(self, shares: Floats) -> Floats:
        """The durations below which these shares of all jobs lie."""
        match self.kind:
            case "lognormal":
                normal = np.array(
                    [NormalDist().inv_cdf(share) for share in np.clip(shares, 1e-15, 1 - 1e-15)]
                )
                found = self.typical * np.exp(self.spread * normal)
            case "exponential":
                found = -self.typical * np.log1p(-shares)
            case "pareto":
                found = self.typical * (1.0 - shares) ** (-1.0 / self.spread)
            case "fixed":
                return np.full(len(shares), self.typical)
            case _:
                raise InputError(f'durations: no kind "{self.kind}"; known are {", ".join(DURATIONS)}')
        return np.clip(found, self.shortest, self.longest)

    def mean(self) -> float:
        return float(self.at((np.arange(SLICES) + 0.5) / SLICES).mean())


DURATIONS = ("exponential", "fixed", "lognormal", "pareto")


class PodKind(msgspec.Struct, frozen=True):
    """What a pod asks for, and how often."""

    requests: Requests
    weight: float = 1.0


class QueueMix(msgspec.Struct, frozen=True):
    """A queue, its share of the jobs, its weight for the scheduler, and how many users it has."""

    name: str
    share: float = 1.0
    weight: int = 1
    users: int = 5


class PriorityMix(msgspec.Struct, frozen=True):
    """A priority class and its share of the jobs."""

    name: str
    value: int = 0
    share: float = 1.0


def powers(largest: int = 32, decay: float = 0.5) -> tuple[tuple[int, float], ...]:
    """Sizes 1, 2, 4, … up to the largest, each so many times as frequent as the one before."""
    return tuple((2**i, decay**i) for i in range(largest.bit_length()) if 2**i <= largest)


def geometric(mean: float = 4.0, largest: int = 64) -> tuple[tuple[int, float], ...]:
    """Sizes from 1 on, each less frequent than the one before by the same factor."""
    keep = 1.0 - 1.0 / max(mean, 1.0)
    return tuple((size, keep ** (size - 1)) for size in range(1, largest + 1) if keep > 0 or size == 1)


class Settings(msgspec.Struct, frozen=True):
    """Where nothing is said: a cluster for training, with many small jobs and few large ones."""

    jobs: int | None = 1000
    horizon: float | None = None
    """No job arrives later; with `jobs` as well, whichever comes first."""
    rate: float = 60.0
    """Jobs per hour, in the mean over a week."""
    load: float | None = None
    """In place of a rate: the share of the cluster that the jobs would keep busy."""
    daily: float = 0.5
    """How much more than the mean arrives at the peak of the day; as much less in the night."""
    peak: float = 14 * HOUR
    weekend: float = 1.0
    """Arrivals on the sixth and seventh day, as a share of those on other days."""
    durations: Durations = Durations()
    sizes: tuple[tuple[int, float], ...] = ((1, 60), (2, 14), (4, 12), (8, 8), (16, 4), (32, 2))
    pods: tuple[PodKind, ...] = (
        PodKind((("cpu", "4"), ("memory", "16Gi")), 25),
        PodKind((("cpu", "8"), ("memory", "64Gi"), (GPU, "1")), 45),
        PodKind((("cpu", "16"), ("memory", "128Gi"), (GPU, "2")), 12),
        PodKind((("cpu", "32"), ("memory", "256Gi"), (GPU, "4")), 8),
        PodKind((("cpu", "64"), ("memory", "512Gi"), (GPU, "8")), 10),
    )
    queues: tuple[QueueMix, ...] = (
        QueueMix("research", share=5, weight=2, users=12),
        QueueMix("production", share=3, weight=3, users=4),
        QueueMix("batch", share=2, weight=1, users=6),
    )
    priorities: tuple[PriorityMix, ...] = (
        PriorityMix("low", 100, share=3),
        PriorityMix("normal", 1000, share=6),
        PriorityMix("high", 10_000, share=1),
    )
    estimate: tuple[float, float] | None = (1.0, 4.0)
    """By which factors users overrate the duration, from the least to the most; none: they say nothing."""
    checkpoint: float | None = None
    restart: Restart = Restart.JOB
    namespace: str = "default"
    prefix: str = "job"

    def intensity(self, times: Floats) -> Floats:
        """How many times the mean rate jobs arrive at; time 0 is midnight before the first workday."""
        day = 1.0 + self.daily * np.cos(2 * math.pi * (times - self.peak) / DAY)
        workday = 7.0 / (WORKDAYS + (7 - WORKDAYS) * self.weekend)
        return day * np.where(times % WEEK < WORKDAYS * DAY, workday, workday * self.weekend)

    @property
    def highest_intensity(self) -> float:
        workday = 7.0 / (WORKDAYS + (7 - WORKDAYS) * self.weekend)
        return (1.0 + self.daily) * workday * max(1.0, self.weekend)

    def gangs(self) -> Iterator[tuple[int, PodKind, float]]:
        """Every size with every kind of pod, and how often they come together."""
        for size, weight in self.sizes:
            for kind in self.pods:
                yield size, kind, weight * kind.weight


KEYS = frozenset(
    {
        "checkpoint", "daily", "durations", "estimate", "horizon", "jobs", "load", "name", "namespace",
        "peak", "pods", "priorities", "queues", "rate", "restart", "seed", "sizes", "weekend",
    }
)  # fmt: skip
_TYPICAL = {"lognormal": "median", "exponential": "mean", "pareto": "least", "fixed": "value"}
_SPREAD = {"lognormal": "sigma", "pareto": "alpha"}


def read_settings(data: object, spot: Spot) -> tuple[Settings, int | None]:
    """The settings, and the seed if one is named."""
    fields = Fields(data, spot, KEYS)
    if "load" in fields and "rate" in fields:
        raise fields.wrong("load", 'stands for a rate; give "load" or "rate", not both')
    plain = Settings()
    given: dict[str, Any] = {
        "jobs": fields.whole("jobs", 0, least=1) if "jobs" in fields else None,
        "horizon": fields.span("horizon"),
        "rate": fields.number("rate", plain.rate),
        "load": fields.number("load", 0.0) if "load" in fields else None,
        "daily": fields.number("daily", plain.daily, most=1.0),
        "peak": fields.seconds("peak", plain.peak),
        "weekend": fields.number("weekend", plain.weekend),
        "checkpoint": fields.span("checkpoint"),
        "restart": Restart(fields.choice("restart", [each.value for each in Restart], plain.restart.value)),
        "namespace": name_of(fields, "namespace", plain.namespace),
        "prefix": name_of(fields, "name", plain.prefix),
    }
    if given["jobs"] is None and given["horizon"] is None:
        given["jobs"] = plain.jobs
    for key, read in (
        ("durations", durations), ("sizes", sizes), ("pods", pods), ("queues", queues),
        ("priorities", priorities), ("estimate", estimate),
    ):  # fmt: skip
        if key in fields:
            given[key] = read(fields)
    seed = fields.whole("seed", 0) if "seed" in fields else None
    return Settings(**given), seed


def durations(fields: Fields) -> Durations:
    plain = Durations()
    known = {"kind", "shortest", "longest", *_TYPICAL.values(), *_SPREAD.values()}
    given = fields.map("durations", known)
    kind = given.choice("kind", DURATIONS, plain.kind)
    for key in given.data:
        if key in {*_TYPICAL.values(), *_SPREAD.values()} - {_TYPICAL[kind], _SPREAD.get(kind)}:
            raise given.wrong(key, f'means nothing to durations of kind "{kind}"')
    return Durations(
        kind,
        given.seconds(_TYPICAL[kind], plain.typical),
        given.number(_SPREAD[kind], plain.spread) if kind in _SPREAD else plain.spread,
        given.seconds("shortest", plain.shortest),
        given.seconds("longest", plain.longest),
    )


def sizes(fields: Fields) -> tuple[tuple[int, float], ...]:
    """Either weights by size, or a rule that gives them."""
    given = fields.map("sizes")
    if "kind" in given:
        return sizes_by_rule(fields)
    found = []
    for key in given.data:
        if not key.isdecimal() or int(key) < 1:
            raise given.wrong(key, "expected a number of pods as the key, as in {1: 60, 8: 10}")
        found.append((int(key), given.number(key, 0.0)))
    if not sum(weight for _, weight in found) > 0:
        raise fields.wrong("sizes", "expected at least one size with a weight above 0")
    return tuple(found)


def sizes_by_rule(fields: Fields) -> tuple[tuple[int, float], ...]:
    given = fields.map("sizes", ("kind", "largest", "decay", "mean"))
    if given.choice("kind", ("powers", "geometric"), "powers") == "powers":
        return powers(given.whole("largest", 32, least=1), given.number("decay", 0.5, most=1.0))
    return geometric(given.number("mean", 4.0, least=1.0), given.whole("largest", 64, least=1, most=100_000))


def pods(fields: Fields) -> tuple[PodKind, ...]:
    found = []
    for spot, data in fields.items("pods"):
        given = Fields(data, spot, ("cpu", "memory", "gpu", "requests", "weight"))
        found.append(PodKind(tuple(requests_of(given).items()), given.number("weight", 1.0)))
    if not sum(kind.weight for kind in found) > 0:
        raise fields.wrong("pods", "expected at least one kind of pod with a weight above 0")
    return tuple(found)


def queues(fields: Fields) -> tuple[QueueMix, ...]:
    found = []
    for spot, data in fields.items("queues"):
        given = Fields(data, spot, ("name", "share", "weight", "users"))
        given.need("name")
        found.append(
            QueueMix(
                name_of(given, "name"),
                given.number("share", 1.0),
                given.whole("weight", 1, least=1),
                given.whole("users", 5, most=10_000),
            )
        )
    if not sum(queue.share for queue in found) > 0:
        raise fields.wrong("queues", "expected at least one queue with a share above 0")
    return tuple(found)


def priorities(fields: Fields) -> tuple[PriorityMix, ...]:
    """An empty list: jobs have no priority class."""
    found = []
    for spot, data in fields.items("priorities"):
        given = Fields(data, spot, ("name", "value", "share"))
        given.need("name")
        value = given.whole("value", 0, least=-(2**31))
        found.append(PriorityMix(name_of(given, "name"), value, given.number("share", 1.0)))
    if found and not sum(priority.share for priority in found) > 0:
        raise fields.wrong("priorities", "expected at least one with a share above 0")
    return tuple(found)


def estimate(fields: Fields) -> tuple[float, float] | None:
    """`false`, a factor, or the least and the most of it."""
    value = fields.data["estimate"]
    if value is False:
        return None
    if isinstance(value, dict):
        given = fields.map("estimate", ("least", "most"))
        least = given.number("least", 1.0, least=0.001)
        return least, given.number("most", max(least, 4.0), least=least)
    factor = fields.number("estimate", 1.0, least=0.001)
    return factor, factor
