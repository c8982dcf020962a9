"""Options: how the embedded cluster treats what nobody has said anything about."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.engine.model.node import DEFAULT_NAME


@dataclass(frozen=True)
class Options:
    """Defaults are those of Kubernetes where it has one."""

    run_seconds: float = 30.0
    """How long pods run that do not say so."""
    start_seconds: float = 0.0
    """How long a bound pod takes to start."""
    grace_seconds: float | None = None
    """How long every deleted pod takes to go; none: what the pod says, else 30 seconds."""
    recreate_evicted: bool = True
    """An evicted pod that no Job looks after comes back pending, as a workload would make it anew."""
    admission: bool = True
    """Objects that an API server would refuse are left out; otherwise all are taken as they stand."""
    scheduler_names: tuple[str, ...] = ("volcano", "hekla")
    """The schedulers whose pods are served; others' pods are load on the nodes they sit on."""
    ignored_provisioners: tuple[str, ...] = ()
    """Provisioners whose volumes are not counted as attached."""
    shard_mode: str = "none"
    """Whether this scheduler keeps to the nodes of its shard: `none`, `hard` or `soft`."""
    shard_name: str = DEFAULT_NAME
    """The NodeShard that is this scheduler's own."""
