"""Why jobs waited, as a reader sees it: charts, a table, a job's own causes; side by side in comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from browser.looking import overflow, settle, unfold
from fakes.made_runs import made_run
from hekla.objects import ObjectMeta, Queue
from hekla.objects.scheduling import QueueSpec
from hekla.simulation.measures.causes import RunCauses
from hekla.simulation.measures.words import spoken_seconds
from hekla.simulation.run import Run
from simulation.plays import PLAIN, job, node, play

Opener = Callable[..., Any]

QUEUES = [Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=1)) for name in ("a", "b")]


@pytest.fixture(scope="module")
def run() -> Run:
    """Jobs that wait for room, and for room in one piece; one of them for both in turn."""
    jobs = [
        *[job(f"long{at}", 0, 300, cpu=3, queue="a") for at in (1, 2)],
        *[job(f"short{at}", 0, 100, cpu=1, queue="a") for at in (1, 2)],
        job("late", 0, 50, cpu=2, queue="b"),
        job("wide", 30, 50, pods=2, cpu=4, queue="b"),
    ]
    return play(jobs, [node("n1"), node("n2")], conf=PLAIN, objects=QUEUES)


def rows_of(page: Any, section: str) -> list[list[str]]:
    rows = page.locator(f"#{section} tbody tr").all()
    return [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in rows]


def told_at(page: Any, chart: Any, part: float) -> str:
    """The tooltip over that part of the chart's time; scrolling to it may take a while, and hides it."""
    width = chart.bounding_box()["width"]
    for _ in range(50):
        chart.hover(position={"x": 56 + (width - 68) * part, "y": 100})
        settle(page)
        if page.locator("#tooltip").is_visible():
            return str(page.locator("#tooltip").text_content())
    return ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_causes_are_drawn_with_a_legend_a_caption_and_a_table(
    opened: Opener, run: Run, scheme: str, width: int
) -> None:
    page = opened(run, width=width, scheme=scheme)
    for name in ("causes", "idle"):
        bands = page.locator(f"#{name}-charts svg path.band")
        assert bands.count() >= 2
        assert (
            max(len(path or "") for path in bands.evaluate_all("a => a.map(one => one.getAttribute('d'))"))
            > 40
        )
    assert page.locator("#causes-legend").inner_text().split("\n") == [
        "no room",
        "fragmentation",
        "no job asked for it",
    ]
    assert "no room" in page.locator("#causes figcaption").first.inner_text()
    assert rows_of(page, "causes")[0][:2] == ["all queues", spoken_seconds(620)]
    assert page.locator("nav").get_by_text("Why jobs waited").count() == 1
    assert overflow(page) <= 0


def test_a_band_is_as_high_as_the_jobs_that_its_cause_binds(opened: Opener, run: Run) -> None:
    page = opened(run)
    # At 200 of 400 seconds one job lacks a piece, and the other room.
    told = told_at(page, page.locator("#causes-charts svg").first, 200 / run.end)
    assert "fragmentation1no room1together, jobs2" in told


def test_the_panel_of_a_job_tells_its_own_causes(opened: Opener, run: Run) -> None:
    page = opened(run)
    known = RunCauses(run)
    seconds = known.seconds[run.jobs.names.index("default/late")]
    told = {str(cause): float(waited) for cause, waited in zip(known.causes, seconds, strict=True) if waited}
    assert told == {"no room": 100, "fragmentation": 200}
    page.fill("#search", "late")
    settle(page)
    page.locator("#jobs-table tbody tr[data-job]").first.click()
    settle(page)
    panel = page.locator("#selection").inner_text()
    assert "waited for\nfragmentation 3.3 min, no room 100 s" in panel


def test_a_page_of_a_run_that_was_not_watched_has_no_such_section(opened: Opener) -> None:
    page = opened(made_run())
    assert page.locator("#causes").count() == 0
    assert page.locator("nav").get_by_text("Why jobs waited").count() == 0


@pytest.mark.parametrize("width", [1400, 420])
def test_runs_have_their_causes_side_by_side(opened: Opener, run: Run, width: int) -> None:
    page = opened([run, replace(run, conf="other.conf")], width=width)
    rows = rows_of(page, "lost-time")
    assert [row[0] for row in rows[:2]] == ["no room", "fragmentation"]
    assert all(row[1] == row[2] for row in rows)
    assert "idle in pieces too small for waiting jobs" in [row[0] for row in rows]
    assert overflow(page) <= 0
    unfold(page)
    assert page.locator("#causes-charts figure").count() == 2
    assert page.locator("#causes-charts svg path.band").count() >= 4
