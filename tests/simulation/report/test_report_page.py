"""The page: one file, always the same, that holds everything and runs nothing but its own script."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes.made_runs import empty_run, made_run, repeated
from fakes.unpacking import unpacked
from hekla.errors import InputError
from hekla.simulation.report import Section, report_html, write_report
from hekla.simulation.report.page import SCRIPTS, fingerprint, joined_scripts, labels
from hekla.simulation.report.pictures import shortest_wait
from hekla.simulation.report.sections import asset
from hekla.simulation.run import Run, State

HOSTILE = """</script><img src=x onerror="alert('x')">&amp;<!--"""
VOID = {"meta", "link", "img", "input", "br", "path", "rect"}


class Reading(HTMLParser):
    """What a browser would see: tags in order, what is left open, and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        where = self.open[-1] if self.open else ""
        name = self.tags[-1][1].get("id") or where if where == "script" else where
        self.text[name] = self.text.get(name, "") + data


def read(page: str) -> Reading:
    reading = Reading()
    reading.feed(page)
    reading.close()
    assert not reading.open
    return reading


def data_of(page: str) -> Any:
    return json.loads(read(page).text["data"])


@pytest.fixture(scope="module")
def run() -> Run:
    return made_run(jobs=150, nodes=10, load=1.2)


@pytest.fixture(scope="module")
def page(run: Run) -> str:
    return report_html(run)


