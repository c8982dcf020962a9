"""Placing: one task after another on the nodes of one domain, as allocate does it."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from hekla.engine.actions.batch import Batch, plan
from hekla.engine.framework.decisions import OpenGate
from hekla.engine.framework.finder import NodeFinder
from hekla.engine.framework.orders import TaskLine
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.framework.task_class import TaskClass
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.domains import TOP, Domain
from hekla.engine.model.diagnosis import Diagnosis, refused_everywhere
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.task import Task

WORTH_PLANNING = 17
"""Fewer tasks than this are placed sooner one by one."""


class PlacingWishes(Protocol):
    """The part of allocate's arguments that placing goes by."""

    @property
    def error_cache(self) -> bool: ...

    @property
    def opens_gates(self) -> bool: ...


class Choice(NamedTuple):
    """The node to take, and whether it has room now or will have it once releases are done."""

    row: int
    has_room: bool


class Run:
    """Tasks in a row that look alike: after each placement just the nodes that it changed are put right.

    Gives the same nodes as looking at all of them again would; None where that is needed after all.
    """

    def __init__(self, session: Session, task: Task, known: TaskClass, feasible: Mask, finder: NodeFinder):
        self._session = session
        self._role = task.role
        self._key = session.fitting.key_of(task)
        self._known = known
        self._finder = finder
        self._feasible = feasible
        self._seen = len(session.nodes.changed)
        self._basis = known.steady_scores
        self._among: Mask | None = None
        self._scores = self._basis

    def continues_with(self, task: Task) -> bool:
        return (
            task.role == self._role
            and not task.pod.status.nominated_node_name
            and self._session.fitting.key_of(task) == self._key
        )

    def length(self, tasks: deque[Task], most: int) -> int:
        """How many of the tasks that come next continue the run, up to so many."""
        others = (
            at
            for at, task in enumerate(islice(tasks, most))
            if task.is_gated or not self.continues_with(task)
        )
        return next(others, min(most, len(tasks)))

    def best(self, task: Task) -> int | None:
        """The node for the next task."""
        changed = self._session.nodes.changed
        rows, self._seen = set(changed[self._seen :]), len(changed)
        known = self._known.refresh()
        if self._among is None:
            self._among = self._feasible & known.fits_now
            self._scores = np.where(self._among, known.steady_scores, -np.inf)
        for row in rows:
            self._put_right(task, known, self._among, row)
        if not known.has_steady_scores(task, self._among) or known.steady_scores is not self._basis:
            return None
        best = int(self._scores.argmax())
        return best if self._among[best] else None

    def _put_right(self, task: Task, known: TaskClass, among: Mask, row: int) -> None:
        if not self._feasible[row]:
            return
        # Room now is not enough where more of it is promised to others than is being released.
        passes = bool(known.is_open[row] and known.fits_later[row])
        among[row] = is_candidate = passes and bool(known.fits_now[row])
        self._scores[row] = known.steady_scores[row] if is_candidate else -np.inf
        if not passes:
            self._finder.refuse(task, row)

    def next_ones(self, count: int) -> Batch:
        """The nodes for so many tasks at once."""
        among = self._feasible & self._known.fits_now if self._among is None else self._among
        return plan(self._known, among, count)


def torn_words(placed: int, minimum: int) -> str:
    """What is told of a gang of which only a part found room."""
    return f"gang not complete: {placed} tasks found a place, {minimum} are needed together"


def is_plain(task: Task) -> bool:
    """Nothing holds the task back, and it was promised no node."""
    return not task.is_gated and not task.pod.status.nominated_node_name


