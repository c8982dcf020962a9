"""Kinds: for every kind of object a tree of rules, which says what each of its fields holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from hekla.cluster.scramble.fields import (
    SELECTOR,
    Rules,
    as_it_is,
    images,
    label_key,
    labels,
    members,
    name_of,
    names_in_keys,
    notes,
    quota,
    requirement,
    scrambled,
)
from hekla.cluster.scramble.names import ScrambledNames
from hekla.objects import Manifest

NODE_TERM: Rules = {"matchExpressions": requirement, "matchFields": requirement}
NODE_SELECTOR: Rules = {"nodeSelectorTerms": NODE_TERM}
CONDITION: Rules = {"type": as_it_is, "status": as_it_is, "reason": as_it_is, "lastTransitionTime": as_it_is}
RESOURCES: Rules = {"requests": as_it_is, "limits": as_it_is}
TOPOLOGY: Rules = {"mode": as_it_is, "highestTierName": name_of("tier")}
CONTAINER: Rules = {
    "name": name_of("container"),
    "image": images,
    "resources": RESOURCES,
    "ports": {"hostIP": name_of("address"), "protocol": as_it_is},
    "restartPolicy": as_it_is,
}
POD_TERM: Rules = {
    "topologyKey": label_key,
    "labelSelector": SELECTOR,
    "namespaces": name_of("namespace"),
    "namespaceSelector": SELECTOR,
    "matchLabelKeys": label_key,
    "mismatchLabelKeys": label_key,
}
POD_AFFINITY: Rules = {
    "requiredDuringSchedulingIgnoredDuringExecution": POD_TERM,
    "preferredDuringSchedulingIgnoredDuringExecution": {"podAffinityTerm": POD_TERM},
}
NODE_AFFINITY: Rules = {
    "requiredDuringSchedulingIgnoredDuringExecution": NODE_SELECTOR,
    "preferredDuringSchedulingIgnoredDuringExecution": {"preference": NODE_TERM},
}
CONTAINER_STATUS: Rules = {
    "name": name_of("container"),
    "resources": RESOURCES,
    "allocatedResources": as_it_is,
    "state": {"terminated": {"startedAt": as_it_is, "finishedAt": as_it_is}},
}
GROUP_AFFINITY: Rules = {
    "requiredDuringSchedulingIgnoredDuringExecution": name_of("value"),
    "preferredDuringSchedulingIgnoredDuringExecution": name_of("value"),
}


def _meta(what: str) -> Rules:
    return {
        "name": name_of(what),
        "namespace": name_of("namespace"),
        "uid": name_of("uid"),
        "labels": labels,
        "annotations": notes,
        "creationTimestamp": as_it_is,
        "deletionTimestamp": as_it_is,
        "ownerReferences": {
            "apiVersion": as_it_is,
            "kind": as_it_is,
            "name": name_of("owner"),
            "uid": name_of("uid"),
        },
    }


RULES: Mapping[str, Rules] = {
    "Node": {
        "metadata": _meta("node"),
        "spec": {"taints": requirement},
        "status": {
            "allocatable": as_it_is,
            "capacity": as_it_is,
            "images": {"names": images},
            "conditions": CONDITION,
        },
    },
    "Pod": {
        "metadata": _meta("pod"),
        "spec": {
            "containers": CONTAINER,
            "initContainers": CONTAINER,
            "nodeName": name_of("node"),
            "nodeSelector": labels,
            "affinity": {
                "nodeAffinity": NODE_AFFINITY,
                "podAffinity": POD_AFFINITY,
                "podAntiAffinity": POD_AFFINITY,
            },
            "tolerations": requirement,
            "topologySpreadConstraints": {
                **POD_TERM,
                "whenUnsatisfiable": as_it_is,
                "nodeAffinityPolicy": as_it_is,
                "nodeTaintsPolicy": as_it_is,
            },
            "priorityClassName": name_of("class"),
            "preemptionPolicy": as_it_is,
            "schedulerName": as_it_is,
            "schedulingGates": {"name": name_of("gate")},
            "overhead": as_it_is,
            "resources": RESOURCES,
            "volumes": {
                "name": name_of("volume"),
                "persistentVolumeClaim": {"claimName": name_of("claim")},
                "ephemeral": {},
                "image": {"reference": images},
            },
            "resourceClaims": {"name": name_of("volume")},
            "restartPolicy": as_it_is,
        },
        "status": {
            "phase": as_it_is,
            "nominatedNodeName": name_of("node"),
            "conditions": CONDITION,
            "startTime": as_it_is,
            "resize": as_it_is,
            "containerStatuses": CONTAINER_STATUS,
            "initContainerStatuses": CONTAINER_STATUS,
        },
    },
    "PodGroup": {
        "metadata": _meta("group"),
        "spec": {
            "minTaskMember": names_in_keys("role"),
            "minResources": as_it_is,
            "queue": name_of("queue"),
            "priorityClassName": name_of("class"),
            "networkTopology": TOPOLOGY,
            "subGroupPolicy": {
                "name": name_of("part"),
                "labelSelector": SELECTOR,
                "matchLabelKeys": label_key,
                "networkTopology": TOPOLOGY,
            },
        },
        "status": {"phase": as_it_is, "conditions": {**CONDITION, "transitionID": as_it_is}},
    },
    "Queue": {
        "metadata": _meta("queue"),
        "spec": {
            "capability": as_it_is,
            "deserved": as_it_is,
            "guarantee": {"resource": as_it_is},
            "parent": name_of("queue"),
            "affinity": {"nodeGroupAffinity": GROUP_AFFINITY, "nodeGroupAntiAffinity": GROUP_AFFINITY},
            "type": as_it_is,
            "dequeueStrategy": as_it_is,
        },
        "status": {"state": as_it_is, "allocated": as_it_is},
    },
    "PriorityClass": {"metadata": _meta("class"), "preemptionPolicy": as_it_is},
    "HyperNode": {
        "metadata": _meta("hypernode"),
        "spec": {"tierName": name_of("tier"), "members": members},
    },
    "NodeShard": {
        "metadata": _meta("shard"),
        "spec": {"nodesDesired": name_of("node")},
        "status": {
            "nodesInUse": name_of("node"),
            "nodesToAdd": name_of("node"),
            "nodesToRemove": name_of("node"),
        },
    },
    "Numatopology": {
        "metadata": _meta("node"),
        "spec": {
            "policies": as_it_is,
            "resReserved": as_it_is,
            "numares": as_it_is,
            "cpuDetail": as_it_is,
            "podAllocations": {
                "uid": name_of("uid"),
                "name": name_of("pod"),
                "namespace": name_of("namespace"),
                "containerAllocations": {"name": name_of("container"), "allocations": as_it_is},
            },
        },
    },
    "Namespace": {"metadata": _meta("namespace")},
    "PersistentVolume": {
        "metadata": _meta("disk"),
        "spec": {
            "capacity": as_it_is,
            "accessModes": as_it_is,
            "storageClassName": name_of("storage"),
            "volumeMode": as_it_is,
            "nodeAffinity": {"required": NODE_SELECTOR},
            "claimRef": {"namespace": name_of("namespace"), "name": name_of("claim")},
            "csi": {"driver": name_of("driver"), "volumeHandle": name_of("handle")},
        },
        "status": {"phase": as_it_is},
    },
    "PersistentVolumeClaim": {
        "metadata": _meta("claim"),
        "spec": {
            "accessModes": as_it_is,
            "resources": RESOURCES,
            "storageClassName": name_of("storage"),
            "volumeName": name_of("disk"),
            "volumeMode": as_it_is,
            "selector": SELECTOR,
        },
        "status": {"phase": as_it_is},
    },
    "StorageClass": {
        "metadata": _meta("storage"),
        "provisioner": name_of("driver"),
        "volumeBindingMode": as_it_is,
        "allowedTopologies": {"matchLabelExpressions": requirement},
    },
    "CSINode": {
        "metadata": _meta("node"),
        "spec": {"drivers": {"name": name_of("driver"), "nodeId": name_of("handle"), "allocatable": {}}},
    },
    "ResourceQuota": {
        "metadata": _meta("quota"),
        "spec": {"hard": quota},
        "status": {"hard": quota, "used": quota},
    },
    "PodDisruptionBudget": {
        "metadata": _meta("budget"),
        "spec": {"selector": SELECTOR, "minAvailable": as_it_is, "maxUnavailable": as_it_is},
        "status": {"disruptedPods": names_in_keys("pod")},
    },
}


def scramble(
    manifests: Collection[Manifest], objects: Iterable[dict[str, Any]], seed: int, *, conf: str = ""
) -> tuple[list[dict[str, Any]], ScrambledNames]:
    """The objects, which are these manifests as plain data, under other names; and who knows the names."""
    objects = with_uids(objects)
    names = ScrambledNames(manifests, seed, conf=conf, compared=set(_compared_keys(objects)))
    for data in objects:
        _renamed(data, names)
    names.settle()
    return [_renamed(data, names) for data in objects], names


def _renamed(data: dict[str, Any], names: ScrambledNames) -> dict[str, Any]:
    rest = scrambled(RULES[data["kind"]], data, names)
    return {"apiVersion": data["apiVersion"], "kind": data["kind"], **rest}


def _compared_keys(data: object) -> Iterator[str]:
    """The labels and taints that something is said of in numbers: more than, less than."""
    if isinstance(data, list):
        for item in data:
            yield from _compared_keys(item)
    elif isinstance(data, dict):
        if data.get("operator") in ("Gt", "Lt"):
            yield data.get("key", "")
        for value in data.values():
            yield from _compared_keys(value)


def with_uids(manifests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods without a UID are told apart by their names, which change: they get one that says the same."""
    found = []
    for data in manifests:
        meta = data.get("metadata", {})
        if data["kind"] == "Pod" and not meta.get("uid"):
            uid = f"{meta.get('namespace', '')}-{meta.get('name', '')}"
            data = {**data, "metadata": {**meta, "uid": uid}}  # noqa: PLW2901 - the pod as it goes on
        found.append(data)
    return found
