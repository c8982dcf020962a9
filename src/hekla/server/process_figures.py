"""Figures of the process: what is read off its parts at the moment somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hekla import __version__
from hekla.cluster.kubernetes import KubernetesCluster
from hekla.cluster.kubernetes.intents import Outcome
from hekla.cluster.kubernetes.outbox import Rank
from hekla.server.observation import Figures

if TYPE_CHECKING:
    from hekla.server.server import Server


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
        "hekla_binds_total": {(outcome.value,): cluster.binding.ends[outcome] for outcome in Outcome},
        "hekla_intents_total": {(): cluster.binding.begun},
        "hekla_open_intents": {(): len(cluster.binding.open)},
        "hekla_evictions_total": {
            (outcome.value,): cluster.evictions.ends[outcome]
            for outcome in Outcome
            if outcome is not Outcome.ADOPTED
        },
        "hekla_open_evictions": {(): len(cluster.evictions.open)},
        "hekla_writes_waiting": {(rank.name.lower(),): outbox.waiting[rank] for rank in Rank},
        "hekla_writes_under_way": {(rank.name.lower(),): outbox.under_way[rank] for rank in Rank},
        "hekla_writes_failed_total": {
            ("eviction",): cluster.evictions.failed,
            ("status",): cluster.statuses.failed,
        },
        "hekla_events_lost_total": {(): cluster.recorder.lost},
        "hekla_events_dropped_total": {(): outbox.dropped[Rank.EVENT]},
    }


def _of_watches(cluster: KubernetesCluster) -> Figures:
    pulses = {kind: reflector.pulse for kind, reflector in cluster.reflectors.items()}
    return {
        "hekla_objects": {(kind.__name__,): len(cluster.store.by_key(kind)) for kind in pulses},
        "hekla_lists_total": {(kind.__name__,): pulse.lists for kind, pulse in pulses.items()},
        "hekla_watch_breaks_total": {(kind.__name__,): pulse.breaks for kind, pulse in pulses.items()},
        "hekla_watch_staleness_seconds": {
            (kind.__name__,): pulse.silence if pulse.trouble and not pulse.is_absent else 0.0
            for kind, pulse in pulses.items()
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
