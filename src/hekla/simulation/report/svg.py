"""SVG: charts that stand in a notebook's page, without scripts; text and axes take its colour.

Every word is escaped. Coordinates are rounded to tenths of a pixel: equal results give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from hekla.simulation.measures.words import DAY, HOUR, MINUTE, spoken_number, spoken_seconds
from hekla.simulation.report.tables import escape
from hekla.simulation.run import Floats
from hekla.text import shortened_inside

# Between those of the report for light and for dark pages: a notebook may be either. The last for the rest.
COLOURS = ("#2f86d6", "#c98a10", "#1f9d6b", "#c2559a", "#d9603a", "#3fa9c9", "#8f8420", "#6a60dd", "#8a9099")
WIDTH, HEIGHT = 640, 200
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 24, 22
LEGEND = 18
TIME_STEPS = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30),
    *(minutes * MINUTE for minutes in (1, 2, 5, 10, 20, 30)),
    *(hours * HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * DAY for days in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
)
ROW, BESIDE, BEYOND = 18, 180, 14
"""Of bands: the height of one, where they begin, and how far out lies what is not in sight."""
MOST_TICKS = 6
ROUND = (1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 4.8, 6.4, 8.0, 10.0)
"""Where an axis ends: numbers that are read as easily when they are halved."""
LONGEST = 26
"""Characters of a label."""


class ChartCurve(msgspec.Struct, frozen=True):
    """Values over time, under a name."""

    label: str
    values: Floats
    """(T,)"""
    colour: str


class Band(msgspec.Struct, frozen=True):
    """What is likely to lie between two moments, and half of it before a third; infinite: not in sight."""

    label: str
    low: float
    middle: float
    high: float


def areas(title: str, edges: Floats, curves: Sequence[ChartCurve], ceiling: Floats | None = None) -> str:
    """Curves on top of each other; the ceiling is a line that they lie below."""
    total = sum((curve.values for curve in curves), np.zeros(len(edges) - 1))
    frame = Frame.of(edges, total if ceiling is None else np.maximum(total, ceiling))
    parts, below = [], np.zeros(len(edges) - 1)
    for curve in curves:
        above = below + curve.values
        outline = [*frame.steps(edges, above), *reversed(frame.steps(edges, below))]
        parts.append(f'<polygon points="{" ".join(outline)}" fill="{curve.colour}" fill-opacity="0.8"/>')
        below = above
    if ceiling is not None:
        parts.append(_line(frame.steps(edges, ceiling), "currentColor", dashed=True))
    return _drawn(title, frame, parts, curves)


def lines(title: str, edges: Floats, curves: Sequence[ChartCurve]) -> str:
    """Curves across each other."""
    frame = Frame.of(edges, np.max([curve.values for curve in curves], axis=0))
    parts = [_line(frame.steps(edges, curve.values), curve.colour) for curve in curves]
    return _drawn(title, frame, parts, curves)


def bands(title: str, rows: Sequence[Band]) -> str:
    """A bar for each, from its low end to its high one, with a mark in the middle."""
    ends = [moment for band in rows for moment in (band.low, band.middle, band.high) if math.isfinite(moment)]
    scale = TimeScale(max(ends, default=0.0) or 1.0)
    parts = [part for number, band in enumerate(rows) for part in _band(band, scale, TOP + ROW * number)]
    height = TOP + ROW * len(rows) + BOTTOM
    ticks = [
        _text(scale.x(moment), height - 6, spoken_seconds(moment), "middle", soft=True)
        for moment in time_ticks(scale.most)
    ]
    return _svg(title, height, [*parts, *ticks])


class TimeScale(msgspec.Struct, frozen=True):
    """Where moments lie beside labels; what is not in sight ends to the right of all that is."""

    most: float

    def x(self, moment: float) -> float:
        width = WIDTH - BESIDE - RIGHT - 2 * BEYOND
        return BESIDE + (width + BEYOND if math.isinf(moment) else width * moment / self.most)


def _band(band: Band, scale: TimeScale, top: float) -> Iterator[str]:
    yield _text(BESIDE - 8, top + 12, _cut(band.label), "end")
    if math.isinf(band.low):
        yield _text(BESIDE, top + 12, "not in sight", "start", soft=True)
        return
    low, middle, high = map(scale.x, (band.low, band.middle, band.high))
    yield _bar(low, max(high - low, 2.0), top + 4, 10, 'fill-opacity="0.45"')
    yield _bar(middle - 1.5, 3.0, top + 2, 14)


def _bar(x: float, width: float, y: float, height: float, looks: str = "") -> str:
    place = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"'
    return f'<rect {place} rx="1.5" fill="{COLOURS[0]}" {looks}/>'


class Frame(msgspec.Struct, frozen=True):
    """Where seconds and values lie in the picture."""

    end: float
    most: float

    @staticmethod
    def of(edges: Floats, values: Floats) -> Frame:
        most = float(np.nanmax(values)) if len(values) else 0.0
        return Frame(float(edges[-1]) or 1.0, round_above(most))

    def x(self, seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / self.end

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.most

    def steps(self, edges: Floats, values: Floats) -> list[str]:
        """The corners of what stays the same within each part of time."""
        times, heights = np.repeat(edges, 2)[1:-1], np.repeat(np.nan_to_num(values), 2)
        return [f"{self.x(at):.1f},{self.y(value):.1f}" for at, value in zip(times, heights, strict=True)]

    def axes(self) -> Iterator[str]:
        for value in (0.0, self.most / 2, self.most):
            y = self.y(value)
            yield (
                f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
                'stroke-opacity="0.2"/>'
            )
            yield _text(LEFT - 6, y + 4, spoken_number(value), "end", soft=True)
        for moment in time_ticks(self.end):
            yield _text(self.x(moment), HEIGHT - 6, spoken_seconds(moment), "middle", soft=True)


def round_above(most: float) -> float:
    """The least round number that is not below it."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(power * step for step in ROUND if power * step >= most * (1 - 1e-9))


def time_ticks(end: float) -> list[float]:
    """Round moments up to the end, few enough to be read."""
    step = next((each for each in TIME_STEPS if end / each <= MOST_TICKS), end / MOST_TICKS)
    return [number * step for number in range(math.floor(end / step) + 1)]


def _drawn(title: str, frame: Frame, parts: Sequence[str], curves: Sequence[ChartCurve]) -> str:
    return _svg(title, HEIGHT + LEGEND, [*frame.axes(), *parts, *_legend(curves)])


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(title)}" style="max-width:100%;font:11px sans-serif">'
        f"{_text(0, 12, title, 'start', bold=True)}{''.join(parts)}</svg>"
    )


def _legend(curves: Sequence[ChartCurve]) -> Iterator[str]:
    x, y = float(LEFT), HEIGHT + LEGEND - 6
    for curve in curves:
        label = _cut(curve.label)
        yield f'<rect x="{x:.1f}" y="{y - 9}" width="10" height="10" fill="{curve.colour}"/>'
        yield _text(x + 14, y, label, "start")
        x += 28 + 6.2 * len(label)


def _line(corners: Sequence[str], colour: str, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<polyline points="{" ".join(corners)}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
    )


def _text(x: float, y: float, text: str, anchor: str, *, soft: bool = False, bold: bool = False) -> str:
    looks = ' fill-opacity="0.7"' * soft + ' font-weight="bold"' * bold
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="currentColor"{looks}>{escape(text)}</text>'


def _cut(label: str) -> str:
    return shortened_inside(label, LONGEST)
