"""Sub-jobs: parts of a job with a size, a minimum and a network domain of their own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hekla.engine.framework.decisions import Bind
from hekla.objects.scheduling import SubGroupPolicy
from hekla.testing import JobObjects, PodRole, Story, hypernode, job, node, pod, racks, sub_group

TIERS = ("priority, gang", "predicates, network-topology-aware")
NAMES = ("n1", "n2", "n3", "n4")
HARD = ("hard", 1)
TREE = [*racks(s0=["n1", "n2"], s1=["n3", "n4"]), hypernode("s2", tier=2, hypernodes=["s0", "s1"])]
SPINE = {"nodes": [node(name, cpu=2) for name in NAMES], "objects": TREE, "tiers": TIERS}


def parts(
    *policies: SubGroupPolicy, sizes: Sequence[int] = (2, 2), cpu: int = 2, **wishes: object
) -> JobObjects:
    """A job `a` with tasks `a-g0-0`, ...: those of one part have the same label."""
    roles = [PodRole(f"g{at}", size, 0, {"labels": {"group": str(at)}}) for at, size in enumerate(sizes)]
    return job("a", roles=roles, cpu=cpu, sub_groups=policies, **wishes)


def places(story: Story) -> dict[str, str]:
    binds = [d for d in story.cycle().decisions if isinstance(d, Bind)]
    return {d.pod.removeprefix("default/a-"): d.node for d in binds}


WHERE = {
    "every part gets a rack of its own": (
        [parts(sub_group("g", size=2, minimum=2, wish=HARD))],
        {"g0-0": "n1", "g0-1": "n2", "g1-0": "n3", "g1-1": "n4"},
    ),
    "parts that must lie in one rack together do not fit where one does": (
        [parts(sub_group("g", size=2, minimum=2, wish=HARD), topology=HARD)],
        {},
    ),
    "small parts share a rack where they must lie in one together": (
        [parts(sub_group("g", size=2, minimum=2, wish=HARD), cpu=1, topology=HARD)],
        {"g0-0": "n1", "g0-1": "n1", "g1-0": "n2", "g1-1": "n2"},
    ),
    "a part that does not fit its rack is left behind where one part is enough": (
        [
            pod("old", on="n3", cpu=2),
            parts(sub_group("g", size=2, minimum=1, wish=HARD), min_available=2),
        ],
        {"g0-0": "n1", "g0-1": "n2"},
    ),
    "nothing starts where two parts are needed and one does not fit": (
        [
            pod("old", on="n3", cpu=2),
            parts(sub_group("g", size=2, minimum=2, wish=HARD), min_available=2),
        ],
        {},
    ),
    "a part starts with its size, and what it has beyond that follows": (
        [parts(sub_group("g", size=2, minimum=1, wish=HARD), sizes=[3], cpu=1, min_available=1)],
        {"g0-0": "n1", "g0-1": "n1", "g0-2": "n2"},
    ),
    "a part with a rack too small for its size does not start with less": (
        [
            *(pod(f"old-{name}", on=name, cpu=1) for name in NAMES),
            pod("more", on="n1", cpu=1),
            pod("most", on="n3", cpu=1),
            parts(sub_group("g", size=2, minimum=1, wish=HARD), sizes=[2], cpu=1, min_available=1),
        ],
        {},
    ),
    "a policy that names no labels gathers no task, so its topology binds none, as in Volcano": (
        [
            pod("old", on="n1", cpu=2),
            parts(sub_group("g", by=(), size=2, wish=HARD), sizes=[3]),
        ],
        {"g0-0": "n2", "g0-1": "n3", "g0-2": "n4"},
    ),
    "tasks without the label belong to no part and may lie anywhere": (
        [
            pod("old", on="n2", cpu=1),
            job(
                "a",
                roles=[PodRole("g0", 2, 0, {"labels": {"group": "0"}}), PodRole("free", 1)],
                cpu=2,
                sub_groups=[sub_group("g", size=2, minimum=1, wish=HARD)],
            ),
        ],
        {"g0-0": "n3", "g0-1": "n4", "free-0": "n1"},
    ),
    "a policy gathers only the pods it selects": (
        [
            pod("old", on="n1", cpu=1),
            job(
                "a",
                roles=[
                    PodRole("in", 2, 0, {"labels": {"group": "0", "kind": "gpu"}}),
                    PodRole("out", 1, 0, {"labels": {"group": "0", "kind": "cpu"}}),
                ],
                cpu=2,
                sub_groups=[sub_group("g", size=2, minimum=1, wish=HARD, labels={"kind": "gpu"})],
            ),
        ],
        {"in-0": "n3", "in-1": "n4", "out-0": "n2"},
    ),
    "a part that runs grows where it lies": (
        [
            parts(
                sub_group("g", size=1, minimum=1, wish=HARD),
                sizes=[3],
                cpu=1,
                running={"n4": 1},
                min_available=1,
            )
        ],
        {"g0-1": "n3", "g0-2": "n3"},
    ),
}


@pytest.mark.parametrize(("jobs", "expected"), WHERE.values(), ids=WHERE)
def test_where_parts_go(jobs: list[object], expected: dict[str, str]) -> None:
    assert places(Story("parts", **SPINE, jobs=jobs)) == expected


def test_parts_that_are_needed_come_before_the_others() -> None:
    """The free tasks are listed first; the one rack goes to the part that the job cannot do without."""
    needed = job(
        "a",
        roles=[
            PodRole("b", 2, 0, {"labels": {"extra": "0"}}),
            PodRole("g", 2, 0, {"labels": {"group": "0"}}),
        ],
        cpu=2,
        min_available=2,
        sub_groups=[
            sub_group("first", by=("extra",), size=2, wish=HARD),
            sub_group("second", size=2, minimum=1, wish=HARD),
        ],
    )
    full = [pod("x", on="n3", cpu=2), pod("y", on="n4", cpu=2)]
    assert places(Story("one rack", **SPINE, jobs=[*full, needed])) == {"g-0": "n1", "g-1": "n2"}


def test_a_soft_part_of_a_hard_job_keeps_to_the_limit_of_the_job() -> None:
    soft = parts(sub_group("g", size=2, minimum=2, wish=("soft", 1)), topology=HARD)
    assert places(Story("soft inside hard", **SPINE, jobs=[soft])) == {}


def test_a_soft_part_of_a_job_that_asks_for_nothing_may_lie_anywhere() -> None:
    crumbs = [pod("x", on="n1", cpu=2), pod("y", on="n3", cpu=2)]
    soft = parts(sub_group("g", size=2, minimum=1, wish=("soft", 1)), sizes=[2])
    assert places(Story("soft alone", **SPINE, jobs=[*crumbs, soft])) == {"g0-0": "n2", "g0-1": "n4"}


def test_the_domains_of_all_parts_are_remembered() -> None:
    story = Story("memory", **SPINE, jobs=[parts(sub_group("g", size=2, minimum=2, wish=HARD))])
    told = story.cycle().session.jobs["default/a"]
    assert {uid: part.domain for uid, part in told.sub_jobs.items()} == {
        "default/a/g-0": "s0",
        "default/a/g-1": "s1",
    }
