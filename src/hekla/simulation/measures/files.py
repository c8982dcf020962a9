"""Figures as columns: data frames, CSV, JSON lines and Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hekla.errors import InputError
from hekla.simulation.measures.records import (
    Column,
    Columns,
    cause_columns,
    idle_columns,
    job_columns,
    pod_run_columns,
    run_data,
    series_columns,
    use_columns,
    values_of,
)
from hekla.simulation.run import Run
from hekla.text import escaped

if TYPE_CHECKING:
    import polars as pl


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


TABLE_FORMS = ("csv", "parquet")
FORMULA_STARTS = ("=", "+", "-", "@")
FOLDER = "folder"


def save(run: Run, path: Path | str, form: str = "csv") -> list[Path]:
    """The files written.

    `.json`: summary and jobs. `.csv`, `.parquet`: jobs. A name without a suffix is a folder, which gets jobs,
    stints, series and use, each in the given form ("csv" or "parquet"), and causes and idle where it is known
    why jobs waited.
    """
    path = Path(path)
    kind = form_of(path)
    try:
        if kind == FOLDER:
            return _save_folder(run, path, form)
        if kind == "json":
            path.write_text(json.dumps(run_data(run), allow_nan=False) + "\n", "utf-8")
        else:
            save_table(job_columns(run), path)
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error
    return [path]


def form_of(path: Path) -> str:
    """What the name asks for: "json", a form of tables, or FOLDER; anything else is refused."""
    form = path.suffix.lower().removeprefix(".")
    if path.is_dir() or not form:
        return FOLDER
    if form not in ("json", *TABLE_FORMS):
        raise InputError(
            f'cannot write a run to "{path}": a name ends in .json, .csv or .parquet, or is a folder'
        )
    return form


def _save_folder(run: Run, folder: Path, form: str) -> list[Path]:
    if form not in TABLE_FORMS:
        raise InputError(f'cannot write tables as "{form}"; there are: {", ".join(TABLE_FORMS)}')
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "jobs": job_columns(run),
        "stints": pod_run_columns(run),
        "series": series_columns(run),
        "use": use_columns(run),
    }
    if run.waits is not None:
        tables |= {"causes": cause_columns(run), "idle": idle_columns(run)}
    paths = [folder / f"{name}.{form}" for name in tables]
    for path, columns in zip(paths, tables.values(), strict=True):
        save_table(columns, path)
    return paths


def save_table(columns: Columns, path: Path) -> None:
    """One table, as Parquet or else as CSV."""
    if path.suffix.lower() == ".parquet":
        frame(columns).write_parquet(path)
    else:
        _save_csv(columns, path)


def _save_csv(columns: Columns, path: Path) -> None:
    rows = zip(*(values_of(column) for column in columns.values()), strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer: Any = csv.writer(file, lineterminator="\n")
        writer.writerow(map(_cell, columns))
        writer.writerows(map(_cell, row) for row in rows)


def _cell(value: object) -> object:
    """A text that a spreadsheet takes for a formula stands behind an apostrophe; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = escaped(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
