"""Allocate: hand idle resources to waiting jobs, queue by queue, one job at a time.

After every job the queues are ordered anew: what one queue has just received may make another
queue the more deserving one. A job gets all it needs to start, or is promised it, or nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hekla.conf import argument
from hekla.engine.actions.domain_search import DomainSearch
from hekla.engine.actions.failed_attempts import FailedAttempts
from hekla.engine.actions.nomination import nominate_from_pods, place_as_nominated
from hekla.engine.actions.pending import PendingTasks, pending_tasks_of
from hekla.engine.actions.placing import Placer
from hekla.engine.framework.action import Action
from hekla.engine.framework.beneficiaries import Beneficiaries
from hekla.engine.framework.finder import error_cache_argument
from hekla.engine.framework.orders import FairOrder, OrderedTasks
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.framework.topology import has_its_network
from hekla.engine.model.job import INQUEUE, Job, SubJob
from hekla.engine.state.attention import WaitingRules
from hekla.engine.state.waiting import placement_kind, waits_for_room_alone


@dataclass(frozen=True)
class AllocateArguments:
    error_cache: bool = error_cache_argument()
    opens_gates: bool = argument(
        False,
        key="schedulingGatesQueueAdmission",
        help="take the queue-allocation gate off pods that asked for it, once their queue has room",
    )
    on_unready: Literal["volcano", "hold"] = argument(
        "volcano",
        key="unreadyPolicy",
        help="what becomes of the places of a job that cannot start: given back, or held for the cycle",
    )
    on_pipelined: Literal["keep", "discard", "commit"] = argument(
        "keep",
        key="onPipelined",
        help="what becomes of a job that waits for releases: its places are kept, given back, or bound now",
    )
    keeps_nominations: bool = argument(
        False,
        key="keepNominations",
        help="a gang for which an earlier cycle freed a domain goes there first, as it was planned",
    )
    freed_room: Literal["reserved", "volcano"] = argument(
        "reserved",
        key="freedRoom",
        help="room freed by evictions is kept for the job that they were for, which may cause no further ones"
        " where they proved futile; or any job takes it, as in Volcano",
    )
    freed_room_seconds: float = argument(
        600.0, key="freedRoomSeconds", minimum=0, help="for how long freed room is kept for a job"
    )
    job_score: Literal["sum", "hypernodeOrder"] = argument(
        "sum",
        key="jobHyperNodeScore",
        help="how domains are compared for a whole job: by the sum of its parts, or asked anew",
    )


class Allocate(Action):
    name = "allocate"
    Arguments = AllocateArguments

    def leaves_waiting(self, rules: WaitingRules) -> WaitingRules:
        """Jobs that would get nothing; unless they keep what they get until the cycle ends."""
        return rules if self.arguments.on_unready == "volcano" else super().leaves_waiting(rules)

    def prepare(self, session: Session) -> None:
        """Jobs for which room was freed are offered it before any action gives it to another job."""
        if self.arguments.freed_room == "volcano":
            return
        session.beneficiaries = Beneficiaries(session, self.arguments.freed_room_seconds)
        jobs = session.beneficiaries.with_freed_room()
        if jobs:
            offer_freed_room(session, jobs, self.arguments)

    def run(self, session: Session) -> None:
        keeps_nominations = self.arguments.keeps_nominations
        agenda = WaitingJobs(session, session.jobs_in_line(), keeps_nominations=keeps_nominations)
        agenda.add_backlog()
        while agenda.queues:
            queue = agenda.queues.pop()
            jobs = agenda.jobs_of[queue.name]
            if session.is_overused(queue) or not jobs:
                continue
            job = jobs.pop()
            if agenda.may_start(job):
                place = place_in_domains if job.uid in agenda.in_domains else place_anywhere
                if place(session, job, agenda, self.arguments):
                    jobs.push(job)
            agenda.queues.push(queue)


class WaitingJobs(FairOrder):
    """What there is to place: queues, their jobs, and each job's tasks in order."""

    def __init__(self, session: Session, jobs: Iterable[Job], *, keeps_nominations: bool) -> None:
        super().__init__(session)
        self.pending: dict[str, PendingTasks] = {}
        """By job what is left to place of it."""
        self.failed = FailedAttempts(session)
        self._passed_over: set[int] = set()
        """Rows of the backlog of which a job cannot start now: nor can any other of the row."""
        self.in_domains: set[str] = set()
        """The jobs that ask for a network domain, or have parts that are placed one by one."""
        admits_itself = "enqueue" not in session.conf.actions
        for job in jobs:
            if job.is_pending and admits_itself:
                job.phase = INQUEUE
            if not session.is_eligible(job) or not has_its_network(session, job):
                continue
            if keeps_nominations:
                nominate_from_pods(session, job)
            if self._has_tasks(job):
                self.add(job)

    def _has_tasks(self, job: Job) -> bool:
        """Whether anything of the job is to be placed; that is then known by its sub-jobs."""
        pending = pending_tasks_of(self._session, job)
        if not pending:
            return False
        self.pending[job.uid] = pending
        if job.is_bounded or job.has_policies:
            self.in_domains.add(job.uid)
        return True

    def add_backlog(self) -> None:
        """Of the jobs that wait for room, the first of each queue that may find it."""
        backlog = self._session.attention.to_place
        if len(backlog):
            backlog.put_in_order(self._session.job_key)
            backlog.count(self._session.nodes)
            for queue in [*backlog.queues]:
                self._add_next(queue)

    def _add_next(self, queue: str) -> None:
        job = self._session.attention.to_place.first_awake(queue, self._passed_over)
        if job is not None:
            self.add(job)

    def may_start(self, job: Job) -> bool:
        """Whether to try the job: of those that wait for room alone only where there may be enough."""
        session, backlog = self._session, self._session.attention.to_place
        if job.uid not in backlog:
            is_like_them = session.is_quiet and session.attention.rules.for_room and waits_for_room_alone(job)
            return not is_like_them or backlog.has_room_for(placement_kind(job), session.nodes)
        row = backlog.row_of(job.uid)
        found = backlog.has_room(row, session.nodes) and (not session.is_quiet or self._queue_may_take(job))
        if found:
            session.look_at(job)
        else:
            self._passed_over.add(row)
        self._add_next(job.queue)
        return found and session.is_eligible(job) and self._has_tasks(job)

    def _queue_may_take(self, job: Job) -> bool:
        """Whether the job's queue may take as many of its tasks as start together, if they are alike."""
        session, tasks = self._session, job.tasks.values()
        first = next(iter(tasks))
        who, are_alike = session.dispatch.who, all([task.shape is first.shape for task in tasks])
        if not (are_alike and who.tells_headroom and who.has_headroom_by_kind):
            return True
        return session.headroom(session.queues[job.queue], first, job.minimum) == job.minimum


