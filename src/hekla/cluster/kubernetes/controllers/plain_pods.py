"""Plain pods: a PodGroup for pods that bring none, shared by all pods of one controller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec import to_builtins

from hekla.cluster.admission import default_pod_group
from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.api.versions import Versioned
from hekla.cluster.kubernetes.context import ControllerContext
from hekla.cluster.kubernetes.outbox import WriteRank
from hekla.cluster.kubernetes.writer import Body, group_spec_body, meta_body
from hekla.cluster.node_usage import is_finished
from hekla.cluster.store import Store
from hekla.controllers import pod_group_for
from hekla.controllers.podgroup import controller_of, group_name_for
from hekla.errors import ClusterError
from hekla.objects import Namespace, OwnerReference, Pod, PodGroup
from hekla.objects.keys import GROUP_NAME

logger = logging.getLogger("hekla.cluster")
MOST_OWNERS = 10_000
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
_PLACES = {
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets/{}",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets/{}",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets/{}",
    # Whatever group its reference names. As in Volcano.
    "Job": "/apis/batch/v1/namespaces/{}/jobs/{}",
}


class ReplicaCount(msgspec.Struct, frozen=True):
    """How many pods a workload wants."""

    replicas: int = 1


class ReplicatedWorkload(msgspec.Struct, frozen=True):
    """As much of a workload as tells its size."""

    spec: ReplicaCount = ReplicaCount()


class PlainPods:
    """Gives every pod of these schedulers a PodGroup; the pod is told its name by an annotation."""

    def __init__(
        self, context: ControllerContext, client: Client, facts: Store, scheduler_names: tuple[str, ...]
    ) -> None:
        self._context = context
        self._client = client
        self._facts = facts
        self._names = scheduler_names
        self._annotations_by_owner: dict[str, Mapping[str, str]] = {}
        self._waiting: dict[str, dict[str, None]] = {}
        self._pauses: dict[str, float] = {}
        self._resting: set[str] = set()

    def heed(self, pod: Pod) -> None:
        """A pod is there; those of one group wait together until it is."""
        if not self._is_ours(pod):
            return
        group = f"{pod.metadata.namespace}/{group_name_for(pod)}"
        waiting = self._waiting.setdefault(group, {})
        waiting[pod.key] = None
        if group not in self._resting:
            self._context.outbox.put(WriteRank.OBJECT, f"podgroup for {group}", partial(self._adopt, group))

    def _is_ours(self, pod: Pod) -> bool:
        return (
            pod.spec.scheduler_name in self._names
            and not pod.metadata.annotations.get(GROUP_NAME)
            and pod.metadata.deletion_timestamp is None
            and not is_finished(pod)
        )

    def heed_end(self, pod: Pod) -> None:
        """A pod is gone; a group without pods goes too, where its workload wants none."""
        name = pod.metadata.annotations.get(GROUP_NAME, "")
        key = f"{pod.metadata.namespace}/{name}"
        group = self._facts.pod_group(key)
        if group is None or name != group_name_for(pod) or self._facts.pods_of_group(key):
            return
        owner = controller_of(pod)
        if owner is not None and owner.kind in ("ReplicaSet", "StatefulSet"):
            self._context.outbox.put(WriteRank.OBJECT, f"end of {key}", partial(self._dissolve, group, owner))

    async def _dissolve(self, group: PodGroup, owner: OwnerReference) -> None:
        """Between two pods of a workload the group stays; the workload itself knows."""
        place = _PLACES[owner.kind].format(group.metadata.namespace, owner.name)
        try:
            data = msgspec.json.decode(await self._client.get(place), type=ReplicatedWorkload)
            if data.spec.replicas == 0 and self._context.is_current():
                await self._context.writer.delete(PodGroup, group.key, group.metadata.uid)
        except ClusterError as error:
            # It goes with its workload at the latest.
            logger.debug("podgroup %s stays: %s", group.key, error)

    async def _adopt(self, group: str) -> None:
        keys = self._waiting.pop(group, {})
        pods = [pod for key in keys if (pod := self._facts.get(Pod, key)) is not None and self._is_ours(pod)]
        if not pods or not self._context.is_current():
            return
        try:
            await self._ensure_group(pods[0])
        except ClusterError as error:
            if isinstance(error, Refused) and error.is_namespace_ending:
                logger.debug("podgroup %s is not made any more: %s", group, error)
                return
            logger.warning("podgroup %s cannot be made: %s", group, error)
            self._try_later(group, keys)
            return
        self._pauses.pop(group, None)
        for pod in pods:
            self._context.outbox.put(
                WriteRank.OBJECT, f"join {pod.metadata.uid}", partial(self._join, pod.key)
            )

    async def _ensure_group(self, pod: Pod) -> None:
        existing = self._facts.by_key(PodGroup)
        if f"{pod.metadata.namespace}/{group_name_for(pod)}" in existing:
            return
        of_owners = {
            owner.uid: await self._annotations_of(pod.metadata.namespace, owner)
            for owner in pod.metadata.owner_references
        }
        group, _ = pod_group_for(pod, existing, of_owners, self._names)
        if group is not None:
            group = default_pod_group(group, self._facts.by_key(Namespace))
            body: Body = {"metadata": meta_body(group), "spec": group_spec_body(group.spec)}
            body["status"] = to_builtins(group.status)
            await self._context.writer.make_sure(PodGroup, group.metadata.namespace, body)

    async def _annotations_of(self, namespace: str, owner: OwnerReference) -> Mapping[str, str]:
        """What the workload says; read once, and nothing if it is of another kind or gone."""
        known = self._annotations_by_owner.get(owner.uid)
        if known is not None or owner.kind not in _PLACES:
            return known or {}
        try:
            data = await self._client.get(_PLACES[owner.kind].format(namespace, owner.name))
            found = msgspec.json.decode(data, type=Versioned).metadata
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return {}
        if len(self._annotations_by_owner) >= MOST_OWNERS:
            self._annotations_by_owner.clear()
        annotations = found.annotations if found.uid == owner.uid else {}
        self._annotations_by_owner[owner.uid] = annotations
        return annotations

    async def _join(self, key: str) -> None:
        pod = self._facts.get(Pod, key)
        if pod is None or not self._is_ours(pod) or not self._context.is_current():
            return
        name = group_name_for(pod)
        mark = {"metadata": {"uid": pod.metadata.uid, "annotations": {GROUP_NAME: name}}}
        try:
            await self._context.writer.change(Pod, key, mark)
        except ClusterError as error:
            if not isinstance(error, Refused) or error.status not in (404, 409):
                logger.warning("pod %s: not told its podgroup: %s", key, error)
                self._try_later(f"{pod.metadata.namespace}/{name}", {key: None})

    def _try_later(self, group: str, keys: dict[str, None]) -> None:
        """Wait, longer each time; a pod that comes meanwhile waits with the rest of its group."""
        self._waiting[group] = keys | self._waiting.get(group, {})
        if group not in self._resting:
            pause = self._pauses[group] = min(2 * self._pauses.get(group, FIRST_PAUSE / 2), LONGEST_PAUSE)
            self._resting.add(group)
            asyncio.get_running_loop().call_later(pause, self._wake, group)

    def _wake(self, group: str) -> None:
        self._resting.discard(group)
        if self._context.is_current() and self._waiting.get(group):
            self._context.outbox.put(WriteRank.OBJECT, f"podgroup for {group}", partial(self._adopt, group))
