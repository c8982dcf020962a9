"""`hekla snapshot`: the state of a cluster as a file that the other commands read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hekla.cli.from_cluster import (
    access_options,
    conf_from_cluster_option,
    conf_text_in,
    facts_for,
    reach,
    scheduler_name_option,
)
from hekla.cli.options import GoSwitches, read_conf_text
from hekla.cli.output import echo, write_out
from hekla.cluster.export import as_data, as_scenario, listed
from hekla.cluster.scramble import scramble
from hekla.conf import PRESETS
from hekla.text import counted

if TYPE_CHECKING:
    from hekla.cluster.kubernetes.api.access import Access


@click.command(cls=GoSwitches)
@access_options
@click.option("-O", "--out", type=click.Path(path_type=Path), help="Where to write; else standard output.")
@click.option("--scramble", "seed", type=int, metavar="SEED", help="Replace all names by pseudonyms.")
@click.option(
    "--conf",
    "conf_file",
    type=click.Path(path_type=Path),
    help="Add a volcano-scheduler.conf, or the one in a ConfigMap.",
)
@click.option("--preset", type=click.Choice(sorted(PRESETS)), help="Add a built-in configuration instead.")
@conf_from_cluster_option
@scheduler_name_option
def snapshot(  # noqa: PLR0917 - one parameter per option
    kubeconfig: Path | None,
    context: str | None,
    out: Path | None,
    seed: int | None,
    conf_file: Path | None,
    preset: str | None,
    conf_place: str | None,
    names: tuple[str, ...],
) -> None:
    """Write the state of a Kubernetes cluster to a file that `hekla decide` and `hekla explain` read.

    With a configuration it becomes a scenario, else a List of manifests. Only what scheduling reads is
    written: no commands, environments or secrets. With --scramble, names of namespaces, pods, nodes, queues,
    jobs, images and labels are replaced, each by the same pseudonym everywhere, so that the file can be
    shown outside and is decided in the same way. Resource names, devices and words of the configuration
    stay.
    """

    access = reach(kubeconfig, context)
    conf = conf_text(access, conf_file, preset, conf_place)
    if conf is not None and out is not None and out.suffix.lower() != ".json":
        raise click.UsageError(f'a snapshot with a configuration is a scenario: call it "{out.stem}.json"')
    # A Job says which pods are still to be made. Scrambled it is left out: its pseudonyms would give it away.
    manifests = facts_for(access, names, (), with_jobs=seed is None)
    objects = [as_data(manifest) for manifest in manifests]
    if seed is not None:
        objects, _ = scramble(manifests, objects, seed, conf=conf or "")
    title = "cluster" if out is None else out.stem
    write_out(out, listed(objects) if conf is None else as_scenario(objects, conf, title))
    if out is not None:
        echo(f"wrote {counted(len(objects), 'object')} to {out}", err=True)


def conf_text(access: Access, conf_file: Path | None, preset: str | None, place: str | None) -> str | None:
    """The configuration to add, if one is named."""
    if place is not None:
        return conf_text_in(access, conf_file, preset, place)[0]
    if conf_file is not None and preset is not None:
        raise click.UsageError("give either --conf or --preset, not both")
    if preset is not None:
        return PRESETS[preset].text
    return None if conf_file is None else read_conf_text(conf_file)
