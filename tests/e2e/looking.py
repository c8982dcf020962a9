"""The hekla command as somebody runs it who may read the cluster and do nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

from harness import ControlPlane
from hekla.server.deploy.manifests import read_part

READER = "hekla-reader"
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "hekla-readers"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "hekla-reader"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": READER}],
}


def let_read(plane: ControlPlane) -> None:
    """Bind the role that hekla is deployed with for people who look."""
    role = next(one for one in read_part("base") if one["metadata"]["name"] == "hekla-reader")
    for thing in (role, BINDING):
        plane.kubectl("apply", "-f", "-", stdin=json.dumps(thing))


def command(plane: ControlPlane, *arguments: str, user: str = READER) -> list[str]:
    return [sys.executable, "-m", "hekla", *arguments, "--kubeconfig", str(plane.kubeconfig(user))]


def hekla(plane: ControlPlane, *arguments: str, user: str = READER) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(plane, *arguments, user=user), capture_output=True, text=True, check=False, timeout=60
    )
