"""Writes the figures of docs/performance.md from what was measured.

python benchmarks/page.py            write them
python benchmarks/page.py --check    exit 1 where the page does not say what the files say
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from figures import Figures, Results, load
from growth import Curve, kept
from machine import REFERENCE
from report import TOO_BIG, TOO_SLOW, seconds, verdict
from workloads import Limits, Workload, listed

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "performance.md"
FIGURES = DOCS / "performance" / "figures.json"
HEADERS = ("Workload", "Nodes", "Pods", "Decided", "hekla, s", "Volcano, s", "Must, s", "Aim, s", "Verdict")


def figures_section(results: Results, workloads: Sequence[Workload]) -> str:
    by_name = {figures.name: figures for figures in results.figures}
    rows = [row for one in workloads if one.name in by_name for row in _rows(one, by_name[one.name])]
    return f"{measured_on(results)}\n\n{markdown([HEADERS, *rows])}"


def measured_on(results: Results) -> str:
    machine, commit = results.machine, results.commit
    slow = [figures.slowness for figures in results.figures]
    at = f"commit {commit.revision}" + (" with changes" if commit.is_dirty else "")
    return (
        f"Measured at {at} with Python {machine.python} and NumPy {machine.numpy} on {machine.cpus} "
        f"processors ({machine.model}). The calibration took {min(slow):.2f} to {max(slow):.2f} times its "
        f"reference of {REFERENCE:g} s meanwhile, and that much is taken out of the seconds of hekla."
    )


def _rows(workload: Workload, figures: Figures) -> Iterator[tuple[str, ...]]:
    run = figures.best
    limits = Limits(workload.must, workload.aim)
    yield (
        workload.name,
        f"{workload.nodes:,}",
        f"{run.pods:,}",
        f"{run.decided:,}",
        seconds(figures.scaled),
        "-" if workload.volcano is None else f"{workload.volcano:g}",
        f"{limits.must:g}",
        f"{limits.aim:g}",
        verdict(figures.scaled, limits, TOO_SLOW).lower(),
    )
    if workload.gigabytes is not None and run.gigabytes is not None:
        limits = workload.gigabytes
        answer = verdict(run.gigabytes, limits, TOO_BIG).lower()
        size, most, wanted = (f"{value:.2g} GB" for value in (run.gigabytes, limits.must, limits.aim))
        yield (f"{workload.name}, memory", "", "", "", size, "-", most, wanted, answer)


def growth_section(curves: Sequence[Curve]) -> str:
    return "\n\n".join(
        f"![{curve.title}](performance/growth-{curve.name}.svg)\n\n{curve.title}: {curve.words}."
        for curve in curves
    )


def markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def filled(page: str, name: str, text: str) -> str:
    """The page with other text between the two marks of that name."""
    start, end = f"<!-- {name}: written by benchmarks/page.py -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f'no marks of "{name}" in the page; expected {start} and {end}')
    return pattern.sub(lambda _: f"{start}\n\n{text}\n\n{end}", page)


def current_page() -> str:
    """The page as it should be."""
    page = filled(PAGE.read_text("utf-8"), "figures", figures_section(load(FIGURES), listed().workloads))
    return filled(page, "growth", growth_section(kept()))


def main() -> int:
    page = current_page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page, "utf-8")
        return 0
    if PAGE.read_text("utf-8") == page:
        return 0
    print("docs/performance.md is not current; run: python benchmarks/page.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
