"""Which key of a ConfigMap holds the scheduler's configuration."""

from __future__ import annotations

from collections.abc import Collection

CONF_KEY = "volcano-scheduler.conf"
"""The name of the file that Volcano's scheduler is started with."""


def conf_key(keys: Collection[str]) -> str | None:
    """The only key, or Volcano's own among several; None where it cannot be told."""
    return CONF_KEY if CONF_KEY in keys else next(iter(keys)) if len(keys) == 1 else None
