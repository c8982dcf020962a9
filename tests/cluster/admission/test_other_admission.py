"""What is filled in and what is refused for PodGroups, pods and HyperNodes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from controllers.little_cluster import open_queue_named
from hekla.cluster.admission import (
    ResourceGroup,
    default_pod,
    default_pod_group,
    problems_of_hyper_node,
    problems_of_pod,
    problems_of_pod_group,
    warnings_of_hyper_node,
)
from hekla.objects import HyperNode, Namespace, ObjectMeta, Pod, PodGroup, Toleration, keys
from hekla.objects.node import ExactMatch, HyperNodeSpec, Member, MemberSelector, RegexMatch
from hekla.objects.pod import Container, ContainerPort, PodSpec
from hekla.objects.scheduling import NetworkTopology, PodGroupSpec, SubGroupPolicy

CLOSED = replace(open_queue_named("shut"), status=replace(open_queue_named("shut").status, state="Closed"))
QUEUES = {"default": open_queue_named("default"), "shut": CLOSED}
BOTH_TIERS = NetworkTopology(highest_tier_allowed=1, highest_tier_name="rack")


def group(**spec) -> PodGroup:
    return PodGroup(metadata=ObjectMeta(name="g", namespace="lab"), spec=PodGroupSpec(**spec))


def pod(annotations=None, **spec) -> Pod:
    fields = {"scheduler_name": "volcano", "containers": (Container(name="main"),)} | spec
    return Pod(
        metadata=ObjectMeta(name="p", namespace="lab", annotations=annotations or {}), spec=PodSpec(**fields)
    )


@pytest.mark.parametrize(
    ("queue", "namespaces", "expected"),
    [
        ("", {}, "default"),
        ("", {"lab": {keys.QUEUE_OF_POD: "research"}}, "research"),
        ("default", {"lab": {keys.QUEUE_OF_POD: "research"}}, "research"),
        ("prod", {"lab": {keys.QUEUE_OF_POD: "research"}}, "prod"),
    ],
)
def test_a_pod_group_goes_to_its_queue_or_that_of_its_namespace(queue, namespaces, expected):
    known = {
        name: Namespace(metadata=ObjectMeta(name=name, annotations=notes))
        for name, notes in namespaces.items()
    }
    assert default_pod_group(group(queue=queue), known).spec.queue == expected


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"queue": "default"}, []),
        ({}, []),
        ({"queue": "ghost"}, ["spec.queue"]),
        ({"queue": "shut"}, ["spec.queue"]),
        ({"network_topology": BOTH_TIERS}, ["spec.networkTopology"]),
        (
            {"sub_group_policy": (SubGroupPolicy(network_topology=BOTH_TIERS),) * 2},
            ["spec.subGroupPolicy[0].networkTopology"],
        ),
    ],
)
def test_pod_groups(spec, paths):
    assert [problem.path for problem in problems_of_pod_group(group(**spec), QUEUES)] == paths


def test_a_pod_that_opts_in_waits_at_the_gate_of_its_queue():
    asks = pod({keys.QUEUE_ALLOCATION_GATE: "true"})
    gated = default_pod(asks, gates=True)
    assert [gate.name for gate in gated.spec.scheduling_gates] == [keys.QUEUE_ALLOCATION_GATE]
    assert default_pod(gated, gates=True) == gated
    assert default_pod(asks).spec.scheduling_gates == ()


def test_the_first_resource_group_that_fits_sends_the_pod():
    groups = [
        ResourceGroup("other", namespaces=frozenset({"elsewhere"})),
        ResourceGroup(
            "lab",
            namespaces=frozenset({"lab"}),
            node_selector={"pool": "lab"},
            tolerations=(Toleration(key="lab"),),
            scheduler_name="volcano-lab",
        ),
        ResourceGroup("late", namespaces=frozenset({"lab"}), node_selector={"pool": "late"}),
    ]
    sent = default_pod(pod(node_selector={"disk": "ssd"}), groups).spec
    assert (sent.node_selector, sent.scheduler_name) == ({"disk": "ssd", "pool": "lab"}, "volcano-lab")
    assert sent.tolerations == (Toleration(key="lab"),)


def test_a_pod_can_name_its_resource_group():
    gpu = ResourceGroup("gpu", node_selector={"pool": "gpu"})
    assert default_pod(pod({keys.RESOURCE_GROUP: "gpu"}), [gpu]).spec.node_selector == {"pool": "gpu"}
    assert default_pod(pod(), [gpu]).spec.node_selector == {}


def test_a_port_on_the_network_of_the_host_is_a_port_of_the_host():
    serves = Container(name="main", ports=(ContainerPort(container_port=80),))
    spec = default_pod(pod(containers=(serves,), host_network=True)).spec
    assert spec.containers[0].ports[0].host_port == 80


@pytest.mark.parametrize(
    ("budget", "count"),
    [
        ({keys.BUDGET_MIN_AVAILABLE: "1"}, 0),
        ({keys.BUDGET_MAX_UNAVAILABLE: "50%"}, 0),
        ({keys.BUDGET_MIN_AVAILABLE: "0"}, 1),
        ({keys.BUDGET_MIN_AVAILABLE: "100%"}, 1),
        ({keys.BUDGET_MIN_AVAILABLE: "some"}, 1),
        ({keys.BUDGET_MIN_AVAILABLE: "1", keys.BUDGET_MAX_UNAVAILABLE: "1"}, 1),
    ],
)
def test_disruption_budgets_of_pods(budget, count):
    assert len(problems_of_pod(pod(budget))) == count


def test_pods_of_other_schedulers_are_none_of_our_business():
    assert problems_of_pod(pod({keys.BUDGET_MIN_AVAILABLE: "x"}, scheduler_name="default-scheduler")) == []


def member(type_: str = "Node", **selector) -> Member:
    return Member(type=type_, selector=MemberSelector(**selector))


@pytest.mark.parametrize(
    ("tier", "members", "paths"),
    [
        (
            1,
            (member(exact_match=ExactMatch(name="n1")), member(regex_match=RegexMatch(pattern="^n[0-9]$"))),
            [],
        ),
        (-1, (member(exact_match=ExactMatch(name="n1")),), ["spec.tier"]),
        (1, (), ["spec.members"]),
        (1, (member("Rack", exact_match=ExactMatch(name="n1")),), ["spec.members[0].type"]),
        (1, (member(exact_match=ExactMatch(name="N_1")),), ["spec.members[0].selector.exactMatch.name"]),
        (1, (member(regex_match=RegexMatch(pattern="(")),), ["spec.members[0].selector.regexMatch.pattern"]),
        (1, (member(regex_match=RegexMatch(pattern="")),), ["spec.members[0].selector.regexMatch.pattern"]),
        (
            1,
            (member(exact_match=ExactMatch(name="n1"), regex_match=RegexMatch(pattern="n")),),
            ["spec.members[0].selector"],
        ),
    ],
)
def test_hyper_nodes(tier, members, paths):
    hyper_node = HyperNode(metadata=ObjectMeta(name="h"), spec=HyperNodeSpec(tier=tier, members=members))
    assert [problem.path for problem in problems_of_hyper_node(hyper_node)] == paths


def test_a_member_that_selects_nothing_is_warned_of():
    hyper_node = HyperNode(metadata=ObjectMeta(name="h"), spec=HyperNodeSpec(tier=1, members=(member(),)))
    assert problems_of_hyper_node(hyper_node) == []
    assert [problem.path for problem in warnings_of_hyper_node(hyper_node)] == ["spec.members[0].selector"]
