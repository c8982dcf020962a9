"""What "The allocate action in detail (Volcano)" says, as short stories: network domains."""

from __future__ import annotations

from typing import Any

import pytest
from allocating import (
    FOUR,
    HARD,
    HARD_2,
    SOFT,
    advised,
    diary_of,
    in_spine,
    likes_domains,
    parts,
    tried_in,
)
from statements import holds, shows

from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import HYPERNODE_GRADIENT, HYPERNODE_ORDER
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job, SubJob
from hekla.objects import Pod
from hekla.testing import JobObjects, Story, job, node, plugin, pod, queue, racks


def domains_after(story: Story) -> tuple[str, dict[str, str]]:
    """Where the job `a` and each of its parts lie as the cycle ends."""
    told = story.cycle().session.jobs["default/a"]
    return told.domain, {uid.removeprefix("default/a/"): part.domain for uid, part in told.sub_jobs.items()}


SMALL = job("a", tasks=2, cpu=1, topology=HARD)
CRUMBS = [pod(f"old-{name}", on=name, cpu="1500m") for name in ("n1", "n2")]
"""They leave the first rack one core, in two halves."""

MINIMUM_ALONE = plugin("network-topology-aware", {"hypernode.gradient.whole-demand": False})

DOMAINS = [
    shows(
        "allocate-26",
        in_spine(
            "a rack that is large enough comes before the spine, though it is not the first",
            pod("old", on="n1", cpu=1),
            job("a", tasks=4, cpu=1, topology=HARD_2),
            expect={"a": {"n3": 2, "n4": 2}},
        ),
    ),
    shows(
        "allocate-26 allocate-31",
        in_spine(
            "where no rack is, the spine is tried",
            job("a", tasks=5, cpu=1, topology=HARD_2),
            expect={"a": {"n1": 2, "n2": 2, "n3": 1}},
        ),
    ),
    shows(
        "allocate-28",
        in_spine(
            "a rack in which the job will be complete after releases is a solution too",
            pod("stays", on="n1", cpu=2),
            pod("leaves", on="n3", cpu=2, is_leaving=True),
            job("a", tasks=4, cpu=1, topology=HARD),
            expect={"a": {"held": {"n4": 2}, "pipelined": {"n3": 2}}},
        ),
    ),
    shows(
        "allocate-32 allocate-51",
        in_spine(
            "a job that no rack can hold is not allocated, though the cluster could hold it",
            job("a", tasks=5, cpu=1, topology=HARD),
            expect={"a": "pending"},
        ),
    ),
    shows(
        "allocate-51",
        in_spine(
            "a job that runs in one rack does not grow into the other",
            pod("old", on="n4", cpu=2),
            job("a", tasks=3, cpu=1, min_available=1, running={"n3": 2}, topology=HARD),
            expect={"a": "pending"},
        ),
    ),
    shows(
        "allocate-53",
        in_spine(
            "a soft job lies in the closest domain where one will do",
            pod("old", on="n1", cpu=1),
            job("a", tasks=4, cpu=1, topology=SOFT),
            expect={"a": {"n3": 2, "n4": 2}},
        ),
    ),
    shows(
        "allocate-53",
        in_spine(
            "and is spread over the whole cluster, even beyond all domains, where none will do",
            job("a", tasks=9, cpu=1, topology=SOFT),
            nodes=[*FOUR, node("n5", cpu=2)],
            expect={"a": {"n1": 2, "n2": 2, "n3": 2, "n4": 2, "n5": 1}},
        ),
    ),
    shows(
        "allocate-53",
        in_spine(
            "though not where more of it waits than the cluster could hold, as in Volcano (W-28)",
            job("a", tasks=9, cpu=1, min_available=2, topology=SOFT),
            expect={"a": "pending"},
        ),
    ),
    shows(
        "allocate-53",
        in_spine(
            "unless domains are asked for the minimum alone",
            job("a", tasks=9, cpu=1, min_available=2, topology=SOFT),
            tiers=("priority, gang", ["predicates", MINIMUM_ALONE]),
            expect={"a": {"n1": 2, "n2": 2, "n3": 2, "n4": 2}},
        ),
    ),
]


@pytest.mark.parametrize("story", DOMAINS)
def test_domains(story: Story) -> None:
    assert story.play() == story.expect


@holds("allocate-26")
def test_groups_of_domains_go_from_low_to_high_tiers() -> None:
    session = in_spine("groups", job("a", tasks=2, cpu=1, topology=HARD_2)).session()
    groups = session.gradients_of_job(session.jobs["default/a"], session.domains.top)
    assert [[domain.name for domain in group] for group in groups] == [["s0", "s1"], ["s2"]]


