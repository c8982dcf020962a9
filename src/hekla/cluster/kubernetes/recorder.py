"""Recorder: tells people what happened, as events; what repeats is counted, not repeated."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Container
from datetime import UTC, datetime
from functools import partial

from hekla.clock import Clock
from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.kubernetes.outbox import Outbox, WriteRank
from hekla.errors import ClusterError
from hekla.objects import Manifest

MOST_REMEMBERED = 4096
LONGEST_MESSAGE = 1024
"""More is refused by the API server."""


class Recorder:
    """Writes events; one that cannot be written is lost, and counted."""

    def __init__(
        self,
        client: Client,
        outbox: Outbox,
        component: str,
        clock: Clock,
        may_write: Callable[[], bool],
        *,
        ending: Container[str] = (),
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._component = component
        self._clock = clock
        self._may_write = may_write
        self._ending = ending
        """Namespaces that are being deleted: they take no events."""
        self._counts: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self.lost = 0

    def tell(self, manifest: Manifest, type_: str, reason: str, message: str, component: str = "") -> None:
        """Something happened to the object; `type_` is Normal or Warning."""
        if manifest.metadata.namespace in self._ending:
            return
        said = f"{manifest.metadata.uid}/{manifest.key}/{reason}/{message}"
        name = f"{manifest.metadata.name[:200]}.{hashlib.sha256(said.encode()).hexdigest()[:16]}"
        count, since = self._counts.pop(name, (0, self._now()))
        self._counts[name] = (count + 1, since)
        if len(self._counts) > MOST_REMEMBERED:
            self._counts.popitem(last=False)
        body = self._body(manifest, name, component or self._component)
        body |= {"type": type_, "reason": reason, "message": message[:LONGEST_MESSAGE]}
        self._outbox.put(WriteRank.EVENT, f"event {name}", partial(self._write, body, is_new=count == 0))

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _body(self, manifest: Manifest, name: str, component: str) -> dict[str, object]:
        resource, meta = RESOURCES[type(manifest)], manifest.metadata
        count, since = self._counts[name]
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": meta.namespace or "default"},
            "involvedObject": {
                "apiVersion": resource.api_version,
                "kind": resource.name,
                "name": meta.name,
                "namespace": meta.namespace,
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
            },
            "source": {"component": component},
            "reportingComponent": component,
            "count": count,
            "firstTimestamp": since,
            "lastTimestamp": self._now(),
        }

    async def _write(self, body: dict[str, object], *, is_new: bool) -> None:
        if not self._may_write():
            self.lost += 1
            return
        meta = body["metadata"]
        assert isinstance(meta, dict)
        path = f"/api/v1/namespaces/{meta['namespace']}/events"
        again = {key: body[key] for key in ("count", "lastTimestamp", "message")}
        try:
            if is_new:
                await self._client.post(path, body)
            else:
                await self._client.patch(f"{path}/{meta['name']}", again)
        except Refused as refusal:
            # A count that has expired is written anew; one from an earlier life of this process goes on.
            await self._turn_over(refusal, path, body, again)
        except ClusterError:
            self.lost += 1

    async def _turn_over(
        self, refusal: Refused, path: str, body: dict[str, object], again: dict[str, object]
    ) -> None:
        meta = body["metadata"]
        assert isinstance(meta, dict)
        try:
            if refusal.status == 404 and refusal.reason == "NotFound":
                await self._client.post(path, body)
            elif refusal.reason == "AlreadyExists":
                await self._client.patch(f"{path}/{meta['name']}", again)
            else:
                self.lost += 1
        except ClusterError:
            self.lost += 1
