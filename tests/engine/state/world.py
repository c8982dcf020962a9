"""A world of objects for laws of the live state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hekla.conf import Conf
from hekla.engine.framework.decisions import Bind, Decision, Evict, UpdatePodGroup
from hekla.engine.framework.session import Session
from hekla.engine.state.live import LiveState
from hekla.engine.state.snapshot import Snapshot, snapshot_of, take_snapshot
from hekla.objects import Manifest, Pod, PodGroup
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.story import conf_of
from hekla.testing.strategies import NOW

Key = tuple[type[Manifest], str]


class World:
    """Objects as an API server keeps them, and a live state that hears of every change."""

    def __init__(self) -> None:
        self.objects: dict[Key, Manifest] = {}
        self.live = LiveState()

    def put(self, manifest: Manifest) -> None:
        self.objects[type(manifest), manifest.key] = manifest
        self.live.note(manifest)

    def remove(self, key: Key) -> None:
        if key in self.objects:
            self.live.forget(self.objects.pop(key))

    def carry_out(self, decision: Decision) -> None:
        """Bound pods run and evicted ones are gone at once; statuses are written down."""
        match decision:
            case Bind():
                self.bind(decision.pod, decision.node, "Running")
            case Evict():
                self.remove((Pod, decision.pod))
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
    assert kept.decisions == anew.decisions
    return anew.decisions


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
