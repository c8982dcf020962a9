"""Scramble: the same cluster under other names, for whoever may see its shape and not its names.

A tree of rules per kind says what each field holds: a name of something, labels, an amount. Texts that no
rule speaks of are left out; numbers and times stay. Whoever decides on the scrambled cluster decides the
same, up to names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from hekla.cluster.pseudonyms import Pseudonyms
from hekla.model.task import pod_index
from hekla.objects import Manifest, Node, Pod

Data = Any
Rule = Callable[[Data, "Scrambler"], Data]
Rules = Mapping[str, Any]
"""By field a rule, or the rules of what is inside; lists are looked into."""

WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/-]*")
PLAIN = re.compile(r"[0-9]+|true|false|\*", re.IGNORECASE)
"""Values that are no names."""

WELL_KNOWN = ("kubernetes.io", "k8s.io", "volcano.sh", "nvidia.com", "hekla.dev")
KEPT = {
    "namespace": {"default", "kube-system"},
    "queue": {"default", "root"},
    "class": {"system-cluster-critical", "system-node-critical"},
    "gate": {"scheduling.volcano.sh/queue-allocation-gate"},
    "driver": {"kubernetes.io/no-provisioner"},
    "address": {"0.0.0.0", "127.0.0.1", "::"},  # noqa: S104 - nobody binds to it here
}
NAMED_BY_LABEL = {
    "kubernetes.io/hostname": "node",
    "metadata.name": "node",
    "kubernetes.io/metadata.name": "namespace",
    "scheduling.k8s.io/group-name": "group",
    "scheduling.volcano.sh/group-name": "group",
    "scheduling.volcano.sh/queue-name": "queue",
    "volcano.sh/job-name": "owner",
    "volcano.sh/job-namespace": "namespace",
    "volcano.sh/queue-name": "queue",
    "volcano.sh/task-spec": "role",
    "volcano.sh/nodegroup-name": "value",
    "volcano.sh/revocable-zone": "value",
    "volume.beta.kubernetes.io/storage-class": "storage",
    "volume.kubernetes.io/selected-node": "node",
}
"""Labels and annotations of well-known keys whose values are names, and of what."""

AS_THEY_ARE = frozenset(
    {
        "hekla.dev/cpu-usage",
        "hekla.dev/exit-code",
        "hekla.dev/memory-usage",
        "hekla.dev/run-seconds",
        "hekla.dev/usage-at",
        "nvidia.com/nouse-gputype",
        "nvidia.com/use-gputype",
        "pv.kubernetes.io/bind-completed",
        "scheduling.volcano.sh/queue-allocation-gate",
        "sla-waiting-time",
        "volcano.sh/cooldown-time",
        "volcano.sh/gpu-index",
        "volcano.sh/gpu-unhealthy-ids",
        "volcano.sh/hierarchy-weights",
        "volcano.sh/jdb-max-unavailable",
        "volcano.sh/jdb-min-available",
        "volcano.sh/node-vgpu-register",
        "volcano.sh/numa-topology-policy",
        "volcano.sh/oversubscription-cpu",
        "volcano.sh/oversubscription-memory",
        "volcano.sh/preemptable",
        "volcano.sh/resource-strategy-scoring-type",
        "volcano.sh/resource-strategy-weight",
        "volcano.sh/task-priority",
        "volcano.sh/vgpu-ids-new",
        "volcano.sh/vgpu-mode",
        "volcano.sh/vgpu-nouse-gpuuuid",
        "volcano.sh/vgpu-podgroup-policy",
        "volcano.sh/vgpu-use-gpuuuid",
    }
)
"""Labels and annotations whose values are numbers, settings or devices."""

ROLE_LISTS = frozenset(
    {
        "volcano.sh/task-topology-affinity",
        "volcano.sh/task-topology-anti-affinity",
        "volcano.sh/task-topology-task-order",
    }
)
HIERARCHY = "volcano.sh/hierarchy"
GROUP_LIMITS = "volcano.sh/nodegroup-resource-limits"


class Scrambler:
    """Other names for the objects given; words of the configuration stay, for it speaks of them."""

    def __init__(self, manifests: Iterable[Manifest], seed: int, *, conf: str = "") -> None:
        manifests = list(manifests)
        self._words = frozenset(WORD.findall(conf)) | frozenset(
            part for word in WORD.findall(conf) for part in word.split("/")
        )
        self._node_names = [found.metadata.name for found in manifests if isinstance(found, Node)]
        self._ephemeral = dict(_ephemeral_claims(manifests))
        words = dict.fromkeys(("namespace", "node", "queue", "role", "value", "key"), self._words)
        kept = {what: {*words.get(what, ()), *KEPT.get(what, ())} for what in {*words, *KEPT}}
        self._names = Pseudonyms(seed, kept)
        self._is_settled = False

    def scrambled(self, objects: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The objects under their pseudonyms, in the order given."""
        objects = list(objects)
        for data in objects:
            self._object(data)
        # A namespace is always followed by a slash where it is sorted by.
        self._names.settle({"namespace": lambda name: f"{name}/"})
        return [self._object(data) for data in objects]

    def of(self, what: str, name: str) -> str:
        """What the thing of that name is called now."""
        if what == "pod":
            index = pod_index(name)
            return self._names.of(what, name, "" if index is None else f"-{index}")
        if what == "claim" and name in self._ephemeral:
            pod, volume = self._ephemeral[name]
            return f"{self.of('pod', pod)}-{self.of('volume', volume)}"
        return self._names.of(what, name)

    def key(self, key: str) -> str:
        """The name of a label or a taint; well-known ones stay."""
        domain = key.partition("/")[0]
        if any(domain == known or domain.endswith(f".{known}") for known in WELL_KNOWN):
            return key
        return self.of("key", key)

    def value(self, key: str, value: str) -> str:
        """What the label of that key is worth now."""
        if key in AS_THEY_ARE or PLAIN.fullmatch(value):
            return value
        return self.of(NAMED_BY_LABEL.get(key, "value"), value)

    def annotations(self, given: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, text in given.items():
            if key in AS_THEY_ARE:
                found[key] = text
            elif key in NAMED_BY_LABEL:
                found[key] = self.value(key, text)
            elif key in ROLE_LISTS:
                found[key] = re.sub(r"[^,;\s]+", lambda role: self.of("role", role.group()), text)
            elif key == HIERARCHY:
                found[key] = "/".join(self.of("queue", part) for part in text.split("/"))
            elif key == GROUP_LIMITS:
                found[key] = self._limits(text)
        return found

    def _limits(self, text: str) -> str:
        try:
            limits = json.loads(text)
        except ValueError:
            return "{"
        if not isinstance(limits, dict):
            return "0"
        return json.dumps({self.of("value", group): amounts for group, amounts in limits.items()})

    def nodes_matching(self, pattern: str) -> list[str]:
        """The nodes that a regular expression in a HyperNode means."""
        import re2  # noqa: PLC0415 - only clusters with such members need it

        options = re2.Options()
        options.log_errors = False
        try:
            compiled = re2.compile(pattern, options)
        except re2.error:
            return []
        return [name for name in self._node_names if compiled.search(name) is not None]

    def _object(self, data: dict[str, Any]) -> dict[str, Any]:
        rules = RULES[data["kind"]]
        return {"apiVersion": data["apiVersion"], "kind": data["kind"], **self.apply(rules, data)}

    def apply(self, rules: Rules, data: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that rules speak of, and all numbers."""
        found: dict[str, Any] = {}
        for field, value in data.items():
            rule = rules.get(field)
            if rule is None:
                if isinstance(value, bool | int | float):
                    found[field] = value
            elif callable(rule):
                found[field] = rule(value, self)
            elif isinstance(value, list):
                found[field] = [self.apply(rule, item) for item in value]
            else:
                found[field] = self.apply(rule, value)
        return found


def as_it_is(value: Data, _: Scrambler) -> Data:
    return value


def name_of(what: str) -> Rule:
    """A name, or a list of names."""

    def rename(value: Data, names: Scrambler) -> Data:
        return [names.of(what, name) for name in value] if isinstance(value, list) else names.of(what, value)

    return rename


def names_in_keys(what: str) -> Rule:
    return lambda value, names: {names.of(what, name): amount for name, amount in value.items()}


def labels(value: Data, names: Scrambler) -> Data:
    return {names.key(key): names.value(key, text) for key, text in value.items()}


def label_key(value: Data, names: Scrambler) -> Data:
    return [names.key(key) for key in value] if isinstance(value, list) else names.key(value)


def requirement(value: Data, names: Scrambler) -> Data:
    """A key with an operator and values; or several of them."""
    if isinstance(value, list):
        return [requirement(item, names) for item in value]
    key = value.get("key", "")
    found = {**value, "key": names.key(key)}
    if "values" in value:
        found["values"] = [names.value(key, text) for text in value["values"]]
    if "value" in value:
        found["value"] = names.value(key, value["value"])
    return found


def notes(value: Data, names: Scrambler) -> Data:
    return names.annotations(value)


def images(value: Data, names: Scrambler) -> Data:
    """An image, or all names of one; the tag that is meant where none is written is written."""
    if isinstance(value, list):
        return [f"{names.of('image', _tagged(name))}:v" for name in value]
    return f"{names.of('image', _tagged(value))}:v" if value else value


def _tagged(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def quota(value: Data, _: Scrambler) -> Data:
    """Amounts by resource; quotas of a storage class bear its name, and no plugin reads them."""
    return {name: amount for name, amount in value.items() if ".storageclass." not in name}


def members(value: Data, names: Scrambler) -> Data:
    """Members of a HyperNode; regular expressions become the nodes that they mean."""
    found = []
    for member in value:
        selector = member.get("selector", {})
        what = "node" if member["type"] == "Node" else "hypernode"
        if "exactMatch" in selector:
            exact = [names.of(what, selector["exactMatch"]["name"])]
        elif "regexMatch" in selector:
            matching = names.nodes_matching(selector["regexMatch"]["pattern"]) if what == "node" else []
            exact = [names.of(what, name) for name in matching]
        else:
            match = names.apply(SELECTOR, selector.get("labelMatch", {}))
            found.append({"type": member["type"], "selector": {"labelMatch": match}})
            continue
        found += [{"type": member["type"], "selector": {"exactMatch": {"name": name}}} for name in exact]
    return found


SELECTOR: Rules = {"matchLabels": labels, "matchExpressions": requirement}
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
    "state": {"terminated": {}},
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


def _ephemeral_claims(manifests: Iterable[Manifest]) -> Iterable[tuple[str, tuple[str, str]]]:
    """Claims that are named after a pod and one of its volumes."""
    for pod in manifests:
        if isinstance(pod, Pod):
            for volume in pod.spec.volumes:
                if volume.ephemeral is not None:
                    name = pod.metadata.name
                    yield f"{name}-{volume.name}", (name, volume.name)


def scramble(
    manifests: Collection[Manifest], objects: Iterable[dict[str, Any]], seed: int, *, conf: str = ""
) -> tuple[list[dict[str, Any]], Scrambler]:
    """The objects, which are these manifests as plain data, under other names; and who knows the names."""
    scrambler = Scrambler(manifests, seed, conf=conf)
    return scrambler.scrambled(with_uids(objects)), scrambler
