"""Bring manifests to an API server by server-side apply, and tell what that changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import msgspec

from hekla.cluster.kubernetes.api.client import APPLY_PATCH, Client, Refused
from hekla.errors import ClusterError
from hekla.server.deploy.manifests import Object

# The field manager is noted at every field; what other managers have set in fields of ours is overwritten.
MANNER = {"fieldManager": "hekla-install", "force": "true"}
BOOKKEEPING = ("managedFields", "resourceVersion", "generation")


async def apply(client: Client, objects: Iterable[Object]) -> AsyncIterator[str]:
    """One line per object, as soon as it is applied; ends with a ClusterError at the first refusal."""
    for thing in objects:
        title = f"{thing['kind']}/{thing['metadata']['name']}"
        try:
            before = await _found(client, thing)
            answer = await client.call(
                "PATCH", path_of(thing), body=thing, params=MANNER, content_type=APPLY_PATCH
            )
        except Refused as refusal:
            raise ClusterError(f"{title} is not applied: {reason_of(refusal)}") from refusal
        after: Object = msgspec.json.decode(answer)
        yield f"{title} {change(before, after)}"


async def _found(client: Client, thing: Object) -> Object | None:
    try:
        found: Object = msgspec.json.decode(await client.get(path_of(thing)))
    except Refused as refusal:
        if refusal.status == 404:
            return None
        raise
    return found


def path_of(thing: Object) -> str:
    """Where an object stands; the plurals of all kinds that are installed are regular."""
    version, metadata = thing["apiVersion"], thing["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    inside = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{inside}/{thing['kind'].lower()}s/{metadata['name']}"


def change(before: Object | None, after: Object) -> str:
    if before is None:
        return "created"
    return "unchanged" if essence(before) == essence(after) else "changed"


def essence(thing: Object) -> Object:
    """The object without its status, which controllers write, and without what changes by looking at it."""
    metadata = {key: value for key, value in thing["metadata"].items() if key not in BOOKKEEPING}
    return {**thing, "metadata": metadata, "status": None}


def reason_of(refusal: Refused) -> str:
    """The first sentence of a refusal; the rest of it lists rules, or says who is being refused twice."""
    if refusal.status == 401:
        return "the API server does not know the user of this kubeconfig (HTTP 401)"
    said = str(refusal).splitlines()[0].rstrip(":")
    if refusal.is_forbidden:
        return f"permission is missing: {said.rpartition(' is forbidden: ')[2]}"
    return said
