"""Text: the summary of a run for people, in at most 100 columns."""

from __future__ import annotations

from hekla.measures.summary import Summary
from hekla.sim.run import Run


def summary_lines(run: Run, summary: Summary | None = None) -> list[str]:
    """A headline block, a table by queue, and one by size."""
    raise NotImplementedError
