"""Where results go; looked at before the work: hours of it are not to end in a name that is no use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hekla.errors import InputError
from hekla.private_files import open_private
from hekla.safe_text import escaped_json

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
