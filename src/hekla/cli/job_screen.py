"""One job on one screen: why it waits, who is ahead, when it starts, who holds what, what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill

from hekla.cli.given_state import spoken_expectation
from hekla.cli.looking import in_order, spelled
from hekla.cli.plan import GLUE, line_of
from hekla.cli.plan import answer as answer_of
from hekla.engine.model.resources import Resources
from hekla.insight.explain import Holder, Holders, JobAnswer, QueuePosition
from hekla.insight.plan import Plan
from hekla.text import counted, shortened, table

WIDTH = 80
ROWS_SHOWN = 5
COLUMNS_SHOWN = 3
LONGEST_NAME = 34


def screen(answer: JobAnswer) -> str:
    return "\n\n".join(filter(None, _sections(answer)))


def _sections(answer: JobAnswer) -> Iterator[str]:
    explanation, plan = answer.explanation, answer.plan
    yield "\n".join([*_head(answer), *_facts(answer)])
    if rest := [reason for reason in explanation.reasons if not reason.endswith(explanation.why)]:
        yield "\n".join(["what else was said", *(wrapped(f"  - {reason}", "    ") for reason in rest)])
    if answer.position is not None and answer.position.ahead:
        yield ahead(answer.position)
    if answer.holders is not None:
        yield holders(answer.holders)
    if plan is not None:
        yield helping(plan)


def wrapped(text: str, indent: str) -> str:
    """Long lines go on below, indented; names are never cut, and old values keep together."""
    glued = text.replace("(was ", f"(was{GLUE}")
    lines = fill(glued, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace(GLUE, " ")


def _head(answer: JobAnswer) -> Iterator[str]:
    """The job, whether its waiting passes, and what binds."""
    explanation = answer.explanation
    verdict = f"{explanation.verdict} ({explanation.code}): " if explanation.verdict else ""
    yield wrapped(f"{explanation.job}: {verdict}{explanation.why or explanation.headline}", "  ")


def _facts(answer: JobAnswer) -> Iterator[str]:
    explanation, position = answer.explanation, answer.position
    facts = {"state": explanation.headline, "pods": spoken_pods(answer), "queue": explanation.queue}
    if not answer.minimum:
        facts.pop("pods")
    if position is not None:
        facts["queue"] = f"{position.queue}, place {position.place} of {position.waiting} that wait"
    if answer.expected is not None:
        facts["expected start"] = spoken_expectation(answer.expected)
        facts |= {"" if at else "supposing": note for at, note in enumerate(answer.expected.notes)}
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        yield wrapped(f"  {name:<{width}}{value}", " " * (width + 2))


def spoken_pods(answer: JobAnswer) -> str:
    """How many there are; else how many there will be, as far as that is known."""
    expected = 0 if answer.plan is None else answer.plan.pods
    pods = counted(answer.pods or expected, "pod") if answer.pods or expected else "none exist"
    made = " (none exist yet)" if expected and not answer.pods else ""
    return f"{pods}{made}, at least {answer.minimum} start together"


def ahead(position: QueuePosition) -> str:
    """Who has its turn before, with how much."""
    resources = shown_resources(position.asks_ahead)
    rows = [
        (short(each.job), each.pods or "-", *(amount(each.asks, name) for name in resources))
        for each in position.ahead[:ROWS_SHOWN]
    ]
    title = f"ahead of it in its queue: {counted(len(position.ahead), 'job')}"
    total = in_words(position.asks_ahead)
    lines = table(("job", "pods", *resources), rows, WIDTH)
    return "\n".join([f"{title}, which ask for {total}" if total else title, lines, *more(position.ahead)])


def holders(found: Holders) -> str:
    """Who holds what it waits for."""
    resources = [found.resource, *(name for name in shown_resources(found.held) if name != found.resource)]
    rows = [_holder_row(each, resources[:COLUMNS_SHOWN]) for each in found.jobs[:ROWS_SHOWN]]
    where = (
        f'in queue "{found.queue}"'
        if found.queue
        else f"on the {counted(len(found.nodes), 'node')} it may use"
    )
    held = amount(found.held, found.resource)
    of = f" of {amount(found.of, found.resource)}" if found.resource in found.of else ""
    title = f"who holds {found.resource} {where} ({held}{of} held)"
    headers = ("job", "queue", "pods", *resources[:COLUMNS_SHOWN])
    return "\n".join([title, table(headers, rows, WIDTH), *more(found.jobs)])


def _holder_row(holder: Holder, resources: Sequence[str]) -> tuple[object, ...]:
    amounts = (amount(holder.amounts, name) for name in resources)
    return short(holder.job or "pods of no job"), holder.queue or "-", holder.pods, *amounts


def more(things: Sequence[object]) -> Iterator[str]:
    if len(things) > ROWS_SHOWN:
        yield f"and {len(things) - ROWS_SHOWN} more"


def helping(plan: Plan) -> str:
    """Changes with which it would start now, the smallest first, and how far the search went."""
    if plan.starts:
        return wrapped(f"as it is it {answer_of(plan)}", "  ")
    if not plan.tries:
        return ""
    ended = "" if plan.is_complete else f"; the search stopped after {counted(plan.tries, 'try', 'tries')}"
    if not plan.suggestions:
        return f"what would help: no change that was tried{ended}"
    lines = [wrapped(f"what would help: any one of these, submitted anew (each was tried out{ended})", "  ")]
    for at, each in enumerate(plan.suggestions, start=1):
        lines += [wrapped(line, "       ") for line in f"  {at}. {line_of(each, plan)}".split("\n")]
    return "\n".join(lines)


def short(name: str) -> str:
    return shortened(name, LONGEST_NAME)


def shown_resources(amounts: Resources) -> list[str]:
    return in_order(amounts)[:COLUMNS_SHOWN]


def amount(amounts: Resources, name: str) -> str:
    return spelled(name, amounts[name]) if name in amounts else "-"


def in_words(amounts: Resources) -> str:
    """`cpu 40, memory 128Gi`."""
    return ", ".join(f"{name} {spelled(name, amounts[name])}" for name in in_order(amounts))
