"""In which form output is wanted, and data in the forms that machines read. Quick to import."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import click

from hekla.cli.terminal import echo
from hekla.safe_text import escaped_json

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
        echo(as_json(data))
        return
    import yaml  # noqa: PLC0415 - rarely needed, and not quick to import

    echo(yaml.safe_dump(data, sort_keys=False), nl=False)


def as_json(data: object) -> str:
    """The data as JSON, which has no word for what has no end: it is null."""
    try:
        return escaped_json(json.dumps(data, allow_nan=False))
    except ValueError:
        return escaped_json(json.dumps(finite(data), allow_nan=False))


def finite(data: object) -> object:
    """The data with None in place of numbers that are none or have no end."""
    match data:
        case dict():
            return {key: finite(value) for key, value in data.items()}
        case list() | tuple():
            return [finite(value) for value in data]
        case float() if not math.isfinite(data):
            return None
    return data
