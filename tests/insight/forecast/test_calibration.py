"""Calibration: forecasts on the way through a simulation, held against what happens in it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from states import CONF

from hekla.errors import InputError
from hekla.insight.forecast import Calibration, Knowledge, Outcome, Past, Sampling, calibrate
from hekla.insight.forecast.calibration import trust_in, verdict_on
from hekla.insight.forecast.history import likeness_of
from hekla.simulation.workloads import Workload, read_workload

QUEUEING = """
nodes: 4 x cpu=4,memory=64Gi
generate:
  jobs: 80
  load: 0.95
  daily: 0
  seed: 5
  durations: {kind: lognormal, median: 10m, sigma: 0.8, longest: 3h}
  sizes: {1: 1}
  pods: [{cpu: 4}]
  queues: [{name: default, users: 3}]
  priorities: [{name: plain}]
  estimate: {least: 1, most: 4}
"""
"""Four servers, one queue, first come, first served."""


LONG = """
nodes: 1 x cpu=8
jobs:
- {name: a, duration: 10h, cpu: 8}
- {name: b, arrival: 1s, duration: 1h, cpu: 8}
- {name: c, arrival: 2s, duration: 1h, cpu: 8}
"""


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    path = tmp_path / "queueing.yaml"
    path.write_text(QUEUEING, "utf-8")
    return read_workload(path)


def test_with_run_times_known_forecasts_are_exact_to_a_cycle(workload: Workload) -> None:
    sampling = Sampling(rolls=1, precision=0.0)

    found = calibrate(workload, CONF, knowledge=Knowledge.EXACT, moments=6, sampling=sampling)

    assert len(found.outcomes) > 10
    assert found.overall.mean_error <= 1.0
    assert found.overall.before_p50 == 1.0
    assert found.verdict.startswith("exact")


def test_with_run_times_learned_the_band_holds(workload: Workload) -> None:
    found = calibrate(workload, CONF, moments=8, sampling=Sampling(rolls=12))

    assert 0.75 <= found.overall.before_p90 <= 1.0
    assert 0.25 <= found.overall.before_p50 <= 0.75
    assert found.overall.mean_error < 0.8 * found.overall.mean_ahead


def test_estimates_as_they_stand_make_starts_look_late(workload: Workload) -> None:
    """Users say from once to four times as much as their jobs take."""
    found = calibrate(workload, CONF, knowledge=Knowledge.ESTIMATES, moments=4, sampling=Sampling(rolls=1))

    assert found.overall.bias < -60.0
    assert found.verdict.startswith("too cautious")


def test_a_workload_in_which_nothing_waits_cannot_be_calibrated_on(tmp_path: Path) -> None:
    path = tmp_path / "idle.yaml"
    path.write_text("nodes: 2 x cpu=4\njobs: [{name: a, duration: 5s, cpu: 1}]", "utf-8")

    with pytest.raises(InputError, match="no job ever waits"):
        calibrate(read_workload(path), CONF)


def outcome(
    start: float, *, p10: float = 50, p50: float = 100, p90: float = 150, seen: float = 120
) -> Outcome:
    """A job that never started was watched beyond P50, but not to P90."""
    return Outcome(moment=0.0, job="j", p10=p10, p50=p50, p90=p90, started=start, seen_until=seen)


def test_trust_by_hand() -> None:
    """Of five starts, two came by P50, four by P90, three within the band; one job missed its P50 so far."""
    found = trust_in([outcome(each) for each in (20, 90, 120, 140, 230, math.nan)], "", tolerance=1.0)

    assert (found.forecasts, found.never_started) == (6, 1)
    assert (found.before_p50, found.before_p90, found.within_band) == (2 / 6, 0.8, 0.6)
    assert found.mean_error == pytest.approx((80 + 10 + 20 + 40 + 130) / 5)
    assert found.bias == pytest.approx((-80 - 10 + 20 + 40 + 130) / 5)


def test_a_job_that_never_starts_has_missed_a_p90_that_was_watched() -> None:
    found = trust_in([outcome(90), outcome(math.nan, seen=152), outcome(math.nan, seen=150)], "", 1.0)

    assert (found.forecasts, found.never_started, found.judged) == (3, 2, 2)
    assert (found.before_p90, found.within_band) == (0.5, 0.5)
    assert verdict_on(found, 1.0).startswith("too hopeful")


def test_a_start_that_was_not_foreseen_within_the_horizon_is_no_hit() -> None:
    """Two have no P90, one of them no P50 either: they count apart."""
    found = trust_in(
        [outcome(200), outcome(90, p90=math.inf), outcome(90, p50=math.inf, p90=math.inf)], "", tolerance=1.0
    )

    assert (found.forecasts, found.beyond_horizon, found.judged) == (3, 2, 1)
    assert (found.before_p50, found.before_p90, found.within_band) == (0.5, 0.0, 0.0)


def test_moments_fall_into_long_waits_although_nothing_happens_then(tmp_path: Path) -> None:
    """b waits for ten hours behind a, and c eleven: four moments, spread over 21 hours of waiting."""
    path = tmp_path / "long.yaml"
    path.write_text(LONG, "utf-8")
    sampling = Sampling(rolls=1, precision=0.0)

    found = calibrate(read_workload(path), CONF, knowledge=Knowledge.EXACT, moments=4, sampling=sampling)

    said = [
        (round(each.moment / 3600, 1), each.job[-1], round(each.p50 / 3600, 1)) for each in found.outcomes
    ]
    moments = (2.6, 3.1, 7.9, 8.4)
    assert said == [(moment, name, start) for moment in moments for name, start in (("b", 10.0), ("c", 11.0))]
    assert found.overall.mean_error <= 1.0
    assert found.overall.mean_ahead > 3600.0


def test_a_history_from_before_is_learned_from(tmp_path: Path) -> None:
    """Nothing ends before b starts: only from earlier weeks can be known how long a and b run."""
    path = tmp_path / "long.yaml"
    path.write_text(LONG, "utf-8")
    spans = {"default/a": 36_000.0, "default/b": 3600.0}
    weeks = [Past(likeness_of(key, queue="default", pods=1), span) for key, span in spans.items()] * 5

    def error(history: list[Past]) -> float:
        sampling = Sampling(rolls=3, precision=0.0)
        found = calibrate(read_workload(path), CONF, moments=2, sampling=sampling, history=history)
        return found.overall.mean_error

    assert error(weeks) <= 1.0
    assert error([]) > 600.0


def test_forecasts_beyond_the_horizon_are_told_apart() -> None:
    outcomes = (outcome(90), outcome(900, p50=1000, p90=2000), outcome(50, p50=math.inf, p90=math.inf))

    found = Calibration("w", Knowledge.HISTORY, 1, outcomes, 1.0)

    assert [(each.horizon, each.forecasts) for each in found.by_horizon] == [
        ("up to 10 min", 1),
        ("up to 60 min", 1),
        ("beyond", 1),
    ]
    assert found.as_data()["overall"]["meanError"] == pytest.approx(55.0)  # type: ignore[index]


@pytest.mark.parametrize(
    ("moments", "forecasts", "is_little"), [(20, 50, False), (20, 49, True), (9, 200, True)]
)
def test_a_verdict_from_little_evidence_says_so(moments: int, forecasts: int, is_little: bool) -> None:
    """One that never started does not count: there was nothing to compare it with."""
    outcomes = (*[outcome(90.0)] * forecasts, outcome(math.nan))

    found = Calibration("w", Knowledge.HISTORY, moments, outcomes, 1.0)

    said = f"{forecasts} forecasts at {moments} moments say little"
    assert found.caveat.startswith(said) if is_little else found.caveat == ""


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        ([100.0] * 4, "exact: starts were foreseen to within 1.0 s on average"),
        ([200.0] * 4, "too hopeful: only 0.0% of the jobs started by their P90"),
        ([10.0] * 4, "too cautious"),
        ([60.0, 80.0, 120.0, 140.0], "trust the band: 100.0% of the jobs started by their P90"),
        ([math.nan], "no forecast could be judged"),
    ],
)
def test_the_verdict_says_how_far_to_trust(starts: list[float], said: str) -> None:
    assert verdict_on(trust_in(map(outcome, starts), "", 1.0), 1.0).startswith(said)
