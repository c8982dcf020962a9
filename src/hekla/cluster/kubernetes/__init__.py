"""A real cluster behind a Kubernetes API server, as one more `Cluster`.

facts          what the API server says, object by object
assumptions    what was sent and not yet seen
cluster        facts and assumptions in, decisions out
executor       decisions become writes: binding, evictions, statuses
context        what carrying out a decision takes
intents        one write to its end, whatever the server answers
outbox         writes, the important ones first
recorder       events for people
audit          facts and sums compared with a fresh list, from time to time
"""

from __future__ import annotations

from hekla.cluster.kubernetes.cluster import KubernetesCluster
from hekla.cluster.kubernetes.options import KubernetesOptions

__all__ = ["KubernetesCluster", "KubernetesOptions"]
