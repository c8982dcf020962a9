"""Comparison: the same arrivals under several configurations, and what the difference is worth.

compare        every configuration with every seed: `compare`
arrivals       other arrivals out of a trace: drawn anew in blocks, or shifted
chance         what differs from seed to seed
trials         one configuration with one seed; `workers` runs many at a time
pairs          every job under two configurations
figures        what is held against each other
intervals      how far from zero a difference may be by chance
differences    each figure of a candidate against that of the base
verdict        in words; `text` for people, `records` as data and files, `page` as a report

docs/concepts/comparison.md says what the intervals mean.
"""

from __future__ import annotations

from hekla.insight.compare.arrivals import Arrivals, AsTheyAre, Jittered, Resampled
from hekla.insight.compare.compare import Against, Comparison, RunSummary, compare
from hekla.insight.compare.differences import FigureDifference, Judgement
from hekla.insight.compare.pairs import Estimate
from hekla.insight.compare.records import (
    comparison_data,
    comparison_lines,
    form_of,
    save_comparison,
    write_comparison_report,
)
from hekla.insight.compare.trials import Chance, ComparedConf
from hekla.insight.compare.verdict import ComparisonVerdict, verdict_of

__all__ = [
    "Against",
    "Arrivals",
    "AsTheyAre",
    "Chance",
    "ComparedConf",
    "Comparison",
    "ComparisonVerdict",
    "Estimate",
    "FigureDifference",
    "Jittered",
    "Judgement",
    "Resampled",
    "RunSummary",
    "compare",
    "comparison_data",
    "comparison_lines",
    "form_of",
    "save_comparison",
    "verdict_of",
    "write_comparison_report",
]
