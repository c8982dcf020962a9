"""Cycle: facts in, decisions out.

snapshot -> session -> actions, advised by plugins -> decisions. Nothing here reads a clock for
a decision or touches the cluster; `now` is handed in and decisions are handed back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hekla.clock import stopwatch
from hekla.collector import without_collector
from hekla.conf import Conf
from hekla.errors import HeklaError, PluginError
from hekla.framework.closing import close_session
from hekla.framework.decisions import Decision
from hekla.framework.lineup import lineup_of, steps_of
from hekla.framework.plugin import Plugin
from hekla.framework.profile import Profile
from hekla.framework.registry import Registry
from hekla.framework.session import Session
from hekla.framework.shortcuts import EVERY_SHORTCUT, Shortcuts
from hekla.scheduler.builtin import BUILTIN
from hekla.state.snapshot import Snapshot


@dataclass
class CycleReport:
    """What one cycle came to: the session as it ended, the decisions, and how long each part took."""

    session: Session
    decisions: list[Decision]
    times: dict[str, float] = field(default_factory=dict)
    by_action: dict[str, list[Decision]] = field(default_factory=dict)
    """Binds and evictions by the action that decided them; what closing adds is in `decisions` alone."""
    profile: Profile | None = None
    """Where the time went, if somebody asked for it."""


def run_cycle(
    snapshot: Snapshot,
    conf: Conf,
    *,
    registry: Registry = BUILTIN,
    now: float = 0.0,
    uid: str = "cycle-1",
    memory: dict[str, float] | None = None,
    shortcuts: Shortcuts = EVERY_SHORTCUT,
    profile: Profile | None = None,
    is_quiet: bool = False,
) -> CycleReport:
    """One cycle over a snapshot; `memory` is what plugins keep from one cycle to the next.

    A quiet one decides the same and does not say why pods wait.
    """
    times: dict[str, float] = {}
    by_action: dict[str, list[Decision]] = {}
    with without_collector():
        with _timed(times, "open", profile):
            session = open_session(
                snapshot,
                conf,
                registry=registry,
                now=now,
                uid=uid,
                memory=memory,
                shortcuts=shortcuts,
                profile=profile,
                is_quiet=is_quiet,
            )
        for name, action, arguments in steps_of(conf, registry):
            decided = len(session.decisions)
            session.story.speaker = name
            with _timed(times, name, profile), _named(f'action "{name}"'):
                action(arguments).run(session)
            by_action[name] = by_action.get(name, []) + session.decisions[decided:]
        with _timed(times, "close", profile), _named("closing the session"):
            close_session(session)
    return CycleReport(session, session.decisions, times, by_action, profile)


def open_session(
    snapshot: Snapshot,
    conf: Conf,
    *,
    registry: Registry = BUILTIN,
    now: float = 0.0,
    uid: str = "cycle-1",
    memory: dict[str, float] | None = None,
    shortcuts: Shortcuts = EVERY_SHORTCUT,
    profile: Profile | None = None,
    is_quiet: bool = False,
) -> Session:
    """A session over the snapshot, with the configured plugins in their seats."""
    session = Session(snapshot, conf, now=now, uid=uid, memory=memory, shortcuts=shortcuts, is_quiet=is_quiet)
    lineup, plugins = lineup_of(conf, registry), list[Plugin]()
    with _named(lambda: f'plugin "{lineup.seats[len(plugins)].plugin.name}"'):
        for seat in lineup.seats:
            plugins.append(seat.plugin(seat.arguments, session, hierarchical=seat.is_hierarchical))
    if profile is not None:
        for plugin in plugins:
            profile.watch(plugin)
    with _named(lambda: f'plugin "{session.plugins[-1].name}"'):
        session.seat(plugins, lineup)
    return session


@contextmanager
def _timed(times: dict[str, float], name: str, profile: Profile | None) -> Iterator[None]:
    if profile is not None:
        profile.part = name
    start = stopwatch()
    yield
    times[name] = times.get(name, 0.0) + stopwatch() - start


@contextmanager
def _named(who: str | Callable[[], str]) -> Iterator[None]:
    """An exception that is not ours is told as the fault of whoever raised it."""
    try:
        yield
    except HeklaError:
        raise
    except Exception as error:
        name = who if isinstance(who, str) else who()
        raise PluginError(f"{name} failed: {type(error).__name__}: {error}") from error
