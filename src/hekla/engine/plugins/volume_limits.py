"""Volume limits: how many volumes of a driver may be attached to a node."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.task import Task
from hekla.engine.plugins.volumes import Storage
from hekla.objects import CSINode, PersistentVolumeClaim

TOO_MANY_VOLUMES = "node(s) exceed max volume count"
NO_LIMIT = np.iinfo(np.int64).max

Attachment = tuple[str, str]
"""The driver, and the volume as the driver knows it."""


class VolumeLimits:
    """What is attached where; a volume that several pods of a node share counts once."""

    def __init__(self, session: Session, storage: Storage) -> None:
        self._storage = storage
        self._nodes = len(session.nodes)
        self._limit_of_driver = _limits(session)
        self._pods_using: defaultdict[Attachment, Counter[int]] = defaultdict(Counter)
        self._attached: dict[str, Counts] = {
            driver: np.zeros(self._nodes, dtype=np.int64) for driver in self._limit_of_driver
        }
        if self._limit_of_driver:
            for row, pods in enumerate(session.pods.pods_on):
                for task in pods.values():
                    self.attach(task, row)

    def attach(self, task: Task, row: int) -> None:
        for attachment in self._attachments(task):
            users = self._pods_using[attachment]
            users[row] += 1
            if users[row] == 1:
                self._attached[attachment[0]][row] += 1

    def detach(self, task: Task, row: int) -> None:
        for attachment in self._attachments(task):
            users = self._pods_using[attachment]
            users[row] -= 1
            if users[row] == 0:
                self._attached[attachment[0]][row] -= 1

    def refusals(self, task: Task) -> list[Refusal]:
        added: dict[str, Counts] = {}
        for attachment in self._attachments(task):
            news = added.setdefault(attachment[0], np.zeros(self._nodes, dtype=np.int64))
            news += 1
            there = [row for row, users in self._pods_using[attachment].items() if users > 0]
            news[there] -= 1
        over = np.zeros(self._nodes, dtype=np.bool_)
        for driver, news in added.items():
            over |= (news > 0) & (self._attached[driver] + news > self._limit_of_driver[driver])
        return [Refusal(TOO_MANY_VOLUMES, over, plain="too many volumes attached")] if over.any() else []

    def _attachments(self, task: Task) -> set[Attachment]:
        if not self._limit_of_driver or not task.pod.spec.volumes:
            return set()
        found = (self._attachment(claim) for claim in self._storage.claims_of(task))
        return {one for one in found if one is not None and one[0] in self._limit_of_driver}

    def _attachment(self, claim: PersistentVolumeClaim) -> Attachment | None:
        volume = self._storage.volume_of(claim)
        if volume is not None:
            source = volume.spec.csi
            return (source.driver, source.volume_handle) if source is not None else None
        # A volume that is still to be made will be made by its class's driver.
        entry = self._storage.class_of(claim)
        return (entry.provisioner, f"claim {claim.key}") if entry is not None else None


def _limits(session: Session) -> dict[str, Counts]:
    """The most volumes of each driver that any node limits, per node."""
    limits: dict[str, Counts] = {}
    for csi_node in session.snapshot.all_of(CSINode):
        row = session.nodes.row_of.get(csi_node.metadata.name)
        for driver in csi_node.spec.drivers if row is not None else ():
            if driver.allocatable is None or driver.allocatable.count is None:
                continue
            if driver.name not in limits:
                limits[driver.name] = np.full(len(session.nodes), NO_LIMIT, dtype=np.int64)
            limits[driver.name][row] = driver.allocatable.count
    return limits
