"""Dispatch: which plugin answers which question, in which tier, and what the answers come to together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import msgspec

from hekla.engine.framework import points
from hekla.engine.framework.plugin import NoArguments, Plugin
from hekla.engine.framework.points import AnyPoint, Concerns, Point, Scope
from hekla.engine.framework.rules import PASSING_ON
from hekla.engine.model.task import Task
from hekla.lazy import lazy

Q = ParamSpec("Q")
A = TypeVar("A")
R = TypeVar("R")

Silent = tuple[tuple[AnyPoint | str, ...], ...]
"""By registration whose plugin leaves answers out, their points or methods."""


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


class Handler(msgspec.Struct, frozen=True, eq=False):
    """One answer in a session: the plugin, how long it stays true, for which tasks, and the answer itself."""

    plugin: Plugin
    scope: Scope
    concerns: Concerns | None
    answer: Callable[..., Any]


class Registrations:
    """All plugins of a configuration, numbered through all tiers in the order in which they are asked."""

    def __init__(self, tiers: Sequence[Sequence[Registration]] = ()) -> None:
        self.all = [registration for tier in tiers for registration in tier]
        classes = [one.plugin for one in self.all]
        self.names = [one.name for one in classes]
        self.opens = [overrides(one, "on_open") for one in classes]
        """By number, whether the plugin does anything when a session opens."""
        self.told_of_closing = numbers_of(overrides(one, "on_close") for one in classes)
        self.told_of_one = numbers_of(overrides(one, "on_allocate") for one in classes)
        """The numbers of plugins that hear of every placement."""
        self.told_of_many = [at for at in self.told_of_one if hears_of_many(classes[at])]
        self.told_of_releases = numbers_of(overrides(one, "on_release") for one in classes)
        self.keep_accounts = numbers_of(
            overrides(one, "queue_figures") or overrides(one, "deserved_by_queue") for one in classes
        )
        """The numbers of plugins that say what queues deserve."""
        self.leaving_out = numbers_of(overrides(one, "silent_on") for one in classes)
        self.waking = numbers_of(one.acts_on_time and overrides(one, "wake_at") for one in classes)
        self.keeps_pods = any(one.keeps_pods for one in classes)
        self.has_moving_task_order = any(one.moving_task_order for one in classes)
        self.declared: dict[AnyPoint, list[list[Declaration]]] = {}
        """By point and tier; tiers without an answer are not there."""
        self._answerers: dict[Silent, Answerers] = {}
        numbers = count()
        for tier in tiers:
            for point, found in _declared_in(tier, numbers).items():
                self.declared.setdefault(point, []).append(found)

    def without(self, silent: Silent) -> Answerers:
        """Who answers in the sessions in which plugins leave this out."""
        known = self._answerers.get(silent)
        if known is None:
            known = self._answerers[silent] = Answerers(self, silent)
        return known


def _declared_in(tier: Sequence[Registration], numbers: Iterator[int]) -> dict[AnyPoint, list[Declaration]]:
    found: dict[AnyPoint, list[Declaration]] = {}
    for one in tier:
        number = next(numbers)
        for method, point, scope, concerns in points.declared(one.plugin):
            if points.switches_on(point, one.is_enabled):
                assert scope in points.scopes_of(point), f"{one.plugin.name}.{method}: no such scope"
                found.setdefault(point, []).append(Declaration(number, method, scope, concerns))
    return found


def overrides(plugin: type[Plugin], hook: str) -> bool:
    return getattr(plugin, hook) is not getattr(Plugin, hook)


def numbers_of(flags: Iterable[bool]) -> list[int]:
    """At which places there is a yes."""
    return [at for at, flag in enumerate(flags) if flag]


class Answerers:
    """Who answers what, and what follows from that: the same for many sessions."""

    def __init__(self, registrations: Registrations, silent: Silent) -> None:
        self._classes = [one.plugin for one in registrations.all]
        left_out = dict(zip(registrations.leaving_out, silent, strict=True))
        self.tiers: dict[AnyPoint, list[list[Declaration]]] = {}
        for point, declared in registrations.declared.items():
            heard = [[one for one in tier if not _is_silent(one, point, left_out)] for tier in declared]
            self.tiers[point] = [tier for tier in heard if tier]
        self.by_point = {
            point: [one for tier in tiers for one in tier] for point, tiers in self.tiers.items()
        }
        """The same whatever the tier."""
        self.alone = {
            point: found[0]
            for point, found in self.by_point.items()
            if len(found) == 1 and point.combine in PASSING_ON
        }
        """By point the one answer that is the combined one as it stands."""

    def name_of(self, number: int) -> str:
        """The name of the plugin that is registered under this number."""
        return self._classes[number].name

    def declared(self, point: AnyPoint) -> list[Declaration]:
        """What is answered, whatever the tier."""
        return self.by_point.get(point, [])

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
    def tells_queue_keys(self) -> bool:
        """Whether all plugins that order queues can tell what they go by as keys."""
        answers = [getattr(self._classes[at], method) for at, method, *_ in self.declared(points.QUEUE_ORDER)]
        return all(hasattr(answer, "as_key") for answer in answers)

    @lazy
    def has_moving_job_order(self) -> bool:
        """Whether a plugin's order of jobs changes while nothing happens to them."""
        return any(one.scope is Scope.ATTEMPT for one in self.declared(points.JOB_ORDER))

    @lazy
    def compares_candidates(self) -> bool:
        """Whether the node depends on which nodes are candidates, whatever the task."""
        return bool(self.declared(points.BEST_NODE))

    @lazy
    def selective(self) -> list[Declaration]:
        """The answers about nodes that say for which tasks they are."""
        asked = (*points.ABOUT_NODES, points.NODE_ORDER_REDUCE)
        return [one for point in asked for one in self.declared(point) if one.concerns is not None]

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


