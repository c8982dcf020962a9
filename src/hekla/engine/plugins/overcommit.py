"""Overcommit: admit only as much waiting work as a somewhat larger cluster could hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import ADMISSION_ROOM, JOB_ENQUEUEABLE, JOB_ENQUEUED, Scope, answers
from hekla.engine.framework.rules import Vote
from hekla.engine.ledger.arrays import Amounts, Floats
from hekla.engine.ledger.demand import less_gated, minimum_of
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.wait_reason import WaitReason
from hekla.engine.plugins.queues import short_of, within


@dataclass(frozen=True)
class OvercommitArguments:
    factor: float = argument(
        1.2, key="overcommit-factor", minimum=1.0, help="how many times its size the cluster counts as"
    )


class Overcommit(Plugin):
    """Keeps the sum of what admitted jobs wait for."""

    name = "overcommit"
    Arguments = OvercommitArguments

    def on_open(self) -> None:
        session = self.session
        self.stretched: Floats = np.asarray(session.total * float(self.arguments.factor), dtype=np.float64)
        self.idle: Floats = np.asarray(self.stretched - session.nodes.used_in_all, dtype=np.float64)
        # An admitted job counts in full here, whatever it holds already, as in Volcano.
        claims = [sums.claimed for sums in session.queue_sums.values()]
        self._wait_for(sum(claims, np.zeros(len(session.axis), dtype=np.int64)))

    def _wait_for(self, amounts: Amounts) -> None:
        """All that admitted jobs wait for comes to so much."""
        self.waiting = amounts
        self._left: Floats = self.idle - amounts

    @answers(JOB_ENQUEUEABLE, Scope.KIND)
    def fits_the_stretched_cluster(self, job: Job) -> Vote:
        if job.min_resources is None:
            return Vote.PERMIT
        asked = minimum_of(self.session, job)
        wanted = self.waiting + asked
        if within(wanted, self.idle, asked, self.session.axis.pods):
            return Vote.PERMIT
        beyond = short_of(self.session, wanted + self.stretched - self.idle, self.stretched, asked)
        self.session.trace.of_job(
            job.uid,
            f"the cluster cannot take in more waiting work: {beyond}",
            speaker=self.name,
            code=WaitReason.ADMISSION_LIMIT,
        )
        return Vote.REJECT

    @answers(ADMISSION_ROOM)
    def left_of_the_stretched_cluster(self, _queue: QueueInfo) -> Floats:
        return self._left

    @answers(JOB_ENQUEUED)
    def count_as_waiting(self, job: Job) -> None:
        self._wait_for(self.waiting + less_gated(self.session, job, minimum_of(self.session, job)))
