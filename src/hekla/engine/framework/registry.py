"""Registry: which actions and plugins there are, built in, installed, or named on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from hekla.conf import Catalogue, Conf, read_arguments
from hekla.conf.model import PluginEntry
from hekla.engine.framework.action import Action
from hekla.engine.framework.dispatch import Registration, Registrations
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import declared, reduces_nothing
from hekla.errors import PluginError
from hekla.lazy import LazyMapping

PLUGIN_GROUP = "hekla.plugins"
ACTION_GROUP = "hekla.actions"
MOST_KEPT = 16
"""Comparing configurations goes through several in turn."""

Made = TypeVar("Made")

NAMES_IN_GO_OF_ACTIONS = {
    "Execute": "run(self, session)",
    "Initialize": "initialize(self)",
    "UnInitialize": "uninitialize(self)",
    "Uninitialize": "uninitialize(self)",
    "un_initialize": "uninitialize(self)",
    "Name": 'name = "..."',
}
NAMES_IN_GO_OF_PLUGINS = {
    "OnSessionOpen": "on_open(self), and mark answers with @answers(POINT)",
    "on_session_open": "on_open(self), and mark answers with @answers(POINT)",
    "OnSessionClose": "on_close(self)",
    "on_session_close": "on_close(self)",
    "Name": 'name = "..."',
}
"""What Volcano calls a method, and what to write here: by the other name nothing would ever call it."""


@dataclass(frozen=True)
class Registry:
    """Names to classes; later additions replace earlier ones of the same name."""

    actions: Mapping[str, type[Action]] = field(default_factory=dict)
    plugins: Mapping[str, type[Plugin]] = field(default_factory=dict)

    def catalogue(self) -> Catalogue:
        """What the configuration reader needs to know of them."""
        return Catalogue(
            actions=LazyMapping(self.actions, lambda name: self.actions[name].Arguments),
            plugins=LazyMapping(self.plugins, lambda name: self.plugins[name].Arguments),
            points=LazyMapping(
                self.plugins,
                lambda name: frozenset(point.name for _, point, _, _ in declared(self.plugins[name])),
            ),
            reads_load=lambda name: name in self.plugins and self.plugins[name].reads_load,
        )

    def declaring(self, conf: Conf, declares: Callable[[type[Plugin]], bool]) -> list[str]:
        """The configured plugins that declare something of themselves, by name."""
        names = dict.fromkeys(entry.name for entry in conf.plugins if entry.name in self.plugins)
        return [name for name in names if declares(self.plugins[name])]

    def with_class(self, found: type) -> Registry:
        """This registry and one more action or plugin; one that could never work is refused."""
        if issubclass(found, Plugin):
            _check(found, NAMES_IN_GO_OF_PLUGINS)
            if reduces_nothing(found):
                raise _unfit(
                    found,
                    "answers node order reduce, but not node order, so there is nothing to normalise; answer "
                    "NODE_ORDER too, or compare the candidates in BATCH_NODE_ORDER",
                )
            return Registry(self.actions, {**self.plugins, found.name: found})
        if issubclass(found, Action):
            _check(found, NAMES_IN_GO_OF_ACTIONS)
            if found.run is Action.run or not callable(found.run):
                raise _unfit(found, "has no run; write what it does in run(self, session)")
            _check_methods(found)
            return Registry({**self.actions, found.name: found}, self.plugins)
        raise _unfit(found, "is neither a Plugin nor an Action; derive it from one")

    def with_installed(self) -> Registry:
        """This registry and what installed packages offer by entry point."""
        registry = self
        for group in (PLUGIN_GROUP, ACTION_GROUP):
            for entry in entry_points(group=group):
                registry = registry.with_class(_checked(entry.load(), entry.value))
        return registry

    def with_named(self, reference: str) -> Registry:
        """This registry and the class that `module:Class` or `path/to/file.py:Class` names."""
        return self.with_class(load_class(reference))


def load_class(reference: str) -> type:
    """The class behind `module:Class` or `file.py:Class`."""
    place, colon, name = reference.rpartition(":")
    if not colon or not place or not name:
        raise PluginError(f'"{reference}" does not name a class; write module:Class or file.py:Class')
    try:
        module = _load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(f'cannot import "{place}": {type(error).__name__}: {error}') from error
    if not hasattr(module, name):
        raise PluginError(f'"{place}" has no class "{name}"')
    return _checked(getattr(module, name), reference)


def _check(found: type[Action] | type[Plugin], names_in_go: Mapping[str, str]) -> None:
    """Refuse a class without a name, and one whose methods nothing would call."""
    for there, here in names_in_go.items():
        if hasattr(found, there):
            raise _unfit(found, f"has {there}, which is Volcano's word and never called here; write {here}")
    name = getattr(found, "name", None)
    if not isinstance(name, str) or not name:
        raise _unfit(found, 'has no name; give it one: name = "..."')


def _check_methods(found: type[Action]) -> None:
    """Refuse an action that cannot be made, and one whose methods would do nothing when they are called."""
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise _unfit(found, f"is abstract; write {', '.join(missing)}")
    for name in ("initialize", "run", "uninitialize"):
        method = inspect.unwrap(getattr(found, name))
        if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            raise _unfit(found, f"has an async {name}, which nothing would await; write a plain function")
        if inspect.isgeneratorfunction(method):
            raise _unfit(
                found, f"has a {name} with yield, which nothing would go through; write a plain function"
            )


def _unfit(found: type, problem: str) -> PluginError:
    return PluginError(f"{found.__module__}:{found.__qualname__} {problem}")


def _load_file(path: Path) -> object:
    if not path.is_file():
        raise PluginError(f'no file "{path}" to load a plugin from')
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise PluginError(f'"{path}" cannot be loaded as Python')
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _checked(found: object, reference: str) -> type:
    if not isinstance(found, type):
        raise PluginError(f'"{reference}" is not a class but {type(found).__name__}')
    return found


class Step(NamedTuple):
    """An action of the cycle, and its arguments."""

    name: str
    action: type[Action]
    arguments: object


class KeptByConf(Generic[Made]):
    """What was made of a configuration and a registry, made once while they are in use.

    They are told apart by identity: neither changes, and both are kept, so that no other takes the number.
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


@KeptByConf
def registrations_of(conf: Conf, registry: Registry) -> Registrations:
    """The plugins; an unknown one was told when the configuration was read, and is left out as in Volcano."""
    known = registry.plugins
    tiers = ((entry for entry in tier.plugins if entry.name in known) for tier in conf.tiers)
    return Registrations([[_registration(entry, known[entry.name]) for entry in tier] for tier in tiers])


def _registration(entry: PluginEntry, plugin: type[Plugin]) -> Registration:
    arguments: object = read_arguments(plugin.Arguments, entry.arguments, entry.name)[0]
    return Registration(plugin, arguments, entry.enabled("enableHierarchy"), entry.enabled)


@KeptByConf
def steps_of(conf: Conf, registry: Registry) -> list[Step]:
    """The actions, in the order in which they run."""
    classes = [(name, registry.actions[name]) for name in conf.actions]
    return [
        Step(name, action, read_arguments(action.Arguments, conf.arguments_of(name), name)[0])
        for name, action in classes
    ]
