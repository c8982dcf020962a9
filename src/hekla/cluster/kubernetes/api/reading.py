"""Reading: the cluster as it is at this moment, listed once, for commands that only look.

Every kind is listed page by page, and all kinds at once. What scheduling can do without is told as a
complaint where it is not defined or may not be read; without the rest there is nothing to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from hekla.cluster.kubernetes.api.access import Access
from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.api.resources import RESOURCES, Resource
from hekla.cluster.kubernetes.api.wire import Unfit, Wire
from hekla.errors import ClusterError, InputError
from hekla.objects import Manifest, Node, Pod, PodGroup, Queue
from hekla.objects.complaint import Complaint
from hekla.objects.meta import SUFFIX, conf_key

USUAL_PLACES = ("volcano-system/volcano-scheduler-configmap", "hekla-system/hekla-scheduler-configmap")


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


def conf_in_cluster(access: Access, place: str = "") -> tuple[str, str]:
    """The text of a configuration and where it was found: `namespace/name`, or one of the usual places."""

    async def read() -> tuple[str, str]:
        async with Client(access) as client:
            return await find_conf(client, place)

    return asyncio.run(read())


async def find_conf(client: Client, place: str = "") -> tuple[str, str]:
    """The same with a client that is open already."""
    places = (place,) if place else USUAL_PLACES
    for candidate in places:
        text = await _text_of(client, candidate)
        if text is not None:
            return text, f"configmap {candidate}"
    raise InputError("no configmap " + " or ".join(f'"{name}"' for name in places) + " on this cluster")


async def _text_of(client: Client, place: str) -> str | None:
    namespace, _, name = place.partition("/")
    if not namespace or not name:
        raise InputError(f'"{place}" names no configmap; write namespace/name')
    try:
        answer = await client.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    except Refused as refusal:
        if refusal.status == 404:
            return None
        raise ClusterError(f'configmap "{place}" cannot be read: {refusal}') from refusal
    data = (msgspec.json.decode(answer, type=_ConfigMap)).data
    key = conf_key(data)
    if key is None:
        found = ", ".join(sorted(data)) or "nothing"
        raise InputError(f'configmap "{place}" should hold one file *{SUFFIX}, and holds {found}')
    return data[key]


PAGE = "500"
INDISPENSABLE: frozenset[type[Manifest]] = frozenset({Node, Pod, PodGroup, Queue})
"""Without these no decision means anything."""
TRIES = 4
SHORTEST_PAUSE = 0.2
M = TypeVar("M", bound=Manifest)

OnProgress = Callable[[int, str], None]
"""Hears how many objects have been read so far, and of which kind the last ones were."""


def _silent(_count: int, _plural: str) -> None: ...


@dataclass
class ClusterReading:
    """What is there, kind by kind in the order of asking, and what could not be read."""

    objects: list[Manifest] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)

    def all_of(self, kind: type[M]) -> list[M]:
        return [found for found in self.objects if isinstance(found, kind)]


def read_cluster(
    access: Access,
    kinds: Sequence[type[Manifest]],
    *,
    indispensable: Collection[type[Manifest]] = INDISPENSABLE,
    namespace: str = "",
    on_progress: OnProgress = _silent,
) -> ClusterReading:
    """All objects of these kinds, or those of one namespace; raises ClusterError where there is no answer."""

    async def read() -> ClusterReading:
        async with Client(access) as client:
            return await list_cluster(
                client, kinds, indispensable=indispensable, namespace=namespace, on_progress=on_progress
            )

    return asyncio.run(read())


async def list_cluster(
    client: Client,
    kinds: Sequence[type[Manifest]],
    *,
    indispensable: Collection[type[Manifest]] = INDISPENSABLE,
    namespace: str = "",
    on_progress: OnProgress = _silent,
) -> ClusterReading:
    """The same with a client that is open already."""
    progress = _Progress(on_progress)
    found = await asyncio.gather(
        *(_list(client, RESOURCES[kind], namespace, progress) for kind in kinds), return_exceptions=True
    )
    reading = ClusterReading()
    for kind, result in zip(kinds, found, strict=True):
        if isinstance(result, Refused):
            trouble = _trouble(RESOURCES[kind], result)
            if kind in indispensable or not (result.is_forbidden or result.status == 404):
                raise ClusterError(str(trouble)) from result
            reading.complaints.append(trouble)
        elif isinstance(result, BaseException):
            raise result
        else:
            reading.objects += [item for item in result if not isinstance(item, Unfit)]
            reading.complaints += [item.complaint for item in result if isinstance(item, Unfit)]
    return reading


class _Progress:
    def __init__(self, say: OnProgress) -> None:
        self._say = say
        self._count = 0

    def add(self, count: int, plural: str) -> None:
        self._count += count
        self._say(self._count, plural)


async def _list(
    client: Client, resource: Resource, namespace: str, progress: _Progress
) -> list[Manifest | Unfit]:
    """All pages; where the server has forgotten what the first pages were, all of them anew."""
    wire: Wire[Any] = Wire(resource.kind)
    path = resource.path(namespace if resource.is_namespaced else "")
    for is_last in (False, True):
        items: list[Manifest | Unfit] = []
        rest = ""
        try:
            while True:
                params = {"limit": PAGE} | ({"continue": rest} if rest else {})
                page = wire.page(await _patiently(client, path, params))
                items += page.items
                progress.add(len(page.items), resource.plural)
                rest = page.rest
                if not rest:
                    return items
        except Refused as refusal:
            if not refusal.is_expired or is_last:
                raise
    raise AssertionError("the last try ends with a list or a refusal")


async def _patiently(client: Client, path: str, params: dict[str, str]) -> bytes:
    """The answer of a server that may be busy for a while."""
    for again in reversed(range(TRIES)):
        try:
            return await client.get(path, params)
        except Refused as refusal:
            if not again or not refusal.is_busy:
                raise
            await asyncio.sleep(max(refusal.retry_after, SHORTEST_PAUSE))
    raise AssertionError("the last try ends with an answer or a refusal")


def _trouble(resource: Resource, refusal: Refused) -> Complaint:
    if refusal.status == 401:
        return Complaint(resource.plural, f"the API server does not know who is asking: {refusal}")
    if refusal.is_forbidden:
        return Complaint(
            resource.plural, f'may not be listed: {refusal}; needs "list" on {_spelled(resource)}'
        )
    if refusal.status == 404:
        hint = "" if resource.is_built_in else "; are Volcano's custom resources installed?"
        return Complaint(resource.plural, f"not defined on this cluster{hint}")
    return Complaint(resource.plural, f"cannot be listed: {refusal}")


def _spelled(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural
