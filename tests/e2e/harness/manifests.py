"""Manifests in a few words, as plain dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.kinds import Object

GROUP_NAME = "scheduling.k8s.io/group-name"
RUN_SECONDS = "hekla.dev/run-seconds"
EXIT_CODE = "hekla.dev/exit-code"
STOP_SECONDS = "hekla.dev/stop-seconds"

Quantities = Mapping[str, str | int]


def node(
    name: str,
    *,
    cpu: str | int = 4,
    memory: str | int = "16Gi",
    pods: int = 110,
    resources: Quantities | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Object] = (),
) -> Object:
    """A machine that is ready."""
    offered = {"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})}
    allocatable = {resource: str(quantity) for resource, quantity in offered.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod(
    name: str,
    *,
    namespace: str = "default",
    cpu: str | int = 1,
    memory: str | int = "1Gi",
    resources: Quantities | None = None,
    group: str = "",
    run_seconds: float | None = None,
    exit_code: int = 0,
    grace_seconds: int = 1,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    scheduler: str = "volcano",
    **spec: Any,
) -> Object:
    """A pod of one container; further keywords go into its spec as they are."""
    requests = {"cpu": cpu, "memory": memory, **(resources or {})}
    asked = {resource: str(quantity) for resource, quantity in requests.items()}
    limits = {resource: quantity for resource, quantity in asked.items() if "/" in resource}
    life = {RUN_SECONDS: None if run_seconds is None else str(run_seconds), GROUP_NAME: group or None}
    notes = {**life, EXIT_CODE: str(exit_code) if exit_code else None, **(annotations or {})}
    container = {"name": "main", "image": "none", "resources": {"requests": asked, "limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels or {}),
            "annotations": {key: value for key, value in notes.items() if value is not None},
        },
        "spec": {
            "schedulerName": scheduler,
            "containers": [container],
            "terminationGracePeriodSeconds": grace_seconds,
            "restartPolicy": "Never",
            **spec,
        },
    }


def pod_group(
    name: str, min_member: int, *, namespace: str = "default", queue: str = "default", **spec: Any
) -> Object:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": min_member, "queue": queue, **spec},
    }


def queue(name: str, *, capability: Quantities | None = None, weight: int = 1, **spec: Any) -> Object:
    limits = {resource: str(quantity) for resource, quantity in (capability or {}).items()}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": weight, **({"capability": limits} if limits else {}), **spec},
    }


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
