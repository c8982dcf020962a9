"""LiveState: jobs, tasks, queues, nodes and their ledgers, kept up to date change by change.

Changes are noted when they happen and taken in when the next cycle begins, so that what a cycle
left behind can be looked at until then. Taking in costs what has changed, not what is there.
Objects that cannot be used are left out one by one, each with a complaint that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

import numpy as np

from hekla.collector import spare_what_is_there, without_collector
from hekla.engine.ledger.axis import Axis
from hekla.engine.ledger.demand import sum_of
from hekla.engine.ledger.domain_tree import DomainTree
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.model.benefit import benefit_of
from hekla.engine.model.job import Job, job_of
from hekla.engine.model.node import Node, node_of
from hekla.engine.model.queue import DEFAULT_QUEUE, Queue, queue_of
from hekla.engine.model.status import ALLOCATED_SET, Status, status_of
from hekla.engine.model.task import (
    NOWHERE,
    Task,
    Weight,
    has_only_moved,
    moved_on,
    task_of,
    twin_of,
)
from hekla.engine.model.volumes import STORAGE, VolumeRequests, has_claims
from hekla.engine.state.door import Door
from hekla.engine.state.ground import Ground
from hekla.engine.state.rolls import Rolls
from hekla.engine.state.settled import Settled, is_at_rest, says_all
from hekla.engine.state.tasks import TaskBook
from hekla.errors import said_by
from hekla.objects import CSINode, HyperNode, Manifest, Pod, PodGroup, PriorityClass
from hekla.objects import Node as NodeManifest
from hekla.objects import Queue as QueueManifest
from hekla.objects.complaint import Complaint
from hekla.objects.scheduling import PodGroupStatus

MANY_OBJECTS = 10_000
MANY_RESOURCES = 64
"""Columns; those of resources that nobody speaks of any more are then given up."""
STAYING = (Status.BOUND, Status.RUNNING)

M = TypeVar("M", bound=Manifest)
Model = TypeVar("Model")
Changes = dict[str, Manifest | None]
"""By key what an object is now; None where it is gone."""
Noted = Mapping[type[Manifest], Changes]


class LiveState:
    """The facts as the latest manifests tell them; a session may suppose others until it is rewound."""

    def __init__(
        self, *, default_queue: str = DEFAULT_QUEUE, ignored_provisioners: Collection[str] = ()
    ) -> None:
        self.axis = Axis()
        self.queues: dict[str, Queue] = {}
        self.settled = Settled()
        self.restless: dict[str, Job] = {}
        """Jobs that a cycle has to look at; all others are settled."""
        self.manifests: dict[type[Manifest], dict[str, Manifest]] = {}
        self._ground = Ground(self.axis)
        self.nodes: NodeLedger = self._ground.nodes
        self.pods: PodLedger = self._ground.pods
        self._rolls = Rolls()
        self.tasks: TaskBook = self._rolls.tasks
        self._default_queue = default_queue
        self._volumes = VolumeRequests(self.find, ignored_provisioners)
        self._noted: dict[type[Manifest], Changes] = {}
        self._faults: dict[tuple[type[Manifest], str], Complaint] = {}
        self._touched: dict[str, None] = {}
        """Jobs that something happened to, by UID."""
        self._weights: WeakValueDictionary[Hashable, Weight] = WeakValueDictionary()
        """By what is asked for, as long as there is a task that does."""
        self._value_of_class: dict[str, int] = {}
        self._usual_priority = 0
        self.beneficiaries: set[str] = set()
        """Jobs for which pods were evicted, by UID."""
        self._number_of_group: dict[str, int] = {}
        self._groups_seen = 0
        self._newest: Task | None = None
        self._domain_tree: DomainTree | None = None
        self._derived: dict[object, object] = {}
        self._is_lent = False
        self.is_torn = False
        """Taking in was broken off: what is known is half old and half new, and good for nothing."""
        self._released: dict[str, Task] = {}
        self._quiet: list[Job] = []
        self.door = Door()
        self._turned_away: list[tuple[Job, tuple[Any, ...]]] = []
        self._last_words: dict[str, PodGroupStatus] = {}
        """By UID what a cycle told of jobs that rest; forgotten where they are no longer what it knew."""
        self.on_take_in: Callable[[Noted], None] | None = None
        """Told of changes when they are taken in; may keep what it is shown, which nobody changes."""

    @property
    def jobs(self) -> dict[str, Job]:
        return self._rolls.jobs

    def queues_with_jobs(self) -> list[str]:
        """In the order of the least UIDs of their jobs."""
        return self._rolls.queues()

    def domain_tree(self) -> DomainTree:
        """The tree of network domains, kept until a HyperNode or a node changes."""
        if self._domain_tree is None:
            hypernodes = [h for h in self.manifests.get(HyperNode, {}).values() if isinstance(h, HyperNode)]
            self._domain_tree = DomainTree(hypernodes, self.nodes.names, self.nodes.labels)
        return self._domain_tree

    def derived(self, make: Callable[[LiveState], Model]) -> Model:
        """What follows from nodes and queues alone, made once and kept until one of them changes."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("Model", self._derived[make])

    # What happens

    def note(self, manifest: Manifest) -> None:
        """The object is new, or looks like this now."""
        self._noted.setdefault(type(manifest), {})[manifest.key] = manifest

    def forget(self, manifest: Manifest) -> None:
        """The object is gone; one that comes later under its name stands last."""
        self.lose(type(manifest), manifest.key)

    def lose(self, kind: type[Manifest], key: str) -> None:
        """The same, where only its name is known."""
        changes = self._noted.setdefault(kind, {})
        changes.pop(key, None)
        changes[key] = None

    def complaints(self) -> list[Complaint]:
        """What cannot be used as it is."""
        groups = self.manifests.get(PodGroup, {})
        return [*self._faults.values(), *self._rolls.complaints(groups), *self._ground.complaints()]

    # What a session supposes

    def lend(self) -> None:
        """A session is about to suppose things."""
        if self._is_lent:
            self.rewind()
        self._is_lent = True
        self.nodes.has_promises = any(self.nodes.releasing_in_all.tolist())
        self.pods.is_kept = False

    def released(self, task: Task) -> None:
        """A session evicts the task, whose job may be one that it does not look at otherwise."""
        self._released[task.uid] = task

    def leave_in_peace(self, job: Job, *, news: PodGroupStatus | None) -> None:
        """The cycle told no more than this of the job: where it rests, later ones need not look at it."""
        if is_at_rest(job):
            if news is None:
                self._quiet.append(job)
            else:
                self._last_words[job.uid] = news

    def leave_at_the_door(self, job: Job, key: tuple[Any, ...], whose: object) -> None:
        """The cycle did not admit the job and had no news of it: later ones ask for it when its turn comes.

        `key` is its place in the order of jobs, and `whose` says whose order that is.
        """
        self.door.whose = whose
        self._turned_away.append((job, key))

    def call_in(self, job: Job) -> None:
        """The job no longer waits at the door: it is looked at like others."""
        self.door.remove(job.uid)
        self.settled.remove(job.uid)
        self.restless[job.uid] = job

    def expect_no_more_than(self, status: PodGroupStatus, job: str) -> None:
        """A cycle that was left out would have told this of the job; where it rests, none need look at it."""
        self._last_words[job] = status

    def rewind(self) -> None:
        """Undo whatever a session supposed: everything is again as the manifests say."""
        self._is_lent = False
        self.pods.stop_counting()
        losers = {task.job: self.jobs[task.job] for task in self._released.values() if task.job in self.jobs}
        for job in {**self.restless, **losers}.values():
            if job.roster.moves or job.has_topology:
                for task in job.tasks.values():
                    self._restore(task, job)
                job.tidy()
            job.forget_session()
        for task in self._released.values():
            self._restore(task, self.jobs.get(task.job))
        self._released.clear()
        for job in self._quiet:
            if job.uid in self.restless:
                self._settle(job)
        self._quiet.clear()
        for job, key in self._turned_away:
            if job.uid in self.restless:
                self._settle(job)
                self.door.add(job, key)
        self._turned_away.clear()

    def _restore(self, task: Task, job: Job | None) -> None:
        fact = status_of(task.pod)
        if task.status is not fact:
            if task.node != NOWHERE and not task.pod.spec.node_name:
                self._ground.take_off(task)
            elif task.uid in self._released:
                self.nodes.keep(task)
                self.pods.bring_back(task)
            self._set_status(task, job, fact)
        task.forget_session()

    def _set_status(self, task: Task, job: Job | None, status: Status) -> None:
        if job is None:
            task.status = status
        else:
            job.move(task, status)

    # Taking in

    def take_in(self) -> None:
        """Bring everything up to what was noted."""
        is_large = sum(map(len, self._noted.values())) >= MANY_OBJECTS
        self.is_torn = True
        with without_collector():
            followed = self._follow(self._noted.get(Pod, {}))
            self.rewind()
            self._take_in(followed)
        self.is_torn = False
        if is_large:
            spare_what_is_there()

    def _follow(self, noted: Changes) -> set[str]:
        """Who went where the session had put them, or stays where they were: they take their tasks along.

        Nothing is undone and done again for them.
        """
        followed: set[str] = set()
        for key, pod in noted.items():
            if not isinstance(pod, Pod) or not pod.spec.node_name:
                continue
            task = self.tasks.get(key)
            if task is None or task.node == NOWHERE or task.status not in ALLOCATED_SET:
                continue
            status = status_of(pod)
            stays = pod.spec.node_name == task.node_name and status in STAYING
            if stays and has_only_moved(task.pod, pod):
                task.pod = pod
                self._set_status(task, self.jobs.get(task.job), status)
                self.pods.bring_back(task)
                self._touched[task.job] = None
                followed.add(key)
        return followed

    def _take_in(self, followed: set[str]) -> None:
        noted, self._noted = self._noted, {}
        if noted and self.on_take_in is not None:
            self.on_take_in(noted)
        for kind, changes in noted.items():
            self._file(kind, changes)
        if NodeManifest in noted or HyperNode in noted:
            self._domain_tree = None
        if NodeManifest in noted or CSINode in noted or QueueManifest in noted:
            self._derived.clear()
        if PriorityClass in noted:
            self._take_in_priorities()
        nodes = self._read(NodeManifest, {NodeManifest: self._changed_nodes(noted)}, self._node_of)
        queues = self._read(QueueManifest, noted, queue_of)
        jobs = self._read(PodGroup, noted, self._job_of)
        pods = {key: pod for key, pod in noted.get(Pod, {}).items() if key not in followed}
        pods.update(self._pods_with_changed_storage(noted))
        tasks = self._read(Pod, {Pod: pods}, self._task_of)
        self._widen(resources_in(nodes, queues, jobs, tasks))
        if nodes:
            self._take_in_nodes(nodes)
        if queues:
            moved = self._take_in_queues(queues)
            if moved:
                jobs = {**self._waiting_for(moved), **jobs}
        self._take_in_jobs(jobs)
        self._take_in_tasks(tasks)
        self._settle_touched()

    def _file(self, kind: type[Manifest], changes: Changes) -> None:
        """Keep the manifests themselves; a new object under the name of an old one comes last."""
        known = self.manifests.setdefault(kind, {})
        for key, manifest in changes.items():
            before = known.get(key)
            if before is not None and (manifest is None or manifest.metadata.uid != before.metadata.uid):
                del known[key]
                before = None
                if kind is PodGroup:
                    del self._number_of_group[key]
            if manifest is not None:
                known[key] = manifest
                if before is None and kind is PodGroup:
                    self._groups_seen += 1
                    self._number_of_group[key] = self._groups_seen

    def _read(self, kind: type[M], noted: Noted, read: Callable[[M], Model]) -> dict[str, Model | None]:
        """The changed objects of a kind as the core knows them; None where gone, or where unusable."""
        found: dict[str, Model | None] = {}
        for key, manifest in noted.get(kind, {}).items():
            if self._faults:
                self._faults.pop((kind, key), None)
            found[key] = None
            if isinstance(manifest, kind):
                try:
                    found[key] = read(manifest)
                except Exception as error:
                    # Whatever is wrong with one object, the others are read.
                    subject = f"{kind.__name__.lower()} {key}"
                    self._faults[kind, key] = Complaint(subject, f"left out: {said_by(error)}")
        return found

    def find(self, kind: type[M], key: str) -> M | None:
        """The latest manifest of this kind and key."""
        return cast("M | None", self.manifests.get(kind, {}).get(key))

    def _changed_nodes(self, noted: Noted) -> Changes:
        """Nodes that are new, different or gone, and those whose drivers are."""
        known = self.manifests.get(NodeManifest, {})
        limited: Changes = {name: known[name] for name in noted.get(CSINode, {}) if name in known}
        return {**noted.get(NodeManifest, {}), **limited}

    def _node_of(self, manifest: NodeManifest) -> Node:
        return node_of(manifest, self.find(CSINode, manifest.metadata.name))

    def _pods_with_changed_storage(self, noted: Noted) -> Changes:
        known = self.manifests.get(Pod, {})
        keys = [key for kind in STORAGE for key in self._volumes.pods_of(kind, noted.get(kind, ()))]
        return {key: known[key] for key in keys if key in known}

    def _task_of(self, pod: Pod) -> Task:
        """Mostly a pod has got a node or another status, or comes with its like: there is little to read."""
        if has_claims(pod):
            return task_of(pod, self._volumes.request_of(pod))
        known = self.tasks.get(pod.key)
        if known is not None:
            return moved_on(known, pod) or task_of(pod)
        twin = twin_of(self._newest, pod) if self._newest is not None else None
        self._newest = twin or task_of(pod)
        return self._newest

    def _job_of(self, group: PodGroup) -> Job:
        known = self.jobs.get(group.key)
        if known is not None and known.says_the_same_as(group):
            known.pod_group, known.phase = group, group.status.phase
            return known
        job = job_of(group, self._priority_of(group), self._default_queue)
        job.number = self._number_of_group[job.uid]
        return job

    def _priority_of(self, group: PodGroup) -> int:
        return self._value_of_class.get(group.spec.priority_class_name, self._usual_priority)

    def _widen(self, names: set[str]) -> None:
        """Resources that were never heard of before get columns; where there are many, others lose theirs."""
        if names <= self.axis.column_of.keys():
            return
        is_crowded = len(names.union(self.axis.names)) > MANY_RESOURCES
        self.axis = Axis(names.union(self._resources_in_use() if is_crowded else self.axis.names))
        self._derived.clear()
        self._ground.widen(self.axis)
        self._weights.clear()
        for task in self.tasks:
            self._lay_out(task)
        for job in self.jobs.values():
            job.min_vector = None
        self._touched.update(dict.fromkeys(self.jobs))

    def _resources_in_use(self) -> set[str]:
        nodes = {node.name: node for node in self.nodes.nodes}
        return resources_in(nodes, self.queues, self.jobs, {task.key: task for task in self.tasks})

    def _lay_out(self, task: Task) -> None:
        """Amounts by name become a vector; tasks that ask for the same share one."""
        shape = (*task.request.items(), task.nonzero, task.nonzero_on_node)
        weight = self._weights.get(shape)
        if weight is None:
            vector, asked = self.axis.vector(task.request), self.axis.compared(task.request)
            weight = Weight(vector, task.nonzero, asked, self.axis.pods, task.nonzero_on_node)
            self._weights[shape] = weight
        task.vector, task.asked, task.weight = weight.vector, weight.asked, weight

    def _take_in_nodes(self, changed: Mapping[str, Node | None]) -> None:
        for name, node in changed.items():
            if node is not None and not node.promised:
                message = "status.allocatable: missing; nothing can be placed there"
                self._faults[NodeManifest, name] = Complaint(f"node {name}", message)
        for task in self._ground.change(changed, self.manifests[NodeManifest]):
            self._touched[task.job] = None

    def _take_in_queues(self, changed: Mapping[str, Queue | None]) -> set[str]:
        """The names of queues that came or went."""
        known = {**self.queues, **changed}
        names = [name for name in self.manifests[QueueManifest] if known.get(name) is not None]
        before, self.queues = self.queues, {name: queue for name in names if (queue := known[name])}
        return before.keys() ^ self.queues.keys()

    def _waiting_for(self, queues: set[str]) -> dict[str, Job | None]:
        """The jobs that ask for one of these queues, and those turned away before, looked at anew."""
        asking = [job.uid for job in self.jobs.values() if job.queue in queues]
        turned_away = [key for kind, key in self._faults if kind is PodGroup]
        groups = self.manifests.get(PodGroup, {})
        again: Changes = {key: groups[key] for key in (*asking, *turned_away) if key in groups}
        return self._read(PodGroup, {PodGroup: again}, self._job_of)

    def _take_in_priorities(self) -> None:
        classes = [c for c in self.manifests[PriorityClass].values() if isinstance(c, PriorityClass)]
        self._value_of_class = {one.metadata.name: one.value for one in classes}
        self._usual_priority = next((one.value for one in classes if one.global_default), 0)
        for job in self.jobs.values():
            priority = self._priority_of(job.pod_group)
            if priority != job.priority:
                job.priority = priority
                self._touched[job.uid] = None

    def _take_in_jobs(self, changed: Mapping[str, Job | None]) -> None:
        for uid, job in changed.items():
            old = self.jobs.get(uid)
            if job is not None and self._has_queue(job):
                if job is not old:
                    self._rolls.put(job)
                    self._last_words.pop(uid, None)
            elif old is not None:
                self._rolls.drop(old)
            if job is not None and benefit_of(job.pod_group.status) is not None:
                self.beneficiaries.add(uid)
            else:
                self.beneficiaries.discard(uid)
            self._touched[uid] = None

    def _has_queue(self, job: Job) -> bool:
        if job.queue in self.queues:
            return True
        known = ", ".join(sorted(self.queues)) or "none"
        message = f'spec.queue: asks for queue "{job.queue}", which does not exist; known queues: {known}'
        self._faults[PodGroup, job.uid] = Complaint(f"podgroup {job.uid}", message)
        return False

    def _take_in_tasks(self, changed: Mapping[str, Task | None]) -> None:
        for key, task in changed.items():
            old = self.tasks.get(key)
            if old is not None:
                self._ground.take_off(old)
                self._touched[old.job] = None
            if task is None:
                self._volumes.forget(key)
            else:
                self._touched[task.job] = None
                if old is not None and task.weight is old.weight:
                    self._rolls.renew(old, task)
                    continue
                self._lay_out(task)
            self._rolls.swap(old, task)
            for one in (old, task):
                if one is not None:
                    self._last_words.pop(one.job, None)
        self._ground.load([task for task in changed.values() if task is not None])

    def _settle_touched(self) -> None:
        """Jobs that something happened to are looked at again."""
        zero = np.zeros(len(self.axis), dtype=np.int64)
        for uid in self._touched:
            self.settled.remove(uid)
            self.door.remove(uid)
            job = self.jobs.get(uid)
            if job is None:
                self.restless.pop(uid, None)
                continue
            job.tidy()
            job.held = sum_of(job.roster.among(ALLOCATED_SET), zero)
            self.restless[uid] = job
        self._touched.clear()
        for uid, status in self._last_words.items():
            job = self.restless.get(uid)
            if job is not None and is_at_rest(job) and says_all(job, status):
                self._settle(job)
        self._last_words.clear()

    def _settle(self, job: Job) -> None:
        del self.restless[job.uid]
        self.settled.add(self, job)


def resources_in(
    nodes: Mapping[str, Node | None],
    queues: Mapping[str, Queue | None],
    jobs: Mapping[str, Job | None],
    tasks: Mapping[str, Task | None],
) -> set[str]:
    """The names of all resources that these speak of."""
    names: set[str] = set()
    for node in filter(None, nodes.values()):
        names.update(node.allocatable)
    for queue in filter(None, queues.values()):
        names.update(queue.capability, queue.deserved, queue.guarantee)
    for job in filter(None, jobs.values()):
        names.update(job.min_resources or ())
    for task in filter(None, tasks.values()):
        names.update(task.request)
    return names
