"""The report as a reader meets it: drawn, searched, zoomed, printed, light and dark, wide and narrow."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from fakes.made_runs import empty_run, made_run
from hekla.simulation.measures.words import spoken_seconds
from hekla.simulation.report import Section
from hekla.simulation.run import Run
from looking import overflow, settle, unfold, until

Opener = Callable[..., Any]

HOSTILE = """</script><img src=x onerror="alert('x')"><b>"""
CHARTS = ["use", "waiting", "running", "share"]
# How many different colours a canvas shows, of every 37th pixel.
COLOURS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4 * 37) seen.add(data.slice(at, at + 4).join());
  return seen.size;
}"""
PICTURE = """(canvas) => canvas.toDataURL()"""


@pytest.fixture(scope="module")
def run() -> Run:
    return made_run(jobs=200, nodes=12, load=1.2)


@pytest.fixture(scope="module")
def large() -> Run:
    return made_run(jobs=10_000, nodes=1000, pods=10.0, load=1.05)


def gantt(page: Any) -> Any:
    canvas = page.locator("#gantt canvas").first
    canvas.scroll_into_view_if_needed()
    return canvas


def assert_drawn(page: Any, runs: int = 1) -> None:
    for name in CHARTS:
        paths = page.locator(f"#{name}-charts svg path").evaluate_all(
            "all => all.map(one => one.getAttribute('d'))"
        )
        assert sum(len(path or "") > 20 for path in paths) >= runs, name
    for name in ("queue-waits", "size-waits"):
        assert page.locator(f"#{name} svg[role=img] path").count() >= 2 * runs, name
    for name in ("gantt", "heat"):
        canvases = page.locator(f"#{name} canvas")
        assert canvases.count() == runs
        assert all(canvases.nth(at).evaluate(COLOURS) > 4 for at in range(runs)), name


def test_every_chart_is_drawn(opened: Opener, run: Run) -> None:
    page = opened(run)
    assert_drawn(page)
    assert page.locator("#jobs-table tbody tr[data-job]").count() > 10
    assert page.title() == "200 jobs on 12 nodes"


def test_charts_have_words_for_those_who_cannot_see_them(opened: Opener, run: Run) -> None:
    page = opened(run)
    labels = page.locator("[role=img][aria-label], [role=application][aria-label]")
    assert labels.count() >= 4 + 4 + 2
    assert all(labels.nth(at).get_attribute("aria-label") for at in range(labels.count()))
    for caption in page.locator("#use figcaption, #gantt figcaption").all_inner_texts():
        assert re.search(r"\d", caption)


def test_several_runs_are_drawn_beside_each_other_on_the_same_scales(opened: Opener) -> None:
    runs = [made_run(conf="a.conf"), made_run(conf="b.conf", seed=5)]
    page = opened(runs, verdict="b is better.")
    unfold(page)
    assert_drawn(page, runs=2)
    boxes = [page.locator("#use figure").nth(at).bounding_box() for at in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] < boxes[1]["x"]
    axes = [page.locator("#use figure").nth(at).locator(".axis").all_inner_texts() for at in (0, 1)]
    assert axes[0] == axes[1]
    page.get_by_role("button", name="b.conf").click()
    assert "team-" in page.locator("#jobs-table tbody tr[data-job] td").first.inner_text()


def test_search_and_filters_narrow_the_table_down(opened: Opener, run: Run) -> None:
    page = opened(run)
    page.fill("#search", "user-07 TRAIN")
    expected = sum(user == "user-07" for user in run.jobs.users)
    assert 0 < expected < 30
    assert page.locator("#found").inner_text() == f"{expected} of 200 jobs"
    settle(page)
    assert page.locator("#jobs-table tbody tr[data-job]").count() == min(expected, 25)
    page.fill("#search", "")
    page.select_option("#filter-queue", "batch")
    page.select_option("#filter-state", "failed")
    both = sum(q == 2 and s == 3 for q, s in zip(run.jobs.queue, run.jobs.state, strict=True))
    assert page.locator("#found").inner_text() == f"{both} of 200 jobs"
    page.fill("#search", "nobody is called like this")
    settle(page)
    assert page.locator("#jobs-table tbody tr[data-job]").count() == 0


