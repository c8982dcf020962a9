"""What commands print: all of it goes through here, so that nothing from a cluster gets at the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from hekla.safe_text import escaped, escaped_lines


def echo(text: object = "", *, nl: bool = True, err: bool = False) -> None:
    """Print the text, with everything in it to be seen."""
    click.echo(escaped_lines(str(text)), nl=nl, err=err)


def warn(messages: Iterable[object]) -> None:
    """Warnings, a line each."""
    for message in messages:
        echo(f"warning: {escaped(str(message))}", err=True)


@contextmanager
def safe_complaints() -> Iterator[None]:
    """What click complains of may quote an argument, which may be the name of a file of others."""
    try:
        yield
    except click.ClickException as problem:
        problem.message = escaped_lines(problem.message)  # type: ignore[misc]
        raise
