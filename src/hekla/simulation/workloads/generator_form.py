"""The map `generate:` of a workload file: settings of generated work in plain words."""

from __future__ import annotations

from typing import Any

from hekla.simulation.workloads.fields import Fields, Spot
from hekla.simulation.workloads.model import Restart
from hekla.simulation.workloads.settings import (
    DURATIONS,
    Durations,
    PodKind,
    PriorityMix,
    QueueMix,
    Settings,
    geometric,
    powers,
)
from hekla.simulation.workloads.short_jobs import name_of, requests_of

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
