"""Spans of time on the command line, written as Go writes them: `1s`, `500ms`, `1m30s`, or a number."""

from __future__ import annotations

import click

from hekla.errors import InputError
from hekla.objects.duration import read_duration


class Span(click.ParamType[float]):
    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value)
        try:
            return float(text)
        except ValueError:
            pass
        try:
            return read_duration(text).total_seconds()
        except (InputError, ValueError):
            self.fail(f'"{text}" is no span of time; write it like "1s", "500ms" or "1m30s"', param, ctx)


SPAN = Span()
