"""`hekla plugins`, `hekla actions` and `hekla conf`: what there is, from the code, and configurations."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from hekla.cli.options import GoSwitches, GoSwitchGroup, chosen_conf, read_text, registry_with
from hekla.cli.output import Style, echo, echo_data, output_option
from hekla.conf import PRESETS, as_data, describe_arguments, effective, read_conf
from hekla.engine.framework.action import Action
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import declared
from hekla.errors import InputError
from hekla.text import counted, table

plugin_option = click.option(
    "--plugin", "own", multiple=True, metavar="MODULE:CLASS", help="A plugin or action of your own."
)


plugins_option = click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS", help="A plugin or action of your own."
)


@click.command(cls=GoSwitches)
@click.argument("name", required=False)
@plugin_option
@output_option
def plugins(name: str | None, own: tuple[str, ...], output: Style | None) -> None:
    """List the plugins, or show one: what it is for, its arguments, the questions it answers."""
    _echo("plugin", registry_with(own).plugins, name, output)


@click.command(cls=GoSwitches)
@click.argument("name", required=False)
@plugin_option
@output_option
def actions(name: str | None, own: tuple[str, ...], output: Style | None) -> None:
    """List the actions, or show one: what it does and its arguments."""
    _echo("action", registry_with(own).actions, name, output)


def _echo(
    kind: str, known: Mapping[str, type[Plugin] | type[Action]], name: str | None, output: Style | None
) -> None:
    if name is not None and name not in known:
        raise InputError(f'no {kind} "{name}"; known are ' + ", ".join(sorted(known)))
    chosen = known if name is None else {name: known[name]}
    described = [describe(found) for _, found in sorted(chosen.items())]
    if output in (Style.JSON, Style.YAML):
        echo_data(described if name is None else described[0], output)
    elif name is None:
        echo(table(("name", "what it does"), [(row["name"], row["summary"]) for row in described]))
    else:
        echo(_page(described[0]))


def describe(found: type[Plugin] | type[Action]) -> dict[str, object]:
    """One plugin or action as plain data."""
    points = sorted({point.name for _, point, _, _ in declared(found)})
    return {
        "name": found.name,
        "summary": summary_of(found),
        "points": points,
        "arguments": [
            {"key": row.key, "type": row.type, "default": row.default, "range": row.range, "help": row.help}
            for row in describe_arguments(found.Arguments)
        ],
    }


def summary_of(found: type) -> str:
    """The first sentence of the file that it stands in, without the name it begins with."""
    module = importlib.import_module(found.__module__)
    sentence = (module.__doc__ or found.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
    head, colon, rest = sentence.partition(": ")
    return (rest if colon and len(head.split()) <= 3 else sentence).rstrip(".")


def _page(row: dict[str, object]) -> str:
    arguments = row["arguments"]
    points = row["points"]
    assert isinstance(arguments, list)
    assert isinstance(points, list)
    lines = [f"{row['name']}: {row['summary']}"]
    if points:
        lines.append("\nanswers: " + ", ".join(points))
    if arguments:
        cells = [(a["key"], a["type"], a["default"], a["range"] or "-", a["help"]) for a in arguments]
        lines.append("\n" + table(("argument", "type", "default", "range", "what for"), cells))
    return "\n".join(lines) + ("" if arguments else "\n\nno arguments")


@click.group(cls=GoSwitchGroup)
def conf() -> None:
    """Check and show scheduler configurations."""


@conf.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@plugins_option
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
@plugins_option
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
