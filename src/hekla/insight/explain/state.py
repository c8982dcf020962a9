"""ClusterState: all that is known of a cluster, and how decisions are made on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.engine.model.node import Shard
from hekla.insight.plan import Planner
from hekla.objects import Manifest, VolcanoJob
from hekla.scheduler.builtin import BUILTIN


@dataclass(frozen=True)
class ClusterState:
    """What answers about one job are worked out from."""

    objects: Sequence[Manifest]
    """As a scheduler sees them, with the pods that Jobs begin with."""
    given: Sequence[Manifest]
    """As they were read."""
    conf: Conf
    registry: Registry = BUILTIN
    now: float | None = None
    """The moment of the state, in seconds since 1970; None where it does not say."""
    is_dated: bool = True
    """That moment is one of the calendar; otherwise it only keeps an order."""
    memory: Mapping[str, float] = field(default_factory=dict)
    """What plugins remember from the cycle before."""
    shard: Shard | None = None
    scheduler_names: tuple[str, ...] = ("volcano", "hekla")
    ignored_provisioners: tuple[str, ...] = ()
    """Provisioners whose volumes are not counted as attached."""
    written: Sequence[VolcanoJob] = ()
    """Jobs as their users wrote them, before defaults were filled in."""

    def planner(self) -> Planner:
        """What tries changes out on this state."""
        return Planner(
            self.objects,
            self.conf,
            registry=self.registry,
            now=self.now,
            memory=self.memory,
            shard=self.shard,
            scheduler_names=self.scheduler_names,
        )
