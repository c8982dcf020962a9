"""A small catalogue: enough actions and plugins to make every mistake with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from hekla.conf import Catalogue, argument, arguments_by_prefix


@dataclass(frozen=True)
class BinpackArguments:
    weight: int = argument(1, key="binpack.weight", help="how much the score counts")
    cpu: int = argument(1, key="binpack.cpu", help="weight of cpu", minimum=0)
    resources: tuple[str, ...] = argument((), key="binpack.resources", help="further resources")
    per_resource: Mapping[str, int] = arguments_by_prefix(
        "binpack.resources.", {}, "weight of a listed resource", minimum=0
    )


@dataclass(frozen=True)
class UsageArguments:
    thresholds: Mapping[str, int] = argument({"cpu": 80, "mem": 80}, key="thresholds", help="percent")
    ratio: float = argument(0.7, key="ratio", help="a share", minimum=0, maximum=1)
    note: str | None = argument(None, key="note", help="free text")


@dataclass(frozen=True)
class AllocateArguments:
    error_cache: bool = argument(
        True,
        key="predicateErrorCacheEnable",
        help="remember why a node was refused",
        aliases=("enablePredicateErrorCache",),
    )


@dataclass(frozen=True)
class ReclaimArguments:
    victim_mode: str = argument("tiers", key="victimMode", help="how plugins agree")


@dataclass(frozen=True)
class ReschedulingArguments:
    strategies: tuple[Mapping[str, object], ...] = argument((), key="strategies", help="what to do")


ACTIONS = ("enqueue", "backfill", "preempt", "shuffle", "gangpreempt", "gangreclaim")
PLUGINS = (
    *("priority", "gang", "conformance", "overcommit", "drf", "predicates", "proportion", "nodeorder"),
    *("capacity", "tdm", "sla", "pdb"),
)


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return Catalogue(
        actions={**dict.fromkeys(ACTIONS), "allocate": AllocateArguments, "reclaim": ReclaimArguments},
        plugins={
            **dict.fromkeys(PLUGINS),
            "binpack": BinpackArguments,
            "rescheduling": ReschedulingArguments,
            "usage": UsageArguments,
        },
    )