@holds("allocate-27")
def test_each_domain_is_tried_with_all_tasks_and_with_parts_that_lie_nowhere() -> None:
    seen: list[tuple[str, str, str, int]] = []

    def note(self: Plugin, job: Job, part: SubJob | None, bound: Domain, purpose: object) -> None:
        if part is not None:
            seen.append((bound.name, part.uid[-3:], part.domain, job.roster.ready))

    story = advised(in_spine("parts", parts(topology=HARD)), HYPERNODE_GRADIENT, note)
    assert story.play() == {"a": {"n1": 2}}
    assert seen == [("s0", "g-0", "", 0), ("s0", "g-1", "", 1), ("s1", "g-0", "", 0), ("s1", "g-1", "", 1)]


@holds("allocate-29", "allocate-30")
def test_every_trial_is_undone_and_the_best_one_is_made_again() -> None:
    story = advised(in_spine("two parts", parts(topology=HARD)), HYPERNODE_ORDER, likes_domains(s0=1000))
    assert diary_of(story, "put", "undo") == [
        *("put a-g0-0 n1", "put a-g1-0 n1", "undo a-g0-0", "undo a-g1-0"),
        *("put a-g0-0 n3", "put a-g1-0 n3", "undo a-g0-0", "undo a-g1-0"),
        *("put a-g0-0 n1", "put a-g1-0 n1"),
    ]


@holds("allocate-30")
@pytest.mark.parametrize(("best", "expected"), [("s0", {"n1": 2}), ("s1", {"n3": 2})])
def test_hypernode_order_picks_the_domain(best: str, expected: dict[str, int]) -> None:
    story = advised(in_spine("two racks", SMALL), HYPERNODE_ORDER, likes_domains(**{best: 1000}))
    assert story.play() == {"a": expected}


@holds("allocate-30")
@pytest.mark.parametrize(("score", "expected"), [("sum", {"n1": 2}), ("hypernodeOrder", {"n2": 2})])
def test_for_a_job_of_parts_their_scores_are_added_or_it_is_asked_as_a_whole(
    score: str, expected: dict[str, int]
) -> None:
    """5 of 16 cores are in use, and 0 of 4: 6/16 + 7/16 beats 1/4 + 2/4, but 2/4 beats 7/16."""
    story = Story(
        "a large and a small rack",
        [node("n1", cpu=16), node("n2", cpu=4)],
        [pod("old", on="n1", cpu=5), parts(wish=None, topology=HARD)],
        objects=racks(large=["n1"], small=["n2"]),
        actions="allocate",
        tiers=("priority, gang", "network-topology-aware"),
        configurations={"allocate": {"jobHyperNodeScore": score}},
    )
    assert story.play() == {"a": expected}


@holds("allocate-31")
@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([], ["put a-0 n1", "put a-1 n1"], id="the first group will do"),
        pytest.param(CRUMBS, ["put a-0 n3", "put a-1 n3"], id="it will not, so the next is tried"),
    ],
)
def test_groups_are_tried_until_one_has_a_solution(others: list[Pod], expected: list[str]) -> None:
    story = advised(in_spine("groups", *others, SMALL), HYPERNODE_GRADIENT, tried_in(["s0"], ["s1"], ["s2"]))
    assert diary_of(story, "put", "undo") == expected


@holds("allocate-32")
@pytest.mark.parametrize("groups", [[], [["s0"]]])
def test_a_job_for_which_no_group_has_a_solution_gets_nothing(groups: list[list[str]]) -> None:
    story = advised(in_spine("no rack", *CRUMBS, SMALL), HYPERNODE_GRADIENT, tried_in(*groups))
    assert story.play() == {"a": "pending"}


@holds("allocate-33", "allocate-36")
def test_every_part_gets_a_domain_of_its_own_and_all_of_them_are_kept() -> None:
    story = in_spine("parts of a rack each", parts(tasks=2, cpu=2, topology=HARD_2))
    assert story.play() == {"a": {"n1": 1, "n2": 1, "n3": 1, "n4": 1}}
    assert domains_after(story) == ("s2", {"g-0": "s0", "g-1": "s1"})


@holds("allocate-33")
def test_a_part_goes_to_the_best_of_the_domains_in_which_it_becomes_ready() -> None:
    old = pod("old", on="n3", cpu=1)
    assert domains_after(in_spine("a part that fits twice", old, parts(1, tasks=2)))[1] == {"g-0": "s1"}
    assert domains_after(in_spine("one that fits once", old, parts(1, tasks=4)))[1] == {"g-0": "s0"}


