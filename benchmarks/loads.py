"""Made-up work for simulations: the same numbers give the same jobs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from hekla.simulation.workloads import Submission, Workload
from hekla.simulation.workloads.generate import generate
from hekla.simulation.workloads.generator_form import Durations, PodKind, Settings
from hekla.simulation.workloads.nodes import nodes_of
from hekla.simulation.workloads.shapes import Shapes

DAY = 86_400
SERIAL = 0.25
"""The part of the jobs of a trace that have one processor."""
TYPICAL_RUN, SPREAD_OF_RUNS, SHORTEST_RUN, LONGEST_RUN = 1000.0, 1.5, 10.0, 4.0 * DAY
TYPICAL_MEMORY, SPREAD_OF_MEMORY = 4_000_000.0, 0.6
"""Kibibytes per processor."""

SIZES = ((1, 40), (2, 20), (4, 20), (8, 10), (16, 10))
"""Four pods in a job, in the mean."""
PODS = (
    PodKind((("cpu", "1"), ("memory", "4Gi")), 4),
    PodKind((("cpu", "2"), ("memory", "8Gi")), 4),
    PodKind((("cpu", "4"), ("memory", "8Gi")), 2),
)

Numbers = npt.NDArray[np.float64]


def months(jobs: int, nodes: str, load: float) -> Workload:
    """Jobs of pods of three kinds that keep so much of the nodes busy, by hekla's own generator."""
    settings = Settings(
        jobs=jobs, load=load, daily=0.0, sizes=SIZES, pods=PODS, durations=Durations(typical=1800.0)
    )
    return generate(settings, seed=1, nodes=nodes_of(nodes))


def trace(jobs: int, processors: int, load: float, *, largest: int, has_memory: bool = False) -> Workload:
    """Jobs like those in the logs of parallel machines: one pod per processor, whole seconds.

    They come at any time, in so long a span that they would keep the processors busy up to the load. With
    memory, every job asks for an amount of its own.
    """
    dice = np.random.default_rng(1)
    sizes = sizes_of_jobs(jobs, largest, dice)
    runs = np.round(TYPICAL_RUN * np.exp(SPREAD_OF_RUNS * dice.standard_normal(jobs)))
    runs = np.clip(runs, SHORTEST_RUN, LONGEST_RUN)
    span = float(sizes @ runs) / (processors * load)
    times = np.floor(np.sort(dice.random(jobs)) * span)
    memory = TYPICAL_MEMORY * np.exp(SPREAD_OF_MEMORY * dice.standard_normal(jobs))
    shapes = Shapes()

    def made() -> Iterator[Submission]:
        rows = zip(times.tolist(), runs.tolist(), sizes.tolist(), memory.tolist(), strict=True)
        for number, (time, run, size, kibibytes) in enumerate(rows):
            asked = (("memory", f"{int(kibibytes)}Ki"),) if has_memory else ()
            role = shapes.role("worker", int(size), shapes.template((("cpu", "1"), *asked)))
            yield Submission(f"job-{number:06}", time, run, (role,))

    return Workload("trace", made, count=jobs)


def sizes_of_jobs(jobs: int, largest: int, dice: np.random.Generator) -> Numbers:
    """One processor, or a power of two, most often eight."""
    powers = np.round(dice.triangular(0.5, 3.0, np.log2(largest), jobs))
    return np.where(dice.random(jobs) < SERIAL, 1.0, np.minimum(2.0**powers, largest))


def with_one_that_never_fits(work: Workload, processors: int) -> Workload:
    """The same jobs, after one of more pods than there are processors."""
    shapes = Shapes()
    role = shapes.role("worker", processors + 1, shapes.template((("cpu", "1"),)))
    never = Submission("never", 0.0, 1.0, (role,))
    return Workload(work.name, lambda: chain([never], work.jobs()), count=(work.count or 0) + 1)


def backlog(jobs: int, pods: int) -> Workload:
    """Gangs of so many pods of two cores that are all there from the start, each with memory of its own."""
    dice, shapes = np.random.default_rng(1), Shapes()
    runs = dice.integers(50, 150, jobs, endpoint=True).tolist()

    def made() -> Iterator[Submission]:
        for number, run in enumerate(runs):
            template = shapes.template((("cpu", "2"), ("memory", f"{256 + number}Mi")))
            role = shapes.role("worker", pods, template)
            yield Submission(f"job-{number:06}", 0.0, float(run), (role,))

    return Workload("backlog", made, count=jobs)
