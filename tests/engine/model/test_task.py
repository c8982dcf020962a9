"""Tasks: how a pod's own words are read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hekla.engine.model.status import (
    ALLOCATED_SET,
    READY_SET,
    SCHEDULED_SET,
    TERMINATED_SET,
    VALID_SET,
    Status,
    status_of,
)
from hekla.engine.model.task import have_one_template, in_the_words_of, pod_index, task_of, twin_of
from hekla.objects.keys import QUEUE_ALLOCATION_GATE
from hekla.objects.pod import ContainerStatus, Pod
from hekla.testing import pod


@pytest.mark.parametrize(
    ("phase", "is_leaving", "on", "expected"),
    [
        ("Running", True, "n1", Status.RELEASING),
        ("Running", False, "n1", Status.RUNNING),
        ("Pending", True, "", Status.RELEASING),
        ("Pending", True, "n1", Status.RELEASING),
        ("Pending", False, "", Status.PENDING),
        ("Pending", False, "n1", Status.BOUND),
        ("Succeeded", False, "n1", Status.SUCCEEDED),
        ("Succeeded", True, "n1", Status.SUCCEEDED),
        ("Failed", False, "n1", Status.FAILED),
        ("Unknown", False, "n1", Status.UNKNOWN),
        ("Dreaming", False, "n1", Status.UNKNOWN),
    ],
)
def test_status(phase: str, is_leaving: bool, on: str, expected: Status) -> None:
    assert status_of(pod("a", phase=phase, is_leaving=is_leaving, on=on)) is expected


def test_what_counts_as_what() -> None:
    def marks(status: Status) -> str:
        sets = zip("ARVST", (ALLOCATED_SET, READY_SET, VALID_SET, SCHEDULED_SET, TERMINATED_SET), strict=True)
        return "".join(letter for letter, among in sets if status in among)

    assert {status.name: marks(status) for status in Status} == {
        "PENDING": "V",
        "ALLOCATED": "ARV",
        "PIPELINED": "V",
        "BINDING": "ARV",
        "BOUND": "ARVS",
        "RUNNING": "ARVS",
        "RELEASING": "",
        "SUCCEEDED": "RVST",
        "FAILED": "ST",
        "UNKNOWN": "",
    }


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("job-role-3", 3),
        ("a-b-c-12", 12),
        ("job-3", None),
        ("job", None),
        ("job-role-x", None),
        ("job-role-", None),
        ("a-b-007", 7),
    ],
)
def test_the_number_at_the_end_of_a_name(name: str, index: int | None) -> None:
    assert pod_index(name) == index


def test_the_annotation_wins_over_the_pods_own_priority() -> None:
    assert task_of(pod("a")).priority == 1
    assert task_of(pod("a", pod_priority=7)).priority == 7
    assert task_of(pod("a", pod_priority=7, task_priority=3)).priority == 3
    assert task_of(pod("a", pod_priority=0)).priority == 0


@pytest.mark.parametrize("text", ["high", "", "1.5", str(2**31)])
def test_an_annotation_that_is_no_priority_is_not_taken(text: str) -> None:
    assert task_of(pod("a", pod_priority=7, annotations={"volcano.sh/task-priority": text})).priority == 7


@pytest.mark.parametrize(
    ("annotations", "labels", "expected"),
    [
        ({}, {}, True),
        ({"volcano.sh/preemptable": "false"}, {}, False),
        ({}, {"volcano.sh/preemptable": "0"}, False),
        ({"volcano.sh/preemptable": "T"}, {"volcano.sh/preemptable": "false"}, True),
        ({"volcano.sh/preemptable": "maybe"}, {}, False),
    ],
)
def test_preemptable(annotations: dict[str, str], labels: dict[str, str], expected: bool) -> None:
    assert task_of(pod("a", annotations=annotations, labels=labels)).is_preemptable is expected


def test_job_role_and_key() -> None:
    task = task_of(pod("a-w-0", namespace="ml", job="a", role="w"))
    assert (task.key, task.job, task.role, task.uid) == ("ml/a-w-0", "ml/a", "w", "ml-a-w-0")
    stray = task_of(pod("s", namespace="ml", labels={"volcano.sh/task-spec": "label"}))
    assert (stray.job, stray.role) == ("", "label")


def test_a_pod_without_a_uid_is_known_by_its_name() -> None:
    written = pod("a")
    nameless = msgspec.structs.replace(written, metadata=msgspec.structs.replace(written.metadata, uid=""))
    assert task_of(nameless).uid == "default-a"


def test_gates() -> None:
    assert not task_of(pod("a")).is_gated
    own = task_of(pod("a", gates=[QUEUE_ALLOCATION_GATE]))
    assert own.is_gated
    assert own.has_only_queue_gate
    both = task_of(pod("a", gates=[QUEUE_ALLOCATION_GATE, "example.com/wait"]))
    assert not both.has_only_queue_gate


def test_a_pod_that_asks_for_nothing_but_its_place_is_best_effort() -> None:
    assert task_of(pod("a")).is_best_effort
    assert task_of(pod("a", cpu=0)).is_best_effort
    assert not task_of(pod("a", gpu=1)).is_best_effort


def test_pods_that_say_the_same_share_their_words() -> None:
    first, second = (read_anew(pod(name, cpu=2, labels={"app": "web"})) for name in ("a-0", "a-1"))
    assert not have_one_template(first, second)
    shared = in_the_words_of(first, second)
    assert have_one_template(first, shared)
    assert shared == second


@pytest.mark.parametrize("other", [{"cpu": 3}, {"labels": {"app": "db"}}, {"annotations": {"note": "x"}}])
def test_pods_that_say_something_else_do_not(other: dict[str, Any]) -> None:
    words: dict[str, Any] = {"cpu": 2, "labels": {"app": "web"}}
    first, second = read_anew(pod("a-0", **words)), read_anew(pod("a-1", **words | other))
    assert in_the_words_of(first, second) is second


def read_anew(one: Pod) -> Pod:
    """As it would come from a file: with objects of its own."""
    return msgspec.json.decode(msgspec.json.encode(one), type=Pod)


@pytest.mark.parametrize("field", ["container_statuses", "init_container_statuses"])
def test_a_pod_that_may_be_resized_is_read_by_itself(field: str) -> None:
    first, second = read_anew(pod("a-0", cpu=2)), read_anew(pod("a-1", cpu=2))
    assert twin_of(task_of(first), second) is not None
    resized = msgspec.structs.replace(second.status, **{field: (ContainerStatus(),)})
    assert twin_of(task_of(first), msgspec.structs.replace(second, status=resized)) is None
