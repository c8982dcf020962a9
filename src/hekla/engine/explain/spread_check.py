"""SpreadCheck: a gang that spreads evenly and that the memory of refusals keeps from ever starting.

While `predicateErrorCacheEnable` is on, a node that refused one task of a role is not asked again for another
one in the same attempt, as in Volcano. A zone that has as many tasks as the other ones allow is refused then
for good, though it would be even again once the other ones have caught up.
"""

from __future__ import annotations

from hekla.engine.explain.shortfalls import GangDemand
from hekla.engine.explain.start_check import spared
from hekla.engine.framework.scoring import REFUSED_BEFORE
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import distinct
from hekla.engine.ledger.labels import ABSENT
from hekla.engine.model.diagnosis import Diagnosis
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason
from hekla.text import counted

HARD = "DoNotSchedule"
SWITCH = "predicateErrorCacheEnable"


def stuck_spread(session: Session, gang: GangDemand, diagnosis: Diagnosis) -> Finding | None:
    """That the gang, one of whose tasks was refused so, has more tasks than its zones take in one attempt."""
    if not any(reason.text == REFUSED_BEFORE for reason in diagnosis.reasons):
        return None
    for kind in filter(gang.needs, gang.kinds):
        allowed = spared(session.scoring.lasting_refusals(kind.task), len(session.nodes))
        for constraint in kind.task.pod.spec.topology_spread_constraints:
            if constraint.when_unsatisfiable != HARD:
                continue
            codes = session.nodes.labels.column(constraint.topology_key).codes[allowed]
            zones = len(distinct(codes[codes != ABSENT]))
            if gang.count > zones * constraint.max_skew:
                where = f"{counted(zones, 'value')} of {constraint.topology_key}"
                text = (
                    f"{gang.count} tasks spread over {where} with maxSkew {constraint.max_skew}; while "
                    f"{SWITCH} is on, {zones * constraint.max_skew} find a node: set it to false for allocate"
                )
                return Finding(WaitReason.FILTERS, Verdict.NEVER, text)
    return None
