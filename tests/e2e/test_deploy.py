"""Installing hekla on a real API server: what is applied, what it says, and what it is then allowed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness import ControlPlane, KubectlFailed, Object, clean

ROOT = Path(__file__).parents[2]
OVERLAYS = ROOT / "deploy" / "overlays"
GROUPS = {
    "podgroups": "scheduling.volcano.sh",
    "queues": "scheduling.volcano.sh",
    "vcjobs": "batch.volcano.sh",
    "commands": "bus.volcano.sh",
    "hypernodes": "topology.volcano.sh",
    "nodeshards": "shard.volcano.sh",
    "numatopologies": "nodeinfo.volcano.sh",
    "leases": "coordination.k8s.io",
    "priorityclasses": "scheduling.k8s.io",
    "poddisruptionbudgets": "policy",
    "storageclasses": "storage.k8s.io",
    "csinodes": "storage.k8s.io",
    "replicasets": "apps",
    "selfsubjectaccessreviews": "authorization.k8s.io",
    "clusterroles": "rbac.authorization.k8s.io",
    "networkpolicies": "networking.k8s.io",
    "customresourcedefinitions": "apiextensions.k8s.io",
}


INSTALLED = "clusterroles,clusterrolebindings,configmaps,deployments,poddisruptionbudgets,roles,rolebindings"
INSTALLED += ",serviceaccounts,services"


@pytest.fixture
def bare(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A cluster without hekla; the definitions stay, for other tests need them."""
    remove(plane)
    yield plane
    remove(plane)


def remove(plane: ControlPlane) -> None:
    plane.kubectl("delete", INSTALLED, "--all-namespaces", "--selector=app.kubernetes.io/name=hekla")
    clean(plane)
    plane.wipe_namespace("hekla-system")


def hekla(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from hekla.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=60)


def installed(plane: ControlPlane, *options: str, user: str = "admin") -> subprocess.CompletedProcess[str]:
    return hekla("install", "--apply", "--kubeconfig", str(plane.kubeconfig(user)), *options)


@pytest.mark.parametrize("options", [(), ("--drop-in",), ("--scheduling-gates", "--namespace", "batch")])
def test_kubectl_takes_what_install_prints(bare: ControlPlane, options: tuple[str, ...]) -> None:
    printed = hekla("install", *options).stdout
    told = bare.kubectl("apply", "--server-side", "-f", "-", stdin=printed)
    assert len(told.splitlines()) == len(list(yaml.safe_load_all(printed)))


@pytest.mark.parametrize("overlay", ["standalone", "drop-in"])
def test_kubectl_takes_the_overlays(bare: ControlPlane, overlay: str) -> None:
    told = bare.kubectl("apply", "-k", str(OVERLAYS / overlay))
    assert "deployment.apps/hekla-scheduler created" in told
    again = bare.kubectl("apply", "-k", str(OVERLAYS / overlay)).splitlines()
    assert [line for line in again if line.endswith(" created")] == []


def test_a_second_install_changes_nothing_and_a_new_image_only_the_deployment(bare: ControlPlane) -> None:
    first = installed(bare)
    assert first.returncode == 0, first.stderr
    lines = [line for line in first.stdout.splitlines() if not line.startswith("CustomResourceDefinition/")]
    assert {line.split()[1] for line in lines} == {"created"}
    second = installed(bare).stdout.splitlines()
    assert len(second) == len(first.stdout.splitlines())
    assert {line.split()[1] for line in second} == {"unchanged"}
    third = installed(bare, "--image", "hekla:next").stdout.splitlines()
    assert [line for line in third if not line.endswith(" unchanged")] == [
        "Deployment/hekla-scheduler changed"
    ]


def test_an_installation_takes_back_what_somebody_has_changed(bare: ControlPlane) -> None:
    installed(bare)
    bare.kubectl("patch", "clusterrole", "hekla-evictions", "-p", '{"rules": []}', "--type=merge")
    assert "ClusterRole/hekla-evictions changed" in installed(bare).stdout.splitlines()


def test_who_may_not_install_is_told_which_permission_is_missing(bare: ControlPlane) -> None:
    told = installed(bare, "--drop-in", user="nobody")
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == (
        "error: ClusterRole/hekla-evictions is not applied: permission is missing: "
        'User "nobody" cannot get resource "clusterroles" in API group "rbac.authorization.k8s.io" '
        "at the cluster scope\n"
    )


def test_who_may_not_grant_what_is_granted_is_told_so(bare: ControlPlane) -> None:
    rules = [{"apiGroups": ["*"], "resources": ["clusterroles"], "verbs": ["get", "patch", "create"]}]
    label = {"app.kubernetes.io/name": "hekla"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "half-admin"}
    bare.admin.create(rbac("ClusterRole", {"name": "half-admin", "labels": label}, rules=rules))
    subject = {"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}
    bare.admin.create(
        rbac("ClusterRoleBinding", {"name": "half-admin", "labels": label}, roleRef=role, subjects=[subject])
    )
    told = installed(bare, "--drop-in", user="nobody")
    assert told.returncode == 1
    assert "attempting to grant RBAC permissions not currently held" in told.stderr
    assert len(told.stderr.splitlines()) == 1


def rbac(kind: str, metadata: Object, **parts: object) -> Object:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, **parts}


