"""A state that is made anew, after an exception in a cycle, is as good as the one before."""

from __future__ import annotations

from cluster.kubernetes.scenes import Scene, group, node, played
from hekla.testing import pod
from hekla.testing.storage import claim, storage_class, using


def test_it_goes_by_the_same_options() -> None:
    async def play(scene: Scene) -> None:
        before = scene.task("p").request
        scene.cluster.start_over()
        assert scene.task("p").request == before
        assert not any(name.startswith("attachable-volumes") for name in before)

    things = (storage_class("s", "fast"), claim("c", of="s"), using(pod("p", cpu=1), "c"))
    played(play, node("n", 4), group(1), *things, ignored_provisioners=("fast",))