def test_the_table_says_times_as_the_figures_do(opened: Opener, run: Run) -> None:
    page = opened(run)
    page.get_by_role("columnheader", name=re.compile("^Waited")).get_by_role("button").click()
    settle(page)
    waits = run.jobs.started - run.jobs.submitted
    for row in page.locator("#jobs-table tbody tr[data-job]").all():
        name, waited = row.locator("td").nth(0).inner_text(), row.locator("td").nth(5).inner_text()
        assert waited == spoken_seconds(float(waits[run.jobs.names.index(name)]))


def test_a_click_on_a_header_sorts(opened: Opener, run: Run) -> None:
    page = opened(run)
    header = page.get_by_role("columnheader", name=re.compile("^Pods"))
    header.get_by_role("button").click()
    settle(page)
    assert header.get_attribute("aria-sort") == "descending"
    column = header.evaluate("head => head.cellIndex")
    shown = page.locator(f"#jobs-table tbody tr[data-job] td:nth-child({column + 1})").all_inner_texts()
    assert [int(text) for text in shown] == sorted(run.jobs.pods.tolist(), reverse=True)[: len(shown)]


def test_ten_thousand_rows_scroll_to_the_last_one(opened: Opener, large: Run) -> None:
    page = opened(large)
    page.locator("#jobs-box").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    settle(page)
    assert page.locator("#jobs-table tbody tr[data-job]").count() < 60
    assert page.locator("#jobs-table tbody tr[data-job] td").nth(0).is_visible()
    assert large.jobs.names[-1] in page.locator("#jobs-table tbody").inner_text()


def test_the_wheel_zooms_time_when_the_chart_has_the_focus(opened: Opener, run: Run) -> None:
    page = opened(run)
    canvas = gantt(page)
    before, scrolled = canvas.evaluate(PICTURE), page.evaluate("scrollY")
    canvas.focus()
    canvas.hover()
    page.mouse.wheel(0, -400)
    until(page, "!document.getElementById('window-text').textContent.startsWith('0 s')")
    assert canvas.evaluate(PICTURE) != before
    assert page.evaluate("scrollY") == scrolled
    page.keyboard.press("0")
    settle(page)
    assert canvas.evaluate(PICTURE) == before


def test_without_the_focus_the_wheel_scrolls_the_page(opened: Opener, run: Run) -> None:
    page = opened(run)
    gantt(page).hover()
    text, scrolled = page.locator("#window-text").inner_text(), page.evaluate("scrollY")
    page.mouse.wheel(0, -300)
    until(page, f"scrollY < {scrolled}")
    assert page.locator("#window-text").inner_text() == text


@pytest.mark.parametrize("key", ["+", "]", "ArrowRight", "ArrowDown"])
def test_keys_move_and_zoom(opened: Opener, large: Run, key: str) -> None:
    page = opened(large)
    canvas = gantt(page)
    canvas.focus()
    for _ in range(3):
        page.keyboard.press("+")
        page.keyboard.press("]")
    settle(page)
    before = canvas.evaluate(PICTURE)
    page.keyboard.press(key)
    settle(page)
    assert canvas.evaluate(PICTURE) != before


def test_dragging_moves_and_dragging_with_shift_zooms(opened: Opener, large: Run) -> None:
    page = opened(large)
    canvas = gantt(page)
    box = canvas.bounding_box()
    page.keyboard.down("Shift")
    drag(page, box["x"] + 300, box["y"] + 100, box["x"] + 500, box["y"] + 160)
    page.keyboard.up("Shift")
    rows = page.locator("#gantt .small-buttons span")
    assert re.fullmatch(r"nodes \d+ to \d+ of 1,000", rows.inner_text())
    zoomed = page.locator("#window-text").inner_text()
    assert not zoomed.startswith("0 s")
    drag(page, box["x"] + 300, box["y"] + 200, box["x"] + 420, box["y"] + 120)
    assert page.locator("#window-text").inner_text() != zoomed


def drag(page: Any, x: float, y: float, to_x: float, to_y: float) -> None:
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2, (y + to_y) / 2)
    page.mouse.move(to_x, to_y)
    page.mouse.up()
    settle(page)


def test_a_hundred_thousand_pod_runs_are_drawn_in_less_than_a_tenth_of_a_second(
    opened: Opener, large: Run
) -> None:
    assert len(large.pod_runs) > 100_000
    page = opened(large)
    gantt(page)
    times = page.evaluate(
        """async () => {
          const canvas = document.querySelector("#gantt canvas");
          const { left, top } = canvas.getBoundingClientRect();
          const times = [];
          for (let turn = 0; turn < 24; turn++) {
            const deltaY = turn < 12 ? -60 : 60;
            const place = { deltaY, ctrlKey: true, clientX: left + 500, clientY: top + 100 };
            canvas.dispatchEvent(new WheelEvent("wheel", { ...place, cancelable: true }));
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            times.push([Number(canvas.dataset.milliseconds), Number(canvas.dataset.bars)]);
          }
          return times;
        }"""
    )
    bars = [count for _, count in times]
    assert min(bars) < max(bars) / 2
    assert median(spent for spent, _ in times) < 100


