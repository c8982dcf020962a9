"""Page: a comparison as a report, the runs of the first seed side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hekla.insight.compare.compare import Comparison
from hekla.insight.compare.differences import Judgement
from hekla.insight.compare.text import cautions, cells, interval_words, whose_row
from hekla.insight.compare.verdict import verdict_of
from hekla.report import Table, write_report


def write_comparison_report(comparison: Comparison, path: Path) -> None:
    """One HTML file: the verdict, all differences, and the runs of the first seed in pictures."""
    said = [interval_words(comparison), *cautions(comparison)]
    write_report(
        comparison.runs,
        path,
        title=f"{comparison.title}: {' / '.join(comparison.names)}",
        verdict="\n\n".join((*(str(verdict_of(against)) for against in comparison.against), *said)),
        differences=difference_table(comparison),
    )


def difference_table(comparison: Comparison) -> Table:
    """Every figure for all jobs; for single queues and sizes only what is not the same."""
    level = f"{comparison.confidence * 100:g} % interval"
    base = comparison.names[0]
    heads = ("Figure", "Against", base, "There", "Difference", level, "Part", "Judgement")
    return Table(
        heads,
        list(_rows(comparison)),
        caption=f"Differences from {base}; of queues and sizes those that are sure",
    )


def _rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    for against in comparison.against:
        for each in against.differences:
            is_part = bool(each.queue or each.size)
            is_told = (
                each.judgement in (Judgement.BETTER, Judgement.WORSE) if is_part else not each.is_nothing
            )
            if is_told and not (each.queue and each.size):
                yield (whose_row(each), against.name, *cells(each))
