"""StartCheck: could a job start if nothing else ran, and if not, what of the cluster is too small for it.

Only what is certain counts: how many equal tasks nodes hold, and what filters say that nothing which runs can
change. That different tasks can be arranged in no way is not proved, so a hopeless job may pass unnoticed.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator

import numpy as np

from hekla.engine.explain.queue_limits import QueueLimits
from hekla.engine.explain.shortfalls import GangDemand, Supply, lacking
from hekla.engine.framework import points
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Mask
from hekla.engine.model.diagnosis import Refusal, count_reasons
from hekla.engine.model.job import Job
from hekla.engine.model.resources import PODS
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason
from hekla.objects.complaint import nearest

FOR_EVER = (Verdict.NEVER,)
FOR_NOW = tuple(Verdict)


class StartCheck:
    """Of the jobs of one session; jobs that ask for the same share what is found."""

    def __init__(self, session: Session, limits: QueueLimits) -> None:
        self._session = session
        self._limits = limits
        self._known: dict[Hashable, list[Finding]] = {}

    def lasting(self, job: Job, gang: GangDemand) -> list[Finding]:
        """What would keep the job from starting if nothing else ran."""
        kinds = tuple((kind.key, kind.count) for kind in gang.kinds)
        key = (kinds, gang.count, gang.least.tobytes(), job.queue, highest_tier(self._session, job, gang))
        if key not in self._known:
            self._known[key] = [*self._limits.beyond(job.queue, gang), *self._too_much_for_nodes(job, gang)]
        return self._known[key]

    def _too_much_for_nodes(self, job: Job, gang: GangDemand) -> Iterator[Finding]:
        if unknown := self._not_offered(gang):
            yield Finding(WaitReason.NO_ROOM, Verdict.NEVER, unknown)
            return
        tried = (self._first_to_fail(job, gang, passing) for passing in (FOR_EVER, FOR_NOW))
        yield from [found for found in tried if found is not None][:1]

    def _not_offered(self, gang: GangDemand) -> str:
        """The resource that no node has any of, and which one may be meant."""
        axis, nodes = self._session.axis, self._session.nodes
        offered = {name for name, most in zip(axis.names, nodes.total.tolist(), strict=True) if most > 0}
        asked = [*axis.resources(gang.least)]
        for kind in filter(gang.needs, gang.kinds):
            asked += [name for name, wanted in kind.task.request.items() if wanted > 0]
        missing = next((name for name in asked if name not in offered and name != PODS), "")
        if not missing or not len(nodes):
            return ""
        near = nearest(missing, offered)
        return f"no node offers {missing}" + (f" (did you mean {near}?)" if near else "")

    def _first_to_fail(self, job: Job, gang: GangDemand, passing: Collection[Verdict]) -> Finding | None:
        """What is too small: all nodes, those that filters with these verdicts leave, or any domain."""
        session, empty = self._session, self._session.nodes.allocatable
        everywhere = Supply(empty, [np.ones(len(empty), dtype=np.bool_)] * len(gang.kinds))
        if not everywhere.fits(gang):
            is_short = everywhere.first_short(gang) is not None
            code = WaitReason.NO_ROOM if is_short else WaitReason.FRAGMENTATION
            return Finding(code, Verdict.NEVER, lacking(session.axis, gang, everywhere, ""))
        refusals = [
            [refusal for refusal in session.scoring.lasting_refusals(kind.task) if refusal.verdict in passing]
            for kind in gang.kinds
        ]
        permitted = Supply(empty, [spared(of_kind, len(empty)) for of_kind in refusals])
        verdict = mildest(refusals)
        if not permitted.fits(gang):
            return Finding(WaitReason.FILTERS, verdict, self._ruled_out(gang, permitted, refusals))
        tier = highest_tier(session, job, gang)
        if tier is not None and (short := short_in_domains(session, gang, permitted, tier)):
            return Finding(WaitReason.TOPOLOGY, verdict, f"{short} when empty")
        return None

    def _ruled_out(self, gang: GangDemand, permitted: Supply, refusals: list[list[Refusal]]) -> str:
        for kind, mask, of_kind in zip(gang.kinds, permitted.masks, refusals, strict=True):
            if not mask.any() and gang.needs(kind):
                of_all = (refusal.if_all for refusal in of_kind if refusal.if_all and refusal.nodes.all())
                return next(of_all, f"no node may be used: {told(of_kind, len(mask))}")
        permits = {refusal.permits for of_kind in refusals for refusal in of_kind}
        which = permits.pop() if len(permits) == 1 else ""
        return lacking(self._session.axis, gang, permitted, f" {which or 'it may use'}")


def told(refusals: Collection[Refusal], nodes: int) -> str:
    """`3 cordoned, 1 taint gpu not tolerated`."""
    reasons = count_reasons([*refusals], np.ones(nodes, dtype=np.bool_))
    return ", ".join(f"{reason.count} {reason.plain or reason.text}" for reason in reasons)


def spared(refusals: Collection[Refusal], nodes: int) -> Mask:
    """The nodes that are not refused. -> (N,)"""
    mask = np.ones(nodes, dtype=np.bool_)
    for refusal in refusals:
        mask &= ~refusal.nodes
    return mask


def mildest(refusals: Collection[Collection[Refusal]]) -> Verdict:
    """Of the verdicts of all refusals the one that passes most easily."""
    verdicts = {refusal.verdict for of_kind in refusals for refusal in of_kind}
    for verdict in (Verdict.NOT_YET, Verdict.HELD):
        if verdict in verdicts:
            return verdict
    return Verdict.NEVER


def highest_tier(session: Session, job: Job, gang: GangDemand) -> int | None:
    """The highest tier of a domain that may hold the gang; None where it is not bound to one."""
    # Without a plugin that names domains to try, all of the cluster is tried.
    is_heeded = session.domains.is_ready and session.has_answer(points.HYPERNODE_GRADIENT)
    if not job.is_bounded or job.topology is None or not is_heeded:
        return None
    # Tasks that ask for nothing are placed without regard to domains.
    asks = any(not kind.task.is_best_effort for kind in gang.kinds)
    return job.topology.highest_tier_allowed if asks else None


def short_in_domains(session: Session, gang: GangDemand, supply: Supply, tier: int) -> str:
    """How far the best domain that is allowed falls short of the gang; empty where one suffices."""
    tree = session.domains.tree
    allowed = np.flatnonzero(tree.tier_of <= tier)
    if not len(allowed):
        return f"no domain is of tier {tier} or closer"
    capacities = tree.sums(supply.capacities(gang))[allowed]
    if gang.fits(tree.sums(supply.usable)[allowed], capacities).any():
        return ""
    placeable = gang.placeable(capacities)
    best = int(placeable.argmax())
    # Where the tasks would have places one by one, it is the sum that is short.
    most, name = min(int(placeable[best]), gang.count - 1), tree.all[int(allowed[best])].name
    where = f"one domain of tier {tier} or closer"
    return f'{gang.starting} in {where}; the best, "{name}", has room for {most}'
