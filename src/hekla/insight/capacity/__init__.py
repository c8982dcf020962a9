"""Capacity: how many nodes, or how much of a quota, a workload needs to meet its goals.

goals          what is to hold: `wait.p95 < 10m`
sizing         what is counted, and the cluster that each number stands for
observed       what one run says of a goal; `figures` what several do, and how sure that is
search         the smallest size, by halving, and its neighbours
capacity       all of it together: `capacity`; `trials` are its runs
held_back      why no size is enough
verdict        the answer in words; `curve` as a picture, `records` as data

docs/how-to/size-a-cluster.md says what the intervals mean.
"""

from __future__ import annotations

from hekla.insight.capacity.capacity import CapacityAnswer, SizeFigures, capacity
from hekla.insight.capacity.curve import curve_svg, form_of_curve, write_curve
from hekla.insight.capacity.figures import GoalFigure
from hekla.insight.capacity.goals import Goal, read_goal
from hekla.insight.capacity.held_back import BindingLimit, HeldBack
from hekla.insight.capacity.observed import WarmUp
from hekla.insight.capacity.records import answer_data, size_rows
from hekla.insight.capacity.sizing import NodeSizing, QuotaSizing, Sizing, read_nodes, read_quota
from hekla.insight.capacity.verdict import answer_lines, headline

__all__ = [
    "BindingLimit",
    "CapacityAnswer",
    "Goal",
    "GoalFigure",
    "HeldBack",
    "NodeSizing",
    "QuotaSizing",
    "SizeFigures",
    "Sizing",
    "WarmUp",
    "answer_data",
    "answer_lines",
    "capacity",
    "curve_svg",
    "form_of_curve",
    "headline",
    "read_goal",
    "read_nodes",
    "read_quota",
    "size_rows",
    "write_curve",
]
