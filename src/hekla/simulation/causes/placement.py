"""Placement: what keeps admitted jobs off the nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hekla.engine.framework import points
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.model.task import RequestShape
from hekla.engine.model.wait_reason import WaitReason
from hekla.engine.state.waiting import fit_counts
from hekla.simulation.causes.groups import UNKNOWN, Causes, GroupTable, WaitGroup, some_of
from hekla.simulation.causes.limits import below
from hekla.simulation.causes.log import FRAGMENTATION, NO_ROOM, QUEUE_SHARE, WaitLog
from hekla.simulation.run import NOT_ITS_TURN, Cause


class AdmittedGroups:
    """Groups of admitted jobs.

    What binds each is its gate, else its queue, else that too little is free in sum, else whatever keeps it
    from what is free. The first two and the last are asked about in cycles; the sum, after every event.
    """

    def __init__(self, log: WaitLog) -> None:
        self.table = GroupTable(0)
        self._log = log
        self._share = UNKNOWN
        """The number of the cause that a queue has had its share."""
        self._is_held: Mask = np.zeros(0, dtype=np.bool_)
        self._beyond_room: Causes = np.zeros(0, dtype=np.int16)

    def look(self, session: Session, now: float) -> None:
        """What binds each group as the cycle left things."""
        if not self.table.queues:
            return
        self._is_held, is_short = self._is_held_by_queue(session), self._is_short(session.nodes)
        self._share = self._log.number_of(QUEUE_SHARE)
        self._beyond_room = np.full(len(is_short), self._pieces, dtype=np.int16)
        is_open = self.table.is_used & ~(is_short | self._is_held)
        for row in is_open.nonzero()[0].tolist():
            group = self.table.groups[row]
            if group is not None and self.table.fixed[row] == UNKNOWN:
                self._beyond_room[row] = self._log.number_of(reason_beyond_room(session, group))
        self._bind(is_short, now)

    def go_on(self, nodes: NodeLedger, now: float) -> None:
        """No cycle took place: of what is free in sum, none was found in pieces that would do."""
        if not self.table.queues:
            return
        if self.table.has_new:
            more = len(self.table.groups) - len(self._is_held)
            is_new = self.table.cause == UNKNOWN
            self._is_held = np.append(self._is_held, np.zeros(more, dtype=np.bool_)) & ~is_new
            self._beyond_room = np.append(self._beyond_room, np.zeros(more, dtype=np.int16))
            self._beyond_room[is_new] = self._pieces
        self._bind(self._is_short(nodes), now)

    def _bind(self, is_short: Mask, now: float) -> None:
        causes = self._beyond_room.copy()
        causes[is_short] = self._log.number_of(NO_ROOM)
        causes[self._is_held] = self._share
        np.copyto(causes, self.table.fixed, where=self.table.fixed >= 0)
        self.table.bind(causes, self._log, now)

    @property
    def _pieces(self) -> int:
        return self._log.number_of(FRAGMENTATION)

    def _is_short(self, nodes: NodeLedger) -> Mask:
        """(rows,) Where less is free in sum than a job asks for."""
        free = nodes.total - nodes.used_in_all
        return some_of(self.table.asks > free[:, None])

    def _is_held_by_queue(self, session: Session) -> Mask:
        """(rows,) Where the queue has had its share, or may not take so much, of less than all there is."""
        queues = [name for name in self.table.queues if name in session.queues]
        narrow = narrow_shares(session, queues)
        is_held = np.zeros(len(self.table.groups), dtype=np.bool_)
        if not narrow:
            return is_held
        is_asked = some_of((self.table.per_queue(narrow, 0.0) > 0) & (self.table.asks > 0))
        overused = {name for name in narrow if session.is_overused(session.queues[name])}
        rows = np.flatnonzero(is_asked & self.table.is_used).tolist()
        groups = [(row, group) for row in rows if (group := self.table.groups[row]) is not None]
        most = headrooms(session, [group for _, group in groups])
        for row, group in groups:
            too_many = len(group.lacking) > most.get(kind_of(group), len(group.lacking))
            is_held[row] = group.queue in overused or too_many
        return is_held


def narrow_shares(session: Session, queues: Iterable[str]) -> dict[str, Floats]:
    """By queue (R,), 1 where what it deserves, or its limit, is less than the cluster, by any plugin's word.

    Queues that may have all there is are left out.
    """
    overused = [handler.plugin for handler in session.dispatch.handlers(points.OVERUSED)]
    others = [handler.plugin for handler in session.dispatch.handlers(points.ALLOCATABLE)]
    limited = [plugin.queue_figures() for plugin in others if plugin not in overused]
    said = [
        *[plugin.deserved_by_queue() for plugin in overused],
        *[{name: one.real_capacity for name, one in figures.items()} for figures in limited],
    ]
    found: dict[str, Floats] = {}
    for queue in queues:
        for amounts in said:
            mask = below(session, amounts.get(queue, {}))
            if any(mask.tolist()):
                found[queue] = np.maximum(found[queue], mask) if queue in found else mask
    return found


def kind_of(group: WaitGroup) -> tuple[str, RequestShape | None]:
    """The same for groups of one queue whose first tasks ask for as much."""
    return group.queue, group.lacking[0].shape if group.lacking else None


def headrooms(session: Session, groups: Iterable[WaitGroup]) -> dict[tuple[str, RequestShape | None], int]:
    """By kind how many such tasks its queue may take, of as many as the largest group lacks."""
    if not session.dispatch.who.tells_headroom:
        return {}
    largest: dict[tuple[str, RequestShape | None], WaitGroup] = {}
    for group in groups:
        known = largest.get(kind_of(group))
        if group.lacking and (known is None or len(known.lacking) < len(group.lacking)):
            largest[kind_of(group)] = group
    return {
        kind: session.headroom(session.queues[group.queue], group.lacking[0], len(group.lacking))
        for kind, group in largest.items()
    }


def may_take(session: Session, group: WaitGroup) -> bool:
    """Whether the queue may take as many tasks as a job of the group lacks to start."""
    return headrooms(session, [group]).get(kind_of(group), len(group.lacking)) >= len(group.lacking)


def reason_beyond_room(session: Session, group: WaitGroup) -> Cause:
    """What keeps a job from room that would be enough in sum, once its turn has come."""
    queue = session.queues.get(group.queue)
    if not group.lacking or queue is None:
        return Cause(WaitReason.GATE)
    task, count = group.lacking[0], len(group.lacking)
    if not may_take(session, group):
        return QUEUE_SHARE
    asked = np.min([one.vector for one in group.lacking], axis=0)[:, None].astype(np.float64)
    pieces = fit_counts(session.nodes.idle.astype(np.float64), asked)[:, 0]
    if pieces.sum() < count:
        return FRAGMENTATION
    if session.objection_to(task) is not None:
        return Cause(WaitReason.GATE)
    if pieces[session.scoring.open_nodes(task)].sum() < count:
        return Cause(WaitReason.FILTERS)
    job = session.jobs.get(task.job)
    return Cause(WaitReason.TOPOLOGY) if job is not None and job.has_topology else NOT_ITS_TURN
