"""Frames: a run as polars data frames. Polars is imported when it is needed, as not everybody has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hekla.errors import InputError
from hekla.measures.records import (
    Column,
    Columns,
    job_columns,
    queue_columns,
    series_columns,
    stint_columns,
    use_columns,
)
from hekla.measures.summary import Summary
from hekla.sim.run import Run

if TYPE_CHECKING:
    import polars as pl


def jobs_frame(run: Run) -> pl.DataFrame:
    """One row per job."""
    return frame(job_columns(run))


def stints_frame(run: Run) -> pl.DataFrame:
    """One row per time that a pod spent on a node."""
    return frame(stint_columns(run))


def queues_frame(run: Run, summary: Summary | None = None) -> pl.DataFrame:
    """One row per queue that had jobs: counts, waits, slowdowns, shares."""
    return frame(queue_columns(run, summary))


def series_frame(run: Run, buckets: int = 400) -> pl.DataFrame:
    """One row per part of the run and queue: jobs and pods that waited and ran, and shares."""
    return frame(series_columns(run, buckets))


def use_frame(run: Run, buckets: int = 400) -> pl.DataFrame:
    """One row per part of the run, queue and resource."""
    return frame(use_columns(run, buckets))


def frame(columns: Columns) -> pl.DataFrame:
    """The columns as a data frame, with nulls where there is nothing."""
    require_polars()
    import polars as pl  # noqa: PLC0415 - see below

    def series(name: str, column: Column) -> pl.Series:
        if isinstance(column, list):
            return pl.Series(name, column, pl.String)
        return pl.Series(name, np.ascontiguousarray(column), nan_to_null=column.dtype.kind == "f")

    return pl.DataFrame([series(name, column) for name, column in columns.items()])


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Records as a data frame."""
    require_polars()
    import polars as pl  # noqa: PLC0415 - see below

    return pl.DataFrame(rows, infer_schema_length=None)


def require_polars() -> None:
    try:
        import polars  # noqa: F401, PLC0415 - an extra, and not quick to import
    except ImportError as error:
        raise InputError('data frames and Parquet need more: pip install "hekla[frames]"') from error
