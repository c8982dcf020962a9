"""Private files: what tells of a cluster, readable by the owner of the file alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

OWNER_ONLY = 0o600


def open_private(path: Path) -> BinaryIO:
    """The file, emptied for writing and closed to other users, also where it was open to them before."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY), "wb")
    # Pipes and devices belong to the system.
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        os.fchmod(file.fileno(), OWNER_ONLY)
    return file