def _is_silent(one: Declaration, point: AnyPoint, left_out: Mapping[int, tuple[AnyPoint | str, ...]]) -> bool:
    silent = left_out.get(one.number, ())
    return point in silent or one.method in silent


class Dispatch(dict[AnyPoint, Callable[..., Any]]):
    """By point, what one session's plugins say together, as one function; made when it is first asked for."""

    def __init__(self, registrations: Registrations, plugins: Sequence[Plugin]) -> None:
        super().__init__()
        self._plugins = plugins
        silent = tuple([tuple(plugins[at].silent_on()) for at in registrations.leaving_out])
        self.who = registrations.without(silent)
        """The same object for sessions in which the same plugins answer the same questions."""
        self._handlers: dict[AnyPoint, list[Handler]] = {}

    if TYPE_CHECKING:

        def __getitem__(self, point: Point[Q, Any, R]) -> Callable[Q, R]: ...

    def __missing__(self, point: Point[Q, Any, R]) -> Callable[Q, R]:
        alone = self.who.alone.get(point)
        if alone is None:
            combined = point.combine(self.answers_by_tier(point))
        else:
            (combined,) = self.bound((alone,))
        self[point] = combined
        return combined

    def concerning(self, task: Task) -> tuple[Declaration, ...]:
        """Of the answers about nodes that are for some tasks only, those that are for this one."""
        plugins = self._plugins
        return tuple(
            [one for one in self.who.selective if one.concerns and one.concerns(plugins[one.number], task)]
        )

    def bound(self, declared: Iterable[Declaration]) -> list[Callable[..., Any]]:
        """These answers, as the plugins of the session give them."""
        return [getattr(self._plugins[one.number], one.method) for one in declared]

    def tiers(self, point: AnyPoint) -> list[list[Handler]]:
        """Who answers, tier by tier."""
        bound = iter(self.handlers(point))
        return [[next(bound) for _ in tier] for tier in self.who.tiers.get(point, ())]

    def handlers(self, point: AnyPoint) -> list[Handler]:
        """Who answers, whatever the tier."""
        known = self._handlers.get(point)
        if known is None:
            plugins = self._plugins
            known = self._handlers[point] = [
                Handler(plugins[at], scope, concerns, getattr(plugins[at], method))
                for at, method, scope, concerns in self.who.by_point.get(point, ())
            ]
        return known

    def answers(self, point: Point[Q, A, Any]) -> list[Callable[Q, A]]:
        """What plugins have to say, one after another, whatever their tier."""
        return self.bound(self.who.by_point.get(point, ()))

    def answers_by_tier(self, point: Point[Q, A, Any]) -> list[list[Callable[Q, A]]]:
        return [self.bound(tier) for tier in self.who.tiers.get(point, ())]

    def telling_apart(self) -> list[Callable[[Task], Hashable]]:
        """How plugins whose answers are kept by class tell tasks apart, beyond pod spec and namespace."""
        return [self._plugins[number].distinguishes for number in self.who.telling_apart]


NO_PLUGINS = Registrations()
