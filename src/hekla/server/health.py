"""Health: whether the process lives, and whether it can do its work, check by check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from hekla.clock import stopwatch
from hekla.kube.reflector import Pulse
from hekla.objects import Manifest

if TYPE_CHECKING:
    from hekla.server.server import Server

MOST_NAMED = 5


@dataclass(frozen=True)
class Check:
    """What was looked at and what is wrong with it; a mere warning does not make the answer a no."""

    name: str
    problem: str = ""
    is_warning: bool = False
    remark: str = ""

    @property
    def passes(self) -> bool:
        return not self.problem or self.is_warning

    def __str__(self) -> str:
        if not self.problem:
            return f"[+]{self.name} ok" + (f": {self.remark}" if self.remark else "")
        sign, word = ("[!]", "warning") if self.is_warning else ("[-]", "failed")
        return f"{sign}{self.name} {word}: {self.problem}"


def liveness(server: Server) -> list[Check]:
    """Whoever answers, lives, unless the engine hangs."""
    return [Check("event-loop"), Check("engine", _stall(server))]


def readiness(server: Server) -> list[Check]:
    """A replica that stands by is as ready as the one that leads."""
    return [
        Check("in-sync", not_in_sync(_pulses(server))),
        Check("api-server", silence(_pulses(server), server.options.staleness_limit)),
        Check("permissions", "; ".join(_not_allowed(server))),
        Check("cycle", server.failure or _stall(server)),
        Check("objects", "; ".join(_put_aside(server)), is_warning=True),
        Check("recording", server.scribe.trouble if server.scribe is not None else "", is_warning=True),
        Check("configuration", server.conf_file.mistake, is_warning=True),
        Check("leadership", remark="leads" if server.leads else "stands by"),
    ]


def text_of(title: str, checks: Sequence[Check], *, is_verbose: bool) -> tuple[bool, str]:
    """Whether all is well, and the answer in words: every check, or just what is wrong."""
    is_well = all(check.passes for check in checks)
    if is_well and not is_verbose:
        return True, "ok\n"
    shown = checks if is_verbose else [check for check in checks if not check.passes]
    lines = [*map(str, shown), f"{title} check {'passed' if is_well else 'failed'}"]
    return is_well, "".join(f"{line}\n" for line in lines)


def _pulses(server: Server) -> dict[type[Manifest], Pulse]:
    return {kind: reflector.pulse for kind, reflector in server.cluster.reflectors.items()}


def not_in_sync(pulses: dict[type[Manifest], Pulse]) -> str:
    """The kinds that have not been listed yet, and why, as far as it is known."""
    waiting = {kind.__name__: pulse for kind, pulse in pulses.items() if not pulse.synced.is_set()}
    if not waiting:
        return ""
    more = len(waiting) - MOST_NAMED
    names = ", ".join(list(waiting)[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    trouble = next((pulse.trouble for pulse in waiting.values() if pulse.trouble), "")
    return f"not listed yet: {names}" + (f" ({trouble})" if trouble else "")


def silence(pulses: dict[type[Manifest], Pulse], limit: float) -> str:
    """The API server has not been heard of for too long."""
    silent = {kind.__name__: pulse for kind, pulse in pulses.items() if pulse.is_stale(limit)}
    if not silent:
        return ""
    longest = max(pulse.silence for pulse in silent.values())
    trouble = next(iter(silent.values())).trouble
    return f"not heard of for {longest:.0f} s ({', '.join(silent)}): {trouble}"


def _not_allowed(server: Server) -> Iterator[str]:
    yield from (f"may not {permission}" for permission in server.permissions.missing)
    if server.permissions.rejection:
        yield server.permissions.rejection


def _put_aside(server: Server) -> Iterator[str]:
    reasons = server.cluster.aside.reasons
    for kind, key in islice(reasons, MOST_NAMED):
        yield f"{kind.__name__.lower()} {key} is put aside: {reasons[kind, key]}"
    if len(reasons) > MOST_NAMED:
        yield f"{len(reasons) - MOST_NAMED} more are put aside"


def _stall(server: Server) -> str:
    """Cycles have begun, and none has ended for too long; rounds without one count as well."""
    options, stalled = server.options, 0.0 if server.moved_at is None else stopwatch() - server.moved_at
    limit = options.stall_limit + options.period
    return f"no cycle has ended for {stalled:.0f} s" if stalled > limit else ""
