"""Summary: all figures of a run."""

from __future__ import annotations

import msgspec
import numpy as np

from hekla.simulation.measures.lost_time import LostTime, lost_time
from hekla.simulation.measures.room import fragments, waited_beside_room
from hekla.simulation.measures.spans import Chains, chains, edges_of, taken_in, totals, until_end
from hekla.simulation.measures.usage import jain, shares_over_time
from hekla.simulation.measures.waits import SIZES, JobGroup, groupings, size_classes
from hekla.simulation.measures.words import HOUR, PARTS, number, plain_amount
from hekla.simulation.run import Ending, Floats, Run, State

MOMENTS = 400
"""In so many parts of the run shares are compared, and at so many moments fragmentation is looked at."""


class ResourceUse(msgspec.Struct, frozen=True):
    """One resource over the whole run; amounts times seconds, in cores, bytes, devices."""

    name: str
    available: float
    """Amount-seconds of nodes in service."""
    used: float
    """Amount-seconds that pods held."""
    lost: float
    """Amount-seconds of work that did not count: it was cut off and had not been saved."""
    utilisation: float
    """Used over available, from 0 to 1; NaN where nothing was available."""
    fragmentation: float
    """The part of what was idle that a pod of the mix could not use; NaN where nothing was idle or wanted."""

    def as_data(self) -> dict[str, object]:
        return {
            "availableSeconds": number(self.available),
            "usedSeconds": number(self.used),
            "lostSeconds": number(self.lost),
            "utilisation": number(self.utilisation, PARTS),
            "fragmentation": number(self.fragmentation, PARTS),
        }


class Fairness(msgspec.Struct, frozen=True):
    """One queue's part of the cluster, over the whole run."""

    queue: str
    share: float
    """Mean dominant share."""
    entitled: float
    """Mean share that it was entitled to."""
    satisfaction: float
    """The part of that it got; NaN where it never wanted any."""
    shortfall: float
    """Seconds of the whole cluster that it was entitled to and did not get."""
    excess: float
    """Seconds of the whole cluster that it held beyond."""

    def as_data(self) -> dict[str, object]:
        return {
            "queue": self.queue,
            "share": number(self.share, PARTS),
            "entitled": number(self.entitled, PARTS),
            "satisfaction": number(self.satisfaction, PARTS),
            "shortfallSeconds": number(self.shortfall),
            "excessSeconds": number(self.excess),
        }


class Summary(msgspec.Struct, frozen=True):
    """What became of the jobs, how the cluster was used, and which queue got how much of it."""

    overall: JobGroup
    by_queue: tuple[JobGroup, ...]
    by_size: tuple[JobGroup, ...]
    by_queue_and_size: tuple[JobGroup, ...]
    """Groups without a job are left out, here and above."""
    makespan: float
    """Seconds from the first submission to the last completion; NaN where no job completed."""
    throughput: float
    """Completed jobs per hour of the makespan; NaN likewise."""
    resources: tuple[ResourceUse, ...]
    jain: float
    """Jain's index over the satisfaction of queues; NaN where there was no demand."""
    fairness: tuple[Fairness, ...]
    """One per queue that had jobs."""
    chains: Chains
    beside_room_seconds: float
    """All gangs together: how long they waited while there was room for a part of them."""
    beside_room_gangs: int
    beside_room_resolution: float
    """Seconds between the moments that were looked at."""
    lost_time: LostTime | None = None
    """Why jobs waited, and capacity was idle; None where that was not watched."""

    def as_data(self) -> dict[str, object]:
        """For JSON: camelCase, numbers rounded, null for what there is not."""
        return {
            **self.overall.as_data(),
            "makespan": number(self.makespan),
            "throughputPerHour": number(self.throughput, PARTS),
            "resources": {use.name: use.as_data() for use in self.resources},
            "jain": number(self.jain, PARTS),
            "fairness": [fairness.as_data() for fairness in self.fairness],
            "chains": self.chains.as_data(),
            "besideRoom": {
                "seconds": number(self.beside_room_seconds),
                "gangs": self.beside_room_gangs,
                "resolution": number(self.beside_room_resolution),
            },
            **({} if self.lost_time is None else self.lost_time.as_data()),
            "byQueue": [group.as_data() for group in self.by_queue],
            "bySize": [group.as_data() for group in self.by_size],
            "byQueueAndSize": [group.as_data() for group in self.by_queue_and_size],
        }


