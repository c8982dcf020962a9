"""A comparison as people read it, as machines do, and as a page."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from fates import Fate, against, run_of

from hekla.errors import InputError
from hekla.insight.compare import (
    Against,
    AsTheyAre,
    Chance,
    Comparison,
    Jittered,
    RunSummary,
    comparison_data,
    comparison_lines,
    save_comparison,
    write_comparison_report,
)
from hekla.simulation.measures import summarize
from hekla.simulation.run import Run
from hekla.simulation.workloads import Account

LONG = ("a-configuration-with-a-long-name.yaml", "another-configuration-with-a-longer-name.yaml")
PLAIN = AsTheyAre()
QUEUES = [f"a-queue-of-some-department-{number}" for number in range(30)]


@cache
def busy(wait: float, seed: int = 0, conf: str = "a") -> Run:
    """Jobs of thirty queues and all sizes, some of them evicted."""
    fates = [
        Fate(f"j{number}", wait * (1 + number % 7) + seed, 10.0 * number, 1e5, QUEUES[number % 30],
             pods=(1, 4, 20, 80)[number % 4], evictions=number % 2, lost=3600.0 * (number % 3))
        for number in range(120)
    ]  # fmt: skip
    return run_of(fates, QUEUES, conf)


@cache
def summaries() -> tuple[RunSummary, ...]:
    return tuple(RunSummary(name, 0, summarize(busy(5e4, conf=name))) for name in LONG)


def comparison(
    *found: Against, chance: Chance = Chance.ARRIVALS, arrivals: AsTheyAre | Jittered = PLAIN
) -> Comparison:
    runs = tuple(busy(5e4, conf=name) for name in LONG)
    return Comparison(
        title="by hand",
        names=LONG,
        chance=chance,
        arrivals=arrivals,
        confidence=0.95,
        seeds=found[0].seeds,
        against=found,
        summaries=summaries(),
        runs=runs,
        account=Account(),
        notes=(),
        is_complete=True,
    )


@cache
def three_seeds() -> Against:
    return against(*((busy(5e4, seed), busy(7e4, 3 * seed)) for seed in range(3)), names=LONG)


def test_the_verdict_comes_first_and_what_matters_fits_eighty_columns() -> None:
    lines = comparison_lines(comparison(three_seeds()))
    assert lines[0] == "✗ another-configuration-with-a-longer-name.yaml is worse than"
    assert max(map(len, lines)) <= 80
    assert len(lines) < 40
    mean = next(line for line in lines if line.startswith("wait, mean"))
    assert mean.endswith(" worse")
    assert "↑ 40%" in mean
    assert "and 28 more queues and sizes" in lines


def test_details_have_every_figure_and_fit_a_hundred_columns() -> None:
    lines = comparison_lines(comparison(three_seeds()), details=True)
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("✗ another-configuration")
    assert lines.count("and 15 queues with fewer jobs") == 2  # of waits and completion times
    assert any(line.startswith("WAIT, MEAN") for line in lines)
    assert re.search(r"and so for \d+ more queues and sizes", " ".join(" ".join(lines).split()))


@pytest.mark.parametrize(
    ("chance", "arrivals", "said"),
    [
        (Chance.ARRIVALS, AsTheyAre(), "each brings other jobs"),
        (Chance.FAILURES, AsTheyAre(), "the same jobs in all, other failures in each"),
        (Chance.JITTERED, Jittered(600), "each puts off arrivals by up to 10 min at random"),
    ],
)
def test_below_the_figures_stands_what_intervals_are_about(
    chance: Chance, arrivals: AsTheyAre | Jittered, said: str
) -> None:
    text = " ".join(comparison_lines(comparison(three_seeds(), chance=chance, arrivals=arrivals)))
    assert said in text[text.index("  95 % intervals, paired over 3 seeds: ") :]


def test_many_intervals_come_with_the_number_that_chance_would_bring() -> None:
    """Six figures of all jobs, and waits and completion times of thirty queues and four sizes: 6 + 2 * 34."""
    noisy = against(
        *((busy(5e4, seed), busy(5e4 + (-1) ** seed * 900, seed)) for seed in range(3)), names=LONG
    )
    (caution,) = comparison_data(comparison(noisy))["cautions"]
    assert caution.endswith("of 74 that may or may not exclude zero, about 4 would do so by chance alone")


def test_data_can_be_written_as_json_and_nothing_is_not_a_number() -> None:
    text = json.dumps(comparison_data(comparison(three_seeds())), allow_nan=False)
    data = json.loads(text)
    assert data["comparisons"][0]["differences"][0]["measure"] == "wait.mean"
    assert data["spanSeconds"] is None


def test_a_page_escapes_what_users_wrote(tmp_path: Path) -> None:
    found = against(*((busy(5e4, seed), busy(7e4, seed)) for seed in range(2)), names=("<b>a</b>", LONG[1]))
    write_comparison_report(comparison(found), tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text()
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    assert "<b>a</b>" not in page


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'cannot write ".*runs.json": No such file'):
        save_comparison(comparison(three_seeds()), tmp_path / "nowhere" / "runs.json")