class Placer:
    """Places tasks of one sub-job inside one domain; what nodes refused is remembered while it lives."""

    def __init__(
        self, session: Session, job: Job, sub_job: SubJob, domain: Domain, wishes: PlacingWishes
    ) -> None:
        self._session = session
        self._job = job
        self._sub_job = sub_job
        self._domain = domain
        self._finder = NodeFinder(session, wishes.error_cache)
        self._opens_gates = wishes.opens_gates
        self._near = sub_job.domain
        self._run: Run | None = None

    def place(self, statement: Statement, tasks: TaskLine) -> bool:
        """Place tasks, best first, until the sub-job may start or there is no point in going on.

        True where it may start now, or once releases are done; otherwise the caller gives it all back.
        """
        session, job, sub_job = self._session, self._job, self._sub_job
        self._try_tasks(statement, tasks)
        if session.sub_job_is_ready(job, sub_job) or session.sub_job_is_pipelined(job, sub_job):
            return True
        if statement.operations:
            words = torn_words(len(statement), sub_job.roster.minimum)
            session.story.of_job(job.uid, f"{words}{self._where()}")
        return False

    def _try_tasks(self, statement: Statement, tasks: TaskLine) -> None:
        session, job = self._session, self._job
        queue = session.queues[job.queue]
        while tasks:
            task = tasks.popleft()
            if not session.is_allocatable(queue, task):
                continue
            if task.is_gated:
                self._open_gate(task)
                continue
            if self._is_skipped(task):
                continue
            choice = self._find_node(task)
            if choice is None:
                if not job.may_continue(self._sub_job):
                    return
            elif self._assign(statement, task, choice, tasks):
                self._move_towards(choice.row)
                if session.sub_job_is_ready(job, self._sub_job):
                    return

    def _assign(self, statement: Statement, task: Task, choice: Choice, tasks: TaskLine) -> bool:
        """Give the task its node, and those after it theirs where that can be foreseen."""
        run = self._run
        if run is not None and choice.has_room and isinstance(tasks, deque):
            count = self._how_many(run, task, tasks)
            if count > 1:
                return self._assign_all(statement, task, run.next_ones(count), tasks)
        return assign(statement, task, choice)

    def _assign_all(self, statement: Statement, task: Task, batch: Batch, tasks: deque[Task]) -> bool:
        """The same for the task and those that come next; False where a plugin objected to one of them."""
        chosen = [task, *(tasks.popleft() for _ in batch.rows[1:])]
        placed = statement.allocate_all(chosen, batch.rows)
        tasks.extendleft(reversed(chosen[placed + 1 :]))
        # Whether a node lets in more of them is found out by the next task: after the last there is none.
        for row, closes in zip(batch.rows[: min(placed, len(chosen) - 1)], batch.closes, strict=False):
            if closes:
                self._finder.refuse(task, row)
        return placed == len(chosen)

    def _how_many(self, run: Run, task: Task, tasks: deque[Task]) -> int:
        """How many tasks, this one included, may be placed before anybody has to be asked again.

        Below its minimum the job cannot start, so whether it can is asked when that is reached.
        """
        session, job, missing = self._session, self._job, self._sub_job.roster.missing
        if missing < WORTH_PLANNING or not session.foresees or job.has_policies:
            return 1
        count = 1 + run.length(tasks, missing - 1)
        if count < WORTH_PLANNING:
            return 1
        return session.headroom(session.queues[job.queue], task, count)

    def _open_gate(self, task: Task) -> None:
        """The queue has room for the task: it may be placed from the next cycle on."""
        gate = OpenGate(task.key, task.uid)
        # A job may be tried in several domains; its gates are opened once.
        if self._opens_gates and task.opens_queue_gate and gate not in self._session.decisions:
            self._session.decisions.append(gate)

    def _is_skipped(self, task: Task) -> bool:
        """Tasks of one role are alike: where one found no node, the next is not tried."""
        job = self._job
        if not task.role or not job.fit_errors or task.role not in job.failed_roles(self._sub_job):
            return False
        summary = f'a task of role "{task.role}" found no node before, so this one is skipped'
        job.fit_errors[task.uid] = Diagnosis(0, summary=summary)
        return True

    def _find_node(self, task: Task) -> Choice | None:
        """The node to take; None, and the reasons kept, where there is none."""
        session, nodes = self._session, self._domain.nodes
        objection = session.objection_to(task)
        if objection is not None:
            session.refuse(task, refused_everywhere(objection.reason, len(session.nodes), objection.code))
            return None
        if self._run is not None and self._run.continues_with(task):
            row = self._run.best(task)
            if row is not None:
                return Choice(row, has_room=True)
        self._run = None
        is_everywhere = self._domain.name == TOP
        if is_everywhere and (diagnosis := session.fitting.why_hopeless(task)) is not None:
            session.refuse(task, diagnosis)
            return None
        row = self._best_in_the_standings(task)
        if row is not None:
            return Choice(row, has_room=True)
        known = session.fitting.class_of(task)
        passes = session.fitting.narrowed(task, known.is_open)
        passes &= known.fits_later
        nominated = self._finder.among_nominated(task, nodes, passes)
        feasible = self._finder.find(task, nodes, passes) if nominated is None else nominated
        if self._sub_job.topology is not None and feasible.any():
            task.near = self._near
        choice = choose(session, task, known, feasible)
        if choice is None:
            hypernode = "" if is_everywhere else self._domain.name
            diagnosis = session.fitting.diagnose(task, nodes, with_room=True, hypernode=hypernode)
            session.refuse(task, diagnosis)
            if is_everywhere and not passes.any():
                session.fitting.found_none(task, diagnosis)
        elif choice.has_room and nominated is None and self._starts_a_run(task, known, feasible):
            self._run = Run(session, task, known, feasible, self._finder)
        return choice

    def _best_in_the_standings(self, task: Task) -> int | None:
        """The node for a task of which few like it follow, where that can be told without looking further."""
        if (
            self._sub_job.roster.missing >= WORTH_PLANNING
            or self._domain.name != TOP
            or self._sub_job.topology is not None
            or not is_plain(task)
        ):
            return None
        row = self._session.fitting.best_with_room(task)
        return row if row is not None and self._finder.note(task, row, self._domain.nodes) else None

    def _starts_a_run(self, task: Task, known: TaskClass, feasible: Mask) -> bool:
        """Whether more tasks follow, and a placement changes the score of one node alone.

        Closeness moves with every task.
        """
        return (
            self._sub_job.roster.missing > 1
            and self._sub_job.topology is None
            and self._session.fitting.is_steady()
            and known.has_steady_scores(task, feasible)
        )

    def _move_towards(self, row: int) -> None:
        """The sub-job now lies in the lowest domain that contains all it has."""
        domains = self._session.domains
        if self._sub_job.topology is not None and (closest := domains.closest[row]):
            self._near = domains.common(closest, self._near)

    def _where(self) -> str:
        return "" if self._domain.name == TOP else f' in domain "{self._domain.name}"'


def choose(session: Session, task: Task, known: TaskClass, feasible: Mask) -> Choice | None:
    """Room now beats room later; inside each, a soft shard's own nodes beat the others."""
    now = feasible & known.fits_now
    for group in session.by_shard(now):
        row = session.fitting.best(task, known, group)
        if row is not None:
            return Choice(row, has_room=True)
    for group in session.by_shard(feasible & ~now):
        row = session.fitting.best(task, known, group)
        if row is not None:
            return Choice(row, has_room=False)
    return None


def assign(statement: Statement, task: Task, choice: Choice) -> bool:
    if choice.has_room:
        return statement.allocate(task, choice.row)
    return statement.pipeline(task, choice.row)
