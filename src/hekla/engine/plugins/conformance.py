"""Conformance: spare pods that keep the cluster itself alive."""

from __future__ import annotations

from collections.abc import Sequence

from hekla.engine.framework.plugin import EvictionContext, Plugin, Resolve
from hekla.engine.framework.points import PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE, answers
from hekla.engine.model.task import Task

CRITICAL_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})
CRITICAL_NAMESPACE = "kube-system"


class Conformance(Plugin):
    name = "conformance"
    resolve = Resolve.HARDENING

    @answers(PREEMPTABLE)
    @answers(RECLAIMABLE)
    def all_but_system_pods(self, _initiator: Task, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if not is_critical(task)]

    @answers(UNIFIED_EVICTABLE)
    def all_but_system_pods_of_gangs(
        self, _context: EvictionContext, candidates: Sequence[Task]
    ) -> list[Task]:
        return [task for task in candidates if not is_critical(task)]


def is_critical(task: Task) -> bool:
    return task.namespace == CRITICAL_NAMESPACE or task.pod.spec.priority_class_name in CRITICAL_CLASSES
