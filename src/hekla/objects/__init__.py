"""Manifests as typed, read-only values: what users write and clusters report.

Only the fields that scheduling reads are typed; everything else in a manifest is skipped.
"""

from __future__ import annotations

from hekla.objects.batch import VolcanoCommand, VolcanoJob
from hekla.objects.meta import Condition, LabelSelector, Manifest, ObjectMeta, OwnerReference, seconds
from hekla.objects.node import HyperNode, Node, NodeShard, Numatopology, Taint
from hekla.objects.pod import Pod, Toleration
from hekla.objects.scheduling import PodGroup, PriorityClass, Queue
from hekla.objects.storage import (
    CSINode,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    ResourceQuota,
    StorageClass,
)

KINDS: dict[tuple[str, str], type[Manifest]] = {
    ("", "Node"): Node,
    ("", "Pod"): Pod,
    ("", "Namespace"): Namespace,
    ("", "PersistentVolume"): PersistentVolume,
    ("", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("", "ResourceQuota"): ResourceQuota,
    ("batch.volcano.sh", "Job"): VolcanoJob,
    ("bus.volcano.sh", "Command"): VolcanoCommand,
    ("nodeinfo.volcano.sh", "Numatopology"): Numatopology,
    ("policy", "PodDisruptionBudget"): PodDisruptionBudget,
    ("scheduling.k8s.io", "PriorityClass"): PriorityClass,
    ("scheduling.volcano.sh", "PodGroup"): PodGroup,
    ("scheduling.volcano.sh", "Queue"): Queue,
    ("shard.volcano.sh", "NodeShard"): NodeShard,
    ("storage.k8s.io", "CSINode"): CSINode,
    ("storage.k8s.io", "StorageClass"): StorageClass,
    ("topology.volcano.sh", "HyperNode"): HyperNode,
}
"""API group and kind of every manifest that hekla reads."""

NAMESPACED: frozenset[type[Manifest]] = frozenset(
    {Pod, PodGroup, VolcanoCommand, VolcanoJob, PersistentVolumeClaim, ResourceQuota, PodDisruptionBudget}
)

__all__ = [
    "KINDS",
    "NAMESPACED",
    "CSINode",
    "Condition",
    "HyperNode",
    "LabelSelector",
    "Manifest",
    "Namespace",
    "Node",
    "NodeShard",
    "Numatopology",
    "ObjectMeta",
    "OwnerReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PriorityClass",
    "Queue",
    "ResourceQuota",
    "StorageClass",
    "Taint",
    "Toleration",
    "VolcanoCommand",
    "VolcanoJob",
    "seconds",
]
