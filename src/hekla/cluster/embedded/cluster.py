"""EmbeddedCluster: a whole cluster in one process, under any clock.

It delivers snapshots and carries out decisions. Between cycles `advance` lets pods start, run
and end, Jobs go through their phases, and later objects arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from hekla.clock import Clock
from hekla.cluster.embedded.commands import Commands
from hekla.cluster.embedded.executor import EmbeddedExecutor
from hekla.cluster.embedded.intake import Intake
from hekla.cluster.embedded.kubelet import Kubelet
from hekla.cluster.embedded.options import Options
from hekla.cluster.embedded.quotas import Quotas
from hekla.cluster.embedded.timeline import Arrival, Due, EventLog, Happening, PodDue, Timeline, called
from hekla.cluster.node_usage import NodeUsage, is_finished
from hekla.cluster.reactions import Reactions
from hekla.cluster.store import Interest, M, Store, Watcher, is_visible
from hekla.collector import without_collector
from hekla.controllers import JobController, JobOptions
from hekla.controllers.requests import follows, job_owner
from hekla.engine.framework.decisions import Decision
from hekla.engine.model.node import shard_of
from hekla.engine.state.live import LiveState
from hekla.engine.state.snapshot import Snapshot, snapshot_of
from hekla.errors import InputError
from hekla.objects import Manifest, Node, NodeShard, Pod, PodGroup, VolcanoJob, seconds
from hekla.objects.complaint import Complaint, known_ones


class EmbeddedCluster:
    """The cluster of these objects; those that cannot be used are in `complaints`, the rest goes on."""

    def __init__(
        self,
        objects: Iterable[Manifest],
        clock: Clock,
        *,
        default_run_seconds: float | None = None,
        options: Options | None = None,
        job_options: JobOptions | None = None,
    ) -> None:
        self._clock = clock
        self._options = options or Options()
        if default_run_seconds is not None:
            self._options = replace(self._options, run_seconds=default_run_seconds)
        self._timeline: Timeline[Due] = Timeline(clock.now())
        self._log = EventLog(self._timeline)
        self._store = Store()
        self._node_usage = NodeUsage(self._store.get, self._options.ignored_provisioners)
        self._quotas = Quotas(self._store)
        self._interest = Interest(self._store, self._options.scheduler_names)
        parts = (self._store, self._timeline, self._log, self._options)
        self._kubelet = Kubelet(*parts)
        self._intake = Intake(*parts)
        self._commands = Commands(self._store, self._intake, self._kubelet, self._log)
        self._reactions = Reactions(
            self._store, self._commands, JobController(job_options), lambda: self._timeline.moment
        )
        self._executor = EmbeddedExecutor(
            self._store, self._kubelet, self._node_usage, self._timeline, self._log
        )
        self._live = LiveState(ignored_provisioners=self._options.ignored_provisioners)
        self._is_settled = False
        for watcher in (self._node_usage, self._quotas, self._kubelet, self._reactions):
            self._store.watch(watcher.heed)
        self._store.watch(self._heed)
        self.submit(objects)

    @property
    def events(self) -> list[Happening]:
        """What happened, in order of time."""
        return self._log.events

    @property
    def complaints(self) -> list[Complaint]:
        """What cannot be used as it is, each thing told once."""
        return self._log.complaints

    @property
    def now(self) -> float:
        """The moment up to which everything has happened."""
        return self._timeline.now

    @property
    def state(self) -> LiveState:
        """What the scheduler goes by."""
        return self._live

    def all_of(self, kind: type[M]) -> list[M]:
        """The objects of a kind, in the order of their arrival."""
        self._quotas.refresh()
        return list(self._store.all_of(kind))

    def get(self, kind: type[M], key: str) -> M | None:
        """The object of this kind and `namespace/name`, or bare name."""
        self._quotas.refresh()
        return self._store.get(kind, key)

    def watch(self, watcher: Watcher) -> None:
        """Call it after every change from now on."""
        self._store.watch(watcher)

    def submit(self, objects: Iterable[Manifest]) -> None:
        """Hand in objects, now or when their annotation says that they arrive."""
        with without_collector():
            self._intake.submit(objects)
            self._reactions.drain()

    def replace(self, manifest: Manifest) -> None:
        """Put a changed version of an object in the place of the one it has."""
        if self._store.get(type(manifest), manifest.key) is None:
            raise InputError(f"no {called(manifest)}")
        self._timeline.move_to(self._clock.now())
        self._store.put(manifest)
        self._reactions.drain()

    def snapshot(self) -> Snapshot:
        """The facts of this moment."""
        self._quotas.refresh()
        self._is_settled = True
        shards = list(self._store.all_of(NodeShard))
        snapshot = snapshot_of(
            self._live, shard_of(shards, self._options.shard_mode, self._options.shard_name)
        )
        for complaint in snapshot.complaints:
            self._log.complain(complaint)
        return snapshot

    def apply(self, decisions: Sequence[Decision]) -> None:
        """Carry out what a cycle decided; what the facts forbid is refused and told."""
        self._timeline.move_to(self._clock.now())
        for decision in decisions:
            self._executor.carry_out(decision)
        self._reactions.drain()

    def advance(self, to: float) -> None:
        """Let everything happen that is due by then, in order of time."""
        while (due := self.next_event_at()) is not None and due <= to:
            self._timeline.move_to(due)
            self._happen(due)
        self._timeline.move_to(to)

    def next_event_at(self) -> float | None:
        """When something happens next, if nothing is submitted before."""
        times = [
            time for time in (self._next_planned(), _time_of(self._reactions.next_due())) if time is not None
        ]
        return min(times, default=None)

    def is_idle(self) -> bool:
        """Nothing is due any more and nothing waits for the scheduler."""
        return (
            self.next_event_at() is None
            and not any(map(self._interest.awaits, self._store.all_of(Pod)))
            and not any(
                job.status.state.phase in ("", "Pending", "Restarting")
                for job in self._store.all_of(VolcanoJob)
            )
        )

    def may_decide(self) -> bool:
        """Always: each cycle also tells why jobs wait."""
        return True

    def is_settled(self) -> bool:
        """Nothing has changed since the last snapshot that another cycle would see."""
        return self._is_settled

    def command(self, job: str, action: str) -> None:
        """Tell a Job what to do: `AbortJob`, `ResumeJob`, `RestartJob`, `TerminateJob`, `CompleteJob`."""
        if self._store.job(job) is None:
            raise InputError(f'no job "{job}"')
        self._timeline.move_to(self._clock.now())
        self._reactions.command_job(job, action)

    def close_queue(self, name: str) -> None:
        """Close a queue and those below it."""
        self._require_queue(name)
        self._reactions.close_queue(name)

    def open_queue(self, name: str) -> None:
        """Open a queue, and those below that were closed because of it."""
        self._require_queue(name)
        self._reactions.open_queue(name)

    def delete(self, manifest: Manifest) -> None:
        """Delete an object: pods after their grace period, Jobs with all they own, nodes with their pods."""
        self._timeline.move_to(self._clock.now())
        match self._store.get(type(manifest), manifest.key):
            case Pod() as pod:
                self._kubelet.delete(pod)
            case VolcanoJob() as job:
                self._commands.delete_job(job.key, job.metadata.uid)
            case Node() as node:
                self._lose_node(node)
            case None:
                raise InputError(f"no {called(manifest)}")
            case other:
                self._store.remove(other)
        self._reactions.drain()

    def _lose_node(self, node: Node) -> None:
        self._log.tell(called(node), "Deleted", "gone with its pods")
        self._store.remove(node)
        for pod in self._store.pods_on(node.metadata.name):
            if not is_finished(pod):
                self._store.remove(pod)
                self._come_back(pod)

    def _require_queue(self, name: str) -> None:
        self._timeline.move_to(self._clock.now())
        if self._store.queue(name) is None:
            raise InputError(f'no queue "{name}"{known_ones(name, self._store.queues(), "queues")}')

    def _heed(self, before: Manifest | None, after: Manifest | None) -> None:
        if self._is_settled and is_visible(before, after):
            self._is_settled = False
        self._pass_on(before, after)
        group = after or before
        if isinstance(group, PodGroup) and (before is None or after is None):
            for pod in filter(is_finished, self._store.pods_of_group(group.key)):
                self._pass_on(pod, pod)

    def _pass_on(self, before: Manifest | None, after: Manifest | None) -> None:
        """Let the scheduler know of a change, as far as it concerns it."""
        if after is not None and self._interest.concerns(after):
            self._live.note(after)
        elif before is not None:
            self._live.forget(before)

    def _next_planned(self) -> float | None:
        """The time of the first entry that still has a meaning; the others are dropped."""
        while (first := self._timeline.first()) is not None:
            time, due = first
            if isinstance(due, Arrival) or self._kubelet.is_still_due(due):
                return time
            self._timeline.pop()
        return None

    def _happen(self, time: float) -> None:
        """One thing that is due, or all plans of one moment: a gang that ends together is counted once."""
        timer = self._reactions.next_due()
        if timer is not None and seconds(timer) <= time:
            self._reactions.fire(timer)
            return
        while self._next_planned() == time:
            self._happen_to(self._timeline.pop())
        self._reactions.drain()

    def _happen_to(self, due: Arrival | PodDue) -> None:
        if isinstance(due, Arrival):
            self._log.tell(called(due.manifest), "Arrived", "submitted")
            self._intake.take([due.manifest])
            return
        gone = self._kubelet.fire(due)
        if gone is not None and gone.metadata.uid in self._executor.evicted:
            self._executor.evicted.discard(gone.metadata.uid)
            self._come_back(gone)

    def _come_back(self, pod: Pod) -> None:
        """An evicted pod is made anew, unless its Job sees to that."""
        owner = job_owner(pod)
        is_cared_for = (
            owner is not None
            and follows(pod)
            and self._store.job(f"{pod.metadata.namespace}/{owner.name}") is not None
        )
        if self._options.recreate_evicted and not is_cared_for:
            self._intake.again(pod)


def _time_of(moment: datetime | None) -> float | None:
    return None if moment is None else seconds(moment)
