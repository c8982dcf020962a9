"""Options that several commands share, and what they come to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from hekla.cli.terminal import warn
from hekla.conf import BUILT_IN_DEFAULT, PRESETS, Conf, configuration_in, read_conf, require
from hekla.errors import ConfError, InputError
from hekla.framework.registry import Registry
from hekla.scheduler.builtin import BUILTIN

Command = TypeVar("Command", bound=Callable[..., Any])
CONF_HELP = "A volcano-scheduler.conf, or a ConfigMap with one."


strict_option = click.option(
    "--strict", is_flag=True, help="Treat warnings about the configuration as errors."
)
plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE:CLASS",
    help="Add a plugin or action of your own (also file.py:Class).",
)


def configuration(command: Command) -> Command:
    """`--conf`, `--preset`, `--strict` and `--plugin`."""
    for option in reversed(
        (
            click.option("--conf", "conf_file", type=click.Path(path_type=Path), help=CONF_HELP),
            click.option(
                "--preset", type=click.Choice(sorted(PRESETS)), help="A built-in configuration instead."
            ),
            strict_option,
            plugin_option,
        )
    ):
        command = option(command)
    return command


def registry_with(plugins: Iterable[str]) -> Registry:
    """Everything built in, installed, and named on the command line."""
    registry = BUILTIN.with_installed()
    for reference in plugins:
        registry = registry.with_named(reference)
    return registry


def chosen_conf(conf_file: Path | None, preset: str | None, registry: Registry, *, strict: bool) -> Conf:
    """The configuration to use; its mistakes are told on standard error."""
    if conf_file is not None and preset is not None:
        raise click.UsageError("give either --conf or --preset, not both")
    if conf_file is not None:
        return usable_conf(read_text(conf_file), str(conf_file), registry, strict=strict)
    text = PRESETS[preset].text if preset else BUILT_IN_DEFAULT
    return usable_conf(text, preset or "default", registry, strict=strict)


def named_conf(conf_file: Path | None, preset: str | None) -> str:
    """What the configuration is called in results."""
    return preset or "default" if conf_file is None else conf_file.name


def usable_conf(text: str, source: str, registry: Registry, *, strict: bool) -> Conf:
    reading = read_conf(text, source, registry.catalogue())
    conf = require(reading, strict)
    warn(str(mistake) for mistake in reading[1])
    return conf


def read_conf_text(path: Path) -> str:
    """The text of the configuration in a file, where a ConfigMap holds it without what is around it."""
    text = read_text(path)
    found = configuration_in(text)
    if not found.is_found:
        raise ConfError("\n".join(f"error: {replace(one, source=str(path))}" for one in found.mistakes))
    return str(found.text)


def read_text(path: Path) -> str:
    """A text file; `-` is standard input."""
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f'cannot read "{path}": {reason}') from error


class Teller:
    """Tells complaints on standard error, each once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, complaints: Iterable[object]) -> None:
        news = [text for text in map(str, complaints) if text not in self._told]
        self._told.update(news)
        warn(dict.fromkeys(news))