def test_zooming_shows_fewer_bars_and_their_names_in_the_end(opened: Opener, large: Run) -> None:
    page = opened(large)
    canvas = gantt(page)
    everything = int(canvas.get_attribute("data-bars"))
    canvas.focus()
    for _ in range(12):
        page.keyboard.press("]")
        page.keyboard.press("+")
    settle(page)
    assert int(canvas.get_attribute("data-bars")) < everything / 50


def test_a_job_selected_in_one_place_is_selected_everywhere(opened: Opener, run: Run) -> None:
    page = opened(run)
    canvas = gantt(page)
    before = canvas.evaluate(PICTURE)
    row = page.locator("#jobs-table tbody tr[data-job]").nth(3)
    name = row.locator("td").first.inner_text()
    row.click()
    settle(page)
    assert page.locator("#selection h2").inner_text() == name
    assert page.locator("#jobs-table tr[aria-selected=true]").count() == 1
    assert page.locator("#use .of-job").count() == 3
    assert page.locator("#queue-waits .of-job").count() == 1
    assert canvas.evaluate(PICTURE) != before
    page.get_by_role("button", name="Leave the selection").click()
    settle(page)
    assert page.locator("#selection").is_hidden()
    assert canvas.evaluate(PICTURE) == before


def test_a_click_on_a_bar_selects_its_job_and_pointing_at_it_tells_about_it(opened: Opener, run: Run) -> None:
    page = opened(run)
    canvas = gantt(page)
    box = canvas.bounding_box()
    places = ((box["x"] + x, box["y"] + y) for x in range(300, 1100, 40) for y in range(10, 300, 22))
    for x, y in places:
        page.mouse.move(x, y)
        if page.locator("#tooltip").is_visible():
            break
    name = page.locator("#tooltip .tip-title").inner_text()
    assert name in run.jobs.names
    page.mouse.down()
    page.mouse.up()
    settle(page)
    assert page.locator("#selection h2").inner_text() == name
    assert page.locator("#jobs-table tr[aria-selected=true] td").first.inner_text() == name


def test_arrows_walk_through_the_table(opened: Opener, run: Run) -> None:
    page = opened(run)
    page.locator("#jobs-box").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert page.locator("#selection h2").inner_text() == run.jobs.names[2]
    page.keyboard.press("Escape")
    assert page.locator("#selection").is_hidden()


def test_all_that_can_be_used_can_be_reached_with_the_tab_key(opened: Opener) -> None:
    page = opened(made_run(jobs=10, nodes=2))
    reached = set()
    for _ in range(90):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"theme", "closer", "CANVAS", "search", "filter-queue", "filter-state", "jobs-box"} <= reached


def test_another_resource_changes_use_and_heat(opened: Opener, run: Run) -> None:
    page = opened(run)
    before = page.locator("#use svg[role=img]").inner_html(), page.locator("#heat canvas").evaluate(PICTURE)
    page.locator("#use-resource button", has_text="memory").click()
    settle(page)
    after = page.locator("#use svg[role=img]").inner_html(), page.locator("#heat canvas").evaluate(PICTURE)
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert page.locator("#heat-resource button[aria-pressed=true]").inner_text() == "memory"


@pytest.mark.parametrize("colouring", ["by job", "by ending"])
def test_bars_are_coloured_by_what_one_asks_for(opened: Opener, run: Run, colouring: str) -> None:
    page = opened(run)
    canvas = gantt(page)
    before = canvas.evaluate(PICTURE)
    page.get_by_role("button", name=colouring).click()
    settle(page)
    assert canvas.evaluate(PICTURE) != before


def test_dragging_across_a_chart_zooms_all_of_them(opened: Opener, run: Run) -> None:
    page = opened(run)
    chart = page.locator("#use .plot")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    before = page.locator("#waiting-charts svg").inner_html()
    drag(page, box["x"] + 300, box["y"] + 80, box["x"] + 500, box["y"] + 80)
    assert page.locator("#waiting-charts svg").inner_html() != before
    page.get_by_role("button", name="All", exact=True).click()
    settle(page)
    assert page.locator("#window-text").inner_text().startswith("0 s")


