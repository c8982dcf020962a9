"""Plot: measured points and a straight line through them on log-log axes, as SVG.

Colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 420
LEFT, RIGHT, TOP, BOTTOM = 74, 24, 94, 58
TICK = 4

STYLE = """
  .page { fill: #ffffff } text { fill: #24292f; font: 13px system-ui, sans-serif }
  .title { font-size: 16px; font-weight: 600 } .words, .tick { fill: #57606a }
  .grid { stroke: #d8dee4; stroke-width: 1 } .axis { stroke: #57606a; stroke-width: 1 }
  .line { stroke: #0969da; stroke-width: 2; fill: none } .point { fill: #0969da }
  .even { stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 2 5; fill: none }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #e6edf3 } .words, .tick { fill: #9198a1 }
    .grid { stroke: #2b3138 } .axis { stroke: #9198a1 }
    .line { stroke: #58a6ff } .point { fill: #58a6ff } .even { stroke: #6e7681 }
  }
"""


@dataclass(frozen=True)
class Line:
    """A power law, which is a straight line on log-log axes: y = factor times x to the slope."""

    slope: float
    factor: float

    def at(self, x: float) -> float:
        return float(self.factor * x**self.slope)


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis between two numbers, laid on pixels."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers on the axis: 1, 2 and 5 of every decade, or 1 alone where there are many decades."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if self.high / self.low < 1000 else (1,)
        found = [step * 10.0**decade for decade in decades for step in steps]
        return [tick for tick in found if self.low <= tick * 1.001 and tick <= self.high * 1.001]


@dataclass(frozen=True)
class Chart:
    """What one picture shows; the words below the title say what its slope means."""

    title: str
    words: str
    x_label: str
    y_label: str
    points: Sequence[tuple[float, float]]
    line: Line


def svg(chart: Chart) -> str:
    """The picture, as the text of a file."""
    xs, ys = zip(*chart.points, strict=True)
    x_axis = Axis(min(xs) / 1.25, max(xs) * 1.25, LEFT, WIDTH - RIGHT)
    y_axis = Axis(min(ys) / 2, max(*ys, min(ys) * 10) * 2, HEIGHT - BOTTOM, TOP)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{escape(chart.title)}: {escape(chart.words)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
            _text(LEFT, 28, chart.title, "title"),
            _text(LEFT, 50, chart.words, "words"),
            *_legend(LEFT, 71),
            *_grid(x_axis, y_axis),
            *_labels(chart),
            *_curves(chart, x_axis, y_axis),
            "</svg>\n",
        )
    )


def _legend(x: float, y: float) -> Iterator[str]:
    yield f'<circle class="point" cx="{x + 5}" cy="{y}" r="4.5"/>'
    yield _text(x + 18, y + TICK, "measured", "words")
    for at, (kind, words) in enumerate((("line", "fitted"), ("even", "if it grew in proportion"))):
        start = x + 100 + 90 * at
        yield _stroke(kind, start, y, start + 24, y)
        yield _text(start + 32, y + TICK, words, "words")


def _grid(x_axis: Axis, y_axis: Axis) -> Iterator[str]:
    bottom, left = y_axis.start, x_axis.start
    for tick in x_axis.ticks():
        x = x_axis.place(tick)
        yield _stroke("grid", x, bottom, x, y_axis.end)
        yield _text(x, bottom + 20, f"{tick:,.0f}", "tick", "middle")
    for tick in y_axis.ticks():
        y = y_axis.place(tick)
        yield _stroke("grid", left, y, x_axis.end, y)
        yield _text(left - 2 * TICK, y + TICK, f"{tick:g}", "tick", "end")
    yield _stroke("axis", left, bottom, x_axis.end, bottom)
    yield _stroke("axis", left, bottom, left, y_axis.end)


def _labels(chart: Chart) -> Iterator[str]:
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, chart.x_label, "", "middle")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 18 {middle:.1f})"'
    yield f'<text x="18" y="{middle:.1f}" text-anchor="middle" {turned}>{escape(chart.y_label)}</text>'


def _curves(chart: Chart, x_axis: Axis, y_axis: Axis) -> Iterator[str]:
    """The points, the line through them, and for the eye what growth in proportion would look like."""
    first, last = chart.points[0][0], chart.points[-1][0]
    even = Line(1.0, chart.line.at(first) / first)
    end = min(last, y_axis.high / even.factor)
    yield _stroke("even", *_spot(first, even, x_axis, y_axis), *_spot(end, even, x_axis, y_axis))
    yield _stroke("line", *_spot(first, chart.line, x_axis, y_axis), *_spot(last, chart.line, x_axis, y_axis))
    for x, y in chart.points:
        yield f'<circle class="point" cx="{x_axis.place(x):.1f}" cy="{y_axis.place(y):.1f}" r="4.5"/>'


def _spot(x: float, line: Line, x_axis: Axis, y_axis: Axis) -> tuple[float, float]:
    return x_axis.place(x), y_axis.place(line.at(x))


def _stroke(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
