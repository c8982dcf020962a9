"""What was sent is taken for granted until it is seen, and laid over everything older."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from hekla.cluster.kubernetes.assumptions import RESTS, Assumptions
from hekla.objects import Condition, ObjectMeta, Pod, PodGroup
from hekla.objects.pod import PodSpec
from hekla.objects.scheduling import PodGroupStatus

POD = Pod(metadata=ObjectMeta(name="a", namespace="x", uid="u"))
BOUND = replace(POD, spec=PodSpec(node_name="n"))
TOLD = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="full")


def seen(assumptions: Assumptions, pod: Pod, group: str = "") -> Pod:
    view = assumptions.view(pod, group)
    assert isinstance(view, Pod)
    return view


def test_a_pod_that_is_being_bound_sits_on_its_node_whatever_older_events_say() -> None:
    assumptions = Assumptions()
    assumptions.expect("u", node="n")
    late = replace(POD, metadata=replace(POD.metadata, labels={"new": "label"}))
    assert seen(assumptions, late).spec.node_name == "n"
    assert seen(assumptions, late).metadata.labels == {"new": "label"}


def test_what_the_pod_shows_by_itself_is_not_assumed_any_more() -> None:
    assumptions = Assumptions()
    assumptions.expect("u", node="n", condition=TOLD)
    assumptions.come_true(BOUND)
    assert assumptions.of_pod("u").is_nothing()
    assert seen(assumptions, BOUND) is BOUND


def test_the_node_that_somebody_else_chose_counts() -> None:
    assumptions = Assumptions()
    assumptions.expect("u", node="other")
    assumptions.come_true(BOUND)
    assert seen(assumptions, BOUND).spec.node_name == "n"


def test_an_evicted_pod_is_leaving_before_the_server_says_so() -> None:
    assumptions = Assumptions()
    assumptions.expect("u", is_leaving=True)
    assert seen(assumptions, BOUND).metadata.deletion_timestamp is not None
    assumptions.come_true(
        replace(BOUND, metadata=replace(POD.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)))
    )
    assert assumptions.of_pod("u").is_nothing()


def test_what_was_told_is_known_so_that_no_cycle_tells_it_again() -> None:
    assumptions = Assumptions()
    assumptions.expect("u", condition=TOLD, nominated="n2")
    view = seen(assumptions, POD)
    assert view.status.conditions[0].message == "full"
    assert view.status.nominated_node_name == "n2"


def test_pods_of_a_job_that_rests_wait_and_bound_ones_are_left_alone() -> None:
    assumptions = Assumptions()
    assumptions.resting.add("x/job")
    assert RESTS in seen(assumptions, POD, "x/job").spec.scheduling_gates
    assert seen(assumptions, BOUND, "x/job") is BOUND
    assert seen(assumptions, POD, "x/other") is POD


def test_a_group_has_the_phase_that_was_decided() -> None:
    group = PodGroup(metadata=ObjectMeta(name="job", namespace="x"))
    assumptions = Assumptions()
    assumptions.expect_group("x/job", PodGroupStatus(phase="Inqueue"))
    view = assumptions.view(group)
    assert isinstance(view, PodGroup)
    assert view.status.phase == "Inqueue"
    assumptions.expect_group("x/job", None)
    assert assumptions.view(group) is group


def test_nothing_is_remembered_of_what_is_gone() -> None:
    assumptions = Assumptions()
    assumptions.expect("u", node="n")
    assumptions.forget(POD)
    assert assumptions.of_pod("u").is_nothing()
