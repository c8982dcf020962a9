"""Volume binding: can a node reach the task's volumes, and find or make those that are still missing?

Volumes that exist and are free are given to the smallest claims first, each the smallest that
is large enough. What a placement takes is taken at once, and given back if it is undone.
The free capacity of storage drivers is not known here and never keeps a task off a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Mask, all_of, any_of
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.requests import ClaimName, claim_names, class_name
from hekla.engine.model.task import Task
from hekla.engine.plugins.kubernetes.nodes import matching_any
from hekla.engine.plugins.predicates.volumes import Binding, Storage, StorageFault, no_claim
from hekla.errors import InputError
from hekla.objects import PersistentVolume, PersistentVolumeClaim
from hekla.objects.keys import SELECTED_NODE
from hekla.objects.meta import ResourceList, matches
from hekla.objects.quantity import whole
from hekla.objects.storage import AllowedTopology

NO_PROVISIONER = "kubernetes.io/no-provisioner"

NODE_CONFLICT = "node(s) had volume node affinity conflict"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


@dataclass
class VolumePlan:
    """For every node at once: which claims get which volume there, and which would be made."""

    works: Mask
    given: list[tuple[PersistentVolumeClaim, str, Mask]] = field(default_factory=list)
    made: list[tuple[PersistentVolumeClaim, Mask]] = field(default_factory=list)


@dataclass
class Taken:
    """What one placement has taken."""

    volumes: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)


class VolumeBinding:
    """Where the claims of tasks can be served, with what this session has promised already."""

    def __init__(self, session: Session, storage: Storage) -> None:
        self._storage = storage
        self._labels = session.nodes.labels
        self._names = session.nodes.names
        self._count = len(session.nodes)
        self._reach: dict[str, Mask] = {}
        self._claim_of_volume = {
            name: f"{volume.spec.claim_ref.namespace}/{volume.spec.claim_ref.name}"
            for name, volume in storage.volumes.items()
            if volume.spec.claim_ref is not None
        }
        self._node_of_claim = {
            key: claim.metadata.annotations[SELECTED_NODE]
            for key, claim in storage.claims.items()
            if SELECTED_NODE in claim.metadata.annotations
        }
        self._taken: dict[str, Taken] = {}

    def objection(self, task: Task) -> StorageFault | None:
        """Why the task's claims cannot be served anywhere yet."""
        for name in claim_names(task.pod):
            if problem := _problem(name, self._storage.claims.get(name.key)):
                return problem
        for claim in self._storage.claims_of(task):
            if self._storage.binding_of(claim) is Binding.IMMEDIATE:
                return StorageFault(UNBOUND, f'claim "{claim.metadata.name}" is not bound to a volume yet')
        return None

    def refusals(self, task: Task) -> list[Refusal]:
        claims = self._storage.claims_of(task)
        if not claims:
            return []
        bound = [claim for claim in claims if self._storage.binding_of(claim) is Binding.BOUND]
        volumes = [self._storage.volume_of(claim) for claim in bound]
        reachable = self._everywhere()
        for volume in volumes:
            if volume is not None:
                reachable &= self._reaching(volume)
        gone = np.full(self._count, None in volumes)
        judged = (
            (NODE_CONFLICT, "cannot reach a volume of the task", ~reachable),
            (NOTHING_TO_BIND, "no volume for a claim of the task", ~self._plan(claims).works),
            (VOLUME_GONE, "a volume of the task is gone", gone),
        )
        return [
            Refusal(reason, nodes, Code.UNRESOLVABLE, plain=plain)
            for reason, plain, nodes in judged
            if nodes.any()
        ]

    def take(self, task: Task, row: int) -> None:
        """Promise the task what it gets on its node."""
        claims = self._storage.claims_of(task)
        if not claims:
            return
        plan, taken = self._plan(claims), Taken()
        for claim, volume, nodes in plan.given:
            if nodes[row] and volume not in self._claim_of_volume:
                self._claim_of_volume[volume] = claim.key
                taken.volumes.append(volume)
        for claim, nodes in plan.made:
            if nodes[row] and claim.key not in self._node_of_claim:
                self._node_of_claim[claim.key] = self._names[row]
                taken.claims.append(claim.key)
        self._taken[task.uid] = taken

    def give_back(self, task: Task) -> None:
        taken = self._taken.pop(task.uid, None)
        if taken is not None:
            for volume in taken.volumes:
                del self._claim_of_volume[volume]
            for claim in taken.claims:
                del self._node_of_claim[claim]

    def _plan(self, claims: Sequence[PersistentVolumeClaim]) -> VolumePlan:
        """How the claims that wait for a task would be served, node by node but all nodes at once."""
        plan = VolumePlan(self._everywhere())
        given_to_others: dict[str, Mask] = {}
        waiting = [claim for claim in claims if self._storage.binding_of(claim) is Binding.WAITS]
        for claim in sorted(waiting, key=lambda claim: storage_size(claim.spec.resources.requests)):
            served = np.zeros(self._count, dtype=np.bool_)
            node = self._node_of_claim.get(claim.key)
            if node is not None:
                makeable = self._labels.node_names().equals(node)
            else:
                makeable = self._everywhere()
                for volume, nodes in self._found_for(claim):
                    name = volume.metadata.name
                    gets = nodes & ~served
                    if name in given_to_others:
                        gets &= ~given_to_others[name]
                    given_to_others[name] = given_to_others.get(name, False) | gets
                    served |= gets
                    plan.given.append((claim, name, gets))
            made = self._makeable(claim) & makeable & ~served
            plan.made.append((claim, made))
            plan.works &= served | made
        return plan

    def _found_for(self, claim: PersistentVolumeClaim) -> list[tuple[PersistentVolume, Mask]]:
        """Volumes that would do for the claim, smallest first, and the nodes that reach them."""
        owned = [name for name, owner in self._claim_of_volume.items() if owner == claim.key]
        kept = [self._storage.volumes[name] for name in owned if name in self._storage.volumes]
        # A volume kept for this very claim is the only one it may get.
        fitting = [volume for volume in kept or self._storage.volumes.values() if self._fits(claim, volume)]
        fitting.sort(key=lambda volume: (storage_size(volume.spec.capacity), volume.metadata.name))
        return [(volume, self._reaching(volume)) for volume in fitting]

    def _fits(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
        asked, offer = claim.spec, volume.spec
        if storage_size(offer.capacity) < storage_size(asked.resources.requests):
            return False
        if offer.storage_class_name != class_name(claim) or offer.volume_mode != asked.volume_mode:
            return False
        if volume.metadata.deletion_timestamp is not None:
            return False
        owner = self._claim_of_volume.get(volume.metadata.name)
        if owner is not None:
            return owner == claim.key
        return (
            volume.status.phase in ("", "Available")
            and (asked.selector is None or matches(asked.selector, volume.metadata.labels))
            and set(asked.access_modes) <= set(offer.access_modes)
        )

    def _makeable(self, claim: PersistentVolumeClaim) -> Mask:
        """Nodes for which the claim's class can make a volume; -> (N,)"""
        entry = self._storage.class_of(claim)
        if entry is None or entry.provisioner in ("", NO_PROVISIONER):
            return np.zeros(self._count, dtype=np.bool_)
        if not entry.allowed_topologies:
            return self._everywhere()
        return any_of([self._in_topology(term) for term in entry.allowed_topologies])

    def _in_topology(self, term: AllowedTopology) -> Mask:
        if not term.match_label_expressions:
            return np.zeros(self._count, dtype=np.bool_)
        return all_of(
            [self._labels.column(one.key).is_any_of(one.values) for one in term.match_label_expressions]
        )

    def _reaching(self, volume: PersistentVolume) -> Mask:
        """Nodes that the volume can be used from; -> (N,)"""
        name, affinity = volume.metadata.name, volume.spec.node_affinity
        if name not in self._reach:
            if affinity is None or affinity.required is None:
                self._reach[name] = self._everywhere()
            else:
                self._reach[name] = matching_any(affinity.required.node_selector_terms, self._labels)
        return self._reach[name]

    def _everywhere(self) -> Mask:
        return np.ones(self._count, dtype=np.bool_)


def _problem(name: ClaimName, claim: PersistentVolumeClaim | None) -> StorageFault | None:
    """Why a claim is of no use."""
    of_claim, plain = f'persistentvolumeclaim "{name.name}"', f'claim "{name.name}"'
    if claim is None and name.is_ephemeral:
        said = f"waiting for ephemeral volume controller to create the {of_claim}"
        return StorageFault(said, f"{plain} of its ephemeral volume does not exist yet")
    if claim is None:
        return no_claim(name)
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name
        said = f'{of_claim} bound to non-existent persistentvolume "{volume}"'
        return StorageFault(said, f'{plain} is bound to volume "{volume}", which does not exist')
    if claim.metadata.deletion_timestamp is not None:
        return StorageFault(f"{of_claim} is being deleted", f"{plain} is being deleted")
    return None


def storage_size(amounts: ResourceList) -> int:
    """Bytes; a size that cannot be read counts as none."""
    try:
        return whole(amounts.get("storage", 0))
    except InputError:
        return 0
