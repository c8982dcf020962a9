"""Objects: all objects of a cluster are gone through twice, first to hear all names, then to change them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from hekla.cluster.scramble.fields import scrambled
from hekla.cluster.scramble.kinds import RULES
from hekla.cluster.scramble.names import Names
from hekla.objects import Manifest


def scramble(
    manifests: Collection[Manifest], objects: Iterable[dict[str, Any]], seed: int, *, conf: str = ""
) -> tuple[list[dict[str, Any]], Names]:
    """The objects, which are these manifests as plain data, under other names; and who knows the names."""
    objects = with_uids(objects)
    names = Names(manifests, seed, conf=conf, compared=set(_compared_keys(objects)))
    for data in objects:
        _renamed(data, names)
    names.settle()
    return [_renamed(data, names) for data in objects], names


def _renamed(data: dict[str, Any], names: Names) -> dict[str, Any]:
    rest = scrambled(RULES[data["kind"]], data, names)
    return {"apiVersion": data["apiVersion"], "kind": data["kind"], **rest}


def _compared_keys(data: object) -> Iterator[str]:
    """The labels and taints that something is said of in numbers: more than, less than."""
    if isinstance(data, list):
        for item in data:
            yield from _compared_keys(item)
    elif isinstance(data, dict):
        if data.get("operator") in ("Gt", "Lt"):
            yield data.get("key", "")
        for value in data.values():
            yield from _compared_keys(value)


def with_uids(manifests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods without a UID are told apart by their names, which change: they get one that says the same."""
    found = []
    for data in manifests:
        meta = data.get("metadata", {})
        if data["kind"] == "Pod" and not meta.get("uid"):
            uid = f"{meta.get('namespace', '')}-{meta.get('name', '')}"
            data = {**data, "metadata": {**meta, "uid": uid}}  # noqa: PLW2901 - the pod as it goes on
        found.append(data)
    return found
