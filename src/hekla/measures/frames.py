"""Frames: a run as polars data frames. Polars is imported when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hekla.sim.run import Run

if TYPE_CHECKING:
    import polars as pl


def jobs_frame(run: Run) -> pl.DataFrame:
    raise NotImplementedError


def stints_frame(run: Run) -> pl.DataFrame:
    raise NotImplementedError


def queues_frame(run: Run) -> pl.DataFrame:
    """One row per queue: counts, waits, shares."""
    raise NotImplementedError


def use_frame(run: Run, buckets: int = 400) -> pl.DataFrame:
    """One row per part of the run, queue and resource."""
    raise NotImplementedError
