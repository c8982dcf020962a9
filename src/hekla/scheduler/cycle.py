"""Cycle: facts in, decisions out.

snapshot -> session -> actions, advised by plugins -> decisions. Nothing here reads a clock for
a decision or touches the cluster; `now` is handed in and decisions are handed back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from hekla.clock import stopwatch
from hekla.collector import without_collector
from hekla.conf import Conf
from hekla.engine.framework.action import Action
from hekla.engine.framework.closing import close_session
from hekla.engine.framework.decisions import Decision
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.profile import Profile
from hekla.engine.framework.registry import Registry, registrations_of
from hekla.engine.framework.session import Session
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, Shortcuts
from hekla.engine.state.snapshot import Snapshot
from hekla.errors import HeklaError, PluginError, said_by
from hekla.scheduler.action_set import ActionSet
from hekla.scheduler.builtin import BUILTIN


@dataclass
class CycleReport:
    """What one cycle came to: the session as it ended, the decisions, and how long each part took."""

    session: Session
    decisions: list[Decision]
    times: dict[str, float] = field(default_factory=dict)
    by_action: dict[str, list[Decision]] = field(default_factory=dict)
    """Binds and evictions by the action that decided them; what closing adds is in `decisions` alone."""
    profile: Profile | None = None
    """Where the time went, if that was asked for."""
    wake_at: float = math.inf
    """When another cycle may decide differently although nothing happens until then."""


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
    actions: ActionSet | None = None,
) -> CycleReport:
    """One cycle over a snapshot; `memory` is what plugins keep from one cycle to the next.

    A quiet one does the same to pods and jobs, and says neither why pods wait nor what queues hold. The
    `actions` are those of the configuration, where they outlive the cycle; without them it has its own.
    """
    own = ActionSet(conf, registry) if actions is None else nullcontext(actions)
    with without_collector(), own as in_use:
        steps = in_use.in_order()
        by_action: dict[str, list[Decision]] = {name: [] for name, _ in steps}
        watch = PartTimer(("open", *by_action, "close"), profile)
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
            actions=[action for _, action in steps],
        )
        who = ""
        try:
            for who, call in in_use.calls:
                decided = len(session.decisions)
                session.trace.speaker = who
                watch.begins(who)
                call(session)
                by_action[who] += session.decisions[decided:]
            who = ""
            watch.begins("close")
            close_session(session)
        except HeklaError:
            raise
        except Exception as error:
            raise fault_of(f'action "{who}"' if who else "closing the session", error) from error
    return CycleReport(
        session, session.decisions, watch.stopped(), by_action, profile, wake_at=session.wake_at
    )


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
    actions: Sequence[Action] = (),
) -> Session:
    """A session over the snapshot, advised by the configured plugins, for these actions."""
    session = Session(snapshot, conf, now=now, uid=uid, memory=memory, shortcuts=shortcuts, is_quiet=is_quiet)
    registrations, plugins = registrations_of(conf, registry), list[Plugin]()
    try:
        for one in registrations.all:
            plugins.append(one.plugin(one.arguments, session, hierarchical=one.is_hierarchical))
    except HeklaError:
        raise
    except Exception as error:
        raise fault_of(f'plugin "{registrations.all[len(plugins)].plugin.name}"', error) from error
    if profile is not None:
        for plugin in plugins:
            profile.watch(plugin)
    try:
        session.take_in(plugins, registrations, actions)
    except HeklaError:
        raise
    except Exception as error:
        raise fault_of(f'plugin "{session.plugins[-1].name}"', error) from error
    return session


class PartTimer:
    """How long each part of the cycle takes; one ends where the next begins."""

    def __init__(self, parts: Sequence[str], profile: Profile | None) -> None:
        self._profile = profile
        self._times = dict.fromkeys(parts, 0.0)
        self._part, self._began = parts[0], stopwatch()
        self.begins(parts[0])

    def begins(self, part: str) -> None:
        now = stopwatch()
        self._times[self._part] += now - self._began
        self._part, self._began = part, now
        if self._profile is not None:
            self._profile.part = part

    def stopped(self) -> dict[str, float]:
        """By part, in seconds."""
        self._times[self._part] += stopwatch() - self._began
        return self._times


def fault_of(who: str, error: Exception) -> PluginError:
    """An exception that is not ours, told as the fault of the plugin or action that raised it."""
    return PluginError(f"{who} failed: {said_by(error)}")
