"""The command as users call it, without the second that a process of its own takes to start."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from hekla.cli.main import main


@dataclass(frozen=True)
class Told:
    """What a command printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def called(*arguments: object, stdin: str = "", folder: Path | None = None, mixed: bool = False) -> Told:
    """`hekla ARGUMENTS`, called in the folder; mixed, errors stand in between the output, as on a terminal.

    What would end a process with a traceback is raised.
    """
    out = _Stream()
    err = out if mixed else _Stream()
    words = ["hekla", *map(str, arguments)]
    with (
        chdir(folder or Path()),
        patch.object(sys, "argv", words),
        patch.object(sys, "stdin", _Stream(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
        _logs_kept(),
    ):
        code = _exit_code()
    return Told(code, out.text, "" if mixed else err.text)


def _exit_code() -> int:
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@contextmanager
def _logs_kept() -> Iterator[None]:
    """Commands that log for hours set up logs for their process, and never put them back."""
    logger = logging.getLogger("hekla")
    handlers, level, propagates = logger.handlers, logger.level, logger.propagate
    try:
        yield
    finally:
        logger.handlers, logger.propagate = handlers, propagates
        logger.setLevel(level)


class _Stream(io.TextIOWrapper):
    """Text with bytes beneath, as the streams of a process are."""

    def __init__(self, text: str = "") -> None:
        self._bytes = io.BytesIO(text.encode("utf-8"))
        super().__init__(self._bytes, "utf-8", write_through=True)

    @property
    def text(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode("utf-8")
