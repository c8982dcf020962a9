"""Resourcequota: a job that its namespace's quota would refuse is not admitted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal

from hekla.engine.framework.messages import shortage
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import JOB_ENQUEUEABLE, JOB_ENQUEUED, answers
from hekla.engine.framework.rules import Vote
from hekla.engine.model.job import Job
from hekla.engine.model.wait_reason import Verdict, WaitReason
from hekla.objects import ResourceQuota
from hekla.objects.meta import ResourceList
from hekla.objects.quantity import exact

NOTHING = Decimal(0)
GIB = 2**30


class ResourceQuotas(Plugin):
    """Names count literally, as quotas write them: `cpu` and `requests.cpu` are two."""

    name = "resourcequota"

    def on_open(self) -> None:
        self.quotas: dict[str, list[ResourceQuota]] = defaultdict(list)
        for quota in self.session.snapshot.all_of(ResourceQuota):
            self.quotas[quota.metadata.namespace].append(quota)
        self.promised: dict[str, dict[str, Decimal]] = defaultdict(dict)

    @answers(JOB_ENQUEUEABLE)
    def fits_the_quota_of_its_namespace(self, job: Job) -> Vote:
        minimum = job.pod_group.spec.min_resources
        for quota in self.quotas.get(job.namespace, ()):
            beyond = exceeded(quota, self.promised[job.namespace], minimum or {})
            if beyond:
                self.session.trace.of_job(
                    job.uid,
                    f'quota "{quota.key}" would be exceeded: {beyond}',
                    speaker=self.name,
                    code=WaitReason.ADMISSION_LIMIT,
                    verdict=Verdict.NEVER if is_too_small(quota, minimum or {}) else None,
                )
                return Vote.REJECT
        return Vote.PERMIT

    @answers(JOB_ENQUEUED)
    def count_as_promised(self, job: Job) -> None:
        promised = self.promised[job.namespace]
        for name, amount in (job.pod_group.spec.min_resources or {}).items():
            promised[name] = promised.get(name, NOTHING) + exact(amount)


def exceeded(quota: ResourceQuota, promised: Mapping[str, Decimal], minimum: ResourceList) -> str:
    """What the quota has too little of for a job with this minimum, in words; empty where it suffices."""
    used, hard = quota.status.used, quota.status.hard
    left = {
        name: exact(hard[name]) - exact(used.get(name, 0)) - promised.get(name, NOTHING)
        for name in minimum
        if name in hard
    }
    return ", ".join(
        shortage(name, str(minimum[name]), spelled(max(NOTHING, amount)), str(hard[name]))
        for name, amount in left.items()
        if exact(minimum[name]) > amount
    )


def is_too_small(quota: ResourceQuota, minimum: ResourceList) -> bool:
    """Whether the quota would not suffice for a job with this minimum even if nothing else used it."""
    hard = quota.status.hard
    return any(exact(minimum[name]) > exact(hard[name]) for name in minimum if name in hard)


def spelled(amount: Decimal) -> str:
    """The amount as people write it; so much of something can only be bytes."""
    return f"{amount / GIB:.4g}Gi" if amount >= GIB else f"{amount.normalize():f}"
