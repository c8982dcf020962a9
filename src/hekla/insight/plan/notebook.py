"""A plan in a notebook: whether the job would start, where, what holds it back, and what would help."""

from __future__ import annotations

from collections.abc import Iterator

from hekla.insight.plan.plan import Plan
from hekla.insight.plan.trial import PlannedStart
from hekla.simulation.report.notebook import boxed, paragraph, table
from hekla.text import counted, some_of

NODES_SHOWN, PODS_SHOWN = 12, 6
ANSWERS = {
    PlannedStart.NOW: "would start now",
    PlannedStart.LATER: "would start, not in the first cycle",
    PlannedStart.NOT: "would not start",
}


def plan_html(plan: Plan) -> str:
    return boxed(f"{plan.job}: {ANSWERS[plan.start]}", table(_rows(plan)), *_suggestions(plan))


def _rows(plan: Plan) -> Iterator[tuple[str, str]]:
    pods = counted(plan.pods, "pod")
    yield "queue", plan.queue
    yield "pods", f"{len(plan.placements)} of {pods} placed, at least {plan.minimum} start together"
    if plan.nodes:
        named = [f"{name} ({pods})" for name, pods in plan.nodes.items()]
        yield "nodes", some_of(named, NODES_SHOWN)
    for loser in plan.losers:
        yield "evicts", f"{some_of(loser.pods, PODS_SHOWN)} of {loser.job or 'no job'}"
    if len(plan.placements) < plan.pods:
        yield "held back", plan.headline
        yield from (("", reason) for reason in plan.reasons)


def _suggestions(plan: Plan) -> Iterator[str]:
    if plan.suggestions:
        yield paragraph("It would start with any one of these changes:")
        yield table([(f"{at}.", each.change) for at, each in enumerate(plan.suggestions, start=1)])
