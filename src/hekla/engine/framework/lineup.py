"""Lineup: what a configuration makes of a registry, worked out once and good for every cycle under it.

Which plugins sit in which tier, with which arguments, which of their answers are switched on, and which
actions run. A session only adds the plugins themselves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

from hekla.conf import Conf, read_arguments
from hekla.conf.model import PluginEntry
from hekla.engine.framework import points
from hekla.engine.framework.action import Action
from hekla.engine.framework.opinions import ShelfPlan, Spoken
from hekla.engine.framework.plugin import NoArguments, Plugin
from hekla.engine.framework.points import Point, Scope
from hekla.engine.framework.reducing import Reduction
from hekla.engine.framework.registry import Registry

Made = TypeVar("Made")
Silence = tuple[tuple[Point | str, ...], ...]
"""By seat, the points or methods that a plugin leaves out."""
ABOUT_NODES = (points.PREDICATE, points.NODE_ORDER, points.BATCH_NODE_ORDER)

MOST_KEPT = 16
"""Whoever compares configurations goes through several in turn."""


def everything(_switch: str) -> bool:
    """No switch is off."""
    return True


@dataclass(frozen=True, eq=False)
class Seat:
    """One plugin's place: what it was told, and which of its answers are wanted."""

    plugin: type[Plugin]
    arguments: object = NoArguments()
    is_hierarchical: bool = False
    is_enabled: Callable[[str], bool] = everything


class Step(NamedTuple):
    """An action of the cycle, and what it was told."""

    name: str
    action: type[Action]
    arguments: object


class Lineup:
    """Seats are numbered through all tiers, in the order in which plugins are asked."""

    def __init__(self, tiers: Sequence[Sequence[Seat]]) -> None:
        self.seats = [seat for tier in tiers for seat in tier]
        self._scripts: dict[Silence, Script] = {}
        self.declared: dict[Point, list[list[Spoken]]] = {
            point: [[] for _ in tiers] for point in points.POINTS
        }
        numbers = iter(range(len(self.seats)))
        for place, tier in enumerate(tiers):
            for seat in tier:
                self._declare(place, next(numbers), seat)
        classes = [seat.plugin for seat in self.seats]
        self.hearing_allocate = [
            at for at, c in enumerate(classes) if c.on_allocate is not Plugin.on_allocate
        ]
        self.hearing_many = [at for at in self.hearing_allocate if listens_to_many(classes[at])]
        self.hearing_release = [at for at, c in enumerate(classes) if c.on_release is not Plugin.on_release]
        self.keeps_pods = any(c.keeps_pods for c in classes)

    def script(self, silent_on: Silence) -> Script:
        """What is left where plugins are silent on these; made once."""
        known = self._scripts.get(silent_on)
        if known is None:
            known = self._scripts[silent_on] = Script(self, silent_on)
        return known

    def _declare(self, tier: int, number: int, seat: Seat) -> None:
        for name, point, scope in points.declared(seat.plugin):
            if points.switches_on(point, seat.is_enabled):
                assert scope in points.scopes_of(point), (
                    f"{seat.plugin.name}.{name}: no such scope for {point}"
                )
                self.declared[point][tier].append(Spoken(number, name, scope))


class Script:
    """What of a lineup is said in sessions in which the plugins are silent on the same.

    That is nearly always the same, so that a session has little to work out.
    """

    def __init__(self, lineup: Lineup, silent_on: Silence) -> None:
        self.by_point: dict[Point, list[list[Spoken]]] = {
            point: [
                [
                    one
                    for one in tier
                    if point not in silent_on[one.seat] and one.method not in silent_on[one.seat]
                ]
                for tier in tiers
            ]
            for point, tiers in lineup.declared.items()
        }
        self._classes = [seat.plugin for seat in lineup.seats]
        self.sole = {
            point: spoken[0]
            for point in self.by_point
            if len(spoken := self.all(point)) == 1 and point.combine in points.PASSED_ON
        }
        """By point the only answer, where it is the combined one as it is."""
        self.judges = [self._shelf(group) for group in self._by_plugin(points.PREDICATE)]
        self.reductions = self._reductions()
        """By seat, the plugins that normalise their scores over the candidates."""
        plain = [one for one in self.all(points.NODE_ORDER) if one.seat not in self.reductions]
        self.order = self._shelf(plain)
        self.batch = self._shelf(self.all(points.BATCH_NODE_ORDER))
        shelves = (*self.judges, self.order, self.batch)
        compares = bool(self.reductions or self.all(points.BEST_NODE))
        self.is_steady = not compares and not any(judge.always for judge in self.judges)
        """Whether no plugin has to be asked again for every single task which nodes it may use."""
        self.reads_ledgers_alone = all(shelf.reads_ledgers_alone for shelf in shelves)
        self.is_foreseeable = self.is_steady and all(shelf.is_foreseeable for shelf in shelves)
        self.speaks_of_many = self.is_steady and all(shelf.speaks_of_many for shelf in shelves)
        self.requires_minimums = self._insists(points.JOB_READY, points.JOB_PIPELINED)
        self.requires_minimums_of_parts = self._insists(points.SUB_JOB_READY, points.SUB_JOB_PIPELINED)
        self.foresees_queues = self.requires_minimums and self._tells_headroom()
        """Whether it is known beforehand how many tasks that look alike a queue may take in a row."""
        self.admits_by_kind = all(one.scope is Scope.KIND for one in self.all(points.JOB_ENQUEUEABLE))
        """Whether jobs that ask their queue for the same are admitted or turned away alike."""
        self.has_moving_job_order = any(one.scope is Scope.ATTEMPT for one in self.all(points.JOB_ORDER))
        kept = [one for point in ABOUT_NODES for one in self.all(point)]
        kept += [one for one in self.all(points.PRE_PREDICATE) if one.scope is Scope.CLASS]
        self.telling_apart = sorted({one.seat for one in kept if self._tells_apart(one.seat)})
        """Seats of plugins whose answers are kept by class of tasks, and that tell tasks apart themselves."""

    def all(self, point: Point) -> list[Spoken]:
        """Who answers, whatever the tier."""
        return [one for tier in self.by_point.get(point, ()) for one in tier]

    def _insists(self, ready: Point, pipelined: Point) -> bool:
        """Whether nobody is ready, or counts as promised all it needs, below its minimum."""
        first_vote = next((tier for tier in self.by_point[pipelined] if tier), [])
        return self._any_requires_minimums(self.all(ready)) and self._any_requires_minimums(first_vote)

    def _any_requires_minimums(self, spoken: Sequence[Spoken]) -> bool:
        return any(self._classes[one.seat].requires_minimums for one in spoken)

    def _tells_headroom(self) -> bool:
        """Whether all who limit queues say so for many tasks, and nobody looks at a single one before."""
        askers = {one.seat for one in self.all(points.ALLOCATABLE)}
        owners = {one.seat for one in self.all(points.HEADROOM)}
        return askers <= owners and all(one.scope is Scope.CLASS for one in self.all(points.PRE_PREDICATE))

    def _tells_apart(self, seat: int) -> bool:
        return self._classes[seat].distinguishes is not Plugin.distinguishes

    def _by_plugin(self, point: Point) -> list[list[Spoken]]:
        return [
            list(group) for _, group in groupby(self.all(point), key=lambda one: self._classes[one.seat].name)
        ]

    def _reductions(self) -> dict[int, Reduction]:
        found: dict[int, Reduction] = {}
        for one in self.all(points.NODE_ORDER_REDUCE):
            own = [score for score in self.all(points.NODE_ORDER) if score.seat == one.seat]
            if own:
                found.setdefault(one.seat, Reduction(self._shelf(own), [])).reduces.append(one)
        return found

    def _shelf(self, spoken: Sequence[Spoken]) -> ShelfPlan:
        plan = ShelfPlan()
        for one in spoken:
            plan.file(one, self._classes[one.seat])
        return plan


