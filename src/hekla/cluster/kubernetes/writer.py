"""Writer: changes of objects through the API server; what it answers is the newest fact.

Only what changes is sent. A status that could not be written is forgotten: the next cycle sees that it is
missing, and says it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import to_builtins

from hekla.clock import Clock
from hekla.cluster.kubernetes.api.client import (
    MERGE_PATCH,
    NAMESPACE_TERMINATING,
    STRATEGIC_PATCH,
    Client,
    Refused,
)
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.kubernetes.api.wire import Wire
from hekla.cluster.kubernetes.facts import Facts
from hekla.errors import ClusterError
from hekla.objects import (
    Condition,
    Manifest,
    NodeShard,
    OwnerReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    Queue,
)
from hekla.objects.keys import QUEUE_ALLOCATION_GATE
from hekla.objects.meta import ResourceList
from hekla.objects.node import NodeShardStatus
from hekla.objects.scheduling import PodGroupSpec, PodGroupStatus

TRIES = 4
PAUSE = 0.3


Body = dict[str, Any]


class NotLeading(ClusterError):
    """Another replica leads: nothing may be written here."""


class Writer:
    """Writes one thing at a time."""

    def __init__(
        self,
        client: Client,
        facts: Facts,
        clock: Clock,
        may_write: Callable[[], bool] = lambda: True,
        *,
        ending: Container[str] = (),
        pause: float = PAUSE,
    ) -> None:
        self.pause = pause
        """Between two tries."""
        self._client = client
        self._ending = ending
        """Namespaces that are being deleted: nothing can be made in them."""
        self._facts = facts
        self._clock = clock
        self._may_write = may_write
        self.on_missing: Callable[[type[Manifest], str], None] = lambda _kind, _key: None
        """Hears of objects that the server does not know."""
        self._wires: dict[type[Manifest], Wire[Any]] = {}

    async def pod_status(
        self, pod: str, uid: str, condition: Condition | None, nominated: str | None
    ) -> None:
        status: dict[str, object] = {}
        if condition is not None:
            status["conditions"] = [self._stamped(condition)]
        if nominated is not None:
            status["nominatedNodeName"] = nominated or None
        body = {"metadata": {"uid": uid}, "status": status}
        await self._patch(Pod, pod, body, "status", STRATEGIC_PATCH)

    async def open_gate(self, pod: str) -> None:
        gates = [{"name": QUEUE_ALLOCATION_GATE, "$patch": "delete"}]
        await self._patch(Pod, pod, {"spec": {"schedulingGates": gates}}, "", STRATEGIC_PATCH)

    async def pod_group_status(self, key: str, uid: str, status: PodGroupStatus) -> None:
        """PodGroups have no status of their own to write: it is a part of the object."""
        body = {
            "phase": status.phase,
            "conditions": [to_builtins(condition) for condition in status.conditions],
            "running": status.running,
            "succeeded": status.succeeded,
            "failed": status.failed,
        }
        await self._patch(PodGroup, key, {"metadata": {"uid": uid}, "status": body})

    async def queue_allocated(self, name: str, allocated: ResourceList, before: ResourceList) -> None:
        amounts = {**dict.fromkeys(before), **allocated}
        await self._patch(Queue, name, {"status": {"allocated": amounts}}, "status")

    async def shard_status(self, name: str, status: NodeShardStatus) -> None:
        body = {
            "nodesInUse": status.nodes_in_use,
            "nodesToAdd": status.nodes_to_add,
            "nodesToRemove": status.nodes_to_remove,
        }
        await self._patch(NodeShard, name, {"status": body}, "status")

    async def pod_conditions(self, pod: str, uid: str, conditions: Iterable[Condition]) -> None:
        said = {"conditions": [self._stamped(condition) for condition in conditions]}
        await self._patch(Pod, pod, {"metadata": {"uid": uid}, "status": said}, "status", STRATEGIC_PATCH)

    async def restore_conditions(self, pod: str, uid: str, earlier: Mapping[str, Condition | None]) -> None:
        """By type what the pod's conditions were; None takes one away."""
        # What is not said stays as it is: words that were not there before are taken away one by one.
        unsaid = {"reason": None, "message": None}
        restored = [
            {"type": kind, "$patch": "delete"} if condition is None else {**unsaid, **to_builtins(condition)}
            for kind, condition in earlier.items()
        ]
        body = {"metadata": {"uid": uid}, "status": {"conditions": restored}}
        await self._patch(Pod, pod, body, "status", STRATEGIC_PATCH)

    async def give_volume(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Name the claim on the volume, unless another claim was quicker; the cluster does the rest."""
        meta = claim.metadata
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
        }
        marks = {
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            "resourceVersion": volume.metadata.resource_version,
        }
        body = {"metadata": marks, "spec": {"claimRef": reference}}
        await self._patch(PersistentVolume, volume.metadata.name, body)

    async def create(self, kind: type[Manifest], namespace: str, body: dict[str, Any]) -> Manifest:
        """Make an object; the one the server made of it."""
        if namespace in self._ending:
            words = f'namespace "{namespace}" is being deleted'
            raise Refused(403, "Forbidden", words, causes=(NAMESPACE_TERMINATING,))
        resource = RESOURCES[kind]
        whole = {"apiVersion": resource.api_version, "kind": resource.name, **body}
        data = await self._insist(lambda: self._client.post(resource.path(namespace), whole))
        return self._learn(kind, data)

    async def make_sure(self, kind: type[Manifest], namespace: str, body: dict[str, Any]) -> None:
        """Make an object; one of that name that is there already will do."""
        try:
            await self.create(kind, namespace, body)
        except Refused as refusal:
            if refusal.reason != "AlreadyExists":
                raise
            path = RESOURCES[kind].path(namespace, body["metadata"]["name"])
            self._learn(kind, await self._insist(lambda: self._client.get(path)))

    async def change(self, kind: type[Manifest], key: str, body: dict[str, Any], part: str = "") -> None:
        """Lay a few fields over an object; null takes a field away."""
        await self._patch(kind, key, body, part)

    async def delete(self, kind: type[Manifest], key: str, uid: str, propagation: str = "") -> bool:
        """Delete the object of this UID; whether it was there to be deleted."""
        body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        if propagation:
            body["propagationPolicy"] = propagation
        path = RESOURCES[kind].path_of(key)
        try:
            await self._insist(lambda: self._client.call("DELETE", path, body=body))
        except Refused as refusal:
            if refusal.status != 404 and not (refusal.status == 409 and self._is_leaving(kind, key, uid)):
                raise
            return False
        return True

    def _is_leaving(self, kind: type[Manifest], key: str, uid: str) -> bool:
        """Whether the object of this UID is gone or on its way out, by the facts."""
        known = self._facts.store.get(kind, key)
        return known is None or known.metadata.uid != uid or known.metadata.deletion_timestamp is not None

    async def _patch(
        self,
        kind: type[Manifest],
        key: str,
        body: dict[str, Any],
        part: str = "",
        content_type: str = MERGE_PATCH,
    ) -> None:
        path = RESOURCES[kind].path_of(key, part)
        try:
            answer = await self._insist(lambda: self._client.patch(path, body, content_type))
        except Refused as refusal:
            if refusal.status == 404:
                self.on_missing(kind, key)
            raise
        self._learn(kind, answer)

    def _learn(self, kind: type[Manifest], data: bytes) -> Manifest:
        wire = self._wires.get(kind)
        if wire is None:
            wire = self._wires[kind] = Wire(kind)
        manifest: Manifest = wire.object(data)
        self._facts.put(manifest)
        return manifest

    async def _insist(self, ask: Callable[[], Any]) -> bytes:
        """All these writes may be made twice: without an answer they are."""
        for again in reversed(range(TRIES)):
            if not self._may_write():
                raise NotLeading("this replica does not lead any more")
            try:
                answer: bytes = await ask()
            except Refused as refusal:
                if not again or not (refusal.is_busy or refusal.leaves_doubt):
                    raise
                await asyncio.sleep(max(refusal.retry_after, self.pause))
            except ClusterError:
                if not again:
                    raise
                await asyncio.sleep(self.pause)
            else:
                return answer
        raise AssertionError("the last try ends with an answer or an error")

    def _stamped(self, condition: Condition) -> dict[str, object]:
        now = datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": now,
        }


@contextmanager
def suppress_refusals(*statuses: int) -> Iterator[None]:
    """Go on where the server refuses with one of these."""
    try:
        yield
    except Refused as refusal:
        if refusal.status not in statuses:
            raise


def merge_patch(before: Body, after: Body) -> Body:
    """What turns one into the other, as a merge patch: what is gone is null."""
    patch: Body = {key: None for key in before if key not in after}
    for key, value in after.items():
        known = before.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            if inner := merge_patch(known, value):
                patch[key] = inner
        elif known != value or key not in before:
            patch[key] = value
    return patch


def meta_body(manifest: Manifest) -> Body:
    """Name, labels, annotations and owners of an object that is to be made."""
    meta = manifest.metadata
    body: Body = {"name": meta.name, "namespace": meta.namespace}
    if meta.labels:
        body["labels"] = dict(meta.labels)
    if meta.annotations:
        body["annotations"] = dict(meta.annotations)
    if meta.owner_references:
        body["ownerReferences"] = [owner_body(owner) for owner in meta.owner_references]
    return body


def owner_body(owner: OwnerReference) -> Body:
    """A controller is not to vanish before what it owns: foreground deletion waits for that."""
    body = cast("Body", to_builtins(owner))
    return body | {"blockOwnerDeletion": True} if owner.controller else body


def group_spec_body(spec: PodGroupSpec) -> Body:
    """The spec of a PodGroup; a minimum of 0 is said, for the server would take silence as 1."""
    return cast("Body", to_builtins(spec)) | {"minMember": spec.min_member}
