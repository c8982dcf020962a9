"""Image locality: prefer nodes that have the task's images already, the large and widespread ones most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hekla.engine.ledger.arrays import Counts
from hekla.engine.model.node import Node
from hekla.engine.model.task import Task

MIB = 1024 * 1024
LEAST_BYTES = 23 * MIB
MOST_BYTES_PER_CONTAINER = 1000 * MIB
MAX_NODE_SCORE = 100


class NodeImages:
    """Which images are on which nodes."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._count = len(nodes)
        self._size_of: dict[str, int] = {}
        self._rows_of: dict[str, list[int]] = {}
        for row, node in enumerate(nodes):
            sizes = {name: image.size_bytes for image in node.manifest.status.images for name in image.names}
            for name, size in sizes.items():
                self._size_of.setdefault(name, size)
                self._rows_of.setdefault(name, []).append(row)

    def __bool__(self) -> bool:
        return bool(self._rows_of)

    def scores(self, task: Task) -> Counts:
        """-> (N,), from 0 to 100"""
        present = np.zeros(self._count, dtype=np.int64)
        for image in images_of(task):
            rows = self._rows_of.get(image)
            if rows is not None:
                present[rows] += int(self._size_of[image] * (len(rows) / self._count))
        spec = task.pod.spec
        return locality(present, len(spec.containers) + len(spec.init_containers))


def locality(present: Counts, containers: int) -> Counts:
    """Bytes of images that need not be fetched, as a score from 0 to 100.

    present: (N,)   ->   (N,)
    """
    most = max(MOST_BYTES_PER_CONTAINER * containers, LEAST_BYTES + 1)
    return MAX_NODE_SCORE * (np.clip(present, LEAST_BYTES, most) - LEAST_BYTES) // (most - LEAST_BYTES)


def images_of(task: Task) -> Iterator[str]:
    """Every image the task needs, as often as it is named."""
    spec = task.pod.spec
    for container in (*spec.init_containers, *spec.containers):
        yield tagged(container.image)
    for volume in spec.volumes:
        if volume.image is not None:
            yield tagged(volume.image.reference)


def tagged(image: str) -> str:
    """The image with the tag that is meant when none is written."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
