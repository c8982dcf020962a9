"""Taking in: what was noted becomes part of the state; it costs what has changed, not what is there."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

from hekla.engine.ledger.axis import Axis
from hekla.engine.model.benefit import benefit_of
from hekla.engine.model.job import Job
from hekla.engine.model.node import NodeInfo
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import ALLOCATED_SET, Status, status_of
from hekla.engine.model.task import NOTHING, NOWHERE, RequestShape, Task, has_only_moved
from hekla.engine.state.manifests import Changes, Noted, Reader
from hekla.objects import CSINode, HyperNode, Node, Pod, PodGroup, PriorityClass, Queue
from hekla.objects.complaint import Complaint

if TYPE_CHECKING:
    from hekla.engine.state.live import LiveState

STAYING = (Status.BOUND, Status.RUNNING)


class TakingIn:
    """Brings a state up to date, step by step."""

    def __init__(self, state: LiveState, default_queue: str, ignored_provisioners: Collection[str]) -> None:
        self._state = state
        self._reader = Reader(state.all_manifests, state.index, default_queue, ignored_provisioners)
        self._shapes: WeakValueDictionary[Hashable, RequestShape] = WeakValueDictionary()
        """By what is asked for, as long as there is a task that does."""

    def complaints(self) -> Iterator[Complaint]:
        """What cannot be used as it is."""
        state = self._state
        yield from self._reader.faults.values()
        yield from state.index.complaints(state.manifests.get(PodGroup, {}))
        yield from state.ledgers.complaints()

    def follow(self, noted: Changes) -> set[str]:
        """The keys of pods that went where the session had put them, or stay where they were.

        They take their tasks along: nothing is undone and done again for them.
        """
        state, followed = self._state, set()
        known = state.tasks.by_key
        moved: dict[tuple[str, Status], list[Task]] = {}
        for key, pod in noted.items():
            if not isinstance(pod, Pod) or not pod.spec.node_name:
                continue
            task = known.get(key)
            if task is None or task.node == NOWHERE or task.status not in ALLOCATED_SET:
                continue
            status = status_of(pod)
            stays = pod.spec.node_name == task.node_name and status in STAYING
            if stays and has_only_moved(task.pod, pod):
                task.pod, task.fact = pod, status
                moved.setdefault((task.job, status), []).append(task)
                followed.add(key)
        for (job, status), tasks in moved.items():
            state.pods.bring_back(tasks)
            state.set_statuses(job, tasks, status)
            state.attention.change(job)
        return followed

    def take_in(self, noted: Noted, followed: Collection[str]) -> None:
        """One step; the tasks of the pods that were followed are up to date."""
        state, reader = self._state, self._reader
        self._forget_derived(noted)
        if PriorityClass in noted:
            state.attention.change(*[job.uid for job in reader.learn_priorities()])
        nodes = reader.nodes(noted)
        queues = reader.queues(noted)
        jobs = reader.jobs(noted.get(PodGroup, {}))
        tasks = reader.tasks(noted, followed)
        self._widen(resources_in(nodes, queues, jobs, tasks))
        if nodes:
            self._take_in_nodes(nodes)
        if queues and (moved := self._take_in_queues(queues)):
            jobs = {**reader.jobs_again(moved), **jobs}
        if jobs:
            self._take_in_jobs(jobs)
        if tasks:
            self._take_in_tasks(tasks)

    def _forget_derived(self, noted: Noted) -> None:
        state = self._state
        if Node in noted or HyperNode in noted:
            state.kept_tree = None
        if HyperNode in noted:
            # Whether the tier that a job names is known may have changed, and that is told.
            for job in state.jobs.values():
                if job.has_topology:
                    state.attention.outdate(job.uid)
        if Node in noted or CSINode in noted or Queue in noted:
            state.kept_derived.clear()

    def _widen(self, names: set[str]) -> None:
        """Resources that were never heard of before get columns; of many, those out of use lose theirs."""
        state = self._state
        if names <= state.axis.column_of.keys():
            return
        is_crowded = len(names.union(state.axis.names)) > state.most_resources
        state.axis = Axis(names.union(self._resources_in_use() if is_crowded else state.axis.names))
        state.kept_derived.clear()
        state.ledgers.widen(state.axis)
        self._shapes.clear()
        self._lay_out(state.tasks)
        for job in state.jobs.values():
            job.min_vector = None
        state.attention.change(*state.jobs)

    def _resources_in_use(self) -> set[str]:
        state = self._state
        nodes = {node.name: node for node in state.nodes.nodes}
        return resources_in(nodes, state.queues, state.jobs, {task.key: task for task in state.tasks})

    def _lay_out(self, tasks: Iterable[Task]) -> None:
        """Amounts by name become a vector; tasks that ask for the same share one."""
        request, shape = None, NOTHING
        for task in tasks:
            if task.request is not request:
                request, shape = task.request, self._shape_of(task)
            task.vector, task.asked, task.shape = shape.vector, shape.asked, shape

    def _shape_of(self, task: Task) -> RequestShape:
        axis = self._state.axis
        key = (*task.request.items(), task.nonzero, task.nonzero_on_node)
        shape = self._shapes.get(key)
        if shape is None:
            vector, asked = axis.vector(task.request), axis.compared(task.request)
            shape = RequestShape(vector, task.nonzero, asked, axis.pods, task.nonzero_on_node, axis=axis)
            self._shapes[key] = shape
        return shape

    def _take_in_nodes(self, changed: Mapping[str, NodeInfo | None]) -> None:
        state = self._state
        total = state.nodes.total
        moved_tasks = state.ledgers.change(changed, state.manifests[Node])
        state.attention.change(*[task.job for task in moved_tasks])
        if not np.array_equal(total, state.nodes.total):
            state.attention.forget_admission_room()

    def _take_in_queues(self, changed: Mapping[str, QueueInfo | None]) -> set[str]:
        """The names of queues that came or went."""
        state = self._state
        if any(one is None or not one.says_the_same_as(state.queues.get(at)) for at, one in changed.items()):
            state.attention.forget_admission_room()
        known = {**state.queues, **changed}
        names = [name for name in state.manifests[Queue] if known.get(name) is not None]
        before, state.queues = state.queues, {name: queue for name in names if (queue := known[name])}
        return before.keys() ^ state.queues.keys()

    def _take_in_jobs(self, changed: Mapping[str, Job | None]) -> None:
        state = self._state
        anew: list[str] = []
        for uid, job in changed.items():
            old = state.index.job(uid)
            if job is not None and self._reader.has_queue(job, state.queues):
                if job is not old:
                    state.index.put(job)
                    anew.append(uid)
            elif old is not None:
                state.index.drop(old)
            if job is not None and benefit_of(job.pod_group.status) is not None:
                state.beneficiaries.add(uid)
            else:
                state.beneficiaries.discard(uid)
        state.attention.change(*changed)
        if anew:
            state.attention.outdate(*anew)

    def _take_in_tasks(self, changed: Mapping[str, Task | None]) -> None:
        state, known = self._state, self._state.tasks.by_key
        moved: list[tuple[Task, Task]] = []
        others: list[tuple[Task | None, Task | None]] = []
        for key, task in changed.items():
            old = known.get(key)
            if old is not None and task is not None and task.shape is old.shape:
                moved.append((old, task))
            else:
                others.append((old, task))
        state.ledgers.take_off([old for old, _ in (*moved, *others) if old is not None])
        if moved:
            state.index.renew(moved)
            state.attention.change(*[task.job for _, task in moved])
        if others:
            self._lay_out([task for _, task in others if task is not None])
            state.index.swap(others)
            state.attention.outdate(*{task.job: None for pair in others for task in pair if task is not None})
        state.ledgers.load([task for task in changed.values() if task is not None])


def resources_in(
    nodes: Mapping[str, NodeInfo | None],
    queues: Mapping[str, QueueInfo | None],
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
    for request in {id(task.request): task.request for task in tasks.values() if task is not None}.values():
        names.update(request)
    return names
