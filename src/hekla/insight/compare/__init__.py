"""Comparison: the same arrivals under several configurations, and what the difference is worth.

compare        every configuration with every seed: `compare`
names          what configurations are called
trials         one configuration with one seed
pairs          every job under two configurations, and how far from zero a difference may be by chance
figures        what is held against each other
differences    each figure of a candidate against that of the base
changes        a difference in a few characters
verdict        in words; `basis` says what it rests on
text           for people at a terminal; `records` as data and files, `page` as a report

docs/concepts/comparison.md says what the intervals mean.
"""

from __future__ import annotations

from hekla.insight.compare.compare import Against, Comparison, RunSummary, compare
from hekla.insight.compare.differences import FigureDifference, Judgement
from hekla.insight.compare.names import names_of, numbered
from hekla.insight.compare.page import write_comparison_report
from hekla.insight.compare.pairs import Estimate
from hekla.insight.compare.records import comparison_data, form_of, save_comparison
from hekla.insight.compare.text import JudgedText, comparison_lines, judged_lines
from hekla.insight.compare.trials import ComparedConf
from hekla.insight.compare.verdict import ComparisonVerdict, VerdictKind, verdict_of
from hekla.simulation.workloads.arrivals import Arrivals, AsTheyAre, Chance, Jittered, Resampled

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
    "JudgedText",
    "Judgement",
    "Resampled",
    "RunSummary",
    "VerdictKind",
    "compare",
    "comparison_data",
    "comparison_lines",
    "form_of",
    "judged_lines",
    "names_of",
    "numbered",
    "save_comparison",
    "verdict_of",
    "write_comparison_report",
]
