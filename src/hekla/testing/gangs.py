"""Strategies for gangs: clusters with few kinds of nodes, and jobs of many tasks that look alike.

Large enough for rules that only show with many tasks: nodes that fill up, queues that run out.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from hekla.conf import Conf
from hekla.objects import Manifest, Node, Queue
from hekla.objects.meta import ResourceList
from hekla.testing.builders import JobObjects, Role, job, node, queue
from hekla.testing.conf_strategies import confs
from hekla.testing.pods import Shape, stamped
from hekla.testing.strategies import Cluster

QUEUES = ("q0", "q1")
LIMITS: tuple[ResourceList | None, ...] = (None, None, {"cpu": 7}, {"cpu": 20, "memory": 2**34})


@st.composite
def gang_clusters(draw: DrawFn, *, most_tasks: int = 40) -> Cluster:
    """3 to 30 nodes, and up to four jobs of 5 tasks or more in one or two roles."""
    nodes = _nodes(draw)
    others: list[Manifest] = [*_queues(draw)]
    for at in range(draw(st.integers(1, 4))):
        others += _gang(draw, f"job{at}", [one.metadata.name for one in nodes], most_tasks).objects
    return Cluster(tuple(nodes), tuple(stamped(others)))


def gang_confs() -> st.SearchStrategy[Conf]:
    """Allocate with whole gangs, and some of the plugins."""
    return confs(actions=("allocate",), always=("gang", "predicates", "nodeorder"))


def _nodes(draw: DrawFn) -> list[Node]:
    kinds = draw(
        st.lists(st.tuples(*map(st.integers, (2, 4, 0, 2), (16, 32, 4, 12))), min_size=1, max_size=3)
    )
    nodes = []
    for at in range(draw(st.integers(3, 30))):
        cpu, memory, gpu, pods = kinds[at % len(kinds)]
        labels = {"zone": "ab"[at % 2]}
        taints = ("old=yes:PreferNoSchedule",) if at == draw(st.integers(0, 60)) else ()
        nodes.append(
            node(f"n{at}", cpu=cpu, memory=f"{memory}Gi", gpu=gpu, pods=pods, labels=labels, taints=taints)
        )
    return nodes


def _queues(draw: DrawFn) -> list[Queue]:
    return [
        queue(name, weight=draw(st.integers(1, 3)), capability=draw(st.sampled_from(LIMITS)))
        for name in QUEUES
    ]


def _gang(draw: DrawFn, name: str, hosts: list[str], most_tasks: int) -> JobObjects:
    """Some of its tasks may run already, or be leaving, so that room is promised as well as given."""
    count = draw(st.integers(5, most_tasks))
    early = dict.fromkeys(draw(st.lists(st.sampled_from(hosts), max_size=3, unique=True)), 1)
    is_leaving = draw(st.booleans())
    shape: Shape = {
        "cpu": draw(st.sampled_from(("1", "1", "2", "500m"))),
        "memory": f"{draw(st.integers(1, 3))}Gi",
        "gpu": draw(st.sampled_from((0, 0, 0, 1))),
        "node_selector": draw(st.sampled_from(({}, {}, {"zone": "a"}))),
    }
    return job(
        name,
        tasks=count,
        roles=_roles(draw, count),
        min_available=draw(st.sampled_from((count, count // 2, 1))),
        queue=draw(st.sampled_from(QUEUES)),
        running={} if is_leaving else early,
        releasing=early if is_leaving else {},
        **shape,
    )


def _roles(draw: DrawFn, count: int) -> list[Role]:
    if draw(st.booleans()):
        return []
    first = draw(st.integers(1, count - 1))
    bigger: Shape = {"cpu": 2} if draw(st.booleans()) else {}
    return [
        Role("a", first, draw(st.integers(0, first)), bigger),
        Role("b", count - first, draw(st.integers(0, count - first))),
    ]
