"""A world of objects for laws of the live state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from msgspec.structs import replace

from hekla.cluster import conditions
from hekla.conf import Conf
from hekla.engine.framework.decisions import Bind, Decision, Evict, Tell, UpdatePodGroup
from hekla.engine.framework.session import Session
from hekla.engine.ledger.demand import sums_of
from hekla.engine.model.job import Job
from hekla.engine.model.task import Task
from hekla.engine.state.live import MANY_RESOURCES, LiveState
from hekla.engine.state.snapshot import Snapshot, snapshot_of, take_snapshot
from hekla.engine.state.waiting import fit_counts, room_of
from hekla.objects import Manifest, Pod, PodGroup
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.story import conf_of
from hekla.testing.strategies import NOW

Key = tuple[type[Manifest], str]


class World:
    """Objects as an API server keeps them, and a live state that hears of every change."""

    def __init__(self, *, most_resources: int = MANY_RESOURCES) -> None:
        self.objects: dict[Key, Manifest] = {}
        self.live = LiveState(most_resources=most_resources)

    def put(self, manifest: Manifest) -> None:
        known = self.objects.get((type(manifest), manifest.key))
        if known is not None and known.metadata.uid != manifest.metadata.uid:
            del self.objects[type(manifest), manifest.key]
        self.objects[type(manifest), manifest.key] = manifest
        self.live.note(manifest)

    def remove(self, key: Key) -> None:
        if key in self.objects:
            self.live.forget(self.objects.pop(key))

    def carry_out(self, decision: Decision) -> None:
        """Bound pods run and evicted ones are gone at once; statuses and conditions are written down."""
        match decision:
            case Bind():
                self.bind(decision.pod, decision.node, "Running")
            case Evict():
                self.remove((Pod, decision.pod))
            case Tell():
                pod = self.objects[Pod, decision.pod]
                assert isinstance(pod, Pod)
                moment = datetime.fromtimestamp(NOW, UTC)
                self.put(conditions.not_scheduled(pod, decision.reason, decision.message, moment))
            case UpdatePodGroup():
                group = self.objects[PodGroup, decision.pod_group]
                assert isinstance(group, PodGroup)
                self.put(replace(group, status=decision.status))

    def bind(self, pod: str, node: str, phase: str) -> None:
        before = self.objects[Pod, pod]
        assert isinstance(before, Pod)
        spec, status = replace(before.spec, node_name=node), replace(before.status, phase=phase)
        self.put(replace(before, spec=spec, status=status))

    def end_a_pod(self) -> None:
        """The first pod that runs has succeeded."""
        for manifest in self.objects.values():
            if isinstance(manifest, Pod) and manifest.status.phase == "Running":
                self.put(replace(manifest, status=replace(manifest.status, phase="Succeeded")))
                return


def cycle(snapshot: Snapshot, conf: Conf) -> CycleReport:
    return run_cycle(snapshot, conf, now=NOW, memory={})


def accounts(session: Session) -> dict[str, tuple[object, ...]]:
    """What every node has, has given away and will get back; columns that nobody uses do not matter."""
    nodes, pods, axis = session.nodes, session.pods, session.axis
    tables = (nodes.allocatable, nodes.idle, nodes.used, nodes.releasing, nodes.future, pods.requested)
    in_all = (nodes.total, nodes.used_in_all, nodes.releasing_in_all)
    sums = (nodes.allocatable.sum(axis=0), nodes.used.sum(axis=0), nodes.releasing.sum(axis=0))
    assert [kept.tolist() for kept in in_all] == [counted.tolist() for counted in sums]
    return {
        name: (
            *(axis.resources(table[row]) for table in tables),
            tuple(pods.nonzero[row]),
            int(pods.count[row]),
            sorted(nodes.tasks_on[row]),
        )
        for row, name in enumerate(nodes.names)
    }


def people(session: Session) -> dict[str, object]:
    """Every job's tasks, by status, in order."""
    return {
        uid: [(task.uid, task.status, task.node_name, task.sub_job) for task in job.tasks.values()]
        for uid, job in session.jobs.items()
    }


def assert_same(world: World, conf: Conf) -> Sequence[Decision]:
    """What was decided, by both."""
    kept = cycle(snapshot_of(world.live), conf)
    anew = cycle(take_snapshot(world.objects.values()), conf)
    assert accounts(kept.session) == accounts(anew.session)
    assert people(kept.session) == people(anew.session)
    assert kept.decisions == of_jobs_looked_at(anew.decisions, kept.session)
    return kept.decisions


def of_jobs_looked_at(decisions: Iterable[Decision], kept: Session) -> list[Decision]:
    """All but what a session that looks at every job tells of those that wait unseen in the kept state.

    Of these the words stand that were told before, though nodes have other amounts free by now.
    """
    unseen = {one.uid for one in kept.attention.waiting()}
    pods = {task.key for uid in unseen for task in kept.jobs[uid].tasks.values()}
    return [
        one
        for one in decisions
        if not (isinstance(one, Tell) and one.pod in pods)
        and not (isinstance(one, UpdatePodGroup) and one.pod_group in unseen)
    ]


