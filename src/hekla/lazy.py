"""Lazy: attributes, classes and entries of a mapping that are there when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - used as a decorator, like property
    """The value takes the place of the attribute once it is known.

    As `functools.cached_property`, without the lock that it takes up to Python 3.11: a session is made for
    every cycle, and has dozens of them.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._make(instance)
        return value


class LazyMapping(Mapping[str, T]):
    """For each of some names what is made of it, once that is looked up."""

    def __init__(self, names: Iterable[str], make: Callable[[str], T]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def lazily_imported(package: str, places: Mapping[str, str]) -> LazyMapping[Any]:
    """Classes of the package by name, each imported when it is looked up; a place is `module:Class`."""
    # No function made on the spot: registries are handed to other processes.
    return LazyMapping(places, partial(_imported, package, places))


def _imported(package: str, places: Mapping[str, str], name: str) -> Any:
    module, _, class_name = places[name].partition(":")
    return getattr(import_module(f"{package}.{module}"), class_name)
