"""Pod scores: nodes near the pods a task likes, and nodes that have its images already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts, Floats, Mask
from hekla.engine.model.node import NodeInfo
from hekla.engine.model.task import Task
from hekla.engine.plugins.class_memory import ClassMemory
from hekla.engine.plugins.kubernetes.pod_affinity import (
    Addressed,
    Leaning,
    Term,
    TermReader,
    has_pod_affinity,
    nodes_hosting,
)

MAX_NODE_SCORE = 100
MIB = 1024 * 1024
LEAST_BYTES = 23 * MIB
MOST_BYTES_PER_CONTAINER = 1000 * MIB


class PodAffinityScore:
    """Sums of weights per node, from live counts.

    Pods that merely require affinity give no points: Volcano sets their weight to 0. For a task
    without preferences of its own, only nodes that hosted a pod with affinity when the session
    opened are looked at; that list is frozen, as in Volcano.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._reader = TermReader(session)
        self._own = ClassMemory(session, self._own_counts)
        with_affinity = session.tasks.having(has_pod_affinity)
        tally = session.pods.tally("preferred affinity", self._reader.leanings, with_affinity)
        self._others = Addressed(session, tally, _term_of)
        self._frozen = nodes_hosting(session, with_affinity)

    def raw(self, task: Task) -> Counts | None:
        """-> (N,); None where no preference concerns the task"""
        own = self._own.of(task)
        weights: dict[str, Counts] = {}
        for key, weight, counts in own:
            _add(weights, key, weight * counts)
        for (term, weight), counts in self._others.to(task):
            _add(weights, term.topology_key, weight * (counts if own else counts * self._frozen))
        labels = self._session.nodes.labels
        pooled = [labels.column(key).pooled(amounts) for key, amounts in weights.items()]
        return np.sum(pooled, axis=0, dtype=np.int64) if pooled else None

    def _own_counts(self, task: Task) -> list[tuple[str, int, Counts]]:
        pods = self._session.pods
        return [
            (term.topology_key, weight, term.pods.count(pods))
            for term, weight in self._reader.of(task).leanings
        ]


def _term_of(leaning: Leaning) -> Term:
    return leaning[0]


def _add(weights: dict[str, Counts], key: str, amounts: Counts) -> None:
    weights[key] = weights[key] + amounts if key in weights else amounts


def stretched(raw: Counts, among: Mask) -> Floats | None:
    """Raw sums stretched from 0 to 100 over the candidates; None where they are all alike.

    raw, among: (N,)   ->   (N,) whole numbers
    """
    candidates = raw[among]
    if not len(candidates):
        return None
    least, most = int(candidates.min()), int(candidates.max())
    if least == most:
        return None
    # Division first, as Kubernetes does: 100 * (29 / 100) comes to 28.
    return np.trunc(float(MAX_NODE_SCORE) * ((raw - least) / (most - least)))


class NodeImages:
    """Which images are on which nodes."""

    def __init__(self, nodes: Sequence[NodeInfo]) -> None:
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
