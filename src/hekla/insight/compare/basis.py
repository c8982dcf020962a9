"""Basis: what the intervals of a comparison rest on, and what to bear in mind, in words."""

from __future__ import annotations

from collections.abc import Iterator

from hekla.insight.compare.compare import Comparison
from hekla.insight.compare.differences import Judgement
from hekla.insight.compare.verdict import considered
from hekla.simulation.measures.words import spoken_seconds
from hekla.simulation.workloads.arrivals import Chance, Jittered, Resampled
from hekla.text import counted


def interval_words(comparison: Comparison) -> str:
    """Which kind of interval there is, and what it is about."""
    level = f"{comparison.confidence * 100:g} %"
    seeds = max((len(against.seeds) for against in comparison.against), default=0)
    if seeds < 2:
        blocks = max((against.blocks for against in comparison.against), default=0)
        if not blocks:
            return "one run each, too few jobs for intervals"
        return (
            f"one run each; {level} intervals from leaving out each of {blocks} blocks of consecutive jobs "
            "in turn: what other jobs of this kind might bring. Figures of whole runs have none"
        )
    paired = f"{level} intervals, paired over {seeds} seeds: "
    match comparison.chance, comparison.arrivals:
        case Chance.RESAMPLED, Resampled(block):
            return (
                f"{paired}each draws blocks of {spoken_seconds(block)} of the workload anew; the intervals "
                "tell what another workload like it might bring"
            )
        case Chance.JITTERED, Jittered(most):
            return (
                f"{paired}each puts off arrivals by up to {spoken_seconds(most)} at random; the intervals "
                "are about this workload, not about similar ones"
            )
        case Chance.FAILURES, _:
            return f"{paired}the same jobs in all, other failures in each"
    return f"{paired}each brings other jobs, and all configurations get the same"


def interruption(comparison: Comparison) -> Iterator[str]:
    """How much of the comparison there is, where that is not all."""
    if not comparison.is_complete:
        complete = min((len(against.seeds) for against in comparison.against), default=0)
        yield f"stopped: {complete} of {counted(len(comparison.seeds), 'seed')} complete"


def cautions(comparison: Comparison) -> Iterator[str]:
    """What a reader of the verdict should bear in mind."""
    yield from interruption(comparison)
    yield from reservations(comparison)


def reservations(comparison: Comparison) -> Iterator[str]:
    """Why intervals may promise more than they keep."""
    for against in comparison.against:
        if against.widening > 1:
            likeness, times = f"{against.neighbour_correlation:.2f}", f"{against.widening:.1f} times"
            yield (
                f"{against.name}: blocks are like their neighbours (correlation {likeness}), so the "
                f"intervals are made {times} as wide; other arrivals would tell more"
            )
    judged = sum(
        each.judgement in (Judgement.BETTER, Judgement.WORSE, Judgement.UNSURE)
        for against in comparison.against
        for each in considered(against)
    )
    expected = round(judged * (1 - comparison.confidence))
    if expected:
        yield (
            f"each interval stands for itself: of {judged} that may or may not exclude zero, about "
            f"{expected} would do so by chance alone"
        )
