"""Results at the end of a cell: HTML that is whole, says what matters and draws it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hekla import compare, forecast, frame, plan, rows, simulate
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason
from hekla.errors import InputError
from hekla.insight.forecast import Forecast, Start
from hekla.simulation.report.svg import (
    COLOURS,
    MOST_TICKS,
    Band,
    ChartCurve,
    areas,
    bands,
    lines,
    round_above,
    time_ticks,
)
from hekla.testing.builders import job, node, queue

EVIL = "</svg><script>alert(1)</script>&\x1b"
WORK = """
queues: [{name: research}, {name: batch}]
jobs:
  - {name: train, duration: 2h, pods: 4, cpu: 12, queue: research}
  - {name: sweep, arrival: 10m, duration: 20m, cpu: 4, queue: batch, count: 6, every: 1m}
"""
NODES = "4 x cpu=16"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    file = tmp_path / "work.yaml"
    file.write_text(WORK)
    return file


def parsed(html: str) -> ElementTree.Element:
    """As XML, which forgives nothing."""
    return ElementTree.fromstring(f"<body>{html}</body>")


def words(element: ElementTree.Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def test_a_run_shows_its_figures_what_was_in_use_and_what_waited(work: Path) -> None:
    run = simulate(work, nodes=NODES)
    page = parsed(run._repr_html_())
    assert words(page).startswith(
        "work: 7 jobs on 4 nodes, configuration default jobs 7: 7 completed simulated"
    )
    pictures = page.findall(f".//{SVG}svg")
    assert [picture.get("aria-label") for picture in pictures] == ["cores in use", "jobs that wait"]
    for picture in pictures:
        assert {text.text for text in picture.iter(f"{SVG}text")} >= {"research", "batch", "0 s"}
        assert len(picture.findall(f"{SVG}polygon")) == 2
    assert page.findall(".//script") == []
    assert run._repr_html_() == simulate(work, nodes=NODES)._repr_html_()


def test_a_comparison_shows_its_verdict_and_its_runs_across_each_other(work: Path) -> None:
    page = parsed(compare(work, {"default": None, "helm": "helm"}, nodes=NODES)._repr_html_())
    assert "default / helm" in words(page)
    assert "wait, mean" in words(page)
    [picture] = page.findall(f".//{SVG}svg")
    assert [line.get("stroke") for line in picture.findall(f"{SVG}polyline")] == list(COLOURS[:2])


def state() -> list[object]:
    return [
        *(node("n1", cpu=4), queue("default"), queue("root")),
        *job("first", running={"n1": 1}, cpu=4, annotations={"hekla.dev/run-seconds": "600"}).objects,
        *job("second", cpu=4, annotations={"hekla.dev/run-seconds": "60"}).objects,
        *job("third", cpu=4, annotations={"hekla.dev/run-seconds": "60"}).objects,
    ]


def test_a_forecast_shows_a_band_for_each_job_and_why_it_waits() -> None:
    found = forecast(state(), samples=3)
    page = parsed(found._repr_html_())
    assert words(page).startswith("2 jobs waiting; 3 samples, 7.0 d ahead")
    [picture] = page.findall(f".//{SVG}svg")
    assert len(picture.findall(f"{SVG}rect")) == 2 * len(found.starts) == 4
    assert [row[0].text for row in page.findall(".//tbody/tr")] == [one.job for one in found.starts]


def test_an_interrupted_forecast_says_so() -> None:
    found = replace(forecast(state(), samples=3), is_complete=False)
    assert "interrupted: fewer samples than were asked for" in found._repr_html_()


def test_plans_show_the_answer_what_holds_back_and_what_would_help() -> None:
    there = [node("n1", cpu=4), node("n2", cpu=8), queue("default"), queue("root")]
    found = plan([*job("wide", tasks=2, cpu=9).objects, *job("slim", cpu=1).objects], there)
    page = words(parsed(found._repr_html_()))
    assert "default/wide: would not start" in page
    assert "It would start with any one of these changes:" in page
    assert "default/slim: would start now" in page
    assert page.count("would not start") == 1


def test_names_stay_where_they_are(tmp_path: Path) -> None:
    curves = [ChartCurve(EVIL, np.array([1.0, 2.0]), COLOURS[0])]
    edges = np.array([0.0, 1.0, 2.0])
    waits = Finding(WaitReason.NO_ROOM, Verdict.NEVER, EVIL)
    start = Start(EVIL, EVIL, EVIL, 1, None, 1.0, 2.0, math.inf, 1, True, waits)
    for html in (
        areas(EVIL, edges, curves),
        lines(EVIL, edges, curves),
        bands(EVIL, [Band(EVIL, 1.0, 2.0, 3.0)]),
        Forecast(0.0, 10.0, 1, (start,), {}, (EVIL,))._repr_html_(),
        plan(job("j", cpu=1, queue="default").objects, [node("n1", cpu=4), queue("default"), queue("root")])
        ._repr_html_()
        .replace("default/j", "x"),
    ):
        assert "<script" not in html
        assert "\x1b" not in html
        parsed(html)


def test_a_run_without_jobs_is_shown_too(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("jobs: []\n")
    page = parsed(simulate(tmp_path / "none.yaml", nodes=NODES)._repr_html_())
    assert "0 jobs on 4 nodes" in words(page)


# Charts


def test_areas_lie_on_top_of_each_other_up_to_a_round_number() -> None:
    edges = np.array([0.0, 50.0, 100.0])
    curves = [
        ChartCurve("a", np.array([1.0, 1.0]), "#111111"),
        ChartCurve("b", np.array([2.0, 0.0]), "#222222"),
    ]
    picture = parsed(areas("t", edges, curves))
    first, second = (area.get("points", "").split() for area in picture.iter(f"{SVG}polygon"))
    assert first[0].split(",")[1] == second[-1].split(",")[1]  # b begins where a ends
    assert [float(corner.split(",")[0]) for corner in first[:4]] == [52.0, 340.0, 340.0, 628.0]
    assert {text.text for text in picture.iter(f"{SVG}text")} >= {"0", "1.6", "3.2"}


@pytest.mark.parametrize("end", [0.3, 1.0, 59.0, 3600.0, 90_000.0, 31e6, 1e12])
def test_ticks_of_time_are_few_and_within_the_picture(end: float) -> None:
    ticks = time_ticks(end)
    assert 2 <= len(ticks) <= MOST_TICKS + 1
    assert ticks[0] == 0.0
    assert ticks[-1] <= end * (1 + 1e-9)


@pytest.mark.parametrize(
    ("most", "above"), [(0, 1), (31.9, 32), (64, 64), (65, 80), (0.11, 0.12), (999, 1000)]
)
def test_an_axis_ends_at_a_round_number(most: float, above: float) -> None:
    assert round_above(most) == pytest.approx(above)


def test_a_band_that_is_not_in_sight_is_told_and_one_that_ends_out_of_it_is_longer_than_all() -> None:
    picture = parsed(bands("t", [Band("a", 1, 2, 4), Band("b", 1, 2, math.inf), Band("c", *[math.inf] * 3)]))
    bars = [float(bar.get("width", "")) for bar in picture.iter(f"{SVG}rect")]
    assert len(bars) == 4
    assert bars[2] > bars[0]
    assert "not in sight" in words(picture)


# Frames


def test_there_is_a_frame_for_everything_of_a_run(work: Path) -> None:
    run = simulate(work, nodes=NODES)
    for of in ("", "jobs", "pod_runs", "queues", "series", "use"):
        assert frame(run, of).to_dicts() == rows(run, of)
    assert frame(run, "pod_runs").select("job", "node", "began", "ended").height == 10
    assert set(frame(run, "use")["resource"]) >= {"cpu"}
    assert frame(run).equals(frame(run, "jobs"))


def test_a_table_that_there_is_not_is_told(work: Path) -> None:
    run = simulate(work, nodes=NODES)
    with pytest.raises(InputError, match='no table "pod_run" of a run; did you mean "pod_runs"'):
        frame(run, "pod_run")
    with pytest.raises(InputError, match="only of a run"):
        rows(forecast(state(), samples=1), "series")


def test_example_13_keeps_when_jobs_started() -> None:
    """An expression without a name of its own takes the place of its first column."""
    text = (Path(__file__).parents[1] / "examples/13-compare-a-policy/compare.py").read_text("utf-8")
    assert 'wait=col("started") - col("submitted")' in text
    assert text.count('col("started")') == 1
