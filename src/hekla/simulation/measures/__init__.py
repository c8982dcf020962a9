"""Measures: what a run's columns say about waiting, use, fairness and lost work.

summary        all figures of a run: `summarize`
waits          waits, completion times and slowdowns, spread over groups of jobs
use            what was used of the capacity, over time and by node
presence       jobs and pods that wait and run, over time
shares         what queues held against what they were entitled to
causes         how long jobs waited for what, and what was idle because of it
lost_time      the same over the whole run, as figures and in words
room           fragmentation, and gangs that waited with a partial fit
evictions      which led to which, as chains
spans          the arithmetic of all of them
records        a run as plain data; `frames` as data frames; `files` writes both
text           the summary for people

Bare functions on arrays; docs/concepts/measures.md has the definitions.
"""

from __future__ import annotations

from hekla.simulation.measures.files import save
from hekla.simulation.measures.records import run_data
from hekla.simulation.measures.room import BesideRoom, waited_beside_room
from hekla.simulation.measures.spans import Chains, Link, chains
from hekla.simulation.measures.summary import Fairness, ResourceUse, Summary, summarize
from hekla.simulation.measures.text import summary_lines
from hekla.simulation.measures.usage import (
    JobSeries,
    ShareSeries,
    UseSeries,
    backlog_over_time,
    jobs_over_time,
    node_use,
    shares_over_time,
    use_over_time,
)
from hekla.simulation.measures.waits import SIZES, Curve, JobGroup, Spread, wait_distribution

__all__ = [
    "SIZES",
    "BesideRoom",
    "Chains",
    "Curve",
    "Fairness",
    "JobGroup",
    "JobSeries",
    "Link",
    "ResourceUse",
    "ShareSeries",
    "Spread",
    "Summary",
    "UseSeries",
    "backlog_over_time",
    "chains",
    "jobs_over_time",
    "node_use",
    "run_data",
    "save",
    "shares_over_time",
    "summarize",
    "summary_lines",
    "use_over_time",
    "wait_distribution",
    "waited_beside_room",
]
