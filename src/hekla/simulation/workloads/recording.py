"""Recordings of `hekla serve --record`: the jobs that came and ended while cycles were written down.

Time begins with the first cycle. What was there by then comes at once, and what ran by then runs for the rest
of its time. A pod that the scheduler has evicted did its work as another pod, or not at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hekla.cluster.kubernetes.api.wire import Unfit
from hekla.engine.framework.decisions import Evict
from hekla.errors import InputError
from hekla.objects import Manifest, Node, Pod, PodGroup
from hekla.server.recording.reader import Recording
from hekla.server.recording.records import (
    Batches,
    Checkpoint,
    Configuration,
    Cycle,
    changes_in,
    read_decisions,
)
from hekla.server.recording.writer import older
from hekla.simulation.workloads.manifests import DONE, group_key
from hekla.simulation.workloads.model import Fault, NodesAdded, Submission
from hekla.simulation.workloads.past import PastBuilder
from hekla.simulation.workloads.past_cluster import at_start, surroundings
from hekla.simulation.workloads.pod_runs import MILLISECONDS, PodRun, run_of
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.source import Source

EVICTED = "a pod that was evicted: what it did until then is not counted"
WAS_THERE = "a job that was there when the recording began: it comes at once"
HAD_BEGUN = "a pod that ran when the recording began: it runs for the rest of its time"


def read_recording(source: Source, options: ReadingOptions) -> Content:
    """The jobs of a recording, on the nodes that it tells of unless others are named."""
    history = RecordedHistory(parts_of(source.path))
    builder = PastBuilder(history.pods, history.groups, options.duration)
    for key, runs in history.runs().items():
        builder.take_group(key, runs)
    found = builder.found
    jobs = [history.since_start(job, found.changed) for job in found.jobs]
    jobs.sort(key=lambda job: (job.submitted, job.key))
    objects = surroundings([*history.objects(with_nodes=not options.nodes), *history.pods], jobs)

    return Content(
        name=source.stem,
        jobs=lambda _account: iter(jobs),
        objects=tuple(objects),
        faults=() if options.nodes else history.nodes_added(),
        count=len(jobs),
        dropped=found.dropped + history.dropped,
        changed=found.changed + history.changed,
    )


def parts_of(path: Path) -> list[Recording]:
    """The recording, behind the one that it continues where a file was full."""
    recording, before = Recording(path), older(path)
    first = next((record.number for record in recording if isinstance(record, Cycle)), 1)
    return [Recording(before), recording] if first > 1 and before.is_file() else [recording]


@dataclass
class SeenPod:
    """A pod as it was last seen, and when it was seen to be bound, to have ended, and to be gone."""

    pod: Pod
    group: str
    bound: float | None = None
    over: float | None = None
    """When it was first seen to have ended."""
    gone: float | None = None
    is_evicted: bool = False


class RecordedHistory:
    """Everything that a recording tells of objects, from its first cycle to its last."""

    def __init__(self, parts: Sequence[Recording]) -> None:
        self.groups: dict[str, PodGroup] = {}
        self.dropped: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()
        self.start = self.end = 0.0
        self._cycles = 0
        self._last = 0
        self._checkpoint: Checkpoint | None = None
        self._seen: dict[str, SeenPod] = {}
        """By UID."""
        self._uids: dict[str, str] = {}
        """Of the pods that are there, by key."""
        self._others: dict[tuple[type[Manifest], str], Manifest] = {}
        self._made_again: Counter[str] = Counter()
        """How often a group was made anew under the name of one before it."""
        self._came: dict[str, tuple[float, Node]] = {}
        """Nodes that came later, and when."""
        for recording in parts:
            self._read(recording)
            self.changed.update(recording.complaints)
        if not self._cycles:
            raise InputError(f'"{parts[-1].path}" has no cycle: nothing is known of any job')

    @property
    def pods(self) -> list[Pod]:
        return [seen.pod for seen in self._seen.values()]

    def objects(self, *, with_nodes: bool) -> list[Manifest]:
        """What is part of the cluster; of nodes those that were there at the start."""
        return [
            each
            for each in self._others.values()
            if not isinstance(each, Node) or (with_nodes and each.key not in self._came)
        ]

    def nodes_added(self) -> tuple[Fault, ...]:
        """The nodes that came later."""
        return tuple(
            NodesAdded(at - self.start, tuple(each for each in at_start(node) if isinstance(each, Node)))
            for at, node in self._came.values()
        )

    def runs(self) -> dict[str, list[PodRun]]:
        """The runs of all pods that count, by the group of the pod, as in `groups`."""
        found: defaultdict[str, list[PodRun]] = defaultdict(list)
        for seen in self._seen.values():
            run = run_of(seen.pod)
            if seen.is_evicted and seen.pod.status.phase != "Succeeded":
                self.dropped[EVICTED] += 1
            elif seen.over == self.start or (run.ended is not None and run.ended <= self.start):
                self.dropped["a pod that had ended when the recording began"] += 1
            elif seen.gone is not None and seen.bound is None:
                self.dropped["a pod that was gone before it ran"] += 1
            else:
                found[seen.group].append(self._within(run, seen))
        return found

    def _within(self, run: PodRun, seen: SeenPod) -> PodRun:
        """From its start, or its bind, to its end, or to when it was gone; as far as it was recorded."""
        began = seen.bound if run.began is None else run.began
        ended = next((at for at in (run.ended, seen.over, seen.gone) if at is not None), None)
        if began is not None and began < self.start:
            # Kubelets tell whole seconds.
            self.changed[HAD_BEGUN] += began < int(self.start)
            began = self.start
        return PodRun(seen.pod, began, ended)

    def since_start(self, job: Submission, changed: Counter[str]) -> Submission:
        """The job as it comes after the first cycle; at once, if it was there before."""
        if job.submitted < int(self.start):
            changed[WAS_THERE] += 1
        return replace(job, submitted=max(0.0, round(job.submitted - self.start, MILLISECONDS)))

    def _read(self, recording: Recording) -> None:
        for record in recording:
            match record:
                case Checkpoint():
                    self._checkpoint = record
                case Cycle():
                    try:
                        self._take_cycle(record)
                    except (msgspec.MsgspecError, KeyError) as error:
                        message = f"what follows cycle {self._last} makes no sense: {error}"
                        raise InputError(f'"{recording.path}": {message}') from error
                case Configuration():
                    pass

    def _take_cycle(self, cycle: Cycle) -> None:
        checkpoint, self._checkpoint = self._checkpoint, None
        if not self._cycles:
            self.start = cycle.now
        if cycle.number == self._last + 1:
            self._take_changes(cycle.changes, cycle.now)
        elif checkpoint is not None and checkpoint.number == cycle.number:
            self._begin_anew(checkpoint, cycle.now)
        else:
            raise InputError(f"cycles are missing before cycle {cycle.number}, and no checkpoint helps")
        for decision in read_decisions(cycle.decisions):
            if isinstance(decision, Evict) and decision.uid in self._seen:
                self._seen[decision.uid].is_evicted = True
        self._last, self.end = cycle.number, cycle.now
        self._cycles += 1

    def _begin_anew(self, checkpoint: Checkpoint, now: float) -> None:
        """After a gap: what is not there any more went meanwhile."""
        if self._cycles:
            self.changed["cycles are missing: what happened meanwhile is seen late"] += 1
        there = self._take_changes(checkpoint.objects, now)
        for key in self._uids.keys() - there:
            self._lose(key, now)

    def _take_changes(self, batches: Batches, now: float) -> set[str]:
        """Take in what changed; the keys of the pods that were told of."""
        told: set[str] = set()
        for batch in changes_in(batches):
            # Groups first: pods that came with one belong to it, and not to the one before it.
            for kind, found in sorted(batch, key=lambda change: change[0] is not PodGroup):
                if isinstance(found, Unfit):
                    self.changed[f"an object that cannot be read: {found.complaint}"] += 1
                elif isinstance(found, str):
                    if kind is Pod:
                        self._lose(found, now)
                elif isinstance(found, Pod):
                    told.add(found.key)
                    self._see(found, now)
                elif isinstance(found, PodGroup):
                    self._see_group(found)
                else:
                    self._know(found, now)
        return told

    def _see_group(self, group: PodGroup) -> None:
        known = self.groups.get(self._current(group.key))
        if known is not None and known.metadata.uid != group.metadata.uid:
            self._made_again[group.key] += 1
        self.groups[self._current(group.key)] = group

    def _current(self, key: str) -> str:
        """What the group that has this name by now is called among all that ever had it."""
        again = self._made_again[key]
        return f"{key} ({again})" if again else key

    def _see(self, pod: Pod, now: float) -> None:
        uid = pod.metadata.uid or pod.key
        if self._uids.get(pod.key, uid) != uid:
            self._lose(pod.key, now)
        self._uids[pod.key] = uid
        seen = self._seen.setdefault(uid, SeenPod(pod, self._current(group_key(pod))))
        seen.pod = pod
        if seen.bound is None and pod.spec.node_name:
            seen.bound = now
        if seen.over is None and pod.status.phase in DONE:
            seen.over = now

    def _lose(self, key: str, now: float) -> None:
        uid = self._uids.pop(key, None)
        if uid is not None:
            self._seen[uid].gone = now

    def _know(self, manifest: Manifest, now: float) -> None:
        name = type(manifest), manifest.key
        if isinstance(manifest, Node) and self._cycles and name not in self._others:
            self._came[manifest.key] = now, manifest
        self._others[name] = manifest
