"""Measures: every metric that the process shows, in one table.

Names, types, labels and buckets of those that begin with `volcano_` are Volcano's, so that dashboards and
alerts go on working. The reference page is printed from here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One metric: its type is counter, gauge or histogram."""

    name: str
    type: str
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def buckets(least: float, most: float, count: int) -> tuple[float, ...]:
    """So many bounds from the least to the most, each the same factor above the one before."""
    factor = (most / least) ** (1 / (count - 1))
    return tuple(least * factor**step for step in range(count))


CYCLE = buckets(1, 5000, 20)
JOB = buckets(100, 120_000, 30)
PLUGIN = buckets(0.1, 100, 15)
ACTION = buckets(1, 2000, 20)
TASK = buckets(50, 60_000, 30)
STAGE = buckets(0.1, 500, 20)
OF_JOB = ("job_name", "queue", "job_namespace")

AMOUNTS = {
    "allocated": "resources that the queue's tasks hold",
    "request": "resources that the queue's tasks hold or ask for",
    "deserved": "deserved resources of the queue",
    "capacity": "capability of the queue as it is configured",
    "real_capacity": "capability of the queue, less the guarantees of other queues",
    "inqueue": "minimum resources of the queue's admitted jobs that do not run yet",
}
"""What is measured of every queue; a limit that there is not has no series."""
PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")


def _amounts(what: str, meaning: str) -> tuple[Metric, ...]:
    name = f"volcano_queue_{what}"
    return (
        Metric(f"{name}_milli_cpu", "gauge", f"{meaning}: millicores", ("queue_name",)),
        Metric(f"{name}_memory_bytes", "gauge", f"{meaning}: bytes of memory", ("queue_name",)),
        Metric(
            f"{name}_scalar_resources",
            "gauge",
            f"{meaning}: other resources, in thousandths; pods as a number",
            ("queue_name", "resource"),
        ),
    )


