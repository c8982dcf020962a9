"""Tide: versions only ever rise, unless the API server was set back to an earlier state.

A watch from a version that the server has not reached again says nothing for a long time, so nobody would
notice. But every write gets a version above all that were heard of before it: one that does not tells.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hekla.objects import ObjectMeta


class Versioned(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class Tide:
    """The highest version heard of; those who follow the server hear when it has fallen."""

    def __init__(self) -> None:
        self.highest = 0
        self.falls = 0
        self._followers: list[Callable[[], None]] = []

    def follow(self, on_fall: Callable[[], None]) -> None:
        self._followers.append(on_fall)

    def heard(self, version: str) -> None:
        if version.isdecimal():
            self.highest = max(self.highest, int(version))

    def wrote(self, answer: bytes, before: int) -> None:
        """A write was answered so; `before` is the highest version that was known when it was sent."""
        try:
            version = msgspec.json.decode(answer, type=Versioned).metadata.resource_version
        except msgspec.MsgspecError:
            return
        if version.isdecimal() and int(version) < before:
            self.fall(int(version))

    def fall(self, to: int = 0) -> None:
        """What was heard of is not the server's history: everybody starts over."""
        self.highest = to
        self.falls += 1
        for on_fall in self._followers:
            on_fall()
