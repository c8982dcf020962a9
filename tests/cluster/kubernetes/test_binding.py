"""Whole gangs against the newest facts: none is started in part, and no node is overfilled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from hekla.clock import VirtualClock
from hekla.cluster.kubernetes import KubernetesCluster
from hekla.controllers.keys import GROUP_NAME
from hekla.framework.decisions import Bind
from hekla.objects import Node, ObjectMeta, Pod, PodGroup
from hekla.objects.node import NodeStatus
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.objects.scheduling import PodGroupSpec
from kube.scripted import ScriptedClient


def node(name: str, cpu: int) -> Node:
    return Node(
        metadata=ObjectMeta(name=name, uid=name), status=NodeStatus(allocatable={"cpu": cpu, "pods": 10})
    )


def pod(name: str, cpu: int = 1, on: str = "", group: str = "g") -> Pod:
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu}))
    meta = ObjectMeta(name=name, namespace="x", uid=name, annotations={GROUP_NAME: group} if group else {})
    return Pod(metadata=meta, spec=PodSpec(containers=(container,), node_name=on, scheduler_name="volcano"))


def group(minimum: int) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name="g", namespace="x", uid="g"),
        spec=PodGroupSpec(min_member=minimum, queue="default"),
    )


def played(scene: Callable[[KubernetesCluster], None]) -> None:
    async def play() -> None:
        scene(KubernetesCluster(ScriptedClient(), VirtualClock()))  # type: ignore[arg-type]

    asyncio.run(play())


def binds(*names: str, to: str = "n") -> list[Bind]:
    return [Bind(f"x/{name}", name, to, "x/g") for name in names]


def test_a_gang_that_fits_is_sent_and_sits_on_its_node_at_once() -> None:
    def scene(cluster: KubernetesCluster) -> None:
        for thing in (node("n", 4), group(2), pod("a"), pod("b")):
            cluster.facts.put(thing)
        cluster.apply(binds("a", "b"))
        assert set(cluster.binding.open) == {"a", "b"}
        snapshot = cluster.snapshot()
        assert {task.name: task.node_name for task in snapshot.tasks} == {"a": "n", "b": "n"}

    played(scene)


def test_room_that_somebody_else_took_meanwhile_is_not_given_twice() -> None:
    def scene(cluster: KubernetesCluster) -> None:
        for thing in (node("n", 4), group(1), pod("a", 2), pod("b", 2), pod("other", 2, on="n", group="")):
            cluster.facts.put(thing)
        cluster.apply(binds("a", "b"))
        assert set(cluster.binding.open) == {"a"}

    played(scene)


def test_a_gang_that_lost_a_member_meanwhile_is_not_started_below_its_minimum() -> None:
    def scene(cluster: KubernetesCluster) -> None:
        for thing in (node("n", 4), group(3), pod("a"), pod("b")):
            cluster.facts.put(thing)
        cluster.apply(binds("a", "b", "gone"))
        assert not cluster.binding.open
        assert not any(task.node_name for task in cluster.snapshot().tasks)

    played(scene)


def test_what_is_being_bound_is_not_bound_again() -> None:
    def scene(cluster: KubernetesCluster) -> None:
        for thing in (node("n", 4), group(1), pod("a")):
            cluster.facts.put(thing)
        cluster.apply(binds("a"))
        cluster.apply(binds("a"))
        assert cluster.binding.begun == 1

    played(scene)


def test_pods_of_a_job_that_rested_are_open_again_when_its_group_is_made_anew() -> None:
    def scene(cluster: KubernetesCluster) -> None:
        for thing in (node("n", 4), group(1), pod("a")):
            cluster.facts.put(thing)
        cluster._back_off.failed("x/g")
        assert next(iter(cluster.snapshot().tasks)).is_gated
        cluster.facts.drop(PodGroup, "x/g")
        again = group(1)
        cluster.facts.put(replace(again, metadata=replace(again.metadata, uid="g2")))
        assert not next(iter(cluster.snapshot().tasks)).is_gated

    played(scene)
