"""Network strategies: random clusters in which nearly every job asks something of the network.

They have more domains than nodes that fill them up, so that jobs find several that would do, some
that nearly would, and some that only will once others have left.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from hekla.objects import HyperNode, Manifest, Pod
from hekla.objects.meta import ResourceList
from hekla.objects.scheduling import SubGroupPolicy
from hekla.testing.builders import job, node, queue
from hekla.testing.network import Wish, hypernode, sub_group
from hekla.testing.pods import pod, stamped
from hekla.testing.strategies import Cluster
from hekla.testing.surroundings import PART

WISHES: tuple[Wish | None, ...] = (None, ("hard", 1), ("hard", 1), ("hard", 2), ("hard", 3), ("soft", 1))
QUEUE_GATE = "scheduling.volcano.sh/queue-allocation-gate"


@st.composite
def networked_clusters(draw: DrawFn, *, most_nodes: int = 9, most_jobs: int = 5) -> Cluster:
    """Racks in spines, perhaps under a root, and jobs that want to lie close together."""
    names = [f"n{at}" for at in range(draw(st.integers(2, most_nodes)))]
    nodes = [node(name, cpu=draw(st.integers(1, 4))) for name in names]
    others: list[Manifest] = [queue("default"), *_network(draw, names)]
    for at in range(draw(st.integers(1, most_jobs))):
        others += _job(draw, f"job{at}", names)
    return Cluster(tuple(nodes), tuple(stamped(others)))


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


def _job(draw: DrawFn, name: str, nodes: Sequence[str]) -> list[Manifest]:
    count = draw(st.integers(1, 6))
    pods = [_pod(draw, name, at, nodes) for at in range(count)]
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


def _pod(draw: DrawFn, name: str, index: int, nodes: Sequence[str]) -> Pod:
    state = draw(st.sampled_from(("waits",) * 6 + ("runs", "leaves", "gated")))
    return pod(
        f"{name}-{index}",
        job=name,
        cpu=draw(st.sampled_from((1, 1, 1, 2))),
        labels={PART: str(index // 2)},
        on=draw(st.sampled_from(nodes)) if state in ("runs", "leaves") else "",
        is_leaving=state == "leaves",
        gates=[QUEUE_GATE] if state == "gated" else (),
        annotations={QUEUE_GATE: "true"},
    )
