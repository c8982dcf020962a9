"""What a simulation says that binds a job is what an explanation says of the same moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given

from hekla.conf import Conf
from hekla.engine.explain.explanation import Explanation, explain, waits
from hekla.engine.framework import points
from hekla.engine.framework.rules import Vote
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import WaitReason
from hekla.engine.state.snapshot import Snapshot, take_snapshot
from hekla.objects import Manifest
from hekla.scheduler.cycle import run_cycle
from hekla.simulation.options import START
from hekla.simulation.run import Cause, Run
from properties.effort import examples
from simulation.test_left_out_cycle_laws import CONFS, Play, plays, simulation_of


@dataclass
class Moment:
    """A cycle: when it was, and what a session that is not quiet says of each job that waits after it."""

    now: float
    session: Session
    explained: Mapping[str, Explanation]


@dataclass
class Listener:
    """Has every cycle's facts decided on anew, with all that a diagnosis takes."""

    moments: list[Moment] = field(default_factory=list)
    _args: tuple[Sequence[Manifest], Conf, float, dict[str, float]] | None = None

    def cycle_begins(
        self, snapshot: Snapshot, conf: Conf, *, now: float, uid: str, memory: dict[str, float]
    ) -> None:
        del uid
        kinds = snapshot.state.manifests.values()
        objects = [manifest for of_kind in kinds for manifest in of_kind.values()]
        session = run_cycle(take_snapshot(objects), conf, now=now, memory=dict(memory)).session
        jobs = [job for job in session.jobs.values() if waits(job)]
        explained = {job.uid: explain(session, job) for job in jobs}
        self.moments.append(Moment(now - START, session, explained))

    def cycle_ends(self, decisions: Sequence[object]) -> None:
        pass

    def cycle_fails(self, error: Exception) -> None:
        pass


def listened_to(play: Play, conf: str) -> tuple[Run, list[Moment]]:
    simulation = simulation_of(play, conf)
    listener = Listener()
    simulation._loop.observer = listener
    run = simulation.run()
    # The last one may only have been asked why jobs still wait.
    return run, listener.moments[: run.cycles]


def cause_at(run: Run, job: str, now: float) -> Cause | None:
    """What bound the job from that moment on, as far as it is known; None where it did not wait."""
    log, row = run.waits, run.jobs.names.index(job)
    assert log is not None
    entered = np.flatnonzero((log.job == row) & (log.since <= now + 1e-6))
    if not len(entered):
        return None
    rows = np.flatnonzero((log.of_group == log.group[entered[-1]]) & (log.changed <= now + 1e-6))
    return log.causes[log.cause[rows[-1]]] if len(rows) else None


def missing_of(job: Job) -> tuple[int, Amounts]:
    """How many tasks the job lacks to start, and what such a task asks for; here all are alike."""
    roster = job.roster
    waiting = [*roster.having(Status.PENDING).values(), *roster.having(Status.PIPELINED).values()]
    return job.minimum - (len(job.roster) - len(waiting)), waiting[0].vector


def fits(session: Session, job: Job) -> tuple[bool, bool, bool]:
    """Whether there is enough for what the job lacks in sum, in pieces, and on open nodes; node by node."""
    count, asked = missing_of(job)
    idle = [row.tolist() for row in session.nodes.idle]
    wanted = [(at, amount) for at, amount in enumerate(asked.tolist()) if amount > 0]
    in_sum = all(sum(row[at] for row in idle) >= amount * count for at, amount in wanted)
    pieces = [max(0, min(row[at] // amount for at, amount in wanted)) for row in idle]
    is_open = [not each.manifest.spec.unschedulable for each in session.nodes.nodes]
    on_open = sum(fitting for fitting, is_its in zip(pieces, is_open, strict=True) if is_its)
    return in_sum, sum(pieces) >= count, on_open >= count


def queue_may_take(session: Session, job: Job) -> bool:
    """Whether the job's queue has so much left of what it deserves, or of its limit; by its figures."""
    count, asked = missing_of(job)
    for plugin in session.plugins:
        figures = plugin.queue_figures().get(job.queue)
        if figures is None:
            continue
        limit = figures.deserved if plugin.name == "proportion" else figures.real_capacity
        for name, amount in zip(session.axis.names, (count * asked).tolist(), strict=True):
            if 0 < limit.get(name, np.inf) < figures.allocated.get(name, 0) + amount and name != "pods":
                return False
    return True


def never_fits(session: Session, job: Job) -> bool:
    """Whether the job asks for more than all nodes have."""
    count, asked = missing_of(job)
    return bool((count * asked > session.nodes.allocatable.sum(axis=0)).any())


def refuses(session: Session, job: Job, plugin: str = "") -> bool:
    """Whether that plugin, or any, votes against the job's admission as the cycle has left things."""
    voters = session.dispatch.handlers(points.JOB_ENQUEUEABLE)
    return any(one.answer(job) is Vote.REJECT for one in voters if plugin in ("", one.plugin.name))


def has_lost_pods(job: Job) -> bool:
    """Whether it held something before this cycle: what it waits for is settled once all its pods wait."""
    return job.pod_group.status.phase not in ("", "Pending", "Inqueue") or len(job.roster) != len(
        job.roster.having(Status.PENDING)
    )


def holds(cause: Cause, moment: Moment, job: Job) -> bool:
    """Whether what is said is borne out by the explanation, and by the nodes themselves."""
    said = "\n".join(moment.explained[job.uid].reasons)
    in_sum, in_pieces, on_open_nodes = fits(moment.session, job)
    is_refused = job.uid in moment.session.not_admitted
    match cause.reason:
        case WaitReason.ADMISSION_LIMIT | WaitReason.QUEUE_SHARE if cause.plugin:
            return is_refused and (f"{cause.plugin}: " in said or refuses(moment.session, job, cause.plugin))
        case WaitReason.QUEUE_SHARE:
            return not is_refused and ("all it deserves" in said or not queue_may_take(moment.session, job))
        case WaitReason.NO_ROOM:
            return not in_sum and (not is_refused or never_fits(moment.session, job))
        case WaitReason.FRAGMENTATION:
            return not is_refused and in_sum and not in_pieces
        case WaitReason.FILTERS:
            return not is_refused and in_pieces and not on_open_nodes
        case WaitReason.RELEASE:
            return "pipelined to" in said
        case WaitReason.ORDER:
            return on_open_nodes if not is_refused else not refuses(moment.session, job)
    return False


@pytest.mark.parametrize("conf", CONFS)
@examples(0.2)
@given(play=plays())
def test_the_cause_that_is_kept_is_borne_out_by_an_explanation(conf: str, play: Play) -> None:
    run, moments = listened_to(play, CONFS[conf])
    for moment in moments:
        for uid, explained in moment.explained.items():
            cause, job = cause_at(run, uid, moment.now), moment.session.jobs[uid]
            if cause is None or has_lost_pods(job):
                continue
            assert holds(cause, moment, job), f"{moment.now:g} s: {cause}: {explained}"
