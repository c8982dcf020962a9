"""A live cluster on the command line: how to reach it, what to read of it, what to say meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hekla.cli.options import chosen_conf, usable_conf
from hekla.cli.output import warn
from hekla.cluster.store import relevant
from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import InputError
from hekla.objects import Manifest, VolcanoJob
from hekla.objects.read import read_manifests

if TYPE_CHECKING:
    from hekla.cluster.kubernetes.api.access import Access
    from hekla.cluster.kubernetes.api.reading import ClusterReading

Command = TypeVar("Command", bound=Callable[..., Any])
MANY = 2_000
"""From so many objects on, a terminal shows how far reading has come."""


def access_options(command: Command) -> Command:
    """`--kubeconfig` and `--context`."""
    for option in reversed(
        (
            click.option(
                "-k", "--kubeconfig", type=click.Path(path_type=Path), help="How to reach the cluster."
            ),
            click.option("--context", help="Which context of the kubeconfig."),
        )
    ):
        command = option(command)
    return command


def conf_from_cluster_option(command: Command) -> Command:
    """`--conf-from-cluster`, with or without the name of a ConfigMap."""
    return click.option(
        "--conf-from-cluster",
        "conf_place",
        is_flag=False,
        flag_value="",
        metavar="[NAMESPACE/NAME]",
        help="The configuration in a ConfigMap of the cluster; by default Volcano's, else hekla's.",
    )(command)


scheduler_name_option = click.option(
    "--scheduler-name", "names", multiple=True, default=("volcano",), show_default=True,
    help="Whose pods are looked at; repeatable.",
)  # fmt: skip


def _names(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """Several in one value are parted by commas, as Go's flags take them."""
    return tuple(name for part in given for name in part.split(",") if name)


ignored_provisioners_option = click.option(
    "--ignored-provisioners", multiple=True, callback=_names, metavar="NAMES",
    help="Provisioners whose volumes do not count as attached; repeatable.",
)  # fmt: skip


def live_options(command: Command) -> Command:
    """`--from-cluster` with everything that goes with it."""
    flag = click.option("--from-cluster", is_flag=True, help="Decide on a live cluster; nothing is written.")
    return flag(access_options(conf_from_cluster_option(scheduler_name_option(command))))


def reach(kubeconfig: Path | None, context: str | None) -> Access:
    """The cluster that the options name."""
    try:
        from hekla.cluster.kubernetes.api.access import find_access  # noqa: PLC0415 - slow to import, and only clusters need it
    except ImportError as error:
        raise InputError('talking to a cluster needs more: pip install "hekla[kubernetes]"') from error
    if kubeconfig is not None and not kubeconfig.is_file():
        raise InputError(f'no kubeconfig "{kubeconfig}"')
    return find_access(kubeconfig, context)


def conf_for(
    access: Access,
    conf_file: Path | None,
    preset: str | None,
    place: str | None,
    registry: Registry,
    *,
    strict: bool,
) -> Conf:
    """The configuration in a file, a preset, a ConfigMap, or the one that is built in."""

    if place is None:
        return chosen_conf(conf_file, preset, registry, strict=strict)
    return usable_conf(*conf_text_in(access, conf_file, preset, place), registry, strict=strict)


def conf_text_in(access: Access, conf_file: Path | None, preset: str | None, place: str) -> tuple[str, str]:
    """What the ConfigMap says, and what messages call it."""
    from hekla.cluster.kubernetes.api.reading import conf_in_cluster  # noqa: PLC0415 - needs a client

    if conf_file is not None or preset is not None:
        raise click.UsageError("give one of --conf, --preset and --conf-from-cluster")
    return conf_in_cluster(access, place)


def read_live(access: Access, kinds: Sequence[type[Manifest]], **options: Any) -> ClusterReading:
    """The cluster as it is; what cannot be read of it is told on standard error."""
    from hekla.cluster.kubernetes.api.reading import read_cluster  # noqa: PLC0415 - needs a client

    with progress() as say:
        reading = read_cluster(access, kinds, on_progress=say, **options)
    warn(map(str, reading.complaints))
    return reading


@contextmanager
def progress() -> Iterator[Callable[[int, str], None]]:
    """A line on a terminal that counts, and is gone afterwards."""
    shown = False

    def say(count: int, plural: str) -> None:
        nonlocal shown
        if count >= MANY and sys.stderr.isatty():
            shown = True
            click.echo(f"\r\x1b[Kreading the cluster: {count} objects ({plural})", nl=False, err=True)

    try:
        yield say
    finally:
        if shown:
            click.echo("\r\x1b[K", nl=False, err=True)


def facts_for(
    access: Access, names: Sequence[str], files: Sequence[Path], *, with_jobs: bool = False
) -> list[Manifest]:
    """What a scheduler of these names looks at, with the objects of the files laid over it.

    Jobs are no part of that: what they ask for stands in their PodGroups and pods.
    """
    from hekla.cluster.kubernetes.cluster import WATCHED  # noqa: PLC0415

    kinds: tuple[type[Manifest], ...] = (*WATCHED, VolcanoJob) if with_jobs else WATCHED
    return relevant([*read_live(access, kinds).objects, *_supposed(files)], names)


def _supposed(files: Sequence[Path]) -> list[Manifest]:
    if not files:
        return []
    reading = read_manifests(files)
    warn(map(str, reading.complaints))
    jobs = [found for found in reading.objects if isinstance(found, VolcanoJob)]
    warn(f"job {job.key}: left out: beside a live cluster only its PodGroup and pods count" for job in jobs)
    return [found for found in reading.objects if not isinstance(found, VolcanoJob)]
