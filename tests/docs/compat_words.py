"""What a word in backticks on docs/compat.md may be: something that the program has, or a plain value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import click
from compat_page import source
from msgspec.structs import fields

import hekla
from hekla.cli.main import cli
from hekla.cluster.embedded import Options
from hekla.cluster.kubernetes.controllers.job_plugins import PLUGINS as JOB_PLUGINS
from hekla.conf import SWITCHES, describe_arguments
from hekla.controllers import JobOptions
from hekla.engine.actions import BUILTIN_ACTIONS
from hekla.engine.framework.points import POINTS
from hekla.engine.plugins import BUILTIN_PLUGINS

PARTS = {**BUILTIN_ACTIONS, **BUILTIN_PLUGINS}
VALUES = {
    # of options and fields
    "volcano": "the name of Volcano's scheduler",
    "hekla": "our own name",
    "default": "the default queue",
    "hekla-system": "the default namespace",
    "--switch=false": "any switch",
    # what is named because it is not there
    "elasticsearch": "a source of load that is not there",
    "SchedulingGatesQueueAdmission": "a feature gate of Volcano's process",
    "ssh": "a job plugin that does nothing",
    # fields of objects
    "topologyPolicy": "of a Job's task",
    "minAvailable": "of a Job's task",
    "replicas": "of a Job's task",
    "maxRetry": "of a Job's task",
    "Unknown": "a phase",
    "Inqueue": "a phase",
}
"""Words that are not names of the program, each with what it is."""


@cache
def argument_keys() -> frozenset[str]:
    """Every argument of every action and plugin."""
    return frozenset(row.key for part in PARTS.values() for row in describe_arguments(part.Arguments))


@cache
def commands() -> dict[str, click.Command]:
    """Every command by its words: `job list`."""
    return dict(_below(cli, ""))


def _below(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from _below(inner, f"{path} {name}".strip())


def options_of(command: click.Command) -> set[str]:
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)}


@cache
def every_option() -> frozenset[str]:
    return frozenset(name for command in commands().values() for name in options_of(command))


def is_known(word: str) -> bool:
    """Whether the word in backticks is a name of the program, or a value that is explained above."""
    key = word.partition(":")[0]
    return (
        word in VALUES
        or key in PARTS
        or key in argument_keys()
        or key in {switch.key for switch in SWITCHES}
        or word in {point.name for point in POINTS}
        or word in JOB_PLUGINS
        or word in every_option()
        or word in commands()
        or _is_command(word)
        or _is_option_object(word)
        or _is_in_python(word)
        or all(f'"{part}"' in source() for part in word.replace('"', "").split(": "))
    )


def _is_command(word: str) -> bool:
    """`hekla serve`, `hekla --version`, `hekla serve --scheduler-conf`."""
    name, *rest = word.split()
    path = " ".join(step for step in rest if not step.startswith("-"))
    options = {step for step in rest if step.startswith("-")}
    return name == "hekla" and path in commands() and options <= options_of(commands()[path])


def _is_option_object(word: str) -> bool:
    """`Options.shard_mode`, `JobOptions(repeats=None)`, or a field of either alone."""
    by_class = {"Options": Options, "JobOptions": JobOptions}
    names = {name: {field.name for field in fields(options)} for name, options in by_class.items()}
    found = re.fullmatch(r"(JobOptions|Options)(?:[.(](\w+)(?:=\w+\))?)?", word)
    if found is None:
        return any(word in of_class for of_class in names.values())
    return found[2] is None or found[2] in names[found[1]]


def _is_in_python(word: str) -> bool:
    """A name of the library, or a method."""
    return word in hekla.__all__ or f"    def {word}(" in source()
