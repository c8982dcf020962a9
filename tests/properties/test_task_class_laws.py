"""What is kept of a class of tasks equals what is worked out anew, after whatever was done or undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from moves import Move, make_all, moves

from hekla.conf import Conf, PluginEntry, Tier
from hekla.engine.framework.node_answers import NodeAnswers
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import (
    BATCH_NODE_ORDER,
    NODE_ORDER,
    NODE_ORDER_REDUCE,
    PREDICATE,
    Scope,
    answers,
)
from hekla.engine.framework.session import Session
from hekla.engine.framework.task_class import TaskClass
from hekla.engine.ledger.arrays import Floats, Mask, Rows
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.objects import Manifest, Node, Pod
from hekla.objects.pod import ContainerPort
from hekla.scheduler.builtin import BUILTIN
from hekla.testing.conf_strategies import GPU, confs
from hekla.testing.special_strategies import gang_clusters, gang_confs, medley_confs, medleys
from hekla.testing.story import conf_of, plugin
from hekla.testing.strategies import RandomCluster, clusters

CPU = 0
SHARED = "volcano.sh/gpu-memory"
KEEPERS = conf_of(
    tiers=("drf, proportion, predicates, nodeorder, binpack", "capacity, network-topology-aware")
)
CARDS = plugin("deviceshare", {"deviceshare.GPUSharingEnable": True, "deviceshare.ScheduleWeight": 3})
NO_WATCHING = plugin(
    "predicates",
    {
        f"predicate.{name}Enable": False
        for name in ("PodAffinity", "PodTopologySpread", "NodeVolumeLimits", "VolumeZone", "VolumeBinding")
    },
)
"""All that is left of it says the same of a node while nothing happens there."""
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
CHOSEN = (
    KEEPERS,
    conf_of(tiers=([NO_WATCHING, RESERVES],)),
    conf_of(tiers=([RESERVES, NO_WATCHING],)),
    conf_of(tiers=("gang", ["predicates", "nodeorder", CARDS])),
)


class EveryScope(Plugin):
    """Says something in every scope; thirds add up differently in another order."""

    name = "every-scope"

    @answers(PREDICATE, Scope.CLASS, concerns=lambda _plugin, task: task.vector[CPU] >= 2000)
    def refuse_every_fourth(self, task: Task) -> list[Refusal]:
        if task.vector[CPU] < 2000:
            return []
        is_fourth = np.arange(len(self.session.nodes)) % 4 == 3
        return [Refusal("fourth", is_fourth, code=Code.UNRESOLVABLE)]

    @answers(PREDICATE, Scope.LEDGER)
    def refuse_busy(self, task: Task, states: NodeStates) -> list[Refusal]:
        return [Refusal("busy", states.used[self.session.axis.pods] >= 3)]

    @answers(PREDICATE, Scope.ROW)
    def refuse_where_tasks_leave(self, task: Task, rows: Rows) -> list[Refusal]:
        leaving = self.session.nodes.releasing[rows].any(axis=1)
        return [Refusal("unrest", leaving)] if leaving.any() else []

    @answers(PREDICATE)
    def refuse_one(self, task: Task) -> list[Refusal]:
        rows = np.arange(len(self.session.nodes))
        return [Refusal("its turn", rows == self.session.nodes.used[:, CPU].sum() // 1000 % (len(rows) + 1))]

    @answers(NODE_ORDER, Scope.CLASS)
    def by_number(self, task: Task) -> Floats:
        return np.arange(len(self.session.nodes)) / 3

    @answers(NODE_ORDER, Scope.LEDGER)
    def by_idle(self, task: Task, states: NodeStates) -> Floats:
        return states.idle[CPU] / 7

    @answers(BATCH_NODE_ORDER, Scope.ROW)
    def by_pods(self, task: Task, rows: Rows) -> Floats:
        return np.array([len(on) for on in self.session.nodes.tasks_on])[rows] / 3

    @answers(BATCH_NODE_ORDER, Scope.CANDIDATES)
    def by_candidates(self, task: Task, among: Mask) -> Floats:
        return np.cumsum(among) / 11

    @answers(NODE_ORDER)
    def by_all_that_is_used(self, task: Task, among: Mask) -> Floats:
        return self.session.nodes.used_in_all[CPU] / 13 * np.arange(len(self.session.nodes))


class Normalising(Plugin):
    name = "normalising"

    @answers(NODE_ORDER, Scope.LEDGER)
    def prefer_idle_nodes(self, task: Task, states: NodeStates) -> Floats:
        return states.idle[CPU].astype(np.float64)

    @answers(NODE_ORDER_REDUCE)
    def up_to_100(self, task: Task, scores: Floats, among: Mask) -> Floats:
        most = scores[among].max(initial=1)
        return 100 * scores / max(most, 1)


REGISTRY = BUILTIN.with_class(EveryScope).with_class(Normalising)


@st.composite
def with_third_parties(draw: st.DrawFn, given_confs: st.SearchStrategy[Conf]) -> Conf:
    """Some of the third parties, in a tier of their own that comes first or last."""
    conf = draw(given_confs)
    names = draw(st.lists(st.sampled_from((EveryScope.name, Normalising.name)), unique=True))
    own = (Tier(tuple(map(PluginEntry, names))),)
    return replace(conf, tiers=(*own, *conf.tiers) if draw(st.booleans()) else (*conf.tiers, *own))


@st.composite
def with_ports_and_cards(draw: st.DrawFn, given_clusters: st.SearchStrategy[RandomCluster]) -> RandomCluster:
    """The cluster, where some nodes have cards to share, and some pods ask for these, or for ports."""
    cluster = draw(given_clusters)
    nodes = tuple(_with_cards(one, draw(st.integers(0, 2))) for one in cluster.nodes)
    return replace(cluster, nodes=nodes, others=tuple(_asking(draw, one) for one in cluster.others))


def _with_cards(machine: Node, cards: int) -> Node:
    offered = {**machine.status.allocatable, "volcano.sh/gpu-number": cards, SHARED: 8000 * cards}
    status = msgspec.structs.replace(machine.status, allocatable=offered, capacity=offered)
    return msgspec.structs.replace(machine, status=status) if cards else machine


def _asking(draw: st.DrawFn, manifest: Manifest) -> Manifest:
    kind = draw(st.sampled_from(("", "", "port", "card"))) if isinstance(manifest, Pod) else ""
    if not kind or not isinstance(manifest, Pod):
        return manifest
    main, *others = manifest.spec.containers
    if kind == "port":
        host_port = draw(st.sampled_from((80, 443)))
        main = msgspec.structs.replace(main, ports=(ContainerPort(container_port=80, host_port=host_port),))
    else:
        limits = {**main.resources.limits, SHARED: draw(st.sampled_from((3000, 5000)))}
        main = msgspec.structs.replace(main, resources=msgspec.structs.replace(main.resources, limits=limits))
    spec = msgspec.structs.replace(manifest.spec, containers=(main, *others))
    return msgspec.structs.replace(manifest, spec=spec)


def waiting_tasks(session: Session) -> list[Task]:
    return [task for task in session.tasks if task.status is Status.PENDING and task.job in session.jobs]


def made_anew(session: Session, task: Task) -> TaskClass:
    everywhere = NodeStates(session.nodes, session.pods)
    answers = NodeAnswers(session.dispatch, everywhere, session.dispatch.concerning(task))
    return TaskClass(session, answers, task).refresh()


def said_of(session: Session, known: TaskClass, task: Task) -> dict[str, object]:
    count = len(session.nodes)
    candidates = {"all": np.ones(count, dtype=np.bool_), "odd": np.arange(count) % 2 == 1}
    return {
        "fits now": known.fits_now.tolist(),
        "fits later": known.fits_later.tolist(),
        "open": known.open_to(task).tolist(),
        "curable": known.curable(task).tolist(),
        "scores": {name: known.scores_of(task, among).tolist() for name, among in candidates.items()},
        "refusals": [
            [(one.reason, one.code, one.nodes.tolist()) for one in of_plugin]
            for of_plugin in known.refusals(task)
        ],
        "foreseeable": known.is_steady,
    }


def assert_as_made_anew(session: Session, tasks: Sequence[Task]) -> None:
    for task in tasks:
        kept = session.scoring.class_of(task)
        assert said_of(session, kept, task) == said_of(session, made_anew(session, task), task)


STEPS = st.lists(st.tuples(moves, st.booleans(), st.integers(0, 2)), min_size=1, max_size=4)
"""Moves, whether they are undone, and which third of the tasks is asked about before they are."""


def hold_against_the_moves(session: Session, steps: Sequence[tuple[Sequence[Move], bool, int]]) -> None:
    assert_as_made_anew(session, waiting_tasks(session))
    for made, is_undone, third in steps:
        before = session.nodes.journal.version
        statement = make_all(session, made)
        assert_as_made_anew(session, waiting_tasks(session)[third::3])
        if is_undone:
            statement.discard()
            session.nodes.journal.back_to(before)
            assert_as_made_anew(session, waiting_tasks(session)[third::2])
    assert_as_made_anew(session, waiting_tasks(session))


@given(with_ports_and_cards(clusters()), with_third_parties(st.sampled_from(CHOSEN) | confs()), STEPS)
def test_a_kept_class_equals_one_made_anew(
    cluster: RandomCluster, conf: Conf, steps: Sequence[tuple[Sequence[Move], bool, int]]
) -> None:
    hold_against_the_moves(cluster.session(conf, registry=REGISTRY), steps)


@given(with_ports_and_cards(medleys()), with_third_parties(medley_confs()), STEPS)
def test_so_it_does_where_every_job_asks_for_something_else(
    cluster: RandomCluster, conf: Conf, steps: Sequence[tuple[Sequence[Move], bool, int]]
) -> None:
    hold_against_the_moves(cluster.session(conf, registry=REGISTRY), steps)


@given(gang_clusters(most_tasks=8), with_third_parties(gang_confs()), STEPS)
def test_so_it_does_on_many_nodes(
    cluster: RandomCluster, conf: Conf, steps: Sequence[tuple[Sequence[Move], bool, int]]
) -> None:
    hold_against_the_moves(cluster.session(conf, registry=REGISTRY), steps)


@given(gang_clusters(most_tasks=12), gang_confs(), moves, st.integers(2, 12))
def test_a_run_takes_what_is_chosen_one_by_one(
    cluster: RandomCluster, conf: Conf, made: Sequence[Move], count: int
) -> None:
    session = cluster.session(conf)
    make_all(session, made)
    scoring = session.scoring
    waiting = waiting_tasks(session)
    for first in waiting[:1]:
        equal = [task for task in waiting if scoring.key_of(task) == scoring.key_of(first)][:count]
        if not scoring.is_foreseeable(first):
            return
        foreseen = scoring.best_run(first, len(equal), scoring.feasible_nodes(first))
        taken: list[int] = []
        for task in equal:
            choice = scoring.choose(task, scoring.feasible_nodes(task))
            if choice is None or not choice.has_room or not session.put(task, choice.row, Status.ALLOCATED):
                break
            taken.append(choice.row)
        assert foreseen == taken


@given(clusters(), st.lists(moves, min_size=1, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4))
def test_a_version_stands_for_one_state_of_the_nodes(
    cluster: RandomCluster, made: Sequence[Sequence[Move]], undone: Sequence[bool]
) -> None:
    session = cluster.session(KEEPERS)
    journal = session.nodes.journal
    states: dict[int, object] = {}
    seen: list[tuple[int, list[object]]] = []

    def look() -> None:
        rows = state_of_nodes(session)
        assert states.setdefault(journal.version, rows) == rows
        for moment, before in seen:
            changed = [row for row, one in enumerate(rows) if one != before[row]]
            assert set(changed) <= set(journal.since(moment).tolist())
        seen.append((journal.now, rows))

    look()
    for some, is_undone in zip(made, undone, strict=False):
        before = journal.version
        statement = session.statement()
        for move in some:
            move.make(session, statement)
            look()
        if is_undone:
            statement.discard()
            journal.back_to(before)
            look()


def state_of_nodes(session: Session) -> list[object]:
    nodes, pods = session.nodes, session.pods
    tables = (nodes.idle, nodes.used, nodes.releasing, nodes.pipelined, nodes.future, pods.requested)
    return [
        (*(table[row].tolist() for table in tables), int(pods.count[row]), sorted(nodes.tasks_on[row]))
        for row in range(len(nodes))
    ]
