"""Which address each kind of object has; a kind that tests need and is not here is one more line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    name: str
    api_version: str
    plural: str
    is_namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The address of one object, or of all of a namespace, or of all there are."""
        root = "/apis" if "/" in self.api_version else "/api"
        inside = ("namespaces", namespace) if self.is_namespaced and namespace else ()
        return "/".join(filter(None, (root, self.api_version, *inside, self.plural, name, subresource)))

    @property
    def key(self) -> str:
        """What the keys of these objects in etcd begin with."""
        if self.name == "Node":
            return "minions/"
        group = self.api_version.rpartition("/")[0]
        return f"{group}/{self.plural}/" if group.endswith(".volcano.sh") else f"{self.plural}/"


_TABLE = (
    Kind("Pod", "v1", "pods"),
    Kind("Node", "v1", "nodes", is_namespaced=False),
    Kind("Namespace", "v1", "namespaces", is_namespaced=False),
    Kind("Event", "v1", "events"),
    Kind("ConfigMap", "v1", "configmaps"),
    Kind("Secret", "v1", "secrets"),
    Kind("Service", "v1", "services"),
    Kind("ServiceAccount", "v1", "serviceaccounts"),
    Kind("ResourceQuota", "v1", "resourcequotas"),
    Kind("PersistentVolumeClaim", "v1", "persistentvolumeclaims"),
    Kind("PersistentVolume", "v1", "persistentvolumes", is_namespaced=False),
    Kind("StorageClass", "storage.k8s.io/v1", "storageclasses", is_namespaced=False),
    Kind("CSINode", "storage.k8s.io/v1", "csinodes", is_namespaced=False),
    Kind("Lease", "coordination.k8s.io/v1", "leases"),
    Kind("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", is_namespaced=False),
    Kind("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets"),
    Kind("ClusterRole", "rbac.authorization.k8s.io/v1", "clusterroles", is_namespaced=False),
    Kind("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", "clusterrolebindings", is_namespaced=False),
    Kind("Role", "rbac.authorization.k8s.io/v1", "roles"),
    Kind("RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings"),
    Kind(
        "CustomResourceDefinition",
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        is_namespaced=False,
    ),
    Kind(
        "ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        is_namespaced=False,
    ),
    Kind(
        "ValidatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        is_namespaced=False,
    ),
    Kind("PodGroup", "scheduling.volcano.sh/v1beta1", "podgroups"),
    Kind("Queue", "scheduling.volcano.sh/v1beta1", "queues", is_namespaced=False),
    Kind("Job", "batch.volcano.sh/v1alpha1", "jobs"),
    Kind("CronJob", "batch.volcano.sh/v1alpha1", "cronjobs"),
    Kind("Command", "bus.volcano.sh/v1alpha1", "commands"),
    Kind("HyperNode", "topology.volcano.sh/v1alpha1", "hypernodes", is_namespaced=False),
    Kind("Numatopology", "nodeinfo.volcano.sh/v1alpha1", "numatopologies", is_namespaced=False),
    Kind("JobFlow", "flow.volcano.sh/v1alpha1", "jobflows"),
    Kind("JobTemplate", "flow.volcano.sh/v1alpha1", "jobtemplates"),
    Kind("NodeShard", "shard.volcano.sh/v1alpha1", "nodeshards", is_namespaced=False),
)
KINDS = {kind.name: kind for kind in _TABLE}


def kind_of(thing: Object) -> Kind:
    kind = KINDS[thing["kind"]]
    assert kind.api_version == thing["apiVersion"], f"{thing['apiVersion']} {kind.name} is not in the table"
    return kind


def path_of(thing: Object, subresource: str = "") -> str:
    """The address of an object that is there."""
    return kind_of(thing).path(namespace_of(thing), thing["metadata"]["name"], subresource)


def namespace_of(thing: Object) -> str:
    return str(thing["metadata"].get("namespace", "default"))


def title_of(thing: Object) -> str:
    """`namespace/name`, or the bare name of what has no namespace."""
    namespace = thing["metadata"].get("namespace")
    name = str(thing["metadata"]["name"])
    return f"{namespace}/{name}" if namespace else name