def darkness(page: Any) -> float:
    """Of the page's background, from 0 for white to 1 for black."""
    shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return 1 - sum(map(float, re.findall(r"[\d.]+", shown)[:3])) / (3 * 255)


def test_it_is_dark_where_the_system_is_and_the_button_turns_it_over(opened: Opener, run: Run) -> None:
    page = opened(run, scheme="dark")
    assert darkness(page) > 0.8
    dark = page.locator("#gantt canvas").evaluate(PICTURE)
    page.locator("#theme").click()
    settle(page)
    assert darkness(page) < 0.2
    assert page.locator("#gantt canvas").evaluate(PICTURE) != dark
    page.locator("#theme").click()
    settle(page)
    assert darkness(page) > 0.8


def test_it_prints_in_light_on_a_few_pages_and_is_as_before_afterwards(opened: Opener, large: Run) -> None:
    page = opened(large, scheme="dark")
    before = page.locator("#gantt canvas").evaluate(PICTURE)
    document = page.pdf(print_background=True, format="A4")
    assert document.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type /Page\b(?!s)", document)) <= 14
    settle(page)
    assert darkness(page) > 0.8
    assert page.locator("#gantt canvas").evaluate(PICTURE) == before


def test_hostile_names_do_nothing(opened: Opener, run: Run) -> None:
    jobs = replace(run.jobs, names=[HOSTILE, *run.jobs.names[1:]], users=[HOSTILE] * len(run.jobs))
    nodes = replace(run.nodes, names=[HOSTILE * (1 + row % 2) for row in range(len(run.nodes.names))])
    hostile = replace(
        run,
        title=HOSTILE,
        conf=HOSTILE,
        jobs=jobs,
        nodes=nodes,
        queues=[HOSTILE, *run.queues[1:]],
        notes=[HOSTILE],
    )
    page = opened(hostile, width=400, verdict=HOSTILE, before=[Section("own", HOSTILE, "", nav=HOSTILE)])
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE
    row = page.locator("#jobs-table tbody tr[data-job]").first
    assert row.locator("td").first.inner_text() == HOSTILE
    row.click()
    assert page.locator("#selection h2").inner_text() == HOSTILE
    page.locator("#gantt canvas").hover()
    assert overflow(page) <= 0


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_sticks_out_to_the_side(opened: Opener, run: Run, width: int) -> None:
    page = opened(run, width=width)
    assert_drawn(page)
    assert overflow(page) <= 0
    both = opened([run, replace(run, conf="other.conf")], width=width)
    assert overflow(both) <= 0
    unfold(both)
    assert overflow(both) <= 0


def test_a_phone_gets_hints_for_fingers_and_others_for_keys(opened: Opener, run: Run) -> None:
    for is_phone in (True, False):
        page = opened(run, width=420, is_phone=is_phone)
        assert page.locator("#gantt .with-touch").is_visible() is is_phone
        assert page.locator("#gantt kbd").first.is_visible() is not is_phone


def test_what_a_finger_touched_stays_told_until_it_touches_something_else(opened: Opener, run: Run) -> None:
    page = opened(run, width=420, is_phone=True)
    for chart in ("#use .plot", "#heat canvas"):
        page.locator(chart).scroll_into_view_if_needed()
        page.locator(chart).tap()
        assert page.locator("#tooltip .tip-row").count() >= 2, chart
        assert page.locator("#tooltip").is_visible(), chart
        page.locator("h2:visible").first.tap()
        assert page.locator("#tooltip").is_hidden(), chart


def test_a_window_that_is_made_narrow_redraws(opened: Opener, run: Run) -> None:
    page = opened(run, width=1600)
    page.set_viewport_size({"width": 400, "height": 800})
    until(page, "document.querySelector('#use svg[role=img]').getAttribute('width') < 400")
    assert overflow(page) <= 0


def test_an_empty_run_has_a_page_that_says_so(opened: Opener) -> None:
    page = opened(empty_run())
    assert page.locator(".nothing").count() >= 6
    assert page.locator("#found").inner_text() == "0 of 0 jobs"


def test_an_interrupted_run_is_drawn_up_to_its_end(opened: Opener) -> None:
    page = opened(made_run(jobs=300, nodes=12, load=1.5, until=20_000.0))
    assert_drawn(page)
    assert page.locator(".warning").first.is_visible()
    assert "never started" in page.locator("#queue-waits .legend").inner_text()
