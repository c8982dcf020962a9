"""A real cluster behind a Kubernetes API server, as one more `Cluster`.

facts          what the API server says, object by object
assumptions    what was sent and not yet seen
cluster        facts and assumptions in, decisions out
outbox         writes, the important ones first
intents        one write to its end, whatever the server answers: binder, evictor
carrier        decisions become writes
recorder       events for people
"""

from __future__ import annotations

from hekla.cluster.kubernetes.cluster import KubernetesCluster
from hekla.cluster.kubernetes.options import KubernetesOptions

__all__ = ["KubernetesCluster", "KubernetesOptions"]
