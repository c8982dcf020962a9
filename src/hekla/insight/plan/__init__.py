"""Planning: would a job start now, and what would have to change; nothing is touched.

cluster        a cluster on which things are supposed and taken back
trial        cycles on the cluster until a job has started, or nothing changes
request      a job as its user hands it in, and how it can be asked for differently
intake       from manifests to requests, and from requests to objects
changes      what could be asked for instead; scales: what could be asked for less of
search       the smallest changes that work
plan         the answer
"""

from __future__ import annotations

from hekla.insight.plan.intake import PlannedState, admitted_state, with_first_pods
from hekla.insight.plan.plan import TRIES, Delay, Plan, Planner, Suggestion, plan
from hekla.insight.plan.trial import Loser, PlannedStart, Shortage

__all__ = [
    "TRIES",
    "Delay",
    "Loser",
    "Plan",
    "PlannedStart",
    "PlannedState",
    "Planner",
    "Shortage",
    "Suggestion",
    "admitted_state",
    "plan",
    "with_first_pods",
]
