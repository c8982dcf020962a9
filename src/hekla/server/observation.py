"""Observation: what a cycle came to, as plain numbers that outlive its session.

It is made in the engine's thread, before the next cycle changes what the session stands on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hekla import __version__
from hekla.cluster.kubernetes import KubernetesCluster
from hekla.cluster.kubernetes.intents import WriteOutcome
from hekla.cluster.kubernetes.outbox import WriteRank
from hekla.engine.explain.findings import waits
from hekla.engine.framework.figures import QueueFigures
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.resources import CPU, MEMORY, PODS, is_whole
from hekla.server.measures import AMOUNTS, PHASES

if TYPE_CHECKING:
    from hekla.server.server import Server


Series = dict[tuple[str, ...], float]
"""By the values of the labels."""
Figures = dict[str, Series]
"""By the name of the metric."""
NOTHING = {CPU: 0.0, MEMORY: 0.0}


@dataclass
class JobHistory:
    """What is remembered of jobs from cycle to cycle, for as long as they are there."""

    placed_at: dict[str, float] = field(default_factory=dict)
    """By job UID, when tasks of it were last placed."""
    retries: Counter[str] = field(default_factory=Counter)

    def forget_all_but(self, jobs: Mapping[str, Job]) -> None:
        for memory in (self.placed_at, self.retries):
            for uid in memory.keys() - jobs.keys():
                del memory[uid]


def observed(session: Session, history: JobHistory) -> Figures:
    """Everything that is told of queues and jobs."""
    history.forget_all_but(session.jobs)
    return {
        **_of_queues(session),
        **_of_jobs(session, history),
        **_of_waiting_jobs(session, history),
        **_of_pod_groups(session),
    }


def _of_queues(session: Session) -> Figures:
    accounts: dict[str, QueueFigures] = {}
    for plugin in session.plugins:
        accounts |= plugin.queue_figures()
    idle = QueueFigures(allocated=NOTHING, request=NOTHING, inqueue=NOTHING, share=0.0)
    figures: Figures = {}
    for name, queue in session.queues.items():
        account = accounts.get(name, idle if accounts else QueueFigures())
        for what in AMOUNTS:
            _note_amounts(figures, name, f"volcano_queue_{what}", getattr(account, what))
        _note(figures, "volcano_queue_weight", name, value=float(queue.weight))
        if account.share is not None:
            _note(figures, "volcano_queue_share", name, value=account.share)
        if account.is_overused is not None:
            _note(figures, "volcano_queue_overused", name, value=float(account.is_overused))
    return figures


def _note_amounts(figures: Figures, queue: str, name: str, amounts: Mapping[str, float]) -> None:
    for resource, amount in amounts.items():
        if resource == CPU:
            _note(figures, f"{name}_milli_cpu", queue, value=amount)
        elif resource == MEMORY:
            _note(figures, f"{name}_memory_bytes", queue, value=amount)
        else:
            # As in Volcano, storage and huge pages are told in thousandths of bytes.
            factor = 1000 if is_whole(resource) and resource != PODS else 1
            _note(figures, f"{name}_scalar_resources", queue, resource, value=factor * amount)


def _of_jobs(session: Session, history: JobHistory) -> Figures:
    figures: Figures = {}
    for plugin in session.plugins:
        for uid, share in plugin.job_shares().items():
            job = session.jobs[uid]
            _note(figures, "volcano_job_share", job.namespace, job.name, value=share)
    placed = ((session.jobs[uid], at) for uid, at in history.placed_at.items())
    for job, at in placed:
        labels = (job.name, job.queue, job.namespace)
        _note(figures, "volcano_e2e_job_scheduling_start_time", *labels, value=job.created)
        _note(figures, "volcano_e2e_job_scheduling_last_time", *labels, value=at)
        age = 1000 * max(at - job.created, 0.0)
        _note(figures, "volcano_e2e_job_scheduling_duration", *labels, value=age)
    return figures


def _of_waiting_jobs(session: Session, history: JobHistory) -> Figures:
    """Jobs at rest wait for nothing."""
    figures: Figures = {"hekla_pending_jobs_by_reason": {}}
    pending: Counter[str] = Counter(dict.fromkeys(session.queues, 0))
    by_speaker: Counter[str] = Counter()
    born: dict[str, float] = {}
    unready = 0
    for job in filter(waits, [*session.active_jobs(), *session.attention.waiting()]):
        pending[job.queue] += 1
        by_speaker.update(_speakers(session, job))
        born[job.queue] = min(job.created, born.get(job.queue, job.created))
        missing = max(job.minimum - job.roster.ready, 0)
        _note(figures, "volcano_unschedule_task_count", job.uid, value=missing)
        if missing:
            unready += 1
            history.retries[job.uid] += 1
    _note(figures, "volcano_unschedule_job_count", value=unready)
    for uid, count in history.retries.items():
        _note(figures, "volcano_job_retry_counts", uid, value=count)
    for queue, count in pending.items():
        _note(figures, "hekla_pending_jobs", queue, value=count)
        age = max(session.now - born[queue], 0.0) if queue in born else 0.0
        _note(figures, "hekla_oldest_pending_seconds", queue, value=age)
    for speaker, count in by_speaker.items():
        _note(figures, "hekla_pending_jobs_by_reason", speaker, value=count)
    return figures


def _speakers(session: Session, job: Job) -> Iterable[str]:
    """Who had something to say about the job in this cycle."""
    notes = (*session.trace.notes_of(job.uid), *session.trace.queues.get(job.queue, ()))
    return {note.speaker for note in notes} or ("nobody",)


def _of_pod_groups(session: Session) -> Figures:
    counts: Counter[tuple[str, str]] = Counter(
        (job.queue, job.pod_group.status.phase or "Pending") for job in session.jobs.values()
    )
    return {
        f"volcano_queue_pod_group_{phase.lower()}_count": {
            (queue,): float(counts[queue, phase]) for queue in session.queues
        }
        for phase in PHASES
    }


def _note(figures: Figures, name: str, *labels: str, value: float) -> None:
    figures.setdefault(name, {})[labels] = float(value)


def figures_of(server: Server) -> Figures:
    conf = server.conf_file
    return {
        "hekla_build_info": {(__version__,): 1},
        "hekla_is_leader": {(): server.leads},
        "hekla_cycles_total": {(): server.cycles},
        "hekla_cycle_failures_total": {(): server.failures},
        "hekla_put_aside": {(kind,): count for kind, count in server.cluster.aside.counts().items()},
        "hekla_background_failures_total": {
            (task,): count for task, count in server.cluster.background.failures.items()
        },
        "hekla_config_last_reload_success": {(): conf.is_good},
        "hekla_config_reloads_total": {(): conf.reloads},
        "hekla_config_info": {(conf.hash,): 1},
        "hekla_missing_permissions": {(): len(server.permissions.missing)},
        **_of_writes(server.cluster),
        **_of_watches(server.cluster),
        **_of_audit(server.cluster),
    }


def _of_writes(cluster: KubernetesCluster) -> Figures:
    outbox = cluster.outbox
    return {
        "hekla_binds_total": {(outcome.value,): cluster.binding.ends[outcome] for outcome in WriteOutcome},
        "hekla_intents_total": {(): cluster.binding.begun},
        "hekla_open_intents": {(): len(cluster.binding.open)},
        "hekla_evictions_total": {
            (outcome.value,): cluster.evictions.ends[outcome]
            for outcome in WriteOutcome
            if outcome is not WriteOutcome.ADOPTED
        },
        "hekla_open_evictions": {(): len(cluster.evictions.open)},
        "hekla_writes_waiting": {(rank.name.lower(),): outbox.waiting[rank] for rank in WriteRank},
        "hekla_writes_under_way": {(rank.name.lower(),): outbox.under_way[rank] for rank in WriteRank},
        "hekla_writes_failed_total": {
            ("eviction",): cluster.evictions.failed,
            ("status",): cluster.statuses.failed,
        },
        "hekla_events_lost_total": {(): cluster.recorder.lost},
        "hekla_events_dropped_total": {(): outbox.dropped[WriteRank.EVENT]},
    }


def _of_watches(cluster: KubernetesCluster) -> Figures:
    health_by_kind = {kind: reflector.health for kind, reflector in cluster.reflectors.items()}
    return {
        "hekla_objects": {(kind.__name__,): len(cluster.store.by_key(kind)) for kind in health_by_kind},
        "hekla_lists_total": {(kind.__name__,): health.lists for kind, health in health_by_kind.items()},
        "hekla_watch_breaks_total": {
            (kind.__name__,): health.breaks for kind, health in health_by_kind.items()
        },
        "hekla_watch_staleness_seconds": {
            (kind.__name__,): health.silence if health.trouble and not health.is_absent else 0.0
            for kind, health in health_by_kind.items()
        },
    }


def _of_audit(cluster: KubernetesCluster) -> Figures:
    audit = cluster.audit
    return {
        "hekla_audits_total": {(): audit.rounds},
        "hekla_audit_drift_total": {
            (kind.__name__,): audit.drift[kind.__name__] for kind in cluster.reflectors
        },
        "hekla_accounting_differences_total": {
            (account,): audit.differences[account] for account in ("rooms", "engine")
        },
    }
