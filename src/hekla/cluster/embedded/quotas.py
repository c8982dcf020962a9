"""Quotas: what the pods of a namespace use of each ResourceQuota."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from hekla.cluster.node_usage import is_finished
from hekla.cluster.store import Store
from hekla.controllers.usage import Amounts, plus, usage_of, written
from hekla.errors import InputError
from hekla.objects import Manifest, Pod, ResourceQuota
from hekla.objects.storage import ResourceQuotaStatus

_NOTHING = Decimal(0)


class Quotas:
    """Counts anew, when asked, in the namespaces where a pod or a quota changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stale: set[str] = set()
        self._usage_by_pod: dict[str, Amounts] = {}

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        subject = after or before
        if isinstance(subject, Pod | ResourceQuota):
            self._stale.add(subject.metadata.namespace)
        if isinstance(before, Pod) and after is None:
            self._usage_by_pod.pop(before.metadata.uid, None)

    def refresh(self) -> None:
        """Bring `status.used` of every stale quota up to date."""
        quotas = [
            quota for quota in self._store.all_of(ResourceQuota) if quota.metadata.namespace in self._stale
        ]
        self._stale.clear()
        totals = self._totals({quota.metadata.namespace for quota in quotas})
        for quota in quotas:
            used = written(
                {name: totals[quota.metadata.namespace].get(name, _NOTHING) for name in quota.spec.hard}
            )
            self._store.put(replace(quota, status=ResourceQuotaStatus(hard=quota.spec.hard, used=used)))
        self._stale.clear()

    def _totals(self, namespaces: set[str]) -> dict[str, Amounts]:
        totals: dict[str, Amounts] = {namespace: {} for namespace in namespaces}
        if not namespaces:
            return totals
        for pod in self._store.all_of(Pod):
            namespace = pod.metadata.namespace
            if namespace in namespaces and not is_finished(pod):
                totals[namespace] = plus(totals[namespace], self._usage(pod))
        return totals

    def _usage(self, pod: Pod) -> Amounts:
        uid = pod.metadata.uid
        if uid not in self._usage_by_pod:
            try:
                self._usage_by_pod[uid] = usage_of(pod.spec)
            except InputError:
                self._usage_by_pod[uid] = {}
        return self._usage_by_pod[uid]
