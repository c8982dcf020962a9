"""Page: a comparison as a report, the runs of the first seed side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hekla.comparison.compare import Comparison
from hekla.comparison.text import cautions, cells, interval_words, whose_row
from hekla.comparison.verdict import verdict_of
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
    """Every difference that is not nothing, for all jobs, each queue and each size."""
    level = f"{comparison.confidence * 100:g} % interval"
    base = comparison.names[0]
    heads = ("Figure", "Against", base, "There", "Difference", level, "Part", "Judgement")
    return Table(heads, list(_rows(comparison)), caption=f"Differences from {base}")


def _rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    for against in comparison.against:
        for each in against.differences:
            if not (each.queue and each.size) and not each.is_nothing:
                yield (whose_row(each), against.name, *cells(each))