def summarize(run: Run) -> Summary:
    """All figures of the run."""
    queue, size = run.jobs.queue.astype(np.int64), size_classes(run)
    both = np.where(queue >= 0, queue * len(SIZES) + size, queue)
    (overall,), *parts = groupings(
        run,
        [
            (np.zeros(len(run.jobs), np.int64), [("", "")]),
            (queue, [(name, "") for name in run.queues]),
            (size, [("", name) for name in SIZES]),
            (both, [(name, size_name) for name in run.queues for size_name in SIZES]),
        ],
    )
    by_queue, by_size, by_both = (tuple(group for group in groups if group.jobs) for groups in parts)
    fairness, evenness = _fairness(run, {group.queue for group in by_queue})
    makespan, throughput = _pace(run)
    beside = waited_beside_room(run)
    return Summary(
        overall=overall,
        by_queue=by_queue,
        by_size=by_size,
        by_queue_and_size=by_both,
        makespan=makespan,
        throughput=throughput,
        resources=_resources(run),
        jain=evenness,
        fairness=fairness,
        chains=chains(run),
        beside_room_seconds=float(beside.seconds.sum()),
        beside_room_gangs=beside.gangs,
        beside_room_resolution=beside.resolution,
        lost_time=lost_time(run),
    )


def _pace(run: Run) -> tuple[float, float]:
    """Makespan, and completed jobs per hour of it."""
    jobs = run.jobs
    is_completed = jobs.state == State.COMPLETED
    if not is_completed.any():
        return np.nan, np.nan
    makespan = float(jobs.finished[is_completed].max() - jobs.submitted[taken_in(run)].min())
    return makespan, float(is_completed.sum()) / makespan * HOUR if makespan else np.nan


def _resources(run: Run) -> tuple[ResourceUse, ...]:
    available, used, lost = available_work(run), used_work(run), lost_work(run)
    edges = edges_of(run, MOMENTS)
    stuck, idle = (total.sum(axis=0) for total in fragments(run, (edges[:-1] + edges[1:]) / 2))
    return tuple(
        ResourceUse(
            name,
            available=plain_amount(name, float(available[column])),
            used=plain_amount(name, float(used[column])),
            lost=plain_amount(name, float(lost[column])),
            utilisation=_part(used[column], available[column]),
            fragmentation=_part(stuck[column], idle[column]),
        )
        for column, name in enumerate(run.resources)
    )


def _part(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else np.nan


def available_work(run: Run) -> Floats:
    """(R,) Amount-seconds of nodes in service."""
    nodes = run.nodes
    seconds = np.maximum(until_end(run, nodes.service_ended) - nodes.service_began, 0.0)
    return totals(nodes.service, seconds, len(nodes.names)) @ nodes.allocatable.astype(np.float64)


def used_work(run: Run) -> Floats:
    """(R,) Amount-seconds that pods held."""
    return _work(run, _lengths(run))


def lost_work(run: Run) -> Floats:
    """(R,) Amount-seconds of pod runs that were cut short and did not count."""
    return _work(run, lost_seconds(run))


def lost_seconds(run: Run) -> Floats:
    """(pod_runs,) Seconds of each that did not count.

    Nothing is lost of a pod run that came to its end or that the end of the run cut off.
    """
    unkept = np.maximum(_lengths(run) - run.pod_runs.kept, 0.0)
    is_cut_short = ~np.isin(run.pod_runs.ending, (Ending.DONE, Ending.CUT))
    return np.where(is_cut_short, unkept, 0.0)


def _lengths(run: Run) -> Floats:
    return np.maximum(until_end(run, run.pod_runs.ended) - run.pod_runs.began, 0.0)


def _work(run: Run, seconds: Floats) -> Floats:
    return totals(run.pod_runs.shape, seconds, len(run.shapes)) @ run.shapes.astype(np.float64)


def _fairness(run: Run, queues: set[str]) -> tuple[tuple[Fairness, ...], float]:
    """Each of these queues, and how even it was between all."""
    series = shares_over_time(run, MOMENTS)
    columns = (
        series.share.mean(axis=0),
        series.entitled.mean(axis=0),
        series.satisfaction,
        series.shortfall,
        series.excess,
    )
    rows = zip(run.queues, *(column.tolist() for column in columns), strict=True)
    return tuple(Fairness(*row) for row in rows if row[0] in queues), float(jain(series.satisfaction))
