"""Curve: every goal's figure over the sizes that were tried, with its interval and its limit, as SVG or page.

Colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hekla.errors import InputError
from hekla.insight.capacity.capacity import CapacityAnswer
from hekla.insight.capacity.figures import GoalFigure
from hekla.insight.capacity.goals import Goal
from hekla.insight.capacity.scale import GoalScale, scale_of
from hekla.insight.capacity.verdict import (
    busiest_resource,
    cautions,
    goals_in_words,
    headline,
    how_sure,
    interval_in_words,
    judgement,
)
from hekla.simulation.measures.words import spoken_part
from hekla.simulation.report.page import policy
from hekla.simulation.report.tables import Table, escape, table_html

FORMS = (".svg", ".html")
WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 44, 58
NEAR = 4
"""Pixels between a label and what it labels."""
MOST_SIZE_TICKS = 10
NAMESPACE = "http://www.w3.org/2000/svg"

STYLE = """
  .capacity .page { fill: #ffffff }
  .capacity text { fill: #24292f; font: 13px system-ui, sans-serif }
  .capacity .title { font-weight: 600 } .capacity .tick { fill: #57606a }
  .capacity .grid { stroke: #d8dee4; stroke-width: 1 } .capacity .axis { stroke: #57606a; stroke-width: 1 }
  .capacity .interval { fill: #0969da; fill-opacity: 0.15 }
  .capacity .likely { fill: #8c959f; fill-opacity: 0.2 }
  .capacity .line { stroke: #0969da; stroke-width: 2; fill: none } .capacity .met { fill: #0969da }
  .capacity .missed { fill: #ffffff; stroke: #0969da; stroke-width: 2 }
  .capacity .limit { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 6 4 }
  .capacity .limit-text { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    .capacity .page { fill: #0d1117 } .capacity text { fill: #e6edf3 } .capacity .tick { fill: #9198a1 }
    .capacity .grid { stroke: #2b3138 } .capacity .axis { stroke: #9198a1 }
    .capacity .interval { fill: #58a6ff } .capacity .line { stroke: #58a6ff }
    .capacity .met { fill: #58a6ff } .capacity .missed { fill: #0d1117; stroke: #58a6ff }
    .capacity .limit { stroke: #ff7b72 } .capacity .limit-text { fill: #ff7b72 }
  }
"""
"""A picture may stand in a page of something else, such as a notebook, where it must not style the rest."""
PAGE_STYLE = """
  :root { color-scheme: light dark }
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
  h1 { font-size: 1.3rem } svg { max-width: 100%; height: auto }
  .wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
  th, td { text-align: right; padding: 0.2rem 0.8rem; border-bottom: 1px solid #8884; white-space: nowrap }
  th:first-child, td:first-child { padding-left: 0 }
"""


@dataclass(frozen=True)
class CurvePanel:
    """One goal's picture, from a height of the whole picture on."""

    answer: CapacityAnswer
    goal: Goal
    points: Sequence[tuple[int, GoalFigure]]
    scale: GoalScale
    above: float

    def x(self, size: float) -> float:
        first, last = self.points[0][0], self.points[-1][0]
        part = (size - first) / (last - first) if last > first else 0.5
        return LEFT + 12 + part * (WIDTH - LEFT - RIGHT - 24)

    def y(self, value: float) -> float:
        return self.above + HEIGHT - BOTTOM - self.scale.part(value) * (HEIGHT - TOP - BOTTOM)

    @property
    def bottom(self) -> float:
        return self.above + HEIGHT - BOTTOM

    @property
    def top(self) -> float:
        return self.above + TOP


def write_curve(answer: CapacityAnswer, path: Path | str) -> None:
    """Writes the picture, or a page with it, as the name of the file asks."""
    path = Path(path)
    text = curve_html(answer) if form_of_curve(path) == ".html" else curve_svg(answer)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error


def form_of_curve(path: Path) -> str:
    """What the name asks for; anything else is refused."""
    form = path.suffix.lower()
    if form not in FORMS:
        raise InputError(f'cannot draw a curve to "{path}": a name ends in {" or ".join(FORMS)}')
    return form


def curve_html(answer: CapacityAnswer) -> str:
    """A page that needs nothing else: the answer, the picture and a table."""
    style = PAGE_STYLE + STYLE
    said = "".join(f"<p>{escape(text)}</p>" for text in (*how_sure(answer), *cautions(answer)))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, "")}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(answer.title)}: {escape(goals_in_words(answer))}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n<h1>{escape(headline(answer))}</h1>\n{said}\n"
        f"{_picture(answer)}\n{table_html(_table(answer))}\n</body>\n</html>\n"
    )


def shown_html(answer: CapacityAnswer) -> str:
    """The answer and the picture, to stand in a page of something else."""
    return f"<p>{escape(headline(answer))}</p>\n{curve_svg(answer) if answer.sizes else ''}"


def _table(answer: CapacityAnswer) -> Table:
    busiest = busiest_resource(answer)
    heads = [answer.sizing.heading]
    for goal in answer.goals:
        heads += [goal.label, "interval"]
    heads += [f"{busiest.rpartition('/')[2]} used", ""] if busiest else [""]
    rows = []
    for size in answer.sizes:
        cells = [f"{size.value:,}"]
        for figure in size.figures:
            cells += [figure.goal.spoken(figure.value), interval_in_words(figure)]
        cells += [spoken_part(size.utilisation[busiest])] if busiest else []
        rows.append((*cells, judgement(size).strip()))
    return Table(tuple(heads), tuple(rows))


def curve_svg(answer: CapacityAnswer) -> str:
    """The picture, as the text of a file."""
    return _picture(answer, f"<style>{STYLE}</style>")


def _picture(answer: CapacityAnswer, style: str = "") -> str:
    height = HEIGHT * len(answer.goals)
    title = f"{headline(answer)}; {goals_in_words(answer)} over {answer.sizing.subject}"
    return "\n".join(
        (
            f'<svg class="capacity" role="img" viewBox="0 0 {WIDTH} {height}" xmlns="{NAMESPACE}">',
            f"<title>{escape(title)}</title>",
            *([style] if style else []),
            f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>',
            *(line for panel in panels_of(answer) for line in _panel(panel)),
            "</svg>\n",
        )
    )


def panels_of(answer: CapacityAnswer) -> Iterator[CurvePanel]:
    """One for every goal, below each other."""
    for number, goal in enumerate(answer.goals):
        points = [(size.value, size.figures[number]) for size in answer.sizes]
        scale = scale_of(goal, [figure for _, figure in points])
        if points:
            yield CurvePanel(answer, goal, points, scale, HEIGHT * number)


def _panel(panel: CurvePanel) -> Iterator[str]:
    yield _text(LEFT, panel.above + 26, str(panel.goal), "title")
    yield from _likely(panel)
    yield from _grid(panel)
    yield from _interval(panel)
    limit = panel.y(panel.goal.limit)
    yield _stroke("limit", LEFT, limit, WIDTH - RIGHT, limit)
    yield _text(WIDTH - RIGHT, limit - NEAR, panel.goal.limit_text, "limit-text", "end")
    line = " ".join(f"{panel.x(size):.1f},{panel.y(figure.value):.1f}" for size, figure in panel.points)
    yield f'<polyline class="line" points="{line}"/>'
    for size, figure in panel.points:
        kind, told = ("met" if figure.is_met else "missed"), panel.goal.spoken(figure.value)
        place = f'cx="{panel.x(size):.1f}" cy="{panel.y(figure.value):.1f}" r="4"'
        yield f'<circle class="{kind}" {place}><title>{size:,}: {escape(told)}</title></circle>'


def _likely(panel: CurvePanel) -> Iterator[str]:
    """The sizes between which the answer surely lies."""
    low, high = panel.answer.low, panel.answer.high
    if low is None or not panel.answer.has_intervals:
        return
    left = panel.x(low) - NEAR
    right = WIDTH - RIGHT if high is None else panel.x(high) + NEAR
    size = f'width="{right - left:.1f}" height="{panel.bottom - panel.top:.1f}"'
    yield f'<rect class="likely" x="{left:.1f}" y="{panel.top:.1f}" {size}/>'


def _grid(panel: CurvePanel) -> Iterator[str]:
    for tick in panel.scale.ticks():
        y = panel.y(tick)
        yield _stroke("grid", LEFT, y, WIDTH - RIGHT, y)
        yield _text(LEFT - 2 * NEAR, y + NEAR, panel.goal.spoken(tick), "tick", "end")
    for size in size_ticks([size for size, _ in panel.points]):
        yield _text(panel.x(size), panel.bottom + 20, f"{size:,}", "tick", "middle")
    yield _stroke("axis", LEFT, panel.bottom, WIDTH - RIGHT, panel.bottom)
    yield _stroke("axis", LEFT, panel.bottom, LEFT, panel.top)
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield _text(middle, panel.bottom + 44, panel.answer.sizing.subject, "", "middle")


def size_ticks(sizes: Sequence[int]) -> list[int]:
    """Round numbers from the least to the most."""
    least, most = sizes[0], sizes[-1]
    rough = max((most - least) / MOST_SIZE_TICKS, 1)
    decade = 10 ** math.floor(math.log10(rough))
    step = next(times * decade for times in (1, 2, 5, 10) if times * decade >= rough)
    return list(range(math.ceil(least / step) * step, most + 1, step)) or [least]


def _interval(panel: CurvePanel) -> Iterator[str]:
    known = [(size, figure) for size, figure in panel.points if figure.has_interval]
    if len(known) < 2:
        return
    upper = [(size, figure.high) for size, figure in known]
    lower = [(size, figure.low) for size, figure in reversed(known)]
    corners = " ".join(f"{panel.x(size):.1f},{panel.y(value):.1f}" for size, value in (*upper, *lower))
    yield f'<polygon class="interval" points="{corners}"/>'


def _stroke(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
