"""Volumes of pods about to be bound: claims that waited for their first pod are told where it will run.

A claim gets a volume that is there already, or the node for which its provisioner makes one. The pod is
bound once all its claims are; no other pod waits for that.
"""

from __future__ import annotations

import asyncio

from hekla.cluster.kubernetes.context import WriteContext
from hekla.cluster.volumes import claims_of, volume_for, waits
from hekla.objects import Manifest, Node, PersistentVolumeClaim, Pod
from hekla.objects.keys import SELECTED_NODE


class Volumes:
    """Prepares the claims of pods; hears of every change of a claim."""

    def __init__(self, context: WriteContext, patience: float) -> None:
        self._context = context
        self._patience = patience
        self._changed = asyncio.Event()
        self._given: set[str] = set()
        """Volumes that a claim was just given, until the server shows it."""

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        if isinstance(after or before, PersistentVolumeClaim):
            self._changed.set()

    def unbound(self, pod: Pod) -> list[PersistentVolumeClaim]:
        """The pod's claims that still need a volume."""
        return [claim for claim in claims_of(self._context.store, pod) if claim.status.phase != "Bound"]

    async def prepare(self, pod: Pod, node: str) -> str:
        """Have every claim of the pod bound for this node; why that did not happen, or nothing."""
        for claim in self.unbound(pod):
            if waits(self._context.store, claim):
                await self._choose(claim, node)
        try:
            async with asyncio.timeout(self._patience):
                while waiting := self.unbound(pod):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return f'claim "{waiting[0].metadata.name}" was not bound in {self._patience:.0f} s'
        return ""

    async def _choose(self, claim: PersistentVolumeClaim, node: str) -> None:
        machine = self._context.store.get(Node, node)
        volume = volume_for(self._context.store, claim, machine, taken=self._given)
        if volume is not None:
            self._given.add(volume.metadata.name)
            try:
                await self._context.writer.give_volume(volume, claim)
            finally:
                self._given.discard(volume.metadata.name)
        elif claim.metadata.annotations.get(SELECTED_NODE) != node:
            mark = {"metadata": {"annotations": {SELECTED_NODE: node}}}
            await self._context.writer.change(PersistentVolumeClaim, claim.key, mark)
