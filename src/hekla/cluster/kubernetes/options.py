"""Options: how a scheduler behaves towards the API server."""

from __future__ import annotations

from dataclasses import dataclass, field

from hekla.cluster.kubernetes.api.reflector import WatchPatience
from hekla.engine.model.node import DEFAULT_NAME
from hekla.engine.model.queue import DEFAULT_QUEUE


@dataclass(frozen=True)
class KubernetesOptions:
    """Names and defaults are those of Volcano's scheduler where it has them."""

    scheduler_names: tuple[str, ...] = ("volcano",)
    default_queue: str = DEFAULT_QUEUE
    ignored_provisioners: tuple[str, ...] = ()
    """Provisioners whose volumes are not counted as attached."""
    shard_mode: str = "none"
    shard_name: str = DEFAULT_NAME
    in_flight: int = 48
    """How many writes are under way at once; more do not make an API server faster."""
    bind_patience: float = 60.0
    """How long a bind is tried while the server puts it off; seconds."""
    volume_patience: float = 600.0
    """How long a pod waits for its claims to be bound, as in Volcano."""
    first_back_off: float = 1.0
    """How long a job rests after a bind of it failed; twice as long each time."""
    longest_back_off: float = 60.0
    keeps_budgets: bool = False
    """Evict through the API that heeds PodDisruptionBudgets; Volcano deletes."""
    first_eviction_back_off: float = 5.0
    """How long a pod is no victim after its eviction was refused; twice as long each time."""
    longest_eviction_back_off: float = 300.0
    releases_gangs: bool = True
    """Whether the bound pods of a gang are released that stays incomplete because binds are refused."""
    gang_patience: float = 300.0
    """How long such a gang has to become whole."""
    audit_period: float = 300.0
    """How often the state is compared with a fresh list; 0: never."""
    patience: WatchPatience = field(default_factory=WatchPatience)

    @property
    def component(self) -> str:
        """How events call this scheduler."""
        return self.scheduler_names[0] if len(self.scheduler_names) == 1 else "volcano"
