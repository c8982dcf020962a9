"""Network domains: what is kept, or answered for many at once, equals what is worked out one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from moves import Move, make_all, moves

from hekla.conf import Conf
from hekla.engine.framework.decisions import Bind, Decision, Evict, OpenGate
from hekla.engine.framework.session import Session
from hekla.engine.framework.shortcuts import NO_SHORTCUT
from hekla.engine.ledger.domains import Domain, Domains
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.task import NOWHERE
from hekla.engine.plugins.network_topology_aware import NetworkTopologyAware
from hekla.testing.special_strategies import networked_clusters
from hekla.testing.story import conf_of, plugin
from hekla.testing.strategies import RandomCluster

ACTIONS = (
    "allocate",
    "enqueue, allocate, backfill",
    "gangpreempt, allocate",
    "allocate, preempt, allocate",
    "preempt, allocate",
)
FLAG = st.booleans()


@st.composite
def network_confs(draw: st.DrawFn) -> Conf:
    """Configurations in which the network has a say."""
    topology = {
        "weight": draw(st.sampled_from((0, 1, 3))),
        "hypernode.gradient.whole-demand": draw(FLAG),
    }
    told = {
        "jobHyperNodeScore": draw(st.sampled_from(("sum", "sum", "hypernodeOrder"))),
        "schedulingGatesQueueAdmission": draw(FLAG),
        "onPipelined": draw(st.sampled_from(("keep", "keep", "discard", "commit"))),
    }
    first = draw(st.sampled_from(("priority, gang", "priority, gang", "gang, sla", "sla, gang", "priority")))
    scores = draw(st.sampled_from(("predicates", "predicates, nodeorder", "predicates, nodeorder, binpack")))
    return conf_of(
        tiers=(first, [*scores.split(", "), plugin("network-topology-aware", topology)]),
        actions=draw(st.sampled_from(ACTIONS)),
        configurations={"allocate": told},
    )


PLAIN = conf_of(tiers=("priority, gang", "predicates, network-topology-aware"))


def deeds(decisions: Sequence[Decision]) -> list[Decision]:
    return [decision for decision in decisions if isinstance(decision, Bind | Evict | OpenGate)]


@given(cluster=networked_clusters(), conf=network_confs())
def test_shortcuts_lead_to_the_same_decisions(cluster: RandomCluster, conf: Conf) -> None:
    quick = cluster.cycle(conf).decisions
    assert deeds(cluster.cycle(conf, NO_SHORTCUT).decisions) == deeds(quick)


def moved(cluster: RandomCluster, made: list[Move], *, is_kept: bool) -> Session:
    """A session in which every job was asked about, and then some tasks have come or gone."""
    session = cluster.session(PLAIN)
    topology = topology_of(session)
    for _, sub_job in parts_of(session):
        topology.pack_domains(sub_job, list(session.domains.by_name.values()))
    session.domains.room()
    statement = make_all(session, made)
    if not is_kept:
        statement.discard()
    return session


def topology_of(session: Session) -> NetworkTopologyAware:
    return next(plugin for plugin in session.plugins if isinstance(plugin, NetworkTopologyAware))


def parts_of(session: Session) -> list[tuple[Job, SubJob]]:
    return [(job, sub_job) for job in session.jobs.values() for sub_job in job.sub_jobs.values()]


@given(networked_clusters(), moves, FLAG)
def test_room_is_what_will_be_idle_on_the_nodes(
    cluster: RandomCluster, made: list[Move], is_kept: bool
) -> None:
    session = moved(cluster, made, is_kept=is_kept)
    positive = np.maximum(session.nodes.future, 0)
    for domain in session.domains.by_name.values():
        assert session.domains.room()[domain.place].tolist() == positive[domain.nodes].sum(axis=0).tolist()


@given(networked_clusters(), moves, FLAG)
def test_presence_counts_the_tasks_that_lie_in_a_domain(
    cluster: RandomCluster, made: list[Move], is_kept: bool
) -> None:
    session = moved(cluster, made, is_kept=is_kept)
    presence = topology_of(session)._presence
    for _, sub_job in parts_of(session):
        rows = [task.node for task in sub_job.roster.tasks.values() if task.node != NOWHERE]
        for domain in session.domains.by_name.values():
            share = sum(bool(domain.nodes[row]) for row in rows) / len(sub_job.roster)
            assert presence.shares(sub_job)[domain.place] == share
            assert presence.share_in(sub_job, domain.place) == share


@given(networked_clusters(), moves, FLAG)
def test_scores_alone_are_those_of_single_candidates(
    cluster: RandomCluster, made: list[Move], is_kept: bool
) -> None:
    session = moved(cluster, made, is_kept=is_kept)
    domains = list(session.domains.by_name.values())
    for _, sub_job in parts_of(session):
        one_by_one = [session.domain_scores(sub_job, [domain])[domain.name] for domain in domains]
        assert session.domain_scores_alone(sub_job, domains).tolist() == one_by_one
        if not session.compares_domains(sub_job):
            assert list(session.domain_scores(sub_job, domains).values()) == one_by_one


@given(networked_clusters(), moves, st.data())
def test_only_choices_are_those_of_single_gradients(
    cluster: RandomCluster, made: list[Move], data: st.DataObject
) -> None:
    session = moved(cluster, made, is_kept=True)
    domains = list(session.domains.by_name.values())
    hopeful = np.array([data.draw(st.sampled_from((True, True, False))) for _ in domains])
    for job, sub_job in parts_of(session):
        gradients = [session.gradients_of_sub_job(job, sub_job, domain) for domain in domains]
        left = [[d for group in groups for d in group if hopeful[d.place]] for groups in gradients]
        expected = [found == [domain] for found, domain in zip(left, domains, strict=True)]
        assert session.only_choices(job, sub_job, domains, hopeful).tolist() == expected


def branch(found: Domains, domain: Domain) -> set[str]:
    return {domain.name}.union(*(branch(found, found.by_name[child]) for child in domain.children))


@given(networked_clusters())
def test_the_numbers_of_the_tree_agree_with_its_names(cluster: RandomCluster) -> None:
    session = cluster.session(PLAIN)
    found, tree = session.domains, session.domains.tree
    for domain in tree.all:
        below = branch(found, domain)
        assert {d.name for d in tree.all if tree.below(domain.place)[d.place]} == below
        marked = np.array([len(d.name) > 2 for d in tree.all])
        assert tree.count_below(marked)[domain.place] == sum(len(name) > 2 for name in below)
        for child in domain.children:
            assert not (found.by_name[child].nodes & ~domain.nodes).any()
    for row in range(len(session.nodes)):
        assert {tree.all[at].name for at in tree.around(row)} == {d.name for d in tree.all if d.nodes[row]}
    busy = session.nodes.used.any(axis=1)
    assert tree.touched_by(busy).tolist() == [bool((d.nodes & busy).any()) for d in tree.all]