class Voice(NamedTuple):
    """One answer in a session: whose it is, how long it stays true, and the answer itself."""

    plugin: Plugin
    scope: Scope
    answer: Callable[..., Any]


class Panel(dict[Point, list[list[Voice]]]):
    """Who answers what, tier by tier, in one session; looked up when a point is first asked about."""

    def __init__(self, lineup: Lineup, plugins: Sequence[Plugin]) -> None:
        super().__init__()
        self.plugins = plugins
        self.script = lineup.script(tuple([tuple(plugin.silent_on()) for plugin in plugins]))

    def __missing__(self, point: Point) -> list[list[Voice]]:
        plugins = self.plugins
        self[point] = found = [
            [Voice(plugins[seat], scope, getattr(plugins[seat], method)) for seat, method, scope in tier]
            for tier in self.script.by_point.get(point, ())
        ]
        return found

    def answer(self, spoken: Spoken) -> Callable[..., Any]:
        answer: Callable[..., Any] = getattr(self.plugins[spoken.seat], spoken.method)
        return answer

    def answers(self, point: Point) -> list[list[Callable[..., Any]]]:
        """The answers alone, tier by tier."""
        plugins, tiers = self.plugins, self.script.by_point.get(point, ())
        return [[getattr(plugins[seat], method) for seat, method, _ in tier] for tier in tiers]

    def all(self, point: Point) -> list[Voice]:
        """Who answers, whatever the tier."""
        return [voice for tier in self[point] for voice in tier]


EMPTY_PANEL = Panel(Lineup(()), ())
"""Until plugins are seated, nobody answers anything."""


def listens_to_many(plugin: type[Plugin]) -> bool:
    """Whether its way of hearing of many tasks at once is as new as its way of hearing of one."""
    hooks = ({"on_allocate", "on_allocate_all"} & vars(base).keys() for base in plugin.__mro__)
    return "on_allocate_all" in next(found for found in hooks if found)


class Kept(Generic[Made]):
    """What was made of a configuration and a registry, made once while they are in use.

    They are told by identity: neither changes, and both are kept, so that no others take their numbers.
    """

    def __init__(self, make: Callable[[Conf, Registry], Made]) -> None:
        self._make = make
        self._kept: OrderedDict[tuple[int, int], tuple[Conf, Registry, Made]] = OrderedDict()

    def __call__(self, conf: Conf, registry: Registry) -> Made:
        key = (id(conf), id(registry))
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = (conf, registry, self._make(conf, registry))
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return known[2]


@Kept
def lineup_of(conf: Conf, registry: Registry) -> Lineup:
    """The plugins; one that nobody knows was told when the configuration was read, as in Volcano."""
    known = registry.plugins
    return Lineup(
        [
            [_seat(entry, known[entry.name]) for entry in tier.plugins if entry.name in known]
            for tier in conf.tiers
        ]
    )


@Kept
def steps_of(conf: Conf, registry: Registry) -> list[Step]:
    """The actions, in the order in which they run."""
    classes = [(name, registry.actions[name]) for name in conf.actions]
    return [
        Step(name, action, read_arguments(action.Arguments, conf.arguments_of(name), name)[0])
        for name, action in classes
    ]


def _seat(entry: PluginEntry, plugin: type[Plugin]) -> Seat:
    arguments: object = read_arguments(plugin.Arguments, entry.arguments, entry.name)[0]
    return Seat(plugin, arguments, entry.enabled("enableHierarchy"), entry.enabled)