VOLCANO = (
    Metric("volcano_e2e_scheduling_latency_milliseconds", "histogram", "how long a cycle took", (), CYCLE),
    Metric(
        "volcano_open_session_duration_milliseconds",
        "histogram",
        "how long opening a session took",
        (),
        CYCLE,
    ),
    Metric(
        "volcano_e2e_job_scheduling_latency_milliseconds",
        "histogram",
        "time from the creation of a job to the placement of its tasks",
        (),
        JOB,
    ),
    Metric(
        "volcano_e2e_job_scheduling_duration",
        "gauge",
        "milliseconds from the creation of the job to the last placement of its tasks",
        OF_JOB,
    ),
    Metric(
        "volcano_e2e_job_scheduling_start_time", "gauge", "when the job was created, unix seconds", OF_JOB
    ),
    Metric(
        "volcano_e2e_job_scheduling_last_time",
        "gauge",
        "when tasks of the job were last placed, unix seconds",
        OF_JOB,
    ),
    Metric(
        "volcano_plugin_scheduling_latency_milliseconds",
        "histogram",
        "how long the plugin took to open or close a session (OnSessionOpen, OnSessionClose)",
        ("plugin", "OnSession"),
        PLUGIN,
    ),
    Metric(
        "volcano_action_scheduling_latency_milliseconds",
        "histogram",
        "how long the action took",
        ("action",),
        ACTION,
    ),
    Metric(
        "volcano_task_scheduling_latency_milliseconds",
        "histogram",
        "time from the creation of a pod to its placement (Assumed) and to its confirmed bind (Bound)",
        ("stage",),
        TASK,
    ),
    Metric(
        "volcano_scheduling_stage_duration_milliseconds",
        "histogram",
        "how long a bind took (stage Bind)",
        ("stage",),
        STAGE,
    ),
    Metric(
        "volcano_schedule_attempts_total",
        "counter",
        "pods that were bound (scheduled), found no node (unschedulable), or whose bind failed (error)",
        ("result",),
    ),
    Metric(
        "volcano_pod_preemption_victims", "gauge", "pods evicted by preempt and gangpreempt in the last cycle"
    ),
    Metric(
        "volcano_total_preemption_attempts",
        "counter",
        "jobs for which preempt and gangpreempt evicted pods, counted in every cycle",
    ),
    Metric(
        "volcano_eviction_transactions_total",
        "counter",
        "jobs for which pods were evicted, by action",
        ("action",),
    ),
    Metric(
        "volcano_unschedule_task_count",
        "gauge",
        "tasks that a pending job lacks to its minimum",
        ("job_id",),
    ),
    Metric("volcano_unschedule_job_count", "gauge", "jobs that lack tasks to their minimum"),
    Metric(
        "volcano_job_share",
        "gauge",
        "dominant share of the job: its largest part of any resource",
        ("job_ns", "job_id"),
    ),
    Metric(
        "volcano_job_retry_counts",
        "counter",
        "cycles in which the job stayed below its minimum",
        ("job_id",),
    ),
    *(measure for what, meaning in AMOUNTS.items() for measure in _amounts(what, meaning)),
    Metric(
        "volcano_queue_share",
        "gauge",
        "allocated by deserved resources, of the resource where that is largest",
        ("queue_name",),
    ),
    Metric("volcano_queue_weight", "gauge", "the queue's weight", ("queue_name",)),
    Metric("volcano_queue_overused", "gauge", "1 while the queue is overused", ("queue_name",)),
    *(
        Metric(
            f"volcano_queue_pod_group_{phase.lower()}_count",
            "gauge",
            f"PodGroups of the queue in phase {phase}",
            ("queue_name",),
        )
        for phase in PHASES
    ),
)
OWN = (
    Metric("hekla_build_info", "gauge", "1, with the version of hekla", ("version",)),
    Metric("hekla_is_leader", "gauge", "1 while this replica leads"),
    Metric("hekla_cycles_total", "counter", "completed cycles"),
    Metric("hekla_cycle_failures_total", "counter", "cycles that failed"),
    Metric("hekla_put_aside", "gauge", "objects put aside because cycles failed on them", ("kind",)),
    Metric(
        "hekla_background_failures_total",
        "counter",
        "unexpected failures of background tasks, after which they were restarted",
        ("task",),
    ),
    Metric("hekla_binds_total", "counter", "binds that have ended, by outcome", ("outcome",)),
    Metric("hekla_intents_total", "counter", "binds that were started"),
    Metric("hekla_open_intents", "gauge", "binds in progress"),
    Metric(
        "hekla_evictions_total",
        "counter",
        "evictions that have ended, by outcome",
        ("outcome",),
    ),
    Metric("hekla_open_evictions", "gauge", "evictions in progress"),
    Metric("hekla_writes_waiting", "gauge", "writes that wait to be sent, by rank", ("rank",)),
    Metric("hekla_writes_under_way", "gauge", "writes that wait for the API server's answer", ("rank",)),
    Metric(
        "hekla_writes_failed_total", "counter", "evictions and statuses that could not be written", ("what",)
    ),
    Metric("hekla_events_lost_total", "counter", "events that the API server refused"),
    Metric(
        "hekla_events_dropped_total", "counter", "events that were not sent because too many were waiting"
    ),
    Metric("hekla_objects", "gauge", "known objects, by kind", ("kind",)),
    Metric("hekla_lists_total", "counter", "full lists of the kind", ("kind",)),
    Metric("hekla_watch_breaks_total", "counter", "failed lists and watches of the kind", ("kind",)),
    Metric(
        "hekla_watch_staleness_seconds",
        "gauge",
        "time since the API server was last heard of about the kind; 0 while its watch is connected",
        ("kind",),
    ),
    Metric("hekla_audits_total", "counter", "completed audits"),
    Metric(
        "hekla_audit_drift_total",
        "counter",
        "objects that differed from the API server's and were corrected",
        ("kind",),
    ),
    Metric(
        "hekla_accounting_differences_total",
        "counter",
        "nodes whose usage differed from the sum over their pods, in node usage (rooms) or the engine",
        ("account",),
    ),
    Metric(
        "hekla_futile_evictions_total",
        "counter",
        "pods evicted in vain: the job they made room for did not start there",
    ),
    Metric("hekla_config_last_reload_success", "gauge", "0 while the configuration file is refused"),
    Metric("hekla_config_reloads_total", "counter", "configuration changes that took effect"),
    Metric("hekla_config_info", "gauge", "1, with the hash of the configuration in effect", ("hash",)),
    Metric("hekla_missing_permissions", "gauge", "permissions that the process needs and lacks"),
    Metric("hekla_pending_jobs", "gauge", "jobs with pending tasks, by queue", ("queue",)),
    Metric(
        "hekla_pending_jobs_by_reason",
        "gauge",
        "jobs with pending tasks, by the plugin or action that gave the reason; nobody: no reason known",
        ("speaker",),
    ),
    Metric("hekla_oldest_pending_seconds", "gauge", "age of the oldest job with pending tasks", ("queue",)),
)
MEASURES: dict[str, Metric] = {measure.name: measure for measure in (*VOLCANO, *OWN)}
