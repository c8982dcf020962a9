"""Samples: the present state runs on in virtual time, again and again, each time with run times drawn anew.

Every sample has a source of chance of its own, made from the seed and its number: the result is the same in
one process and in many.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import takewhile
from typing import Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from hekla.clock import stopwatch
from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import HeklaError
from hekla.insight.forecast.history import Prospect
from hekla.insight.forecast.initial_state import InitialJob, InitialState, group_key, has_run
from hekla.objects import Manifest, Pod, PodGroup, seconds
from hekla.objects.batch import PodTemplate
from hekla.objects.keys import RUN_SECONDS
from hekla.objects.pod import PodStatus
from hekla.processes import is_told_to_stop, process_pool
from hekla.simulation.jobs import stated
from hekla.simulation.options import START, SimulationOptions
from hekla.simulation.run import Floats
from hekla.simulation.simulate import Simulation, Stopped
from hekla.simulation.workloads import Role, Submission, Workload
from hekla.simulation.workloads.manifests import template_of

WORTH_PROCESSES = 8.0
"""Seconds of work from which on it pays to start further processes."""

OnSample = Callable[[int], None]
"""Called with how many samples are done."""


@dataclass(frozen=True)
class SampleSetting:
    """Everything that a sample starts from."""

    initial_state: InitialState
    prospects: Mapping[str, Prospect]
    """By job, how long it runs."""
    conf: Conf
    registry: Registry
    arrivals: Arrivals
    options: SimulationOptions
    seed: int
    only: str = ""
    """The job that is asked about, by PodGroup or `namespace/name`; empty: all that wait."""

    @property
    def is_certain(self) -> bool:
        """Nothing is left to chance: all samples are the same."""
        return not self.arrivals.are_random and all(len(p.seconds) == 1 for p in self.prospects.values())

    @property
    def waiting(self) -> list[InitialJob]:
        """The jobs whose starts are looked for."""
        waiting = self.initial_state.waiting
        return [job for job in waiting if self.only in (job.key, job.title)] if self.only else waiting


def sample(setting: SampleSetting, number: int, hopeless: frozenset[str] = frozenset()) -> Floats:
    """(J,) When each job that is asked about starts, in seconds from now; infinite where it does not.

    It ends when all have started but those that are hopeless. One that is interrupted tells nothing: what
    had not started yet would seem to start never.
    """
    chance = np.random.default_rng((setting.seed, number))
    spans = {job.key: setting.prospects[job.key].draw(chance) for job in setting.initial_state.jobs}
    workload = Workload(
        "",
        partial(setting.arrivals.submissions, chance),
        setting.initial_state.objects,
        are_manifests=True,
        not_made=setting.initial_state.not_made,
    )
    simulation = Simulation(
        workload,
        setting.conf,
        registry=setting.registry,
        seed=number,
        options=setting.options,
        remaining=partial(remaining, spans),
        tells_causes=False,
    )
    keys = [job.key for job in setting.waiting]
    awaited = set(keys) - hopeless
    jobs = {job.key: job for job in simulation.cluster.jobs}
    to_come = [jobs[key] for key in keys if key in awaited]

    def is_over() -> bool:
        while to_come and to_come[-1].has_started:
            to_come.pop()
        return not to_come or is_told_to_stop()

    run = simulation.run(is_stopped=is_over, keeps_interrupted=False)
    if is_told_to_stop():
        raise Stopped
    starts = run.jobs.started[[jobs[key].row for key in keys]]
    return np.where(np.isnan(starts), math.inf, starts)


def remaining(spans: Mapping[str, float], pod: Pod, group: PodGroup | None) -> float:
    """How long a pod still runs, if its job runs so long in all."""
    if pod.metadata.deletion_timestamp is not None:
        return max(0.0, seconds(pod.metadata.deletion_timestamp) - START)
    so_far = has_run(pod)
    if RUN_SECONDS in pod.metadata.annotations or group is None:
        said = stated(pod, group)
        if said > so_far:
            return said - so_far
    return math.inf if group is None else max(spans[group.key] - so_far, 0.0)


def samples_of(
    setting: SampleSetting,
    count: int,
    *,
    hopeless: frozenset[str] | None = None,
    processes: int = 1,
    worth_processes: float,
    on_sample: OnSample | None = None,
) -> tuple[Floats, frozenset[str]]:
    """(samples, J) All samples, and the jobs that can never start; those not given are found by the first.

    Interrupted by Ctrl-C after the first, the samples up to the first one that is missing: those that would
    have been taken if only so many had been asked for. All that are complete would mislead, as short ones
    are complete sooner.
    """
    tell = on_sample or (lambda _done: None)
    began = stopwatch()
    first = sample(setting, 0, hopeless or frozenset())
    tell(1)
    if hopeless is None:
        hopeless = hopeless_in(setting, first)
    each = stopwatch() - began
    if setting.is_certain:
        return np.tile(first, (count, 1)), hopeless
    rest = range(1, count)
    if processes > 1 and each * len(rest) > worth_processes and (packed := _packed(setting)) is not None:
        rows = _in_processes(packed, rest, hopeless, processes, tell)
    else:
        rows = _in_turn(setting, rest, hopeless, tell)
    unbroken = takewhile(rows.__contains__, rest)
    starts = np.array([first, *(rows[number] for number in unbroken)]).reshape(-1, len(first))
    return starts, hopeless


def _in_turn(
    setting: SampleSetting, numbers: Sequence[int], hopeless: frozenset[str], tell: OnSample
) -> dict[int, Floats]:
    rows = {}
    with suppress(KeyboardInterrupt):
        for number in numbers:
            rows[number] = sample(setting, number, hopeless)
            tell(number + 1)
    return rows


def _packed(setting: SampleSetting) -> bytes | None:
    """The setting for other processes; none where a plugin cannot be pickled."""
    try:
        return pickle.dumps(setting)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


_unpacked: list[SampleSetting] = []
"""In a worker process: the setting that it takes samples of."""


def _unpack(packed: bytes) -> None:
    _unpacked[:] = [pickle.loads(packed)]  # noqa: S301 - it comes from ourselves


def _sample_there(number: int, hopeless: frozenset[str]) -> tuple[int, Floats]:
    return number, sample(_unpacked[0], number, hopeless)


def _in_processes(
    packed: bytes, numbers: Sequence[int], hopeless: frozenset[str], processes: int, tell: OnSample
) -> dict[int, Floats]:
    rows: dict[int, Floats] = {}
    try:
        with (
            suppress(KeyboardInterrupt),
            process_pool(min(processes, len(numbers)), _unpack, packed) as pool,
        ):
            pending = [pool.submit(_sample_there, number, hopeless) for number in numbers]
            for done in as_completed(pending):
                number, starts = done.result()
                rows[number] = starts
                tell(len(rows) + 1)
    except BrokenProcessPool as error:
        raise HeklaError(
            "a process that took samples ended at once, killed or out of memory; try fewer --processes"
        ) from error
    return rows


def hopeless_in(setting: SampleSetting, starts: Floats) -> frozenset[str]:
    """Of the jobs that did not start, those that would not even on a cluster with nothing else on it."""
    late = [job for job, start in zip(setting.waiting, starts, strict=True) if math.isinf(start)]
    return frozenset(job.key for job in late if not starts_alone(setting, job))


ALONE_CYCLES = 5
"""Enough to be admitted, placed and bound."""


def starts_alone(setting: SampleSetting, job: InitialJob) -> bool:
    """Whether the job starts where nothing else is."""
    simulation = Simulation(
        Workload("", lambda: iter(()), tuple(alone(setting.initial_state, job.key))),
        setting.conf,
        registry=setting.registry,
        options=SimulationOptions(period=1.0, until=float(ALONE_CYCLES)),
        remaining=lambda _pod, _group: math.inf,
        tells_causes=False,
    )
    jobs = {each.key: each for each in simulation.cluster.jobs}
    simulation.run(is_stopped=lambda: jobs[job.key].has_started, keeps_interrupted=False)
    return jobs[job.key].has_started


def alone(initial_state: InitialState, job: str) -> Iterator[Manifest]:
    """The cluster with this job on it only, and that not placed yet."""
    for each in initial_state.objects:
        if isinstance(each, Pod):
            if group_key(each) == job and each.metadata.deletion_timestamp is None:
                spec = msgspec.structs.replace(each.spec, node_name="")
                yield msgspec.structs.replace(each, spec=spec, status=PodStatus())
        elif not isinstance(each, PodGroup) or each.key == job:
            yield each


HOUR = 3600.0


class Arrivals(Protocol):
    """Jobs that may arrive later, different ones in every sample."""

    @property
    def are_random(self) -> bool: ...

    def submissions(self, chance: np.random.Generator) -> Iterator[Submission]: ...


@dataclass(frozen=True)
class NoArrivals:
    """No job arrives."""

    are_random: bool = False

    def submissions(self, chance: np.random.Generator) -> Iterator[Submission]:  # noqa: ARG002
        return iter(())


@dataclass(frozen=True)
class WrittenArrivals:
    """The same jobs in every sample, at their times from now on.

    They may be called like jobs that are there, or like each other: each gets a name of its own.
    """

    jobs: tuple[Submission, ...]
    are_random: bool = False

    def submissions(self, chance: np.random.Generator) -> Iterator[Submission]:  # noqa: ARG002
        return iter(self._renamed)

    @cached_property
    def _renamed(self) -> tuple[Submission, ...]:
        names = [later(number, job.name) for number, job in enumerate(self.jobs, 1)]
        # A job that follows another follows the last one of that name so far; else the first one to come.
        keys: dict[str, str] = {}
        for job, name in zip(self.jobs, names, strict=True):
            keys.setdefault(job.key, f"{job.namespace}/{name}")
        renamed = []
        for job, name in zip(self.jobs, names, strict=True):
            renamed.append(replace(job, name=name, after=keys.get(job.after, job.after)))
            keys[job.key] = f"{job.namespace}/{name}"
        return tuple(renamed)


def later(number: int, name: str = "") -> str:
    """The name of a job that comes later; no name in a cluster may contain such a line."""
    return f"later_{number}_{name}" if name else f"later_{number}"


@dataclass(frozen=True)
class SteadyArrivals:
    """Jobs like those that are there, at a rate, each as likely as any other."""

    per_hour: float
    kinds: tuple[tuple[Submission, Prospect], ...]
    are_random: bool = True

    def submissions(self, chance: np.random.Generator) -> Iterator[Submission]:
        now, number = 0.0, 0
        while self.kinds and self.per_hour > 0:
            now += float(chance.exponential(HOUR / self.per_hour))
            number += 1
            kind, prospect = self.kinds[chance.integers(len(self.kinds))]
            runs = prospect.draw(chance)
            yield replace(kind, name=later(number), submitted=now, run_seconds=runs)


def steady(
    state: InitialState,
    fresh: Mapping[str, Prospect],
    per_hour: float,
    hopeless: frozenset[str] = frozenset(),
) -> SteadyArrivals:
    """Arrivals that look like the jobs of the present; `fresh` is how long each runs in all.

    Those that can never start are not made more: they would only be waited for.
    """
    pods_of: dict[str, list[Pod]] = {}
    for each in state.objects:
        if isinstance(each, Pod):
            pods_of.setdefault(group_key(each), []).append(each)
    kinds = tuple(
        (_kind_of(job, pods_of[job.key]), fresh[job.key]) for job in state.jobs if job.key not in hopeless
    )
    return SteadyArrivals(per_hour, kinds)


def _kind_of(job: InitialJob, pods: Sequence[Pod]) -> Submission:
    """Pods that look alike are one role."""
    roles: dict[str, tuple[Pod, int]] = {}
    for pod in pods:
        look = repr((pod.spec.containers, pod.spec.node_selector, pod.spec.priority))
        first, count = roles.get(look, (pod, 0))
        roles[look] = (first, count + 1)
    return Submission(
        name="later",
        submitted=0.0,
        run_seconds=0.0,
        roles=tuple(
            Role(f"r{number}", count, _template(pod)) for number, (pod, count) in enumerate(roles.values())
        ),
        queue=job.queue,
        namespace=job.key.partition("/")[0],
        min_available=job.minimum,
        priority_class=pods[0].spec.priority_class_name,
    )


def _template(pod: Pod) -> PodTemplate:
    template = template_of(pod)
    return msgspec.structs.replace(template, spec=msgspec.structs.replace(template.spec, node_name=""))
