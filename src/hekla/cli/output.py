"""What commands print or write, and in which form.

All text goes through `echo`, so that nothing from a cluster gets at the terminal. Files are looked at before
the work: hours of it are not to end in a name that is no use.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click

from hekla.errors import InputError
from hekla.private_files import open_private
from hekla.text import UNCUT, escaped, escaped_json, escaped_lines


def echo(text: object = "", *, nl: bool = True, err: bool = False) -> None:
    """Print the text, with everything in it to be seen."""
    click.echo(escaped_lines(str(text)), nl=nl, err=err)


def echo_coloured(lines: Iterable[Iterable[tuple[str, str]]]) -> None:
    """Print lines, each made of texts and their colours; a terminal shows these unless NO_COLOR is set."""
    from rich.console import Console  # noqa: PLC0415 - rarely needed, and not quick to import
    from rich.text import Text  # noqa: PLC0415

    console = Console(soft_wrap=True, highlight=False)
    for line in lines:
        console.print(Text.assemble(*((escaped(text), colour) for text, colour in line)))


def warn(messages: Iterable[object]) -> None:
    """Warnings, a line each."""
    for message in messages:
        echo(f"warning: {escaped(str(message))}", err=True)


@contextmanager
def safe_complaints() -> Iterator[None]:
    """What click complains of may quote an argument, such as the name of a file from elsewhere."""
    try:
        yield
    except click.ClickException as problem:
        problem.message = escaped_lines(problem.message)  # type: ignore[misc]
        raise


Command = TypeVar("Command", bound=Callable[..., Any])


class Style(Enum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_data(self) -> bool:
        """For programs rather than people."""
        return self in (Style.JSON, Style.YAML)


def output_option(command: Command) -> Command:
    """`-o table|json|yaml`."""
    styles = (Style.TABLE, Style.JSON, Style.YAML)
    return _output_option(command, styles, "How to print: table, json or yaml.")


def wide_output_option(command: Command) -> Command:
    """`-o table|wide|json|yaml`, for commands that print lists: wide has more columns, and cuts none."""
    return _output_option(command, tuple(Style), "How to print: table, wide (more columns), json or yaml.")


def _output_option(command: Command, styles: Sequence[Style], words: str) -> Command:
    return click.option(
        "-o",
        "--output",
        type=click.Choice([style.value for style in styles]),
        callback=lambda _ctx, _param, value: Style(value) if value else None,
        help=words,
    )(command)


def width_for(output: Style | None) -> int | None:
    """The width of tables in this style; None is that of the terminal."""
    return UNCUT if output is Style.WIDE else None


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


HINT = "name a file in a folder that is there and that you may write to"


def require_writable(path: Path | None) -> None:
    """Raises InputError where a file of this name could not be written."""
    if path is None:
        return
    if path.is_dir():
        raise _unusable(path, "it is a folder")
    if not path.parent.is_dir():
        raise _unusable(path, f'there is no folder "{path.parent}"')
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unusable(path, "it may not be written to")


def require_folder(path: Path) -> None:
    """Raises InputError where no such folder is there or could be made."""
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise _unusable(path, f'"{there}" is no folder')
    if not os.access(there, os.W_OK):
        raise _unusable(path, f'"{there}" may not be written to')


def write_out(path: Path | None, content: bytes) -> None:
    """JSON that tells of a cluster goes into a file for its owner alone, or to standard output."""
    if path is None:
        sys.stdout.buffer.write(escaped_json(content.decode()).encode())
        return
    try:
        with open_private(path) as file:
            file.write(content)
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error


def _unusable(path: Path, reason: str) -> InputError:
    return InputError(f'cannot write "{path}": {reason}; {HINT}')
