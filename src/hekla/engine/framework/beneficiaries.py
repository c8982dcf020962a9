"""Beneficiaries: jobs for which pods were evicted are offered the freed room first.

While its victims leave, and until it starts, a beneficiary comes before all other jobs. One that did not
start although its victims are gone, or that lost the room to another eviction, causes no further eviction
before a back-off has passed and something that it depends on has changed. So evictions come to an end where
nothing else happens. See ADR 0007.
"""

from __future__ import annotations

import math
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from hekla.engine.framework.decisions import Evict
from hekla.engine.model.benefit import Benefit, BenefitStage, benefit_of
from hekla.engine.model.job import COMPLETED, Job
from hekla.engine.model.status import Status
from hekla.engine.state.live import LiveState
from hekla.lazy import lazy
from hekla.objects import Node as NodeManifest
from hekla.objects import Queue as QueueManifest

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session

STILL_WAITING = "it did not start although they are gone"
LOST_AGAIN = "its own pods were evicted again"


class Beneficiaries:
    """What is known of them in one session, and what becomes of it when the session ends."""

    def __init__(self, session: Session, patience: float) -> None:
        self._session = session
        self._patience = patience
        """For how many seconds freed room is kept for a job."""
        self.futile = 0
        """How many evictions of earlier cycles proved futile in this one."""
        self.new: set[str] = set()
        """The jobs for which pods were evicted in this very session, by UID; known when it closes."""
        self.reserved: set[str] = set()
        """These, and the jobs for which room that was freed before is kept."""
        self.wake_at = math.inf
        """When a back-off or a reservation ends next."""

    def with_freed_room(self) -> list[Job]:
        """The jobs that are offered freed room, the one that has waited longest first."""
        found = []
        for uid in self._session.snapshot.state.beneficiaries:
            job = self._session.jobs.get(uid)
            benefit = None if job is None else self._benefit_of(job)
            if job and benefit and benefit.stage is BenefitStage.RESERVED and not self._has_expired(benefit):
                found.append((benefit.since, uid, job))
        return [job for _, _, job in sorted(found, key=lambda entry: entry[:2])]

    def may_evict_for(self, job: Job) -> bool:
        """Whether pods may be evicted for the job; not while it waits for freed room, nor in vain again."""
        benefit = self._benefit_of(job)
        if benefit is None or benefit.stage is BenefitStage.STARTED:
            return True
        if benefit.stage is BenefitStage.RESERVED or self._session.now < benefit.backs_off_until:
            return False
        return benefit.cluster != self.cluster_of(job)

    def close(self) -> None:
        """Write down what became of every beneficiary, and which jobs became one."""
        session = self._session
        evictions = [decision for decision in session.decisions if isinstance(decision, Evict)]
        if not evictions and not session.snapshot.state.beneficiaries:
            return
        evicted_for = Counter(eviction.beneficiary for eviction in evictions if eviction.beneficiary)
        losers = {task.job for eviction in evictions if (task := session.tasks.get(eviction.pod)) is not None}
        self.new = set(evicted_for)
        for uid in sorted({*session.snapshot.state.beneficiaries, *self.new}):
            job = session.jobs.get(uid)
            if job is None:
                continue
            before = self._benefit_of(job)
            after = self._made(before, evicted_for[uid]) if evicted_for[uid] else None
            if after is None and before is not None:
                after = self._became(job, before, is_loser=uid in losers)
            if after is not None:
                self._note(job, before, after)

    def _note(self, job: Job, before: Benefit | None, after: Benefit) -> None:
        if after != before:
            self._session.conditions.write(job, after.as_condition())
            self.futile += after.evicted if after.stage is BenefitStage.FUTILE else 0
        if after.stage is BenefitStage.RESERVED:
            self.reserved.add(job.uid)
            self.wake_at = min(self.wake_at, after.since + self._patience)
        elif after.backs_off_until > self._session.now:
            self.wake_at = min(self.wake_at, after.backs_off_until)

    def _made(self, before: Benefit | None, evicted: int) -> Benefit:
        """Pods were evicted for the job in this very session."""
        is_futile = before is not None and before.stage is BenefitStage.FUTILE
        attempt = before.attempt + 1 if before is not None and is_futile else 1
        return Benefit(BenefitStage.RESERVED, self._session.now, evicted, attempt)

    def _became(self, job: Job, benefit: Benefit, *, is_loser: bool) -> Benefit:
        session, now = self._session, self._session.now
        is_started = session.is_ready(job) and not _waits_for_its_node(job)
        match benefit.stage:
            case BenefitStage.RESERVED | BenefitStage.FUTILE if is_started:
                return benefit.reached(BenefitStage.STARTED, now)
            case BenefitStage.RESERVED if self._has_expired(benefit):
                return self._proved_futile(job, benefit, f"it was not free within {self._patience:g} s")
            case BenefitStage.RESERVED if not session.is_pipelined(job) and not self._is_being_freed(job):
                return self._proved_futile(job, benefit, STILL_WAITING)
            case BenefitStage.STARTED if is_loser and not session.is_ready(job):
                return self._proved_futile(job, benefit, LOST_AGAIN)
        return benefit

    def _proved_futile(self, job: Job, benefit: Benefit, why: str) -> Benefit:
        return benefit.reached(BenefitStage.FUTILE, self._session.now, why=why, cluster=self.cluster_of(job))

    def _is_being_freed(self, job: Job) -> bool:
        """Whether pods are still leaving the nodes that the job's tasks are nominated for, if any are."""
        nodes, pending = self._session.nodes, job.roster.having(Status.PENDING).values()
        nominated = {task.pod.status.nominated_node_name for task in pending}
        rows = [nodes.row_of[name] for name in nominated if name in nodes.row_of]
        return bool(nodes.releasing[rows or slice(None)].any())

    def _has_expired(self, benefit: Benefit) -> bool:
        return self._session.now >= benefit.since + self._patience

    def _benefit_of(self, job: Job) -> Benefit | None:
        is_known = job.uid in self._session.snapshot.state.beneficiaries
        return benefit_of(job.pod_group.status) if is_known else None

    def cluster_of(self, job: Job) -> str:
        """What the job depends on, in short: nodes, queues, all jobs that are not done, and its own tasks.

        Where pods run is left out: evictions alone must not look like a change.
        """
        own = sorted({tuple(task.request.items()) for task in job.tasks.values()})
        return _digest([self._surroundings, own])

    @lazy
    def _surroundings(self) -> str:
        jobs = [
            (job.uid, job.pod_group.metadata.uid, job.queue, job.priority, job.minimum)
            for job in self._session.all_jobs
            if job.phase != COMPLETED
        ]
        return _digest([self._session.snapshot.state.derived(nodes_and_queues), jobs])


def _waits_for_its_node(job: Job) -> bool:
    """Whether a task that is nominated for a node does not have it yet."""
    waiting = job.roster.among((Status.PENDING, Status.PIPELINED))
    return any(task.pod.status.nominated_node_name for task in waiting)


def nodes_and_queues(state: LiveState) -> str:
    """Which nodes and queues there are and what they offer, in short; what they hold is left out."""
    told_of_nodes = [
        (node.metadata.name, node.metadata.uid, node.metadata.labels, node.spec, node.status.allocatable)
        for node in state.manifests.get(NodeManifest, {}).values()
        if isinstance(node, NodeManifest)
    ]
    told_of_queues = [
        (queue.metadata.name, queue.metadata.uid, queue.spec, queue.status.state)
        for queue in state.manifests.get(QueueManifest, {}).values()
        if isinstance(queue, QueueManifest)
    ]
    return _digest([told_of_nodes, told_of_queues])


def _digest(what: object) -> str:
    return blake2b(msgspec.json.encode(what, order="deterministic"), digest_size=6).hexdigest()
