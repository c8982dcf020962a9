"""Files: a run written down, in the form that the name asks for."""

from __future__ import annotations

from pathlib import Path

from hekla.sim.run import Run


def save(run: Run, path: Path, form: str = "csv") -> list[Path]:
    """The files written.

    `.json`: summary and jobs. `.csv`, `.parquet`: jobs. A name without a suffix is a folder, which gets jobs,
    stints and series, each as `form` ("csv" or "parquet").
    """
    raise NotImplementedError
