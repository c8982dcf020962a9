"""LiveState: jobs, tasks, queues, nodes and their ledgers, kept up to date change by change.

Changes are noted when they happen and taken in when the next cycle begins, so that what a cycle
left behind can be looked at until then. Taking in costs what has changed, not what is there.
Objects that cannot be used are left out one by one, each with a complaint that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np

from hekla.collector import without_collector
from hekla.errors import InputError
from hekla.ledger.arrays import Amounts
from hekla.ledger.axis import Axis
from hekla.ledger.nodes import NodeLedger
from hekla.ledger.pods import PodLedger
from hekla.model.job import Job, job_of
from hekla.model.node import Node, node_of
from hekla.model.queue import DEFAULT_QUEUE, Queue, queue_of
from hekla.model.status import ALLOCATED_SET, TERMINATED_SET, status_of
from hekla.model.task import NOWHERE, Task, task_of
from hekla.objects import Manifest, Pod, PodGroup, PriorityClass
from hekla.objects import Node as NodeManifest
from hekla.objects import Queue as QueueManifest
from hekla.objects.complaint import Complaint
from hekla.state.settled import Settled, is_at_rest
from hekla.state.tasks import TaskBook

M = TypeVar("M", bound=Manifest)
Model = TypeVar("Model")
Changes = dict[str, Manifest | None]
"""By key what an object is now; None where it is gone."""


class LiveState:
    """The facts as the latest manifests tell them; a session may suppose others until it is rewound."""

    def __init__(self, *, default_queue: str = DEFAULT_QUEUE) -> None:
        self.axis = Axis()
        self.nodes = NodeLedger((), self.axis)
        self.pods = PodLedger(self.nodes)
        self.queues: dict[str, Queue] = {}
        self.jobs: dict[str, Job] = {}
        self.tasks = TaskBook()
        self.settled = Settled()
        self.restless: dict[str, Job] = {}
        """Jobs that a cycle has to look at; all others are settled."""
        self.manifests: dict[type[Manifest], dict[str, Manifest]] = {}
        self._default_queue = default_queue
        self._noted: dict[type[Manifest], Changes] = {}
        self._faults: dict[tuple[type[Manifest], str], Complaint] = {}
        self._touched: dict[str, None] = {}
        self._orphans: dict[str, dict[str, Task]] = {}
        """Tasks by the group they name, where that is no job."""
        self._adrift: dict[str, dict[str, Task]] = {}
        """Tasks by the node they sit on, where nobody knows that."""
        self._layouts: dict[tuple[tuple[str, int], ...], tuple[Amounts, tuple[int, ...]]] = {}
        self._released: dict[str, Task] = {}
        self._quiet: list[Job] = []
        self._number_of_group: dict[str, int] = {}
        self._groups_seen = 0
        self._value_of_class: dict[str, int] = {}
        self._usual_priority = 0
        self._is_lent = False

    # What happens

    def note(self, manifest: Manifest) -> None:
        """The object is new, or looks like this now."""
        self._noted.setdefault(type(manifest), {})[manifest.key] = manifest

    def forget(self, manifest: Manifest) -> None:
        """The object is gone."""
        changes = self._noted.setdefault(type(manifest), {})
        changes.pop(manifest.key, None)
        changes[manifest.key] = None

    def complaints(self) -> list[Complaint]:
        """What cannot be used as it is."""
        groups = self.manifests.get(PodGroup, {})
        lost = [
            Complaint(f"pod {task.key}", f'names pod group "{group}", which does not exist; it waits')
            for group, tasks in self._orphans.items()
            if group not in groups
            for task in tasks.values()
            if task.status not in TERMINATED_SET
        ]
        adrift = [
            Complaint(f"pod {task.key}", f'spec.nodeName: sits on node "{name}", which does not exist')
            for name, tasks in self._adrift.items()
            for task in tasks.values()
            if task.status not in TERMINATED_SET
        ]
        return [*self._faults.values(), *lost, *adrift]

    # What a session supposes

    def released(self, task: Task) -> None:
        """A session evicts the task, whose job may be one that it does not look at otherwise."""
        self._released[task.uid] = task

    def leave_in_peace(self, job: Job) -> None:
        """The cycle had no news of the job: where it rests, later ones need not look at it."""
        if is_at_rest(job):
            self._quiet.append(job)

    def lend(self) -> None:
        """A session is about to suppose things."""
        if self._is_lent:
            self.rewind()
        self._is_lent = True

    def rewind(self) -> None:
        """Undo whatever a session supposed: everything is again as the manifests say."""
        self._is_lent = False
        self.pods.stop_counting()
        stirred = {task.job for task in self._released.values()} - self.restless.keys()
        for job in (*self.restless.values(), *(self.jobs[uid] for uid in stirred if uid in self.jobs)):
            if job.roster.is_untidy or job.has_topology:
                for task in job.tasks.values():
                    self._restore(task, job)
                job.tidy()
            job.forget_session()
        for task in self._released.values():
            self._restore(task, self.jobs.get(task.job))
        self._released.clear()
        for job in self._quiet:
            if self.restless.pop(job.uid, None) is not None:
                self.settled.add(self, job)
        self._quiet.clear()
        self.nodes.changed.clear()

    def _restore(self, task: Task, job: Job | None) -> None:
        fact = status_of(task.pod)
        if task.status is not fact:
            if task.node != NOWHERE and not task.pod.spec.node_name:
                self.pods.remove(task, task.node)
                self.nodes.lift(task)
            elif task.uid in self._released:
                self.nodes.keep(task)
                self.pods.bring_back(task)
            if job is None:
                task.status = fact
            else:
                job.move(task, fact)
        task.forget_session()

    # Taking in

    def take_in(self) -> None:
        """Bring everything up to what was noted."""
        with without_collector():
            self.rewind()
            self._take_in()

    def _take_in(self) -> None:
        noted, self._noted = self._noted, {}
        for kind, changes in noted.items():
            self._file(kind, changes)
        if PriorityClass in noted:
            self._take_in_priorities()
        nodes = self._read(NodeManifest, noted, node_of)
        queues = self._read(QueueManifest, noted, queue_of)
        jobs = self._read(PodGroup, noted, self._job_of)
        tasks = self._read(Pod, noted, task_of)
        self._widen(nodes, queues, jobs, tasks)
        if nodes:
            self._take_in_nodes(nodes)
        if queues:
            moved = self._take_in_queues(queues)
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

    def _read(
        self, kind: type[M], noted: Mapping[type[Manifest], Changes], read: Callable[[M], Model]
    ) -> dict[str, Model | None]:
        """The changed objects of a kind as the core knows them; None where gone, or where unusable."""
        found: dict[str, Model | None] = {}
        for key, manifest in noted.get(kind, {}).items():
            self._faults.pop((kind, key), None)
            found[key] = None
            if manifest is not None:
                try:
                    found[key] = read(manifest)  # type: ignore[arg-type]
                except InputError as error:
                    subject = f"{kind.__name__.lower()} {key}"
                    self._faults[kind, key] = Complaint(subject, f"left out: {error}")
        return found

    def _job_of(self, manifest: PodGroup) -> Job:
        return job_of(manifest, self._priority_of(manifest), self._default_queue)

    def _priority_of(self, group: PodGroup) -> int:
        return self._value_of_class.get(group.spec.priority_class_name, self._usual_priority)

    def _widen(
        self,
        nodes: Mapping[str, Node | None],
        queues: Mapping[str, Queue | None],
        jobs: Mapping[str, Job | None],
        tasks: Mapping[str, Task | None],
    ) -> None:
        """Resources that were never heard of before get columns."""
        names: set[str] = set()
        for node in nodes.values():
            names.update(node.allocatable if node else ())
        for queue in queues.values():
            names.update(*((queue.capability, queue.deserved, queue.guarantee) if queue else ()))
        for job in jobs.values():
            names.update((job.min_resources or ()) if job else ())
        for task in tasks.values():
            names.update(task.request if task else ())
        if names <= self.axis.column_of.keys():
            return
        self.axis = Axis({*self.axis.names, *names})
        self._layouts.clear()
        self.nodes.widen(self.axis)
        self.pods.widen(self.axis)
        for task in self.tasks:
            self._lay_out(task)
        self._touched.update(dict.fromkeys(self.jobs))

    def _lay_out(self, task: Task) -> None:
        """Amounts by name become a vector; tasks that ask for the same share one."""
        shape = tuple(task.request.items())
        known = self._layouts.get(shape)
        if known is None:
            known = self._layouts[shape] = (self.axis.vector(task.request), self.axis.compared(task.request))
        task.vector, task.asked = known

    # Nodes and queues

    def _take_in_nodes(self, changed: Mapping[str, Node | None]) -> None:
        for name in changed:
            node = changed[name]
            if node is not None and not node.promised:
                message = "status.allocatable: missing; nothing can be placed there"
                self._faults[NodeManifest, name] = Complaint(f"node {name}", message)
        before = self.nodes.row_of
        if all(node is not None and name in before for name, node in changed.items()):
            for name, node in changed.items():
                assert node is not None
                self.nodes.replace(before[name], node)
                self.pods.replace(before[name], node)
            return
        self._lay_rows_anew(changed)

    def _lay_rows_anew(self, changed: Mapping[str, Node | None]) -> None:
        """Nodes came or went: rows stand in the order in which the manifests arrived."""
        known = {node.name: node for node in self.nodes.nodes}
        nodes = [
            node
            for name in self.manifests.get(NodeManifest, ())
            if (node := changed[name] if name in changed else known.get(name)) is not None
        ]
        rows = np.array([self.nodes.row_of.get(node.name, NOWHERE) for node in nodes], dtype=np.intp)
        stranded = self.nodes.lay_anew(nodes, rows)
        self.pods.lay_anew(rows)
        for task in stranded:
            self._adrift.setdefault(task.node_name, {})[task.key] = task
            self._touch(task)
        come_back = [
            task
            for node in nodes
            if node.name in self._adrift
            for task in self._adrift.pop(node.name).values()
        ]
        self._load(come_back)

    def _take_in_queues(self, changed: Mapping[str, Queue | None]) -> set[str]:
        """The names of queues that came or went."""
        old = set(self.queues)
        self.queues.update({name: queue for name, queue in changed.items() if queue is not None})
        for name, queue in changed.items():
            if queue is None:
                self.queues.pop(name, None)
        order = self.manifests.get(QueueManifest, {})
        self.queues = {name: self.queues[name] for name in order if name in self.queues}
        return old ^ set(self.queues)

    def _waiting_for(self, queues: set[str]) -> dict[str, Job | None]:
        """The jobs that ask for one of these queues, which are to be looked at anew."""
        known = {uid: job for uid, job in self.jobs.items() if job.queue in queues}
        turned_away = {
            key: manifest
            for (kind, key) in self._faults
            if kind is PodGroup and isinstance(manifest := self.manifests[kind].get(key), PodGroup)
        }
        asked = {**{uid: job.pod_group for uid, job in known.items()}, **turned_away}
        return self._read(PodGroup, {PodGroup: dict(asked)}, self._job_of)

    def _take_in_priorities(self) -> None:
        classes = [c for c in self.manifests[PriorityClass].values() if isinstance(c, PriorityClass)]
        self._value_of_class = {one.metadata.name: one.value for one in classes}
        self._usual_priority = next((one.value for one in classes if one.global_default), 0)
        for job in self.jobs.values():
            priority = self._priority_of(job.pod_group)
            if priority != job.priority:
                job.priority = priority
                self._touched[job.uid] = None

    # Jobs

    def _take_in_jobs(self, changed: Mapping[str, Job | None]) -> None:
        for uid, job in changed.items():
            old = self.jobs.get(uid)
            if job is not None and self._has_queue(uid, job):
                if old is not None and old.means_the_same_as(job):
                    old.pod_group, old.phase = job.pod_group, job.phase
                else:
                    self._put_job(job, old)
            elif old is not None:
                self._drop_job(old)
            self._touched[uid] = None

    def _has_queue(self, uid: str, job: Job) -> bool:
        if job.queue in self.queues:
            return True
        known = ", ".join(sorted(self.queues)) or "none"
        message = f'spec.queue: asks for queue "{job.queue}", which does not exist; known queues: {known}'
        self._faults[PodGroup, uid] = Complaint(f"podgroup {uid}", message)
        return False

    def _put_job(self, job: Job, old: Job | None) -> None:
        """Take a job in, with the tasks that name it."""
        job.number = self._number_of_group[job.uid]
        tasks = old.tasks if old is not None else self._orphans.pop(job.uid, {})
        for task in tasks.values():
            job.add_task(task)
        is_late = bool(self.jobs) and job.number < next(reversed(self.jobs.values())).number
        self.jobs[job.uid] = job
        if is_late or (old is not None and old.number != job.number):
            self.jobs = dict(sorted(self.jobs.items(), key=lambda entry: entry[1].number))

    def _drop_job(self, job: Job) -> None:
        del self.jobs[job.uid]
        if job.tasks:
            self._orphans[job.uid] = {task.key: task for task in job.tasks.values()}

    # Tasks

    def _take_in_tasks(self, changed: Mapping[str, Task | None]) -> None:
        arrivals: list[Task] = []
        for key, task in changed.items():
            old = self.tasks.get(key)
            if old is not None:
                self._take_off(old)
                self._touch(old)
            if task is not None:
                self._lay_out(task)
                self._touch(task)
            if old is not None and task is not None and old.uid == task.uid and old.job == task.job:
                self._swap(old, task)
            else:
                self._leave(old)
                self._join(task)
            if task is not None:
                arrivals.append(task)
        self._load(arrivals)

    def _touch(self, task: Task) -> None:
        self._touched[task.job] = None

    def _take_off(self, task: Task) -> None:
        if task.node != NOWHERE:
            self.pods.remove(task, task.node)
            self.nodes.lift(task)
        elif task.pod.spec.node_name in self._adrift:
            self._adrift[task.pod.spec.node_name].pop(task.key, None)

    def _swap(self, old: Task, task: Task) -> None:
        """The pod has changed: its task is another in the same place."""
        self.tasks.put(task)
        job = self.jobs.get(task.job)
        if job is not None:
            job.swap(old, task)
        elif task.job:
            self._orphans[task.job][task.key] = task

    def _leave(self, task: Task | None) -> None:
        if task is None:
            return
        self.tasks.remove(task)
        job = self.jobs.get(task.job)
        if job is not None:
            job.remove_task(task)
        elif task.job:
            self._orphans[task.job].pop(task.key)

    def _join(self, task: Task | None) -> None:
        if task is None:
            return
        self.tasks.put(task)
        job = self.jobs.get(task.job)
        if job is not None:
            job.add_task(task)
        elif task.job:
            self._orphans.setdefault(task.job, {})[task.key] = task

    def _load(self, tasks: Iterable[Task]) -> None:
        """Put tasks on the nodes that they sit on, all at once."""
        row_of, placed = self.nodes.row_of, []
        for task in tasks:
            if not task.node_name or task.status in TERMINATED_SET:
                continue
            row = row_of.get(task.node_name, NOWHERE)
            if row == NOWHERE:
                self._adrift.setdefault(task.node_name, {})[task.key] = task
            else:
                task.node = row
                placed.append(task)
        if placed:
            self.nodes.load(placed)
            self.pods.load(placed)

    def _settle_touched(self) -> None:
        """Jobs that something happened to are looked at again."""
        zero = np.zeros(len(self.axis), dtype=np.int64)
        for uid in self._touched:
            self.settled.remove(uid)
            job = self.jobs.get(uid)
            if job is None:
                self.restless.pop(uid, None)
                continue
            job.tidy()
            job.held = sum_of(job.roster.among(ALLOCATED_SET), zero)
            self.restless[uid] = job
        self._touched.clear()


def sum_of(tasks: Iterable[Task], zero: Amounts) -> Amounts:
    """What tasks ask for together; those that ask for the same are counted, not added one by one."""
    counts: dict[int, int] = {}
    vectors: dict[int, Amounts] = {}
    for task in tasks:
        at = id(task.vector)
        counts[at] = counts.get(at, 0) + 1
        vectors[at] = task.vector
    total = zero.copy()
    for at, count in counts.items():
        total += count * vectors[at]
    return total
