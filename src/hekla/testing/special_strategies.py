"""Strategies for clusters with something special: gangs, medleys of requests, networks with domains.

Large enough for rules that only show with many tasks: nodes that fill up, queues that run out.

Here a job that has its minimum gets one task in a turn, and many requests compete for the same
nodes; nodes of one kind often look alike, and fill up.

They have more domains than nodes that fill them up, so that jobs find several that would do, some
that nearly would, and some that only will once other tasks have left.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from hekla.conf import Conf, PluginEntry, Tier
from hekla.objects import HyperNode, Manifest, Node, Pod, Queue, Toleration
from hekla.objects.keys import QUEUE_ALLOCATION_GATE
from hekla.objects.meta import ResourceList
from hekla.objects.scheduling import SubGroupPolicy
from hekla.testing.builders import JobObjects, PodRole, job, node, queue
from hekla.testing.conf_strategies import confs
from hekla.testing.network import Wish, hypernode, sub_group
from hekla.testing.pods import Shape, pod, stamped
from hekla.testing.strategies import RandomCluster
from hekla.testing.surroundings import PART

GANG_QUEUES = ("q0", "q1")
LIMITS: tuple[ResourceList | None, ...] = (None, None, {"cpu": 7}, {"cpu": 20, "memory": 2**34})


@st.composite
def gang_clusters(draw: DrawFn, *, most_tasks: int = 40) -> RandomCluster:
    """3 to 30 nodes, and up to four jobs of 5 tasks or more in one or two roles."""
    nodes = _gang_nodes(draw)
    others: list[Manifest] = [*_queues(draw)]
    for at in range(draw(st.integers(1, 4))):
        others += _gang(draw, f"job{at}", [one.metadata.name for one in nodes], most_tasks).objects
    return RandomCluster(tuple(nodes), tuple(stamped(others)))


def gang_confs() -> st.SearchStrategy[Conf]:
    """Allocate with whole gangs, and some of the plugins."""
    return confs(actions=("allocate",), always=("gang", "predicates", "nodeorder"))


def _gang_nodes(draw: DrawFn) -> list[Node]:
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
        for name in GANG_QUEUES
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
        queue=draw(st.sampled_from(GANG_QUEUES)),
        running={} if is_leaving else early,
        releasing=early if is_leaving else {},
        **shape,
    )


def _roles(draw: DrawFn, count: int) -> list[PodRole]:
    if draw(st.booleans()):
        return []
    first = draw(st.integers(1, count - 1))
    bigger: Shape = {"cpu": 2} if draw(st.booleans()) else {}
    return [
        PodRole("a", first, draw(st.integers(0, first)), bigger),
        PodRole("b", count - first, draw(st.integers(0, count - first))),
    ]


QUEUES = ("q0", "q1", "q2")
WITHOUT_OPINION_OF_NODES = ("priority", "conformance", "overcommit", "proportion", "drf", "sla")
WEIGHT = st.sampled_from((0, 1, 1, 2))
SELECTORS: tuple[dict[str, str], ...] = ({}, {}, {}, {"zone": "a"}, {"zone": "b"})


@st.composite
def medleys(draw: DrawFn) -> RandomCluster:
    """2 to 12 nodes, and up to twelve jobs of 1 to 6 tasks."""
    nodes = _medley_nodes(draw)
    hosts = [one.metadata.name for one in nodes]
    others: list[Manifest] = [queue(name, weight=draw(st.integers(1, 3))) for name in QUEUES]
    for at in range(draw(st.integers(2, 12))):
        others += _medley_job(draw, f"job{at}", hosts)
    return RandomCluster(tuple(nodes), tuple(stamped(others)))


@st.composite
def medley_confs(draw: DrawFn) -> Conf:
    """Plugins whose scores can be foreseen, and plugins that score no nodes."""
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


def _medley_nodes(draw: DrawFn) -> list[Node]:
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


def _medley_job(draw: DrawFn, name: str, hosts: list[str]) -> list[Manifest]:
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
        pods.append(
            _medley_pod(draw, f"{name}-w-{at}", hosts, job=name, role=role, shape={**shape, **request})
        )
    return [group.pod_group, *pods]


def _request(draw: DrawFn) -> Shape:
    return {
        "cpu": draw(st.sampled_from(("0", "100m", "500m", "1", "1500m", "3"))),
        "memory": draw(st.sampled_from(("0", "100Mi", "1Gi", "2Gi", "5Gi"))),
        "gpu": draw(st.sampled_from((0, 0, 0, 1, 2))),
    }


def _medley_pod(draw: DrawFn, name: str, hosts: list[str], *, job: str, role: str, shape: Shape) -> Pod:
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


WISHES: tuple[Wish | None, ...] = (None, ("hard", 1), ("hard", 1), ("hard", 2), ("hard", 3), ("soft", 1))


@st.composite
def networked_clusters(draw: DrawFn, *, most_nodes: int = 9, most_jobs: int = 5) -> RandomCluster:
    """Racks in spines, perhaps under a root, and jobs that want to lie close together."""
    names = [f"n{at}" for at in range(draw(st.integers(2, most_nodes)))]
    nodes = [node(name, cpu=draw(st.integers(1, 4))) for name in names]
    others: list[Manifest] = [queue("default"), *_network(draw, names)]
    for at in range(draw(st.integers(1, most_jobs))):
        others += _networked_job(draw, f"job{at}", names)
    return RandomCluster(tuple(nodes), tuple(stamped(others)))


def _network(draw: DrawFn, nodes: Sequence[str]) -> list[HyperNode]:
    rack_of = {name: draw(st.sampled_from(("r0", "r1", "r2", "r3", "r4"))) for name in nodes}
    members = {rack: [name for name in nodes if rack_of[name] == rack] for rack in sorted(rack_of.values())}
    if draw(st.integers(0, 4)) == 0:
        members["r0"] = [*members.get("r0", ()), draw(st.sampled_from(nodes))]
    racks = [hypernode(rack, nodes=named) for rack, named in members.items()]
    left = [rack for rack in members if rack in ("r0", "r1", "r2")]
    right = [rack for rack in members if rack in ("r3", "r4")]
    spines = [hypernode("s0", tier=2, hypernodes=left), hypernode("s1", tier=2, hypernodes=right)]
    root = [hypernode("root", tier=3, hypernodes=["s0", "s1"])] if draw(st.booleans()) else []
    return [*racks, *spines, *root]


def _networked_job(draw: DrawFn, name: str, nodes: Sequence[str]) -> list[Manifest]:
    count = draw(st.integers(1, 6))
    pods = [_networked_pod(draw, name, at, nodes) for at in range(count)]
    is_running = any(built.spec.node_name for built in pods)
    minimums: tuple[ResourceList | None, ...] = (None, {"cpu": count})
    group = job(
        name,
        tasks=0,
        min_available=draw(st.integers(1, count)),
        min_resources=draw(st.sampled_from(minimums)),
        topology=draw(st.sampled_from(WISHES)),
        sub_groups=_parts(draw),
        phase="Running" if is_running else "Inqueue",
    )
    return [group.pod_group, *pods]


def _parts(draw: DrawFn) -> list[SubGroupPolicy]:
    if draw(st.integers(0, 2)):
        return []
    size, minimum = draw(st.integers(1, 3)), draw(st.sampled_from((None, 1, 2)))
    return [sub_group("parts", by=[PART], size=size, minimum=minimum, wish=draw(st.sampled_from(WISHES)))]


def _networked_pod(draw: DrawFn, name: str, index: int, nodes: Sequence[str]) -> Pod:
    state = draw(st.sampled_from(("waits",) * 6 + ("runs", "leaves", "gated")))
    return pod(
        f"{name}-{index}",
        job=name,
        cpu=draw(st.sampled_from((1, 1, 1, 2))),
        labels={PART: str(index // 2)},
        on=draw(st.sampled_from(nodes)) if state in ("runs", "leaves") else "",
        is_leaving=state == "leaves",
        gates=[QUEUE_ALLOCATION_GATE] if state == "gated" else (),
        annotations={QUEUE_ALLOCATION_GATE: "true"},
    )
