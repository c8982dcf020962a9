"""Session: one cycle's working copy of the cluster, and every question an action may ask of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, compress, groupby
from operator import attrgetter
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from hekla.clock import stopwatch
from hekla.conf import Conf
from hekla.engine.framework import points
from hekla.engine.framework.action import Action
from hekla.engine.framework.beneficiaries import Beneficiaries
from hekla.engine.framework.closing import Conditions
from hekla.engine.framework.decisions import Bind, Decision, Evict
from hekla.engine.framework.dispatch import NO_PLUGINS, Dispatch, Handler, Registrations
from hekla.engine.framework.messages import UNSCHEDULABLE, waits_for_admission
from hekla.engine.framework.plugin import Objection, Plugin, Resolve
from hekla.engine.framework.points import AnyPoint, Point, Purpose
from hekla.engine.framework.rules import united_victims, victims_of_all
from hekla.engine.framework.scoring import Scoring
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, Shortcuts
from hekla.engine.framework.statement import Statement
from hekla.engine.framework.topology import settle_topology
from hekla.engine.framework.trace import CycleTrace, NullTrace
from hekla.engine.ledger.arrays import Amounts, Floats, Mask
from hekla.engine.ledger.axis import Axis
from hekla.engine.ledger.demand import QueueSums
from hekla.engine.ledger.domains import Domain, Domains
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.model.diagnosis import Diagnosis
from hekla.engine.model.job import INQUEUE, Job, SubJob
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.state.attention import NOTHING_WAITS, Attention, WaitingRules
from hekla.engine.state.index import TaskIndex
from hekla.engine.state.snapshot import Snapshot
from hekla.lazy import lazy

Q = ParamSpec("Q")
A = TypeVar("A")
R = TypeVar("R")
VictimPoint = Point[[Task, Sequence[Task]], Sequence[Task] | None, list[Task]]


NO_ANSWERS = Dispatch(NO_PLUGINS, ())
"""Until a session has taken plugins in, no question has an answer."""
IN_ORDER_OF_ARRIVAL = attrgetter("number")

RENAMED = {"fitting": "scoring", "settled": "queue_sums", "quiescent": "queue_sums", "story": "trace"}
"""What plugins and actions of before 0.1 may still ask for."""


class Session:
    """Facts at the top, questions in the middle, changes at the bottom."""

    def __init__(
        self,
        snapshot: Snapshot,
        conf: Conf,
        *,
        now: float = 0.0,
        uid: str = "cycle-1",
        memory: dict[str, float] | None = None,
        shortcuts: Shortcuts = EVERY_SHORTCUT,
        is_quiet: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self.conf = conf
        self.now = now
        self.uid = uid
        self.shortcuts = shortcuts
        self.is_quiet = is_quiet
        """Why pods wait and what queues hold is not read: that is left out, what becomes of pods is not."""
        self.memory: dict[str, float] = {} if memory is None else memory
        """What plugins remember from cycle to cycle, such as when they last evicted; empty at first."""
        snapshot.state.lend(conf)
        self.attention: Attention = snapshot.state.attention
        """Which jobs are active, which at rest, and which wait until something changes for them."""
        self.jobs: dict[str, Job] = snapshot.jobs
        self.queues: dict[str, QueueInfo] = snapshot.queues
        self.tasks: TaskIndex = snapshot.tasks
        self.queue_sums: Mapping[str, QueueSums] = self.attention.queue_sums
        """By queue, what its jobs held and asked for when the session opened."""
        self.axis: Axis = snapshot.state.axis
        self.nodes: NodeLedger = snapshot.state.nodes
        self.pods: PodLedger = snapshot.state.pods
        self.total: Amounts = self.nodes.total
        self.version_at_open = self.nodes.journal.version
        """That of the nodes' journal before anything was placed."""
        self.trace = NullTrace() if is_quiet else CycleTrace(self.attention.last_notes)
        self.conditions = Conditions(uid, now)
        self.not_admitted: dict[str, str] = {}
        """By UID why jobs were refused admission; in quiet sessions that is not kept."""
        self.decisions: list[Decision] = []
        self.beneficiaries: Beneficiaries | None = None
        """The jobs for which pods were evicted; None where they are not heeded, as in Volcano."""
        self.plugins: list[Plugin] = []
        self.opening: dict[str, float] = {}
        """How long each plugin took to open, in seconds."""
        self.closing: dict[str, float] = {}
        self.domains = Domains(self.nodes, snapshot.state.domain_tree())
        unsettled = settle_topology(self.active_jobs(), self.domains)
        snapshot.complaints += [*self.domains.complaints, *self.domains.warnings, *unsettled]
        self.own_shard = self._own_shard()
        self.registrations, self.dispatch = NO_PLUGINS, NO_ANSWERS
        self._listeners: list[Plugin] = []
        self._on_allocate_all: list[Callable[[Sequence[Task]], None]] = []
        self._on_release: list[Callable[[Task], None]] = []
        self.no_plugin_objects = True
        """Whether every plugin accepts whatever is placed: those that hear of many tasks at once do."""
        self.scoring = Scoring(self)
        self._job_keys: dict[str, tuple[int, tuple[Any, ...]]] = {}

    def __getattr__(self, name: str) -> NoReturn:
        new = RENAMED.get(name)
        hint = f"; it is session.{new} now" if new else ""
        raise AttributeError(f"session has no {name}{hint}")

    def active_jobs(self) -> list[Job]:
        """The jobs that a cycle has to look at, in order of arrival; all others are at rest, or wait."""
        return sorted(self.attention.active.values(), key=IN_ORDER_OF_ARRIVAL)

    def changed_jobs(self) -> list[Job]:
        """The jobs of which there may be news: the active ones, and those at rest that lose tasks."""
        jobs = {**self.attention.active, **self.attention.in_line}
        return sorted(jobs.values(), key=IN_ORDER_OF_ARRIVAL)

    def _own_shard(self) -> Mask | None:
        shard = self.snapshot.shard
        if shard.mode == "none":
            return None
        return np.array([name in shard.nodes for name in self.nodes.names], dtype=np.bool_)

    @property
    def hard_shard(self) -> Mask | None:
        """The nodes that may be used at all, where the shard is hard."""
        return self.own_shard if self.snapshot.shard.mode == "hard" else None

    def by_shard(self, among: Mask) -> tuple[Mask, ...]:
        """The nodes in order of preference: with a soft shard its own before the others."""
        if self.snapshot.shard.mode != "soft" or self.own_shard is None:
            return (among,)
        return (among & self.own_shard, among & ~self.own_shard)

    def dissolve(self) -> None:
        """The session is not looked at any more: let go of everything, so that no circle keeps it."""
        for part in (*self.plugins, self.scoring, self):
            vars(part).clear()

    # Plugins

    def take_in(
        self, plugins: Sequence[Plugin], registrations: Registrations, actions: Sequence[Action] = ()
    ) -> None:
        """The plugins, one for each registration; each may now open. The actions are those to come."""
        self.opening = dict.fromkeys(registrations.names, 0.0)
        self.closing = dict.fromkeys(registrations.names, 0.0)
        began = stopwatch()
        for plugin, opens in zip(plugins, registrations.opens, strict=True):
            self.plugins.append(plugin)
            if opens:
                plugin.on_open()
                ended = stopwatch()
                self.opening[plugin.name], began = ended - began, ended
        self.registrations, self.dispatch = registrations, Dispatch(registrations, plugins)
        self._listen()
        self.pods.is_kept = registrations.keeps_pods
        self.attention.follow_rules(self._waiting_rules(actions))

    def _listen(self) -> None:
        """From now on plugins hear of what is placed and released: not before all of them are open."""
        plugins, told = self.plugins, self.registrations
        self._listeners = [plugins[at] for at in told.told_of_one]
        self._on_allocate_all = [
            plugins[at].on_allocate_all for at in told.told_of_many if not plugins[at].may_object
        ]
        self._on_release = [plugins[at].on_release for at in told.told_of_releases]
        self.no_plugin_objects = len(self._on_allocate_all) == len(self._listeners)

    def answers_to(self, point: Point[Q, A, Any]) -> list[Callable[Q, A]]:
        """What the plugins have to say, one after another, whatever their tier."""
        return self.dispatch.answers(point)

    def ask(self, point: Point[Q, Any, R], *question: Q.args, **named: Q.kwargs) -> R:
        """The combined answer of all plugins."""
        return self.dispatch[point](*question, **named)

    def has_answer(self, point: AnyPoint) -> bool:
        return bool(self.dispatch.who.declared(point))

    @lazy
    def queue_keys(self) -> list[Callable[[QueueInfo], Any]] | None:
        """What queues are ordered by, where all who have a say can tell it as keys."""
        if not self.dispatch.who.tells_queue_keys:
            return None
        asked = self.dispatch.handlers(points.QUEUE_ORDER)
        return [getattr(one.plugin, one.answer.__dict__["as_key"]) for one in asked]

    def queue_key(self, queue: QueueInfo) -> tuple[Any, ...]:
        """What they come to; no two queues are equal."""
        return (*[key(queue) for key in self.queue_keys or ()], queue.created, queue.name)

    def job_key(self, job: Job) -> tuple[Any, ...]:
        """What jobs are ordered by; kept until a task of the job moves, where plugins agree to that."""
        known = self._job_keys.get(job.uid)
        if known is None or known[0] != job.roster.moves or self.dispatch.who.has_moving_job_order:
            key = (*[answer(job) for answer in self._job_order], job.created, job.uid)
            known = self._job_keys[job.uid] = (job.roster.moves, key)
        return known[1]

    def job_order(self, job: Job) -> tuple[Any, ...]:
        """What plugins order jobs by; equal for jobs that none of them tells apart."""
        return self.job_key(job)[:-2]

    @lazy
    def _job_order(self) -> list[Callable[[Job], Any]]:
        return self.answers_to(points.JOB_ORDER)

    @property
    def has_moving_task_order(self) -> bool:
        return self.registrations.has_moving_task_order

    @lazy
    def runs_are_foreseeable(self) -> bool:
        """Whether gangs get all or nothing, and queues tell beforehand how many equal tasks they may take."""
        return (
            self.shortcuts.runs and self.dispatch.who.requires_minimums and self.dispatch.who.tells_headroom
        )

    @lazy
    def all_jobs(self) -> list[Job]:
        """Every job, in order of their UIDs."""
        return [job for _, job in sorted(self.jobs.items())]

    def jobs_in_line(self) -> list[Job]:
        """The jobs that an action may find something to do for, in order of their UIDs."""
        if not self.shortcuts.unchanged_jobs:
            return self.all_jobs
        in_line = self.attention.in_line
        return [*map(in_line.__getitem__, sorted(in_line))]

    def _waiting_rules(self, actions: Sequence[Action]) -> WaitingRules:
        """Which jobs these actions may leave alone as long as they wait; why they wait is not told."""
        who = self.dispatch.who
        if not actions or not self.shortcuts.unchanged_jobs or who.has_moving_job_order:
            return NOTHING_WAITS
        rules = WaitingRules(
            ordered_by=who,
            for_admission=who.admits_by_kind and who.tells_admission_room,
            admits_all=who.admits_all,
            for_room=who.requires_minimums and places_what_it_admits(self.conf.actions),
            once_told=not self.is_quiet,
        )
        for action in actions:
            rules = action.leaves_waiting(rules)
        return rules

    def admit(self, job: Job) -> None:
        """Let the job in: from now on its tasks may be placed."""
        self.dispatch[points.JOB_ENQUEUED](job)
        job.phase = INQUEUE
        self.conditions.withdraw(job, UNSCHEDULABLE)
        if job.uid not in self.attention.active:
            self.look_at(job)

    def look_at(self, job: Job) -> None:
        """The job does not wait unseen any longer; what was said of it before is no news."""
        self.attention.activate(job)
        self.trace.jobs.pop(job.uid, None)

    def refuse_admission(self, job: Job, like: Job | None = None) -> None:
        """Remember that a plugin voted against the job, or against one like it; most say why themselves."""
        if self.is_quiet:
            return
        if like is not None:
            self.trace.repeat(like.uid, job.uid)
            self.not_admitted[job.uid] = self.not_admitted[like.uid]
            return
        if job.uid not in self.trace.jobs:
            self.trace.of_job(job.uid, "a plugin voted against it and did not say why")
        words = "; ".join(self.trace.said_of(job.uid))
        self.not_admitted[job.uid] = f"{waits_for_admission(job)}: {words}"

    # Questions about jobs and queues

    def is_valid(self, job: Job) -> bool:
        objection = self.dispatch[points.JOB_VALID](job)
        if objection is not None:
            self.trace.of_job(job.uid, objection.message or objection.reason)
        return objection is None

    def is_eligible(self, job: Job) -> bool:
        """Admitted, and able to be scheduled at all."""
        return not job.is_pending and job.queue in self.queues and self.is_valid(job)

    def is_ready(self, job: Job) -> bool:
        return self.dispatch[points.JOB_READY](job)

    def is_pipelined(self, job: Job) -> bool:
        return self.dispatch[points.JOB_PIPELINED](job)

    def is_starving(self, job: Job) -> bool:
        return self.dispatch[points.JOB_STARVING](job)

    def may_evict_for(self, job: Job) -> bool:
        """Whether further pods may be evicted for the job."""
        return self.beneficiaries is None or self.beneficiaries.may_evict_for(job)

    @property
    def wake_at(self) -> float:
        """When a later session may decide differently although nothing happens until then."""
        reserved = math.inf if self.beneficiaries is None else self.beneficiaries.wake_at
        return min([reserved, *[self.plugins[at].wake_at() for at in self.registrations.waking]])

    def sub_job_is_ready(self, job: Job, sub_job: SubJob) -> bool:
        if not job.has_policies:
            return self.is_ready(job)
        return self.dispatch[points.SUB_JOB_READY](job, sub_job)

    def sub_job_is_pipelined(self, job: Job, sub_job: SubJob) -> bool:
        if not job.has_policies:
            return self.is_pipelined(job)
        return self.dispatch[points.SUB_JOB_PIPELINED](job, sub_job)

    def is_enqueueable(self, job: Job) -> bool:
        return self.dispatch[points.JOB_ENQUEUEABLE](job)

    def admission_room(self, queue: QueueInfo) -> Floats | None:
        """How much a job to be admitted to the queue may ask for; None where nothing limits that."""
        return self.dispatch[points.ADMISSION_ROOM](queue)

    def is_overused(self, queue: QueueInfo) -> bool:
        return self.dispatch[points.OVERUSED](queue)

    def is_allocatable(self, queue: QueueInfo, task: Task) -> bool:
        return self.dispatch[points.ALLOCATABLE](queue, task)

    def headroom(self, queue: QueueInfo, task: Task, count: int) -> int:
        """How many of so many tasks like this the queue may take, one after another."""
        return min(count, self.dispatch[points.HEADROOM](queue, task, count))

    def is_preemptive(self, queue: QueueInfo, tasks: list[Task]) -> bool:
        return self.dispatch[points.PREEMPTIVE](queue, tasks)

    def objection_to(self, task: Task) -> Objection | None:
        """Why the task can run nowhere, whatever the node."""
        return self.dispatch[points.PRE_PREDICATE](task)

    def preemptable(self, task: Task, candidates: list[Task], *, by_all: bool = False) -> list[Task]:
        """The candidates that plugins let go for the task: by tiers, or where all of them must agree."""
        return self._victims(points.PREEMPTABLE, task, candidates, by_all=by_all)

    def reclaimable(self, task: Task, candidates: list[Task], *, by_all: bool = False) -> list[Task]:
        """The same across queues."""
        return self._victims(points.RECLAIMABLE, task, candidates, by_all=by_all)

    def _victims(self, point: VictimPoint, task: Task, candidates: list[Task], *, by_all: bool) -> list[Task]:
        if not by_all:
            return self.dispatch[point](task, candidates)
        return victims_of_all(self.dispatch.answers_by_tier(point))(task, candidates)

    def most_victims(self, point: VictimPoint, task: Task, candidates: list[Task]) -> list[list[Task]]:
        """What each tier could come to agree on at most, for tasks of this one's class.

        A tier in which one plugin firmly names no task agrees on none, and no tier agrees on more than
        its last plugin names. Queues may change places: what is said of each is asked for alone.
        """
        queues = [self.jobs[one.job].queue for one in candidates]
        by_queue = [list(compress(candidates, map(name.__eq__, queues))) for name in dict.fromkeys(queues)]
        named = [
            [most_named(handler, task, by_queue) for handler in tier] for tier in self.dispatch.tiers(point)
        ]
        return [of_tier[-1] for of_tier in named if of_tier and all(of_tier)]

    def tasks_to_move(self, running: list[Task]) -> list[tuple[Task, str]]:
        """The tasks that plugins would rather see elsewhere, each with the names of those plugins."""
        named_by: dict[str, list[str]] = {}

        def name(handler: Handler, candidates: Sequence[Task]) -> list[Task]:
            named: list[Task] = handler.answer(candidates) or []
            for task in named:
                named_by.setdefault(task.uid, []).append(handler.plugin.name)
            return named

        tiers = [[partial(name, one) for one in tier] for tier in self.dispatch.tiers(points.VICTIM_TASKS)]
        return [(task, ", ".join(named_by[task.uid])) for task in united_victims(tiers)(running)]

    def would_be_allocatable(self, queue: QueueInfo, task: Task) -> bool:
        """The same as `is_allocatable`, while tasks are supposed to be gone."""
        return self.dispatch[points.SIMULATE_ALLOCATABLE](queue, task)

    def would_suit(self, task: Task, row: int) -> bool:
        """Whether plugins have nothing against the node, while tasks are supposed to be gone."""
        return self.ask(points.SIMULATE_PREDICATE, task, row) is None

    def gradients_of_job(
        self, job: Job, bound: Domain, purpose: Purpose = Purpose.ALLOCATE
    ) -> list[list[Domain]]:
        """The network domains to try for a job, best group first; without an opinion, the bound."""
        given = self.dispatch[points.HYPERNODE_GRADIENT](job, None, bound, purpose)
        return [[bound]] if given is None else given

    def gradients_of_sub_job(
        self, job: Job, sub_job: SubJob, bound: Domain, purpose: Purpose = Purpose.ALLOCATE
    ) -> list[list[Domain]]:
        """The same for one sub-job."""
        given = self.dispatch[points.HYPERNODE_GRADIENT](job, sub_job, bound, purpose)
        return [[bound]] if given is None else given

    def domain_scores(self, sub_job: SubJob, candidates: list[Domain]) -> dict[str, float]:
        """How good each domain is for the sub-job."""
        given = self.dispatch[points.HYPERNODE_ORDER](sub_job, candidates)
        return {domain.name: given.get(domain.name, 0.0) for domain in candidates}

    def domain_scores_alone(self, sub_job: SubJob, candidates: Sequence[Domain]) -> Floats:
        """How good each domain is as the only candidate."""
        total = np.zeros(len(candidates))
        for plugin in self._who_answers(points.HYPERNODE_ORDER):
            given = plugin.scores_alone(sub_job, candidates)
            if given is None:
                asked = [self.domain_scores(sub_job, [domain])[domain.name] for domain in candidates]
                return np.array(asked, dtype=np.float64)
            total += given
        return total

    def compares_domains(self, sub_job: SubJob) -> bool:
        """Whether a domain's score may depend on which others are candidates."""
        return any(plugin.compares_domains(sub_job) for plugin in self._who_answers(points.HYPERNODE_ORDER))

    def only_choices(self, job: Job, sub_job: SubJob, bounds: Sequence[Domain], possible: Mask) -> Mask:
        """For each bound, whether of the possible domains below it there is just the bound to try."""
        plugins = self._who_answers(points.HYPERNODE_GRADIENT)
        given = plugins[0].only_choices(job, sub_job, bounds, possible) if len(plugins) == 1 else None
        if given is not None:
            return given
        gradients = [self.gradients_of_sub_job(job, sub_job, bound) for bound in bounds]
        choices = [[d for group in groups for d in group if possible[d.place]] for groups in gradients]
        return np.array([found == [bound] for found, bound in zip(choices, bounds, strict=True)], np.bool_)

    def _who_answers(self, point: AnyPoint) -> list[Plugin]:
        return [handler.plugin for handler in self.dispatch.handlers(point)]

    # Changes

    def statement(self) -> Statement:
        return Statement(self)

    def put(self, task: Task, row: int, status: Status) -> bool:
        """Place a task and tell the plugins; False, and nothing changed, where one of them objects."""
        self.jobs[task.job].move(task, status)
        self.nodes.place(task, row)
        said = [one.on_allocate(task) for one in self._listeners]
        if said.count(None) == len(said):
            objections = self.jobs[task.job].objections
            if objections:
                objections.pop(task.uid, None)
            return True
        self._note_objection(task, said)
        self.take_back(task)
        return False

    def _note_objection(self, task: Task, said: Sequence[str | None]) -> None:
        """Remember who would not have the task where it is, the first of them, and why."""
        who, text = next(
            (who.name, text) for who, text in zip(self._listeners, said, strict=True) if text is not None
        )
        diagnosis = Diagnosis(1, summary=f'plugin "{who}" objects to node "{task.node_name}": {text}')
        self.jobs[task.job].objections[task.uid] = diagnosis
        # What it nearly got before is no longer the latest that is known of it.
        task.last = None
        self.trace.refused(task.job, task.name, diagnosis)

    def put_all(self, tasks: Sequence[Task], rows: Sequence[int], status: Status) -> int:
        """Place tasks of one job that look alike; how many, up to the first that a plugin objects to."""
        if not self.no_plugin_objects:
            put = self.put
            placed = (put(task, row, status) for task, row in zip(tasks, rows, strict=True))
            return next((at for at, is_placed in enumerate(placed) if not is_placed), len(tasks))
        self.jobs[tasks[0].job].move_all(tasks, status)
        self.nodes.place_all(tasks, rows)
        for listen in self._on_allocate_all:
            listen(tasks)
        return len(tasks)

    def take_back(self, task: Task) -> None:
        """Undo a placement: the task is Pending and nowhere again."""
        job = self.jobs[task.job]
        for listen in self._on_release:
            listen(task)
        self.nodes.lift(task)
        task.near = ""
        job.move(task, Status.PENDING)

    def start_release(self, task: Task) -> None:
        """A running task is being evicted; it keeps its place until it is gone."""
        self.snapshot.state.released(task)
        self._set_status(task, Status.RELEASING)
        self.nodes.release(task)
        for listen in self._on_release:
            listen(task)

    def cancel_release(self, task: Task, before: Status) -> None:
        self._set_status(task, before)
        self.nodes.keep(task)
        for one in self._listeners:
            one.on_allocate(task)

    def _set_status(self, task: Task, status: Status) -> None:
        job = self.jobs.get(task.job)
        if job is None:
            task.status = status
        else:
            job.move(task, status)

    def bind(self, task: Task) -> None:
        """Send an allocated task to its node."""
        self.jobs[task.job].move(task, Status.BINDING)
        self.send((task,))

    def bind_all(self, tasks: Sequence[Task]) -> None:
        """The same for many."""
        for uid, of_job in groupby(tasks, key=attrgetter("job")):
            self.bind_together(self.jobs[uid], list(of_job))

    def bind_together(self, job: Job, tasks: Sequence[Task]) -> None:
        """The same for tasks of one job."""
        job.move_all(tasks, Status.BINDING)
        self.send(tasks)

    def send(self, tasks: Sequence[Task]) -> None:
        """Tell the cluster of tasks that are Binding; each forgets what it nearly got before."""
        for task in tasks:
            task.last = None
            self.decisions.append(Bind(task.key, task.uid, task.node_name, task.job))

    def allocate_at_once(self, task: Task, row: int) -> bool:
        """Place a task outside any statement; a job that is ready has all its placed tasks bound."""
        if not self.put(task, row, Status.ALLOCATED):
            return False
        job = self.jobs[task.job]
        if self.is_ready(job):
            self.bind_placed(job)
        return True

    def bind_placed(self, job: Job) -> None:
        """Send everything to its node that the job was given in this session."""
        self.bind_together(job, list(job.roster.having(Status.ALLOCATED).values()))

    def evict_at_once(self, task: Task, reason: str) -> None:
        """Evict a task outside any statement, for no job in particular."""
        self.decisions.append(Evict(task.key, task.uid, task.node_name, reason))
        self.start_release(task)

    def refuse(self, task: Task, diagnosis: Diagnosis) -> None:
        """Remember why a task found no node."""
        job = self.jobs[task.job]
        job.fit_errors[task.uid] = diagnosis
        job.objections.pop(task.uid, None)
        self.trace.refused(job.uid, task.name, diagnosis)

    def fingerprint(self) -> tuple[object, ...]:
        """Everything a statement may change, for comparing before and after."""
        arrays = (
            self.nodes.idle,
            self.nodes.used,
            self.nodes.releasing,
            self.nodes.pipelined,
            self.nodes.future,
            self.nodes.used_in_all,
            self.nodes.releasing_in_all,
        )
        pods = (self.pods.requested, self.pods.nonzero, self.pods.count)
        return (
            *(array.tobytes() for array in (*arrays, *pods)),
            tuple((task.uid, task.status, task.node) for task in self.tasks),
            tuple(tuple(sorted(tasks)) for tasks in self.nodes.tasks_on),
            tuple((uid, job.phase, job.roster.ready, job.roster.waiting) for uid, job in self.jobs.items()),
        )


def places_what_it_admits(actions: Sequence[str]) -> bool:
    """Whether jobs that a cycle admits have their turn in the same cycle."""
    return (
        "allocate" in actions
        and "enqueue" not in actions[len(actions) - [*actions][::-1].index("allocate") :]
    )


def most_named(handler: Handler, task: Task, by_queue: Sequence[list[Task]]) -> list[Task]:
    """The candidates that the plugin could come to let go: all where it promises nothing, or abstains."""
    every, resolve = [*chain.from_iterable(by_queue)], handler.plugin.resolve
    if resolve is Resolve.NONE:
        return every
    said = [handler.answer(task, some) for some in by_queue]
    if None in said:
        return every
    named = [*chain.from_iterable(said)]
    return every if named and resolve is Resolve.FIRM else named
