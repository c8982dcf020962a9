"""Reports opened in a real browser, from a file and without a network.

Where there is no Chromium the tests are skipped; with HEKLA_REQUIRE_BROWSER=1 they fail instead.
HEKLA_CHROMIUM names one that is not on the path.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hekla.insight.compare import Comparison, write_comparison_report
from hekla.simulation.report import write_report
from looking import settle

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# No sandbox: containers have none to offer. The rest keeps the browser from calling home.
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if sync_playwright is None:
        no_browser("playwright is not installed; it is in the group dev of pyproject.toml")
    program = os.environ.get("HEKLA_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        no_browser("no Chromium found; install one, or name it in HEKLA_CHROMIUM")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield running
        running.close()


def no_browser(reason: str) -> None:
    if os.environ.get("HEKLA_REQUIRE_BROWSER") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


Opener = Callable[..., Any]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The file of a report; that of one run is written once, for large ones take seconds."""
    folder, known = tmp_path_factory.mktemp("reports"), {}

    def write(runs: Any, **said: Any) -> Path:
        path = folder / f"report-{len(list(folder.iterdir()))}.html"
        if isinstance(runs, Comparison):
            write_comparison_report(runs, path)
        elif said or isinstance(runs, list):
            write_report(runs, path, **said)
        elif id(runs) not in known:
            write_report(runs, path)
            # With the run, or another one might come to lie at its address.
            known[id(runs)] = (runs, path)
        return path if path.exists() else known[id(runs)][1]

    return write


@pytest.fixture
def opened(browser: Any, written: Callable[..., Path]) -> Iterator[Opener]:
    """Writes a report of runs, or of a comparison, and opens it.

    Whatever the page complains of or asks the network for fails the test.
    """
    problems: list[str] = []
    contexts = []

    def open_report(
        runs: Any, *, width: int = 1280, scheme: str = "light", is_phone: bool = False, **said: Any
    ) -> Any:
        path = written(runs, **said)
        size = {"width": width, "height": 900}
        context = browser.new_context(
            viewport=size, color_scheme=scheme, has_touch=is_phone, is_mobile=is_phone
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        page.on(
            "request", lambda asked: asked.url == path.as_uri() or problems.append(f"asks for {asked.url}")
        )
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        settle(page)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert problems == []