def test_it_is_sound_html_that_points_nowhere(page: str) -> None:
    reading = read(page)
    for tag, attributes in reading.tags:
        assert tag not in {"link", "img", "iframe", "object", "base"}
        assert not {"src", "srcset", "style", "action"} & set(attributes), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    ids = [attributes["id"] for _, attributes in reading.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_equal_runs_give_equal_bytes(run: Run, page: str) -> None:
    assert report_html(made_run(jobs=150, nodes=10, load=1.2)) == page
    assert report_html(replace(run, wall_seconds=3.0)) == page


def test_jobs_come_out_as_they_went_in(run: Run, page: str) -> None:
    jobs = data_of(page)["runs"][0]["jobs"]
    assert jobs["names"] == run.jobs.names
    assert [jobs["users"][int(at)] for at in unpacked(jobs["user"])] == run.jobs.users
    assert unpacked(jobs["state"]) == run.jobs.state.tolist()
    assert unpacked(jobs["queue"]) == run.jobs.queue.tolist()
    assert np.allclose(np.array(unpacked(jobs["submitted"])) / 1000, run.jobs.submitted, atol=0.001)
    waits = np.array(unpacked(jobs["wait"]))
    assert np.array_equal(waits >= 0, ~np.isnan(run.jobs.started))
    gpus = [jobs["requests"][int(at)][0] for at in unpacked(jobs["request"])]
    assert gpus == (run.jobs.requests[:, 2] / 1000).tolist()


def test_the_time_on_nodes_comes_out_as_it_went_in(run: Run, page: str) -> None:
    gantt = data_of(page)["runs"][0]["gantt"]
    length, pods = (np.array(unpacked(gantt[name])) for name in ("length", "pods"))
    assert unpacked(gantt["firstOfNode"])[-1] == len(length)
    assert pods.sum() == len(run.pod_runs)
    expected = (run.pod_runs.ended - run.pod_runs.began).sum()
    assert (length * pods).sum() * gantt["tick"] == pytest.approx(expected, rel=1e-4)


def test_the_use_that_is_drawn_is_the_use_there_was(run: Run, page: str) -> None:
    series = data_of(page)["runs"][0]["series"]
    drawn = sum(np.mean(unpacked(row)) for row in series["used"][0]) * run.end
    shapes = run.shapes[run.pod_runs.shape, 2] / 1000
    assert drawn == pytest.approx((shapes * (run.pod_runs.ended - run.pod_runs.began)).sum(), rel=1e-3)


def test_hostile_names_stay_text(run: Run) -> None:
    jobs = replace(run.jobs, names=[HOSTILE, *run.jobs.names[1:]], users=[HOSTILE, *run.jobs.users[1:]])
    nodes = replace(run.nodes, names=[HOSTILE, *run.nodes.names[1:]])
    queues = [HOSTILE, *run.queues[1:]]
    hostile = replace(
        run, title=HOSTILE, conf=HOSTILE, jobs=jobs, nodes=nodes, queues=queues, notes=[HOSTILE]
    )
    section = Section("own", HOSTILE, "", nav=HOSTILE)
    page = report_html([hostile, hostile], verdict=HOSTILE, before=[section])
    assert "<img" not in page
    reading = read(page)
    assert [tag for tag, _ in reading.tags].count("script") == 2
    data = json.loads(reading.text["data"])
    assert data["runs"][0]["jobs"]["names"][0] == HOSTILE
    assert data["runs"][1]["queues"][0] == HOSTILE


def test_words_of_no_script_of_this_world_are_written(tmp_path: Path, run: Run) -> None:
    """Half a surrogate pair is no text that a file can hold, and yet traces have been seen with it."""
    odd = replace(run, title="train \ud83c \U0001f30b")
    write_report(odd, tmp_path / "report.html")
    assert "\U0001f30b" in (tmp_path / "report.html").read_text("utf-8")


def test_the_policy_lets_this_script_and_this_style_in_and_nothing_else(page: str) -> None:
    reading = read(page)
    policy = next(a["content"] for t, a in reading.tags if t == "meta" and "http-equiv" in a) or ""
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src '{fingerprint(reading.text['script'])}'" in policy
    assert f"style-src '{fingerprint(reading.text['style'])}'" in policy
    assert "unsafe" not in policy


def test_every_script_is_in_the_page_and_none_is_forgotten() -> None:
    folder = Path(__file__).parents[3] / "src" / "hekla" / "simulation" / "report" / "assets"
    assert sorted(path.stem for path in folder.glob("*.js")) == sorted(SCRIPTS)
    assert all(asset(f"{name}.js") in joined_scripts() for name in SCRIPTS)
    # They share a scope: a name that is declared twice would stop the whole page.
    declared = re.findall(r"^(?:const|let|function|class) (\w+)", joined_scripts(), re.MULTILINE)
    assert len(declared) == len(set(declared))


def test_text_in_scripts_never_becomes_markup() -> None:
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert way not in joined_scripts()


def test_an_interrupted_run_says_so(page: str) -> None:
    cut = report_html(made_run(jobs=150, nodes=4, until=9000.0))
    assert "This run was interrupted" in cut
    assert "This run was interrupted" not in page


def test_a_run_with_nothing_in_it_has_a_page() -> None:
    data = data_of(report_html(empty_run()))
    assert data["span"] == 0
    assert data["runs"][0]["jobs"]["names"] == []


def test_a_job_whose_queue_is_not_there_is_shown_without_one(run: Run) -> None:
    queue, state = run.jobs.queue.copy(), run.jobs.state.copy()
    queue[-1], state[-1] = -1, State.REFUSED
    page = report_html(replace(run, jobs=replace(run.jobs, queue=queue, state=state)))
    assert unpacked(data_of(page)["runs"][0]["jobs"]["queue"])[-1] == -1


@pytest.mark.parametrize(
    ("waits", "begins"), [([0, 0.4, 0.9], 0.1), ([0, 5, 700], 1.0), ([0, 90], 10.0), ([0], 0.1)]
)
def test_the_axis_of_waits_begins_below_almost_all_of_them(
    run: Run, waits: list[float], begins: float
) -> None:
    started = run.jobs.submitted + np.resize(waits, len(run.jobs))
    assert shortest_wait([replace(run, jobs=replace(run.jobs, started=started))]) == begins


def test_more_queues_than_colours_share_the_last_one() -> None:
    run = made_run(jobs=300, nodes=8, queues=[f"queue-{number}" for number in range(12)])
    data = data_of(report_html(run))
    assert len(data["groups"]) == 9
    assert data["groups"][-1] == {"name": "4 other queues", "colour": 8}
    assert len(set(data["runs"][0]["groupOfQueue"])) == 9
    everyone = np.sum([unpacked(row) for row in data["runs"][0]["series"]["running"]], axis=0)
    assert everyone.max() > 0


def test_several_runs_stand_side_by_side_under_the_names_of_their_configurations() -> None:
    runs = [made_run(conf="packing.conf"), made_run(conf="spreading.conf", seed=2)]
    section = Section("own", "Differences", "<p>wait p50 +6%</p>")
    page = report_html(runs, title="Two ways", verdict="Packing is better.", before=[section])
    data = data_of(page)
    assert [one["label"] for one in data["runs"]] == ["packing.conf", "spreading.conf"]
    assert all(word in page for word in ("Two ways", "Packing is better.", "Differences", "wait p50 +6%"))


def test_runs_that_cannot_be_told_apart_are_numbered() -> None:
    twice = made_run()
    assert labels([twice, twice]) == ["default.conf (1)", "default.conf (2)"]


def test_runs_of_one_configuration_are_told_apart_by_their_seeds() -> None:
    assert labels([made_run(), made_run(seed=2)]) == ["default.conf, seed 1", "default.conf, seed 2"]


def test_a_queue_has_the_same_colour_in_every_run() -> None:
    first = made_run(queues=["a", "b"])
    second = replace(made_run(queues=["b", "a"]), conf="other.conf")
    one, other = (run["groupOfQueue"] for run in data_of(report_html([first, second]))["runs"])
    assert one == [0, 1]
    assert other == [1, 0]


def test_no_run_is_no_report() -> None:
    with pytest.raises(InputError, match="needs a run"):
        report_html([])


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, run: Run) -> None:
    with pytest.raises(InputError, match=r"missing/report.html: the report cannot be written: No such file"):
        write_report(run, tmp_path / "missing" / "report.html")


def test_ten_thousand_jobs_fit_into_three_megabytes() -> None:
    run = made_run(jobs=10_000, nodes=1000, pods=10.0)
    assert len(run.pod_runs) > 100_000
    assert len(report_html(run).encode()) < 3_000_000


def test_a_hundred_thousand_jobs_fit_into_twenty_five_megabytes_and_thinning_is_said() -> None:
    run = repeated(made_run(jobs=10_000, nodes=500, pods=5.0), 10)
    assert len(run.jobs) == 100_000
    assert len(run.pod_runs) > 400_000
    page = report_html(run)
    assert len(page.encode()) < 25_000_000
    assert "Thinned out: the" in page
