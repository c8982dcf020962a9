"""Measures: every metric that the process shows, in one table.

Names, types, labels and buckets of those that begin with `volcano_` are Volcano's, so that dashboards and
alerts go on working. The reference page is printed from here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
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
    "allocated": "what the queue's tasks hold",
    "request": "what the queue's tasks hold or ask for",
    "deserved": "what the queue has a right to",
    "capacity": "what the queue may hold at most by its own words",
    "real_capacity": "what the queue may hold at most beside what others are guaranteed",
    "inqueue": "what admitted jobs of the queue wait for",
}
"""What is measured of every queue; a limit that there is not has no series."""
PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")


def _amounts(what: str, meaning: str) -> tuple[Measure, ...]:
    name = f"volcano_queue_{what}"
    return (
        Measure(f"{name}_milli_cpu", "gauge", f"{meaning}: millicores", ("queue_name",)),
        Measure(f"{name}_memory_bytes", "gauge", f"{meaning}: bytes of memory", ("queue_name",)),
        Measure(
            f"{name}_scalar_resources",
            "gauge",
            f"{meaning}: other resources, in thousandths but for pods",
            ("queue_name", "resource"),
        ),
    )


VOLCANO = (
    Measure("volcano_e2e_scheduling_latency_milliseconds", "histogram", "how long a cycle took", (), CYCLE),
    Measure(
        "volcano_open_session_duration_milliseconds",
        "histogram",
        "how long opening a session took",
        (),
        CYCLE,
    ),
    Measure(
        "volcano_e2e_job_scheduling_latency_milliseconds",
        "histogram",
        "from the making of a job to the placing of tasks of it",
        (),
        JOB,
    ),
    Measure(
        "volcano_e2e_job_scheduling_duration",
        "gauge",
        "milliseconds from the making of the job to the last placing of tasks of it",
        OF_JOB,
    ),
    Measure("volcano_e2e_job_scheduling_start_time", "gauge", "when the job was made, unix seconds", OF_JOB),
    Measure(
        "volcano_e2e_job_scheduling_last_time",
        "gauge",
        "when tasks of it were last placed, unix seconds",
        OF_JOB,
    ),
    Measure(
        "volcano_plugin_scheduling_latency_milliseconds",
        "histogram",
        "how long the plugin took to open or close a session (OnSessionOpen, OnSessionClose)",
        ("plugin", "OnSession"),
        PLUGIN,
    ),
    Measure(
        "volcano_action_scheduling_latency_milliseconds",
        "histogram",
        "how long the action took",
        ("action",),
        ACTION,
    ),
    Measure(
        "volcano_task_scheduling_latency_milliseconds",
        "histogram",
        "from the making of a pod to its placing (Assumed) and to the API server's word for it (Bound)",
        ("stage",),
        TASK,
    ),
    Measure(
        "volcano_scheduling_stage_duration_milliseconds",
        "histogram",
        "how long a bind took (stage Bind)",
        ("stage",),
        STAGE,
    ),
    Measure(
        "volcano_schedule_attempts_total",
        "counter",
        "pods that were bound (scheduled), told why not (unschedulable), or whose bind failed (error)",
        ("result",),
    ),
    Measure(
        "volcano_pod_preemption_victims", "gauge", "pods evicted by preempt and gangpreempt in the last cycle"
    ),
    Measure(
        "volcano_total_preemption_attempts",
        "counter",
        "jobs that pods were evicted for by preempt and gangpreempt, cycle by cycle",
    ),
    Measure(
        "volcano_eviction_transactions_total",
        "counter",
        "jobs that pods were evicted for, by action",
        ("action",),
    ),
    Measure(
        "volcano_unschedule_task_count",
        "gauge",
        "how many tasks a waiting job is short of its minimum",
        ("job_id",),
    ),
    Measure("volcano_unschedule_job_count", "gauge", "jobs that are short of their minimum"),
    Measure(
        "volcano_job_share",
        "gauge",
        "the largest part of any resource that the job holds",
        ("job_ns", "job_id"),
    ),
    Measure(
        "volcano_job_retry_counts",
        "counter",
        "cycles in which the job stayed short of its minimum",
        ("job_id",),
    ),
    *(measure for what, meaning in AMOUNTS.items() for measure in _amounts(what, meaning)),
    Measure(
        "volcano_queue_share",
        "gauge",
        "the largest part of anything it deserves that the queue holds",
        ("queue_name",),
    ),
    Measure("volcano_queue_weight", "gauge", "the queue's weight", ("queue_name",)),
    Measure("volcano_queue_overused", "gauge", "1 where the queue has all it deserves", ("queue_name",)),
    *(
        Measure(
            f"volcano_queue_pod_group_{phase.lower()}_count",
            "gauge",
            f"PodGroups of the queue in phase {phase}",
            ("queue_name",),
        )
        for phase in PHASES
    ),
)
OWN = (
    Measure("hekla_build_info", "gauge", "1, with the version of hekla", ("version",)),
    Measure("hekla_is_leader", "gauge", "1 while this replica leads"),
    Measure("hekla_cycles_total", "counter", "cycles that came to an end"),
    Measure("hekla_cycle_failures_total", "counter", "cycles that failed"),
    Measure(
        "hekla_put_aside", "gauge", "objects that cycles failed on, left out until they change", ("kind",)
    ),
    Measure(
        "hekla_background_failures_total",
        "counter",
        "how often a background task failed in an unforeseen way and was begun again",
        ("task",),
    ),
    Measure("hekla_binds_total", "counter", "binds that came to an end, by what came of them", ("outcome",)),
    Measure("hekla_intents_total", "counter", "binds that were begun"),
    Measure("hekla_open_intents", "gauge", "binds that have no end yet"),
    Measure(
        "hekla_evictions_total",
        "counter",
        "evictions that came to an end, by what came of them",
        ("outcome",),
    ),
    Measure("hekla_open_evictions", "gauge", "evictions that have no end yet"),
    Measure("hekla_writes_waiting", "gauge", "writes that wait for their turn, by rank", ("rank",)),
    Measure("hekla_writes_under_way", "gauge", "writes that wait for the API server's answer", ("rank",)),
    Measure(
        "hekla_writes_failed_total", "counter", "evictions and statuses that could not be written", ("what",)
    ),
    Measure("hekla_events_lost_total", "counter", "events that the API server did not take"),
    Measure("hekla_events_dropped_total", "counter", "events that were not sent because too many waited"),
    Measure("hekla_objects", "gauge", "objects that are known, by kind", ("kind",)),
    Measure("hekla_lists_total", "counter", "how often all objects of the kind were listed", ("kind",)),
    Measure("hekla_watch_breaks_total", "counter", "how often a list or watch of the kind failed", ("kind",)),
    Measure(
        "hekla_watch_staleness_seconds",
        "gauge",
        "how long the kind has not been heard of although it should; 0 while its watch stands",
        ("kind",),
    ),
    Measure("hekla_audits_total", "counter", "self-audits that came to an end"),
    Measure(
        "hekla_audit_drift_total",
        "counter",
        "objects that were known otherwise than the API server has them, and put right",
        ("kind",),
    ),
    Measure(
        "hekla_accounting_differences_total",
        "counter",
        "nodes counted otherwise than their pods add up to, in node usage (rooms) or by the engine",
        ("account",),
    ),
    Measure(
        "hekla_futile_evictions_total",
        "counter",
        "pods evicted for a job that did not start in the freed room, or lost it to another eviction",
    ),
    Measure("hekla_config_last_reload_success", "gauge", "0 while the configuration file is refused"),
    Measure("hekla_config_reloads_total", "counter", "changed configurations that were taken"),
    Measure("hekla_config_info", "gauge", "1, with the hash of the configuration that holds", ("hash",)),
    Measure("hekla_missing_permissions", "gauge", "permissions that the process needs and does not have"),
    Measure("hekla_pending_jobs", "gauge", "jobs of which something waits, by queue", ("queue",)),
    Measure(
        "hekla_pending_jobs_by_reason",
        "gauge",
        "jobs of which something waits, by the plugin or action that gave a reason; nobody: there is none",
        ("speaker",),
    ),
    Measure(
        "hekla_oldest_pending_seconds", "gauge", "age of the oldest job of which something waits", ("queue",)
    ),
)
MEASURES: dict[str, Measure] = {measure.name: measure for measure in (*VOLCANO, *OWN)}
