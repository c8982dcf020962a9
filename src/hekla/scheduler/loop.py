"""Loop: one cycle after another, as long as there is something to decide.

While nothing changes there is nothing to decide anew: the loop then sleeps, in whole periods,
until something happens. Under a virtual clock that is a jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from threading import Lock
from types import TracebackType
from typing import Protocol, runtime_checkable

from hekla.clock import Clock
from hekla.conf import Conf
from hekla.engine.framework.profile import Profile
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, Shortcuts
from hekla.engine.state.snapshot import Snapshot
from hekla.scheduler.action_set import ActionSet
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.scheduler.load.read import LoadReader
from hekla.scheduler.ports import Cluster, CycleObserver

OnCycle = Callable[[CycleReport], None]


@runtime_checkable
class Timed(Protocol):
    """A cluster in which things happen only when it is told how late it is."""

    def advance(self, to: float) -> None:
        """Let everything happen that is due by then."""

    def next_event_at(self) -> float | None:
        """When something happens next, if nothing is submitted before."""

    def may_decide(self) -> bool:
        """Whether a cycle could do anything now."""

    def is_settled(self) -> bool:
        """Nothing has changed since the last snapshot that another cycle would see."""


class Loop:
    """Runs cycles on a cluster, one every `period` seconds.

    `longest_nap` is how long it sleeps at most while nothing changes. With a limit it never ends
    by itself: people may submit work at any time, and some plugins act on the time alone. A `observer`
    is told of every cycle. Actions are taken in with the first cycle, or by `with`, and let go by `close`, at
    the end of the `with`, or at the end of the `run` that took them in.
    """

    def __init__(
        self,
        cluster: Cluster,
        conf: Conf,
        clock: Clock,
        *,
        registry: Registry = BUILTIN,
        period: float = 1.0,
        longest_nap: float = math.inf,
        is_quiet: bool = False,
        observer: CycleObserver | None = None,
        shortcuts: Shortcuts = EVERY_SHORTCUT,
    ) -> None:
        self.conf = conf
        self.cycles = 0
        self.is_quiet = is_quiet
        """Cycles do not say why pods wait."""
        self._cluster = cluster
        # Asked once: looking up whether a class keeps a protocol takes longer than most of what follows.
        self._timed = cluster if isinstance(cluster, Timed) else None
        self._clock = clock
        self._registry = registry
        self._period = period
        self._longest_nap = longest_nap
        self._shortcuts = shortcuts
        self.observer = observer
        self._memory: dict[str, float] = {}
        self._load_reader = LoadReader(conf, self._registry)
        self._actions: ActionSet | None = None
        # A cycle may be under way in another thread when its actions are to go.
        self._in_turn = Lock()

    def open(self) -> None:
        """Take the actions in; raises PluginError where one cannot be initialized."""
        with self._in_turn:
            self._opened()

    def close(self) -> None:
        """Let the actions go, once the cycle that is under way has ended."""
        with self._in_turn:
            actions, self._actions = self._actions, None
            if actions is not None:
                actions.close()

    def __enter__(self) -> Loop:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> ActionSet:
        if self._actions is None:
            self._actions = ActionSet(self.conf, self._registry)
        return self._actions

    def use(self, conf: Conf) -> None:
        """From the next cycle on, another configuration holds.

        Where one of its actions cannot be initialized, a PluginError says so and the old one stays.
        """
        with self._in_turn:
            gauge = LoadReader(conf, self._registry)
            if self._actions is not None:
                self._actions.use(conf)
            self.conf, self._load_reader = conf, gauge

    def step(self, profile: Profile | None = None) -> CycleReport:
        """One cycle on the facts of this moment; its decisions are carried out."""
        report = self.decide(profile)
        self._cluster.apply(report.decisions)
        return report

    def decide(self, profile: Profile | None = None) -> CycleReport:
        """One cycle on the facts of this moment; the caller carries out what it decides."""
        self._catch_up()
        return self._decided(profile)

    def _catch_up(self) -> None:
        """Let everything happen that is due by now."""
        if self._timed is not None:
            self._timed.advance(self._clock.now())

    def _decided(self, profile: Profile | None = None) -> CycleReport:
        """One cycle on what has happened so far."""
        with self._in_turn:
            self._opened()
            now = self._clock.now()
            self.cycles += 1
            snapshot = self._cluster.snapshot()
            self._load_reader.put_into(snapshot, now)
            return self._cycle(snapshot, now, f"cycle-{self.cycles}", profile)

    def _cycle(self, snapshot: Snapshot, now: float, uid: str, profile: Profile | None) -> CycleReport:
        # A cycle that fails has decided nothing, and its plugins have nothing to remember.
        observer, memory = self.observer, dict(self._memory)
        if observer is not None:
            observer.cycle_begins(snapshot, self.conf, now=now, uid=uid, memory=memory)
        try:
            report = run_cycle(
                snapshot,
                self.conf,
                registry=self._registry,
                now=now,
                uid=uid,
                memory=memory,
                shortcuts=self._shortcuts,
                profile=profile,
                is_quiet=self.is_quiet,
                actions=self._actions,
            )
        except Exception as error:
            if observer is not None:
                observer.cycle_fails(error)
            raise
        self._memory = memory
        if observer is not None:
            observer.cycle_ends(report.decisions)
        return report

    def run(
        self,
        until: float | None = None,
        max_cycles: int | None = None,
        on_cycle: OnCycle | None = None,
    ) -> int:
        """Cycles until that time, so many of them, or until nothing can change; how many there were."""
        with nullcontext() if self._actions is not None else self:
            return self._run(until, max_cycles, on_cycle)

    def _run(self, until: float | None, max_cycles: int | None, on_cycle: OnCycle | None) -> int:
        end = math.inf if until is None else until
        most = math.inf if max_cycles is None else max_cycles
        first = self.cycles
        wake_at = -math.inf
        while self.cycles - first < most:
            self._catch_up()
            if self._is_worthwhile(wake_at):
                report = self._decided()
                self._cluster.apply(report.decisions)
                wake_at = report.wake_at
                if on_cycle is not None:
                    on_cycle(report)
            wait = self._time_to_next(wake_at)
            if wait is None:
                break
            if self._clock.now() + wait > end:
                self._let_pass(end)
                break
            self._clock.sleep(wait)
        return self.cycles - first

    def _is_worthwhile(self, wake_at: float) -> bool:
        """Whether a cycle could decide anything now: some other time has come, or things have changed."""
        if self._timed is None or wake_at <= self._clock.now() or not self._shortcuts.unchanged_jobs:
            return True
        return self._timed.may_decide()

    def _let_pass(self, end: float) -> None:
        """The time up to the end still passes, though no cycle falls into it."""
        now = self._clock.now()
        if math.isinf(end) or end <= now:
            return
        self._clock.sleep(end - now)
        if self._timed is not None:
            self._timed.advance(end)

    def _time_to_next(self, wake_at: float) -> float | None:
        """How long to sleep before the next cycle; None where another would decide nothing, ever."""
        if self._timed is None or not self._timed.is_settled():
            return self._period
        event = self._timed.next_event_at()
        due = wake_at if event is None else min(event, wake_at)
        wait = min(due - self._clock.now(), self._longest_nap)
        if wait == math.inf:
            return None
        # Moments are rounded to a part of a microsecond, which must not cost a period.
        return max(math.ceil(wait / self._period - 1e-6), 1) * self._period
