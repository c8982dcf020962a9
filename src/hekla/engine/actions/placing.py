"""Placing: the tasks of one sub-job, best first, on the nodes of one domain."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import NamedTuple, Protocol

from hekla.engine.framework.decisions import OpenGate
from hekla.engine.framework.finder import NodeFinder
from hekla.engine.framework.messages import ROOM_FOR_A_PART
from hekla.engine.framework.orders import OrderedTasks
from hekla.engine.framework.scoring import Choice
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.domains import TOP, Domain
from hekla.engine.model.diagnosis import Diagnosis, refused_everywhere
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.task import Task
from hekla.text import counted


class PlacingArguments(Protocol):
    """The part of allocate's arguments that placing goes by."""

    @property
    def error_cache(self) -> bool: ...

    @property
    def opens_gates(self) -> bool: ...


class NodesFound(NamedTuple):
    """Equal tasks and the node of each; it has room now, or will have it once releases are done."""

    tasks: list[Task]
    rows: list[int]
    has_room: bool


class Placer:
    """Lives for one attempt: nodes that refused a task are remembered for others of its role."""

    def __init__(
        self, session: Session, job: Job, sub_job: SubJob, domain: Domain, arguments: PlacingArguments
    ) -> None:
        self._session = session
        self._job = job
        self._sub_job = sub_job
        self._domain = domain
        self._finder = NodeFinder(session, arguments.error_cache)
        self._opens_gates = arguments.opens_gates
        self._near = sub_job.domain

    def place(self, statement: Statement, tasks: OrderedTasks) -> bool:
        """Place tasks until the sub-job may start or there is no point in going on.

        True where it may start now, or once releases are done; otherwise the caller gives it all back.
        """
        session, job, sub_job = self._session, self._job, self._sub_job
        if self._try_tasks(statement, tasks) or session.sub_job_is_pipelined(job, sub_job):
            return True
        if statement.operations:
            domain = "" if self._domain.name == TOP else self._domain.name
            session.trace.of_job(job.uid, partial_fit(len(statement), sub_job.roster.minimum, domain))
        return False

    def _try_tasks(self, statement: Statement, tasks: OrderedTasks) -> bool:
        """Whether the sub-job may start now, with as many of them as it takes."""
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
            found = self._find(task, tasks)
            if found is None:
                if not job.may_continue(self._sub_job):
                    break
            elif self._take(statement, found, tasks) and session.sub_job_is_ready(job, self._sub_job):
                return True
        return session.sub_job_is_ready(job, self._sub_job)

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

    def _find(self, task: Task, tasks: OrderedTasks) -> NodesFound | None:
        """Nodes for the task and for equal ones that follow; None, and the reasons kept, if there is none."""
        session, nodes = self._session, self._domain.nodes
        objection = session.objection_to(task)
        if objection is not None:
            session.refuse(task, refused_everywhere(objection, len(session.nodes)))
            return None
        count = self._how_many(task, tasks)
        if count > 1 and (rows := self._finder.find_run(task, nodes, count)):
            return NodesFound([task, *[tasks.popleft() for _ in rows[1:]]], rows, has_room=True)
        choice = self._choose(task)
        if choice is not None:
            return NodesFound([task], [choice.row], choice.has_room)
        hypernode = "" if self._domain.name == TOP else self._domain.name
        session.refuse(task, session.scoring.diagnose(task, nodes, with_room=True, hypernode=hypernode))
        return None

    def _how_many(self, task: Task, tasks: OrderedTasks) -> int:
        """How many equal tasks, this one included, may be placed before any plugin has to be asked again.

        Below its minimum the job cannot start, so whether it can is asked when that is reached.
        """
        session, job, missing = self._session, self._job, self._sub_job.roster.missing
        if missing < 2 or not session.runs_are_foreseeable or job.has_policies or job.has_topology:
            return 1
        if not isinstance(tasks, deque) or not is_plain(task) or not session.scoring.is_foreseeable(task):
            return 1
        key_of = session.scoring.key_of
        key, count = key_of(task), 1
        for other in islice(tasks, missing - 1):
            if other.role != task.role or not is_plain(other) or key_of(other) != key:
                break
            count += 1
        return session.headroom(session.queues[job.queue], task, count) if count > 1 else 1

    def _take(self, statement: Statement, found: NodesFound, tasks: OrderedTasks) -> bool:
        """Give each task its node; False where a plugin objected to one of them."""
        (task, *others), row = found.tasks, found.rows[0]
        if others:
            placed = statement.allocate_all(found.tasks, found.rows)
            if isinstance(tasks, deque):
                tasks.extendleft(reversed(found.tasks[placed + 1 :]))
            return placed == len(found.tasks)
        is_placed = statement.allocate(task, row) if found.has_room else statement.pipeline(task, row)
        if is_placed:
            self._move_towards(row)
        return is_placed

    def _choose(self, task: Task) -> Choice | None:
        """The node that the task was nominated for if that is to be had, else the best one."""
        nominated = self._finder.nominated_node(task, self._domain.nodes)
        choice = None if nominated is None else self._best(task, nominated)
        return self._best(task, self._domain.nodes) if choice is None else choice

    def _best(self, task: Task, among: Mask) -> Choice | None:
        feasible = self._finder.find(task, among, self._session.scoring.feasible_nodes(task))
        if self._sub_job.topology is not None and feasible.any():
            task.near = self._near
        return self._session.scoring.choose(task, feasible)

    def _move_towards(self, row: int) -> None:
        """The sub-job now lies in the lowest domain that contains all it has."""
        domains = self._session.domains
        if self._sub_job.topology is not None and (closest := domains.closest[row]):
            self._near = domains.common(closest, self._near)


def partial_fit(placed: int, minimum: int, domain: str = "") -> str:
    """What is told of a gang of which only a part found room, in a domain or in the whole cluster."""
    where = f'domain "{domain}" has ' if domain else ""
    return f"{where}{ROOM_FOR_A_PART} {placed} of the {counted(minimum, 'task')} that start together"


def is_plain(task: Task) -> bool:
    """Nothing holds the task back, and it was nominated for no node."""
    return not task.is_gated and not task.pod.status.nominated_node_name
