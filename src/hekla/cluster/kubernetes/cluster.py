"""KubernetesCluster: facts from the API server in, decisions out through it.

Everything here belongs to the thread of the event loop, but for `snapshot`: the engine works in a thread of
its own, and changes reach its state through an inbox.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from hekla.clock import Clock
from hekla.cluster.kubernetes.api.client import Client
from hekla.cluster.kubernetes.api.reflector import Reflector
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.kubernetes.assumptions import Assumptions
from hekla.cluster.kubernetes.audit import Audit
from hekla.cluster.kubernetes.backoff import Background, BackOff
from hekla.cluster.kubernetes.binding import Binder, Binds, why_not_bind
from hekla.cluster.kubernetes.context import WriteContext, group_of
from hekla.cluster.kubernetes.evictions import Evictions, Evictor, PodIdentity, why_not_evict
from hekla.cluster.kubernetes.executor import DecisionExecutor
from hekla.cluster.kubernetes.facts import Facts, MissingObjectCheck
from hekla.cluster.kubernetes.intents import Attempts
from hekla.cluster.kubernetes.options import KubernetesOptions
from hekla.cluster.kubernetes.outbox import Outbox
from hekla.cluster.kubernetes.partial_gangs import PartialGangs
from hekla.cluster.kubernetes.put_aside import PutAside
from hekla.cluster.kubernetes.recorder import Recorder
from hekla.cluster.kubernetes.statuses import Statuses
from hekla.cluster.kubernetes.volumes import Volumes
from hekla.cluster.kubernetes.writer import Writer
from hekla.cluster.node_usage import NodeUsage, is_finished
from hekla.cluster.store import Interest, Store, is_visible, says_the_same
from hekla.engine.framework.decisions import Decision
from hekla.engine.model.node import shard_of
from hekla.engine.state.live import LiveState
from hekla.engine.state.snapshot import Snapshot, snapshot_of
from hekla.objects import (
    CSINode,
    HyperNode,
    Manifest,
    Namespace,
    Node,
    NodeShard,
    Numatopology,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    Queue,
    ResourceQuota,
    StorageClass,
)

WATCHED: tuple[type[Manifest], ...] = (
    Node,
    Pod,
    PodGroup,
    Queue,
    PriorityClass,
    HyperNode,
    NodeShard,
    Numatopology,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    ResourceQuota,
    PodDisruptionBudget,
)


@dataclass
class Inbox:
    """Changes on their way to the engine: an object as it is now, or one that is gone."""

    _changes: deque[tuple[bool, Manifest]] = field(default_factory=deque)

    def put(self, manifest: Manifest, *, is_there: bool) -> None:
        self._changes.append((is_there, manifest))

    def deliver(self, state: LiveState) -> None:
        """Only what came before the call: more may come meanwhile, from the other thread."""
        for _ in range(len(self._changes)):
            is_there, manifest = self._changes.popleft()
            if is_there:
                state.note(manifest)
            else:
                state.forget(manifest)


class KubernetesCluster:
    """The cluster behind the client; `run` keeps it up to date."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        options: KubernetesOptions | None = None,
        *,
        may_write: Callable[[], bool] = lambda: True,
        also: Sequence[type[Manifest]] = (),
    ) -> None:
        self.options = options or KubernetesOptions()
        self.store = Store()
        self.facts = Facts(self.store)
        self.assumptions = Assumptions()
        self.changed = asyncio.Event()
        """Something happened that another cycle might decide differently on."""
        self.background = Background()
        self.outbox = Outbox(self.options.in_flight, self.background)
        ending = self.assumptions.ending
        self.writer = Writer(client, self.facts, clock, may_write, ending=ending)
        self.recorder = Recorder(client, self.outbox, self.options.component, clock, may_write, ending=ending)
        self.attempts = attempts = Attempts(
            client, self.facts, may_write=may_write, patience=self.options.bind_patience
        )
        self.writer.on_missing = attempts.on_missing = MissingObjectCheck(
            self.store, client.watermark.set_back
        ).missing
        self.node_usage = NodeUsage(self.store.get, self.options.ignored_provisioners)
        self._interest = Interest(self.store, self.options.scheduler_names)
        self._live = self._new_state()
        self._inbox = Inbox()
        self.aside = PutAside(self.store, self.show, self.changed.set)
        self._back_off = BackOff[str](
            self.options.first_back_off, self.options.longest_back_off, self._rest, self._wake
        )
        context = WriteContext(
            self.store, self.assumptions, self.outbox, self.writer, self.recorder, show=self.show
        )
        self._context = context
        self.binder = Binder(attempts, partial(why_not_bind, context, self.node_usage))
        self.statuses = Statuses(context, self.options.first_back_off, self.options.longest_back_off)
        self.evictions = self._made_evictions(context, attempts)
        self._partial_gangs = self._made_partial_gangs(context, clock)
        volumes = Volumes(context, self.options.volume_patience)
        self.binding = self._made_binds(context, volumes)
        self._executor = DecisionExecutor(context, self.binding, self.evictions, self.statuses)
        self.reflectors = {
            kind: Reflector(client, RESOURCES[kind], kind, self.facts, patience=self.options.patience)
            for kind in (*WATCHED, *also)
        }
        self.lock = asyncio.Lock()
        """Held while the engine works on its state."""
        self.audit = self._made_audit()
        self.store.watch(self._heed)
        self.store.watch(volumes.heed)

    def _made_partial_gangs(self, context: WriteContext, clock: Clock) -> PartialGangs:
        return PartialGangs(
            context,
            self.evictions,
            self.statuses,
            self._back_off,
            clock=clock,
            patience=self.options.gang_patience,
            releases=self.options.releases_gangs,
        )

    def _made_binds(self, context: WriteContext, volumes: Volumes) -> Binds:
        return Binds(
            context,
            self.node_usage,
            self.binder,
            volumes,
            back_off=self._back_off,
            statuses=self.statuses,
            partial_gangs=self._partial_gangs,
        )

    def _made_audit(self) -> Audit:
        return Audit(
            self.facts,
            self.reflectors,
            self.node_usage,
            self.assumptions,
            self,
            period=self.options.audit_period,
            ignored_provisioners=self.options.ignored_provisioners,
        )

    def _made_evictions(self, context: WriteContext, attempts: Attempts) -> Evictions:
        options = self.options
        self._spared = BackOff[PodIdentity](
            options.first_eviction_back_off,
            options.longest_eviction_back_off,
            on_rest=lambda victim: context.assume(*victim, is_spared=True),
            on_wake=self._no_longer_spare,
        )
        why_not = partial(why_not_evict, context)
        evictor = Evictor(attempts, self.writer, why_not, keeps_budgets=options.keeps_budgets)
        return Evictions(context, evictor, self.statuses, self._spared)

    def _no_longer_spare(self, victim: PodIdentity) -> None:
        self._context.assume(*victim, is_spared=False)
        self.changed.set()

    async def run(self) -> None:
        """Follow the API server and write to it, for ever."""
        keep = self.background.keep
        async with asyncio.TaskGroup() as group:
            for kind, reflector in self.reflectors.items():
                group.create_task(keep(f"watch of {RESOURCES[kind].plural}", reflector.run))
            group.create_task(self.outbox.run())
            group.create_task(keep("audit", self.audit.run))

    async def synced(self) -> None:
        """Wait until every kind has been listed: no cycle sees half a cluster."""
        await asyncio.gather(*(reflector.health.synced.wait() for reflector in self.reflectors.values()))

    @property
    def state(self) -> LiveState:
        """What the engine goes by, without what waits in the inbox."""
        return self._live

    def _new_state(self) -> LiveState:
        return LiveState(
            default_queue=self.options.default_queue,
            ignored_provisioners=self.options.ignored_provisioners,
        )

    def start_over(self) -> None:
        """The engine gets a new state, made of everything that is known; only for who holds the lock."""
        self._live = self._new_state()
        self._inbox = Inbox()
        for manifest in self.store:
            self.show(manifest)

    def put_aside(self, suspects: Iterable[tuple[type[Manifest], str]], reason: str) -> Manifest | None:
        """Hide from the engine the first of these that it sees; which one that is."""
        manifest = self.aside.put(suspects, reason)
        if manifest is not None:
            message = f"put aside until it changes, the scheduler failed on it: {reason}"
            self.recorder.tell(manifest, "Warning", "PutAside", message)
        return manifest

    def up_to_date(self) -> LiveState:
        """The engine's state with all that was heard of noted; only for who holds the lock."""
        self._inbox.deliver(self._live)
        return self._live

    def snapshot(self) -> Snapshot:
        """The facts of this moment, with what was sent and not seen yet; for the engine's thread."""
        snapshot = snapshot_of(self.up_to_date())
        snapshot.shard = shard_of(
            snapshot.all_of(NodeShard), self.options.shard_mode, self.options.shard_name
        )
        return snapshot

    def apply(self, decisions: Sequence[Decision]) -> None:
        """Take for granted what was decided, and have it written."""
        self._executor.carry_out_all(decisions)

    async def carry_out(self, decisions: Sequence[Decision]) -> None:
        """The same, with pauses for other tasks on the event loop."""
        await self._executor.carry_out_in_turns(decisions)

    def show(self, manifest: Manifest) -> None:
        """What is expected of the object has changed: let the engine know."""
        self._pass_on(manifest, manifest)

    def _heed(self, before: Manifest | None, after: Manifest | None) -> None:
        self.aside.heed(before, after)
        old = self._view(before) if before is not None else None
        if after is None and before is not None:
            was_resting = before.key in self.assumptions.resting
            self._forget(before)
            if was_resting and isinstance(before, PodGroup):
                self._show_pods(before.key)
        elif isinstance(after, Namespace):
            self._heed_namespace(after)
        elif isinstance(after, Pod):
            self.assumptions.come_true(after)
        new = self._view(after) if after is not None else None
        if is_visible(old, new):
            self.changed.set()
        if not says_the_same(old, new):
            self._pass_on(before, after)
        group = after or before
        if isinstance(group, PodGroup) and (before is None or after is None):
            for pod in filter(is_finished, self.store.pods_of_group(group.key)):
                self._pass_on(pod, pod)

    def _forget(self, manifest: Manifest) -> None:
        """The object is gone: so is all that was expected of it, and what rests because of it."""
        self.assumptions.forget(manifest)
        self.statuses.forget(manifest)
        match manifest:
            case PodGroup():
                self._back_off.forget(manifest.key)
                self._partial_gangs.forget(manifest.key)
            case Pod():
                self._spared.forget(PodIdentity(manifest.key, manifest.metadata.uid))
            case Namespace():
                self._context.reopen_namespace(manifest.key)

    def _heed_namespace(self, namespace: Namespace) -> None:
        if namespace.metadata.deletion_timestamp is not None:
            self._context.end_namespace(namespace.key)
        else:
            self._context.reopen_namespace(namespace.key)

    def _pass_on(self, before: Manifest | None, after: Manifest | None) -> None:
        """Let the engine know of a change, as far as it concerns it."""
        view = self._view(after) if after is not None else None
        self.node_usage.heed(before, view)
        seen = self.aside.view(view) if view is not None else None
        if seen is not None and self._interest.concerns(seen):
            self._inbox.put(seen, is_there=True)
        elif before is not None:
            self._inbox.put(before, is_there=False)

    def _view(self, manifest: Manifest) -> Manifest:
        if isinstance(manifest, Pod) and self.assumptions.resting:
            return self.assumptions.view(manifest, group_of(manifest))
        return self.assumptions.view(manifest)

    def _rest(self, job: str) -> None:
        self.assumptions.resting.add(job)
        self._show_pods(job)

    def _wake(self, job: str) -> None:
        self.assumptions.resting.discard(job)
        self._show_pods(job)
        self.changed.set()

    def _show_pods(self, job: str) -> None:
        for pod in self.store.pods_of_group(job):
            self.show(pod)