@holds("allocate-34")
@pytest.mark.parametrize(("rack", "expected"), [("s0", {"n1": 2}), ("s1", {"n3": 2})])
def test_the_gradient_of_a_part_says_where_it_is_tried(rack: str, expected: dict[str, int]) -> None:
    def only_there(self: Plugin, job: Job, part: SubJob | None, bound: Domain, purpose: object) -> Any:
        return None if part is None else [[self.session.domains.by_name[rack]]]

    assert advised(in_spine("two parts", parts()), HYPERNODE_GRADIENT, only_there).play() == {"a": expected}


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        pytest.param([SMALL], "s0", id="the domain that it was given"),
        pytest.param(
            [
                pod("old", on="n4", cpu=2),
                job("a", tasks=3, cpu=1, min_available=1, running={"n3": 2}, topology=HARD_2),
            ],
            "s2",
            id="with what it has, the domain around both",
        ),
        pytest.param([*CRUMBS, job("a", tasks=5, cpu=1, topology=HARD)], "", id="none without a solution"),
        pytest.param(
            [
                pod("stays", on="n1", cpu=2),
                pod("leaves", on="n3", cpu=2, is_leaving=True),
                job("a", tasks=4, cpu=1, topology=HARD),
            ],
            "",
            id="none where it is pipelined and not committed",
        ),
    ],
)
@holds("allocate-01", "allocate-35", "allocate-36")
def test_the_domain_of_a_job_after_the_cycle(jobs: list[JobObjects | Pod], expected: str) -> None:
    assert domains_after(in_spine("a recorder", *jobs))[0] == expected


# Other actions keep to hard topology

EVICTING = (["priority", plugin("gang", enablePreemptable=False, enableReclaimable=False), "conformance"],)


def full_racks(title: str, wanted: JobObjects, **more: Any) -> Story:
    """Two racks of two cores, full; in the first one a core cannot be had."""
    jobs = [
        job("stays", cpu=1, running={"n1": 1}, queue="kept", priority=9),
        job("low", tasks=3, cpu=1, running={"n1": 1, "n2": 2}, queue="q", priority=1),
        wanted,
    ]
    return Story(
        title,
        [node("n1", cpu=2), node("n2", cpu=2)],
        jobs,
        queues=[queue("kept", reclaimable=False)],
        objects=racks(r1=["n1"], r2=["n2"]),
        tiers=(*EVICTING, "predicates, network-topology-aware"),
        **more,
    )


def gang(tasks: int, its_queue: str, topology: tuple[str, int] = HARD) -> JobObjects:
    return job("high", tasks=tasks, cpu=1, queue=its_queue, priority=9, topology=topology)


UNTOUCHED = {"stays": "running", "low": "running", "high": "pending"}
INSIDE_R2 = {"stays": "running", "low": {"evicted": ["low-1", "low-2"]}, "high": {"pipelined": {"n2": 2}}}
IN_VAIN = {
    "stays": "running",
    "low": {"evicted": ["low-0", "low-1", "low-2"]},
    "high": {"pipelined": {"n1": 1, "n2": 2}},
}
WITH_TOPOLOGY = {"preempt": {"topologyJobs": True}}
RESERVED = {"allocate": {"unreadyPolicy": "hold"}, "backfill": {"kubeBatchBackfillEnable": True}}


ELSEWHERE = [
    shows(
        "allocate-52",
        full_racks(
            "reclaim evicts nothing for a job that then fits no rack",
            gang(3, "other"),
            actions="reclaim",
            expect=UNTOUCHED,
        ),
    ),
    shows(
        "allocate-52",
        full_racks(
            "unless it is to do so to the letter of Volcano",
            gang(3, "other"),
            actions="reclaim",
            configurations={"reclaim": {"topologyCheck": False}},
            expect=IN_VAIN,
        ),
    ),
    shows(
        "allocate-52",
        full_racks(
            "reclaim evicts inside one rack that can hold the job",
            gang(2, "other"),
            actions="reclaim",
            expect=INSIDE_R2,
        ),
    ),
    shows(
        "allocate-52",
        full_racks(
            "preempt evicts nothing for a job that asks for a topology",
            gang(2, "q"),
            actions="preempt",
            expect=UNTOUCHED,
        ),
    ),
    shows(
        "allocate-52",
        full_racks(
            "unless that is asked for: then it evicts inside one rack",
            gang(2, "q"),
            actions="preempt",
            configurations=WITH_TOPOLOGY,
            expect=INSIDE_R2,
        ),
    ),
    shows(
        "allocate-52",
        full_racks(
            "and nothing where no rack could hold the job",
            gang(3, "q"),
            actions="preempt",
            configurations=WITH_TOPOLOGY,
            expect=UNTOUCHED,
        ),
    ),
    shows(
        "allocate-52",
        in_spine(
            "backfill of reserved room binds nothing over two racks",
            job("a", tasks=3, cpu=2, topology=HARD),
            actions="allocate, backfill",
            configurations=RESERVED,
            expect={"a": "pending"},
        ),
    ),
    shows(
        "allocate-52",
        in_spine(
            "nor a part that must lie in one",
            parts(1, tasks=3, cpu=2),
            actions="allocate, backfill",
            configurations=RESERVED,
            expect={"a": "pending"},
        ),
    ),
]


@pytest.mark.parametrize("story", ELSEWHERE)
def test_other_actions_keep_to_hard_topology(story: Story) -> None:
    assert story.play() == story.expect
