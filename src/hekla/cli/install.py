"""`hekla install`: what a cluster needs to run hekla, printed or applied."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from hekla.cli.options import CONF_HELP, GoSwitches, read_text, registry_with, usable_conf
from hekla.cli.output import echo, warn
from hekla.conf import configuration_in
from hekla.errors import InputError
from hekla.server.deploy.manifests import NAMESPACE, SCHEDULER_NAME, Installation, as_yaml

CONTROLLERS_DELETE = (
    "the controllers of Jobs delete pods, so the permission stays; to evict no pod, leave preempt, reclaim, "
    "shuffle and their gang variants out of the configuration"
)


@click.command(cls=GoSwitches)
@click.option(
    "--standalone/--drop-in",
    "is_alone",
    default=True,
    help="Alone, with controllers and definitions (default); or as the scheduler of a cluster with Volcano.",
)
@click.option("--namespace", default=NAMESPACE, show_default=True, help="Where the scheduler runs.")
@click.option("--image", help="The image of the scheduler.  [default: hekla and this version]")
@click.option("--scheduler-name", default=SCHEDULER_NAME, show_default=True, help="Whose pods it serves.")
@click.option(
    "--conf",
    "conf_file",
    type=click.Path(path_type=Path),
    help=f"{CONF_HELP}  [default: the preset helm]",
)
@click.option("--eviction/--no-eviction", default=True, help="Whether it may evict pods (default: yes).")
@click.option(
    "--eviction-api/--no-eviction-api",
    "keeps_budgets",
    default=False,
    help="Whether it evicts through the API that keeps PodDisruptionBudgets (default: no, it deletes).",
)
@click.option(
    "--scheduling-gates/--no-scheduling-gates",
    "gates",
    default=False,
    help="Whether it may remove the queue-allocation gate from pods (default: no).",
)
@click.option("--crds/--no-crds", default=None, help="Definitions of the objects (default: only standalone).")
@click.option("--apply", "is_applied", is_flag=True, help="Apply to the cluster instead of printing.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="How to reach the cluster, for --apply.")
@click.option("--context", help="Which context of the kubeconfig.")
def install(  # noqa: PLR0917 - one parameter per option
    is_alone: bool,
    namespace: str,
    image: str | None,
    scheduler_name: str,
    conf_file: Path | None,
    eviction: bool,
    keeps_budgets: bool,
    gates: bool,
    crds: bool | None,
    is_applied: bool,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Print the manifests that install hekla, ready for `kubectl apply --server-side -f -`, or apply them."""
    installation = Installation(
        namespace=namespace,
        scheduler_name=scheduler_name,
        image=image,
        conf=None if conf_file is None else checked(conf_file),
        has_definitions=is_alone if crds is None else crds,
        has_controllers=is_alone,
        may_evict=eviction,
        keeps_budgets=keeps_budgets,
        may_open_gates=gates,
    )
    if is_alone and not eviction:
        warn([CONTROLLERS_DELETE])
    if is_applied:
        apply_to_cluster(installation, kubeconfig, context)
    else:
        echo(as_yaml(installation.objects()), nl=False)


def checked(conf_file: Path) -> str:
    """The text of a configuration that the scheduler can use."""
    text = read_text(conf_file)
    usable_conf(text, str(conf_file), registry_with(()), strict=False)
    return str(configuration_in(text).text)


def apply_to_cluster(installation: Installation, kubeconfig: Path | None, context: str | None) -> None:
    asyncio.run(_apply(installation, kubeconfig, context))


async def _apply(installation: Installation, kubeconfig: Path | None, context: str | None) -> None:
    try:
        from hekla.cluster.kubernetes.api import Client, find_access  # noqa: PLC0415 - as above
        from hekla.server.deploy.apply import apply  # noqa: PLC0415 - needs the extra, which printing does not
    except ImportError as error:
        raise InputError('--apply needs more: pip install "hekla[kubernetes]"') from error

    async with Client(find_access(kubeconfig, context), agent="hekla-install") as client:
        async for line in apply(client, installation.objects()):
            echo(line)
