"""Volumes: the claims of a task, what they are bound to, in which zones, and how many a node takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts, Mask, any_of
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.requests import ClaimName, claim_names, class_name
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import Snapshot
from hekla.objects import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
WAITS_FOR_TASK = "WaitForFirstConsumer"

ZONE_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Labels that place a volume, and the newer label to read on a node that lacks the one."""

WRONG_ZONE = "node(s) had no available volume zone"
TOO_MANY_VOLUMES = "node(s) exceed max volume count"
NO_LIMIT = np.iinfo(np.int64).max
Attachment = tuple[str, str]
"""The driver, and the volume as the driver knows it."""


def has_volumes(task: Task) -> bool:
    return bool(task.pod.spec.volumes)


class Binding(Enum):
    """How far a claim has come."""

    BOUND = "it has its volume"
    WAITS = "it gets a volume when a task that uses it is placed"
    IMMEDIATE = "it should have a volume already, and has none yet"


class Storage:
    """The snapshot's claims, volumes and storage classes, by name."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.claims = {claim.key: claim for claim in snapshot.all_of(PersistentVolumeClaim)}
        self.volumes = {volume.metadata.name: volume for volume in snapshot.all_of(PersistentVolume)}
        self.classes = {entry.metadata.name: entry for entry in snapshot.all_of(StorageClass)}

    def claims_of(self, task: Task) -> list[PersistentVolumeClaim]:
        """The claims that exist; a caller that needs all of them asks for missing ones first."""
        return [self.claims[name.key] for name in claim_names(task.pod) if name.key in self.claims]

    def volume_of(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        return self.volumes.get(claim.spec.volume_name)

    def class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        return self.classes.get(class_name(claim))

    def binding_of(self, claim: PersistentVolumeClaim) -> Binding:
        if claim.spec.volume_name:
            is_done = BIND_COMPLETED in claim.metadata.annotations or claim.status.phase == "Bound"
            return Binding.BOUND if is_done else Binding.IMMEDIATE
        entry = self.class_of(claim)
        waits = entry is not None and entry.volume_binding_mode == WAITS_FOR_TASK
        return Binding.WAITS if waits else Binding.IMMEDIATE


class StorageFault(NamedTuple):
    """Why a claim is of no use, in Kubernetes' words and in plain ones."""

    said: str
    plain: str


def no_claim(name: ClaimName) -> StorageFault:
    said = f'persistentvolumeclaim "{name.name}" not found'
    return StorageFault(said, f'claim "{name.name}" does not exist')


class VolumeZones:
    """Keeps tasks in the zones of their volumes, by the labels of the volumes."""

    def __init__(self, session: Session, storage: Storage) -> None:
        self._storage = storage
        self._labels = session.nodes.labels

    def objection(self, task: Task) -> StorageFault | None:
        """Why the zones of the task's volumes cannot be told."""
        for name in claim_names(task.pod):
            if not name.is_ephemeral and (problem := self._problem(name)):
                return problem
        return None

    def _problem(self, name: ClaimName) -> StorageFault | None:
        storage, of_claim = self._storage, f'claim "{name.name}"'
        claim = storage.claims.get(name.key)
        if claim is None:
            return no_claim(name)
        if volume := claim.spec.volume_name:
            said = f'persistentvolume "{volume}" not found'
            gone = StorageFault(said, f'volume "{volume}" of {of_claim} does not exist')
            return None if volume in storage.volumes else gone
        if storage.binding_of(claim) is Binding.WAITS:
            return None
        if not (wanted := class_name(claim)):
            said = "PersistentVolumeClaim had no pv name and storageClass name"
            return StorageFault(said, f"{of_claim} has no volume and names no storage class")
        if wanted not in storage.classes:
            said = f'storageclass.storage.k8s.io "{wanted}" not found'
            return StorageFault(said, f'storage class "{wanted}" of {of_claim} does not exist')
        return StorageFault("PersistentVolume had no name", f"{of_claim} is not bound to a volume yet")

    def refusals(self, task: Task) -> list[Refusal]:
        places = list(self._places(task))
        if not places:
            return []
        outside = np.zeros(len(self._labels), dtype=np.bool_)
        for key, values in places:
            newer = ZONE_LABELS[key]
            own, fallback = self._labels.column(key), self._labels.column(newer)
            inside = own.is_any_of(values) | (~own.present & fallback.is_any_of(values))
            outside |= ~inside
        outside &= self._in_some_zone()
        plain = "volume is in another zone"
        return [Refusal(WRONG_ZONE, outside, Code.UNRESOLVABLE, plain=plain)] if outside.any() else []

    def _places(self, task: Task) -> Iterator[tuple[str, list[str]]]:
        """The zone labels of the task's bound volumes; several values are joined by two underscores."""
        names = (name for name in claim_names(task.pod) if not name.is_ephemeral)
        claims = (self._storage.claims[name.key] for name in names if name.key in self._storage.claims)
        for claim in claims:
            volume = self._storage.volume_of(claim)
            labels = volume.metadata.labels if volume is not None else {}
            yield from ((key, labels[key].split("__")) for key in ZONE_LABELS if key in labels)

    def _in_some_zone(self) -> Mask:
        """Nodes with any zone label: a node without is taken to be a cluster without zones."""
        return any_of([self._labels.column(key).present for key in ZONE_LABELS])


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
