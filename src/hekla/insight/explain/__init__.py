"""Explaining jobs that wait: why, behind whom, for what and who holds it, until when, and what would help.

cycles          how far a cluster is let go on until it says why jobs wait
alike           explanations that say the same of several jobs
job_answer      all that there is to say of one job: `answer_for`
position        which jobs have their turn before it
holders         which jobs hold what it waits for
expected_start  when it will start, as far as that can be told
state           all that is known of a cluster, and how decisions are made on it
"""

from __future__ import annotations

from hekla.insight.explain.alike import AlikeJobs, alike
from hekla.insight.explain.cycles import cycle_that_tells
from hekla.insight.explain.expected_start import SAMPLES, ExpectedStart, StartAssumptions, expected_start
from hekla.insight.explain.holders import Holder, Holders, holders_of
from hekla.insight.explain.job_answer import Effort, JobAnswer, answer_for, answer_left_out
from hekla.insight.explain.position import JobAhead, QueuePosition, position_of
from hekla.insight.explain.state import ClusterState

__all__ = [
    "SAMPLES",
    "AlikeJobs",
    "ClusterState",
    "Effort",
    "ExpectedStart",
    "Holder",
    "Holders",
    "JobAhead",
    "JobAnswer",
    "QueuePosition",
    "StartAssumptions",
    "alike",
    "answer_for",
    "answer_left_out",
    "cycle_that_tells",
    "expected_start",
    "holders_of",
    "position_of",
]
