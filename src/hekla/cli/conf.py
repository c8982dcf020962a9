"""`hekla conf`: check and show scheduler configurations."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hekla.cli.options import GoSwitchGroup, chosen_conf, read_text, registry_with
from hekla.cli.output import Style, echo, echo_data
from hekla.cli.table import counted, table
from hekla.conf import PRESETS, as_data, effective, read_conf

plugin_option = click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS", help="A plugin or action of your own."
)


@click.group(cls=GoSwitchGroup)
def conf() -> None:
    """Check and show scheduler configurations."""


@conf.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@plugin_option
def check(file: Path, strict: bool, plugins: tuple[str, ...]) -> None:
    """Look for mistakes in FILE (- for standard input); exit 1 where it could not be used."""
    _, mistakes = read_conf(read_text(file), str(file), registry_with(plugins).catalogue())
    for mistake in mistakes:
        echo(f"{mistake.severity}: {mistake}")
    errors = sum(mistake.severity == "error" for mistake in mistakes)
    if not mistakes:
        echo(f"{'standard input' if str(file) == '-' else file}: no mistakes")
    else:
        echo(f"{counted(errors, 'error')}, {counted(len(mistakes) - errors, 'warning')}")
    if errors or (strict and mistakes):
        sys.exit(1)


@conf.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--preset", type=click.Choice(sorted(PRESETS)), help="A built-in configuration instead.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@plugin_option
def show(file: Path | None, preset: str | None, strict: bool, output: str, plugins: tuple[str, ...]) -> None:
    """Print the configuration in effect: FILE, a preset, or the default, with every default filled in."""
    registry = registry_with(plugins)
    chosen = chosen_conf(file, preset, registry, strict=strict)
    if output == "json":
        echo_data(as_data(chosen), Style.JSON)
    else:
        echo(effective(chosen, registry.catalogue()), nl=False)


@conf.command()
@click.argument("name", required=False, type=click.Choice(sorted(PRESETS)))
def presets(name: str | None) -> None:
    """List the built-in configurations, or print the file behind one."""
    if name is None:
        echo(table(("name", "what for"), [(p.name, p.title) for p in PRESETS.values()]))
    else:
        echo(PRESETS[name].text, nl=False)
