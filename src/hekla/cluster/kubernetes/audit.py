"""Audit: from time to time, compare what is known with what the API server has, and sums with the pods.

A watch may lose an event unnoticed. An object that merely changes while it is compared is no
drift: it is looked at again a little later, when the watch has had its time to tell of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from hekla.clock import stopwatch
from hekla.cluster.kubernetes.api.reflector import ALWAYS, Reflector
from hekla.cluster.kubernetes.assumptions import Assumptions
from hekla.cluster.kubernetes.facts import Facts, is_older
from hekla.cluster.kubernetes.recount import Disks, differences, offered, taken_by_node
from hekla.cluster.node_usage import NodeUsage
from hekla.engine.state.live import LiveState
from hekla.errors import ClusterError
from hekla.objects import CSINode, Manifest, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass

logger = logging.getLogger("hekla.audit")
MOST_MISMATCHES = 1000
"""More are left for the next time."""
MOST_TOLD = 5
SOURCES = {"rooms": "node usage", "engine": "the engine's state"}
"""By account, as the metric spells it, what it is."""
DISKS: tuple[type[Manifest], ...] = (PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode)


class Engine(Protocol):
    """Its sums are checked, while no cycle runs."""

    lock: asyncio.Lock
    """Held while the engine works on its state."""

    def up_to_date(self) -> LiveState:
        """Its state, with all that was heard of noted."""


@dataclass(frozen=True)
class Mismatch:
    """An object on which the list and the store disagree; None where it is absent."""

    key: str
    listed: Manifest | None
    known: Manifest | None


class Audit:
    """`run` audits every so many seconds; 0 means never. What it found is counted here."""

    def __init__(
        self,
        facts: Facts,
        reflectors: Mapping[type[Manifest], Reflector[Any]],
        node_usage: NodeUsage,
        assumptions: Assumptions,
        engine: Engine,
        *,
        period: float,
        grace: float = 5.0,
        ignored_provisioners: Collection[str] = (),
    ) -> None:
        self._ignored_provisioners = ignored_provisioners
        self._facts = facts
        self._reflectors = reflectors
        self._node_usage = node_usage
        self._assumptions = assumptions
        self._engine = engine
        self._period = period
        self._grace = grace
        self.rounds = 0
        self.drift: Counter[str] = Counter()
        """By kind, how many objects had to be put right."""
        self.differences: Counter[str] = Counter()
        """By account, how many nodes were counted otherwise than their pods add up to."""

    async def run(self) -> None:
        """Audit for ever; trouble with the API server ends a round, not the audit."""
        if self._period <= 0:
            return
        while True:
            await asyncio.sleep(self._period)
            try:
                await self.audit()
            except Exception:
                # Who only looks must not stop those who work.
                logger.exception("an audit failed in an unforeseen way")

    async def audit(self) -> None:
        """One round over all kinds and all nodes."""
        began, before = stopwatch(), self.drift.total() + self.differences.total()
        for kind in self._reflectors:
            try:
                await self.compare(kind)
            except ClusterError as error:
                logger.warning("%s: not audited: %s", kind.__name__.lower(), error)
        await self.check_sums()
        self.rounds += 1
        found = self.drift.total() + self.differences.total() - before
        logger.info("audit: %d differences (%.1f s)", found, stopwatch() - began)

    # Objects

    async def compare(self, kind: type[Manifest]) -> None:
        """A fresh list of the kind against the store."""
        reflector = self._reflectors[kind]
        health = reflector.health
        if health.is_absent or health.trouble or not health.synced.is_set():
            return  # it is going to be listed anyway
        mismatches = await self._mismatches(kind, reflector)
        if mismatches:
            await asyncio.sleep(self._grace)
            for mismatch in islice(mismatches, MOST_MISMATCHES):
                found = await reflector.look(mismatch.key)
                self._note_drift(kind, mismatch, found)

    async def _mismatches(self, kind: type[Manifest], reflector: Reflector[Any]) -> list[Mismatch]:
        unseen = dict(self._facts.store.by_key(kind))
        mismatches, version = [], ""
        async for items, version in reflector.fresh():  # noqa: B007 - the last one counts
            for listed in items:
                unseen.pop(listed.key, None)
                known = self._facts.store.get(kind, listed.key)
                if known is None or (not _same(listed, known) and not is_older(listed, known)):
                    mismatches.append(Mismatch(listed.key, listed, known))
        lost = [known for known in unseen.values() if not _is_newer_than(known, version)]
        return mismatches + [Mismatch(known.key, None, known) for known in lost]

    def _note_drift(self, kind: type[Manifest], mismatch: Mismatch, found: Manifest | None) -> None:
        """It is drift if neither the server nor the store has moved since, and they still disagree."""
        known = self._facts.store.get(kind, mismatch.key)
        if not (_same(found, mismatch.listed) and _same(known, mismatch.known)) or _same(found, known):
            return
        word = kind.__name__
        self.drift[word] += 1
        if found is None:
            logger.warning("%s %s: is gone without an event; forgotten", word.lower(), mismatch.key)
            self._facts.drop(kind, mismatch.key)
        else:
            what = "was not heard of" if known is None else "is not what it was"
            logger.warning("%s %s: %s; put right", word.lower(), mismatch.key, what)
            self._facts.put(found, listed_at=ALWAYS)

    # Sums

    async def check_sums(self) -> None:
        """What nodes have given away, by their pods, against what was booked."""
        async with self._engine.lock:
            # Facts and sums are read in one go: nothing may happen in between.
            pods = [self._assumptions.view(pod) for pod in self._facts.store.all_of(Pod)]
            nodes = list(self._facts.store.all_of(Node))
            stored = [one for kind in DISKS for one in self._facts.store.all_of(kind)]
            disks = Disks(stored, self._ignored_provisioners)
            booked = self._node_usage.used_by_node()
            state = self._engine.up_to_date()
            usage, engine = await asyncio.to_thread(_compared, pods, nodes, disks, booked, state)
        self._tell("rooms", usage)
        self._tell("engine", engine)

    def _tell(self, account: str, found: list[str]) -> None:
        self.differences[account] += len(found)
        source = SOURCES[account]
        for line in found[:MOST_TOLD]:
            logger.error("%s counted wrong on node %s", source, line)
        if len(found) > MOST_TOLD:
            logger.error("%s counted wrong on %d more nodes", source, len(found) - MOST_TOLD)


def _compared(
    pods: list[Manifest], nodes: list[Node], disks: Disks, booked: dict[str, Any], state: LiveState
) -> tuple[list[str], list[str]]:
    """What is wrong with the node usage, and what with the engine; in the engine's place, while it rests."""
    state.take_in()
    taken = taken_by_node((pod for pod in pods if isinstance(pod, Pod)), disks)
    ledger, axis = state.nodes, state.axis
    used = {name: axis.resources(ledger.used[row]) for row, name in enumerate(ledger.names)}
    idle = {name: axis.resources(ledger.idle[row]) for row, name in enumerate(ledger.names)}
    on_nodes = {name: taken.get(name, Counter()) for name in ledger.names}
    there = {node.metadata.name: node for node in nodes}
    left = {}
    for name, sums in on_nodes.items():
        left[name] = offered(there[name], disks) if name in there else Counter[str]()
        left[name].subtract(sums)
    wrong = [*differences(on_nodes, used), *(f"{line} idle" for line in differences(left, idle))]
    return list(differences(taken, booked)), wrong


def _same(left: Manifest | None, right: Manifest | None) -> bool:
    if left is None or right is None:
        return left is right
    return (left.metadata.uid, left.metadata.resource_version) == (
        right.metadata.uid,
        right.metadata.resource_version,
    )


def _is_newer_than(known: Manifest, version: str) -> bool:
    """Made or changed after the list was taken."""
    mine = known.metadata.resource_version
    return mine.isdecimal() and version.isdecimal() and int(mine) > int(version)
