"""Nodes out of files: manifests."""

from __future__ import annotations

from pathlib import Path

from hekla.errors import InputError
from hekla.objects import Node
from hekla.objects.read import read_manifests


def nodes_in(path: Path, *, gpu_shares: bool = False) -> list[Node]:
    """The nodes of a file."""
    reading = read_manifests([path])
    for complaint in reading.complaints:
        raise InputError(str(complaint))
    nodes = [each for each in reading.objects if isinstance(each, Node)]
    if not nodes:
        raise InputError(f"{path}: no nodes in it")
    return nodes
