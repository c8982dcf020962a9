"""How a plan looks to people: the answer first, then whom it costs what, then what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill

from hekla.cli.table import counted, table
from hekla.insight.plan import Delay, Loser, Plan, Start, Suggestion

WIDTH = 100
GLUE = "\N{NO-BREAK SPACE}"
NODES_SHOWN = 8
PODS_SHOWN = 3


def told(plan: Plan) -> str:
    return "\n\n".join(section for section in _sections(plan) if section)


def _sections(plan: Plan) -> Iterator[str]:
    yield wrapped(f"{plan.job}: {answer(plan)}", "  ")
    if plan.losers:
        title = "pods that would have to go" if plan.starts else "pods that would go, to no avail"
        yield f"{title}\n{_losers(plan.losers)}"
    if plan.delays:
        yield f"jobs that would get fewer pods started now\n{_delays(plan.delays)}"
    if len(plan.placements) < plan.pods:
        what = "the rest" if plan.starts else "it"
        reasons = [wrapped(f"  - {reason}", "    ") for reason in plan.reasons]
        yield "\n".join([wrapped(f"what holds {what} back: {plan.headline}", "  "), *reasons])
    if not plan.starts:
        yield suggested(plan)


def wrapped(text: str, indent: str) -> str:
    """Long lines go on below, indented; names are never cut, and nodes keep their counts beside them."""
    lines = fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace(GLUE, " ")


def answer(plan: Plan) -> str:
    """The first line: yes or no, when and where."""
    if plan.start is Start.NOT:
        return f"would not start: {gist(plan)}"
    when = {Start.NOW: "would start now", Start.LATER: f"would start {_after(plan)}"}[plan.start]
    pods = counted(plan.pods, "pod")
    if len(plan.placements) < plan.pods:
        pods = f"{len(plan.placements)} of {pods} (at least {plan.minimum} start together)"
    return f"{when}, {pods} on {counted(len(plan.nodes), 'node')}: {_nodes(plan)}"


def gist(plan: Plan) -> str:
    """The one reason that says most: how far the gang came, else whatever is said first."""
    counts = [reason for reason in plan.reasons if "found a place" in reason]
    reason = next(iter((*counts, *plan.reasons, plan.headline)))
    return reason.partition(": ")[2] if counts else reason


def _after(plan: Plan) -> str:
    lost = sum(len(loser.pods) for loser in plan.losers)
    if lost:
        return f"after {counted(lost, 'pod')} of others {'is' if lost == 1 else 'are'} evicted"
    if plan.leaving:
        return (
            f"once {counted(plan.leaving, 'pod')} on the way out {'is' if plan.leaving == 1 else 'are'} gone"
        )
    return f"in cycle {plan.cycles}"


def _nodes(plan: Plan) -> str:
    named = [f"{name}{GLUE}({pods})" if pods > 1 else name for name, pods in plan.nodes.items()]
    return _some(named, NODES_SHOWN)


def _some(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _losers(losers: Sequence[Loser]) -> str:
    rows = [
        (
            loser.job or "-",
            loser.queue or "-",
            loser.action,
            f"{loser.left} left of at least {loser.minimum}" + (": it stops" if loser.is_broken else ""),
            f"{len(loser.pods)}: {_some(loser.pods, PODS_SHOWN)}",
        )
        for loser in losers
    ]
    return table(("job", "queue", "by", "afterwards", "pods"), rows)


def _delays(delays: Sequence[Delay]) -> str:
    rows = [(delay.job, delay.queue, delay.pods_without, delay.pods_with) for delay in delays]
    return table(("job", "queue", "without it", "with it"), rows)


def suggested(plan: Plan) -> str:
    """What would help, the smallest change first; and how far the search went."""
    ended = "" if plan.is_complete else f"; the search stopped after {plan.tries} tries"
    if plan.tries == 0:
        return ""
    if not plan.suggestions:
        return f"no change that was tried lets it start{ended}"
    lines = [f"it would start with any one of these changes{ended}"]
    lines += [f"  {i}. {_line(each, plan)}" for i, each in enumerate(plan.suggestions, start=1)]
    return "\n".join(lines)


def _line(suggestion: Suggestion, plan: Plan) -> str:
    lost = sum(len(loser.pods) for loser in suggestion.losers)
    notes = []
    if lost:
        jobs = sorted({loser.job or "-" for loser in suggestion.losers})
        notes.append(f"evicts {counted(lost, 'pod')} of {_some(jobs, PODS_SHOWN)}")
    elif suggestion.start is Start.LATER:
        notes.append("not in the first cycle")
    if suggestion.kind == "minimum":
        notes.append(f"{suggestion.pods} of {plan.pods} pods start")
    # Each place of the manifest on a line of its own.
    change = suggestion.change.replace("; ", ";\n     ")
    return change + (f"\n     {', '.join(notes)}" if notes else "")
