"""Pods that come without a PodGroup."""

from __future__ import annotations

import pytest
from little_cluster import START
from msgspec.structs import replace

from hekla.controllers import pod_group_for
from hekla.objects import ObjectMeta, OwnerReference, Pod, keys
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.objects.scheduling import NetworkTopology

REPLICA_SET = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="rs1", controller=True)


def pod(*owners: OwnerReference, annotations=None, scheduler: str = "volcano") -> Pod:
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": 1}))
    return Pod(
        metadata=ObjectMeta(
            name="p",
            namespace="default",
            uid="pod1",
            creation_timestamp=START,
            annotations=annotations or {},
            owner_references=owners,
        ),
        spec=PodSpec(scheduler_name=scheduler, containers=(container,), priority_class_name="high"),
    )


def test_a_lonely_pod_gets_a_group_of_its_own():
    group, joined = pod_group_for(pod())
    assert joined.metadata.annotations == {keys.GROUP_NAME: "podgroup-pod1"}
    assert (group.key, group.status.phase) == ("default/podgroup-pod1", "Pending")
    assert [(owner.kind, owner.uid) for owner in group.metadata.owner_references] == [("Pod", "pod1")]
    assert (group.spec.min_member, group.spec.queue, group.spec.priority_class_name) == (1, "", "high")


def test_the_group_of_a_replica_set_listens_to_both():
    of_owner = {
        keys.GROUP_MIN_MEMBER: "3",
        keys.QUEUE_OF_POD: "fromrs",
        keys.PREEMPTABLE: "true",
        "volcano.sh/sla-waiting-time": "1m",
    }
    own = {keys.PREEMPTABLE: "false", keys.TOPOLOGY_MODE: "SOFT", keys.TOPOLOGY_TIER: "x"}
    group, joined = pod_group_for(pod(REPLICA_SET, annotations=own), (), {"rs1": of_owner})
    assert joined.metadata.annotations[keys.GROUP_NAME] == "podgroup-rs1"
    assert group.spec.min_member == 3
    assert (group.spec.min_resources["cpu"], group.spec.min_resources["pods"]) == (3, 3)
    assert group.metadata.annotations == {keys.PREEMPTABLE: "false", "volcano.sh/sla-waiting-time": "1m"}
    assert group.spec.network_topology == NetworkTopology(mode="soft")
    assert group.spec.queue == ""
    assert group.metadata.owner_references == (REPLICA_SET,)


def test_the_second_pod_joins_the_group_of_the_first():
    group, joined = pod_group_for(pod(REPLICA_SET), {"default/podgroup-rs1"})
    assert group is None
    assert joined.metadata.annotations[keys.GROUP_NAME] == "podgroup-rs1"


@pytest.mark.parametrize(
    "left_alone", [pod(annotations={keys.GROUP_NAME: "mine"}), pod(scheduler="default-scheduler")]
)
def test_pods_that_bring_a_group_or_another_scheduler_are_left_alone(left_alone):
    assert pod_group_for(left_alone) == (None, left_alone)


@pytest.mark.parametrize(("text", "members"), [("0", 0), ("5", 5), ("-1", 1), ("many", 1)])
def test_a_minimum_that_is_none_counts_as_one(text, members):
    group, _ = pod_group_for(pod(REPLICA_SET), (), {"rs1": {keys.GROUP_MIN_MEMBER: text}})
    assert group.spec.min_member == members


def test_the_first_owner_wins_and_strange_kinds_have_no_say():
    strange = replace(REPLICA_SET, kind="Rollout", uid="ro1", controller=None)
    second = replace(REPLICA_SET, kind="StatefulSet", uid="ss1", controller=None)
    notes = {
        "ro1": {"volcano.sh/x": "strange"},
        "rs1": {"volcano.sh/x": "first"},
        "ss1": {"volcano.sh/x": "second", "volcano.sh/y": "second"},
    }
    group, _ = pod_group_for(pod(strange, REPLICA_SET, second), (), notes)
    assert group.metadata.annotations == {"volcano.sh/x": "first", "volcano.sh/y": "second"}


def test_a_pod_names_its_queue():
    group, _ = pod_group_for(pod(annotations={keys.QUEUE_OF_POD: "research"}))
    assert group.spec.queue == "research"
