"""Rolls: the present state runs on in virtual time, again and again, each time with run times drawn anew.

Every roll has a source of chance of its own, made from the seed and its number: the result is the same in
one process and in many.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial

import numpy as np
from msgspec.structs import replace

from hekla.clock import stopwatch
from hekla.cluster.embedded.options import RUN_SECONDS
from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import HeklaError
from hekla.insight.forecast.arrivals import Arrivals
from hekla.insight.forecast.run_times import Prospect
from hekla.insight.forecast.standing import Standing, StandingJob, group_key, has_run
from hekla.objects import Manifest, Pod, PodGroup, seconds
from hekla.objects.pod import PodStatus
from hekla.processes import is_told_to_stop, process_pool
from hekla.simulation.options import START, Options
from hekla.simulation.residents import stated
from hekla.simulation.run import Floats
from hekla.simulation.simulate import Simulation, Stopped
from hekla.simulation.workloads import Workload

WORTH_PROCESSES = 8.0
"""Seconds of work from which on it pays to start further processes."""

OnRoll = Callable[[int], None]
"""Hears how many rolls are done."""


@dataclass(frozen=True)
class Setting:
    """Everything that a roll starts from."""

    standing: Standing
    prospects: Mapping[str, Prospect]
    """By job, how long it runs."""
    conf: Conf
    registry: Registry
    arrivals: Arrivals
    options: Options
    seed: int

    @property
    def is_certain(self) -> bool:
        """Nothing is left to chance: all rolls are the same."""
        return not self.arrivals.are_random and all(len(p.seconds) == 1 for p in self.prospects.values())

    @property
    def waiting(self) -> list[StandingJob]:
        return self.standing.waiting


def roll(setting: Setting, number: int, hopeless: frozenset[str] = frozenset()) -> Floats:
    """(J,) When each job that waits now starts, in seconds from now; infinite where it does not.

    It ends when all have started but those that are hopeless. One that is interrupted tells nothing: what
    had not started yet would seem to start never.
    """
    chance = np.random.default_rng((setting.seed, number))
    spans = {job.key: setting.prospects[job.key].draw(chance) for job in setting.standing.jobs}
    workload = Workload(
        "",
        partial(setting.arrivals.submissions, chance),
        setting.standing.objects,
        are_manifests=True,
        not_made=setting.standing.not_made,
    )
    simulation = Simulation(
        workload,
        setting.conf,
        registry=setting.registry,
        seed=number,
        options=setting.options,
        remaining=partial(remaining, spans),
    )
    keys = [job.key for job in setting.waiting]
    awaited = set(keys) - hopeless
    jobs = {job.key: job for job in simulation.stage.jobs}
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


def rolled(
    setting: Setting,
    count: int,
    *,
    hopeless: frozenset[str] | None = None,
    processes: int = 1,
    on_roll: OnRoll | None = None,
) -> tuple[Floats, frozenset[str]]:
    """(rolls, J) All rolls, and the jobs that can never start; the first roll finds those if nobody says."""
    tell = on_roll or (lambda _done: None)
    began = stopwatch()
    first = roll(setting, 0, hopeless or frozenset())
    tell(1)
    if hopeless is None:
        hopeless = hopeless_in(setting, first)
    each = stopwatch() - began
    if setting.is_certain:
        return np.tile(first, (count, 1)), hopeless
    rest = range(1, count)
    if processes > 1 and each * len(rest) > WORTH_PROCESSES and (packed := _packed(setting)) is not None:
        rows = _in_processes(packed, rest, hopeless, processes, tell)
    else:
        rows = _in_turn(setting, rest, hopeless, tell)
    starts = np.array([first, *(rows[number] for number in rest)]).reshape(count, len(first))
    return starts, hopeless


def _in_turn(
    setting: Setting, numbers: Sequence[int], hopeless: frozenset[str], tell: OnRoll
) -> dict[int, Floats]:
    rows = {}
    for number in numbers:
        rows[number] = roll(setting, number, hopeless)
        tell(number + 1)
    return rows


def _packed(setting: Setting) -> bytes | None:
    """The setting for other processes; none where a plugin of somebody's own cannot travel."""
    try:
        return pickle.dumps(setting)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


_unpacked: list[Setting] = []
"""In a process that rolls for another one: what it was given to roll."""


def _unpack(packed: bytes) -> None:
    _unpacked[:] = [pickle.loads(packed)]  # noqa: S301 - it comes from ourselves


def _roll_there(number: int, hopeless: frozenset[str]) -> tuple[int, Floats]:
    return number, roll(_unpacked[0], number, hopeless)


def _in_processes(
    packed: bytes, numbers: Sequence[int], hopeless: frozenset[str], processes: int, tell: OnRoll
) -> dict[int, Floats]:
    rows: dict[int, Floats] = {}
    try:
        with process_pool(min(processes, len(numbers)), _unpack, packed) as pool:
            pending = [pool.submit(_roll_there, number, hopeless) for number in numbers]
            for done in as_completed(pending):
                number, starts = done.result()
                rows[number] = starts
                tell(len(rows) + 1)
    except BrokenProcessPool as error:
        raise HeklaError(
            "a process that rolled ended at once, killed or out of memory; try fewer --processes"
        ) from error
    return rows


def hopeless_in(setting: Setting, starts: Floats) -> frozenset[str]:
    """Of the jobs that did not start, those that would not even on a cluster with nothing else on it."""
    late = [job for job, start in zip(setting.waiting, starts, strict=True) if math.isinf(start)]
    return frozenset(job.key for job in late if not starts_alone(setting, job))


ALONE_CYCLES = 5
"""Enough to be admitted, placed and bound."""


def starts_alone(setting: Setting, job: StandingJob) -> bool:
    """Whether the job starts where nothing else is."""
    simulation = Simulation(
        Workload("", lambda: iter(()), tuple(alone(setting.standing, job.key))),
        setting.conf,
        registry=setting.registry,
        options=Options(period=1.0, until=float(ALONE_CYCLES)),
        remaining=lambda _pod, _group: math.inf,
    )
    jobs = {each.key: each for each in simulation.stage.jobs}
    simulation.run(is_stopped=lambda: jobs[job.key].has_started, keeps_interrupted=False)
    return jobs[job.key].has_started


def alone(standing: Standing, job: str) -> Iterator[Manifest]:
    """The cluster with this job on it only, and that not placed yet."""
    for each in standing.objects:
        if isinstance(each, Pod):
            if group_key(each) == job and each.metadata.deletion_timestamp is None:
                yield replace(each, spec=replace(each.spec, node_name=""), status=PodStatus())
        elif not isinstance(each, PodGroup) or each.key == job:
            yield each
