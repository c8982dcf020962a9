"""Tide: versions of an object only ever rise, unless the API server was set back to an earlier state.

A watch from a version that the server has not reached again says nothing for a long time, so nobody would
notice. But an object that is written again and again, as a Lease is, gets a higher version each time.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hekla.objects import ObjectMeta


class Versioned(msgspec.Struct, frozen=True):
    """As much of an object as tells which one it is, and in which version."""

    metadata: ObjectMeta = ObjectMeta()


class Tide:
    """The versions of what was written; those who follow the server hear when one has fallen."""

    def __init__(self) -> None:
        self.falls = 0
        self._reached: dict[str, int] = {}
        self._followers: list[Callable[[], None]] = []

    def follow(self, on_fall: Callable[[], None]) -> None:
        self._followers.append(on_fall)

    def wrote(self, path: str, answer: bytes) -> None:
        """The object at this path was written; the server answered with what it is now."""
        try:
            version = msgspec.json.decode(answer, type=Versioned).metadata.resource_version
        except msgspec.MsgspecError:
            return
        if not version.isdecimal():
            return
        before, self._reached[path] = self._reached.get(path, 0), int(version)
        if int(version) < before:
            self.fall()

    def fall(self) -> None:
        """What was heard of is not the server's history: everybody starts over."""
        self.falls += 1
        for on_fall in self._followers:
            on_fall()
