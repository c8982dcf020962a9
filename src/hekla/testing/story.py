"""Story: a small cluster, one cycle over it, and what became of every job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hekla.conf import Conf, PluginEntry, Tier, read_conf, require
from hekla.engine.framework.decisions import Bind, Evict, UpdatePodGroup
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.node import Shard
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Manifest, Node, Pod, Queue
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport, open_session, run_cycle
from hekla.testing.builders import JobObjects
from hekla.testing.builders import queue as build_queue
from hekla.testing.pods import stamped

Tiers = Sequence[str | Sequence[str | PluginEntry]]
"""Plugins tier by tier; a tier is a list of names and entries, or names in one text."""

ACTIONS = "enqueue, allocate, backfill"
TIERS: Tiers = ("priority, gang, conformance", "overcommit, drf, predicates, proportion, nodeorder")

ALL_ALIKE = Shard()


def plugin(name: str, arguments: Mapping[str, object] | None = None, **switches: bool) -> PluginEntry:
    """A plugin of a tier with arguments and switches: `plugin("gang", enablePreemptable=False)`."""
    return PluginEntry(name, switches, arguments or {})


def conf_of(
    actions: str = ACTIONS,
    tiers: Tiers = TIERS,
    configurations: Mapping[str, Mapping[str, object]] | None = None,
) -> Conf:
    """A configuration, written the short way."""
    names = tuple(name.strip() for name in actions.split(","))
    return Conf(names, tuple(Tier(tuple(_entries(tier))) for tier in tiers), configurations or {})


def _entries(tier: str | Sequence[str | PluginEntry]) -> Iterable[PluginEntry]:
    written = [name.strip() for name in tier.split(",")] if isinstance(tier, str) else tier
    return [PluginEntry(entry) if isinstance(entry, str) else entry for entry in written]


@dataclass(frozen=True)
class Story:
    """Title and cluster, and in `expect` the whole outcome by job.

    What a job can come to:

    - `{"n1": 2}`: two of its tasks were bound to n1, and nothing else happened to it;
    - `{"pipelined": {"n1": 1}, "evicted": ["a-0"]}`: any of `bound`, `held` (placed, but not bound
      yet), `pipelined` and `evicted`, where something else than binding happened;
    - `"pending"`: it waits; `"running"`: nothing of it waits; `"done"`: nothing of it is left.

    `conf` is the text of a configuration file; without it `actions`, `tiers` and `configurations`
    say how the cycle runs. A queue that a job names and the story lacks is made up.
    """

    title: str
    nodes: Sequence[Node] = ()
    jobs: Sequence[JobObjects | Pod] = ()
    expect: Mapping[str, object] | None = None
    queues: Sequence[Queue] = ()
    actions: str = ACTIONS
    tiers: Tiers = TIERS
    configurations: Mapping[str, Mapping[str, object]] | None = None
    conf: str = ""
    shard: Shard = ALL_ALIKE
    plugins: Sequence[type[Plugin]] = ()
    objects: Sequence[Manifest] = ()

    def __str__(self) -> str:
        return self.title

    def play(self) -> dict[str, object]:
        """One cycle; the outcome of every job, in the shape of `expect`."""
        return told(self.cycle())

    def phases(self) -> dict[str, str]:
        """One cycle; the phase that every PodGroup is left with."""
        report = self.cycle()
        written = {d.pod_group: d.status.phase for d in report.decisions if isinstance(d, UpdatePodGroup)}
        return {
            _spoken(job): written.get(job.uid, job.pod_group.status.phase)
            for job in report.session.jobs.values()
        }

    def cycle(self) -> CycleReport:
        return run_cycle(
            take_snapshot(self.manifests(), shard=self.shard), self._conf(), registry=self._registry()
        )

    def session(self) -> Session:
        """A session with its plugins taken in and no action run yet."""
        return open_session(
            take_snapshot(self.manifests(), shard=self.shard), self._conf(), registry=self._registry()
        )

    def manifests(self) -> list[Manifest]:
        """All objects, with creation times in order of writing."""
        jobs = [manifest for part in self.jobs for manifest in _manifests(part)]
        return stamped(
            [*self.queues, *_missing_queues(self.queues, self.jobs), *self.nodes, *self.objects, *jobs]
        )

    def _conf(self) -> Conf:
        if self.conf:
            return require(read_conf(self.conf, self.title, self._registry().catalogue()), strict=False)
        return conf_of(self.actions, self.tiers, self.configurations)

    def _registry(self) -> Registry:
        registry = BUILTIN
        for extra in self.plugins:
            registry = registry.with_class(extra)
        return registry


def session_of(
    *parts: Manifest | JobObjects,
    tiers: Tiers = (),
    actions: str = ACTIONS,
    plugins: Sequence[type[Plugin]] = (),
    shard: Shard | None = None,
) -> Session:
    """A session over these objects, for asking questions of it."""
    jobs = [part for part in parts if isinstance(part, JobObjects | Pod)]
    queues = [part for part in parts if isinstance(part, Queue)]
    nodes = [part for part in parts if isinstance(part, Node)]
    others = [p for p in parts if not isinstance(p, JobObjects | Pod | Queue | Node)]
    return Story(
        "a session",
        nodes,
        jobs,
        queues=queues,
        tiers=tiers,
        actions=actions,
        plugins=plugins,
        shard=shard or Shard(),
        objects=others,
    ).session()


def told(report: CycleReport) -> dict[str, object]:
    """What became of every job of a cycle, by name; jobs outside the namespace `default` by full name."""
    bound: dict[str, str] = {d.uid: d.node for d in report.decisions if isinstance(d, Bind)}
    evicted = {d.uid for d in report.decisions if isinstance(d, Evict)}
    return {_spoken(job): _outcome(job, bound, evicted) for job in report.session.jobs.values()}


def _outcome(job: Job, bound: Mapping[str, str], evicted: set[str]) -> object:
    tasks = list(job.tasks.values())
    binds = _per_node(task for task in tasks if task.uid in bound)
    happened: dict[str, object] = {
        "bound": binds,
        "held": _per_node(task for task in tasks if task.status is Status.ALLOCATED),
        "pipelined": _per_node(task for task in tasks if task.status is Status.PIPELINED),
        "evicted": sorted(task.name for task in tasks if task.uid in evicted),
    }
    happened = {what: whom for what, whom in happened.items() if whom}
    if happened:
        return binds if set(happened) == {"bound"} else happened
    if job.roster.having(Status.PENDING):
        return "pending"
    return "running" if any(task.node_name for task in tasks) else "done"


def _per_node(tasks: Iterable[Task]) -> dict[str, int]:
    return dict(sorted(Counter(task.node_name for task in tasks).items()))


def _spoken(job: Job) -> str:
    return job.name if job.namespace == "default" else job.uid


def _manifests(part: JobObjects | Pod) -> Sequence[Manifest]:
    return part.objects if isinstance(part, JobObjects) else (part,)


def _missing_queues(queues: Sequence[Queue], jobs: Sequence[JobObjects | Pod]) -> list[Queue]:
    written = {queue.metadata.name for queue in queues}
    named = [part.pod_group.spec.queue for part in jobs if isinstance(part, JobObjects)]
    return [build_queue(name) for name in dict.fromkeys(named) if name and name not in written]
