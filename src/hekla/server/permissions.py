"""Permissions: what the process needs to be allowed, and what of it is missing.

The API server is asked at the start, and again while something is missing. Deciding goes on meanwhile: what
can be done is done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.api.lease import LeaseOptions
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.conf import Conf, read_arguments
from hekla.engine.actions.allocate import AllocateArguments
from hekla.errors import ClusterError
from hekla.objects import Manifest

logger = logging.getLogger("hekla.serve")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
AT_ONCE = 8
SHORTEST_GAP = 1.0
"""Seconds between two rounds of questions, however often something is forbidden."""
EVICTING = frozenset({"preempt", "reclaim", "shuffle", "gangpreempt", "gangreclaim"})
SCHEDULING, BATCH, SHARD = "scheduling.volcano.sh", "batch.volcano.sh", "shard.volcano.sh"


@dataclass(frozen=True)
class Permission:
    """To do this with those; `name` where one object alone is meant."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource, _, part = self.resource.partition("/")
        place = f"{resource}.{self.group}" if self.group else resource
        words = f"{self.verb} {place}" + (f"/{part}" if part else "")
        if self.name:
            words += f' "{self.name}"'
        return words + (f' in namespace "{self.namespace}"' if self.namespace else "")

    def review(self) -> dict[str, object]:
        """How the API server is asked about it."""
        resource, _, part = self.resource.partition("/")
        wanted = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": part,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: value for key, value in wanted.items() if value}},
        }


class _Verdict(msgspec.Struct):
    allowed: bool = False


class _Answer(msgspec.Struct):
    status: _Verdict = msgspec.field(default_factory=_Verdict)


def needed(
    kinds: Iterable[type[Manifest]],
    conf: Conf,
    lease: LeaseOptions | None,
    *,
    is_sharded: bool = False,
    with_controllers: bool = False,
    evicts: bool = False,
    keeps_budgets: bool = False,
) -> list[Permission]:
    """Everything that a process takes that is configured like this, each once.

    `evicts`: also where no action does, for gangs that stay incomplete.
    """
    found = [
        *(Permission(verb, _plural(kind), _group(kind)) for kind in kinds for verb in ("list", "watch")),
        Permission("get", "pods"),
        Permission("create", "pods/binding"),
        Permission("patch", "pods/status"),
        Permission("patch", "persistentvolumeclaims"),
        Permission("patch", "persistentvolumes"),
        Permission("patch", "podgroups", SCHEDULING),
        Permission("create", "queues", SCHEDULING),
        Permission("patch", "queues/status", SCHEDULING),
        Permission("create", "events"),
        Permission("patch", "events"),
    ]
    if evicts or EVICTING & set(conf.actions):
        found.append(Permission("create", "pods/eviction") if keeps_budgets else Permission("delete", "pods"))
    if opens_gates(conf):
        found.append(Permission("patch", "pods"))
    if is_sharded:
        found.append(Permission("patch", "nodeshards/status", SHARD))
    if lease is not None:
        found += _for_lease(lease)
    if with_controllers:
        found += _FOR_CONTROLLERS
    return list(dict.fromkeys(found))


def opens_gates(conf: Conf) -> bool:
    """Whether pods are let through the gate of their queue."""
    arguments = read_arguments(AllocateArguments, conf.arguments_of("allocate"), "allocate")[0]
    return "allocate" in conf.actions and arguments.opens_gates


def _plural(kind: type[Manifest]) -> str:
    return RESOURCES[kind].plural


def _group(kind: type[Manifest]) -> str:
    return RESOURCES[kind].group


def _for_lease(lease: LeaseOptions) -> Iterator[Permission]:
    leases, group = "leases", "coordination.k8s.io"
    yield Permission("create", leases, group, lease.namespace)
    yield Permission("get", leases, group, lease.namespace, lease.name)
    yield Permission("update", leases, group, lease.namespace, lease.name)


_FOR_CONTROLLERS = (
    Permission("create", "pods"),
    Permission("delete", "pods"),
    Permission("patch", "pods"),
    Permission("create", "persistentvolumeclaims"),
    *(Permission(verb, "configmaps") for verb in ("create", "patch", "delete")),
    *(Permission(verb, "services") for verb in ("create", "delete")),
    *(Permission(verb, "networkpolicies", "networking.k8s.io") for verb in ("create", "delete")),
    *(Permission("get", owners, "apps") for owners in ("daemonsets", "replicasets", "statefulsets")),
    Permission("get", "jobs", "batch"),
    *(Permission(verb, "jobs", BATCH) for verb in ("get", "list", "watch", "delete")),
    Permission("patch", "jobs/status", BATCH),
    Permission("create", "podgroups", SCHEDULING),
    Permission("delete", "podgroups", SCHEDULING),
    Permission("patch", "queues", SCHEDULING),
    *(Permission(verb, "commands", "bus.volcano.sh") for verb in ("list", "watch", "delete")),
)


class Permissions:
    """Knows what is missing; `run` keeps asking while something is, or when something new is needed."""

    def __init__(
        self, client: Client, needs: Callable[[], list[Permission]], *, period: float = 15.0
    ) -> None:
        self._client = client
        self._needs = needs
        self._period = period
        self._asked: list[Permission] = []
        self._in_doubt = asyncio.Event()
        self.missing: list[Permission] = []
        self.trouble = ""
        """Why the question could not be asked, if it could not."""
        self.rejection = ""
        """Why the server takes this process for no user of its own, if it does not."""

    def doubt(self) -> None:
        """The server forbade something: find out soon whether a permission is missing."""
        self._in_doubt.set()

    async def run(self) -> None:
        while True:
            needs = self._needs()
            if self.missing or self.trouble or needs != self._asked or self._in_doubt.is_set():
                self._in_doubt.clear()
                await self.ask(needs)
                await asyncio.sleep(min(SHORTEST_GAP, self._period))
            try:
                async with asyncio.timeout(self._period):
                    await self._in_doubt.wait()
            except TimeoutError:
                pass

    async def ask(self, needs: list[Permission]) -> None:
        """Find out which of these are missing, and say what has changed."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def may(permission: Permission) -> bool:
            async with turns:
                data = await self._client.post(REVIEWS, permission.review())
            return msgspec.json.decode(data, type=_Answer).status.allowed

        try:
            answers = await asyncio.gather(*(may(permission) for permission in needs))
        except (ClusterError, msgspec.MsgspecError) as error:
            self._give_up(error)
            return
        self.trouble, self.rejection, self._asked = "", "", needs
        before = self.missing
        self.missing = [one for one, allowed in zip(needs, answers, strict=True) if not allowed]
        for permission in self.missing:
            if permission not in before:
                logger.warning("may not %s: grant it, see deploy", permission)
        for permission in before:
            if permission in needs and permission not in self.missing:
                logger.info("may %s now", permission)

    def _give_up(self, error: Exception) -> None:
        if str(error) != self.trouble:
            what = "may not ask" if isinstance(error, Refused) else "cannot ask"
            logger.warning("%s what is allowed: %s", what, error)
        self.trouble = str(error)
        self.rejection = self.trouble if isinstance(error, Refused) and error.status == 401 else ""
