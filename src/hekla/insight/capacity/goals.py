"""Goals: what is to hold, as `wait.p95 < 10m` or `research: slowdown.mean <= 3`.

goal:     queue and a colon or neither, measure, operator, limit
measure:  wait, completion or slowdown, a dot, and mean, p50, p95, p99 (any pNN) or longest
          utilisation and a resource (utilisation.gpu), makespan, evictions, completed, jain
operator: < <= > >=
limit:    a span of time for times (90, 10m, 1h30m, 2d), 60% or 0.6 for parts, else a number
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from hekla.errors import InputError
from hekla.objects.complaint import did_you_mean, quoted
from hekla.simulation.measures.words import spoken_number, spoken_part, spoken_seconds
from hekla.simulation.workloads.fields import seconds_of
from hekla.simulation.workloads.shapes import GPU

EXAMPLE = '"wait.p95 < 10m"'

OF_JOBS = ("wait", "completion", "slowdown")
"""What every job has, of which a statistic is named."""
UTILISATION = "utilisation"
OF_RUNS = (UTILISATION, "makespan", "evictions", "completed", "jain")
"""What there is one of in a run."""
SECONDS = ("wait", "completion", "makespan")
PARTS = (UTILISATION, "completed")

MEAN, LONGEST = "mean", "longest"
_ALSO = {
    "max": LONGEST,
    "most": LONGEST,
    "median": "p50",
    "response": "completion",
    "utilization": UTILISATION,
}
_PERCENTILE = re.compile(r"\Ap([0-9]{1,2}(?:\.[0-9]+)?)\Z")
_OPERATOR = re.compile(r"<=|>=|<|>|≤|≥")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_PLAIN = {"≤": "<=", "≥": ">="}


@dataclass(frozen=True)
class Goal:
    """One of a measure: on which side of a limit it is to lie."""

    measure: str
    statistic: str
    """`mean`, `p95`, `longest`; of utilisation the resource; empty where a run has but one."""
    operator: str
    limit: float
    limit_text: str
    """As it was written."""
    queue: str = ""
    """Whose jobs; empty: all."""

    @property
    def key(self) -> str:
        """`wait.p95`, `utilisation.cpu`."""
        return f"{self.measure}.{self.statistic.rpartition('/')[2]}" if self.statistic else self.measure

    @property
    def label(self) -> str:
        """With the queue."""
        return f"{self.queue}: {self.key}" if self.queue else self.key

    def __str__(self) -> str:
        return f"{self.label} {self.operator} {self.limit_text}"

    @property
    def level(self) -> float | None:
        """The part of the jobs that a percentile is about; none for other statistics."""
        found = _PERCENTILE.match(self.statistic)
        return float(found[1]) / 100 if found and self.is_of_jobs else None

    @property
    def is_of_jobs(self) -> bool:
        return self.measure in OF_JOBS

    @property
    def is_upper(self) -> bool:
        """Whether less is well."""
        return self.operator.startswith("<")

    @property
    def is_served_by_more(self) -> bool:
        """Whether more nodes, or more of a quota, bring it nearer."""
        return self.is_upper != (self.measure in ("completed", "jain"))

    def is_met_by(self, value: float) -> bool:
        return _OPERATORS[self.operator](value, self.limit)

    def spoken(self, value: float) -> str:
        """A value of the measure in words."""
        if math.isinf(value):
            return "never" if self.measure in SECONDS else "no end"
        if self.measure in SECONDS:
            return spoken_seconds(value)
        return spoken_part(value) if self.measure in PARTS else spoken_number(value)


def read_goal(text: str, queue: str = "") -> Goal:
    """The goal that a text says, of the jobs of that queue where it names none itself."""
    found = _OPERATOR.search(text)
    if found is None:
        raise _wrong(
            text, len(text.rstrip()), f'expected "<", "<=", ">" or ">=" and a limit, as in {EXAMPLE}'
        )
    place, before = 0, text[: found.start()]
    if ":" in before:
        named, _, before = before.rpartition(":")
        place, queue = len(named) + 1, named.strip()
        if not queue:
            raise _wrong(text, 0, 'expected the name of a queue before ":"')
    measure, statistic = _measure(text, before, place)
    if queue and measure in (UTILISATION, "jain", "makespan"):
        raise _wrong(text, place, f"{measure} is that of the whole cluster, and of no queue")
    return Goal(
        measure,
        statistic,
        _PLAIN.get(found[0], found[0]),
        _limit(text, found.end(), measure),
        text[found.end() :].strip(),
        queue,
    )


def _measure(text: str, written: str, place: int) -> tuple[str, str]:
    """The measure and its statistic, of what stands at that place of the goal."""
    place += len(written) - len(written.lstrip())
    name, dot, statistic = written.strip().partition(".")
    measure = _ALSO.get(name, name)
    known = (*OF_JOBS, *OF_RUNS)
    if measure not in known:
        hint = did_you_mean(name, known) or f"; known are {', '.join(known)}"
        raise _wrong(text, place, f"no measure {quoted(name)}{hint}")
    place += len(name) + len(dot)
    if measure == UTILISATION:
        if not statistic:
            raise _wrong(text, place, 'say of which resource, as in "utilisation.cpu < 80%"')
        return measure, GPU if statistic == "gpu" else statistic
    if measure in OF_RUNS:
        if statistic:
            raise _wrong(
                text, place, f"there is one {measure} in a run; write it without {quoted(statistic)}"
            )
        return measure, ""
    statistic = _ALSO.get(statistic, statistic)
    if statistic not in (MEAN, LONGEST) and not _PERCENTILE.match(statistic):
        written = f", got {quoted(statistic)}" if statistic else f", as in {EXAMPLE}"
        raise _wrong(text, place, f"expected mean, p50, p95, another pNN, or longest{written}")
    return measure, statistic


def _limit(text: str, place: int, measure: str) -> float:
    written = text[place:].strip()
    place += len(text[place:]) - len(text[place:].lstrip())
    try:
        limit = _seconds(written) if measure in SECONDS else _number(written, is_part=measure in PARTS)
    except (InputError, ValueError) as error:
        raise _wrong(text, place, str(error)) from error
    return limit


def _seconds(written: str) -> float:
    seconds = seconds_of(written.replace(" ", "").removesuffix("in"))  # "10 min" is 10m
    if math.isinf(seconds):
        raise InputError(f"expected a span of time that ends, got {quoted(written)}")
    return seconds


def _number(written: str, *, is_part: bool) -> float:
    try:
        value = float(written.removesuffix("%"))
    except ValueError:
        value = math.nan
    if written.endswith("%"):
        value /= 100
    example = '"60%" or 0.6' if is_part else "3"
    if math.isnan(value) or value < 0 or (written.endswith("%") and not is_part):
        raise InputError(f"expected a number such as {example}, got {quoted(written)}")
    if is_part and value > 1:
        raise InputError(f"{quoted(written)} is more than all of it; write it like {example}")
    return value


def _wrong(text: str, place: int, message: str) -> InputError:
    """The error, and at which column of the goal."""
    return InputError(f"goal {quoted(text)}, column {place + 1}: {message}")