READ = """
    nodes namespaces pods persistentvolumes persistentvolumeclaims resourcequotas poddisruptionbudgets
    priorityclasses storageclasses csinodes podgroups queues hypernodes nodeshards numatopologies
"""
SCHEDULER_MAY = [
    *(f"{verb} {resource}" for resource in READ.split() for verb in ("list", "watch")),
    "create pods/binding",
    "patch pods/status",
    "patch podgroups",
    "create queues",
    "patch queues/status",
    "patch nodeshards/status",
    "create events",
    "patch events",
    "create selfsubjectaccessreviews",
]
SCHEDULER_MAY_NOT = [
    *(f"{verb} pods" for verb in ("create", "update", "patch", "delete", "deletecollection")),
    *(f"{verb} nodes" for verb in ("create", "update", "patch", "delete")),
    *(f"{verb} queues" for verb in ("update", "patch", "delete")),
    *(f"{verb} podgroups" for verb in ("create", "delete")),
    *(f"{verb} {resource}" for verb in ("get", "list", "create") for resource in ("secrets", "configmaps")),
    "create pods/exec",
    "create pods/eviction",
    "update pods/status",
    "get leases",
    "update leases",
    "list vcjobs",
    "patch clusterroles",
    "create customresourcedefinitions",
    "impersonate users",
]
CONTROLLERS_MAY = [
    "create pods",
    "delete pods",
    "patch pods",
    "create podgroups",
    "delete podgroups",
    "list vcjobs",
    "watch vcjobs",
    "patch vcjobs/status",
    "delete vcjobs",
    "patch queues",
    "list commands",
    "delete commands",
    "get replicasets",
    "create persistentvolumeclaims",
    "create configmaps",
    "create services",
    "create networkpolicies",
]
CONTROLLERS_MAY_NOT = [
    "create vcjobs",
    "create commands",
    "delete queues",
    "get secrets",
    "create secrets",
    "list configmaps",
    "patch services",
    "patch networkpolicies",
    "patch nodes",
    "list replicasets",
    "patch replicasets",
    "patch vcjobs",
    "delete persistentvolumeclaims",
    "patch clusterroles",
]
OWN_MAY = ["create leases", "get leases volcano", "update leases volcano", *SCHEDULER_MAY]
OWN_MAY_NOT = ["get leases other", "update leases other", "patch leases volcano", "delete leases volcano"]
OWN_MAY_NOT += ["get secrets", "get configmaps hekla-scheduler-configmap", "update configmaps other"]


def may(plane: ControlPlane, deed: str, *, at: str = "", account: str = "hekla-system") -> bool:
    """Whether the account of an installation may do something: verb, resource, and perhaps a name."""
    verb, resource, *names = deed.split()
    plural, _, part = resource.partition("/")
    attributes = {
        "verb": verb,
        "group": GROUPS.get(plural, ""),
        "resource": plural.removeprefix("vc"),
        "subresource": part,
        "namespace": at,
        "name": "".join(names),
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{account}:hekla-scheduler",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": attributes,
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(plane.admin.request("POST", path, body)["status"]["allowed"])


def test_the_scheduler_may_do_its_work_and_nothing_else(bare: ControlPlane) -> None:
    installed(bare, "--drop-in", "--no-eviction")
    assert [deed for deed in SCHEDULER_MAY if not may(bare, deed)] == []
    assert [deed for deed in SCHEDULER_MAY_NOT if may(bare, deed)] == []


def test_in_its_own_namespace_it_has_its_lease(bare: ControlPlane) -> None:
    installed(bare, "--drop-in")
    assert [deed for deed in OWN_MAY if not may(bare, deed, at="hekla-system")] == []
    assert [deed for deed in OWN_MAY_NOT if may(bare, deed, at="hekla-system")] == []
    assert not may(bare, "create leases", at="default")


def test_each_further_permission_comes_with_its_option(bare: ControlPlane) -> None:
    installed(bare, "--drop-in")
    assert (may(bare, "delete pods"), may(bare, "patch pods")) == (True, False)
    installed(bare, "--drop-in", "--scheduling-gates", "--namespace", "gated", "--no-eviction")
    assert may(bare, "patch pods", account="gated")
    assert not may(bare, "delete pods", account="gated")
    assert not may(bare, "patch pods"), "the first installation has gained nothing by the second"


def test_the_controllers_may_make_pods_and_touch_nothing_else(bare: ControlPlane) -> None:
    installed(bare)
    assert [deed for deed in [*SCHEDULER_MAY, *CONTROLLERS_MAY] if not may(bare, deed)] == []
    assert [deed for deed in CONTROLLERS_MAY_NOT if may(bare, deed)] == []


def test_the_scheduler_acts_under_its_role(bare: ControlPlane) -> None:
    """Not by asking, but by doing: a plain user bound to the role binds a pod and cannot delete it."""
    installed(bare, "--drop-in", "--no-eviction")
    bare.kubectl(
        "create", "clusterrolebinding", "hekla-trial", "--clusterrole=hekla-scheduler", "--user=hekla"
    )
    bare.kubectl("label", "clusterrolebinding", "hekla-trial", "app.kubernetes.io/name=hekla")
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p1", "namespace": "default"},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "main", "image": "busybox"}]},
    }
    bare.admin.create(node)
    bare.admin.create(pod)
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p1"}, "target": target}
    path = "/api/v1/namespaces/default/pods/p1/binding"
    bare.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(binding), user="hekla")
    assert bare.admin.get("Pod", "p1")["spec"]["nodeName"] == "n1"
    with pytest.raises(KubectlFailed, match="forbidden"):
        bare.kubectl("delete", "pod", "p1", user="hekla")
