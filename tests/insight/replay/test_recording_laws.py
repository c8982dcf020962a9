"""Whatever the cluster and the configuration: what was recorded is decided again, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hekla.conf import Conf
from hekla.insight.replay.cases import fewest
from hekla.objects import Manifest, Node
from hekla.objects.keys import CPU_USAGE, MEMORY_USAGE
from hekla.testing.conf_strategies import confs
from hekla.testing.special_strategies import medley_confs, medleys
from hekla.testing.strategies import CROWDED, NOW, RandomCluster, clusters
from insight.replay.recorded import Recorder, assert_identical
from properties.effort import examples


def objects_of(cluster: RandomCluster) -> list[Manifest]:
    """All objects; how busy nodes are stands on them."""
    return [*(_annotated(node, cluster) for node in cluster.nodes), *cluster.others]


def _annotated(node: Node, cluster: RandomCluster) -> Node:
    load = cluster.load.get(node.metadata.name)
    if load is None:
        return node
    notes = {**node.metadata.annotations, CPU_USAGE: str(load.cpu), MEMORY_USAGE: str(load.memory)}
    return replace(node, metadata=replace(node.metadata, annotations=notes))


WORLDS = {
    "any": (st.tuples(clusters(), confs()), 5),
    "crowded": (st.tuples(clusters(places=CROWDED), confs()), 5),
    "many small jobs": (st.tuples(medleys(), medley_confs()), 3),
}
"""A cluster and a configuration, drawn together, and how many cycles they are recorded for."""


@pytest.mark.parametrize("world", WORLDS)
@examples(0.5)
@given(data=st.data())
def test_a_cluster_is_decided_again_as_it_was(world: str, data: st.DataObject) -> None:
    drawn, cycles = WORLDS[world]
    cluster, conf = data.draw(drawn)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with Recorder(path, objects_of(cluster), conf, start=NOW, checkpoint_every=2) as recorder:
            recorder.cycles(cycles)
        assert assert_identical(path) == list(range(1, cycles + 1))


@examples(0.5)
@given(
    first=clusters(), second=clusters(places=CROWDED), conf=confs(), dice=st.randoms(use_true_random=False)
)
def test_whatever_changes_between_cycles(
    first: RandomCluster, second: RandomCluster, conf: Conf, dice
) -> None:  # type: ignore[no-untyped-def]
    """Objects come, change and go, come back under their names, and in any order."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with Recorder(path, (), conf, start=NOW, checkpoint_every=2) as recorder:
            state = recorder.cluster.state
            known = [*objects_of(first), *objects_of(second)]
            for _ in range(6):
                for manifest in dice.sample(known, dice.randint(1, len(known))):
                    if dice.random() < 0.8:
                        state.note(manifest)
                    else:
                        state.forget(manifest)
                if dice.random() < 0.3:
                    state.take_in()  # as an audit does between cycles
                recorder.loop.decide()
        assert_identical(path)


@given(count=st.integers(0, 40), needed=st.sets(st.integers(0, 39)))
def test_of_many_units_only_those_are_left_that_are_needed(count: int, needed: set[int]) -> None:
    needed = {number for number in needed if number < count}

    def holds(units: Sequence[int]) -> bool:
        return needed <= set(units)

    assert list(fewest(range(count), holds)) == sorted(needed)
