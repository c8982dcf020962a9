"""Volumes: every claim asks for one attachment of its driver."""

from __future__ import annotations

import pytest

from hekla.testing import Story, job, node, queue
from hekla.testing.builders import JobObjects
from hekla.testing.storage import claim, csi_node, storage_class, using

NODES = [node("n1", cpu=8), node("n2", cpu=8)]
CLAIMS = [claim(f"c{at}", of="s") for at in range(4)]
CLASS = storage_class("s", "fast")
PLAIN = ("gang", "predicates, nodeorder")
FAIR = ("gang", "predicates, nodeorder, proportion")


def with_claims(one: JobObjects) -> JobObjects:
    """Its pods, each with a claim of its own."""
    pods = [using(pod, f"c{at}") for at, pod in enumerate(one.pods)]
    return JobObjects(one.pod_group, tuple(pods))


STORIES = [
    Story(
        "a pod with a volume goes where its driver is",
        nodes=NODES,
        jobs=[with_claims(job("a", tasks=1, cpu=1))],
        objects=[CLASS, *CLAIMS, csi_node("n2", fast=None)],
        tiers=PLAIN,
        expect={"a": {"n2": 1}},
    ),
    Story(
        "where no node lists the driver, the pod waits",
        nodes=NODES,
        jobs=[with_claims(job("a", tasks=1, cpu=1))],
        objects=[CLASS, *CLAIMS, csi_node("n2", other=None)],
        tiers=PLAIN,
        expect={"a": "pending"},
    ),
    Story(
        "the limits of two nodes divide a gang",
        nodes=NODES,
        jobs=[with_claims(job("a", tasks=4, cpu=1))],
        objects=[CLASS, *CLAIMS, csi_node("n1", fast=1), csi_node("n2", fast=3)],
        tiers=PLAIN,
        expect={"a": {"n1": 1, "n2": 3}},
    ),
    Story(
        "volumes are shared between queues like everything else",
        nodes=NODES,
        queues=[queue("one"), queue("two")],
        jobs=[
            with_claims(job("a", tasks=4, cpu=1, min_available=1, queue="one")),
            with_claims(job("b", tasks=4, cpu=1, min_available=1, queue="two")),
        ],
        objects=[CLASS, *CLAIMS, csi_node("n1", fast=2)],
        tiers=FAIR,
        expect={"a": {"n1": 1}, "b": {"n1": 1}},
    ),
    Story(
        "a pod that asks for nothing but a volume is not best effort",
        nodes=NODES,
        jobs=[with_claims(job("a", tasks=1))],
        objects=[CLASS, *CLAIMS, csi_node("n1", fast=0)],
        actions="allocate, backfill",
        tiers=PLAIN,
        expect={"a": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_volumes(story: Story) -> None:
    assert story.play() == story.expect
