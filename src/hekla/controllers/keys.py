"""Labels and annotations that the controllers read and write, and names that need not be said."""

from __future__ import annotations

GROUP_NAME = "scheduling.k8s.io/group-name"
GROUP_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
QUEUE_OF_POD = "scheduling.volcano.sh/queue-name"
"""Read on pods and namespaces; not to be confused with `QUEUE_NAME`, which is written for people."""
QUEUE_ALLOCATION_GATE = "scheduling.volcano.sh/queue-allocation-gate"

VOLCANO_PREFIX = "volcano.sh/"
JOB_NAME = "volcano.sh/job-name"
JOB_NAMESPACE = "volcano.sh/job-namespace"
JOB_VERSION = "volcano.sh/job-version"
JOB_RETRY_COUNT = "volcano.sh/job-retry-count"
JOB_FORWARDING = "volcano.sh/job-forwarding"
TASK_SPEC = "volcano.sh/task-spec"
TASK_INDEX = "volcano.sh/task-index"
TEMPLATE_UID = "volcano.sh/template-uid"
QUEUE_NAME = "volcano.sh/queue-name"
PARTITION_ID = "volcano.sh/partition-id"
OUT_OF_SYNC = "volcano.sh/controller-out-of-sync"
NUMA_POLICY = "volcano.sh/numa-topology-policy"
TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier"
RESOURCE_GROUP = "volcano.sh/resource-group"
PREEMPTABLE = "volcano.sh/preemptable"
COOLDOWN_TIME = "volcano.sh/cooldown-time"
REVOCABLE_ZONE = "volcano.sh/revocable-zone"
BUDGET_MIN_AVAILABLE = "volcano.sh/jdb-min-available"
BUDGET_MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
HIERARCHY = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS = "volcano.sh/hierarchy-weights"
CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"

DEFAULT_QUEUE = "default"
DEFAULT_SCHEDULER = "volcano"

JOB_API_VERSION = "batch.volcano.sh/v1alpha1"


def disruption_budget(annotations: dict[str, str]) -> dict[str, str]:
    """The annotation of a disruption budget: the minimum if there is one, else the maximum."""
    for key in (BUDGET_MIN_AVAILABLE, BUDGET_MAX_UNAVAILABLE):
        if key in annotations:
            return {key: annotations[key]}
    return {}


def picked(source: dict[str, str], *names: str) -> dict[str, str]:
    """The entries of these names, as far as they are there."""
    return {name: source[name] for name in names if name in source}
