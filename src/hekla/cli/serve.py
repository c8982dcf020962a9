"""`hekla serve`: the scheduler of a Kubernetes cluster."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import click

from hekla.cli.from_cluster import ignored_provisioners_option
from hekla.cli.options import SIZE, SPAN, GoSwitches, registry_with
from hekla.cluster.kubernetes import KubernetesOptions
from hekla.cluster.kubernetes.api.access import find_access
from hekla.cluster.kubernetes.api.lease import LeaseOptions
from hekla.cluster.kubernetes.api.reflector import WatchPatience
from hekla.server.options import ServeOptions, set_up_logs
from hekla.server.server import Server

IGNORED = (
    "--minimum-feasible-nodes",
    "--minimum-percentage-nodes-to-find",
    "--percentage-nodes-to-find",
    "--node-worker-threads",
    "--resource-sync-timeout",
    "--priority-class",
    "--csi-storage",
    "--cache-dumper",
    "--cache-dump-dir",
    "--plugins-dir",
    "--disable-default-scheduler-config",
    "--gate-removal-worker-num",
    "--leader-elect-resource-lock",
    "--resync-period",
    "--enable-pprof",
    "-v",
    "--v",
    "--logtostderr",
    "--feature-gates",
)
"""Options of Volcano's scheduler that change nothing here; accepted, so that its command line still works."""


def _ignored_options(command: click.Command) -> click.Command:
    for name in IGNORED:
        command.params.append(
            click.Option([name], hidden=True, is_flag=False, flag_value="true", default=None)
        )
    return command


@click.command(cls=GoSwitches)
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="How to reach the cluster.")
@click.option("--context", help="Which context of the kubeconfig.")
@click.option("--master", default="", help="The API server's address, instead of the kubeconfig's.")
@click.option(
    "--scheduler-name", "names", multiple=True, default=("volcano",), show_default=True,
    help="Whose pods are served; repeatable.",
)  # fmt: skip
@click.option(
    "--scheduler-conf", type=click.Path(path_type=Path),
    help="A volcano-scheduler.conf, or a ConfigMap with one; reloaded.",
)  # fmt: skip
@click.option("--schedule-period", default=1.0, show_default="1s", type=SPAN, help="Time between cycles.")
@click.option("--default-queue", default="default", show_default=True, help="For groups that name none.")
@ignored_provisioners_option
@click.option("--controllers/--no-controllers", "with_controllers", help="Also run Jobs, queues, pod groups.")
@click.option("--kube-api-qps", default=2000.0, show_default=True, help="Calls per second, on average.")
@click.option("--kube-api-burst", default=2000, show_default=True, help="Calls at once.")
@click.option("--kube-api-timeout", default=30.0, show_default="30s", type=SPAN, help="For one answer.")
@click.option("--bind-in-flight", default=48, show_default=True, help="Writes that are under way at once.")
@click.option(
    "--eviction-api/--no-eviction-api",
    help="Evict through the API that keeps PodDisruptionBudgets, instead of deleting.",
)
@click.option(
    "--partial-gang", default="release", show_default=True, type=click.Choice(["keep", "release"]),
    help="What becomes of bound pods of a gang that stays below its minimum because binds are refused.",
)  # fmt: skip
@click.option(
    "--partial-gang-timeout", default=300.0, show_default="5m", type=SPAN, help="When that happens."
)
@click.option("--leader-elect/--no-leader-elect", default=True, show_default=True, help="One leader of many.")
@click.option("--leader-elect-resource-namespace", default="hekla-system", show_default=True)
@click.option("--leader-elect-resource-name", help="The Lease's name; by default that of the scheduler.")
@click.option("--leader-elect-lease-duration", default=15.0, show_default="15s", type=SPAN)
@click.option("--leader-elect-renew-deadline", default=10.0, show_default="10s", type=SPAN)
@click.option("--leader-elect-retry-period", default=2.0, show_default="2s", type=SPAN)
@click.option(
    "--scheduler-sharding-mode", "shard_mode", default="none", show_default=True,
    type=click.Choice(["none", "hard", "soft"]), help="Whether to keep to the nodes of a NodeShard.",
)  # fmt: skip
@click.option("--scheduler-sharding-name", "shard_name", default="volcano", show_default=True)
@click.option("--listen-address", default="127.0.0.1:8080", show_default=True, help="Where /metrics is.")
@click.option("--enable-metrics/--no-enable-metrics", default=True, show_default=True)
@click.option("--healthz-address", default="127.0.0.1:11251", show_default=True, help="/healthz and /readyz.")
@click.option("--enable-healthz/--no-enable-healthz", default=True, show_default=True)
@click.option(
    "--stall-limit", default=300.0, show_default="5m", type=SPAN,
    help="Without a completed cycle for so long, the process counts as unhealthy.",
)  # fmt: skip
@click.option("--audit-period", default=300.0, show_default="5m", type=SPAN, help="Between self-audits.")
@click.option("--watch-timeout", default=240.0, show_default="4m", type=SPAN, help="How long a watch lasts.")
@click.option("--plugin", "plugins", multiple=True, metavar="MODULE:CLASS", help="A plugin of your own.")
@click.option("--record", type=click.Path(path_type=Path), help="Keep every cycle for `hekla replay`.")
@click.option(
    "--record-limit", default="1Gi", show_default=True, type=SIZE, help="How much recordings may take."
)
@click.option("--log-format", default="text", show_default=True, type=click.Choice(["text", "json"]))
@click.option("--log-level", default="info", show_default=True,
              type=click.Choice(["debug", "info", "warning", "error"]))  # fmt: skip
