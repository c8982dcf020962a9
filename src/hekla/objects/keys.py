"""Keys of labels, annotations, gates and resources that hekla reads or writes, by what they mean."""

from __future__ import annotations

# Gangs and their pods

GROUP_NAME = "scheduling.k8s.io/group-name"
ALTERNATIVE_GROUP_NAME = "scheduling.volcano.sh/group-name"
GROUP_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
QUEUE_OF_POD = "scheduling.volcano.sh/queue-name"
"""Read on pods and namespaces; not to be confused with `QUEUE_NAME`, which is written for people."""
QUEUE_ALLOCATION_GATE = "scheduling.volcano.sh/queue-allocation-gate"
GATE_OF_RESTING_PODS = "hekla.dev/rests-after-a-failed-bind"
"""Seen by the scheduler alone: pods of a job that rests are not placed."""
EVICTION_REFUSED = "hekla.dev/eviction-refused"
"""Laid over a pod by the cluster, for the scheduler alone: the API server does not let it go, for now."""

# Jobs

JOB_API_VERSION = "batch.volcano.sh/v1alpha1"
VOLCANO_PREFIX = "volcano.sh/"
JOB_NAME = "volcano.sh/job-name"
JOB_NAMESPACE = "volcano.sh/job-namespace"
JOB_VERSION = "volcano.sh/job-version"
JOB_RETRY_COUNT = "volcano.sh/job-retry-count"
JOB_FORWARDING = "volcano.sh/job-forwarding"
JOB_TYPE = "volcano.sh/job-type"
TASK_SPEC = "volcano.sh/task-spec"
TASK_INDEX = "volcano.sh/task-index"
TASK_PRIORITY = "volcano.sh/task-priority"
TEMPLATE_UID = "volcano.sh/template-uid"
QUEUE_NAME = "volcano.sh/queue-name"
PARTITION_ID = "volcano.sh/partition-id"
OUT_OF_SYNC = "volcano.sh/controller-out-of-sync"
RESOURCE_GROUP = "volcano.sh/resource-group"

# What plugins read

NUMA_POLICY = "volcano.sh/numa-topology-policy"
TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier"
PREEMPTABLE = "volcano.sh/preemptable"
COOLDOWN_TIME = "volcano.sh/cooldown-time"
REVOCABLE_ZONE = "volcano.sh/revocable-zone"
BUDGET_MIN_AVAILABLE = "volcano.sh/jdb-min-available"
BUDGET_MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
WAITING_TIME = "sla-waiting-time"
VOLCANO_WAITING_TIME = "volcano.sh/sla-waiting-time"
STRATEGY_TYPE = "volcano.sh/resource-strategy-scoring-type"
STRATEGY_WEIGHT = "volcano.sh/resource-strategy-weight"
ROLE_AFFINITY = "volcano.sh/task-topology-affinity"
ROLE_ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
ROLE_ORDER = "volcano.sh/task-topology-task-order"

# Queues

HIERARCHY = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS = "volcano.sh/hierarchy-weights"
CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"

# Nodes

NODE_GROUP = "volcano.sh/nodegroup-name"
NODE_GROUP_LIMITS = "volcano.sh/nodegroup-resource-limits"
OVERSUBSCRIBED_CPU = "volcano.sh/oversubscription-cpu"
OVERSUBSCRIBED_MEMORY = "volcano.sh/oversubscription-memory"
CPU_USAGE = "hekla.dev/cpu-usage"
MEMORY_USAGE = "hekla.dev/memory-usage"
USAGE_AT = "hekla.dev/usage-at"

# Cards

GPU_MEMORY = "volcano.sh/gpu-memory"
GPU_NUMBER = "volcano.sh/gpu-number"
GPU_INDEX = "volcano.sh/gpu-index"
GPU_UNHEALTHY = "volcano.sh/gpu-unhealthy-ids"
VGPU_NUMBER = "volcano.sh/vgpu-number"
VGPU_MEMORY = "volcano.sh/vgpu-memory"
VGPU_PERCENTAGE = "volcano.sh/vgpu-memory-percentage"
VGPU_CORES = "volcano.sh/vgpu-cores"
VGPU_REGISTER = "volcano.sh/node-vgpu-register"
VGPU_HELD = "volcano.sh/vgpu-ids-new"
VGPU_MODE = "volcano.sh/vgpu-mode"
VGPU_GROUP_POLICY = "volcano.sh/vgpu-podgroup-policy"
USE_GPU_TYPE = "nvidia.com/use-gputype"
AVOID_GPU_TYPE = "nvidia.com/nouse-gputype"
USE_GPU_UUID = "volcano.sh/vgpu-use-gpuuuid"
AVOID_GPU_UUID = "volcano.sh/vgpu-nouse-gpuuuid"

# How the embedded cluster treats an object

RUN_SECONDS = "hekla.dev/run-seconds"
"""How long a pod runs once started: a number, or "forever". On the pod, or on its PodGroup or Job."""
EXIT_CODE = "hekla.dev/exit-code"
"""What a pod ends with; anything but 0 means that it fails."""
ARRIVES_AT = "hekla.dev/arrives-at"
"""When the object is submitted, in seconds after the start of the cluster."""

# Of Kubernetes itself

STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


# What need not be said

DEFAULT_QUEUE = "default"
DEFAULT_SCHEDULER = "volcano"


def disruption_budget(annotations: dict[str, str]) -> dict[str, str]:
    """The annotation of a disruption budget: the minimum if there is one, else the maximum."""
    for key in (BUDGET_MIN_AVAILABLE, BUDGET_MAX_UNAVAILABLE):
        if key in annotations:
            return {key: annotations[key]}
    return {}


def picked(source: dict[str, str], *names: str) -> dict[str, str]:
    """The entries of these names, as far as they are there."""
    return {name: source[name] for name in names if name in source}


READ_DOMAINS = ("volcano.sh", "scheduling.k8s.io", "hekla.dev", "nvidia.com")
READ_ANNOTATIONS = frozenset(
    {
        "pv.kubernetes.io/bind-completed",
        WAITING_TIME,
        STORAGE_CLASS,
        SELECTED_NODE,
    }
)


def is_read(annotation: str) -> bool:
    """Whether an annotation may matter to a scheduler."""
    domain, slash, _ = annotation.partition("/")
    return annotation in READ_ANNOTATIONS or (
        bool(slash) and any(domain == known or domain.endswith(f".{known}") for known in READ_DOMAINS)
    )
