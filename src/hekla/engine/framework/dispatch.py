"""Dispatch: which plugin answers which question, in which tier, and what the answers come to together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, ParamSpec, TypeVar

from hekla.engine.framework import points
from hekla.engine.framework.plugin import NoArguments, Plugin
from hekla.engine.framework.points import AnyPoint, Concerns, Point, Scope
from hekla.engine.model.task import Task
from hekla.lazy import lazy

Q = ParamSpec("Q")
A = TypeVar("A")
R = TypeVar("R")

Silent = tuple[tuple[AnyPoint | str, ...], ...]
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
    declared: dict[AnyPoint, list[list[Declaration]]] = field(init=False)
    """By point and tier; tiers without an answer are not there."""
    answerers: dict[Silent, Answerers] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        declared: dict[AnyPoint, list[list[Declaration]]] = {}
        numbers = iter(range(len(self.all)))
        for registrations in self.tiers:
            of_tier: dict[AnyPoint, list[Declaration]] = {}
            for one in registrations:
                number = next(numbers)
                for method, point, scope, concerns in points.declared(one.plugin):
                    if points.switches_on(point, one.is_enabled):
                        assert scope in points.scopes_of(point), f"{one.plugin.name}.{method}: no such scope"
                        of_tier.setdefault(point, []).append(Declaration(number, method, scope, concerns))
            for point, found in of_tier.items():
                declared.setdefault(point, []).append(found)
        object.__setattr__(self, "declared", declared)

    @property
    def all(self) -> list[Registration]:
        return [registration for tier in self.tiers for registration in tier]

    def without(self, silent: Silent) -> Answerers:
        """Who answers in the sessions in which plugins leave this out."""
        if silent not in self.answerers:
            self.answerers[silent] = Answerers(self, silent)
        return self.answerers[silent]


class Answerers:
    """Who answers what, and what follows from that: the same for many sessions."""

    def __init__(self, registrations: Registrations, silent: Silent) -> None:
        self._classes = [one.plugin for one in registrations.all]
        self.tiers: dict[AnyPoint, list[list[Declaration]]] = {}
        for point, declared in registrations.declared.items():
            heard = [[one for one in tier if not _is_silent(one, point, silent)] for tier in declared]
            self.tiers[point] = [tier for tier in heard if tier]
        self._declared = {
            point: [one for tier in tiers for one in tier] for point, tiers in self.tiers.items()
        }
        numbered = [*enumerate(self._classes)]
        self.told_of_one = [at for at, one in numbered if one.on_allocate is not Plugin.on_allocate]
        """The numbers of plugins that hear of every placement."""
        self.told_of_many = [at for at in self.told_of_one if hears_of_many(self._classes[at])]
        self.keep_accounts = [at for at, one in numbered if keeps_accounts(one)]
        """The numbers of plugins that say what queues deserve."""
        self.told_of_releases = [at for at, one in numbered if one.on_release is not Plugin.on_release]

    def declared(self, point: AnyPoint) -> list[Declaration]:
        """What is answered, whatever the tier."""
        return self._declared.get(point, [])

    def _numbers(self, point: AnyPoint) -> set[int]:
        return {one.number for one in self.declared(point)}

    def _require_minimums(self, ready: AnyPoint, pipelined: AnyPoint) -> bool:
        first_vote = next(iter(self.tiers.get(pipelined, ())), [])
        asked = (self.declared(ready), first_vote)
        return all(any(self._classes[one.number].requires_minimums for one in tier) for tier in asked)

    @lazy
    def requires_minimums(self) -> bool:
        """Whether no job starts, or counts as pipelined, below its gang's minimum."""
        return self._require_minimums(points.JOB_READY, points.JOB_PIPELINED)

    @lazy
    def requires_minimums_of_parts(self) -> bool:
        """The same for the sub-jobs of jobs with policies."""
        return self._require_minimums(points.SUB_JOB_READY, points.SUB_JOB_PIPELINED)

    @lazy
    def tells_headroom(self) -> bool:
        """Whether it is known beforehand how many equal tasks a queue may take in a row."""
        before = self.declared(points.PRE_PREDICATE)
        is_told = self._numbers(points.ALLOCATABLE) <= self._numbers(points.HEADROOM)
        return is_told and all(one.scope is Scope.CLASS for one in before)

    @lazy
    def has_headroom_by_kind(self) -> bool:
        """Whether a queue may take as many tasks of one job as of any other that asks for the same."""
        return all(one.scope is Scope.KIND for one in self.declared(points.HEADROOM))

    @lazy
    def admits_all(self) -> bool:
        """Whether no plugin has a say in, or hears of, what is admitted."""
        return not self.declared(points.JOB_ENQUEUEABLE) and not self.declared(points.JOB_ENQUEUED)

    @lazy
    def admits_by_kind(self) -> bool:
        """Whether jobs that ask their queue for the same are admitted or turned away alike."""
        return all(one.scope is Scope.KIND for one in self.declared(points.JOB_ENQUEUEABLE))

    @lazy
    def tells_admission_room(self) -> bool:
        """Whether it is known beforehand how much more each queue may admit."""
        return self._numbers(points.JOB_ENQUEUEABLE) <= self._numbers(points.ADMISSION_ROOM)

    @lazy
    def has_moving_job_order(self) -> bool:
        """Whether a plugin's order of jobs changes while nothing happens to them."""
        return any(one.scope is Scope.ATTEMPT for one in self.declared(points.JOB_ORDER))

    @lazy
    def compares_candidates(self) -> bool:
        """Whether the node depends on which nodes are candidates, whatever the task."""
        return bool(self.declared(points.BEST_NODE))

    @lazy
    def telling_apart(self) -> list[int]:
        """The numbers of plugins that tell tasks apart by more than pod spec and namespace."""
        kept = [one for point in points.ABOUT_NODES for one in self.declared(point)]
        kept += [one for one in self.declared(points.PRE_PREDICATE) if one.scope is Scope.CLASS]
        numbers = dict.fromkeys(one.number for one in kept)
        return [
            number for number in numbers if self._classes[number].distinguishes is not Plugin.distinguishes
        ]


