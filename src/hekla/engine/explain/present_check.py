"""PresentCheck: what an admitted job lacks of what is free as a session leaves the nodes."""

from __future__ import annotations

import numpy as np

from hekla.engine.explain.shortfalls import GangDemand, Supply, amount
from hekla.engine.explain.start_check import highest_tier, short_in_domains
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts, Mask
from hekla.engine.model.job import Job
from hekla.engine.model.resources import spelled
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason
from hekla.lazy import lazy
from hekla.text import some_of

JOBS_SHOWN = 3


class PresentCheck:
    """Room that is being released counts as free; room that is promised or held for other jobs does not."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @lazy
    def _free(self) -> Amounts:
        return np.maximum(self._session.nodes.future, 0)

    def shortfall(self, job: Job, gang: GangDemand) -> Finding | None:
        """What fails first: all nodes, those that filters leave, any network domain; None where all do."""
        everywhere = self._supply(self._free, gang)
        if not everywhere.fits(gang):
            return self._no_room(job, gang, everywhere)
        permitted = Supply(self._free, [self._session.scoring.open_nodes(kind.task) for kind in gang.kinds])
        if not permitted.fits(gang):
            return Finding(WaitReason.FILTERS, Verdict.NOT_YET, self._ruled_out(gang, permitted))
        tier = highest_tier(self._session, job, gang)
        if tier is not None and (short := short_in_domains(self._session, gang, permitted, tier)):
            return Finding(WaitReason.TOPOLOGY, Verdict.NOT_YET, f"{short} now")
        return None

    def short_column(self, gang: GangDemand) -> int | None:
        """The column of the first resource of which too little is free in sum."""
        return self._supply(self._free, gang).first_short(gang)

    def _supply(self, amounts: Amounts, gang: GangDemand) -> Supply:
        return Supply(amounts, [np.ones(len(amounts), dtype=np.bool_)] * len(gang.kinds))

    def _no_room(self, job: Job, gang: GangDemand, free: Supply) -> Finding:
        kept, keepers = self._kept_for_others(job)
        if keepers and self._supply(self._free + kept, gang).fits(gang):
            text = f"room for it is kept for {some_of(keepers, JOBS_SHOWN)}"
            return Finding(WaitReason.ORDER, Verdict.NOT_YET, text)
        is_short = free.first_short(gang) is not None
        code = WaitReason.NO_ROOM if is_short else WaitReason.FRAGMENTATION
        return Finding(code, Verdict.NOT_YET, self._short(gang, free))

    def _kept_for_others(self, job: Job) -> tuple[Amounts, list[str]]:
        """Per node what is promised to other jobs or held for them, not used yet; and for which jobs."""
        kept, keepers = np.zeros_like(self._free), []
        for keeper, places in self._keepers:
            if keeper is not job:
                keepers.append(f"{keeper.namespace}/{keeper.title}")
                for task in places:
                    kept[task.node] += task.vector
        return kept, keepers

    @lazy
    def _keepers(self) -> list[tuple[Job, list[Task]]]:
        """The jobs that have places which are not used yet, and these."""
        jobs = self._session.attention.active.values()
        placed = ((job, [*job.roster.among((Status.PIPELINED, Status.ALLOCATED))]) for job in jobs)
        return [(job, places) for job, places in placed if places]

    def _short(self, gang: GangDemand, free: Supply) -> str:
        axis = self._session.axis
        if (column := free.first_short(gang)) is not None:
            name, total = axis.names[column], self._session.nodes.total[column]
            left, asked = free.usable[:, column].sum(), gang.least[column]
            free_of_all = f"{spelled(name, left)} of {spelled(name, total)}"
            return f"not enough {name}: asked {spelled(name, asked)}, free {free_of_all}"
        kind = free.homeless(gang)
        if kind is None:
            return f"room for {free.placeable(gang)} of the {gang.count} tasks that start together"
        asked, most = kind.task.vector, free.usable.max(axis=0, initial=0)
        short = np.flatnonzero(most < asked)
        if not len(short):
            return "no node has enough of every resource"
        at = int(short[0])
        on_one, in_all = (spelled(axis.names[at], each) for each in (most[at], free.usable[:, at].sum()))
        return f"no node has {amount(axis, at, asked[at])} free: most free {on_one}, {in_all} in all"

    def _ruled_out(self, gang: GangDemand, permitted: Supply) -> str:
        """What keeps the tasks off nodes that have room."""
        session = self._session
        kind = permitted.homeless(gang) or gang.kinds[0]
        with_room: Mask = kind.capacity(self._free) > 0
        diagnosis = session.scoring.diagnose(kind.task, with_room, with_room=False)
        told = diagnosis.plainly().partition(": ")[2]
        placeable = permitted.placeable(gang)
        if not placeable or not told:
            return f"nodes with room are ruled out: {told}"
        return f"room for {placeable} of the {gang.count} tasks that start together; ruled out: {told}"
