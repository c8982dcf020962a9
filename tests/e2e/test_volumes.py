"""Claims that wait for their first pod: the scheduler says where, and binds once they are bound."""

from __future__ import annotations

from typing import Any

import pytest

from harness import Cluster, Object, wait_until
from harness.manifests import node, pod, pod_group
from harness.scheduler import running

pytestmark = pytest.mark.usefixtures("rights")


def storage_class(provisioner: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def csi_node(name: str, driver: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [{"name": driver, "nodeID": name, "topologyKeys": []}]},
    }


def claim(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def local_volume(name: str, host: str) -> Object:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "2Gi"},
            "storageClassName": "late",
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def bind_claim(cluster: Cluster, name: str, volume: str) -> None:
    """What the cluster's volume controller would do."""
    held = cluster.api.get("PersistentVolumeClaim", name)
    cluster.api.patch(held, {"spec": {"volumeName": volume}})
    cluster.api.patch(held, {"status": {"phase": "Bound"}}, "status")


def data(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


def test_a_volume_that_is_there_is_given_and_draws_the_pod_to_its_node(cluster: Cluster) -> None:
    cluster.api.create(node("n1"), node("n2"), storage_class("kubernetes.io/no-provisioner"))
    (volume,) = cluster.api.create(local_volume("on-n2", "n2"))
    cluster.api.patch(volume, {"status": {"phase": "Available"}}, "status")
    cluster.api.create(claim("data"), pod_group("g", 1), pod_group("other", 1))
    with running(cluster.plane, "--ignored-provisioners=kubernetes.io/no-provisioner"):
        cluster.api.create(pod("g-0", group="g", **data("data")), pod("other-0", group="other"))
        cluster.wait_for_phases(other_0="Running")
        wait_until(lambda: _claimed(cluster, "on-n2") == "data", what="the volume's claim")
        assert not cluster.pods()["g-0"]["spec"].get("nodeName"), "bound before its claim was"
        bind_claim(cluster, "data", "on-n2")
        cluster.wait_for_phases(g_0="Running")
        assert cluster.pods()["g-0"]["spec"]["nodeName"] == "n2"


def _claimed(cluster: Cluster, volume: str) -> str:
    reference = cluster.api.get("PersistentVolume", volume)["spec"].get("claimRef", {})
    return str(reference.get("name", ""))


def test_a_volume_that_has_to_be_made_is_made_for_the_node(cluster: Cluster) -> None:
    cluster.api.create(node("n1"), storage_class("maker.example.com"), claim("data"))
    cluster.api.create(pod_group("g", 1), pod_group("other", 1))
    with running(cluster.plane):
        cluster.api.create(pod("g-0", group="g", **data("data")), pod("other-0", group="other"))
        cluster.wait_for_phases(other_0="Running")
        assert not _selected(cluster), "no node has the driver"
        cluster.api.create(csi_node("n1", "maker.example.com"))
        wait_until(lambda: _selected(cluster) == "n1", what="the node on the claim")
        cluster.api.create(local_volume("made", "n1"))
        bind_claim(cluster, "data", "made")
        cluster.wait_for_phases(g_0="Running")


def _selected(cluster: Cluster) -> str:
    notes = cluster.api.get("PersistentVolumeClaim", "data")["metadata"].get("annotations", {})
    return str(notes.get("volume.kubernetes.io/selected-node", ""))
