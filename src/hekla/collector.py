"""Python's collector of circular garbage, put off while it would only look in vain."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class without_collector:  # noqa: N801 - used in a with statement, as a function would be
    """Work that makes many objects and hardly a circle of them: looking for circles meanwhile costs time."""

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_error: object) -> None:
        if self._was_on:
            gc.enable()


def spare_what_is_there() -> None:
    """From now on the collector passes over everything that exists; it is still freed at the end of its use.

    Hundreds of thousands of objects that stay make every full search for circles take half a second.
    """
    gc.freeze()


@contextmanager
def sparing_collector(every: int = 1000) -> Iterator[Callable[[], None]]:
    """For work in many small steps that leaves few circles: only young objects are searched, now and then.

    What it gives is to be called after every step. What has survived one search is taken to stay.
    """
    steps = 0

    def tidy_up() -> None:
        nonlocal steps
        steps += 1
        if steps % every == 0:
            gc.collect(0)

    gc.freeze()
    try:
        with without_collector():
            yield tidy_up
    finally:
        gc.unfreeze()
