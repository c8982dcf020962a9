"""Strategies: random clusters, configurations and sessions for Hypothesis.

Clusters are small on purpose: what goes wrong, goes wrong with two nodes and three jobs as well.
Pods that have a node when the cycle starts never overfill it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from hekla.conf import Conf, PluginEntry, Tier
from hekla.framework.session import Session
from hekla.model.snapshot import Snapshot, take_snapshot
from hekla.objects import LabelSelector, Manifest, Node, Pod, Toleration
from hekla.objects.meta import ResourceList
from hekla.objects.pod import Affinity, PodAffinity, PodAffinityTerm
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import open_session
from hekla.testing.builders import Role, job, node, priority_class, queue
from hekla.testing.pods import Shape, pod, stamped

PRIORITIES = (1, 5, 10)
PLACES = ("pending", "pending", "pending", "running", "running", "bound", "releasing")
CROWDED = ("running", "running", "running", "running", "bound", "pending")
"""Where pods stand when the cycle starts; what comes more often is more likely."""

ACTIONS = ("enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle")
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Cluster:
    """A random cluster; `others` are all objects but the nodes."""

    nodes: tuple[Node, ...]
    others: tuple[Manifest, ...]

    def snapshot(self) -> Snapshot:
        """The facts, made anew: a session may change them."""
        return take_snapshot([*self.nodes, *self.others])

    def with_others(self, others: Sequence[Manifest]) -> Cluster:
        return replace(self, others=tuple(others))


@dataclass
class Room:
    """What is left of a node while pods are put on it."""

    cpu: int
    memory: int
    gpu: int
    pods: int

    def take(self, cpu: int, memory: int, gpu: int) -> bool:
        """Whether there was room; if so, it is gone now."""
        if min(self.cpu - cpu, self.memory - memory, self.gpu - gpu, self.pods - 1) < 0:
            return False
        self.cpu, self.memory, self.gpu, self.pods = (
            self.cpu - cpu,
            self.memory - memory,
            self.gpu - gpu,
            self.pods - 1,
        )
        return True


@dataclass
class Site:
    """A cluster that is being made up: nodes with room, names of queues, and the objects so far."""

    nodes: list[Node]
    rooms: dict[str, Room]
    queues: list[str]
    places: Sequence[str]
    objects: list[Manifest] = field(default_factory=list)


@st.composite
def clusters(
    draw: DrawFn, *, most_nodes: int = 4, most_jobs: int = 5, places: Sequence[str] = PLACES
) -> Cluster:
    """Nodes, queues, priority classes, and jobs whose tasks run, wait, leave or are bound."""
    site = _site(draw, most_nodes, places)
    site.objects += [priority_class(f"priority-{value}", value) for value in PRIORITIES]
    for at in range(draw(st.integers(1, most_jobs))):
        _add_job(draw, site, f"job{at}")
    return Cluster(tuple(site.nodes), tuple(stamped(site.objects)))


def _site(draw: DrawFn, most_nodes: int, places: Sequence[str]) -> Site:
    nodes, rooms = [], {}
    for at in range(draw(st.integers(1, most_nodes))):
        name = f"n{at}"
        room = Room(*draw(st.tuples(*map(st.integers, (1, 2, 0, 2), (8, 16, 2, 6)))))
        labels = {HOSTNAME: name, "zone": draw(st.sampled_from("ab"))}
        taints = draw(st.sampled_from(((), (), (), ("gpu=yes:NoSchedule",), ("old=yes:PreferNoSchedule",))))
        memory = f"{room.memory}Gi"
        nodes.append(
            node(
                name,
                cpu=room.cpu,
                memory=memory,
                gpu=room.gpu,
                pods=room.pods,
                labels=labels,
                taints=taints,
            )
        )
        rooms[name] = room
    queues = [f"q{at}" for at in range(draw(st.integers(1, 3)))]
    return Site(nodes, rooms, queues, places, [draw(_queues(name)) for name in queues])


def _queues(name: str) -> SearchStrategy[Manifest]:
    amounts: SearchStrategy[ResourceList | None] = st.none() | st.fixed_dictionaries(
        {"cpu": st.integers(1, 6)}
    )
    return st.builds(
        queue,
        st.just(name),
        weight=st.integers(1, 4),
        capability=amounts,
        guarantee=st.none() | st.none() | amounts,
        reclaimable=st.sampled_from((None, None, True, False)),
        priority=st.sampled_from((0, 0, 0, 1)),
        hierarchy=st.sampled_from(("root/a", "root/b", "root/a/x")),
        hierarchy_weights=st.sampled_from(("1/1/1", "1/2/3")),
    )


@dataclass(frozen=True)
class Kind:
    """What the tasks of a job have in common."""

    cpu: int
    memory: int
    gpu: int
    shape: Shape
    has_roles: bool


def _add_job(draw: DrawFn, site: Site, name: str) -> None:
    kind = _kind(draw, name)
    count, extra = draw(st.integers(1, 4)), draw(st.sampled_from((0, 0, 0, 1, 2)))
    pods = [_pod(draw, site, name, kind, at) for at in range(count)]
    nothing = replace(kind, cpu=0, memory=0, gpu=0)
    pods += [_pod(draw, site, name, nothing, count + at) for at in range(extra)]
    minimum = draw(st.integers(1, len(pods)))
    in_cluster = any(built.spec.node_name for built in pods)
    phases = ("Running",) if in_cluster else ("Inqueue", "Inqueue", "Pending")
    minimums: tuple[ResourceList | None, ...] = (None, {}, {"cpu": kind.cpu * minimum})
    group = job(
        name,
        tasks=0,
        min_available=minimum,
        roles=[Role("w", 0, draw(st.integers(0, 2)))] if kind.has_roles else (),
        min_resources=draw(st.sampled_from(minimums)),
        queue=draw(st.sampled_from(site.queues)),
        priority=draw(st.sampled_from((None, *PRIORITIES))),
        phase=draw(st.sampled_from(phases)),
    )
    site.objects += [group.pod_group, *pods]


def _kind(draw: DrawFn, name: str) -> Kind:
    shape: Shape = {"labels": {"app": name}}
    match draw(st.integers(0, 11)):
        case 0:
            shape["node_selector"] = {"zone": "a"}
        case 1:
            shape["tolerations"] = [Toleration(key="gpu", operator="Exists")]
        case 2:
            shape["preemptable"] = False
        case 3:
            shape["pod_priority_class"] = "system-node-critical"
        case 4:
            shape["affinity"] = _apart_from(name)
        case 5:
            shape["gates"] = ["example.com/wait"]
    cpu, memory = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    gpu = draw(st.sampled_from((0, 0, 0, 1)))
    return Kind(cpu, memory, gpu, shape, draw(st.booleans()))


def _apart_from(app: str) -> Affinity:
    selector = LabelSelector(match_labels={"app": app})
    term = PodAffinityTerm(topology_key=HOSTNAME, label_selector=selector)
    return Affinity(pod_anti_affinity=PodAffinity(required=(term,)))


def _pod(draw: DrawFn, site: Site, name: str, kind: Kind, index: int) -> Pod:
    place, at = draw(st.sampled_from(site.places)), draw(st.integers(0, len(site.nodes) - 1))
    host = site.nodes[at].metadata.name
    is_placed = place != "pending" and site.rooms[host].take(kind.cpu, kind.memory, kind.gpu)
    amounts: ResourceList = {"cpu": kind.cpu, "memory": f"{kind.memory}Gi", "nvidia.com/gpu": kind.gpu}
    shape: Shape = {
        **kind.shape,
        "resources": {name: amount for name, amount in amounts.items() if amount not in (0, "0Gi")},
    }
    if is_placed:
        shape.pop("gates", None)
    return pod(
        f"{name}-w-{index}",
        job=name,
        role="w" if kind.has_roles else "",
        on=host if is_placed else "",
        phase="Running" if is_placed and place != "bound" else "Pending",
        is_leaving=is_placed and place == "releasing",
        task_priority=draw(st.sampled_from((None, None, 1, 3))),
        **shape,
    )


@st.composite
def confs(
    draw: DrawFn,
    *,
    actions: Sequence[str] = ACTIONS,
    always: Sequence[str] = (),
    switches: Mapping[str, Mapping[str, bool]] | None = None,
) -> Conf:
    """Some of the actions in some order, and some of the plugins (and `always` these) in random tiers."""
    chosen = draw(st.lists(st.sampled_from(list(actions)), min_size=1, max_size=5, unique=True))
    others = [name for name in sorted(BUILTIN.plugins) if name not in always]
    names = [*always, *draw(st.lists(st.sampled_from(others), max_size=6, unique=True))]
    tiers: list[list[PluginEntry]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for name in draw(st.permutations(names)):
        entry = PluginEntry(name, (switches or {}).get(name, _some_switches(draw, name)))
        draw(st.sampled_from(tiers)).append(entry)
    return Conf(tuple(chosen), tuple(Tier(tuple(tier)) for tier in tiers))


def _some_switches(draw: DrawFn, name: str) -> dict[str, bool]:
    if name == "drf" and draw(st.booleans()):
        return {"enableHierarchy": True}
    if name in ("gang", "drf") and draw(st.booleans()):
        return {"enablePreemptable": False}
    return {}


@st.composite
def sessions(draw: DrawFn, *, conf: Conf | None = None, most_nodes: int = 4) -> Session:
    """An open session over a random cluster, before any action has run."""
    cluster = draw(clusters(most_nodes=most_nodes))
    return open_session(cluster.snapshot(), conf or draw(confs()))
