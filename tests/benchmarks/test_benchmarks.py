"""Benchmarks do not rot: all are measured at a tiny size, and what they find is judged rightly."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import compare
import run as runner
from cold_start import first_decision
from compare import comparison
from figures import Figures, Results, Run, best_of, load
from hekla.conf import read_conf
from hekla.scheduler.builtin import BUILTIN
from machine import REFERENCE, Commit, calibrate, this_commit, this_machine
from measure import measure
from report import breaks_a_must, table_of
from workloads import Limits, Newcomers, Workload, listed

ROOT = Path(__file__).parents[2]
LISTING = listed()
WIDTH = 100


def tiny(workload: Workload) -> Workload:
    """The same workload at a size that takes no time; two racks are the least that a topology needs."""
    newcomers = Newcomers(2, 3) if workload.newcomers.jobs else workload.newcomers
    return msgspec.structs.replace(workload, nodes=32, jobs=4, tasks=4, newcomers=newcomers)


def figures(
    name: str = "w", seconds: float = 1.0, slowness: float = 1.0, gigabytes: float | None = None
) -> Figures:
    run = Run(seconds, {"open": 0.5, "allocate": seconds, "close": 0.5}, 10, 10, gigabytes)
    return Figures(name, 1, run, calibration=slowness, slowness=slowness, all_seconds=[seconds])


def results(*all_figures: Figures, revision: str = "abc") -> Results:
    return Results(this_machine(), Commit(revision, is_dirty=False), list(all_figures))


@pytest.fixture(autouse=True)
def _a_quick_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("measure.calibrate", lambda: REFERENCE)


@pytest.mark.parametrize("text", LISTING.confs.values(), ids=LISTING.confs)
def test_configurations_are_sound_but_for_what_the_usual_tiers_bring(text: str) -> None:
    _, mistakes = read_conf(text, catalogue=BUILTIN.catalogue())
    assert [mistake for mistake in mistakes if " may evict pods that " not in mistake.message] == []


@pytest.mark.parametrize("workload", LISTING.workloads, ids=lambda workload: workload.name)
def test_every_workload_can_be_measured_and_decides_something(workload: Workload) -> None:
    found = measure(tiny(workload), LISTING.conf_of(workload), repeat=1)
    assert found.best.seconds > 0
    assert {"open", "allocate", "close"} <= set(found.best.times)
    assert (found.best.decided > 0) == (workload.measure not in {"idle", "one end"})
    assert (found.best.gigabytes is not None) == (workload.gigabytes is not None)
    assert found.scaled == pytest.approx(found.best.seconds)


def test_newcomers_all_find_a_place_in_the_cycle_that_is_measured() -> None:
    arrivals = next(workload for workload in LISTING.workloads if workload.measure == "arrivals")
    assert measure(tiny(arrivals), LISTING.conf_of(arrivals), repeat=2).best.decided == 6


def test_the_room_of_one_pod_serves_no_gang_that_waits() -> None:
    waiting = next(workload for workload in LISTING.workloads if workload.measure == "one end")
    found = measure(tiny(waiting), LISTING.conf_of(waiting), repeat=3)
    assert (found.best.pods, found.best.decided) == (32 * 8 + 4 * 4, 0)


def test_a_cold_start_tells_its_peak_of_memory() -> None:
    cold = next(workload for workload in LISTING.workloads if workload.measure == "cold start")
    run = first_decision(tiny(cold))
    assert run.decided == 6
    assert run.gigabytes is not None
    assert 0.01 < run.gigabytes < 10


def test_the_same_numbers_give_the_same_cluster() -> None:
    for workload in map(tiny, LISTING.workloads):
        assert workload.objects() == workload.objects()


def test_names_choose_workloads() -> None:
    assert {one.shape for one in LISTING.chosen(["gang", "mixed"])} == {"gang", "mixed"}
    assert all(one.quick for one in LISTING.chosen([], only_quick=True))
    assert LISTING.chosen([]) == LISTING.workloads


@pytest.mark.parametrize(
    ("seconds", "slowness", "verdict"),
    [
        (0.04, 1.0, "aim met"),
        (0.1, 1.0, "kept"),
        (0.2, 1.0, "TOO SLOW"),
        (0.2, 2.0, "kept"),
        (0.1, 0.5, "TOO SLOW"),
    ],
)
def test_the_verdict_is_about_scaled_seconds(seconds: float, slowness: float, verdict: str) -> None:
    workload = msgspec.structs.replace(LISTING.workloads[0], must=0.15, aim=0.05)
    found = figures(workload.name, seconds, slowness)
    assert table_of([(workload, found)]).endswith(verdict)
    assert breaks_a_must(workload, found) == (verdict == "TOO SLOW")


def test_memory_has_a_verdict_of_its_own() -> None:
    workload = msgspec.structs.replace(LISTING.workloads[0], must=9, aim=9, gigabytes=Limits(1, 0.5))
    table = table_of([(workload, figures(gigabytes=1.2))])
    assert [line.split()[-1] for line in table.splitlines()[1:]] == ["met", "BIG"]
    assert breaks_a_must(workload, figures(gigabytes=1.2))


def test_the_table_fits_the_page() -> None:
    run = Run(99.5, {"snapshot": 9.0, "open": 99.5, "allocate": 99.5, "close": 9.5}, 150_000, 1_000_000, 1.5)
    slow = Figures("x", 1, run, calibration=1.0, slowness=1.0, all_seconds=[1.0])
    table = table_of([(workload, slow) for workload in LISTING.workloads])
    assert max(map(len, table.splitlines())) <= WIDTH


def test_a_comparison_takes_the_slowness_of_the_machine_out() -> None:
    before = results(figures("quick", 1.0), figures("same", 1.0), figures("gone"), revision="old")
    after = results(figures("quick", 1.0, slowness=2.0), figures("same", 2.0, slowness=2.0), revision="new")
    told = [line.split() for line in comparison(before, after).splitlines()]
    assert told == [
        ["workload", "old", "new", "new", "/", "old", "in", "words"],
        ["quick", "1.000", "0.500", "0.50", "2.0x", "faster"],
        ["same", "1.000", "1.000", "1.00", "the", "same"],
    ]


def test_of_several_rounds_the_best_scaled_figures_count() -> None:
    rounds = [
        results(figures("w", 1.0)),
        results(figures("w", 1.5, slowness=3.0)),
        results(figures("w", 0.9)),
    ]
    assert [one.scaled for one in best_of(rounds).figures] == [0.5]


def test_commits_are_measured_in_turn_each_in_a_worktree_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    if this_commit().revision == "unknown":
        pytest.skip("needs a repository")
    asked: list[Path] = []

    def measured_in(tree: Path, names: object, file: Path) -> Results:
        assert (tree / "src" / "hekla").is_dir()
        asked.append(tree)
        return results(figures("w", 1.0 / len(asked)))

    monkeypatch.setattr(compare, "measured_in", measured_in)
    told = compare.compare_commits(["HEAD", "."], [], rounds=2)
    assert asked == [asked[0], ROOT, asked[0], ROOT]
    assert not asked[0].exists()
    assert told.splitlines()[1].split() == ["w", "0.333", "0.250", "0.75", "1.3x", "faster"]


def test_the_runner_keeps_what_it_found_and_fails_only_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hopeless = msgspec.structs.replace(tiny(LISTING.workloads[0]), must=0.0, aim=0.0)
    monkeypatch.setattr(runner, "listed", lambda: msgspec.structs.replace(LISTING, workloads=[hopeless]))
    file = tmp_path / "figures.json"
    assert runner.main(["--repeat", "1", "--save", str(file)]) == 0
    assert runner.main(["--repeat", "1", "--check"]) == 1
    assert runner.main(["nobody"]) == 2
    assert runner.main(["--compare", str(file), str(file)]) == 0
    assert "the same" in capsys.readouterr().out
    kept = load(file)
    assert (kept.machine, kept.commit) == (this_machine(), this_commit())
    assert kept.figures[0].all_seconds == [kept.figures[0].best.seconds]


def test_the_calibration_is_short_enough_to_be_repeated() -> None:
    assert 0.01 < calibrate() < 3.0
