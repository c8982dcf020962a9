"""The page of `hekla capacity --plot`, as browsers show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hekla import capacity
from hekla.insight.capacity import write_curve
from hekla.simulation.workloads import Workload, read_workload

WORK = """
queues: [{name: "research"}]
jobs:
- {name: train, queue: research, every: 1m, count: 200, duration: 10m, cpu: 1}
"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capacity")
    (folder / "work.yaml").write_text(WORK)
    work: Workload = read_workload(folder / "work.yaml")
    goals = ["research: wait.p95 < 2m", "utilisation.cpu > 10%"]
    write_curve(capacity(work, goals, nodes="4..20 x cpu=1"), folder / "curve.html")
    return folder / "curve.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_the_page_shows_answer_curves_and_table(
    browser: Any, page_file: Path, width: int, scheme: str
) -> None:
    problems: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(page_file.as_uri())
    assert "nodes are enough for research: wait.p95 < 2m" in page.text_content("h1")
    assert page.locator("polyline.line").count() == 2
    assert page.locator("tbody tr").count() >= 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.querySelector('svg .page')).fill")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")
    context.close()
    assert problems == []
