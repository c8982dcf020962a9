"""Gauging: put measured load into a snapshot, where a plugin goes by it."""

from __future__ import annotations

from hekla.conf import Conf
from hekla.conf.without_effect import GOES_BY_LOAD
from hekla.engine.state.snapshot import Snapshot
from hekla.scheduler.load import Meter


class Gauge:
    """Reads load for one configuration, as often as its `metrics` section says."""

    def __init__(self, conf: Conf) -> None:
        self._is_wanted = bool(conf.metrics) or any(entry.name in GOES_BY_LOAD for entry in conf.plugins)
        self._meter = Meter(conf.metrics)

    def put_into(self, snapshot: Snapshot, now: float) -> None:
        """Measure, and tell what cannot be measured among the snapshot's complaints."""
        if self._is_wanted:
            snapshot.load = self._meter.read(snapshot.nodes, now, snapshot.complaints)
