"""Lease: of several replicas one leads, and knows when it no longer does.

The leader renews a Lease object; another replica takes it over once it has stood still for its duration, by
its own clock. A leader that could not renew in time stops at once, whatever the server thinks.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from hekla.clock import Clock, stopwatch
from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.errors import ClusterError, InputError
from hekla.objects.meta import Manifest, ObjectMeta, Part

logger = logging.getLogger("hekla.lease")


class LeaseSpec(Part):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class LeaseObject(Manifest):
    spec: LeaseSpec = LeaseSpec()


JITTER = 1.2
"""Retries may come later than asked for by this factor, as in client-go."""


@dataclass(frozen=True)
class LeaseOptions:
    """Where the Lease stands, and the times of Volcano's: seconds.

    A leader must be able to try again before its deadline, and must have stopped before another may lead.
    """

    namespace: str = "hekla-system"
    name: str = "volcano"
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if self.retry_period <= 0:
            raise InputError(f'lease: the retry period "{self.retry_period:g}s" must be longer than 0s')
        if self.renew_deadline <= JITTER * self.retry_period:
            raise InputError(
                f'lease: the renew deadline "{self.renew_deadline:g}s" must be longer than the retry period '
                f'"{self.retry_period:g}s" times {JITTER:g}'
            )
        if self.duration <= self.renew_deadline:
            raise InputError(
                f'lease: the lease duration "{self.duration:g}s" must be longer than the renew deadline '
                f'"{self.renew_deadline:g}s"'
            )


class Leadership:
    """Whether this replica leads; `run` tries to, for as long as it runs."""

    def __init__(self, client: Client, identity: str, options: LeaseOptions, clock: Clock) -> None:
        self.identity = identity
        self.options = options
        self._client = client
        self._clock = clock
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{options.namespace}/leases"
        self._seen: tuple[str, str] = ("", "")
        self._seen_at = stopwatch()
        self._valid_until = 0.0
        self.holder = ""
        self.trouble = ""

    @property
    def leads(self) -> bool:
        """True while it is certain: the Lease was renewed not longer ago than the renew deadline."""
        return stopwatch() < self._valid_until

    async def run(self, on_change: Callable[[bool], None]) -> None:
        """Try to lead for ever; says when that changes."""
        led = False
        while True:
            began = stopwatch()
            try:
                async with asyncio.timeout(self.options.renew_deadline / 2):
                    await self._try()
                self.trouble = ""
            except (ClusterError, TimeoutError) as error:
                self.trouble = str(error) or "no answer in time"
                logger.warning("lease %s: %s", self.options.name, self.trouble)
            if self.leads != led:
                led = self.leads
                logger.info("%s as %s", "leading" if led else "not leading any more", self.identity)
                on_change(led)
            pause = min(self.options.retry_period, max(self._valid_until - stopwatch(), 0.05) if led else 1e9)
            await asyncio.sleep(max(pause - (stopwatch() - began), 0.05))

    async def release(self) -> None:
        """Let the next one lead at once; nothing is lost where that fails."""
        if not self.leads:
            return
        self._valid_until = 0.0
        lease = await self._read()
        if lease is not None and lease.spec.holder_identity == self.identity:
            await self._write(lease, holder="", duration=1)

    async def _try(self) -> None:
        began = stopwatch()
        lease = await self._read()
        self._heed(lease)
        if lease is None:
            await self._create()
        elif lease.spec.holder_identity == self.identity:
            await self._write(lease)
        elif self._is_free(lease):
            await self._write(lease, is_new=True)
        else:
            return
        self.holder = self.identity
        # Counted from before the request: the server may have stored it that early.
        self._valid_until = began + self.options.renew_deadline

    def _heed(self, lease: LeaseObject | None) -> None:
        """A replica that sees another holder leads no longer, however long its own lease had to run."""
        if lease is not None and lease.spec.holder_identity != self.identity:
            self.holder = lease.spec.holder_identity
            self._valid_until = 0.0

    def _is_free(self, lease: LeaseObject) -> bool:
        """Whether the holder has let go, or has not been heard of for as long as it said."""
        spec = lease.spec
        seen = (spec.holder_identity, spec.renew_time)
        if seen != self._seen:
            self._seen, self._seen_at = seen, stopwatch()
        return not spec.holder_identity or stopwatch() - self._seen_at > spec.lease_duration_seconds

    async def _read(self) -> LeaseObject | None:
        try:
            data = await self._client.get(f"{self._path}/{self.options.name}")
        except Refused as refusal:
            if refusal.status == 404:
                return None
            raise
        return msgspec.json.decode(data, type=LeaseObject)

    async def _create(self) -> None:
        body = self._body(ObjectMeta(name=self.options.name, namespace=self.options.namespace), LeaseSpec())
        await self._client.post(self._path, body)

    async def _write(
        self, lease: LeaseObject, *, is_new: bool = False, holder: str | None = None, duration: float = 0.0
    ) -> None:
        """Refused by the server where another replica wrote in between."""
        spec = lease.spec
        if is_new:
            spec = msgspec.structs.replace(
                spec, acquire_time="", lease_transitions=spec.lease_transitions + 1
            )
        body = self._body(lease.metadata, spec, holder=holder, duration=duration)
        try:
            await self._client.put(f"{self._path}/{self.options.name}", body)
        except Refused as refusal:
            if refusal.status == 409:
                self._heed(await self._read())
            raise

    def _body(
        self, meta: ObjectMeta, spec: LeaseSpec, *, holder: str | None = None, duration: float = 0.0
    ) -> dict[str, object]:
        now = datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": meta.name,
                "namespace": meta.namespace,
                **({"resourceVersion": meta.resource_version} if meta.resource_version else {}),
            },
            "spec": {
                "holderIdentity": self.identity if holder is None else holder,
                "leaseDurationSeconds": math.ceil(duration or self.options.duration),
                "acquireTime": spec.acquire_time or now,
                "renewTime": now,
                "leaseTransitions": spec.lease_transitions,
            },
        }
