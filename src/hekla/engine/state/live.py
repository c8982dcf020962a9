"""LiveState: jobs, tasks, queues, nodes and their ledgers, kept up to date change by change.

Changes are noted when they happen and taken in when the next cycle begins, so that what a cycle
left behind can be looked at until then. Objects that cannot be used are left out one by one, each
with a complaint that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import groupby
from operator import attrgetter
from typing import TypeVar, cast

from hekla.collector import spare_what_is_there, without_collector
from hekla.engine.ledger.axis import Axis
from hekla.engine.ledger.domain_tree import DomainTree
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.model.job import Job
from hekla.engine.model.queue import DEFAULT_QUEUE, QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.state.attention import Attention
from hekla.engine.state.index import JobIndex, TaskIndex
from hekla.engine.state.ledgers import Ledgers
from hekla.engine.state.manifests import Manifests, Noted
from hekla.engine.state.taking_in import TakingIn
from hekla.objects import HyperNode, Manifest, Pod
from hekla.objects.complaint import Complaint

MANY_OBJECTS = 10_000
MANY_RESOURCES = 64

Model = TypeVar("Model")


class LiveState:
    """The facts as the latest manifests tell them; a session may suppose others until it is rewound."""

    def __init__(
        self,
        *,
        default_queue: str = DEFAULT_QUEUE,
        ignored_provisioners: Collection[str] = (),
        most_resources: int = MANY_RESOURCES,
    ) -> None:
        self.most_resources = most_resources
        """Beyond so many, those that no object speaks of any more lose their columns."""
        self.axis = Axis()
        self.queues: dict[str, QueueInfo] = {}
        self.index = JobIndex()
        self.tasks: TaskIndex = self.index.tasks
        self.ledgers = Ledgers(self.axis)
        self.nodes: NodeLedger = self.ledgers.nodes
        self.pods: PodLedger = self.ledgers.pods
        self.attention = Attention(self)
        self.beneficiaries: set[str] = set()
        """Jobs for which pods were evicted, by UID."""
        self.all_manifests = Manifests()
        self.manifests = self.all_manifests.by_kind
        self._intake = TakingIn(self, default_queue, ignored_provisioners)
        self.kept_tree: DomainTree | None = None
        self.kept_derived: dict[object, object] = {}
        self._is_lent = False
        self._released: dict[str, Task] = {}
        self.is_unusable = False
        """Taking in was broken off: what is known is half old and half new, and good for nothing."""
        self.on_take_in: Callable[[Noted], None] | None = None
        """Told of changes when they are taken in; may keep what it is shown, which never changes."""

    @property
    def jobs(self) -> dict[str, Job]:
        return self.index.jobs

    def domain_tree(self) -> DomainTree:
        """The tree of network domains, kept until a HyperNode or a node changes."""
        if self.kept_tree is None:
            hypernodes = list(self.all_manifests.all_of(HyperNode).values())
            self.kept_tree = DomainTree(hypernodes, self.nodes.names, self.nodes.labels)
        return self.kept_tree

    def derived(self, make: Callable[[LiveState], Model]) -> Model:
        """What follows from nodes and queues alone, made once and kept until one of them changes."""
        if make not in self.kept_derived:
            self.kept_derived[make] = make(self)
        return cast("Model", self.kept_derived[make])

    # What happens

    def note(self, manifest: Manifest) -> None:
        """The object is new, or looks like this now."""
        self.all_manifests.note((manifest,))

    def note_all(self, manifests: Iterable[Manifest]) -> None:
        """The same for many, which is quickest where those of one kind come together."""
        self.all_manifests.note(manifests)

    def forget(self, manifest: Manifest) -> None:
        """The object is gone; one that comes later under its name stands last."""
        self.all_manifests.lose(type(manifest), (manifest.key,))

    def forget_all(self, manifests: Iterable[Manifest]) -> None:
        """The same for many."""
        for kind, alike in groupby(manifests, key=type):
            self.all_manifests.lose(kind, [manifest.key for manifest in alike])

    def lose(self, kind: type[Manifest], key: str) -> None:
        """The same, where only its name is known."""
        self.all_manifests.lose(kind, (key,))

    def complaints(self) -> list[Complaint]:
        """What cannot be used as it is."""
        return list(self._intake.complaints())

    def take_in(self) -> None:
        """Bring everything up to what was noted."""
        noted = self.all_manifests.noted
        if not (noted or self._is_lent or self.attention.has_news):
            return
        is_large = noted >= MANY_OBJECTS
        self.is_unusable = True
        with without_collector():
            for step in self.all_manifests.take():
                if step and self.on_take_in is not None:
                    self.on_take_in(step)
                followed = self._intake.follow(step.get(Pod, {}))
                self.rewind()
                if step:
                    self._intake.take_in(step, followed)
                self.attention.renew(self.jobs)
        self.is_unusable = False
        if is_large:
            spare_what_is_there()

    # What a session supposes

    def lend(self, led_by: object) -> None:
        """A session is about to suppose things, led by a configuration."""
        if self._is_lent:
            self.rewind()
        self._is_lent = True
        self.nodes.has_promises = any(self.nodes.releasing_in_all.tolist())
        self.pods.is_kept = False
        self.attention.begin(led_by)

    def released(self, task: Task) -> None:
        """A session evicts the task, whose job may be one that it does not look at otherwise."""
        self._released[task.uid] = task
        if task.job in self.jobs:
            self.attention.in_line[task.job] = self.jobs[task.job]

    def rewind(self) -> None:
        """Undo whatever a session supposed: everything is again as the manifests say."""
        self._is_lent = False
        self.pods.stop_counting()
        jobs = self.jobs
        losers = {task.job: jobs[task.job] for task in self._released.values() if task.job in jobs}
        for job in {**self.attention.active, **losers}.values():
            # An attempt that was not repeated leaves its places in tasks that never moved.
            if job.roster.moves or job.has_topology or job.fit_errors:
                self._restore(job.tasks.values())
                job.tidy()
            job.forget_session()
        self._restore(self._released.values())
        self._released.clear()
        self.attention.end()

    def _restore(self, tasks: Iterable[Task]) -> None:
        changed, supposed, evicted = [], [], []
        for task in tasks:
            task.forget_session()
            if task.status is not task.fact:
                changed.append(task)
                if task.node != NOWHERE and not task.pod.spec.node_name:
                    supposed.append(task)
                elif task.uid in self._released:
                    evicted.append(task)
        if not changed:
            return
        self.ledgers.take_off(supposed)
        for task in evicted:
            self.nodes.keep(task)
        self.pods.bring_back(evicted)
        for (job, fact), alike in groupby(changed, key=attrgetter("job", "fact")):
            self.set_statuses(job, list(alike), fact)

    def set_statuses(self, uid: str, tasks: Collection[Task], status: Status) -> None:
        """Give tasks that name the same job, which may not be there, another status."""
        job = self.index.job(uid)
        if job is not None:
            job.move_all(tasks, status)
            return
        for task in tasks:
            task.status = status
