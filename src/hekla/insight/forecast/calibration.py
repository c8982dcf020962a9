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

from hekla.cluster.embedded.options import FOREVER
from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import InputError
from hekla.insight.forecast.forecast import Forecast, Sampling, forecast
from hekla.insight.forecast.history import Past, ended_by
from hekla.insight.forecast.initial_state import Known
from hekla.insight.forecast.samples import Arrivals
from hekla.objects import Manifest, Node, Pod, PodGroup, Queue, VolcanoJob
from hekla.objects.keys import RUN_SECONDS
from hekla.scheduler.builtin import BUILTIN
from hekla.simulation.jobs import Doing, SimPod
from hekla.simulation.measures.words import PARTS, number, spoken_part, spoken_seconds
from hekla.simulation.options import START, SimulationOptions
from hekla.simulation.run import Floats, Run, State
from hekla.simulation.simulate import Simulation
from hekla.simulation.workloads import Workload
from hekla.text import counted

MINUTE, HOUR = 60.0, 3600.0
EDGES = (0.0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, math.inf)
"""Horizons, by how far ahead the P50 lies."""

ENOUGH_MOMENTS, ENOUGH_FORECASTS = 10, 50
"""With fewer, parts are too uncertain. Forecasts of one moment are correlated: moments count as well."""

OnMoment = Callable[[int, int], None]
"""Called with how many moments of how many are done."""


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
    seen_until: float = math.inf
    """So long was looked whether it did."""


@dataclass(frozen=True)
class Trust:
    """How forecasts compare with what happened, over some of them."""

    horizon: str
    """How far ahead; empty: all."""
    forecasts: int
    beyond_horizon: int
    """Their P90 is not within the horizon: nothing was said that could be right or wrong."""
    never_started: int
    """Missed what was said, if that long was looked."""
    judged: int
    """Have a P90, and it is known whether they started by it."""
    before_p50: float
    """Part of the jobs with a P50 that started by it; 0.5 if forecasts are good."""
    before_p90: float
    within_band: float
    """Part that started from P10 to P90; 0.8 if forecasts are good."""
    mean_error: float
    """Mean distance of P50 from the start, of those with both; so are the next two."""
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
            "beyondHorizon": self.beyond_horizon,
            "neverStarted": self.never_started,
            "judged": self.judged,
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

    @property
    def caveat(self) -> str:
        """Where there is too little to go by; empty else."""
        judged = self.overall.judged
        if self.moments >= ENOUGH_MOMENTS and judged >= ENOUGH_FORECASTS:
            return ""
        told = f"{counted(judged, 'forecast')} at {counted(self.moments, 'moment')} say little"
        return f"{told}: a job or two change the picture; take a longer workload, or more moments"

    def as_data(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "runTimes": self.knowledge.value,
            "moments": self.moments,
            "overall": self.overall.as_data(),
            "byHorizon": [trust.as_data() for trust in self.by_horizon],
            "verdict": self.verdict,
            "caveat": self.caveat,
        }


def calibrate(
    workload: Workload,
    conf: Conf,
    *,
    nodes: Sequence[Node] = (),
    registry: Registry = BUILTIN,
    knowledge: Knowledge = Knowledge.HISTORY,
    moments: int = 20,
    history: Sequence[Past] = (),
    sampling: Sampling | None = None,
    options: SimulationOptions | None = None,
    assumed: float | None = None,
    arrivals: Arrivals | float | None = None,
    on_moment: OnMoment | None = None,
) -> Calibration:
    """Simulate the workload, forecast at so many moments of it, and compare.

    `history` are jobs that had ended before, to learn from beside those of the workload.
    """
    if moments < 1:
        raise InputError(f'moments: expected a number from 1 on, got "{moments}"')
    sampling = sampling or Sampling()
    options = options or SimulationOptions(period=sampling.period)

    def simulation() -> Simulation:
        return Simulation(
            workload,
            conf,
            nodes=nodes,
            registry=registry,
            seed=sampling.seed,
            options=options,
            tells_causes=False,
        )

    truth = simulation().run(keeps_interrupted=False)
    states = _states_at(simulation(), workload, moments_of(truth, moments), knowledge)
    known = _known(truth, knowledge)
    outcomes: list[Outcome] = []
    for place, (moment, objects) in enumerate(states):
        made = forecast(
            objects,
            conf,
            now=START + moment,
            history=[*history, *ended_by(truth, moment)] if knowledge is Knowledge.HISTORY else (),
            assumed=assumed,
            arrivals=arrivals,
            sampling=replace(sampling, seed=sampling.seed + place),
            registry=registry,
            known=known,
            with_reasons=False,
        )
        outcomes += _outcomes(made, moment, truth)
        if on_moment is not None:
            on_moment(place + 1, len(states))
    return Calibration(workload.name, knowledge, len(states), tuple(outcomes), options.period)


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


