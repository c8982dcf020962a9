"""ExpectedStart: when one job will start, as far as that can be told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hekla.insight.explain.state import ClusterState
from hekla.insight.forecast import Arrivals, Forecast, Past, RunTimeSource, Sampling, clock_time, forecast
from hekla.insight.forecast.samples import OnSample
from hekla.objects import Manifest, Node
from hekla.simulation.measures.words import number

SAMPLES = 20
"""Enough for a median and a ninth decile of one job."""
UNKNOWN = "cannot be told: nothing tells how long jobs run; give --history or --default-duration"
HOPELESS = "none: it would not start even if nothing else were there"


@dataclass(frozen=True)
class StartAssumptions:
    """What is supposed of run times and of jobs to come."""

    history: Sequence[Past] = ()
    run_seconds: float | None = None
    """How long jobs run of which nothing else is known."""
    arrivals: Arrivals | float | None = None
    sampling: Sampling = field(default_factory=lambda: Sampling(rolls=SAMPLES))


@dataclass(frozen=True)
class ExpectedStart:
    """A band out of many simulations, in seconds from now, or why there is none."""

    p50: float = math.nan
    p90: float = math.nan
    """Infinite: not within the horizon."""
    now: float = 0.0
    horizon: float = math.inf
    samples: int = 0
    notes: tuple[str, ...] = ()
    unknown: str = ""
    """Why there is none, or why it cannot be told; empty where it can."""

    def as_data(self) -> dict[str, object]:
        if self.unknown:
            return {"startsInSeconds": None, "startsAt": None, "unknown": self.unknown}
        band = {"p50": self.p50, "p90": self.p90}
        return {
            "startsInSeconds": {
                name: None if math.isinf(value) else number(value) for name, value in band.items()
            },
            "startsAt": {name: clock_time(self.now, value) for name, value in band.items()}
            if self.now
            else None,
            "horizonSeconds": self.horizon,
            "samples": self.samples,
            "notes": list(self.notes),
            "unknown": None,
        }


def expected_start(
    state: ClusterState,
    job: str,
    assumptions: StartAssumptions,
    *,
    more: Iterable[Manifest] = (),
    on_sample: OnSample | None = None,
) -> ExpectedStart:
    """When the job starts, by PodGroup or `namespace/name`, with `more` supposed to be there."""
    objects = [*state.objects, *more]
    if not any(isinstance(each, Node) for each in objects):
        return ExpectedStart(unknown="none: there is no node")
    found = forecast(
        objects,
        state.conf,
        now=state.now,
        history=assumptions.history,
        assumed=assumptions.run_seconds,
        arrivals=assumptions.arrivals,
        sampling=assumptions.sampling,
        registry=state.registry,
        scheduler_names=state.scheduler_names,
        only=job,
        with_reasons=False,
        on_sample=on_sample,
    )
    return _told(found, assumptions, is_dated=state.is_dated)


def _told(found: Forecast, assumptions: StartAssumptions, *, is_dated: bool) -> ExpectedStart:
    if not found.starts:
        return ExpectedStart(unknown="cannot be told: its pods are not known")
    start = found.starts[0]
    if not start.is_possible:
        return ExpectedStart(unknown=HOPELESS)
    is_guess = set(found.sources) == {RunTimeSource.ASSUMED} and assumptions.run_seconds is None
    if is_guess and start.p90 > 0:
        return ExpectedStart(unknown=UNKNOWN)
    now = found.now if is_dated else 0.0
    return ExpectedStart(start.p50, start.p90, now, found.horizon, found.rolls, found.notes)
