"""Whatever the cluster and the configuration: what was recorded is decided again, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

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


def assert_cycles_come_back(cluster: RandomCluster, conf: Conf, cycles: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with Recorder(path, objects_of(cluster), conf, start=NOW, checkpoint_every=2) as recorder:
            recorder.cycles(cycles)
        assert assert_identical(path) == list(range(1, cycles + 1))


@examples(0.5)
@given(cluster=clusters(places=CROWDED), conf=confs())
def test_a_crowded_cluster_is_decided_again_as_it_was(cluster: RandomCluster, conf: Conf) -> None:
    assert_cycles_come_back(cluster, conf, 5)


@examples(0.5)
@given(cluster=clusters(), conf=confs())
def test_a_cluster_is_decided_again_as_it_was(cluster: RandomCluster, conf: Conf) -> None:
    assert_cycles_come_back(cluster, conf, 5)


@examples(0.5)
@given(cluster=medleys(), conf=medley_confs())
def test_many_small_jobs_are_decided_again_as_they_were(cluster: RandomCluster, conf: Conf) -> None:
    assert_cycles_come_back(cluster, conf, 3)


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
