"""Cluster: what a test works with; and how a used control plane becomes as good as new."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.api import Api, wait_until
from harness.client import ApiError
from harness.control_plane import ControlPlane
from harness.kinds import Object
from harness.kubelet import Kubelet
from harness.referee import Referee

# Owners first: whoever made a pod might make another one while it is being removed.
LEFTOVERS = (
    "CronJob",
    "JobFlow",
    "JobTemplate",
    "Command",
    "Job",
    "Pod",
    "PodGroup",
    "Queue",
    "Node",
    "HyperNode",
    "Numatopology",
    "NodeShard",
    "PodDisruptionBudget",
    "ResourceQuota",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "Lease",
    "Event",
)
CUSTOM = ("Command", "HyperNode", "Job", "NodeShard", "Numatopology", "PodGroup", "Queue")
OWN_NAMESPACES = {"default", "kube-system", "kube-public", "kube-node-lease", "hekla-system"}


@dataclass(frozen=True)
class Cluster:
    plane: ControlPlane
    kubelet: Kubelet
    referee: Referee

    @property
    def api(self) -> Api:
        return self.plane.admin

    def pods(self, namespace: str = "") -> dict[str, Object]:
        """All pods by name."""
        return {pod["metadata"]["name"]: pod for pod in self.api.list("Pod", namespace)}

    def phases(self) -> dict[str, str]:
        return {name: pod["status"]["phase"] for name, pod in self.pods().items()}

    def wait_for_phases(self, timeout: float = 30.0, **phase_of_pod: str) -> None:
        """Until these pods are in these phases; `-` in a name is written `_`."""
        wanted = {name.replace("_", "-"): phase for name, phase in phase_of_pod.items()}
        wait_until(lambda: wanted.items() <= self.phases().items(), timeout, what=f"pods in {wanted}")


def clean(api: Api) -> None:
    """Remove what earlier tests left, and keep what the API server makes for itself."""
    for kind in LEFTOVERS:
        api.delete_all(kind)
    classes = api.list("PriorityClass")
    api.delete(*(each for each in classes if not each["metadata"]["name"].startswith("system-")))
    for space in api.list("Namespace"):
        if space["metadata"]["name"] not in OWN_NAMESPACES:
            remove_namespace(api, space)


def remove_namespace(api: Api, space: Object) -> None:
    """Without controllers nobody empties a namespace that is deleted, hence it is declared empty."""
    if "deletionTimestamp" not in space["metadata"]:
        api.delete(space)
    name = space["metadata"]["name"]
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}}
    api.request("PUT", f"/api/v1/namespaces/{name}/finalize", body)


def apply_definitions(plane: ControlPlane, folder: Path) -> list[str]:
    """The custom resources of a folder, served when this returns; none where there is no such folder."""
    files = sorted(folder.glob("*.yaml"))
    if not files:
        return []
    plane.kubectl("apply", "--server-side", "-k", str(folder))
    plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    wait_until(lambda: all(_is_served(plane, kind) for kind in CUSTOM), 30, what="the custom resources")
    return [file.name for file in files]


def _is_served(plane: ControlPlane, kind: str) -> bool:
    """A new resource answers with 429 for a moment after it was established."""
    try:
        plane.admin.list(kind)
    except ApiError as refusal:
        if refusal.status in (404, 429):
            return False
        raise
    return True