def offer_freed_room(session: Session, jobs: Iterable[Job], arguments: AllocateArguments) -> None:
    """Place each of the jobs if it can start in the room that was freed for it, now or once that is free.

    One that lost pods meanwhile, and so its admission, is admitted again: the room was freed for it already.
    """
    for job in jobs:
        if job.is_pending:
            session.admit(job)
    agenda = WaitingJobs(session, jobs, keeps_nominations=True)
    for job in jobs:
        pending = agenda.pending.get(job.uid)
        if pending is None or session.is_overused(session.queues[job.queue]):
            continue
        for uid, tasks in pending.tasks_of.items():
            pending.tasks_of[uid] = planned_tasks(job.sub_jobs[uid], tasks)
        place = place_in_domains if job.uid in agenda.in_domains else place_anywhere
        place(session, job, agenda, arguments)


def planned_tasks(sub_job: SubJob, tasks: OrderedTasks) -> OrderedTasks:
    """The tasks that were promised a node, and others as far as the sub-job cannot start without them.

    Whatever more waits of it has its turn with other jobs.
    """
    nominated = [task for task in tasks if task.pod.status.nominated_node_name]
    others = [task for task in tasks if not task.pod.status.nominated_node_name]
    return deque([*nominated, *others[: max(sub_job.roster.missing - len(nominated), 0)]])


def place_anywhere(session: Session, job: Job, agenda: WaitingJobs, arguments: AllocateArguments) -> bool:
    """Place enough tasks for the job to start, or leave no trace; True where more of it is left to place.

    A job that only lacks resources which are being released keeps what it was given until the
    cycle ends, so that no other job takes it; nothing of it is bound yet.
    """
    sub_job, tasks = job.sub_jobs[job.uid], agenda.pending[job.uid].tasks_of[job.uid]
    if agenda.failed.repeat(job, tasks):
        return False
    top, journal = session.domains.top, session.nodes.journal
    before, in_line = journal.version, tuple(tasks)
    with session.statement() as statement:
        is_placed = place_as_nominated(session, statement, job, sub_job, tasks, bound=top)
        if is_placed or Placer(session, job, sub_job, top, arguments).place(statement, tasks):
            if session.is_ready(job):
                statement.commit()
                return bool(tasks)
            leave_pipelined(statement, arguments)
            return False
        if arguments.on_unready == "hold":
            statement.hold()
            return False
        placed = len(statement)
    journal.back_to(before)
    agenda.failed.remember(job, in_line, placed)
    return False


def leave_pipelined(statement: Statement, arguments: AllocateArguments) -> None:
    """The job will start once releases are done; what it was given is normally kept until then."""
    if arguments.on_pipelined == "keep":
        statement.hold()
    elif arguments.on_pipelined == "commit":
        statement.commit()


def place_in_domains(session: Session, job: Job, agenda: WaitingJobs, arguments: AllocateArguments) -> bool:
    """The same for a job that asks for network domains, or that has parts."""
    search = DomainSearch(session, job, arguments, asks_anew=arguments.job_score == "hypernodeOrder")
    with session.statement() as statement:
        found = search.place(statement, agenda.pending[job.uid])
        if found is None:
            return False
        domain, solution = found
        agenda.pending[job.uid] = solution.pending
        if session.is_ready(job):
            statement.commit()
            search.keep(domain, solution)
            return bool(solution.pending)
        leave_pipelined(statement, arguments)
    return False
