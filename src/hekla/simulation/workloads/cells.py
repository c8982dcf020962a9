"""Cells: what stands in the header and the rows of a table, as times, spans of time and amounts.

What cannot be read raises `Broken`, which names the column and what was expected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from hekla.errors import InputError
from hekla.objects.complaint import did_you_mean, quoted
from hekla.objects.quantity import DAY, LONGEST, exact, read_long_span
from hekla.simulation.workloads.columns import SECONDS_BY_UNIT
from hekla.simulation.workloads.source import Source
from hekla.simulation.workloads.trace import Broken, cells_of

DELIMITERS = (",", ";", "\t", "|")
UNKNOWN = frozenset({"", "-", "n/a", "na", "nan", "nat", "none", "null", "unknown"})
"""How tables say that there is nothing, in small letters."""
ENDLESS = frozenset({"forever", "inf", "infinite", "infinity", "unlimited"})

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_CLOCK = re.compile(r"(?:(?P<days>[0-9]+)-)?(?P<clock>[0-9]+(?::[0-9]{1,2}){1,2}(?:\.[0-9]+)?)\Z")


class TableHeader(msgspec.Struct, frozen=True):
    """The names in the first row of a table."""

    names: tuple[str, ...]
    delimiter: str
    line: int = 1

    def place(self, name: str, source: Source) -> int:
        """Which column it is that the name means; raises InputError where there is none."""
        if name not in self.names:
            listed = ", ".join(map(quoted, self.names[:20]))
            near = did_you_mean(name, self.names) or f"; columns are {listed}"
            raise source.wrong(self.line, f"no column {quoted(name)}{near}")
        if self.names.count(name) > 1:
            raise source.wrong(self.line, f"two columns are called {quoted(name)}")
        return self.names.index(name)

    def places(self, columns: Sequence[str], source: Source, what: str) -> list[int]:
        """Where the columns of a known table stand; raises InputError where some are missing."""
        if missing := [column for column in columns if column not in self.names]:
            near = did_you_mean(missing[0], set(self.names) - set(columns))
            listed = ", ".join(map(quoted, missing))
            raise source.wrong(self.line, f"no column {listed} in the header of {what}{near}")
        return [self.place(column, source) for column in columns]

    def cells(self, content: bytes) -> list[str]:
        """The cells of a row; raises Broken where they are not as many as the header has names."""
        cells = cells_of(content, self.delimiter)
        if len(cells) != len(self.names):
            detail = f"the header has {len(self.names)}, the row {len(cells)}"
            raise Broken("wrong number of columns", detail)
        return cells


def header_of(source: Source) -> TableHeader:
    """The header of a table; its delimiter is the one that parts most names."""
    first = next((piece for piece in source.lines() if piece.content.strip()), None)
    if first is None:
        raise InputError(f"{source.name}: the file is empty")
    delimiter = max(DELIMITERS, key=lambda each: first.content.count(each.encode()))
    try:
        names = cells_of(first.content, delimiter)
    except Broken as broken:
        raise source.wrong(first.line, str(broken)) from broken
    return TableHeader(tuple(names), delimiter, first.line)


def is_unknown(cell: str) -> bool:
    return cell.lower() in UNKNOWN


def wrong(why: str, column: str, expected: str, cell: str) -> Broken:
    """The error about a cell, with the column and what was expected there."""
    return Broken(why, f"column {quoted(column)}: expected {expected}, got {quoted(cell)}")


def zone_called(name: str) -> tzinfo:
    """The time zone of this name, as "Europe/Berlin"."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(f'no time zone {quoted(name)}; write it like "Europe/Berlin" or "UTC"') from error


class MomentReader:
    """Reads moments; those without a zone are of the given one."""

    def __init__(self, zone: tzinfo = UTC) -> None:
        self._zone = zone

    def moment(self, cell: str, column: str, unit: str = "s") -> float | None:
        """Seconds since 1970, or since the start where times are plain numbers; none: it is unknown."""
        if is_unknown(cell):
            return None
        found = float(cell) * SECONDS_BY_UNIT[unit] if is_number(cell) else self._dated(cell, column)
        if not 0 <= found < math.inf:
            raise wrong("a negative time", column, "a moment from 0 on", cell)
        return found

    def _dated(self, cell: str, column: str) -> float:
        try:
            moment = datetime.fromisoformat(cell)
            return (moment if moment.tzinfo else moment.replace(tzinfo=self._zone)).timestamp()
        except (ValueError, OverflowError) as error:
            expected = 'seconds, or "2026-01-31T12:00:00Z"'
            raise wrong("not a time", column, expected, cell) from error


def has_zone(cell: str) -> bool:
    """Whether it is clear at which moment a time is: it is a number, or names its zone."""
    if is_unknown(cell) or is_number(cell):
        return True
    try:
        return datetime.fromisoformat(cell).tzinfo is not None
    except ValueError:
        return True


def is_number(cell: str) -> bool:
    return _NUMBER.match(cell) is not None


def span(cell: str, column: str, unit: str = "s") -> float | None:
    """Seconds, infinite ones too: a number of units, "1h30m", or "2-01:30:00"; none: it is unknown."""
    if cell.lower() in ENDLESS:
        return math.inf
    if is_unknown(cell):
        return None
    found = _seconds(cell, unit)
    if found is None:
        raise wrong("not a span of time", column, 'a span as 90, "1h30m" or "2-01:30:00"', cell)
    if not 0 <= found <= LONGEST:
        raise wrong("not a span of time", column, "a span from 0 to a hundred years", cell)
    return found


def _seconds(cell: str, unit: str) -> float | None:
    if is_number(cell):
        return float(cell) * SECONDS_BY_UNIT[unit]
    if clock := _CLOCK.match(cell):
        parts = [float(part) for part in clock["clock"].split(":")]
        scale = (3600.0, 60.0, 1.0)
        # Two parts are minutes and seconds, unless days stand before them.
        places = scale if len(parts) == 3 or clock["days"] else scale[1:]
        days = float(clock["days"] or 0)
        return days * DAY + sum(part * place for part, place in zip(parts, places, strict=False))
    try:
        return read_long_span(cell)
    except InputError:
        return None


def quantity(cell: str, column: str, factor: float = 1.0) -> float:
    """An amount from 0 on: a number of units, or as Kubernetes writes it ("4Gi"); nothing said is 0."""
    if is_unknown(cell):
        return 0.0
    if is_number(cell):
        found = float(cell) * factor
    else:
        try:
            found = float(exact(cell))
        except InputError as error:
            raise wrong("not an amount", column, 'an amount such as 2, "500m" or "4Gi"', cell) from error
    if not 0 <= found < 2**62:
        raise wrong("not an amount", column, "an amount from 0 on that can be counted", cell)
    return found


def count(cell: str, column: str, least: int = 0) -> int | None:
    """A whole number; none where nothing is said."""
    if is_unknown(cell):
        return None
    found = float(cell) if is_number(cell) else math.nan
    if not least <= found < 2**31 or found != int(found):
        raise wrong("not a count", column, f"a whole number from {least} on", cell)
    return int(found)


def without_formula_sign(cell: str) -> str:
    """The text as it was before an apostrophe was put before it for spreadsheets."""
    return cell[1:] if len(cell) > 1 and cell[0] == "'" and cell[1] in "=+-@" else cell
