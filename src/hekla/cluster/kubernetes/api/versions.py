"""Version watermark: versions only ever rise, unless the API server was set back to an earlier state.

A watch from a version that the server has not reached again says nothing for a long time, so it would not
notice. But an object that is written again and again, as a Lease is, gets a higher version each time.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hekla.objects import ObjectMeta


class Versioned(msgspec.Struct, frozen=True):
    """As much of an object as tells which one it is, and in which version."""

    metadata: ObjectMeta = ObjectMeta()


class VersionWatermark:
    """The versions of what was written; reflectors are told when one has fallen."""

    def __init__(self) -> None:
        self.resets = 0
        self._reached: dict[str, int] = {}
        self._followers: list[Callable[[], None]] = []

    def follow(self, on_set_back: Callable[[], None]) -> None:
        self._followers.append(on_set_back)

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
            self.set_back()

    def set_back(self) -> None:
        """What was heard of is not the server's history: every reflector starts over."""
        self.resets += 1
        for on_set_back in self._followers:
            on_set_back()
