"""Spans of time and sizes on the command line.

Spans as Go writes them, and with days: `500ms`, `1m30s`, `7d`, `1d12h`, or a number of seconds; sizes as
Kubernetes does: `500Mi`, `1Gi`.
"""

from __future__ import annotations

import math

import click

from hekla.errors import InputError
from hekla.objects.duration import LONGEST, read_long_span
from hekla.objects.quantity import whole


class Span(click.ParamType[float]):
    """Seconds from 0 to a hundred years; `is_positive` leaves 0 out."""

    name = "duration"

    def __init__(self, *, is_positive: bool = False) -> None:
        self._is_positive = is_positive

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = _seconds(str(value))
        if math.isnan(seconds):
            self.fail(f'"{value}" is no span of time; write it like "1s", "1m30s" or "7d"', param, ctx)
        if seconds < 0 or (self._is_positive and seconds == 0):
            self.fail(f'"{value}" is too short; expected a span {self._least}', param, ctx)
        if seconds > LONGEST:
            self.fail(f'"{value}" is too long; expected a span of at most a hundred years', param, ctx)
        return seconds

    @property
    def _least(self) -> str:
        return "above 0" if self._is_positive else "of at least 0"


def _seconds(text: str) -> float:
    """What the text says; NaN where it says nothing."""
    for read in (float, read_long_span):
        try:
            return read(text)
        except (InputError, ValueError):
            pass
    return math.nan


class Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            size = whole(str(value))
        except InputError:
            size = 0
        if size <= 0:
            self.fail(f'"{value}" is no size; write it like "500Mi" or "2Gi"', param, ctx)
        return size


SPAN, POSITIVE_SPAN, SIZE = Span(), Span(is_positive=True), Size()
