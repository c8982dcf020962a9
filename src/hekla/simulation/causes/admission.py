"""Admission: which plugin keeps jobs that are not admitted out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hekla.engine.framework import points
from hekla.engine.framework.dispatch import Answerers, Dispatch
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.rules import Vote
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts, Floats, Indices, Mask
from hekla.engine.model.job import Job
from hekla.engine.model.wait_reason import WaitReason
from hekla.simulation.causes.groups import UNKNOWN, Causes, GroupTable, WaitGroup, some_of
from hekla.simulation.causes.limits import Limits
from hekla.simulation.causes.log import NO_ROOM, WaitLog
from hekla.simulation.run import NOT_ITS_TURN, Cause


class Voter:
    """A plugin that tells how much each queue may still admit."""

    def __init__(self, plugin: str) -> None:
        self.limit = Cause(WaitReason.ADMISSION_LIMIT, plugin)
        self.share = Cause(WaitReason.QUEUE_SHARE, plugin)
        self.room: Mapping[str, Floats] = {}
        """What it said in the last cycle."""
        self.narrow: Mapping[str, Floats] = {}
        """By queue, 1 for resources of which its limit is less than the cluster, else 0."""


class Admission:
    """Groups of jobs that ask to be admitted, and what was left to each queue in the last cycle."""

    def __init__(self, log: WaitLog) -> None:
        self.table = GroupTable(0)
        self.asks_for_admission = True
        self._log = log
        self._limits = Limits()
        self._who: Answerers | None = None
        self._account_keepers: set[str] = set()
        """The plugins that say how much each queue may hold."""
        self._voters: list[Voter] = []
        """Empty where plugins have to be asked about single jobs."""
        self._total: Amounts = np.zeros(0, dtype=np.int64)
        self._never: Indices | None = None
        """The rows that ask for more than there is; None where that is not known."""

    def is_asked_for(self, job: Job) -> bool:
        """Whether a plugin has a say in the job's admission, which is still to come."""
        return self.asks_for_admission and job.is_pending and job.min_resources is not None

    def look(self, session: Session, now: float) -> None:
        """Which plugin refuses each group as the cycle left things."""
        if not self.table.queues:
            return
        if self._total is not session.total:
            self._total, self._never = session.total, None
        if self._is_beyond_all:
            return
        who = session.dispatch.who
        if self._who is not who:
            self._get_to_know(who, session.dispatch)
        if _tells_room(who):
            self._ask(session)
            causes = self._held_against_room()
        else:
            causes = self._voted_on(session)
        self._bind(causes, now)

    @property
    def _is_beyond_all(self) -> bool:
        """Whether it is known of every group that it asks for more than there is."""
        if self._never is None or self.table.has_new or len(self._never) < len(self.table):
            return False
        return int(np.count_nonzero(self.table.is_used[self._never])) == len(self.table)

    def _bind(self, causes: Causes, now: float) -> None:
        if self._never is None or self.table.has_new:
            self._never = np.flatnonzero(some_of(self.table.asks > self._total[:, None]))
        if len(self._never):
            # More than all nodes have together: no plugin's word matters.
            causes[self._never] = self._log.number_of(NO_ROOM)
        self.table.bind(causes, self._log, now)

    def go_on(self, now: float) -> None:
        """No cycle took place, as nothing could be admitted: a new group is refused like the others."""
        if self.table.has_new:
            is_new = self.table.is_used & (self.table.cause == UNKNOWN)
            self._bind(np.where(is_new, self._held_against_room(), self.table.cause), now)

    def _get_to_know(self, who: Answerers, dispatch: Dispatch) -> None:
        """Who answers: the same in most cycles."""
        self._who = who
        self._account_keepers = {handler.plugin.name for handler in dispatch.handlers(points.ALLOCATABLE)}
        voters = dispatch.handlers(points.ADMISSION_ROOM) if _tells_room(who) else []
        self._voters = [Voter(handler.plugin.name) for handler in voters]

    def _ask(self, session: Session) -> None:
        queues = [name for name in self.table.queues if name in session.queues]
        for voter, handler in zip(
            self._voters, session.dispatch.handlers(points.ADMISSION_ROOM), strict=True
        ):
            voter.room = {queue: handler.answer(session.queues[queue]) for queue in queues}
            if handler.plugin.name in self._account_keepers:
                voter.narrow = self._limits.narrow(session, handler.plugin, queues)

    def _held_against_room(self) -> Causes:
        """Which of the plugins has too little left; a limit to what may wait comes before a queue's share."""
        table = self.table
        limits: list[tuple[Cause, Mask]] = []
        shares: list[tuple[Cause, Mask]] = []
        for voter in self._voters:
            lacks = table.asks > table.per_queue(voter.room, np.inf)
            is_refused = some_of(lacks)
            if voter.narrow:
                is_share = some_of(lacks & (table.per_queue(voter.narrow, 0.0) > 0))
                shares.append((voter.share, is_share))
                is_refused &= ~is_share
            limits.append((voter.limit, is_refused))
        causes = np.full(len(table.groups), self._log.number_of(NOT_ITS_TURN), dtype=np.int16)
        for cause, holds in reversed([*limits, *shares]):
            causes[holds] = self._log.number_of(cause)
        return causes

    def _voted_on(self, session: Session) -> Causes:
        """The same where plugins have to be asked about single jobs."""
        causes = self.table.cause.copy()
        for row, group in enumerate(self.table.groups):
            if group is not None:
                causes[row] = self._log.number_of(self._refusal_of(session, group))
        return causes

    def _refusal_of(self, session: Session, group: WaitGroup) -> Cause:
        member = next(iter(group.members))
        job = session.jobs[member.key if member.group is None else member.group.key]
        silent = ""
        for handler in session.dispatch.handlers(points.JOB_ENQUEUEABLE):
            plugin = handler.plugin
            if plugin.asks_outside:
                silent = plugin.name  # asking twice might change what it says
            elif handler.answer(job) is Vote.REJECT:
                is_share = plugin.name in self._account_keepers and self._is_narrow(session, plugin, group)
                reason = WaitReason.QUEUE_SHARE if is_share else WaitReason.ADMISSION_LIMIT
                return Cause(reason, plugin.name)
        return Cause(WaitReason.ADMISSION_LIMIT, silent) if silent else NOT_ITS_TURN

    def _is_narrow(self, session: Session, plugin: Plugin, group: WaitGroup) -> bool:
        narrow = self._limits.narrow(session, plugin, [group.queue]).get(group.queue)
        return narrow is not None and bool(((narrow > 0) & (self.table.asks[:, group.row] > 0)).any())


def _tells_room(who: Answerers) -> bool:
    """Whether jobs are admitted by what is left to their queue, so that none has to be asked about."""
    return who.admits_by_kind and who.tells_admission_room
