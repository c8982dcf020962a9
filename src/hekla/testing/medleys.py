"""Strategies for medleys: many small jobs that ask for different things, on a few kinds of nodes.

Here a job that has its minimum gets one task in a turn, and many requests are held against the same
nodes; nodes of one kind often look alike, and fill up.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from hekla.conf import Conf, PluginEntry, Tier
from hekla.objects import Manifest, Node, Toleration
from hekla.objects.pod import Pod
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import Shape, pod, stamped
from hekla.testing.strategies import Cluster

QUEUES = ("q0", "q1", "q2")
WITHOUT_OPINION_OF_NODES = ("priority", "conformance", "overcommit", "proportion", "drf", "sla")
WEIGHT = st.sampled_from((0, 1, 1, 2))
SELECTORS: tuple[dict[str, str], ...] = ({}, {}, {}, {"zone": "a"}, {"zone": "b"})


@st.composite
def medleys(draw: DrawFn) -> Cluster:
    """2 to 12 nodes, and up to twelve jobs of 1 to 6 tasks."""
    nodes = _nodes(draw)
    hosts = [one.metadata.name for one in nodes]
    others: list[Manifest] = [queue(name, weight=draw(st.integers(1, 3))) for name in QUEUES]
    for at in range(draw(st.integers(2, 12))):
        others += _job(draw, f"job{at}", hosts)
    return Cluster(tuple(nodes), tuple(stamped(others)))


@st.composite
def medley_confs(draw: DrawFn) -> Conf:
    """Plugins whose scores can be had for many requests at once, and others that have no opinion of nodes."""
    scores = ("leastrequested", "balancedresource", "tainttoleration")
    weights = {f"{name}.weight": draw(WEIGHT) for name in scores}
    others = draw(st.lists(st.sampled_from(WITHOUT_OPINION_OF_NODES), unique=True))
    first = Tier((PluginEntry("gang"), *map(PluginEntry, others)))
    second = Tier((PluginEntry("predicates"), PluginEntry("nodeorder", {}, weights)))
    actions = draw(
        st.sampled_from(
            (("allocate",), ("enqueue", "allocate", "backfill"), ("allocate", "preempt", "allocate"))
        )
    )
    options = {"predicateErrorCacheEnable": draw(st.booleans())}
    return Conf(actions, (first, second), {"allocate": options})


def _nodes(draw: DrawFn) -> list[Node]:
    kinds = draw(st.lists(st.tuples(*map(st.integers, (2, 2, 0, 2), (9, 16, 4, 9))), min_size=1, max_size=3))
    taints = draw(st.sampled_from(((), (), ("gpu=yes:NoSchedule",), ("old=yes:PreferNoSchedule",))))
    nodes = []
    for at in range(draw(st.integers(2, 12))):
        cpu, memory, gpu, pods = kinds[at % len(kinds)]
        nodes.append(
            node(
                f"n{at}",
                cpu=cpu,
                memory=f"{memory}Gi",
                gpu=gpu,
                pods=pods,
                labels={"zone": "ab"[at % 2]},
                taints=taints if at == 1 else (),
            )
        )
    return nodes


def _job(draw: DrawFn, name: str, hosts: list[str]) -> list[Manifest]:
    shape: Shape = {"node_selector": draw(st.sampled_from(SELECTORS))}
    if draw(st.integers(0, 3)) == 0:
        shape["tolerations"] = [Toleration(key="gpu", operator="Exists")]
    role = draw(st.sampled_from(("", "w")))
    requests = [_request(draw) for _ in range(draw(st.sampled_from((1, 1, 1, 2))))]
    count = draw(st.integers(1, 6))
    group = job(
        name,
        tasks=0,
        min_available=draw(st.integers(1, min(count, 3))),
        queue=draw(st.sampled_from(QUEUES)),
        phase="Inqueue",
    )
    pods = []
    for at in range(count):
        request = requests[at % len(requests)]
        pods.append(_pod(draw, f"{name}-w-{at}", hosts, job=name, role=role, shape={**shape, **request}))
    return [group.pod_group, *pods]


def _request(draw: DrawFn) -> Shape:
    return {
        "cpu": draw(st.sampled_from(("0", "100m", "500m", "1", "1500m", "3"))),
        "memory": draw(st.sampled_from(("0", "100Mi", "1Gi", "2Gi", "5Gi"))),
        "gpu": draw(st.sampled_from((0, 0, 0, 1, 2))),
    }


def _pod(draw: DrawFn, name: str, hosts: list[str], *, job: str, role: str, shape: Shape) -> Pod:
    """One in ten runs already, or is leaving, so that room is promised as well as given."""
    place = draw(st.integers(0, 19))
    host = draw(st.sampled_from(hosts)) if place < 2 else ""
    return pod(
        name,
        job=job,
        role=role,
        on=host,
        phase="Running" if host else "Pending",
        is_leaving=place == 0,
        **shape,
    )
