"""Calibration: forecasts at moments of a simulation, held against what then happened.

The workload is simulated twice: once to know how it ends, once to look at the state at moments spread over
it. A forecast at such a moment knows only what was known then: the jobs that were there, how long they had
run, and the jobs that had ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import msgspec
import numpy as np

from hekla.cluster.embedded.annotations import FOREVER, RUN_SECONDS
from hekla.conf import Conf
from hekla.errors import InputError
from hekla.forecasting.arrivals import Arrivals
from hekla.forecasting.forecast import Forecast, Rolling, forecast
from hekla.forecasting.history import ended_by
from hekla.forecasting.standing import Known
from hekla.framework.registry import Registry
from hekla.measures.rounding import PARTS, number
from hekla.measures.words import spoken_part, spoken_seconds
from hekla.objects import Manifest, Node, Pod, PodGroup
from hekla.scheduler.builtin import BUILTIN
from hekla.sim.jobs import SimPod
from hekla.sim.options import START, Options
from hekla.sim.run import Floats, Run
from hekla.sim.simulate import Progress, Simulation
from hekla.workloads import Workload

MINUTE, HOUR = 60.0, 3600.0
EDGES = (0.0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, math.inf)
"""Horizons, by how far ahead the P50 lies."""

OnMoment = Callable[[int, int], None]
"""Hears how many moments of how many are done."""


class Knowledge(Enum):
    """What a forecast knows of run times."""

    EXACT = "exact"
    """How long every job runs; what then still differs is the fault of jobs that came later."""
    ESTIMATES = "estimates"
    """What users said, as it stands."""
    HISTORY = "history"
    """What users said, and the jobs that had ended."""


@dataclass(frozen=True)
class Outcome:
    """One forecast of one job, and when it really started. Seconds since the start of the simulation."""

    moment: float
    job: str
    p10: float
    p50: float
    p90: float
    started: float
    """NaN where it never did."""


@dataclass(frozen=True)
class Trust:
    """How forecasts compare with what happened, over some of them."""

    horizon: str
    """How far ahead; empty: all."""
    forecasts: int
    never_started: int
    """Left out below: the simulation ended before."""
    before_p50: float
    """Part of the jobs that started by their P50; 0.5 if forecasts are good."""
    before_p90: float
    within_band: float
    """Part that started from P10 to P90; 0.8 if forecasts are good."""
    mean_error: float
    """Mean distance of P50 from the start."""
    bias: float
    """Mean of start less P50: above 0 jobs start later than said."""
    mean_ahead: float
    """How long jobs really had to wait from the forecast on, on average."""

    def as_data(self) -> dict[str, object]:
        parts = {"beforeP50": self.before_p50, "beforeP90": self.before_p90, "withinBand": self.within_band}
        spans = {"meanError": self.mean_error, "bias": self.bias, "meanAhead": self.mean_ahead}
        return {
            "horizon": self.horizon or "all",
            "forecasts": self.forecasts,
            "neverStarted": self.never_started,
            **{name: number(value, PARTS) for name, value in parts.items()},
            **{name: number(value) for name, value in spans.items()},
        }


@dataclass(frozen=True)
class Calibration:
    """How far to trust forecasts for this workload and configuration."""

    workload: str
    knowledge: Knowledge
    moments: int
    """At how many moments some job waited and forecasts were made."""
    outcomes: tuple[Outcome, ...]
    tolerance: float
    """Starting later than said by so many seconds is starting as said: the time between two cycles."""

    @property
    def overall(self) -> Trust:
        return trust_in(self.outcomes, "", self.tolerance)

    @property
    def by_horizon(self) -> list[Trust]:
        """As far as there are forecasts."""
        found = []
        for low, high in pairwise(EDGES):
            its = [each for each in self.outcomes if low <= each.p50 - each.moment < high]
            if its or math.isinf(high):
                found.append(trust_in(its, _span_name(low, high), self.tolerance))
        beyond = [each for each in self.outcomes if math.isinf(each.p50)]
        if beyond:
            found.append(trust_in(beyond, "beyond", self.tolerance))
        return [each for each in found if each.forecasts]

    @property
    def verdict(self) -> str:
        return verdict_on(self.overall, self.tolerance)

    def as_data(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "runTimes": self.knowledge.value,
            "moments": self.moments,
            "overall": self.overall.as_data(),
            "byHorizon": [trust.as_data() for trust in self.by_horizon],
            "verdict": self.verdict,
        }


def calibrate(
    workload: Workload,
    conf: Conf,
    *,
    nodes: Sequence[Node] = (),
    registry: Registry = BUILTIN,
    knowledge: Knowledge = Knowledge.HISTORY,
    moments: int = 20,
    rolling: Rolling | None = None,
    options: Options | None = None,
    assumed: float | None = None,
    arrivals: Arrivals | float | None = None,
    on_moment: OnMoment | None = None,
) -> Calibration:
    """Simulate the workload, forecast at so many moments of it, and compare."""
    if moments < 1:
        raise InputError(f'moments: expected a number from 1 on, got "{moments}"')
    rolling = rolling or Rolling()
    options = options or Options(period=rolling.period)

    def simulation() -> Simulation:
        return Simulation(workload, conf, nodes=nodes, registry=registry, seed=rolling.seed, options=options)

    truth = simulation().run()
    wanted = moments_of(truth, moments)
    looks = _looks(simulation(), workload, wanted, knowledge)
    known = _known(truth, knowledge)
    outcomes: list[Outcome] = []
    for place, (moment, objects) in enumerate(looks):
        made = forecast(
            objects,
            conf,
            now=START + moment,
            history=ended_by(truth, moment) if knowledge is Knowledge.HISTORY else (),
            assumed=assumed,
            arrivals=arrivals,
            rolling=replace(rolling, seed=rolling.seed + place),
            registry=registry,
            known=known,
            with_reasons=False,
        )
        outcomes += _outcomes(made, moment, truth)
        if on_moment is not None:
            on_moment(place + 1, len(looks))
    return Calibration(workload.name, knowledge, len(looks), tuple(outcomes), options.period)


def moments_of(run: Run, count: int) -> Floats:
    """So many moments at which jobs waited, spread evenly over the time that they spent waiting."""
    waited = run.jobs.started - run.jobs.submitted
    rows = np.flatnonzero(waited > 0)
    if not len(rows):
        raise InputError(
            f'workload "{run.title}": no job ever waits; nothing could be forecast; try fewer nodes'
        )
    ends = np.cumsum(waited[rows])
    at = (np.arange(count) + 0.5) / count * ends[-1]
    place = np.searchsorted(ends, at)
    into = at - (ends[place] - waited[rows][place])
    return np.sort(run.jobs.submitted[rows][place] + into)


Look = tuple[float, list[Manifest]]


def _looks(simulation: Simulation, workload: Workload, moments: Floats, knowledge: Knowledge) -> list[Look]:
    """The state after the first cycle from each moment on, if a job waits in it."""
    looks: list[Look] = []
    due = iter(moments.tolist())
    upcoming = next(due, math.inf)

    def look(progress: Progress) -> None:
        nonlocal upcoming
        if progress.now < upcoming:
            return
        if any(not job.has_started for job in simulation.stage.jobs):
            looks.append((progress.now, list(present(simulation, workload, knowledge))))
        while upcoming <= progress.now:
            upcoming = next(due, math.inf)

    simulation.run(look, is_stopped=lambda: math.isinf(upcoming))
    return looks


def present(simulation: Simulation, workload: Workload, knowledge: Knowledge) -> Iterator[Manifest]:
    """What an API server would tell at this moment of the simulation."""
    yield from (each for each in workload.objects if not isinstance(each, Node | Pod | PodGroup))
    yield from simulation.stage.nodes
    for job in simulation.stage.jobs:
        if job.group is not None:
            yield job.group
        yield from (_seen(pod, knowledge) for pod in job.pods)


def _seen(pod: SimPod, knowledge: Knowledge) -> Pod:
    """The pod, with its run time written on it where that is known."""
    manifest = pod.manifest
    if knowledge is not Knowledge.EXACT:
        return manifest
    left = pod.work - pod.saved
    said = FOREVER if math.isinf(left) else repr(left)
    notes = manifest.metadata.annotations | {RUN_SECONDS: said}
    return msgspec.structs.replace(
        manifest, metadata=msgspec.structs.replace(manifest.metadata, annotations=notes)
    )


def _known(run: Run, knowledge: Knowledge) -> dict[str, Known]:
    jobs = run.jobs
    return {
        name: Known(jobs.users[row], None if math.isnan(jobs.estimate[row]) else float(jobs.estimate[row]))
        for row, name in enumerate(jobs.names)
        if knowledge is not Knowledge.EXACT
    }


def _outcomes(made: Forecast, moment: float, run: Run) -> Iterator[Outcome]:
    # A name may come again later: of jobs with one name the last one so far is meant.
    so_far = np.flatnonzero(run.jobs.submitted <= moment).tolist()
    rows = {run.jobs.names[row]: row for row in so_far}
    for start in made.starts:
        yield Outcome(
            moment=moment,
            job=start.key,
            p10=moment + start.p10,
            p50=moment + start.p50,
            p90=moment + start.p90,
            started=float(run.jobs.started[rows[start.key]]),
        )


def trust_in(outcomes: Iterable[Outcome], horizon: str, tolerance: float) -> Trust:
    """How these forecasts did; parts and means are NaN where there is none to judge."""
    given = list(outcomes)
    judged = [each for each in given if not math.isnan(each.started)]
    columns = np.array([(o.moment, o.p10, o.p50, o.p90, o.started) for o in judged]).reshape(-1, 5)
    moment, p10, p50, p90, started = columns.T
    has_median = np.isfinite(p50)
    error = (started - p50)[has_median]
    by_p90 = started <= p90 + tolerance
    return Trust(
        horizon=horizon,
        forecasts=len(given),
        never_started=len(given) - len(judged),
        before_p50=_mean(started <= p50 + tolerance),
        before_p90=_mean(by_p90),
        within_band=_mean(by_p90 & (started >= p10 - tolerance)),
        mean_error=_mean(np.abs(error)),
        bias=_mean(error),
        mean_ahead=_mean(started - moment),
    )


def _mean(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> float:
    return float(values.mean()) if len(values) else math.nan


def _span_name(low: float, high: float) -> str:
    if math.isinf(high):
        return f"from {spoken_seconds(low)} on"
    return f"up to {spoken_seconds(high)}"


def verdict_on(trust: Trust, tolerance: float) -> str:
    """How far to trust forecasts, in a sentence."""
    if math.isnan(trust.before_p90):
        return "no forecast could be judged: no job that waited ever started"
    if trust.mean_error <= tolerance:
        return f"exact: starts were foreseen to within {spoken_seconds(tolerance)} on average"
    error, ahead = spoken_seconds(trust.mean_error), spoken_seconds(trust.mean_ahead)
    off = f"P50 is off by {error} where waits last {ahead}"
    seen = f"{spoken_part(trust.before_p90)} of the jobs started by their P90"
    if trust.before_p90 < 0.8:
        return f"too hopeful: only {seen}; plan with more; {off}"
    if trust.before_p90 < 0.85:
        return f"a little hopeful: {seen}; {off}"
    middle = f"{spoken_part(trust.before_p50)} by their P50"
    if trust.within_band < 0.6:
        within = f"only {spoken_part(trust.within_band)} within the band"
        return f"too cautious: {seen}, {middle}, {within}; {off}"
    if trust.before_p50 > 0.75:
        return f"a little cautious: {seen}, {middle}; {off}"
    return f"trust the band: {seen}, {middle}; {off}"
