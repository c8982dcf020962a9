"""In which form output is wanted, and data in the forms that machines read. Quick to import."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class Style(Enum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def output_option(command: Command) -> Command:
    """`-o table|json|yaml`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([style.value for style in Style]),
        callback=lambda _ctx, _param, value: Style(value) if value else None,
        help="How to print: table, json or yaml.",
    )(command)


def echo_data(data: object, style: Style) -> None:
    if style is Style.JSON:
        click.echo(json.dumps(data))
        return
    import yaml  # noqa: PLC0415 - rarely needed, and not quick to import

    click.echo(yaml.safe_dump(data, sort_keys=False), nl=False)
