"""What tests of pages look at."""

from __future__ import annotations

from typing import Any

import pytest


def settle(page: Any) -> None:
    """Charts are drawn in the frame after the one that asked for it."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def until(page: Any, condition: str) -> None:
    """Frame by frame; the page's policy forbids what `wait_for_function` does."""
    for _ in range(200):
        settle(page)
        if page.evaluate(condition):
            return
    pytest.fail(f"never came: {condition}")


def unfold(page: Any) -> None:
    """Opens all that is folded; what lies in it is drawn once it has a width."""
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    settle(page)
    settle(page)


def overflow(page: Any) -> int:
    """How far the page sticks out to the side."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
