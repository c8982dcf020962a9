"""Taints and tolerations in one word each: `key=value:NoSchedule`, `key:NoSchedule`, `key`."""

from __future__ import annotations

import re

from hekla.errors import InputError
from hekla.objects import Taint, Toleration
from hekla.objects.complaint import quoted

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_SHAPE = re.compile(r"\A(?P<key>[^=:\s]+)(?:=(?P<value>[^=:\s]*))?(?::(?P<effect>[A-Za-z]+))?\Z")


def taint_of(text: str) -> Taint:
    """The taint that a word stands for; without an effect it keeps pods away."""
    key, value, effect = _parts(text, "taint")
    return Taint(key=key, value=value or "", effect=effect or EFFECTS[0])


def toleration_of(text: str) -> Toleration:
    """The toleration that a word stands for; without a value any is tolerated, without an effect all are."""
    key, value, effect = _parts(text, "toleration")
    operator = "Exists" if value is None else "Equal"
    return Toleration(key=key, operator=operator, value=value or "", effect=effect)


def _parts(text: str, what: str) -> tuple[str, str | None, str]:
    shape = _SHAPE.match(text)
    if shape is None or (shape["effect"] and shape["effect"] not in EFFECTS):
        raise InputError(f'{quoted(text)} is no {what}; write it like "dedicated=ml:{EFFECTS[0]}"')
    return shape["key"], shape["value"], shape["effect"] or ""
