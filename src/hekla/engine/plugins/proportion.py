"""Proportion: divide the cluster between queues by weight, serving whoever is furthest below its part."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add

import numpy as np

from hekla.engine.framework.figures import QueueFigures, amounts_by_name
from hekla.engine.framework.plugin import Plugin, Resolve
from hekla.engine.framework.points import (
    ALLOCATABLE,
    HEADROOM,
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    OVERUSED,
    PREEMPTIVE,
    QUEUE_ORDER,
    RECLAIMABLE,
    SIMULATE_ALLOCATABLE,
    Scope,
    Vote,
    answers,
    as_key,
)
from hekla.engine.ledger.arrays import Amounts, Floats
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN, Axis
from hekla.engine.ledger.demand import elastic, less_gated, minimum_of, sum_of, waiting_demand
from hekla.engine.model.job import Job
from hekla.engine.model.queue import Queue
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task, wanted_of
from hekla.engine.plugins.demand import how_many, largest_part, short_of, within
from hekla.engine.plugins.queue_limits import UNLIMITED, beside_guarantees, capability_of
from hekla.engine.state.attention import Sums
from hekla.engine.state.live import LiveState

SMALLEST = 0.1
"""Less than this of anything is nothing: Volcano's tolerance where amounts were scaled."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """What a queue's own words and those of the others leave it, each (R,)."""

    guarantee: Amounts
    capability: Floats
    limit: Floats
    """The most it may hold: what others are not guaranteed, capped by its capability."""
    ceiling: list[float]
    """The most that dividing gives it, in plain numbers."""
    floor: list[float]
    """The least."""


@dataclass(eq=False)
class Account:
    """One queue's numbers, each (R,); plain ones where they are asked for at every turn."""

    queue: Queue
    bounds: Bounds
    held: list[int]
    request: Amounts
    inqueue: Amounts
    elastic: Amounts
    deserved: list[float] = field(default_factory=list)
    _most: list[float] = field(default_factory=list)
    _share: float | None = None

    def grant(self, deserved: list[float]) -> None:
        """The queue deserves so much."""
        self.deserved = deserved
        self._most = [most if most >= SMALLEST else math.inf for most in deserved]
        self._share = None

    def hold(self, amounts: Sequence[int]) -> None:
        """The queue holds so much more."""
        self.held = list(map(add, self.held, amounts))
        self._share = None

    @property
    def share(self) -> float:
        """The largest part of anything it deserves that the queue holds; worked out when asked for."""
        if self._share is None:
            self._share = largest_part(self.held, self._most)
        return self._share

    @property
    def allocated(self) -> Amounts:
        """What it holds, as an array."""
        return np.array(self.held, dtype=np.int64)

    @property
    def is_overused(self) -> bool:
        """Whether it has all it deserves."""
        return not_above(self.deserved, self.held)


def bounds_of_queues(state: LiveState) -> dict[str, Bounds]:
    axis = state.axis
    guarantees = {name: axis.vector(queue.guarantee) for name, queue in state.queues.items()}
    guaranteed = sum(guarantees.values(), np.zeros(len(axis), dtype=np.int64))
    return {
        name: bounds_of(queue, guarantees[name], guaranteed, state.nodes.total, axis)
        for name, queue in state.queues.items()
    }


def bounds_of(queue: Queue, guarantee: Amounts, guaranteed: Amounts, total: Amounts, axis: Axis) -> Bounds:
    limit = beside_guarantees(total, guaranteed, guarantee)
    capability = capability_of(axis.vector(queue.capability), axis.named(queue.capability))
    if queue.capability:
        limit = np.minimum(limit, capability)
    # As in Volcano, a device that others are guaranteed to the last is not limited when dividing:
    # the limit has forgotten it. It still is when jobs are admitted.
    is_limited = total > guaranteed
    if queue.guarantee:
        is_limited |= axis.named(queue.guarantee)
    is_limited[[CPU_COLUMN, MEMORY_COLUMN]] = True
    ceiling: list[float] = np.where(is_limited, limit, UNLIMITED).tolist()
    return Bounds(guarantee, capability, limit, ceiling, floor=guarantee.astype(np.float64).tolist())


def open_account(queue: Queue, bounds: Bounds, quiescent: Sums) -> Account:
    return Account(
        queue,
        bounds,
        held=quiescent.held.tolist(),
        request=quiescent.held + quiescent.pending,
        inqueue=quiescent.waiting.copy(),
        elastic=quiescent.elastic.copy(),
    )


