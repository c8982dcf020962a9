"""Fields: what a field holds (a name of something, labels, an amount) says how it is scrambled.

Texts that no rule speaks of are left out; numbers stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hekla.cluster.scramble.names import ScrambledNames

Data = Any
Rule = Callable[[Data, ScrambledNames], Data]
Rules = Mapping[str, Any]
"""By field a rule, or the rules of what is inside; lists are looked into."""


def scrambled(rules: Rules, data: Mapping[str, Any], names: ScrambledNames) -> dict[str, Any]:
    """The fields that rules speak of, and all numbers."""
    found: dict[str, Any] = {}
    for field, value in data.items():
        rule = rules.get(field)
        if rule is None:
            if isinstance(value, bool | int | float):
                found[field] = value
        elif callable(rule):
            found[field] = rule(value, names)
        elif isinstance(value, list):
            found[field] = [scrambled(rule, item, names) for item in value]
        else:
            found[field] = scrambled(rule, value, names)
    return found


def as_it_is(value: Data, _: ScrambledNames) -> Data:
    return value


def name_of(what: str) -> Rule:
    """A name, or a list of names."""

    def rename(value: Data, names: ScrambledNames) -> Data:
        return [names.of(what, name) for name in value] if isinstance(value, list) else names.of(what, value)

    return rename


def names_in_keys(what: str) -> Rule:
    return lambda value, names: {names.of(what, name): amount for name, amount in value.items()}


def labels(value: Data, names: ScrambledNames) -> Data:
    return {names.key(key): names.value(key, text) for key, text in value.items()}


def label_key(value: Data, names: ScrambledNames) -> Data:
    return [names.key(key) for key in value] if isinstance(value, list) else names.key(value)


def requirement(value: Data, names: ScrambledNames) -> Data:
    """A key with an operator and values; or several of them."""
    if isinstance(value, list):
        return [requirement(item, names) for item in value]
    key = value.get("key", "")
    found = {**value, "key": names.key(key)}
    if "values" in value:
        found["values"] = [names.value(key, text) for text in value["values"]]
    if "value" in value:
        found["value"] = names.value(key, value["value"])
    return found


SELECTOR: Rules = {"matchLabels": labels, "matchExpressions": requirement}


def notes(value: Data, names: ScrambledNames) -> Data:
    return names.annotations(value)


def images(value: Data, names: ScrambledNames) -> Data:
    """An image, or all names of one; the tag that is meant where none is written is written."""
    if isinstance(value, list):
        return [f"{names.of('image', _tagged(name))}:v" for name in value]
    return f"{names.of('image', _tagged(value))}:v" if value else value


def _tagged(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def quota(value: Data, _: ScrambledNames) -> Data:
    """Amounts by resource; quotas of a storage class bear its name, and no plugin reads them."""
    return {name: amount for name, amount in value.items() if ".storageclass." not in name}


def members(value: Data, names: ScrambledNames) -> Data:
    """Members of a HyperNode; regular expressions become the nodes that they mean."""
    found = []
    for member in value:
        selector = member.get("selector", {})
        what = "node" if member["type"] == "Node" else "hypernode"
        if "exactMatch" in selector:
            exact = [names.of(what, selector["exactMatch"]["name"])]
        elif "regexMatch" in selector:
            matching = names.nodes_matching(selector["regexMatch"]["pattern"]) if what == "node" else []
            exact = [names.of(what, name) for name in matching]
        else:
            match = scrambled(SELECTOR, selector.get("labelMatch", {}), names)
            found.append({"type": member["type"], "selector": {"labelMatch": match}})
            continue
        found += [{"type": member["type"], "selector": {"exactMatch": {"name": name}}} for name in exact]
    return found
