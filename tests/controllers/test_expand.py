"""What a Job stands for: PodGroup, pods, ports, claims, and the least it needs."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from little_cluster import job, task
from msgspec.structs import replace

from hekla.cluster.admission import default_job
from hekla.controllers import min_resources, pod_group_of, pods_of, usage_of
from hekla.controllers.expand import claim_names, claims_of
from hekla.controllers.usage import amounts
from hekla.objects import LabelSelector, keys
from hekla.objects.batch import JobVolume, PartitionPolicy, PodTemplate
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.objects.scheduling import NetworkTopology, SubGroupPolicy
from hekla.objects.storage import PersistentVolumeClaimSpec

GPU = "nvidia.com/gpu"


def template(requests=None, limits=None, **spec) -> PodTemplate:
    resources = ResourceRequirements(requests=requests or {}, limits=limits or {})
    return PodTemplate(spec=PodSpec(containers=(Container(name="main", resources=resources),), **spec))


def training(minimum: int, ps_class: str = "high", **fields):
    worker = task("worker", 4, min_available=3, template=template({"cpu": 1, GPU: 1}))
    ps = task("ps", 2, min_available=1, template=template({"cpu": 2}, priority_class_name=ps_class))
    return job("train", worker, ps, min_available=minimum, **fields)


@pytest.mark.parametrize(
    ("minimum", "cpu", "gpu"),
    [(2, 4, None), (3, 5, 1), (4, 5, 3), (5, 7, 3), (6, 8, 4)],
)
def test_the_least_a_job_needs(minimum, cpu, gpu):
    least = min_resources(training(minimum), {"high": 1000})
    assert (least["cpu"], least.get(GPU), least["pods"]) == (cpu, gpu, minimum)
    assert least["requests.cpu"] == cpu


def test_a_job_that_needs_no_pod_needs_nothing_and_says_so():
    assert min_resources(training(0), {"high": 1000}) == {}


def test_the_class_of_the_job_does_not_order_its_tasks():
    least = min_resources(training(2, ps_class="", priority_class_name="high"), {"high": 1000})
    assert (least["cpu"], least[GPU]) == (2, 2)


def test_limits_alone_count_for_nothing_but_limits():
    limited = job(
        "train", task("w", 2, template=template(limits={"cpu": 1, "memory": "1Gi", GPU: 1})), min_available=2
    )
    assert amounts(min_resources(limited, {})) == amounts(
        {"count/pods": 2, "pods": 2, "limits.cpu": 2, "limits.memory": "2Gi"}
    )
    assert min_resources(limited, {}, requests_from_limits=True)[GPU] == 2


def test_a_pod_counts_init_containers_sidecars_and_overhead():
    def container(name: str, cpu: str, **fields) -> Container:
        return Container(name=name, resources=ResourceRequirements(requests={"cpu": cpu}), **fields)

    spec = PodSpec(
        containers=(container("main", "1"),),
        init_containers=(container("proxy", "500m", restart_policy="Always"), container("fetch", "3")),
        overhead={"cpu": "250m"},
    )
    assert usage_of(spec)["cpu"] == Decimal("3.75")
    pod_level = replace(spec, resources=ResourceRequirements(requests={"cpu": 2}))
    assert usage_of(pod_level)["cpu"] == Decimal("2.25")


def test_unknown_resources_are_not_counted():
    usage = usage_of(template({"hugepages-2Mi": "4Mi", "storage": 1, "kubernetes.io/x": 1}).spec)
    assert set(usage) == {"count/pods", "pods", "hugepages-2Mi", "requests.hugepages-2Mi"}


def test_the_pod_group_of_a_job():
    partitions = PartitionPolicy(total_partitions=2, partition_size=2, min_partitions=1)
    train = job(
        "train",
        task("w", 4, partition_policy=partitions),
        task("ps", 1, min_available=0),
        min_available=3,
        queue="research",
        network_topology=NetworkTopology(mode="soft", highest_tier_allowed=2, highest_tier_name="rack"),
    )
    train = replace(train, metadata=replace(train.metadata, labels={"team": "a"}, annotations={"note": "b"}))
    group = pod_group_of(train, {})
    assert group.key == "default/train-u1"
    assert (group.metadata.labels, group.metadata.annotations) == ({"team": "a"}, {"note": "b"})
    assert [(owner.kind, owner.uid, owner.controller) for owner in group.metadata.owner_references] == [
        ("Job", "u1", True)
    ]
    assert (group.spec.min_member, group.spec.min_task_member) == (3, {"w": 2, "ps": 0})
    assert (group.spec.queue, group.status.phase) == ("research", "")
    assert group.spec.network_topology == NetworkTopology(mode="soft", highest_tier_allowed=2)
    assert group.spec.sub_group_policy == (
        SubGroupPolicy(
            name="w",
            label_selector=LabelSelector(match_labels={keys.TASK_SPEC: "w"}),
            match_label_keys=(keys.PARTITION_ID,),
            sub_group_size=2,
            min_sub_groups=1,
        ),
    )


def test_a_pod_tells_where_it_belongs():
    partitions = PartitionPolicy(total_partitions=2, partition_size=2)
    train = default_job(job("train", task("w", 4, partition_policy=partitions, topology_policy="restricted")))
    own = {
        keys.PREEMPTABLE: "true",
        keys.REVOCABLE_ZONE: "*",
        keys.BUDGET_MIN_AVAILABLE: "1",
        keys.BUDGET_MAX_UNAVAILABLE: "2",
        "volcano.sh/sla-waiting-time": "1m",
    }
    train = replace(
        train, metadata=replace(train.metadata, annotations=own, labels={keys.COOLDOWN_TIME: "5m"})
    )
    pod = pods_of(train)[3]
    assert pod.key == "default/train-w-3"
    assert pod.metadata.annotations == {
        keys.GROUP_NAME: "train-u1",
        keys.JOB_NAME: "train",
        keys.TASK_SPEC: "w",
        keys.TASK_INDEX: "3",
        keys.QUEUE_NAME: "default",
        keys.JOB_VERSION: "0",
        keys.JOB_RETRY_COUNT: "0",
        keys.TEMPLATE_UID: "train-w",
        keys.NUMA_POLICY: "restricted",
        keys.PREEMPTABLE: "true",
        keys.REVOCABLE_ZONE: "*",
        keys.BUDGET_MIN_AVAILABLE: "1",
    }
    assert pod.metadata.labels == {
        keys.JOB_NAME: "train",
        keys.JOB_NAMESPACE: "default",
        keys.TASK_SPEC: "w",
        keys.TASK_INDEX: "3",
        keys.QUEUE_NAME: "default",
        keys.PARTITION_ID: "1",
        keys.COOLDOWN_TIME: "5m",
    }
    assert (pod.spec.scheduler_name, pod.status.phase) == ("volcano", "Pending")


def test_the_template_names_scheduler_and_class_before_the_job_does():
    own = template({"cpu": 1}, scheduler_name="mine", priority_class_name="low")
    train = job(
        "train",
        task("a", 1, template=own),
        task("b", 1),
        scheduler_name="volcano",
        priority_class_name="high",
    )
    assert [(pod.spec.scheduler_name, pod.spec.priority_class_name) for pod in pods_of(train)] == [
        ("mine", "low"),
        ("volcano", "high"),
    ]


@pytest.mark.parametrize(
    ("plugins", "tasks", "ports"),
    [
        ({"mpi": ()}, ("master", "worker"), [[22], [22]]),
        ({"mpi": ("--port=2222",)}, ("master", "worker"), [[2222], [2222]]),
        ({"pytorch": ("--master=chief", "--port 99")}, ("chief", "worker"), [[99], [99]]),
        ({"pytorch": ()}, ("chief", "worker"), [[], []]),
        ({"ray": ("--headContainer=main",)}, ("head", "worker"), [[6379, 8265, 10001], []]),
        ({"env": (), "svc": ()}, ("a", "b"), [[], []]),
    ],
)
def test_plugins_take_ports_of_the_host(plugins, tasks, ports):
    on_host = template({"cpu": 1}, host_network=True)
    train = job("train", *(task(name, 1, template=on_host) for name in tasks), plugins=plugins)
    taken = [[port.host_port for port in pod.spec.containers[0].ports] for pod in pods_of(train)]
    assert taken == ports


def test_without_the_network_of_the_host_no_port_is_taken():
    [pod] = pods_of(job("train", task("master", 1), plugins={"mpi": ()}))
    assert [(port.container_port, port.host_port) for port in pod.spec.containers[0].ports] == [(22, 0)]


def test_a_claim_without_a_name_is_made_once_and_under_the_same_name():
    described = JobVolume(
        mount_path="/out", volume_claim=PersistentVolumeClaimSpec(storage_class_name="fast")
    )
    named = JobVolume(mount_path="/in", volume_claim_name="data")
    again = JobVolume(mount_path="/also", volume_claim_name="data")
    train = job("train", task("w", 1), volumes=(described, named, again))
    made, existing = claim_names(train)
    assert (made.startswith("train-pvc-"), len(made), existing) == (True, 22, "data")
    assert [claim.metadata.name for claim in claims_of(train)] == [made]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4), st.integers(0, 12))
def test_expanding_twice_gives_the_same_pods_and_no_name_twice(sizes, minimum):
    tasks = [
        task(f"t{i}", replicas, min_available=min(low, replicas)) for i, (replicas, low) in enumerate(sizes)
    ]
    train = job("train", *tasks, min_available=minimum)
    pods = pods_of(train)
    assert pods == pods_of(train)
    assert len({pod.key for pod in pods}) == len(pods) == sum(replicas for replicas, _ in sizes)
    least = min_resources(train, {})
    assert least.get("pods", 0) == min(minimum, len(pods))
