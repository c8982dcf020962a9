"""Capacity: the smallest number of nodes, or quota of a queue, with which a workload meets its goals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import InputError
from hekla.insight.capacity.figures import Certainty, GoalFigure, figure_of
from hekla.insight.capacity.goals import UTILISATION, Goal
from hekla.insight.capacity.held_back import HeldBack, held_back
from hekla.insight.capacity.observed import WarmUp
from hekla.insight.capacity.search import SizeSearch, SizeVerdict
from hekla.insight.capacity.sizing import DEFAULT_QUEUE, Sizing
from hekla.insight.capacity.trials import Easing, SizeOutcome, SizeSetup, SizeTrial, play
from hekla.objects import Queue
from hekla.objects.complaint import did_you_mean, quoted
from hekla.scheduler.builtin import BUILTIN
from hekla.simulation.options import SimulationOptions
from hekla.simulation.simulate import Progress, Stopped
from hekla.simulation.trials import PlayAll, player
from hekla.simulation.workloads import Account, Workload
from hekla.simulation.workloads.arrivals import (
    Arrivals,
    AsTheyAre,
    Chance,
    WorkloadOf,
    chance_of,
    sendable,
)

USUAL_WARM_UP = 0.1
"""Of a run of work that is made up or drawn: it begins with an empty cluster, which the real one never is."""


@dataclass(frozen=True)
class SizeFigures:
    """What came of one size."""

    value: int
    figures: tuple[GoalFigure, ...]
    """One for every goal."""
    utilisation: dict[str, float]
    """By resource, the mean over seeds."""

    @property
    def is_met(self) -> bool:
        return all(figure.is_met for figure in self.figures)

    @property
    def verdict(self) -> SizeVerdict:
        """About the goals that more brings nearer."""
        served = [figure for figure in self.figures if figure.goal.is_served_by_more]
        return SizeVerdict(
            is_met=all(figure.is_met for figure in served),
            is_surely_met=all(figure.is_surely_met for figure in served),
            is_surely_missed=any(figure.is_surely_missed for figure in served),
        )


@dataclass(frozen=True)
class CapacityAnswer:
    """The smallest size that meets the goals, and how sure that is."""

    title: str
    sizing: Sizing
    goals: tuple[Goal, ...]
    chance: Chance
    arrivals: Arrivals
    confidence: float
    warm_up: WarmUp
    seeds: tuple[int, ...]
    """Those that were needed."""
    sizes: tuple[SizeFigures, ...]
    """Those that were tried, in ascending order."""
    smallest: int | None
    """None where no size that was tried meets all goals that more brings nearer."""
    low: int | None
    """Every smaller size surely is too small; none where even the largest one is."""
    high: int | None
    """This size is enough, as surely; none where none of those tried is."""
    turns_back: tuple[tuple[int, int], ...]
    """Sizes that meet the goals, each with the next one tried that does not."""
    held_back: HeldBack | None
    """Why no size is enough."""
    account: Account
    notes: tuple[str, ...]
    """What runs left out or assumed."""
    is_complete: bool

    @property
    def has_intervals(self) -> bool:
        return any(figure.has_interval for size in self.sizes for figure in size.figures)

    @property
    def missed(self) -> tuple[GoalFigure, ...]:
        """Goals that the smallest size misses, because they ask for fewer."""
        if self.smallest is None:
            return ()
        return tuple(figure for figure in self.at(self.smallest).figures if not figure.is_met)

    def _repr_html_(self) -> str:
        """The answer and its curve, as notebooks show it."""
        from hekla.insight.capacity.curve import shown_html  # noqa: PLC0415 - what draws knows the answer

        return shown_html(self)

    def at(self, value: int) -> SizeFigures:
        """What came of a size that was tried."""
        return next(size for size in self.sizes if size.value == value)


OnTrial = Callable[[int, int, Progress], None]
"""The size, the number of the run among those of this size, and how far it has come."""


def _no_progress(_value: int, _number: int, _progress: Progress) -> None:
    pass


@dataclass
class SizeProgress:
    """Tells how far runs have come, and of which size they are."""

    on_trial: OnTrial
    value: int = 0

    def __call__(self, number: int, progress: Progress) -> None:
        self.on_trial(self.value, number, progress)


@dataclass
class SizeTrials:
    """Runs by size, as they are asked for."""

    setup: SizeSetup
    seeds: tuple[int, ...]
    certainty: Certainty
    play_all: PlayAll[SizeTrial, SizeOutcome]
    progress: SizeProgress
    sizes: dict[int, SizeFigures] = field(default_factory=dict)
    notes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    account: Account = field(default_factory=Account)

    def judge(self, value: int) -> SizeVerdict:
        """What all seeds say of a size; raises Stopped where some of them are missing."""
        outcomes = self._outcomes(value, [SizeTrial(value, seed) for seed in self.seeds])
        outcomes.sort(key=lambda outcome: outcome.trial.seed)
        figures = tuple(
            figure_of(goal, [outcome.observed[number] for outcome in outcomes], self.certainty)
            for number, goal in enumerate(self.setup.goals)
        )
        _require_jobs(figures, outcomes[0].account)
        self.sizes[value] = SizeFigures(value, figures, _mean_utilisation(outcomes))
        self.notes[value] = tuple(dict.fromkeys(note for each in outcomes for note in each.notes))
        self.account = outcomes[0].account
        return self.sizes[value].verdict

    def attempt(self, value: int, easing: Easing) -> SizeOutcome:
        """The size with the first seed and limits eased."""
        return self._outcomes(value, [SizeTrial(value, self.seeds[0], easing)])[0]

    def _outcomes(self, value: int, trials: Sequence[SizeTrial]) -> list[SizeOutcome]:
        self.progress.value = value
        outcomes = list(self.play_all(trials))
        if len(outcomes) < len(trials):
            raise Stopped
        return outcomes


def capacity(
    workload: Workload | WorkloadOf,
    sizing: Sizing,
    goals: Sequence[Goal],
    conf: Conf,
    *,
    registry: Registry = BUILTIN,
    seeds: Sequence[int] = (0,),
    arrivals: Arrivals = AsTheyAre(),  # noqa: B008 - it holds nothing
    warm_up: WarmUp | None = None,
    confidence: float = 0.95,
    options: SimulationOptions | None = None,
    processes: int = 1,
    plugins: Sequence[str] = (),
    on_trial: OnTrial = _no_progress,
    is_stopped: Callable[[], bool] = lambda: False,
) -> CapacityAnswer:
    """The smallest size that meets all goals, every one tried under the same arrivals.

    A workload as a function of the seed brings other arrivals with every seed. Stopped, it tells what is
    known so far. With several processes all of it is sent to them, as in a comparison.
    """
    _check(goals, seeds, confidence)
    workload_of = sendable(workload, processes)
    chance = chance_of(workload_of, arrivals, seeds)
    first = workload_of(seeds[0])
    _check_queues(goals, first)
    needed = tuple(seeds[:1] if chance is Chance.NONE else seeds)
    warm_up = _usual_warm_up(chance) if warm_up is None else warm_up
    setup = SizeSetup(
        workload_of, arrivals, sizing, tuple(goals), conf, registry, options or SimulationOptions(), warm_up
    )
    certainty = Certainty(confidence, is_spread=chance is Chance.RESAMPLED)
    progress = SizeProgress(on_trial)
    with player(
        play,
        setup,
        most=len(needed),
        on_progress=progress,
        is_stopped=is_stopped,
        processes=processes,
        plugins=plugins,
    ) as play_all:
        trials = SizeTrials(setup, needed, certainty, play_all, progress)
        search = SizeSearch(len(sizing.values) - 1, lambda number: trials.judge(sizing.values[number]))
        reason, is_complete = _searched(search, trials)
    return _concluded(trials, search, first.name, chance, reason, is_complete=is_complete)


def _searched(search: SizeSearch, trials: SizeTrials) -> tuple[HeldBack | None, bool]:
    """Why no size is enough, where none is, and whether the search came to its end."""
    setup = trials.setup
    try:
        search.run()
        if search.smallest is not None:
            return None, True
        largest = setup.sizing.values[-1]
        return held_back(setup.goals, lambda easing: trials.attempt(largest, easing)), True
    except Stopped:
        return None, False


def _concluded(
    trials: SizeTrials,
    search: SizeSearch,
    title: str,
    chance: Chance,
    reason: HeldBack | None,
    *,
    is_complete: bool,
) -> CapacityAnswer:
    setup, values = trials.setup, trials.setup.sizing.values
    smallest = _value(values, search.smallest)
    told = trials.notes.get(values[-1] if smallest is None else smallest, ())
    return CapacityAnswer(
        title=title,
        sizing=setup.sizing,
        goals=setup.goals,
        chance=chance,
        arrivals=setup.arrivals,
        confidence=trials.certainty.confidence,
        warm_up=setup.warm_up,
        seeds=trials.seeds,
        sizes=tuple(trials.sizes[value] for value in sorted(trials.sizes)),
        smallest=smallest,
        low=_value(values, search.low),
        high=_value(values, search.high),
        turns_back=tuple((values[one], values[other]) for one, other in search.turns_back),
        held_back=reason,
        account=trials.account,
        notes=told,
        is_complete=is_complete,
    )


def _value(values: Sequence[int], number: int | None) -> int | None:
    return None if number is None else values[number]


def _usual_warm_up(chance: Chance) -> WarmUp:
    """None for work that is written down: every job of it counts."""
    is_endless = chance in (Chance.ARRIVALS, Chance.RESAMPLED)
    return WarmUp(part=USUAL_WARM_UP if is_endless else 0.0)


def _mean_utilisation(outcomes: Sequence[SizeOutcome]) -> dict[str, float]:
    names = outcomes[0].utilisation
    return {
        name: float(np.mean([each.utilisation.get(name, math.nan) for each in outcomes])) for name in names
    }


def _check(goals: Sequence[Goal], seeds: Sequence[int], confidence: float) -> None:
    if not goals:
        raise InputError('capacity needs a goal or more, such as "wait.p95 < 10m"')
    if not any(goal.is_served_by_more for goal in goals):
        raise InputError(f'goal "{goals[0]}": less is better for it; add a goal that more brings nearer')
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError("capacity needs a seed or more, each of them once")
    if not 0 < confidence < 1:
        raise InputError(f'confidence: expected a number between 0 and 1, got "{confidence:g}"')


def _check_queues(goals: Sequence[Goal], workload: Workload) -> None:
    known = [each.metadata.name for each in workload.objects if isinstance(each, Queue)]
    for goal in goals:
        if goal.queue and goal.queue not in (DEFAULT_QUEUE, *known):
            hint = did_you_mean(goal.queue, known) or f"; known are {', '.join(known)}"
            raise InputError(f'goal "{goal}": no queue {quoted(goal.queue)}{hint}')


def _require_jobs(figures: Sequence[GoalFigure], account: Account) -> None:
    """That there is nothing to measure must not look like a goal that is missed."""
    for figure in figures:
        if math.isnan(figure.value):
            dropped = "".join(f"; left out: {count:,} x {why}" for why, count in account.dropped.items())
            what = "no node offers it" if figure.goal.measure == UTILISATION else "no job was measured"
            raise InputError(f'goal "{figure.goal}": {what}{dropped}')
