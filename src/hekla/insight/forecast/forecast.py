"""Forecast: when jobs that wait will start, as a band out of many simulations of the present state."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from hekla.cluster.admission import admitted_queues
from hekla.conf import Conf
from hekla.engine.explain.explanation import explain_all
from hekla.engine.framework.registry import Registry
from hekla.engine.model.wait_reason import Finding, Verdict
from hekla.engine.state.snapshot import take_snapshot
from hekla.errors import InputError
from hekla.insight.forecast.history import Past, Question, RunTimes, RunTimeSource, ended_in
from hekla.insight.forecast.initial_state import InitialJob, InitialState, Known, initial_state
from hekla.insight.forecast.samples import (
    WORTH_PROCESSES,
    Arrivals,
    NoArrivals,
    OnSample,
    SampleSetting,
    alone,
    hopeless_in,
    sample,
    samples_of,
    steady,
)
from hekla.objects import Manifest, Node, Queue, seconds
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.scheduler.left_out import left_out_by_key
from hekla.simulation.measures.words import number
from hekla.simulation.options import START, SimulationOptions
from hekla.simulation.run import Floats
from hekla.simulation.workloads.manifests import SCHEDULERS, youngest
from hekla.text import counted


def reasons_for(
    objects: Sequence[Manifest], keys: Iterable[str], conf: Conf, registry: Registry
) -> dict[str, Finding]:
    """By PodGroup, of those that are asked for, what binds them now."""
    queues = [each for each in objects if isinstance(each, Queue)]
    others = [each for each in objects if not isinstance(each, Queue)]
    there = admitted_queues(queues, {}, is_strict=True).queues
    report = run_cycle(take_snapshot([*there, *others]), conf, registry=registry, now=START)
    session, wanted = report.session, list(keys)
    known = [key for key in wanted if key in session.jobs]
    told = [*zip(known, explain_all(session, [session.jobs[key] for key in known]), strict=True)]
    beside = left_out_by_key(session) if len(known) < len(wanted) else {}
    told += [(key, beside[key]) for key in wanted if key in beside]
    return {key: each.findings[0] for key, each in told if each.findings}


DAY = 86_400.0
LATEST = seconds(datetime(2200, 1, 1, tzinfo=UTC))
LARGE = 2_000
"""So many nodes and pods make a cluster large: its forecasts are a little coarser."""
GUESS = "an hour is guessed, and taken for a broad guess; give a history, or a run time for such jobs"
FINE, COARSE = 0.01, 0.05


@dataclass(frozen=True)
class Sampling:
    """How many simulations a forecast takes, and how far they go. Spans in seconds."""

    rolls: int = 50
    """How many samples: simulations with run times drawn anew."""
    horizon: float = 7 * DAY
    """How far ahead is looked."""
    seed: int = 0
    """Same seed, same forecast."""
    period: float = 1.0
    """Between two cycles."""
    precision: float | None = None
    """Changes within this part of the time ahead are decided on together; none: finer for small clusters."""
    processes: int = 1
    """How many samples may be taken at the same time, where that pays."""
    worth_processes: float = WORTH_PROCESSES
    """From so many seconds of work on it pays."""

    def __post_init__(self) -> None:
        for name, least in (("rolls", 1), ("horizon", 0.0), ("seed", 0), ("processes", 1)):
            if not getattr(self, name) >= least:
                raise InputError(f'{name}: expected a number from {least:g} on, got "{getattr(self, name)}"')
        if self.period <= 0 or not math.isfinite(self.horizon):
            raise InputError("period and horizon: expected spans above 0 that end")
        if self.precision is not None and not 0 <= self.precision < 1:
            raise InputError(f'precision: expected a part from 0 to below 1, got "{self.precision}"')

    def options_for(self, state: InitialState) -> SimulationOptions:
        size = sum(job.pods for job in state.jobs) + sum(isinstance(o, Node) for o in state.objects)
        precision = self.precision
        if precision is None:
            precision = COARSE if size >= LARGE else FINE
        return SimulationOptions(period=self.period, until=self.horizon, precision=precision)


@dataclass(frozen=True)
class Start:
    """When a job starts, as far as can be foreseen. Seconds from now; infinite: not within the horizon."""

    job: str
    """`namespace/name` as its user knows it."""
    key: str
    """Of its PodGroup."""
    queue: str
    pods: int
    waited: float | None
    """Seconds since it was submitted, where it says."""
    p10: float
    p50: float
    p90: float
    missed: int
    """In how many samples it did not start within the horizon."""
    is_possible: bool
    """It would start if nothing else were there."""
    binding: Finding | None
    """What it waits for now; None where it starts at once."""

    @property
    def why(self) -> str:
        """The same in a few words; empty where it starts at once."""
        return "" if self.binding is None else self.binding.in_short

    def as_data(self, now: float) -> dict[str, object]:
        band = {name: getattr(self, name) for name in ("p10", "p50", "p90")}
        return {
            "job": self.job,
            "podGroup": self.key,
            "queue": self.queue,
            "pods": self.pods,
            "waitedSeconds": None if self.waited is None else number(self.waited),
            "startsInSeconds": {name: _finite(value) for name, value in band.items()},
            "startsAt": {name: clock_time(now, value) for name, value in band.items()} if now else None,
            "rollsWithoutStart": self.missed,
            "isPossible": self.is_possible,
            "waitsFor": self.why,
            "reason": None if self.binding is None else self.binding.code.value,
            "verdict": None if self.binding is None else self.binding.verdict.value,
        }


@dataclass(frozen=True)
class Forecast:
    """Of all jobs that wait; oldest first."""

    now: float
    """Seconds since 1970; 0 where the state does not say."""
    horizon: float
    rolls: int
    """How many samples were taken."""
    starts: tuple[Start, ...]
    sources: Mapping[RunTimeSource, int]
    """From where run times are known: so many jobs that wait or run."""
    notes: tuple[str, ...] = field(default=())
    is_complete: bool = True
    """No Ctrl-C: as many samples were taken as were asked for."""

    def as_data(self) -> dict[str, object]:
        return {
            "now": clock_time(self.now, 0.0) if self.now else None,
            "horizonSeconds": self.horizon,
            "rolls": self.rolls,
            "isComplete": self.is_complete,
            "runTimes": {source.value: self.sources.get(source, 0) for source in RunTimeSource},
            "notes": list(self.notes),
            "jobs": [start.as_data(self.now) for start in self.starts],
        }

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        from hekla.insight.forecast.notebook import forecast_html  # noqa: PLC0415 - which knows this class

        return forecast_html(self)


def forecast(
    objects: Iterable[Manifest],
    conf: Conf,
    *,
    now: float | None = None,
    history: Sequence[Past] = (),
    assumed: float | None = None,
    arrivals: Arrivals | float | None = None,
    sampling: Sampling | None = None,
    registry: Registry = BUILTIN,
    scheduler_names: Sequence[str] = SCHEDULERS,
    known: Mapping[str, Known] | None = None,
    only: str = "",
    with_reasons: bool = True,
    on_sample: OnSample | None = None,
) -> Forecast:
    """When each job that waits in this state starts.

    `now` is the moment of the state in seconds since 1970; none: its youngest timestamp. `history` are ended
    jobs, to learn run times from beside those in the state. `assumed` is the run time in seconds where
    nothing is known. With `only`, the PodGroup or `namespace/name` of a job, samples end when that has
    started. `arrivals` are jobs that come later, or how many per hour like those that are there.
    Ctrl-C ends it with the samples that are taken by then: what so few of them would have told.
    """
    manifests = list(objects)
    moment = checked_moment(youngest(manifests) if now is None else now)
    sampling = sampling or Sampling()
    state = initial_state(manifests, moment, scheduler_names=scheduler_names, known=known)
    if not any(isinstance(each, Node) for each in state.objects):
        raise InputError("no node in this state: nothing could ever start; add the cluster's nodes")
    unread: list[str] = []
    run_times = RunTimes([*history, *ended_in(manifests, unread.append)], assumed)
    state = dataclasses.replace(state, notes=(*state.notes, *unread))
    setting = SampleSetting(
        initial_state=state,
        prospects={job.key: run_times.prospect(job.question) for job in state.jobs},
        conf=conf,
        registry=registry,
        arrivals=NoArrivals(),
        options=sampling.options_for(state),
        seed=sampling.seed,
        only=only,
    )
    if not setting.waiting:
        return _told(
            setting, moment, sampling, starts=np.empty((sampling.rolls, 0)), hopeless=frozenset(), reasons={}
        )
    hopeless = None
    if arrivals is not None:
        # As long as jobs arrive time goes on: those that wait for ever must be known before.
        hopeless = hopeless_in(setting, sample(setting, 0))
        setting = dataclasses.replace(setting, arrivals=_arrivals(arrivals, state, run_times, hopeless))
    starts, hopeless = samples_of(
        setting,
        sampling.rolls,
        hopeless=hopeless,
        processes=sampling.processes,
        worth_processes=sampling.worth_processes,
        on_sample=on_sample,
    )
    reasons = _reasons(setting, hopeless) if with_reasons else {}
    return _told(setting, moment, sampling, starts=starts, hopeless=hopeless, reasons=reasons)


def checked_moment(moment: float) -> float:
    """One with which timestamps can be reckoned: not before 1970, and not in the far future."""
    if not 0 <= moment <= LATEST:
        raise InputError(f'now: expected a moment from 1970 to 2200, got "{moment:.0f}" seconds since 1970')
    return moment


def _reasons(setting: SampleSetting, hopeless: Iterable[str]) -> dict[str, Finding]:
    """What each job waits for now; of those that never start, what is missing even where nothing else is."""
    state, conf, registry = setting.initial_state, setting.conf, setting.registry
    reasons = reasons_for(state.objects, (job.key for job in setting.waiting), conf, registry)
    for key in hopeless:
        found = reasons_for(list(alone(state, key)), [key], conf, registry)
        reasons |= {key: _for_ever(found[key])} if key in found else {}
    return reasons


def _for_ever(finding: Finding) -> Finding:
    """Of a job that does not start on an empty cluster: what would pass elsewhere does not pass."""
    if finding.verdict in (Verdict.HELD, Verdict.NEVER):
        return finding
    return Finding(finding.code, Verdict.NEVER, f"{finding.in_short}, even if nothing else ran")


def _arrivals(
    given: Arrivals | float, state: InitialState, run_times: RunTimes, hopeless: frozenset[str]
) -> Arrivals:
    if not isinstance(given, int | float):
        return given
    fresh = {job.key: run_times.prospect(_from_its_start(job.question)) for job in state.jobs}
    return steady(state, fresh, given, hopeless)


def _from_its_start(question: Question) -> Question:
    return Question(question.likeness, stated=question.stated, estimate=question.estimate)


def _told(
    setting: SampleSetting,
    now: float,
    sampling: Sampling,
    *,
    starts: Floats,
    hopeless: frozenset[str],
    reasons: Mapping[str, Finding],
) -> Forecast:
    told = [
        _start(job, starts[:, place], now, job.key not in hopeless, reasons.get(job.key))
        for place, job in enumerate(setting.waiting)
    ]
    sources = Counter(prospect.source for prospect in setting.prospects.values())
    guesses = sum(
        p.source is RunTimeSource.ASSUMED and len(p.seconds) > 1 for p in setting.prospects.values()
    )
    guessed = [f"of {counted(guesses, 'job')} nothing tells how long they run: {GUESS}"] if guesses else []
    return Forecast(
        now=now,
        horizon=sampling.horizon,
        rolls=len(starts),
        is_complete=len(starts) == sampling.rolls,
        starts=tuple(told),
        sources=sources,
        notes=(*setting.initial_state.notes, *guessed),
    )


def _start(job: InitialJob, starts: Floats, now: float, is_possible: bool, binding: Finding | None) -> Start:
    # Of the values themselves: between a start and none there is nothing to interpolate.
    p10, p50, p90 = np.quantile(starts, (0.1, 0.5, 0.9), method="inverted_cdf").tolist()
    return Start(
        job=job.title,
        key=job.key,
        queue=job.queue,
        pods=job.pods,
        waited=None if job.submitted is None else max(0.0, now - job.submitted),
        p10=p10,
        p50=p50,
        p90=p90,
        missed=int(np.isinf(starts).sum()),
        is_possible=is_possible,
        binding=binding if p50 > 0 else None,
    )


def clock_time(now: float, ahead: float) -> str | None:
    """A moment as Kubernetes writes it; none for one that does not come."""
    if math.isinf(ahead):
        return None
    return datetime.fromtimestamp(now + ahead, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else number(value)
