"""Compare: the same arrivals through several configurations, and what the differences are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import InputError
from hekla.insight.compare.differences import CandidateResults, FigureDifference
from hekla.insight.compare.pairs import PairOutcome, paired
from hekla.insight.compare.trials import ComparedConf, ComparedTrial, Setup, TrialResult, play, trials_of
from hekla.objects import Node
from hekla.scheduler.builtin import BUILTIN
from hekla.simulation.measures import Summary
from hekla.simulation.options import SimulationOptions
from hekla.simulation.run import Run
from hekla.simulation.trials import OnProgress, player
from hekla.simulation.workloads import Account, Workload
from hekla.simulation.workloads.arrivals import (
    Arrivals,
    AsTheyAre,
    Chance,
    WorkloadOf,
    chance_of,
    sendable,
)


@dataclass(frozen=True)
class RunSummary:
    """The figures of one run."""

    conf: str
    seed: int
    summary: Summary


@dataclass(frozen=True)
class Against:
    """A candidate against the base."""

    base: str
    name: str
    seeds: tuple[int, ...]
    """Those of which both runs are there."""
    differences: tuple[FigureDifference, ...]
    outcome: PairOutcome
    is_identical: bool
    """Whether no job fared otherwise under any seed."""
    blocks: int
    """How many blocks the intervals rest on; 0 where they rest on seeds."""
    neighbour_correlation: float
    """How much a block of jobs is like the one before; of no concern where intervals rest on seeds."""
    widening: float
    """What the intervals were multiplied by for that."""

    def difference(self, key: str, queue: str = "", size: str = "") -> FigureDifference:
        """One of them, by the key of its measure."""
        for each in self.differences:
            if (each.measure.key, each.queue, each.size) == (key, queue, size):
                return each
        raise KeyError((key, queue, size))


@dataclass(frozen=True)
class Comparison:
    """What came of several configurations."""

    title: str
    names: tuple[str, ...]
    """The base first."""
    chance: Chance
    arrivals: Arrivals
    confidence: float
    seeds: tuple[int, ...]
    """Those that were wanted, less those that would have changed nothing."""
    against: tuple[Against, ...]
    """One for every configuration but the base; those without a complete pair are left out."""
    summaries: tuple[RunSummary, ...]
    runs: tuple[Run, ...]
    """Of the first seed, as far as they are there."""
    account: Account
    notes: tuple[str, ...]
    """What runs left out or assumed, and which of them."""
    is_complete: bool

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        from hekla.insight.compare.notebook import comparison_html  # noqa: PLC0415 - which knows this class

        return comparison_html(self)


@dataclass
class Collection:
    """Results as they come in, and pairs of them as soon as both are there."""

    setup: Setup
    results: dict[ComparedTrial, TrialResult] = field(default_factory=dict)
    """Jobs are forgotten with the last pair that needs them."""
    by_candidate: dict[int, CandidateResults] = field(default_factory=dict)
    summaries: dict[tuple[int, int], RunSummary] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    account: Account = field(default_factory=Account)

    def add(self, result: TrialResult) -> None:
        trial = result.trial
        name = self.setup.compared_confs[trial.compared_conf].name
        self.results[trial] = result
        self.summaries[trial.seed, trial.compared_conf] = RunSummary(name, trial.seed, result.summary)
        if result.run is not None:
            self.runs[trial.compared_conf] = result.run
            self.account = result.account
        self._pair_up(trial.seed)

    def _pair_up(self, seed: int) -> None:
        base = self.results.get(ComparedTrial(0, seed))
        if base is None:
            return
        candidates = range(1, len(self.setup.compared_confs))
        for candidate in candidates:
            result = self.results.pop(ComparedTrial(candidate, seed), None)
            if result is not None:
                pair = paired(base.jobs, result.jobs)
                self.by_candidate.setdefault(candidate, CandidateResults()).add(
                    seed, pair, base.summary, result.summary
                )
        if all(seed in self.by_candidate.get(each, CandidateResults()).by_seed for each in candidates):
            del self.results[base.trial]

    def against(self, chance: Chance, confidence: float) -> list[Against]:
        return [self._against(number, chance, confidence) for number in sorted(self.by_candidate)]

    def _against(self, number: int, chance: Chance, confidence: float) -> Against:
        compared = self.by_candidate[number]
        differences = compared.differences(
            confidence,
            is_spread=chance is Chance.RESAMPLED,
            resolution=self.setup.options.period,
        )
        is_alone = len(compared.by_seed) == 1
        return Against(
            base=self.setup.compared_confs[0].name,
            name=self.setup.compared_confs[number].name,
            seeds=tuple(sorted(compared.by_seed)),
            differences=tuple(differences),
            outcome=compared.outcome,
            is_identical=all(meeting.is_identical for meeting in compared.in_order),
            blocks=compared.blocks if is_alone else 0,
            neighbour_correlation=compared.neighbour_correlation if is_alone else 0.0,
            widening=compared.widening if is_alone else 1.0,
        )


def _no_progress(_number: int, _progress: object) -> None:
    pass


def compare(
    workload: Workload | WorkloadOf,
    confs: Mapping[str, Conf] | Sequence[ComparedConf],
    *,
    seeds: Sequence[int] = (0,),
    nodes: Sequence[Node] = (),
    registry: Registry = BUILTIN,
    options: SimulationOptions | None = None,
    arrivals: Arrivals = AsTheyAre(),  # noqa: B008 - it holds nothing
    confidence: float = 0.95,
    processes: int = 1,
    plugins: Sequence[str] = (),
    on_progress: OnProgress = _no_progress,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Comparison:
    """Every configuration with every seed; the first one is the base that the rest is compared with.

    A workload as a function of the seed brings other arrivals with every seed, and all configurations see the
    same. `registry` is that of configurations given by name; an `ComparedConf` brings its own, so that two
    versions of a plugin can be compared. With several processes all of it is sent to them: classes are found
    by their modules, and `plugins` are references (`file.py:Class`) that they load first.
    """
    compared_confs = _compared_confs(confs, registry)
    workload_of = sendable(workload, processes)
    chance = chance_of(workload_of, arrivals, _checked_seeds(seeds))
    needed = tuple(seeds[:1] if chance is Chance.NONE else seeds)
    setup = Setup(
        workload_of, arrivals, compared_confs, tuple(nodes), options or SimulationOptions(), needed[0]
    )
    trials = trials_of(compared_confs, needed)
    _check_confidence(confidence)
    collection = Collection(setup)
    with player(
        play,
        setup,
        most=len(trials),
        on_progress=on_progress,
        is_stopped=is_stopped,
        processes=processes,
        plugins=plugins,
    ) as play_all:
        for result in play_all(trials):
            collection.add(result)
    _check_jobs(collection)
    return _concluded(collection, chance, confidence, needed)


def _concluded(
    collection: Collection, chance: Chance, confidence: float, seeds: tuple[int, ...]
) -> Comparison:
    setup = collection.setup
    names = tuple(compared_conf.name for compared_conf in setup.compared_confs)
    runs = tuple(collection.runs[number] for number in sorted(collection.runs))
    return Comparison(
        title=runs[0].title if runs else "",
        names=names,
        chance=chance,
        arrivals=setup.arrivals,
        confidence=confidence,
        seeds=seeds,
        against=tuple(collection.against(chance, confidence)),
        summaries=tuple(
            summary for _, summary in sorted(collection.summaries.items(), key=lambda item: item[0])
        ),
        runs=runs,
        account=collection.account,
        notes=tuple(dict.fromkeys(f"{run.conf}: {note}" for run in runs for note in run.notes)),
        is_complete=len(collection.summaries) == len(names) * len(seeds),
    )


def _compared_confs(
    confs: Mapping[str, Conf] | Sequence[ComparedConf], registry: Registry
) -> tuple[ComparedConf, ...]:
    if isinstance(confs, Mapping):
        compared_confs = tuple(ComparedConf(name, conf, registry) for name, conf in confs.items())
    else:
        compared_confs = tuple(confs)
    names = [compared_conf.name for compared_conf in compared_confs]
    if len(names) < 2:
        raise InputError(f"a comparison needs two configurations or more, got {len(names)}")
    if len(set(names)) < len(names):
        raise InputError(f'two configurations of one name: "{max(names, key=names.count)}"; rename one')
    return compared_confs


def _checked_seeds(seeds: Sequence[int]) -> Sequence[int]:
    if not seeds:
        raise InputError("a comparison needs a seed or more, got none")
    if len(set(seeds)) < len(seeds):
        raise InputError("a seed that comes twice would count twice; give each once")
    return seeds


def _check_jobs(collection: Collection) -> None:
    """That nothing differs is no news where there is nothing."""
    by_candidate = collection.by_candidate.values()
    if by_candidate and not any(any(compared.outcome.counts) for compared in by_candidate):
        dropped = collection.account.dropped
        why = "".join(f"; left out: {count:,} x {reason}" for reason, count in dropped.items())
        raise InputError(f"no job to compare: nothing was handed in under any configuration{why}")


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f'confidence: expected a number between 0 and 1, got "{confidence:g}"')
