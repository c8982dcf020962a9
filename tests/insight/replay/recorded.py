"""An embedded cluster whose cycles are written down, for tests that go back to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import Conf, read_conf, require
from hekla.engine.framework.registry import Registry
from hekla.errors import HeklaError
from hekla.insight.replay import CycleRecorder, Recording, Replayed, header, replay, travel_to
from hekla.objects import Manifest
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.loop import Loop

START = 1_767_225_600.0
AS_THEY_STAND = Options(admission=False)


class Recorder:
    """A cluster, a loop on it, and a recorder that looks on; leaving it completes the file."""

    def __init__(
        self,
        path: Path,
        objects: Iterable[Manifest],
        conf: Conf,
        *,
        registry: Registry = BUILTIN,
        options: Options = AS_THEY_STAND,
        start: float = START,
        **recorder: Any,
    ) -> None:
        self.clock = VirtualClock(start)
        self.cluster = EmbeddedCluster(objects, self.clock, options=options)
        self.recorder = CycleRecorder(path, header("test"), registry.catalogue(), **recorder)
        self.recorder.follow(self.cluster.state)
        self.loop = Loop(self.cluster, conf, self.clock, registry=registry, observer=self.recorder)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.recorder.close()

    def cycles(self, count: int) -> None:
        """So many cycles, a second apart; those that fail are passed over."""
        for _ in range(count):
            with suppress(HeklaError):
                self.loop.step()
            self.clock.sleep(1.0)


def conf(text: str, registry: Registry = BUILTIN) -> Conf:
    return require(read_conf(text, "test", registry.catalogue()), False)


def all_cycles(path: Path, registry: Registry = BUILTIN) -> list[Replayed]:
    return list(replay(Recording(path), registry))


def assert_identical(path: Path, registry: Registry = BUILTIN) -> list[int]:
    """Every cycle, in turn and gone to directly; their numbers."""
    numbers = []
    for replayed in all_cycles(path, registry):
        assert replayed.is_identical, [str(one) for one in replayed.differences()]
        replayer, cycle = travel_to(Recording(path), replayed.cycle.number, registry)
        assert replayer.decide(cycle).is_identical, cycle.number
        numbers.append(cycle.number)
    return numbers


def kinds_of(path: Path, kind: Callable[..., object]) -> int:
    return sum(type(record) is kind for record in Recording(path))
