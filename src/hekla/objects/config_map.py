"""Which key of a ConfigMap holds the scheduler's configuration."""

from __future__ import annotations

from collections.abc import Collection

CONF_KEY = "volcano-scheduler.conf"
"""The name of the file that Volcano's scheduler is started with."""


SUFFIX = ".conf"


def conf_key(keys: Collection[str]) -> str | None:
    """The only key, or among several Volcano's own, or the only `.conf`; None where it cannot be told."""
    if CONF_KEY in keys:
        return CONF_KEY
    candidates = list(keys) if len(keys) == 1 else [key for key in keys if str(key).endswith(SUFFIX)]
    return candidates[0] if len(candidates) == 1 else None
