"""A real API server for tests, and all that stands around it.

| | |
|---|---|
| `ControlPlane` | etcd and kube-apiserver on loopback, to be stopped, killed and started again |
| `Api` | a client for tests, which waits for its answers |
| `Kubelet` | runs, ends and removes bound pods, and rejects what does not fit |
| `Referee` | tells which invariants were violated, from API objects and the API server's log alone |
| `FaultProxy` | stands between a scheduler and the API server, and does harm as told |

Nothing here is shared with hekla's own reading of Kubernetes: who judges must not share the mistakes of
the judged.
"""

from harness.access import Access
from harness.api import Api, Watch, binding, wait_until
from harness.assets import AssetsMissing, find_assets
from harness.client import ApiError
from harness.cluster import Cluster, apply_definitions, clean
from harness.control_plane import ControlPlane, KubectlFailed
from harness.invariants import State, Violation, check
from harness.kinds import KINDS, Kind, Object
from harness.kubelet import Kubelet
from harness.process import StartFailed
from harness.proxy import FaultProxy
from harness.referee import Referee

__all__ = [
    "KINDS",
    "Access",
    "Api",
    "ApiError",
    "AssetsMissing",
    "Cluster",
    "ControlPlane",
    "FaultProxy",
    "Kind",
    "KubectlFailed",
    "Kubelet",
    "Object",
    "Referee",
    "StartFailed",
    "State",
    "Violation",
    "Watch",
    "apply_definitions",
    "binding",
    "check",
    "clean",
    "find_assets",
    "wait_until",
]