class Proportion(Plugin):
    """Accounts of the queues that have jobs; pipelined tasks count as allocated, evicted ones do not."""

    name = "proportion"
    resolve = Resolve.HARDENING

    def on_open(self) -> None:
        session = self.session
        self.pods = session.axis.pods
        bounds, active = session.snapshot.state.derived(bounds_of_queues), session.active_jobs()
        names = dict.fromkeys((*session.quiescent.of_queue, *(job.queue for job in active)))
        nothing = Sums.nothing(len(session.axis))
        self.accounts = {
            name: open_account(
                session.queues[name], bounds[name], session.quiescent.of_queue.get(name, nothing)
            )
            for name in names
        }
        for job in active:
            self._book(job)
        divide(list(self.accounts.values()), session.total, self.pods)

    def _book(self, job: Job) -> None:
        account = self.accounts[job.queue]
        if any(job.held.tolist()):
            account.hold(job.held.tolist())
            account.request += job.held
            account.elastic += elastic(self.session, job)
        account.request += sum_of(
            job.roster.having(Status.PENDING).values(), np.zeros(len(job.held), dtype=np.int64)
        )
        waiting = waiting_demand(self.session, job)
        if waiting is not None:
            account.inqueue += waiting

    @answers(QUEUE_ORDER)
    def furthest_below_its_part_first(self, left: Queue, right: Queue) -> float:
        if left.priority != right.priority:
            return right.priority - left.priority
        mine, theirs = self.accounts[left.name].share, self.accounts[right.name].share
        return (mine > theirs) - (mine < theirs)

    @as_key(furthest_below_its_part_first)
    def part_it_holds(self, queue: Queue) -> tuple[int, float]:
        return -queue.priority, self.accounts[queue.name].share

    @answers(OVERUSED)
    def has_all_it_deserves(self, queue: Queue) -> bool:
        account = self.accounts[queue.name]
        if not account.is_overused:
            return False
        if not self.session.is_quiet:
            self.session.story.of_queue(queue.name, self._over_its_share(account), speaker=self.name)
        return True

    @answers(ALLOCATABLE)
    def stays_within_its_part(self, queue: Queue, task: Task) -> bool:
        return self._is_open(queue, task.job) and self._may_take(queue, task.vector, task.job)

    @answers(HEADROOM)
    def how_many_stay_within_its_part(self, queue: Queue, task: Task, count: int) -> int:
        account = self.accounts[queue.name]
        if not queue.is_open:
            return 0
        return how_many(account.held, account.deserved, task.weight.wanted, count)

    @answers(SIMULATE_ALLOCATABLE)
    def would_stay_within_its_part(self, queue: Queue, task: Task) -> bool:
        return self._may_take(queue, task.vector, task.job)

    @answers(PREEMPTIVE)
    def may_claim_its_part(self, queue: Queue, tasks: Sequence[Task]) -> bool:
        asked, job = tasks[0].vector, tasks[0].job
        for task in tasks[1:]:
            asked = asked + task.vector
        return self._is_open(queue, job) and self._may_take(queue, asked, job)

    def _is_open(self, queue: Queue, job: str) -> bool:
        if not queue.is_open:
            self.session.story.of_job(job, f'queue "{queue.name}" is not open', speaker=self.name)
        return queue.is_open

    def _may_take(self, queue: Queue, asked: Amounts, job: str) -> bool:
        account = self.accounts[queue.name]
        if how_many(account.held, account.deserved, wanted_of(asked, self.pods), 1):
            return True
        beyond = short_of(self.session, account.allocated + asked, np.array(account.deserved), asked)
        self.session.story.of_job(
            job, f'queue "{queue.name}" would go beyond what it deserves: {beyond}', speaker=self.name
        )
        return False

    @answers(RECLAIMABLE)
    def excess_of_queues(self, _reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of queues that hold more of something than they deserve, until they no longer do."""
        left: dict[str, Amounts] = {}
        victims: list[Task] = []
        for task in candidates:
            job = self.session.jobs.get(task.job)
            if job is None:
                continue
            account = self.accounts[job.queue]
            holds = left.get(job.queue, account.allocated)
            if not not_above(holds.tolist(), account.deserved):
                left[job.queue] = holds - task.vector
                victims.append(task)
        return victims

    @answers(JOB_ENQUEUEABLE, Scope.KIND)
    def fits_its_limit(self, job: Job) -> Vote:
        account = self.accounts[job.queue]
        if not self._is_open(account.queue, job.uid):
            return Vote.REJECT
        if job.min_resources is None:
            return Vote.PERMIT
        asked = minimum_of(self.session, job)
        wanted = asked + account.allocated + account.inqueue - account.elastic
        limit = account.bounds.limit
        if within(wanted, limit, asked, self.pods):
            return Vote.PERMIT
        beyond = short_of(self.session, wanted, limit, asked)
        self.session.story.of_job(
            job.uid, f'queue "{job.queue}" would go beyond its limit: {beyond}', speaker=self.name
        )
        return Vote.REJECT

    @answers(JOB_ENQUEUED)
    def count_as_waiting(self, job: Job) -> None:
        if job.min_resources is not None:
            self.accounts[job.queue].inqueue += less_gated(self.session, job, minimum_of(self.session, job))

    def on_allocate(self, task: Task) -> None:
        job = self.session.jobs.get(task.job)
        if job is not None:
            self.accounts[job.queue].hold(task.weight.amounts)

    def on_allocate_all(self, tasks: Sequence[Task]) -> None:
        job = self.session.jobs.get(tasks[0].job)
        if job is not None:
            self.accounts[job.queue].hold((len(tasks) * tasks[0].vector).tolist())

    def on_release(self, task: Task) -> None:
        job = self.session.jobs.get(task.job)
        if job is not None:
            self.accounts[job.queue].hold((-task.vector).tolist())

    def deserved_by_queue(self) -> Mapping[str, Mapping[str, float]]:
        axis = self.session.axis
        return {name: amounts_by_name(axis, account.deserved) for name, account in self.accounts.items()}

    def queue_figures(self) -> Mapping[str, QueueFigures]:
        return {name: self._figures_of(account) for name, account in self.accounts.items()}

    def _figures_of(self, account: Account) -> QueueFigures:
        axis, bounds = self.session.axis, account.bounds
        return QueueFigures(
            allocated=amounts_by_name(axis, account.held),
            request=amounts_by_name(axis, account.request),
            deserved=amounts_by_name(axis, account.deserved),
            capacity=amounts_by_name(axis, bounds.capability),
            real_capacity=amounts_by_name(axis, bounds.limit),
            inqueue=amounts_by_name(axis, account.inqueue),
            share=account.share,
            is_overused=account.is_overused,
        )

    def _over_its_share(self, account: Account) -> str:
        spell, names = self.session.spell, self.session.axis.names
        parts = ", ".join(
            f"{name} {spell(name, account.held[at])} of {spell(name, account.deserved[at])}"
            for at, name in enumerate(names)
            if account.deserved[at] >= SMALLEST
        )
        return f'queue "{account.queue.name}" has all it deserves' + (f": {parts}" if parts else "")


def not_above(amounts: Sequence[float], limit: Sequence[float]) -> bool:
    """Within the limit in every resource, by Volcano's tolerance."""
    for amount, most in zip(amounts, limit, strict=True):  # noqa: SIM110 - asked at every turn, and faster
        if amount - most >= SMALLEST:
            return False
    return True


class Portion:
    """What one queue is given while the cluster is divided, in plain numbers: small arrays are slow."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.weight = account.queue.weight
        self.given = [0.0] * len(account.request)
        self._request = account.request.tolist()
        rows = zip(account.bounds.ceiling, self._request, strict=True)
        self._most = [min(ceiling, float(request)) for ceiling, request in rows]
        self._least = account.bounds.floor

    def draw(self, remaining: Sequence[float], part: float) -> tuple[list[float], bool]:
        """Take so large a part of what remains; what it has gained by that, and whether it wants yet more."""
        rows = zip(self.given, remaining, self._most, self._least, strict=True)
        new = [max(min(old + left * part, most), least) for old, left, most, least in rows]
        old, self.given = self.given, new
        gains = [now - before for now, before in zip(new, old, strict=True)]
        wants = zip(self._request, new, strict=True)
        is_satisfied = new in (old, self._request) or all([want - has < SMALLEST for want, has in wants])
        return gains, not is_satisfied


def divide(accounts: list[Account], total: Amounts, pods: int) -> None:
    """Give every queue what it deserves: fill by weight, round by round, till nothing more is wanted.

    A queue keeps drawing by its weight until it is satisfied in every resource, and hands back
    what it cannot use; so leftovers reach the others over many rounds, and the rounds are the rule.
    """
    portions = [Portion(account) for account in accounts]
    hungry, remaining = portions, [float(amount) for amount in total.tolist()]
    while weights := sum(portion.weight for portion in hungry):
        drawn = [portion.draw(remaining, portion.weight / weights) for portion in hungry]
        hungry = [portion for portion, (_, is_hungry) in zip(hungry, drawn, strict=True) if is_hungry]
        if not hungry:
            break
        before, remaining = remaining, left_after(remaining, [gains for gains, _ in drawn])
        if remaining == before or is_empty(remaining, pods):
            break
    for portion in portions:
        portion.account.grant(portion.given)


def left_after(remaining: Sequence[float], gains: Sequence[Sequence[float]]) -> list[float]:
    """What was handed back is there again, what was given is not; each is added up by itself."""
    returned, given = [0.0] * len(remaining), [0.0] * len(remaining)
    for gain in gains:
        for at, more in enumerate(gain):
            if more > 0:
                given[at] += more
            else:
                returned[at] -= more
    rows = zip(remaining, returned, given, strict=True)
    return [max(left + back - gone, 0.0) for left, back, gone in rows]


def is_empty(amounts: Sequence[float], pods: int) -> bool:
    """Nothing left but places for pods."""
    return all([amount < SMALLEST for at, amount in enumerate(amounts) if at != pods])
