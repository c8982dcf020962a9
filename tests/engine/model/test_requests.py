"""What a pod asks for: containers, init containers, sidecars, resizes, overhead, and the pod itself."""

from __future__ import annotations

import pytest

from hekla.engine.model.requests import request_of, scored_on_node, scored_request_of
from hekla.engine.model.resources import Resources, as_quantities, is_counted, is_empty, read_resources
from hekla.objects import Condition, Pod
from hekla.objects.meta import ResourceList
from hekla.objects.pod import Container, ContainerStatus, PodSpec, PodStatus, ResourceRequirements

G = 10**9


def container(name: str, restart: str = "", **amounts: object) -> Container:
    return Container(
        name=name, restart_policy=restart, resources=ResourceRequirements(requests=dict(amounts))
    )


def asked(
    containers: list[Container],
    init: list[Container] | None = None,
    *,
    overhead: ResourceList | None = None,
    pod_level: ResourceList | None = None,
    status: PodStatus | None = None,
) -> Resources:
    level = None if pod_level is None else ResourceRequirements(requests=pod_level)
    spec = PodSpec(
        containers=tuple(containers),
        init_containers=tuple(init or ()),
        overhead=overhead or {},
        resources=level,
    )
    return request_of(Pod(spec=spec, status=status or PodStatus()))


MAIN = [container("c1", cpu=2, memory="1G"), container("c2", cpu=1, memory="1G")]
INIT_A, INIT_B = container("a", cpu=2, memory="1G"), container("b", cpu=2, memory="3G")
SIDECAR_B = container("b", "Always", cpu=2, memory="3G")


def test_init_containers_count_with_the_largest_one() -> None:
    assert asked(MAIN, [INIT_A, INIT_B]) == {"cpu": 3000, "memory": 3 * G, "pods": 1}


def test_a_restartable_init_container_runs_on_beside_the_others() -> None:
    assert asked(MAIN, [INIT_A, SIDECAR_B]) == {"cpu": 5000, "memory": 5 * G, "pods": 1}


def test_an_init_container_after_a_sidecar_needs_room_for_both() -> None:
    late = container("late", cpu=9, memory="1G")
    assert asked(MAIN, [SIDECAR_B, late]) == {"cpu": 11000, "memory": 5 * G, "pods": 1}


def test_a_pod_that_asks_for_nothing_asks_for_its_place() -> None:
    assert asked([container("c")]) == {"pods": 1}
    assert is_empty(asked([container("c")]))
    assert not is_empty(asked([container("c", **{"nvidia.com/gpu": 1})]))


def test_pod_level_requests_overwrite_what_they_name_where_they_may() -> None:
    level: ResourceList = {"cpu": 10, "hugepages-2Mi": "4Mi", "nvidia.com/gpu": 8}
    assert asked(MAIN, pod_level=level) == {
        "cpu": 10000,
        "memory": 2 * G,
        "pods": 1,
        "hugepages-2Mi": 4 * 2**20,
    }


def test_overhead_is_added_last() -> None:
    assert asked(MAIN, pod_level={"cpu": 10}, overhead={"cpu": "250m"}) == {
        "cpu": 10250,
        "memory": 2 * G,
        "pods": 1,
    }


def resizing(*, infeasible: bool) -> PodStatus:
    grown = ContainerStatus(
        name="c1",
        resources=ResourceRequirements(requests={"cpu": 1}),
        allocated_resources={"cpu": "1500m", "memory": "2G"},
    )
    pending = Condition(type="PodResizePending", status="True", reason="Infeasible")
    return PodStatus(container_statuses=(grown,), conditions=(pending,) if infeasible else ())


def test_while_a_container_is_resized_the_most_it_may_hold_counts() -> None:
    assert asked(MAIN, status=resizing(infeasible=False)) == {"cpu": 3000, "memory": 3 * G, "pods": 1}


def test_of_a_resize_that_cannot_be_done_only_what_is_held_counts() -> None:
    assert asked(MAIN, status=resizing(infeasible=True)) == {"cpu": 2500, "memory": 3 * G, "pods": 1}


def test_scores_count_a_little_for_containers_that_name_nothing() -> None:
    spec = PodSpec(containers=(container("c1"), container("c2", cpu=0, memory="1Mi")))
    assert scored_request_of(Pod(spec=spec)) == (100, 201 * 2**20)
    assert scored_on_node(Pod(spec=spec)) == (100, 201 * 2**20)


MI = 2**20


@pytest.mark.parametrize(
    ("pod_level", "to_place", "on_node"),
    [
        ({"cpu": 2}, (2000, 400 * MI), (2000, 400 * MI)),
        ({"cpu": 2, "memory": "1Gi"}, (2000, 1024 * MI), (2000, 1024 * MI)),
        ({"hugepages-2Mi": "2Mi"}, (1100, 400 * MI), (1000, 400 * MI)),
        ({"nvidia.com/gpu": 1}, (1100, 400 * MI), (1100, 400 * MI)),
        ({}, (1100, 400 * MI), (1100, 400 * MI)),
    ],
    ids=[
        "cpu is replaced",
        "both are",
        "any request of the pod's own ends the defaults of what is named",
        "not one that no pod can have",
        "none",
    ],
)
def test_scores_see_what_the_pod_as_a_whole_asks_for(
    pod_level: ResourceList, to_place: tuple[int, int], on_node: tuple[int, int]
) -> None:
    level = ResourceRequirements(requests=pod_level)
    spec = PodSpec(containers=(container("c1", cpu=1), container("c2")), resources=level)
    assert scored_request_of(Pod(spec=spec)) == to_place
    assert scored_on_node(Pod(spec=spec)) == on_node


def test_overhead_and_init_containers_count_in_scores_as_they_do_in_requests() -> None:
    level = ResourceRequirements(requests={"cpu": 3})
    init = (container("i1", memory="1Gi"), container("i2", "Always", cpu=1))
    spec = PodSpec(
        containers=(container("c1"),), init_containers=init, resources=level, overhead={"cpu": "10m"}
    )
    assert scored_request_of(Pod(spec=spec)) == (3010, 1024 * MI)
    assert scored_on_node(Pod(spec=spec)) == (3010, 1024 * MI)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", True),
        ("memory", True),
        ("pods", True),
        ("ephemeral-storage", True),
        ("nvidia.com/gpu", True),
        ("hugepages-2Mi", True),
        ("attachable-volumes-csi-disk", True),
        ("count/jobs.batch", False),
        ("services", False),
        ("requests.cpu", False),
    ],
)
def test_which_resources_are_counted(name: str, expected: bool) -> None:
    assert is_counted(name) is expected


def test_units() -> None:
    amounts: ResourceList = {
        "cpu": "1500m",
        "memory": "1Ki",
        "pods": "3",
        "ephemeral-storage": "1",
        "nvidia.com/gpu": 2,
    }
    assert read_resources(amounts) == {
        "cpu": 1500,
        "memory": 1024,
        "pods": 3,
        "ephemeral-storage": 1,
        "nvidia.com/gpu": 2000,
    }


def test_amounts_are_written_as_people_write_them() -> None:
    amounts = {"nvidia.com/gpu": 2000, "pods": 3, "memory": 1024, "cpu": 1500}
    assert as_quantities(amounts) == {"cpu": "1500m", "memory": "1024", "nvidia.com/gpu": "2", "pods": "3"}
    assert list(as_quantities(amounts)) == ["cpu", "memory", "nvidia.com/gpu", "pods"]
