"""The finder remembers which nodes refused a task of a role."""

from __future__ import annotations

import numpy as np

from hekla.engine.framework.finder import NodeFinder
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Mask
from hekla.testing import job, node, pod, session_of

EVERYWHERE = np.ones(3, dtype=np.bool_)


def cluster() -> Session:
    return session_of(
        *(node(f"n{at}", cpu=2) for at in range(3)),
        job("a", tasks=0),
        *(pod(f"a-w-{at}", job="a", role="w", cpu=1) for at in range(2)),
        pod("a-plain", job="a", cpu=1),
        job("b", tasks=0),
        pod("b-w-0", job="b", role="w", cpu=1),
    )


def mask(*rows: int) -> Mask:
    nodes = np.zeros(3, dtype=np.bool_)
    nodes[list(rows)] = True
    return nodes


def found(finder: NodeFinder, task: object, passes: Mask, domain: Mask = EVERYWHERE) -> list[int]:
    return np.flatnonzero(finder.find(task, domain, passes)).tolist()


def test_a_node_that_refused_one_task_of_a_role_refuses_the_next() -> None:
    session = cluster()
    first, second, *_ = session.tasks
    finder = NodeFinder(session, uses_memory=True)
    assert found(finder, first, mask(1, 2)) == [1, 2]
    assert found(finder, second, mask(0, 1, 2)) == [1, 2]


def test_the_memory_grows_with_every_refusal() -> None:
    session = cluster()
    first, second, *_ = session.tasks
    finder = NodeFinder(session, uses_memory=True)
    found(finder, first, mask(1, 2))
    found(finder, second, mask(2))
    assert found(finder, first, EVERYWHERE) == [2]


def test_tasks_without_a_role_and_other_jobs_are_not_remembered() -> None:
    session = cluster()
    first, _, plain, other = session.tasks
    finder = NodeFinder(session, uses_memory=True)
    found(finder, plain, mask(1))
    assert found(finder, plain, EVERYWHERE) == [0, 1, 2]
    found(finder, first, mask(1))
    assert found(finder, other, EVERYWHERE) == [0, 1, 2]


def test_without_memory_everything_is_asked_anew() -> None:
    session = cluster()
    first, second, *_ = session.tasks
    finder = NodeFinder(session, uses_memory=False)
    found(finder, first, mask(1))
    assert found(finder, second, EVERYWHERE) == [0, 1, 2]


def test_nodes_outside_the_domain_are_neither_found_nor_remembered() -> None:
    session = cluster()
    first, second, *_ = session.tasks
    finder = NodeFinder(session, uses_memory=True)
    assert found(finder, first, mask(1), domain=mask(1)) == [1]
    assert found(finder, second, EVERYWHERE) == [0, 1, 2]


def test_a_promised_node_is_tried_alone() -> None:
    session = session_of(
        *(node(f"n{at}", cpu=2) for at in range(3)), job("a", cpu=1, nominated="n1"), job("large", cpu=2)
    )
    task = session.tasks[0]
    finder = NodeFinder(session, uses_memory=True)
    only = finder.nominated_node(task, EVERYWHERE)
    assert only is not None
    assert np.flatnonzero(only).tolist() == [1]
    assert finder.nominated_node(task, mask(0, 2)) is None
    session.nodes.place(session.tasks[1], 1)
    assert finder.nominated_node(task, EVERYWHERE) is None