def serve(**given: Any) -> None:
    """Schedule the pods of a Kubernetes cluster, in the place of Volcano's scheduler.

    The options are those of vc-scheduler where it has them; those that make no sense here are accepted and
    do nothing. It stops cleanly on SIGTERM: what is under way is finished, and the lease given back.
    """

    set_up_logs(given["log_format"], given["log_level"])
    if ignored := without_effect(given):
        logging.getLogger("hekla.serve").info("without effect here: %s", ", ".join(ignored))
    registry = registry_with(given["plugins"])
    access = find_access(given["kubeconfig"], given["context"], given["master"])
    asyncio.run(Server(access, options_from(given), registry).run())


def without_effect(given: dict[str, Any]) -> list[str]:
    """The options of Volcano's scheduler that were given and change nothing."""
    name_of = {name.lstrip("-").replace("-", "_"): name for name in IGNORED}
    return [name for param, name in name_of.items() if given[param] is not None]


def options_from(given: dict[str, Any]) -> Any:
    """What the command line says, as the process takes it."""

    names = tuple(given["names"])
    lease = None
    if given["leader_elect"]:
        lease = LeaseOptions(
            namespace=given["leader_elect_resource_namespace"],
            name=given["leader_elect_resource_name"] or names[0],
            duration=given["leader_elect_lease_duration"],
            renew_deadline=given["leader_elect_renew_deadline"],
            retry_period=given["leader_elect_retry_period"],
        )
    return ServeOptions(
        cluster=KubernetesOptions(
            scheduler_names=names,
            default_queue=given["default_queue"],
            ignored_provisioners=given["ignored_provisioners"],
            shard_mode=given["shard_mode"],
            shard_name=given["shard_name"],
            in_flight=given["bind_in_flight"],
            keeps_budgets=given["eviction_api"],
            releases_gangs=given["partial_gang"] == "release",
            gang_patience=given["partial_gang_timeout"],
            audit_period=given["audit_period"],
            patience=WatchPatience(watch=given["watch_timeout"]),
        ),
        lease=lease,
        conf_file=given["scheduler_conf"],
        period=given["schedule_period"],
        metrics_address=given["listen_address"] if given["enable_metrics"] else "",
        health_address=given["healthz_address"] if given["enable_healthz"] else "",
        qps=given["kube_api_qps"],
        burst=given["kube_api_burst"],
        timeout=given["kube_api_timeout"],
        with_controllers=given["with_controllers"],
        plugins=tuple(given["plugins"]),
        record=given["record"],
        record_limit=given["record_limit"],
        stall_limit=given["stall_limit"],
    )


_ignored_options(serve)
