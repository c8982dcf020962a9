"""What would help: each kind of change, found where it is the smallest that works."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hekla.conf import PRESETS, Conf, read_conf, require
from hekla.insight.plan import Plan, PlannedStart, Suggestion, plan
from hekla.objects import Manifest, Toleration
from hekla.objects.pod import Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from hekla.scheduler.builtin import BUILTIN
from hekla.testing.builders import JobObjects, job, node, priority_class, queue
from hekla.testing.network import hypernode, racks
from hekla.testing.pods import GPU, stamped
from hekla.testing.story import conf_of

QUEUE = queue("default")


def planned(
    cluster: Sequence[Manifest | JobObjects], wanted: JobObjects, conf: Conf | None = None, tries: int = 100
) -> Plan:
    [answer] = plan(stamped(spread(cluster)), wanted.objects, conf or conf_of(), tries=tries)
    return answer


def spread(parts: Sequence[Manifest | JobObjects]) -> list[Manifest]:
    return [thing for part in parts for thing in (part.objects if isinstance(part, JobObjects) else (part,))]


def of_kind(answer: Plan, kind: str) -> Suggestion:
    [found] = [each for each in answer.suggestions if each.kind == kind]
    return found


def starts(cluster: Sequence[Manifest | JobObjects], wanted: JobObjects) -> bool:
    return planned(cluster, wanted, tries=0).starts


def test_fewer_pods_as_many_as_fit_and_one_more_would_not() -> None:
    cluster = [QUEUE, node("n1", cpu=8), node("n2", cpu=5)]
    answer = planned(cluster, job("train", tasks=16, cpu=1))
    assert (
        of_kind(answer, "pods").change == "number of pods: 13 (was 16), podgroup: spec.minMember: 13 (was 16)"
    )
    assert starts(cluster, job("train", tasks=13, cpu=1))
    assert not starts(cluster, job("train", tasks=14, cpu=1))


def test_a_smaller_minimum_starts_what_fits() -> None:
    answer = planned([QUEUE, node("n1", cpu=5)], job("train", tasks=8, cpu=1))
    found = of_kind(answer, "minimum")
    assert (found.change, found.pods) == ("podgroup: spec.minMember: 5 (was 8)", 5)


def test_a_smaller_request_in_whole_cores() -> None:
    cluster = [QUEUE, node("n1", cpu=7), node("n2", cpu=7)]
    answer = planned(cluster, job("train", tasks=4, cpu=8, memory="1Gi"))
    path = "pods: spec.containers[0].resources.requests[cpu]"
    assert of_kind(answer, "request").change == f"{path}: 3 (was 8)"
    assert starts(cluster, job("train", tasks=4, cpu=3, memory="1Gi"))
    assert not starts(cluster, job("train", tasks=4, cpu=4, memory="1Gi"))


def test_little_cpu_and_memory_go_down_in_finer_steps() -> None:
    answer = planned([QUEUE, node("n1", cpu="550m")], job("train", cpu=1))
    assert of_kind(answer, "request").change.endswith("requests[cpu]: 500m (was 1)")
    answer = planned([QUEUE, node("n1", memory="200Mi")], job("train", memory="1Gi"))
    assert of_kind(answer, "request").change.endswith("requests[memory]: 192Mi (was 1Gi)")


def test_devices_are_never_divided() -> None:
    answer = planned([QUEUE, node("n1", gpu=4)], job("train", cpu=1, gpu=8))
    assert of_kind(answer, "request").change.endswith(f"requests[{GPU}]: 4 (was 8)")
    assert planned([QUEUE, node("n1")], job("train", cpu=1, gpu=1)).suggestions == ()


def test_what_a_group_says_that_it_needs_follows_its_pods() -> None:
    wanted = job("train", tasks=2, cpu=4, min_resources={"cpu": 8})
    change = of_kind(planned([QUEUE, node("n1", cpu=6)], wanted), "request").change
    assert change == (
        "pods: spec.containers[0].resources.requests[cpu]: 3 (was 4),"
        " podgroup: spec.minResources: {cpu: 6} (was {cpu: 8})"
    )


def test_another_queue_that_has_room() -> None:
    full, free, closed = (
        queue("full", capability={"cpu": 1}),
        queue("free"),
        queue("closed", state="Closed"),
    )
    answer = planned([full, free, closed, node("n1", cpu=8)], job("train", tasks=2, cpu=1, queue="full"))
    assert answer.suggestions[0].change == "podgroup: spec.queue: free (was full)"
    assert "closed" not in str(answer.suggestions)


def test_only_leaves_are_other_queues() -> None:
    cluster = [
        queue("root"),
        queue("full", capability={"cpu": 1}, parent="root"),
        queue("team", parent="root"),
        queue("leaf", parent="team"),
        node("n1", cpu=8),
    ]
    answer = planned(cluster, job("train", tasks=2, cpu=1, queue="full"))
    assert of_kind(answer, "queue").change == "podgroup: spec.queue: leaf (was full)"


def test_the_lowest_priority_class_that_works_and_whom_it_costs() -> None:
    classes = [priority_class("low", 10), priority_class("mid", 50), priority_class("high", 100)]
    old = job("old", tasks=2, min_available=1, cpu=1, running={"n1": 2}, priority=20, pod_priority=20)
    conf = require(read_conf(PRESETS["priority-first"].text, "", BUILTIN.catalogue()), strict=True)
    answer = planned([QUEUE, *classes, node("n1", cpu=2), old], job("new", cpu=1), conf)
    found = of_kind(answer, "priority")
    assert found.change == "podgroup and pods: spec.priorityClassName: mid (was none)"
    assert found.start is PlannedStart.LATER
    assert [(loser.job, len(loser.pods)) for loser in found.losers] == [("default/old", 1)]


def test_a_higher_tier_before_a_soft_bound() -> None:
    network = [
        *racks(s0=["n1", "n2"], s1=["n3", "n4"]),
        hypernode("spine", tier=2, hypernodes=["s0", "s1"]),
    ]
    nodes = [node(f"n{i}", cpu=1) for i in range(1, 5)]
    conf = conf_of(tiers=("priority, gang", "predicates, proportion, nodeorder, network-topology-aware"))
    wanted = job("train", tasks=3, cpu=1, topology=("hard", 1))
    answer = planned([QUEUE, *network, *nodes], wanted, conf)
    change = of_kind(answer, "topology").change
    assert change == "podgroup: spec.networkTopology.highestTierAllowed: 2 (was 1)"


def test_a_soft_bound_where_no_tier_is_high_enough() -> None:
    nodes = [node(f"n{i}", cpu=1) for i in range(1, 5)]
    conf = conf_of(tiers=("priority, gang", "predicates, proportion, nodeorder, network-topology-aware"))
    wanted = job("train", tasks=3, cpu=1, topology=("hard", 1))
    answer = planned([QUEUE, *racks(s0=["n1", "n2"], s1=["n3", "n4"]), *nodes], wanted, conf)
    assert of_kind(answer, "topology").change == "podgroup: spec.networkTopology.mode: soft (was hard)"


def test_the_taint_to_tolerate_is_named_with_its_nodes() -> None:
    nodes = [node(f"gpu{i}", cpu=4, taints=["team=research:NoSchedule"]) for i in (1, 2)]
    nodes.append(node("ill", cpu=4, taints=["node.kubernetes.io/not-ready=:NoExecute"]))
    answer = planned([QUEUE, *nodes], job("train", cpu=2))
    assert [each.change for each in answer.suggestions] == [
        "pods: spec.tolerations: add team=research:NoSchedule (2 nodes have this taint)"
    ]


def test_a_taint_that_is_tolerated_is_not_suggested() -> None:
    allowed = Toleration(key="team", operator="Exists")
    nodes = [node("n1", cpu=1, taints=["team=research:NoSchedule"])]
    answer = planned([QUEUE, *nodes], job("train", cpu=2, tolerations=[allowed]))
    assert {each.kind for each in answer.suggestions} == {"request"}


def test_the_label_to_drop_from_the_node_selector() -> None:
    wanted = job("train", cpu=1, node_selector={"zone": "b", "disk": "ssd"})
    answer = planned([QUEUE, node("n1", labels={"zone": "a", "disk": "ssd"})], wanted)
    assert [each.change for each in answer.suggestions] == ["pods: spec.nodeSelector: drop zone: b"]


def test_a_required_affinity_to_drop() -> None:
    term = NodeSelectorTerm(
        match_expressions=(NodeSelectorRequirement(key="zone", operator="In", values=("b",)),)
    )
    required = NodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
    wanted = job("train", cpu=1, affinity=Affinity(node_affinity=required))
    [found] = planned([QUEUE, node("n1", labels={"zone": "a"})], wanted).suggestions
    assert found.change.startswith("pods: spec.affinity.nodeAffinity.required")


def test_two_changes_only_where_no_single_one_works() -> None:
    wanted = job("train", tasks=2, cpu=1, queue="full", node_selector={"zone": "b"})
    cluster = [queue("full", capability={"cpu": 1}), queue("free"), node("n1", labels={"zone": "a"}, cpu=4)]
    answer = planned(cluster, wanted)
    assert answer.is_complete
    drop = "pods: spec.nodeSelector: drop zone: b"
    assert [each.change for each in answer.suggestions] == [
        f"{drop}; podgroup: spec.queue: free (was full)",
        f"{drop}; podgroup: spec.minMember: 1 (was 2)",
        f"{drop}; number of pods: 1 (was 2), podgroup: spec.minMember: 1 (was 2)",
        f"{drop}; pods: spec.containers[0].resources.requests[cpu]: 500m (was 1)",
    ]


def test_cpu_and_memory_go_down_together_where_neither_is_enough() -> None:
    cluster = [QUEUE, node("n1", cpu=8, memory="32Gi"), node("n2", cpu=8, memory="32Gi")]
    [found] = planned(cluster, job("train", cpu=16, memory="64Gi")).suggestions
    path = "pods: spec.containers[0].resources.requests"
    assert found.change == f"{path}[cpu]: 8 (was 16); {path}[memory]: 32Gi (was 64Gi)"
    assert not starts(cluster, job("train", cpu=9, memory="32Gi"))
    assert not starts(cluster, job("train", cpu=8, memory="33Gi"))


def test_numbers_that_go_down_together_are_told_even_if_the_tries_run_out() -> None:
    cluster = [QUEUE, node("n1", cpu=12, memory="10Gi")]
    answer = planned(cluster, job("train", cpu=16, memory="50Gi"), tries=10)
    assert not answer.is_complete
    [found] = answer.suggestions
    assert "[memory]: 10Gi (was 50Gi)" in found.change


def test_numbers_that_go_down_together_go_no_further_than_each_must() -> None:
    """In step down to a fifth because of the memory; the cpus may stay above that, the GPU as it is."""
    cluster = [QUEUE, node("n1", cpu=12, memory="10Gi", gpu=2)]
    [found] = planned(cluster, job("train", cpu=16, memory="50Gi", gpu=1)).suggestions
    path = "pods: spec.containers[0].resources.requests"
    assert found.change == f"{path}[cpu]: 12 (was 16); {path}[memory]: 10Gi (was 50Gi)"


def test_fewer_and_smaller_pods_where_neither_is_enough() -> None:
    """A node with four GPUs: eight pods find no room with one each, nor does one pod with eight."""
    cluster = [QUEUE, node("n1", gpu=4, cpu=8)]
    wanted = job("train", tasks=8, gpu=8)
    [found] = planned(cluster, wanted).suggestions
    assert found.kind == "pods and request"
    assert found.change == (
        "number of pods: 2 (was 8); pods: spec.containers[0].resources.requests[nvidia.com/gpu]: 2 (was 8),"
        " podgroup: spec.minMember: 2 (was 8)"
    )
    assert starts(cluster, job("train", tasks=2, gpu=2))
    assert not starts(cluster, job("train", tasks=3, gpu=2))


def test_small_changes_come_first_and_six_are_enough() -> None:
    queues = [queue(f"q{i}") for i in range(9)]
    cluster = [queue("full", capability={"cpu": 3}), *queues, node("n1", cpu=8)]
    answer = planned(cluster, job("train", tasks=4, cpu=1, queue="full"))
    assert len(answer.suggestions) == 6
    assert {each.kind for each in answer.suggestions} == {"queue"}


def test_changes_without_evictions_come_first() -> None:
    old = job("old", tasks=2, min_available=1, cpu=1, running={"n1": 2})
    conf = require(read_conf(PRESETS["priority-first"].text, "", BUILTIN.catalogue()), strict=True)
    cluster = [QUEUE, priority_class("high", 100), node("n1", cpu=3), old]
    kinds = [each.kind for each in planned(cluster, job("new", tasks=2, cpu=1), conf).suggestions]
    assert kinds.index("minimum") < kinds.index("priority")
    assert kinds.index("pods") < kinds.index("priority")


@pytest.mark.parametrize("tries", [0, 1, 3])
def test_no_more_is_tried_than_allowed(tries: int) -> None:
    told: list[int] = []
    cluster = stamped(spread([QUEUE, node("n1", cpu=5)]))
    wanted = job("train", tasks=8, cpu=1).objects
    [answer] = plan(cluster, wanted, conf_of(), tries=tries, on_try=lambda count, _: told.append(count))
    assert answer.tries == tries
    assert not answer.is_complete
    assert told == list(range(1, tries + 1))
