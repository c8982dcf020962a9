"""A scheduler configuration that stands in a ConfigMap of the cluster."""

from __future__ import annotations

import asyncio

import msgspec

from hekla.errors import ClusterError, InputError
from hekla.kube.access import Access
from hekla.kube.client import Client, Refused
from hekla.objects.config_map import SUFFIX, conf_key

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
