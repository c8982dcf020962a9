"""Office: what everybody needs who writes for the controllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hekla.cluster.kubernetes.controllers.gatekeeper import Tell
from hekla.cluster.kubernetes.outbox import Outbox
from hekla.cluster.kubernetes.writer import Writer


@dataclass(frozen=True)
class Office:
    """The ways to write and to tell; `is_current` says whether this process still may."""

    outbox: Outbox
    writer: Writer
    tell: Tell
    is_current: Callable[[], bool]