def world_of(manifests: Iterable[Manifest]) -> World:
    world = World()
    for manifest in stamped(manifests):
        world.put(manifest)
    return world


def one_gang(phase: str) -> World:
    """A node, and a gang of two that fits there."""
    return world_of([queue("default"), node("n1"), *job("a", tasks=2, cpu=1, phase=phase).objects])


STARTING = conf_of("enqueue, allocate", ("priority, gang", "predicates, proportion"))
"""Admits and places."""


def facts(snapshot: Snapshot) -> dict[str, object]:
    """Everything a state knows, in plain words and in its order."""
    state = snapshot.state
    axis, nodes, tree = state.axis, state.nodes, state.domain_tree()
    assert_every_job_is_in_one_place(state)
    assert_sums_are_right(state)
    assert_bounds_are_high_enough(state)
    return {
        "nodes": [
            (one.name, one.allocatable, one.manifest, nodes.pod_limit[row], _amounts(state, row))
            for row, one in enumerate(nodes.nodes)
        ],
        "queues": [(name, one.manifest) for name, one in state.queues.items()],
        "queues with jobs": state.index.queues_with_jobs(),
        "jobs": [_job_facts(state, job) for job in state.jobs.values()],
        "tasks": [
            (
                t.key,
                t.uid,
                t.job,
                t.status,
                t.node_name,
                t.node,
                t.request,
                axis.resources(t.vector),
                t.priority,
            )
            for t in state.tasks
        ],
        "labels": dict(state.tasks.census(label_pairs)),
        "domains": [(d.name, d.tier, d.parent, d.children, d.rows.tolist()) for d in tree.by_name.values()],
        "tiers": tree.tier_of_name,
        "beneficiaries": state.beneficiaries,
        "complaints": sorted(map(str, state.complaints())),
        "manifests": {kind: list(known.items()) for kind, known in state.manifests.items() if known},
    }


def label_pairs(task: Task) -> Iterable[tuple[str, str]]:
    return task.pod.metadata.labels.items()


def assert_every_job_is_in_one_place(state: LiveState) -> None:
    attention = state.attention
    waiting = [one.uid for one in (*attention.to_admit.jobs(), *attention.to_place.jobs())]
    assert sorted([*attention.active, *attention.resting, *waiting]) == sorted(state.jobs)
    assert len(waiting) == len(attention.to_admit) + len(attention.to_place)


def assert_sums_are_right(state: LiveState) -> None:
    counted = {one.queue: np.zeros((5, len(state.axis)), dtype=np.int64) for one in state.jobs.values()}
    for one in state.jobs.values():
        counted[one.queue] += sums_of(state, one)
    kept = {name: sums.table.tolist() for name, sums in state.attention.queue_sums.items()}
    assert kept == {name: table.tolist() for name, table in counted.items()}


def assert_bounds_are_high_enough(state: LiveState) -> None:
    """Of no kind of waiting jobs more tasks fit on the nodes than its bound says."""
    backlog = state.attention.to_place
    for one in backlog.jobs():
        row = backlog.row_of(one.uid)
        fitting = fit_counts(room_of(state.nodes), backlog.asks[:, row : row + 1]).sum()
        assert backlog.most[row] >= fitting


def _amounts(state: LiveState, row: int) -> tuple[object, ...]:
    nodes, pods, axis = state.nodes, state.pods, state.axis
    tables = (nodes.allocatable, nodes.idle, nodes.used, nodes.releasing, nodes.future, pods.requested)
    return (
        *(axis.resources(table[row]) for table in tables),
        pods.nonzero[row].tolist(),
        int(pods.count[row]),
        sorted(nodes.tasks_on[row]),
        sorted(pods.pods_on[row]),
    )


def _job_facts(state: LiveState, job: Job) -> tuple[object, ...]:
    roster = job.roster
    return (
        job.uid,
        job.queue,
        job.priority,
        job.phase,
        job.min_resources,
        job.pod_group,
        state.axis.resources(job.held),
        (roster.minimum, roster.ready, roster.pending_best_effort),
        [task.uid for task in roster.tasks.values()],
        [list(tasks) for _, tasks in roster.by_status()],
        [
            (uid, sub_job.group, sub_job.match_index, sub_job.asked, list(sub_job.roster.tasks))
            for uid, sub_job in job.sub_jobs.items()
        ],
    )


def differences(kept: object, anew: object, at: str = "") -> list[str]:
    """Where the two differ, in a few words each."""
    if kept == anew:
        return []
    if isinstance(kept, Mapping) and isinstance(anew, Mapping):
        keys = {**kept, **anew}
        return [one for key in keys for one in differences(kept.get(key), anew.get(key), f"{at}/{key}")]
    if isinstance(kept, list | tuple) and isinstance(anew, list | tuple) and len(kept) == len(anew):
        pairs = enumerate(zip(kept, anew, strict=True))
        return [one for place, pair in pairs for one in differences(*pair, f"{at}[{place}]")]
    return [f"{at}: kept {kept}, anew {anew}"]