def hears_of_many(plugin: type[Plugin]) -> bool:
    """Whether its way of hearing of many tasks at once is as new as its way of hearing of one."""
    hooks = ({"on_allocate", "on_allocate_all"} & vars(base).keys() for base in plugin.__mro__)
    return "on_allocate_all" in next(found for found in hooks if found)


def keeps_accounts(plugin: type[Plugin]) -> bool:
    """Whether it has figures of queues."""
    return (plugin.queue_figures, plugin.deserved_by_queue) != (
        Plugin.queue_figures,
        Plugin.deserved_by_queue,
    )


def _is_silent(one: Declaration, point: AnyPoint, silent: Silent) -> bool:
    return point in silent[one.number] or one.method in silent[one.number]


class Dispatch:
    """The answers of one session's plugins; looked up when a point is first asked about."""

    def __init__(self, registrations: Registrations, plugins: Sequence[Plugin]) -> None:
        self._plugins = plugins
        self.who = registrations.without(tuple([tuple(plugin.silent_on()) for plugin in plugins]))
        """The same object for sessions in which the same plugins answer the same questions."""
        self._combined: dict[AnyPoint, Callable[..., Any]] = {}
        self._handlers: dict[AnyPoint, list[Handler]] = {}

    def tiers(self, point: AnyPoint) -> list[list[Handler]]:
        """Who answers, tier by tier."""
        return [[self._handler(one) for one in tier] for tier in self.who.tiers.get(point, ())]

    def _handler(self, one: Declaration) -> Handler:
        plugin = self._plugins[one.number]
        return Handler(plugin, one.scope, one.concerns, getattr(plugin, one.method))

    def handlers(self, point: AnyPoint) -> list[Handler]:
        """Who answers, whatever the tier."""
        if point not in self._handlers:
            self._handlers[point] = [self._handler(one) for one in self.who.declared(point)]
        return self._handlers[point]

    def answers(self, point: Point[Q, A, Any]) -> list[Callable[Q, A]]:
        """What plugins have to say, one after another, whatever their tier."""
        return [answer for tier in self.answers_by_tier(point) for answer in tier]

    def answers_by_tier(self, point: Point[Q, A, Any]) -> list[list[Callable[Q, A]]]:
        plugins, tiers = self._plugins, self.who.tiers.get(point, ())
        return [[getattr(plugins[one.number], one.method) for one in tier] for tier in tiers]

    def __getitem__(self, point: Point[Q, Any, R]) -> Callable[Q, R]:
        """What all plugins say together, as one function."""
        combined = self._combined.get(point)
        if combined is None:
            combined = self._combined[point] = point.combine(self.answers_by_tier(point))
        return combined

    def telling_apart(self) -> list[Callable[[Task], Hashable]]:
        """How plugins whose answers are kept by class tell tasks apart, beyond pod spec and namespace."""
        return [self._plugins[number].distinguishes for number in self.who.telling_apart]
