"""Profile: where the time of a cycle went, by action, plugin and extension point.

A plugin is watched by putting a stopwatch around its answers and around whatever it overrides of
`Plugin`. The session asks it as ever; without a profile nothing is wrapped, and nothing is paid.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import isfunction
from typing import Any

from hekla.clock import stopwatch
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import declared

ENGINE = "engine"
"""Who spent the time that no plugin did: the action, the session, and the stopwatches themselves."""


@dataclass
class TimeSpent:
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Line:
    """What one plugin spent on one question during one part of the cycle."""

    part: str
    who: str
    question: str
    calls: int
    seconds: float


class Profile:
    """Hand it to one cycle; `part` is what runs just now: an action, `open` or `close`."""

    def __init__(self) -> None:
        self.part = ""
        self._spent: dict[tuple[str, str], defaultdict[str, TimeSpent]] = {}
        """By plugin and question, then by part."""
        self._seconds_inside = 0.0

    def watch(self, plugin: Plugin) -> None:
        """From now on, time what the plugin is asked and told."""
        for name, question in questions(type(plugin)).items():
            setattr(plugin, name, self._timed(plugin.name, question, getattr(plugin, name)))

    def lines(self, times: Mapping[str, float]) -> list[Line]:
        """The whole time of every part, divided up: the plugins' by size, then what is left."""
        return [line for part, seconds in times.items() for line in self._lines_of(part, seconds)]

    def _lines_of(self, part: str, seconds: float) -> Iterator[Line]:
        lines = [
            Line(part, plugin, question, spent[part].calls, spent[part].seconds)
            for (plugin, question), spent in self._spent.items()
            if part in spent
        ]
        yield from sorted(lines, key=lambda line: -line.seconds)
        yield Line(part, ENGINE, "", 0, seconds - sum(line.seconds for line in lines))

    def _timed(self, plugin: str, question: str, method: Callable[..., Any]) -> Callable[..., Any]:
        spent_in = self._spent.setdefault((plugin, question), defaultdict(TimeSpent))

        @wraps(method)
        def timed(*arguments: Any, **named: Any) -> Any:
            outside, self._seconds_inside = self._seconds_inside, 0.0
            start = stopwatch()
            try:
                return method(*arguments, **named)
            finally:
                seconds = stopwatch() - start
                # What was asked meanwhile has been counted already, under its own name.
                spent = spent_in[self.part]
                spent.calls += 1
                spent.seconds += seconds - self._seconds_inside
                self._seconds_inside = outside + seconds

        return timed


def questions(plugin: type[Plugin]) -> dict[str, str]:
    """By method: the points that it answers, or its own name where it overrides one of `Plugin`."""
    found = {
        name: name
        for name, method in vars(Plugin).items()
        if isfunction(method) and not name.startswith("_") and getattr(plugin, name) is not method
    }
    for name, point, _, _ in declared(plugin):
        found[name] = f"{found[name]}, {point.name}" if name in found else point.name
    return found
