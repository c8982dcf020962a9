"""Records: a run as plain data, the same bytes for equal runs. Times are rounded to milliseconds."""

from __future__ import annotations

from typing import Any

from hekla.measures.summary import Summary
from hekla.sim.run import Run

Columns = dict[str, list[Any]]
"""Equally long lists by name."""


def run_data(run: Run, summary: Summary | None = None) -> dict[str, Any]:
    """`{"summary": {...}, "jobs": [...]}`; times are seconds, null where they never came."""
    raise NotImplementedError


def job_columns(run: Run) -> Columns:
    """name, queue, user, state, submitted, started, finished, evictions, failures, restarts, and more."""
    raise NotImplementedError


def stint_columns(run: Run) -> Columns:
    """job, pod, node, began, ended, ending, kept, beneficiary."""
    raise NotImplementedError


def series_columns(run: Run, buckets: int = 400) -> Columns:
    """One row per part of the run, queue and resource: used, capacity, waiting, running, share and more."""
    raise NotImplementedError


def records(columns: Columns) -> list[dict[str, Any]]:
    """The same, one dictionary per row."""
    raise NotImplementedError
