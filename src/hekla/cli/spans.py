"""Spans of time and sizes on the command line.

Spans as Go writes them: `1s`, `500ms`, `1m30s`, or a number; sizes as Kubernetes does: `500Mi`, `1Gi`.
"""

from __future__ import annotations

import click

from hekla.errors import InputError
from hekla.objects.duration import read_duration
from hekla.objects.quantity import whole


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


SPAN, SIZE = Span(), Size()
