"""Cluster: what a test works with; and how a used control plane becomes as good as new."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.api import Api, wait_until
from harness.client import ApiError
from harness.control_plane import ControlPlane
from harness.kinds import KINDS, Object
from harness.kubelet import Kubelet
from harness.referee import Referee

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
    "Event",
)
# Of these the API server has some of its own, in namespaces of its own.
LEFTOVERS_IN_NAMESPACES = ("ConfigMap", "Secret", "ServiceAccount", "Lease")
CUSTOM = ("Command", "HyperNode", "Job", "NodeShard", "Numatopology", "PodGroup", "Queue")
KEPT_NAMESPACES = {"default", "hekla-system"}
"""Emptied, but not removed."""
OWN_NAMESPACES = {"kube-system", "kube-public", "kube-node-lease"}


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


def clean(plane: ControlPlane) -> None:
    """Remove what earlier tests left, and keep what the API server makes for itself.

    Roles stay, and the namespace in which the scheduler runs, for they are given once a session.
    """
    wait_until(lambda: all(_is_served(plane.admin, kind) for kind in CUSTOM), 30, what="the custom resources")
    plane.wipe(
        *(KINDS[kind].key for kind in LEFTOVERS),
        *(f"{KINDS[kind].key}{space}/" for kind in LEFTOVERS_IN_NAMESPACES for space in KEPT_NAMESPACES),
    )
    for space in plane.admin.list("Namespace"):
        name = space["metadata"]["name"]
        if name not in OWN_NAMESPACES | KEPT_NAMESPACES:
            plane.wipe_namespace(name)
    classes = plane.admin.list("PriorityClass")
    plane.admin.delete(*(each for each in classes if not each["metadata"]["name"].startswith("system-")))


def apply_definitions(plane: ControlPlane, folder: Path) -> list[str]:
    """The custom resources of a folder, served when this returns; none where there is no such folder."""
    files = sorted(set(folder.glob("*.yaml")) - {folder / "kustomization.yaml"})
    if not files:
        return []
    plane.kubectl("apply", "--server-side", "-k", str(folder))
    plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    wait_until(lambda: all(_is_served(plane.admin, kind) for kind in CUSTOM), 30, what="the custom resources")
    return [file.name for file in files]


def _is_served(api: Api, kind: str) -> bool:
    """A custom resource answers with 429 for a moment, when it is new or the server has just started."""
    try:
        api.list(kind)
    except ApiError as refusal:
        if refusal.status in (404, 429):
            return False
        raise
    return True