MomentState = tuple[float, list[Manifest]]
"""A moment, and the objects that there were."""


def _states_at(
    simulation: Simulation, workload: Workload, moments: Floats, knowledge: Knowledge
) -> list[MomentState]:
    """The state at each moment, if a job waits in it: once all has happened that happens then."""
    states: list[MomentState] = []

    def keep(moment: float) -> None:
        if any(not job.has_started for job in simulation.cluster.jobs):
            states.append((moment, list(present(simulation, workload, knowledge))))

    for moment in moments.tolist():
        simulation.cluster.plan(math.nextafter(moment, math.inf), keep, moment, is_background=True)
    simulation.run(is_stopped=lambda: simulation.cluster.now > moments[-1], keeps_interrupted=False)
    return states


def present(simulation: Simulation, workload: Workload, knowledge: Knowledge) -> Iterator[Manifest]:
    """What an API server would tell at this moment of the simulation."""
    yield from simulation.queues
    yield from (each for each in workload.objects if not isinstance(each, Node | Pod | PodGroup | Queue))
    yield from simulation.cluster.nodes
    for job in simulation.cluster.jobs:
        if job.group is not None:
            yield job.group
        if job.manifest is not None and all(pod.doing is Doing.NOT_MADE for pod in job.pods):
            yield _handed_in(job.manifest, job.pods, knowledge)
            continue
        yield from (_seen(pod, knowledge) for pod in job.pods)


def _handed_in(job: VolcanoJob, pods: Iterable[SimPod], knowledge: Knowledge) -> VolcanoJob:
    """A Job whose pods are still to be made, with its run time where that is known."""
    if knowledge is not Knowledge.EXACT:
        return job
    notes = job.metadata.annotations | {RUN_SECONDS: _said(max(pod.work for pod in pods))}
    return msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, annotations=notes))


def _said(seconds: float) -> str:
    return FOREVER if math.isinf(seconds) else repr(seconds)


def _seen(pod: SimPod, knowledge: Knowledge) -> Pod:
    """The pod, with its run time written on it where that is known."""
    manifest = pod.manifest
    if knowledge is not Knowledge.EXACT:
        return manifest
    notes = manifest.metadata.annotations | {RUN_SECONDS: _said(pod.work - pod.saved)}
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
    was_taken = run.jobs.state != State.REFUSED
    so_far = np.flatnonzero((run.jobs.submitted <= moment) & was_taken).tolist()
    rows = {run.jobs.names[row]: row for row in so_far}
    for start in made.starts:
        yield Outcome(
            moment=moment,
            job=start.key,
            p10=moment + start.p10,
            p50=moment + start.p50,
            p90=moment + start.p90,
            started=float(run.jobs.started[rows[start.key if start.key in rows else start.job]]),
            seen_until=math.inf if run.is_complete else run.end,
        )


def trust_in(outcomes: Iterable[Outcome], horizon: str, tolerance: float) -> Trust:
    """How these forecasts did; parts and means are NaN where there is none to judge."""
    given = list(outcomes)
    columns = np.array([(o.moment, o.p10, o.p50, o.p90, o.started, o.seen_until) for o in given])
    moment, p10, p50, p90, started, seen_until = columns.reshape(-1, 6).T
    has_started = ~np.isnan(started)
    ends_p50, ends_p90 = p50 + tolerance, p90 + tolerance
    # What was said is right or wrong if it was said, and if it is known what happened by then.
    has_p50 = np.isfinite(p50) & (has_started | (seen_until > ends_p50))
    has_p90 = np.isfinite(p90) & (has_started | (seen_until > ends_p90))
    by_p90 = (started <= ends_p90)[has_p90]
    error = (started - p50)[has_started & np.isfinite(p50)]
    return Trust(
        horizon=horizon,
        forecasts=len(given),
        beyond_horizon=int(np.isinf(p90).sum()),
        never_started=int((~has_started).sum()),
        judged=int(has_p90.sum()),
        before_p50=_mean((started <= ends_p50)[has_p50]),
        before_p90=_mean(by_p90),
        within_band=_mean(by_p90 & (started >= p10 - tolerance)[has_p90]),
        mean_error=_mean(np.abs(error)),
        bias=_mean(error),
        mean_ahead=_mean((started - moment)[has_started & np.isfinite(p50)]),
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
        return "no forecast could be judged: no job that has a P90 was seen to start, or not to"
    if trust.mean_error <= tolerance and trust.before_p90 >= 0.9:
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
