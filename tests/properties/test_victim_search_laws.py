"""What is kept of nodes while victims are looked for equals what a fresh look would find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from moves import Move, make_all, moves

from hekla.conf import Conf
from hekla.engine.framework.scoring import Scoring
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.testing.conf_strategies import GPU, confs
from hekla.testing.story import conf_of, plugin
from hekla.testing.strategies import RandomCluster, clusters

LASTING = plugin(
    "predicates",
    {
        f"predicate.{name}Enable": False
        for name in ("PodAffinity", "PodTopologySpread", "NodeVolumeLimits", "VolumeZone", "VolumeBinding")
    },
)
RESERVES = plugin(
    "resource-strategy-fit",
    {
        "proportional": {
            "enable": True,
            "resources": GPU,
            "resourceProportion": {f"{GPU}.cpu": 1, f"{GPU}.memory": 1},
        }
    },
)
GUARDED = st.sampled_from([conf_of(tiers=([LASTING, RESERVES],)), conf_of(tiers=([RESERVES, LASTING],))])


def assert_curable_nodes_are_up_to_date(session: Session) -> None:
    for task in session.tasks:
        if task.status is Status.PENDING and task.job in session.jobs:
            afresh = Scoring(session).curable_nodes(task)
            assert session.scoring.curable_nodes(task).tolist() == afresh.tolist()


@given(cluster=clusters(), conf=GUARDED | confs(), made=st.lists(moves, min_size=1, max_size=3))
def test_nodes_that_an_eviction_might_open(
    cluster: RandomCluster, conf: Conf, made: list[list[Move]]
) -> None:
    session = cluster.session(conf)
    for part in made:
        assert_curable_nodes_are_up_to_date(session)
        make_all(session, part)
    assert_curable_nodes_are_up_to_date(session)
