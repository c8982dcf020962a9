"""How a profile looks: a table of who spent how much, in the order of the cycle."""

from __future__ import annotations

from collections.abc import Sequence

from hekla.cli.table import counted, table
from hekla.framework.profile import Line

TRIFLE = 0.001
"""Lines below this part of the whole are not worth reading; they are added up in one."""


def profile_table(lines: Sequence[Line]) -> str:
    """Every part of the cycle with its plugins, largest first; what is left of it is the engine's."""
    whole = sum(line.seconds for line in lines)
    told = [line for line in lines if line.seconds >= TRIFLE * whole]
    if hidden := [line for line in lines if line.seconds < TRIFLE * whole]:
        told.append(_added_up(hidden, "-", counted(len(hidden), "smaller line")))
    told.append(Line("whole cycle", "", "", 0, whole))
    return table(
        ("part", "who", "question", "calls", "seconds", "share"), [_row(line, whole) for line in told]
    )


def _added_up(lines: Sequence[Line], part: str, who: str) -> Line:
    return Line(part, who, "", sum(line.calls for line in lines), sum(line.seconds for line in lines))


def _row(line: Line, whole: float) -> tuple[str, ...]:
    calls = f"{line.calls:,}" if line.calls else ""
    share = line.seconds / whole if whole else 0.0
    return line.part, line.who, line.question, calls, f"{line.seconds:.4f}", f"{share:.1%}"
