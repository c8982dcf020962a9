"""Lineup: what a configuration makes of a registry, worked out once and good for every cycle under it.

Which plugins sit in which tier, with which arguments, which of their answers are switched on, and which
actions run. A session only adds the plugins themselves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from hekla.conf import Conf, read_arguments
from hekla.conf.model import PluginEntry
from hekla.framework import points
from hekla.framework.action import Action
from hekla.framework.plugin import NoArguments, Plugin
from hekla.framework.points import Point, Scope
from hekla.framework.registry import Registry

Made = TypeVar("Made")

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


class Declared(NamedTuple):
    """One answer of the plugin in a seat."""

    seat: int
    method: str
    scope: Scope


class Lineup:
    """Seats are numbered through all tiers, in the order in which plugins are asked."""

    def __init__(self, tiers: Sequence[Sequence[Seat]]) -> None:
        self.seats = [seat for tier in tiers for seat in tier]
        self.declared: dict[Point, list[list[Declared]]] = {
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

    def _declare(self, tier: int, number: int, seat: Seat) -> None:
        for name, point, scope in points.declared(seat.plugin):
            if points.switches_on(point, seat.is_enabled):
                assert scope in points.scopes_of(point), (
                    f"{seat.plugin.name}.{name}: no such scope for {point}"
                )
                self.declared[point][tier].append(Declared(number, name, scope))


NOBODY = Lineup(())


class Voice(NamedTuple):
    """One answer in a session: whose it is, how long it stays true, and the answer itself."""

    plugin: Plugin
    scope: Scope
    answer: Callable[..., Any]


class Panel(dict[Point, list[list[Voice]]]):
    """Who answers what, tier by tier, in one session; looked up when a point is first asked about."""

    def __init__(self, lineup: Lineup, plugins: Sequence[Plugin]) -> None:
        super().__init__()
        self._declared = lineup.declared
        self._plugins = plugins
        self._silent_on = [plugin.silent_on() for plugin in plugins]
        self.key: Hashable = (lineup, *map(tuple, self._silent_on))

    def __missing__(self, point: Point) -> list[list[Voice]]:
        self[point] = found = [
            [
                Voice(plugin := self._plugins[seat], scope, getattr(plugin, method))
                for seat, method, scope in tier
                if point not in (silent := self._silent_on[seat]) and method not in silent
            ]
            for tier in self._declared.get(point, ())
        ]
        return found

    def all(self, point: Point) -> list[Voice]:
        """The same, whatever the tier."""
        return [voice for tier in self[point] for voice in tier]


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
