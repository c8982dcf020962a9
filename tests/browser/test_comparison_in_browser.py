"""A comparison as a reader meets it: verdict first, runs over each other, light and dark, wide and narrow."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hekla import Comparison, compare
from looking import overflow, settle, unfold

Opener = Callable[..., Any]

WORK = """
queues: [{name: notebooks}, {name: training}]
jobs:
- {name: note, queue: notebooks, every: 100s, count: 60, duration: 16m, cpu: 1}
- {name: train, queue: training, arrival: 5m, every: 5m, count: 20, duration: 9m, cpu: 8}
- {name: huge, queue: training, arrival: 1h, duration: 9m, cpu: 9}
"""
NODES = "4 x cpu=8"
SPREAD = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins:
  - {name: predicates}
  - {name: nodeorder, arguments: {leastrequested.weight: 10, mostrequested.weight: 0}}
"""
PACK = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: binpack}]
"""
CHARTS = ("waits", "use", "backlog")
LONG = "the-configuration-of-the-research-cluster-as-it-was-before-the-change.yaml"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("work") / "day.yaml"
    path.write_text(WORK)
    return path


@pytest.fixture(scope="module")
def comparison(work: Path) -> Comparison:
    return compare(work, {"spread.conf": SPREAD, "pack.conf": PACK}, nodes=NODES)


@pytest.fixture(scope="module")
def several(work: Path) -> Comparison:
    """Three candidates: a better one, one that makes no difference, and one with a long name."""
    confs = {"spread.conf": SPREAD, "pack.conf": PACK, "again.conf": SPREAD, LONG: PACK}
    return compare(work, confs, nodes=NODES)


def chart(page: Any, name: str) -> Any:
    found = page.locator(f"#overlaid-{name}-chart")
    found.scroll_into_view_if_needed()
    return found


def test_the_verdict_comes_first_and_charts_soon_after(opened: Opener, comparison: Comparison) -> None:
    page = opened(comparison, width=1400)
    assert page.locator(".headline").inner_text() == "✓\npack.conf is better than spread.conf"
    assert page.locator(".headline").bounding_box()["y"] < 300
    assert page.locator("#overlaid-waits-chart svg[role=img]").bounding_box()["y"] < 1000
    assert page.locator("#verdict tbody tr").count() < 15


def test_better_and_worse_are_said_in_words_and_with_arrows(opened: Opener, comparison: Comparison) -> None:
    page = opened(comparison)
    rows = {
        row.locator("th").inner_text(): row.locator(".pill").inner_text()
        for row in page.locator("#verdict tbody tr").all()
    }
    assert rows["wait, mean"] == "↓ 100% better"
    assert rows["completed jobs"] == "= same"
    assert rows["makespan"].startswith("↓ ")
    assert rows["utilisation, cpu"].startswith("↑ ")
    assert page.locator("#verdict .strip").count() == 4
    assert (
        page.locator(".groups").inner_text().startswith("Better off\njobs of queue training wait 100 % less")
    )


def test_runs_lie_over_each_other_in_colours_of_their_own(opened: Opener, several: Comparison) -> None:
    page = opened(several)
    for name in CHARTS:
        curves = chart(page, name).locator(".plot path.curve")
        strokes = curves.evaluate_all("all => all.map((one) => getComputedStyle(one).stroke)")
        assert len(set(strokes)) == len(several.names) == len(strokes), name
        said = chart(page, name).locator(".legend > span").all_inner_texts()
        assert [text.split(" (")[0] for text in said] == list(several.names), name
        keys = (
            chart(page, name)
            .locator(".legend path")
            .evaluate_all("all => all.map((one) => getComputedStyle(one).stroke)")
        )
        assert keys == strokes, name


def test_a_curve_of_jobs_that_never_start_ends_below_the_top(opened: Opener, comparison: Comparison) -> None:
    """One job of 81 fits no node."""
    page = opened(comparison)
    assert "1 never started" in chart(page, "waits").locator(".legend").inner_text()
    ends = chart(page, "waits").locator("path.curve").first.evaluate("one => one.getBBox().y")
    top = (
        chart(page, "waits")
        .locator(".axis line.grid")
        .evaluate_all("all => Math.min(...all.map((one) => Number(one.getAttribute('y1'))))")
    )
    assert ends > top


@pytest.mark.parametrize(("width", "least"), [(1400, 7), (420, 3)])
def test_the_axis_of_waits_has_marks_enough_that_do_not_touch(
    opened: Opener, comparison: Comparison, width: int, least: int
) -> None:
    page = opened(comparison, width=width)
    marks = chart(page, "waits").locator("svg[role=img] .axis text:not(.axis-title)").all()
    boxes = {mark.text_content(): mark.bounding_box() for mark in marks}
    along = sorted(
        (box["x"], box["x"] + box["width"], text) for text, box in boxes.items() if "%" not in text
    )
    assert len(along) >= least
    assert all(end < start for (_, end, _), (start, _, _) in pairwise(along)), along
    assert all(re.fullmatch(r"(≤ )?[\d.]+ (s|min|h|d)", text) for *_, text in along)


@pytest.mark.parametrize("name", CHARTS)
def test_pointing_at_a_chart_tells_the_values_of_all(
    opened: Opener, comparison: Comparison, name: str
) -> None:
    page = opened(comparison)
    box = chart(page, name).locator(".plot").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    told = page.locator("#tooltip .tip-row")
    assert [row.locator("span").first.inner_text() for row in told.all()] == ["spread.conf", "pack.conf"]
    assert all(re.match(r"[\d.,]+%?|ended", row.locator("b").inner_text()) for row in told.all())
    assert chart(page, name).locator(".mark").count() == 1


def test_another_resource_changes_both_charts_of_it(opened: Opener, comparison: Comparison) -> None:
    page = opened(comparison)
    before = [chart(page, name).inner_html() for name in ("use", "backlog")]
    page.locator("#overlaid-use-resource button", has_text="pods").click()
    settle(page)
    assert all(
        chart(page, name).inner_html() != was for name, was in zip(("use", "backlog"), before, strict=True)
    )
    assert page.locator("#overlaid-backlog-resource button[aria-pressed=true]").inner_text() == "pods"


def test_details_are_folded_and_drawn_when_they_are_opened(opened: Opener, comparison: Comparison) -> None:
    page = opened(comparison)
    assert page.locator("details.section").count() >= 9
    assert page.locator("details[open]").count() == 0
    assert page.locator("#use svg[role=img]").count() == 0
    page.locator("#use summary").click()
    settle(page)
    settle(page)
    assert page.locator("#use svg[role=img]").count() == 2


def test_a_link_to_something_folded_opens_it(opened: Opener, comparison: Comparison) -> None:
    page = opened(comparison)
    page.locator(".skip").evaluate("link => link.click()")
    settle(page)
    assert page.locator("#jobs-box").is_visible()


def test_several_candidates_stand_side_by_side(opened: Opener, several: Comparison) -> None:
    page = opened(several, width=1400)
    verdicts = page.locator(".verdict .headline").all_inner_texts()
    assert [text.split("\n")[0] for text in verdicts] == ["✓", "=", "✓"]
    heads = page.locator(".matrix thead th").all_inner_texts()
    assert heads == ["Figure", *several.names[1:]]
    waits = page.locator(".matrix tbody tr").first.locator(".pill").all_inner_texts()
    assert waits == ["↓ 100% better", "= same", "↓ 100% better"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1400])
def test_nothing_sticks_out_to_the_side(opened: Opener, several: Comparison, width: int, scheme: str) -> None:
    page = opened(several, width=width, scheme=scheme, is_phone=width < 600)
    assert overflow(page) <= 0
    unfold(page)
    assert overflow(page) <= 0


@pytest.mark.parametrize("is_phone", [True, False])
def test_a_phone_gets_hints_for_fingers(opened: Opener, comparison: Comparison, is_phone: bool) -> None:
    page = opened(comparison, width=420, is_phone=is_phone)
    assert page.locator("#overlaid-use .with-touch").is_visible() is is_phone
    assert page.locator("#overlaid-use .with-mouse").is_visible() is not is_phone


def test_a_touch_tells_values_and_they_stay(opened: Opener, comparison: Comparison) -> None:
    page = opened(comparison, width=420, is_phone=True)
    for name in CHARTS:
        chart(page, name).locator(".plot").tap()
        assert page.locator("#tooltip").is_visible(), name
        assert page.locator("#tooltip .tip-row").count() == 2, name


# How far the lightness of a text is from that of what lies behind it, as WCAG has it. Mixed colours come as
# `color(srgb ...)`, with parts from 0 to 1.
CONTRAST = """(one) => {
  const parts = (text) => {
    const numbers = text.match(/[\\d.]+/g).map(Number);
    return text.startsWith("color") ? numbers.slice(0, 3) : numbers.slice(0, 3).map((part) => part / 255);
  };
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const weights = [0.2126, 0.7152, 0.0722];
  const light = (text) => parts(text).map(linear).reduce((sum, part, at) => sum + part * weights[at], 0);
  const style = getComputedStyle(one);
  const [low, high] = [light(style.color), light(style.backgroundColor)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_coloured_can_be_read(opened: Opener, several: Comparison, scheme: str) -> None:
    page = opened(several, scheme=scheme)
    coloured = page.locator(".pill, .verdict-mark")
    assert coloured.count() > 20
    assert min(coloured.nth(at).evaluate(CONTRAST) for at in range(coloured.count())) >= 4.5


HOSTILE = """</script><img src=x onerror="alert('x')"><b>"""


def test_hostile_names_do_nothing(opened: Opener, work: Path) -> None:
    hostile = compare(work, {HOSTILE: SPREAD, f"{HOSTILE}2": PACK}, nodes=NODES)
    page = opened(replace(hostile, title=HOSTILE), width=420)
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator(".headline").inner_text()
    assert overflow(page) <= 0


def test_it_prints_on_a_few_pages(opened: Opener, comparison: Comparison) -> None:
    page = opened(comparison, scheme="dark")
    document = page.pdf(print_background=True, format="A4")
    assert 1 <= len(re.findall(rb"/Type /Page\b(?!s)", document)) <= 4
