"""A cluster behind a small API server in memory, and its writes made, without watches or cycles."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fakes.api import FakeApi
from fakes.client import FakeClient
from hekla.clock import VirtualClock
from hekla.cluster.kubernetes import KubernetesCluster, KubernetesOptions
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.model.task import Task
from hekla.objects import Manifest, Node, ObjectMeta, Pod, PodGroup
from hekla.objects.keys import GROUP_NAME
from hekla.objects.node import NodeSpec, NodeStatus
from hekla.objects.pod import Container, PodSpec, PodStatus, ResourceRequirements
from hekla.objects.scheduling import PodGroupSpec


def node(name: str, cpu: int, pods: int = 10, *, is_cordoned: bool = False) -> Node:
    return Node(
        metadata=ObjectMeta(name=name, uid=name),
        spec=NodeSpec(unschedulable=is_cordoned),
        status=NodeStatus(allocatable={"cpu": cpu, "pods": pods}),
    )


def pod(name: str, cpu: int = 1, on: str = "", group: str = "g") -> Pod:
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu}))
    meta = ObjectMeta(name=name, namespace="x", uid=name, annotations={GROUP_NAME: group} if group else {})
    spec = PodSpec(containers=(container,), node_name=on, scheduler_name="volcano")
    return Pod(metadata=meta, spec=spec, status=PodStatus(phase="Running" if on else "Pending"))


def group(minimum: int, name: str = "g") -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace="x", uid=name),
        spec=PodGroupSpec(min_member=minimum, queue="default"),
    )


def binds(*names: str, to: str = "n", job: str = "x/g") -> list[Bind]:
    return [Bind(f"x/{name}", name, to, job) for name in names]


def evict(name: str) -> Evict:
    return Evict(f"x/{name}", name, "n", "preempt", "x/urgent")


@dataclass
class Scene:
    api: FakeApi
    cluster: KubernetesCluster

    def task(self, name: str) -> Task:
        """The pod as the engine sees it."""
        return next(task for task in self.cluster.snapshot().tasks if task.name == name)

    def asked(self, method: str, part: str = "") -> int:
        """How many such requests the server has seen."""
        return sum(part in path for asked, path in self.api.asked if asked == method)

    async def written(self) -> None:
        """Everything is written that is to be."""
        async with asyncio.timeout(5):
            while not self.cluster.outbox.is_empty:
                await asyncio.sleep(0.001)


def played(
    play: Callable[[Scene], Awaitable[None]],
    *things: Manifest,
    may_write: Callable[[], bool] = lambda: True,
    **options: Any,
) -> None:
    """Play a scene with these objects; rests are short unless said otherwise."""

    async def run() -> None:
        api = FakeApi(*things)
        rests = {"first_back_off": 0.05, "first_eviction_back_off": 0.05, **options}
        client: Any = FakeClient(api)
        cluster = KubernetesCluster(client, VirtualClock(), KubernetesOptions(**rests), may_write=may_write)
        for thing in things:
            cluster.facts.put(thing)
        writing = asyncio.create_task(cluster.outbox.run())
        try:
            await play(Scene(api, cluster))
        finally:
            writing.cancel()

    asyncio.run(run())
