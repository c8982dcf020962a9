"""WaitObserver: keeps, for every job that waits and every moment, what binds it.

That can only change at a cycle, or when something happens after which a cycle is left out. Jobs that ask for
the same share a group, so that the work is per kind of job and not per job: plugins are asked once per queue,
and what is free is compared with what all groups ask for in one step.
"""

from __future__ import annotations

from collections.abc import Hashable

from hekla.engine.framework.session import Session
from hekla.engine.ledger.demand import minimum_of
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import WaitReason
from hekla.engine.state.live import LiveState
from hekla.simulation.causes.admission import Admission
from hekla.simulation.causes.groups import UNKNOWN, GroupTable, WaitGroup, missing_tasks
from hekla.simulation.causes.log import WaitLog
from hekla.simulation.causes.placement import AdmittedGroups
from hekla.simulation.jobs import Doing, SimJob
from hekla.simulation.run import Cause, WaitCauses


class WaitObserver:
    """Told which jobs changed, and asked to look after every cycle and at every moment that has none."""

    def __init__(self) -> None:
        self._log = WaitLog()
        self._changed: dict[SimJob, None] = {}
        self._groups: dict[Hashable, WaitGroup] = {}
        self._group_of: dict[SimJob, WaitGroup] = {}
        self._booked: dict[SimJob, None] = {}
        """Jobs to which nodes are promised that are still to be freed."""
        self._admission = Admission(self._log)
        self._placement = AdmittedGroups(self._log)
        self._columns = 0

    def heed(self, job: SimJob) -> None:
        """The job may have begun to wait, or wait for something else, or not wait any more."""
        self._changed[job] = None

    def note_cycle(self, session: Session, now: float) -> None:
        """A cycle was decided and carried out: what binds the jobs that still wait?"""
        self._lay_out(len(session.axis))
        self._admission.asks_for_admission = _asks_for_admission(session)
        self._note_bookings(session)
        self._settle(session.snapshot.state, now)
        self._admission.look(session, now)
        self._placement.look(session, now)

    def note_moment(self, state: LiveState, now: float) -> None:
        """A cycle was left out, which would have decided nothing."""
        self._lay_out(len(state.axis))
        self._settle(state, now)
        self._admission.go_on(now)
        self._placement.go_on(state.nodes, now)

    def causes(self) -> WaitCauses:
        """What was found."""
        return self._log.closed()

    def _lay_out(self, columns: int) -> None:
        """Where resources have other columns, all groups are made anew."""
        if columns == self._columns:
            return
        self._columns = columns
        for job in self._group_of:
            self._changed[job] = None
        self._groups.clear()
        self._group_of.clear()
        self._admission.table, self._placement.table = GroupTable(columns), GroupTable(columns)

    def _note_bookings(self, session: Session) -> None:
        """Jobs that wait for nodes to be freed are told apart from those that wait for the same room."""
        pipelined: set[str] = set()
        if session.nodes.has_promises:
            pipelined = {job.uid for job in session.jobs_in_line() if job.roster.having(Status.PIPELINED)}
        if not pipelined and not self._booked:
            return
        before = self._booked
        self._booked = {job: None for job in {**self._group_of, **self._changed} if _uid_of(job) in pipelined}
        # In order: a set of jobs would stand in that of their addresses.
        either = {**before, **self._booked}
        self._changed.update({job: None for job in either if (job in before) != (job in self._booked)})

    def _settle(self, state: LiveState, now: float) -> None:
        """Every job that changed goes into its group, or leaves it."""
        changed, self._changed = self._changed, {}
        for job in changed:
            old = self._group_of.pop(job, None)
            if old is not None:
                del old.members[job]
            if job.pods and job.running + job.done < job.needed:
                self._put_into_group(job, state, now)
            if old is not None and not old.members:
                self._give_up(old)

    def _put_into_group(self, job: SimJob, state: LiveState, now: float) -> None:
        facts = _facts_of(job, state)
        if facts is None:
            self._changed[job] = None
            return
        is_pending, is_gated = self._admission.is_asked_for(facts), lacks_pods(job)
        lacking = [] if is_pending or is_gated else missing_tasks(facts)
        if not (is_pending or is_gated or lacking):
            # Its pods were made or sent away just now, and no cycle has seen that.
            self._changed[job] = None
            return
        key: Hashable = job.kind, is_pending, is_gated
        is_whole = is_pending or is_gated or len(lacking) == job.needed
        if job.kind is None or not is_whole or job in self._booked:
            key = object()
        group = self._groups.get(key)
        if group is None:
            group = WaitGroup(key, self._log.new_group(), facts.queue, is_pending, lacking)
            self._groups[key] = group
            self._add(group, job, facts, state)
        group.members[job] = None
        self._group_of[job] = group
        self._log.enter(job.row, group.number, now)

    def _add(self, group: WaitGroup, job: SimJob, facts: Job, state: LiveState) -> None:
        if group.is_pending:
            self._admission.table.add(group, minimum_of(state, facts))
        else:
            asks = sum((task.vector for task in group.lacking), 0 * facts.held)
            self._placement.table.add(group, asks, self._fixed(job, facts))

    def _fixed(self, job: SimJob, facts: Job) -> int:
        """What binds an admitted job whatever the cluster has."""
        if job in self._booked:
            return self._log.number_of(Cause(WaitReason.RELEASE))
        gated = [task for task in facts.tasks.values() if task.is_gated]
        if lacks_pods(job) or len(facts.tasks) - len(gated) < facts.minimum:
            return self._log.number_of(Cause(WaitReason.GATE))
        return UNKNOWN

    def _give_up(self, group: WaitGroup) -> None:
        """A group without jobs is forgotten: one that comes later does not take over what bound it."""
        del self._groups[group.key]
        (self._admission if group.is_pending else self._placement).table.remove(group)


def lacks_pods(job: SimJob) -> bool:
    """Whether fewer of its pods exist than start together."""
    if not job.has_controller:
        return False
    return sum(pod.doing is not Doing.NOT_MADE for pod in job.pods) < job.needed


def _asks_for_admission(session: Session) -> bool:
    """Whether jobs are held against anything before they are admitted."""
    return "enqueue" in session.conf.actions and not session.dispatch.who.admits_all


def _uid_of(job: SimJob) -> str:
    return job.key if job.group is None else job.group.key


def _facts_of(job: SimJob, state: LiveState) -> Job | None:
    """The job as the engine knows it; None where it does not yet."""
    if job.group is not None:
        return state.jobs.get(job.group.key)
    task = state.tasks.get(job.pods[0].manifest.key)
    return None if task is None else state.jobs.get(task.job)
