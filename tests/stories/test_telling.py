"""Telling stories: what builders write, and how outcomes are told."""

from __future__ import annotations

import pytest

from hekla.errors import ConfError
from hekla.objects import Taint
from hekla.testing import PodRole, Story, job, node, pod, queue, stamped


def test_a_job_names_its_pods_by_number_or_by_role() -> None:
    plain = job("train", tasks=2, best_effort=1, cpu=1)
    assert [p.metadata.name for p in plain.pods] == ["train-0", "train-1", "train-2"]
    assert [bool(p.spec.containers[0].resources.requests) for p in plain.pods] == [True, True, False]
    roles = job("train", roles=[PodRole("ps"), PodRole("worker", 2)], cpu=1)
    assert [p.metadata.name for p in roles.pods] == ["train-ps-0", "train-worker-0", "train-worker-1"]


def test_without_a_minimum_all_pods_are_needed() -> None:
    assert job("a", tasks=3, best_effort=1).pod_group.spec.min_member == 4
    assert job("a", tasks=3, min_available=1).pod_group.spec.min_member == 1


def test_the_first_pods_run_then_come_bound_leaving_and_finished_ones() -> None:
    built = job(
        "a",
        tasks=6,
        running={"n1": 1, "n2": 1},
        bound={"n3": 1},
        releasing={"n1": 1},
        succeeded=1,
    )
    told = [(p.spec.node_name, p.status.phase, bool(p.metadata.deletion_timestamp)) for p in built.pods]
    assert told == [
        ("n1", "Running", False),
        ("n2", "Running", False),
        ("n3", "Pending", False),
        ("n1", "Running", True),
        ("", "Succeeded", False),
        ("", "Pending", False),
    ]


def test_a_priority_brings_its_class_along() -> None:
    built = job("a", priority=7)
    assert built.priority_class is not None
    assert built.pod_group.spec.priority_class_name == built.priority_class.metadata.name
    assert built.objects == (built.priority_class, built.pod_group, *built.pods)


def test_taints_are_written_as_kubectl_writes_them() -> None:
    spec = node("n1", taints=["gpu=yes:NoSchedule", "old:NoExecute"]).spec
    assert spec.taints == (
        Taint(key="gpu", value="yes", effect="NoSchedule"),
        Taint(key="old", value="", effect="NoExecute"),
    )


def test_what_is_written_first_is_older() -> None:
    first, second = stamped([pod("a"), pod("b")])
    assert first.metadata.creation_timestamp < second.metadata.creation_timestamp
    assert stamped([second])[0] is second


def test_every_outcome_has_its_word() -> None:
    story = Story(
        "one of each",
        nodes=[node("n1", cpu=4)],
        queues=[queue("default")],
        jobs=[
            pod("old", on="n1", is_leaving=True, cpu=1),
            job("bound", cpu=1),
            job("running", cpu=1, running={"n1": 1}),
            job("done", cpu=1, succeeded=1),
            job("promised", tasks=2, cpu=1),
            job("waits", cpu=9),
            job("far", cpu=9, namespace="other"),
        ],
        actions="allocate",
        tiers=("gang",),
    )
    assert story.play() == {
        "bound": {"n1": 1},
        "running": "running",
        "done": "done",
        "promised": {"held": {"n1": 1}, "pipelined": {"n1": 1}},
        "waits": "pending",
        "other/far": "pending",
    }
    assert str(story) == "one of each"


def test_a_story_may_bring_a_configuration_file() -> None:
    text = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n'
    story = Story("a file", [node("n1")], [job("a", cpu=1)], conf=text)
    assert story.play() == {"a": {"n1": 1}}


def test_a_configuration_with_errors_is_refused() -> None:
    with pytest.raises(ConfError, match="allocat"):
        Story("a typo", [node("n1")], conf='actions: "allocat"\ntiers: []\n').play()
