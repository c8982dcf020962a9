"""Whole gangs against the newest facts: none is started in part, and no node is overfilled."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cluster.kubernetes.scenes import Scene, binds, group, node, played, pod
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.volumes import Volumes
from hekla.objects import Manifest, Namespace, ObjectMeta, Pod, PodGroup
from hekla.objects.pod import Volume

NO_ROLE = Refused(
    403, "Forbidden", 'pods "a" is forbidden: User "h" cannot create resource "pods/binding" in API group ""'
)
DENIED = Refused(422, "Invalid", "a policy denied the request")


def test_a_gang_that_fits_is_sent_and_sits_on_its_node_at_once() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply(binds("a", "b"))
        assert set(scene.cluster.binding.open) == {"a", "b"}
        assert (scene.task("a").node_name, scene.task("b").node_name) == ("n", "n")

    played(play, node("n", 4), group(2), pod("a"), pod("b"))


def test_room_that_somebody_else_took_meanwhile_is_not_given_twice() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply(binds("a", "b"))
        assert set(scene.cluster.binding.open) == {"a"}

    played(play, node("n", 4), group(1), pod("a", 2), pod("b", 2), pod("other", 2, on="n", group=""))


def test_what_fails_on_its_way_out_is_not_taken_for_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise ValueError("a claim of a kind that nobody has thought of")

    async def play(scene: Scene) -> None:
        with_volume = scene.cluster.store.get(Pod, "x/b")
        assert with_volume is not None
        spec = replace(with_volume.spec, volumes=(Volume(name="data"),))
        scene.cluster.facts.put(replace(with_volume, spec=spec))
        monkeypatch.setattr(Volumes, "unbound", broken)
        with pytest.raises(ValueError, match="nobody has thought of"):
            scene.cluster.apply(binds("a", "b"))
        assert set(scene.cluster.binding.open) == {"a"}
        assert (scene.task("a").node_name, scene.task("b").node_name) == ("n", "")

    played(play, node("n", 4), group(1), pod("a"), pod("b"))


def test_what_fails_once_volumes_are_prepared_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def not_bound(*_: object) -> str:
        return "not bound"

    def broken(*_: object) -> None:
        raise KeyError("b")

    async def play(scene: Scene) -> None:
        with_volume = scene.cluster.store.get(Pod, "x/b")
        assert with_volume is not None
        spec = replace(with_volume.spec, volumes=(Volume(name="data"),))
        scene.cluster.facts.put(replace(with_volume, spec=spec))
        monkeypatch.setattr(Volumes, "unbound", lambda *_: ["a claim"])
        monkeypatch.setattr(Volumes, "prepare", not_bound)
        monkeypatch.setattr(scene.cluster.binding, "_end", broken)
        scene.cluster.apply(binds("b"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    played(play, node("n", 4), group(1), pod("b"))
    assert "bind b failed in an unforeseen way" in caplog.text


@pytest.mark.parametrize(
    ("title", "things"),
    [
        ("is gone", []),
        ("is cordoned", [node("n", 4, is_cordoned=True)]),
        ("has no core left", [node("n", 1), pod("other", on="n", group="")]),
        ("takes no more pods", [node("n", 4, pods=1), pod("other", on="n", group="")]),
    ],
)
def test_nothing_is_sent_to_a_node_that_meanwhile(title: str, things: list[Manifest]) -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply(binds("a"))
        assert not scene.cluster.binding.open, title
        assert not scene.task("a").node_name, title

    played(play, group(1), pod("a"), *things)


def test_a_node_that_is_cordoned_while_a_bind_waits_for_its_turn_gets_no_pod() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply(binds("a"))
        scene.cluster.facts.put(node("n", 4, is_cordoned=True))
        await scene.written()
        assert scene.asked("POST", "/binding") == 0
        assert not scene.task("a").node_name

    played(play, node("n", 4), group(1), pod("a"))


def test_a_gang_that_lost_a_member_meanwhile_is_not_started_below_its_minimum() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply(binds("a", "b", "gone"))
        assert not scene.cluster.binding.open
        assert not any(task.node_name for task in scene.cluster.snapshot().tasks)

    played(play, node("n", 4), group(3), pod("a"), pod("b"))


def test_what_is_being_bound_is_not_bound_again() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply(binds("a"))
        scene.cluster.apply(binds("a"))
        assert scene.cluster.binding.begun == 1

    played(play, node("n", 4), group(1), pod("a"))


def test_a_bind_that_failed_is_taken_back_and_its_room_is_free_again() -> None:
    async def play(scene: Scene) -> None:
        scene.api.refuse("POST", "/pods/a/binding", DENIED)
        scene.cluster.apply(binds("a"))
        await scene.written()
        assert not scene.task("a").node_name
        assert scene.task("a").is_gated, "its job rests"
        scene.cluster.apply(binds("b", job="x/h"))
        assert set(scene.cluster.binding.open) == {"b"}

    played(play, node("n", 1), group(1), group(1, "h"), pod("a"), pod("b", group="h"), first_back_off=60)


def test_only_a_missing_permission_is_taken_for_one() -> None:
    async def play(scene: Scene) -> None:
        asked: list[str] = []
        scene.cluster.attempts.on_forbidden = lambda: asked.append("again")
        scene.api.refuse(
            "POST", "/pods/a/binding", Refused(403, "Forbidden", 'webhook "w" denied the request')
        )
        scene.api.refuse("POST", "/pods/b/binding", NO_ROLE)
        scene.cluster.apply(binds("a"))
        await scene.written()
        assert not asked
        scene.cluster.apply(binds("b"))
        await scene.written()
        assert asked == ["again"]

    played(play, node("n", 4), group(1), pod("a"), pod("b"))


def test_pods_of_a_job_that_rested_are_open_again_when_its_group_is_made_anew() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster._back_off.failed("x/g")
        assert scene.task("a").is_gated
        scene.cluster.facts.drop(PodGroup, "x/g")
        again = group(1)
        scene.cluster.facts.put(replace(again, metadata=replace(again.metadata, uid="g2")))
        assert not scene.task("a").is_gated

    played(play, node("n", 4), group(1), pod("a"))


# Namespaces that are being deleted


ENDING = Refused(403, "Forbidden", "namespace x is being terminated", causes=["NamespaceTerminating"])


def namespace(*, is_ending: bool, uid: str = "x") -> Namespace:
    meta = ObjectMeta(
        name="x", uid=uid, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC) if is_ending else None
    )
    return Namespace(metadata=meta)


def test_nothing_is_started_in_a_namespace_that_is_being_deleted() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.facts.put(namespace(is_ending=True))
        assert scene.task("a").is_gated
        scene.cluster.facts.put(namespace(is_ending=False, uid="made anew"))
        assert not scene.task("a").is_gated

    played(play, node("n", 4), group(1), pod("a"), namespace(is_ending=False))


def test_a_bind_that_a_namespace_does_not_take_any_more_is_not_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play(scene: Scene) -> None:
        scene.api.refuse("POST", "/pods/a/binding", ENDING, times=10)
        scene.cluster.apply(binds("a"))
        await scene.written()
        await asyncio.sleep(0.1)
        assert scene.task("a").is_gated
        assert scene.asked("POST") == 1, "neither a second bind nor an event"

    played(play, node("n", 4), group(1), pod("a"), namespace(is_ending=False))
    assert not caplog.records
