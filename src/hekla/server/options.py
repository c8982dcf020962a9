"""Options of the process; the names are those of Volcano's scheduler where it has them."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from hekla.cluster.kubernetes import KubernetesOptions
from hekla.kube.lease import LeaseOptions


def own_identity() -> str:
    """A name that no other replica has, and that people can find."""
    return f"{os.environ.get('HOSTNAME') or socket.gethostname()}_{uuid.uuid4()}"


@dataclass(frozen=True)
class ServeOptions:
    """How the process runs; times are seconds."""

    cluster: KubernetesOptions = field(default_factory=KubernetesOptions)
    lease: LeaseOptions | None = None
    """None: there is only one replica, and it leads."""
    identity: str = field(default_factory=own_identity)
    conf_file: Path | None = None
    period: float = 1.0
    shortest_gap: float = 0.05
    """How soon after a cycle the next one may begin when something has changed."""
    metrics_address: str = ""
    health_address: str = ""
    qps: float = 2000.0
    burst: int = 2000
    timeout: float = 30.0
    drain_seconds: float = 10.0
    """How long a stopping process waits for writes that are under way."""
    with_controllers: bool = False
    plugins: tuple[str, ...] = ()
    """Plugins and actions that the command line names, as it names them."""
    record: Path | None = None
    """Where to keep every cycle; a recording that is there already is put aside."""
    record_limit: int | None = None
    """How many bytes recordings may take, about."""
    staleness_limit: float = 60.0
    """Silence of the API server after which nothing is decided: the facts may have changed."""
    stall_limit: float = 300.0
    """Time without the end of a cycle after which health says no."""
