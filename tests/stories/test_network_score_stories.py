"""Network scores: how close nodes are to what a job has already, and how full their domains would be."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.engine.framework.points import Purpose
from hekla.engine.framework.session import Session
from hekla.engine.ledger.domains import TOP
from hekla.engine.plugins.network_topology_aware import NetworkTopologyAware
from hekla.testing import hypernode, job, node, plugin, pod, racks, session_of

ROWS = [
    *racks(s0=["n1"], s1=["n2"], s3=["n3"]),
    hypernode("left", tier=2, hypernodes=["s0", "s1"]),
    hypernode("right", tier=2, hypernodes=["s3"]),
]
NODES = [node(name, cpu=4) for name in ("n1", "n2", "n3", "n4")]
"""n1 and n2 share a row, n3 is in another one, n4 in no domain; tiers 1, 2 and the virtual 3."""


def opened(
    *parts: object, arguments: dict[str, object] | None = None
) -> tuple[Session, NetworkTopologyAware]:
    entry = plugin("network-topology-aware", arguments or {})
    session = session_of(*NODES, *ROWS, *parts, tiers=(["gang", entry],))
    return session, session.plugins[-1]


def scores(near: str, **arguments: object) -> list[float] | None:
    session, topology = opened(job("a", cpu=1, topology=("hard", 2)), arguments=arguments)
    task = session.tasks[-1]
    task.near = near
    given = topology.prefer_close_nodes(task, np.ones(4, dtype=np.bool_))
    return None if given is None else given.tolist()


def test_the_same_domain_is_best_the_same_row_half_as_good_and_the_rest_nothing() -> None:
    assert scores("s0") == [100.0, 50.0, 0.0, 0.0]


def test_the_weight_scales_them() -> None:
    assert scores("s0", weight=10) == [1000.0, 500.0, 0.0, 0.0]


def test_a_job_that_lies_nowhere_yet_is_close_to_nothing() -> None:
    assert scores("") is None


def test_among_the_closest_the_domain_that_holds_more_of_the_job_is_better() -> None:
    session, topology = opened(
        job("a", tasks=4, cpu=1, running={"n2": 1, "n1": 2}, min_available=1, topology=("hard", 2))
    )
    task = session.tasks[-1]
    task.near = "left"
    given = topology.prefer_close_nodes(task, np.ones(4, dtype=np.bool_))
    assert given.tolist() == [100.0, 75.0, 0.0, 0.0]


def plain_scores(*parts: object, **arguments: object) -> list[float] | None:
    session, topology = opened(*parts, job("a", cpu=1), arguments=arguments)
    given = topology.prefer_close_nodes(session.tasks[-1], np.ones(4, dtype=np.bool_))
    return None if given is None else [round(float(score), 6) for score in given]


def mean(*per_tier: float, fading: float = 0.8) -> float:
    weights = [fading**at for at in range(len(per_tier))]
    return round(100 * sum(w * s for w, s in zip(weights, per_tier, strict=True)) / sum(weights), 6)


def test_plain_pods_are_scored_by_how_full_their_domains_would_be_fading_from_tier_to_tier() -> None:
    """Of 4 cores in a rack, 8 in the left row, 4 in the right one and 16 in all, 2 are in use in s1."""
    assert plain_scores(pod("old", on="n2", cpu=2)) == [
        mean(1 / 4, 3 / 8, 3 / 16),
        mean(3 / 4, 3 / 8, 3 / 16),
        mean(1 / 4, 1 / 4, 3 / 16),
        mean(1, 1, 3 / 16),
    ]


def test_without_fading_all_tiers_count_alike_and_with_none_only_the_first() -> None:
    assert plain_scores(**{FADING: 1.0})[0] == mean(1 / 4, 1 / 8, 1 / 16, fading=1.0)
    assert plain_scores(**{FADING: 0.0})[0] == 25.0


FADING = "hypernode.binpack.normal-pod.fading"


def test_a_domain_that_a_pod_would_overfill_scores_nothing() -> None:
    assert plain_scores(pod("old", on="n1", cpu=4))[0] == mean(0, 5 / 8, 5 / 16)


def test_plain_pods_are_not_scored_where_that_is_turned_off() -> None:
    assert plain_scores(**{"hypernode.binpack.normal-pod.enable": False}) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"s0": 50.0, "s1": 75.0, "left": 37.5}),
        ({"weight": 2}, {"s0": 100.0, "s1": 150.0, "left": 75.0}),
        ({"hypernode.binpack.cpu": 0}, {"s0": 0.0, "s1": 0.0, "left": 0.0}),
    ],
    ids=["by cpu", "twice as much", "nothing counts"],
)
def test_domains_are_scored_by_how_full_the_whole_part_would_make_them(
    arguments: dict[str, object], expected: dict[str, float]
) -> None:
    session, topology = opened(
        pod("old", on="n2", cpu=1), job("a", tasks=2, cpu=1, topology=("hard", 2)), arguments=arguments
    )
    (sub_job,) = session.jobs["default/a"].sub_jobs.values()
    candidates = [session.domains.by_name[name] for name in expected]
    assert topology.pack_domains(sub_job, candidates) == expected


def gradients(wish: tuple[str, int], purpose: Purpose, **arguments: object) -> list[list[str]]:
    session, topology = opened(job("a", tasks=2, cpu=2, topology=wish), arguments=arguments)
    told = session.jobs["default/a"]
    (sub_job,) = told.sub_jobs.values()
    given = topology.close_networks_first(told, sub_job, session.domains.top, purpose)
    return [[domain.name for domain in group] for group in given]


def test_close_networks_are_tried_first() -> None:
    assert gradients(("hard", 1), Purpose.ALLOCATE) == [["s0", "s1", "s3"]]
    assert gradients(("hard", 2), Purpose.ALLOCATE) == [["s0", "s1", "s3"], ["left", "right"]]
    assert gradients(("soft", 1), Purpose.ALLOCATE) == [["s0", "s1", "s3"], ["left", "right"], [TOP]]


def test_evictions_are_looked_for_in_wide_networks_first() -> None:
    assert gradients(("hard", 2), Purpose.EVICT) == [["left", "right"], ["s0", "s1", "s3"]]


def test_and_only_in_so_many_of_which_the_last_are_kept() -> None:
    most = {"hypernode.gradient.evict.max-hypernodes": 3}
    assert gradients(("hard", 2), Purpose.EVICT, **most) == [["left", "right"], ["s3"]]


def test_used_amounts_follow_the_placements() -> None:
    session, topology = opened(job("a", tasks=2, cpu=2, topology=("hard", 2)))
    before = topology.used.copy()
    with session.statement() as statement:
        statement.allocate(session.tasks[0], 0)
        cpu = session.axis.column_of["cpu"]
        used = dict(zip(session.domains.by_name, topology.used[:, cpu].tolist(), strict=True))
        assert used == {"s0": 2000, "s1": 0, "s3": 0, "left": 2000, "right": 0, TOP: 2000}
    assert (topology.used == before).all()
