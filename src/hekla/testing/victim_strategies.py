"""Strategies for the search for victims: full nodes, and jobs like each other that want room there."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from hekla.conf import Conf
from hekla.objects import LabelSelector, Manifest, Node, Pod, PodDisruptionBudget
from hekla.objects.keys import COOLDOWN_TIME, REVOCABLE_ZONE
from hekla.objects.meta import Amount
from hekla.objects.storage import PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from hekla.testing import surroundings
from hekla.testing.builders import job, node, priority_class
from hekla.testing.conf_strategies import confs
from hekla.testing.pods import metadata, pod, stamped
from hekla.testing.strategies import PRIORITIES, RandomCluster

MEMORY: st.SearchStrategy[Amount] = st.sampled_from((0, 0, "1Gi"))
REQUESTS: st.SearchStrategy[tuple[int, Amount]] = st.sampled_from(
    ((1, 0), (1, 0), (1, "1Gi"), (2, 0), (2, "1Gi"), (3, 0), (0, "1Gi"), (0, 0))
)
"""Of cpu and memory."""
NOTES: tuple[dict[str, str], ...] = ({}, {}, {}, {}, {COOLDOWN_TIME: "10h"}, {REVOCABLE_ZONE: "*"})
USUAL = ("priority", "gang", "conformance", "drf", "predicates", "proportion")
VARIETIES: tuple[tuple[str, ...], ...] = (
    USUAL,
    USUAL,
    ("priority", "gang", "drf"),
    ("priority", "conformance", "capacity"),
    ("priority", "gang", "pdb", "proportion"),
    ("priority", "pdb", "capacity", "drf"),
    ("gang", "proportion", "tdm", "cdp"),
    ("priority",),
)


@st.composite
def full_clusters(draw: DrawFn, *, most_nodes: int = 5, most_jobs: int = 5) -> RandomCluster:
    """Nodes full of what up to five jobs run, and up to six jobs of few kinds that wait for room."""
    rooms = {f"n{at}": draw(st.integers(1, 5)) for at in range(draw(st.integers(1, most_nodes)))}
    queues = [f"q{at}" for at in range(draw(st.integers(1, 3)))]
    nodes = [_node(draw, name, cpu) for name, cpu in rooms.items()]
    running = [f"low{at}" for at in range(draw(st.integers(1, most_jobs)))]
    pods_of: dict[str, list[Pod]] = {name: [] for name in running}
    for name, cpu in rooms.items():
        for built in _fill(draw, name, cpu, running):
            pods_of[built.metadata.annotations["job"]].append(built)
    objects: list[Manifest] = [*surroundings.queues(draw, queues), *_budgets(draw)]
    objects += [priority_class(f"priority-{value}", value) for value in PRIORITIES]
    for name, pods in pods_of.items():
        objects += _job(draw, name, queues, pods, waiting=draw(st.sampled_from((0, 0, 0, 2))))
    for at in range(draw(st.integers(1, most_jobs + 1))):
        objects += _job(draw, f"high{at}", queues, [], waiting=draw(st.integers(1, 4)))
    return RandomCluster(tuple(nodes), tuple(stamped(objects)))


def eviction_confs() -> st.SearchStrategy[Conf]:
    """Preempt and reclaim with usual plugins, and some more, in random tiers."""
    actions = ("preempt", "reclaim", "allocate")
    return st.sampled_from(VARIETIES).flatmap(lambda always: confs(actions=actions, always=always))


def _node(draw: DrawFn, name: str, cpu: int) -> Node:
    is_lent = draw(st.integers(0, 7)) == 7
    labels = {REVOCABLE_ZONE: "rz1"} if is_lent else {}
    return node(name, cpu=cpu, pods=draw(st.sampled_from((110, 110, 110, cpu))), labels=labels)


def _fill(draw: DrawFn, name: str, cpu: int, jobs: Sequence[str]) -> list[Pod]:
    """Running pods of some of the jobs, until the node is full or nearly so."""
    pods: list[Pod] = []
    while cpu > draw(st.sampled_from((0, 0, 0, 1))):
        owner, asked = draw(st.sampled_from(jobs)), draw(st.integers(1, min(2, cpu)))
        cpu -= asked
        pods.append(
            pod(
                f"{owner}-{name}-{len(pods)}",
                job=owner,
                cpu=asked,
                memory=draw(MEMORY),
                on=name,
                phase=draw(st.sampled_from(("Running", "Running", "Running", "Pending"))),
                task_priority=draw(st.sampled_from((None, None, 1, 5))),
                labels=draw(st.sampled_from(({"app": "a"}, {"app": "b"}, {"app": "a", "more": "b"}, {}))),
                annotations={"job": owner, **draw(st.sampled_from(NOTES))},
            )
        )
    return pods


def _job(draw: DrawFn, name: str, queues: Sequence[str], running: list[Pod], waiting: int) -> list[Manifest]:
    usual = draw(REQUESTS)
    asked = [draw(st.sampled_from((usual, usual, usual, draw(REQUESTS)))) for _ in range(waiting)]
    more = [
        pod(
            f"{name}-{at}",
            job=name,
            role=draw(st.sampled_from(("", "w"))),
            cpu=cpu,
            memory=memory,
            task_priority=draw(st.sampled_from((None, None, None, 5))),
        )
        for at, (cpu, memory) in enumerate(asked)
    ]
    pods = [*running, *more]
    group = job(
        name,
        tasks=0,
        min_available=draw(st.sampled_from((1, max(len(pods) - 1, 1), len(pods)))),
        queue=draw(st.sampled_from(queues)),
        priority=draw(st.sampled_from((1, 1, 5) if running else (1, 5, 10, 10))),
        phase="Running" if running else "Inqueue",
    )
    return [group.pod_group, *pods]


def _budgets(draw: DrawFn) -> list[PodDisruptionBudget]:
    """Budgets for the pods of an app, of which some pods draw on two."""
    return [
        PodDisruptionBudget(
            metadata=metadata(f"budget-{key}", namespace="default"),
            spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={key: value})),
            status=PodDisruptionBudgetStatus(disruptions_allowed=draw(st.integers(0, 2))),
        )
        for key, value in (("app", "a"), ("app", "b"), ("more", "b"))[: draw(st.integers(0, 3))]
    ]
