"""Text: a comparison for people, in at most 100 columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap

from hekla.insight.compare.arrivals import Jittered, Resampled
from hekla.insight.compare.compare import Against, Comparison
from hekla.insight.compare.differences import Difference, Judgement, of_queues_and_sizes
from hekla.insight.compare.figures import ALL, Unit
from hekla.insight.compare.trials import Chance
from hekla.insight.compare.verdict import considered, counted, signed, verdict_of
from hekla.simulation.measures.text import WIDTH, aligned
from hekla.simulation.measures.words import spoken_seconds

LABEL = 14
LONGEST_NAME = 12
LONGEST_GROUP = 20
MOST_QUEUES = 15
_TIED = "\u00a0%"
BY_GROUP = ("wait.mean", "completion.mean", "evictions")


def comparison_lines(comparison: Comparison) -> list[str]:
    """The verdict of every candidate, what it rests on, and the figures side by side."""
    lines = wrapped(interval_words(comparison), WIDTH)
    for caution in cautions(comparison):
        lines += wrapped(caution, WIDTH)
    for against in comparison.against:
        lines += ["", *verdict_lines(against), "", *figure_table(against, comparison.confidence)]
        for key in BY_GROUP:
            table = group_table(against, key, comparison.confidence)
            lines += ["", *table] if table else []
    return lines


def verdict_lines(against: Against) -> Iterator[str]:
    (_, headline), *others = verdict_of(against).lines
    yield from wrapped(headline, WIDTH)
    for label, text in others:
        first, *more = wrapped(text, WIDTH - LABEL)
        yield f"  {label:{LABEL - 2}}{first}"
        yield from (" " * LABEL + line for line in more)


def interval_words(comparison: Comparison) -> str:
    """Which kind of interval there is, and what it is about."""
    level = f"{comparison.confidence * 100:g} %"
    seeds = max((len(against.seeds) for against in comparison.against), default=0)
    if seeds < 2:
        blocks = max((against.blocks for against in comparison.against), default=0)
        if not blocks:
            return "one run each, too few jobs for intervals"
        return (
            f"one run each; {level} intervals from leaving out each of {blocks} blocks of consecutive jobs "
            "in turn: what other jobs of this kind might bring. Figures of whole runs have none"
        )
    paired = f"{level} intervals, paired over {seeds} seeds: "
    match comparison.chance, comparison.arrivals:
        case Chance.RESAMPLED, Resampled(block):
            return (
                f"{paired}each draws blocks of {spoken_seconds(block)} of the workload anew; the intervals "
                "tell what another workload like it might bring"
            )
        case Chance.JITTERED, Jittered(most):
            return (
                f"{paired}each puts off arrivals by up to {spoken_seconds(most)} at random; the intervals "
                "are about this workload, not about others like it"
            )
        case Chance.FAILURES, _:
            return f"{paired}the same jobs in all, other failures in each"
    return f"{paired}each brings other jobs, and all configurations get the same"


def cautions(comparison: Comparison) -> Iterator[str]:
    """What a reader of the verdict should bear in mind."""
    if not comparison.is_complete:
        complete = min((len(against.seeds) for against in comparison.against), default=0)
        yield f"stopped: {complete} of {counted(len(comparison.seeds), 'seed')} complete"
    for against in comparison.against:
        if against.widening > 1:
            likeness, times = f"{against.neighbour_correlation:.2f}", f"{against.widening:.1f} times"
            yield (
                f"{against.name}: blocks are like their neighbours (correlation {likeness}), so the "
                f"intervals are made {times} as wide; other arrivals would tell more"
            )
    judged = sum(
        each.judgement in (Judgement.BETTER, Judgement.WORSE, Judgement.UNSURE)
        for against in comparison.against
        for each in considered(against)
    )
    expected = round(judged * (1 - comparison.confidence))
    if expected:
        yield (
            f"each interval stands for itself: of {judged} that may or may not exclude zero, about "
            f"{expected} would do so by chance alone"
        )


def figure_table(against: Against, confidence: float) -> list[str]:
    """All jobs and the whole cluster."""
    shown = [each for each in against.differences if each.group == ALL and not each.is_nothing]
    rows = [(each.measure.label, *cells(each)) for each in shown]
    return _table("all jobs", against, confidence, rows)


def group_table(against: Against, key: str, confidence: float) -> list[str]:
    """One measure, for each queue and each size; the queues with the most jobs where there are many."""
    found = [each for each in of_queues_and_sizes(against.differences, key) if not each.is_nothing]
    queues = sorted((each for each in found if each.queue), key=lambda each: -each.jobs)
    beyond = len(queues) - MOST_QUEUES
    shown = [*queues[:MOST_QUEUES], *(each for each in found if each.size)]
    if not shown:
        return []
    rows = [(shortened(group_label(each), LONGEST_GROUP), *cells(each)) for each in shown]
    more = [f"and {counted(beyond, 'queue')} with fewer jobs"] if beyond > 0 else []
    return _table(shown[0].measure.label, against, confidence, rows) + more


def whose_row(difference: Difference) -> str:
    """`wait, mean` of all jobs, `wait, mean: queue research` of some."""
    label = difference.measure.label
    return label if difference.group == ALL else f"{label}: {group_label(difference)}"


def group_label(difference: Difference) -> str:
    if difference.size:
        return f"{difference.size} pod{'' if difference.size == '1' else 's'}"
    return f"queue {difference.queue}"


def _table(what: str, against: Against, confidence: float, rows: Sequence[Sequence[str]]) -> list[str]:
    names = (shortened(name, LONGEST_NAME) for name in (against.base, against.name))
    heads = (what, *names, "difference", f"{confidence * 100:g}% interval", "part", "")
    return [line.rstrip() for line in aligned(heads, rows)]


def cells(difference: Difference) -> Sequence[str]:
    """Base, candidate, difference, interval, part, judgement."""
    estimate, measure = difference.estimate, difference.measure
    low, high = (signed(difference, end) for end in (estimate.low, estimate.high))
    part = difference.part
    is_percent = measure.unit not in (Unit.PART, Unit.INDEX) and not math.isnan(part)
    return (
        measure.spoken(difference.base),
        measure.spoken(difference.candidate),
        signed(difference, estimate.difference),
        "-" if low == "-" else f"{low} to {high}",
        _spoken_part(part) if is_percent else "",
        {Judgement.UNKNOWN: ""}.get(difference.judgement, difference.judgement.value),
    )


def _spoken_part(part: float) -> str:
    text = f"{part:+.0%}"
    return "0%" if text in ("+0%", "-0%") else text


def wrapped(text: str, width: int) -> list[str]:
    """Lines of the text; a number and its per cent stay together."""
    return [line.replace(_TIED, " %") for line in wrap(text.replace(" %", _TIED), width)]


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
