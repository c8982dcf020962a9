"""A comparison in a notebook: the verdict, figures, and the runs of the first seed across each other."""

from __future__ import annotations

import numpy as np

from hekla.insight.compare import comparison_lines
from hekla.insight.compare.compare import Comparison
from hekla.simulation.measures import jobs_over_time
from hekla.simulation.measures.spans import edges_of
from hekla.simulation.report.notebook import BUCKETS, boxed, preformatted
from hekla.simulation.report.svg import COLOURS, ChartCurve, lines


def comparison_html(comparison: Comparison) -> str:
    heading = f"{comparison.title}: {' / '.join(comparison.names)}"
    said = preformatted(comparison_lines(comparison))
    return boxed(heading, said, *([waiting_chart(comparison)] if comparison.runs else []))


def waiting_chart(comparison: Comparison) -> str:
    """Jobs that wait under each configuration; a run that is over earlier has none afterwards."""
    edges = edges_of(max(comparison.runs, key=lambda run: run.end), BUCKETS)
    curves = []
    for number, run in enumerate(comparison.runs):
        own = jobs_over_time(run, BUCKETS)
        values = np.interp(edges[:-1], own.times, own.waiting.sum(axis=1), right=0.0)
        curves.append(ChartCurve(run.conf, values, COLOURS[number % len(COLOURS)]))
    return lines("jobs that wait", edges, curves)
