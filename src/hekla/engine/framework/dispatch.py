"""Dispatch: which plugin answers which question, in which tier, and what the answers come to together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from hekla.engine.framework import points
from hekla.engine.framework.plugin import NoArguments, Plugin
from hekla.engine.framework.points import Concerns, Point, Scope
from hekla.engine.model.task import Task
from hekla.lazy import lazy

Q = ParamSpec("Q")
A = TypeVar("A")
R = TypeVar("R")

Silent = tuple[tuple[Point[..., Any, Any] | str, ...], ...]
"""By registration, the points or methods that its plugin leaves out."""


def _every_switch_is_on(_switch: str) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Registration:
    """One plugin of the configuration: its arguments, and which of its answers are switched on."""

    plugin: type[Plugin]
    arguments: object = NoArguments()
    is_hierarchical: bool = False
    is_enabled: Callable[[str], bool] = _every_switch_is_on


class Declaration(NamedTuple):
    """One answer that a plugin class declares: the number of its registration, the method, its scope."""

    number: int
    method: str
    scope: Scope
    concerns: Concerns | None


class Handler(NamedTuple):
    """One answer in a session: the plugin, how long it stays true, for which tasks, and the answer itself."""

    plugin: Plugin
    scope: Scope
    concerns: Concerns | None
    answer: Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Registrations:
    """All plugins of a configuration, numbered through all tiers in the order in which they are asked."""

    tiers: Sequence[Sequence[Registration]] = ()
    declared: dict[Point[..., Any, Any], list[list[Declaration]]] = field(init=False)
    """By point and tier."""

    def __post_init__(self) -> None:
        declared: dict[Point[..., Any, Any], list[list[Declaration]]] = {}
        numbers = iter(range(len(self.all)))
        for tier, registrations in enumerate(self.tiers):
            for one in registrations:
                number = next(numbers)
                for method, point, scope, concerns in points.declared(one.plugin):
                    if points.switches_on(point, one.is_enabled):
                        assert scope in points.scopes_of(point), f"{one.plugin.name}.{method}: no such scope"
                        of_point = declared.setdefault(point, [[] for _ in self.tiers])
                        of_point[tier].append(Declaration(number, method, scope, concerns))
        object.__setattr__(self, "declared", declared)

    @property
    def all(self) -> list[Registration]:
        return [registration for tier in self.tiers for registration in tier]


class Dispatch:
    """Who answers what in one session; looked up when a point is first asked about."""

    def __init__(self, registrations: Registrations, plugins: Sequence[Plugin]) -> None:
        self._registrations = registrations
        self._plugins = plugins
        self._silent: Silent = tuple([tuple(plugin.silent_on()) for plugin in plugins])
        self._tiers: dict[Point[..., Any, Any], list[list[Handler]]] = {}
        self._combined: dict[Point[..., Any, Any], Callable[..., Any]] = {}

    @property
    def identity(self) -> tuple[Registrations, Silent]:
        """Equal for sessions in which the same plugins answer the same questions."""
        return self._registrations, self._silent

    def tiers(self, point: Point[..., Any, Any]) -> list[list[Handler]]:
        """Who answers, tier by tier."""
        found = self._tiers.get(point)
        if found is None:
            declared = self._registrations.declared.get(point, ())
            found = self._tiers[point] = [
                [self._handler(one) for one in tier if not self._is_silent(one, point)] for tier in declared
            ]
        return found

    def _is_silent(self, one: Declaration, point: Point[..., Any, Any]) -> bool:
        silent = self._silent[one.number]
        return bool(silent) and (point in silent or one.method in silent)

    def _handler(self, one: Declaration) -> Handler:
        plugin = self._plugins[one.number]
        return Handler(plugin, one.scope, one.concerns, getattr(plugin, one.method))

    def handlers(self, point: Point[..., Any, Any]) -> list[Handler]:
        """Who answers, whatever the tier."""
        return [handler for tier in self.tiers(point) for handler in tier]

    def answers(self, point: Point[Q, A, Any]) -> list[Callable[Q, A]]:
        """What plugins have to say, one after another, whatever their tier."""
        return [handler.answer for handler in self.handlers(point)]

    def answers_by_tier(self, point: Point[Q, A, Any]) -> list[list[Callable[Q, A]]]:
        return [[handler.answer for handler in tier] for tier in self.tiers(point)]

    def __getitem__(self, point: Point[Q, Any, R]) -> Callable[Q, R]:
        """What all plugins say together, as one function."""
        combined = self._combined.get(point)
        if combined is None:
            tiers = [tier for tier in self.answers_by_tier(point) if tier]
            combined = self._combined[point] = point.combine(tiers)
        return cast("Callable[Q, R]", combined)

    # What follows from who answers

    @lazy
    def requires_minimums(self) -> bool:
        """Whether no job starts, or counts as pipelined, below its gang's minimum."""
        return self._require_minimums(points.JOB_READY, points.JOB_PIPELINED)

    @lazy
    def requires_minimums_of_parts(self) -> bool:
        """The same for the sub-jobs of jobs with policies."""
        return self._require_minimums(points.SUB_JOB_READY, points.SUB_JOB_PIPELINED)

    def _require_minimums(self, ready: Point[..., Any, Any], pipelined: Point[..., Any, Any]) -> bool:
        first_vote = next((tier for tier in self.tiers(pipelined) if tier), [])
        asked = (self.handlers(ready), first_vote)
        return all(any(one.plugin.requires_minimums for one in handlers) for handlers in asked)

    @lazy
    def tells_headroom(self) -> bool:
        """Whether it is known beforehand how many equal tasks a queue may take in a row."""
        asked = {id(one.plugin) for one in self.handlers(points.ALLOCATABLE)}
        told = {id(one.plugin) for one in self.handlers(points.HEADROOM)}
        before = self.handlers(points.PRE_PREDICATE)
        return asked <= told and all(one.scope is Scope.CLASS for one in before)

    @lazy
    def admits_by_kind(self) -> bool:
        """Whether jobs that ask their queue for the same are admitted or turned away alike."""
        return all(one.scope is Scope.KIND for one in self.handlers(points.JOB_ENQUEUEABLE))

    @lazy
    def tells_admission_room(self) -> bool:
        """Whether it is known beforehand how much more each queue may admit."""
        asked = {id(one.plugin) for one in self.handlers(points.JOB_ENQUEUEABLE)}
        return asked <= {id(one.plugin) for one in self.handlers(points.ADMISSION_ROOM)}

    @lazy
    def has_moving_job_order(self) -> bool:
        """Whether a plugin's order of jobs changes while nothing happens to them."""
        return any(one.scope is Scope.ATTEMPT for one in self.handlers(points.JOB_ORDER))

    @lazy
    def compares_candidates(self) -> bool:
        """Whether the node depends on which nodes are candidates, whatever the task."""
        return bool(self.handlers(points.BEST_NODE))

    def telling_apart(self) -> list[Callable[[Task], Hashable]]:
        """How plugins whose answers are kept by class tell tasks apart, beyond pod spec and namespace."""
        kept = [one for point in points.ABOUT_NODES for one in self.handlers(point)]
        kept += [one for one in self.handlers(points.PRE_PREDICATE) if one.scope is Scope.CLASS]
        plugins = dict.fromkeys(one.plugin for one in kept)
        own = [plugin for plugin in plugins if type(plugin).distinguishes is not Plugin.distinguishes]
        return [plugin.distinguishes for plugin in own]
