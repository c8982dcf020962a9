"""Gangpreempt and gangreclaim: room for a whole gang in one network domain, breaking few other gangs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekla.engine.framework.decisions import Evict, Nominate
from hekla.objects.keys import PREEMPTABLE
from hekla.testing import PodRole, Story, hypernode, job, node, pod, queue, racks, sub_group

LOW, HIGH = 1, 10
GANG = ("priority, gang, conformance",)
NETWORK = ("priority, gang, conformance", "network-topology-aware")
HARD = ("hard", 1)
SAFE_ONLY = {name: {"allowWholeBundle": False} for name in ("gangpreempt", "gangreclaim")}
UNTOUCHED = {"b": "running", "a": "pending"}

WORKED_PREEMPT = Story(
    "spare tasks go first, then the gang that matters least, in bundles",
    nodes=[node("n1", cpu=3), node("n2", cpu=2)],
    jobs=[
        job("b", tasks=3, cpu=1, min_available=1, running={"n1": 3}, priority=LOW),
        job("c", tasks=2, cpu=1, min_available=2, running={"n2": 2}, priority=LOW),
        job("a", tasks=2, cpu=2, priority=HIGH),
    ],
    tiers=GANG,
    actions="gangpreempt",
    expect={
        "b": {"evicted": ["b-0", "b-1"]},
        "c": {"evicted": ["c-0", "c-1"]},
        "a": {"pipelined": {"n1": 1, "n2": 1}},
    },
)

WORKED_RECLAIM = Story(
    "the spare tasks of one queue suffice, so the gang of another stays whole",
    nodes=[node("n1", cpu=2), node("n2", cpu=3)],
    jobs=[
        job("b", tasks=3, cpu=1, min_available=1, running={"n1": 2, "n2": 1}, queue="q2"),
        job("c", tasks=2, cpu=1, running={"n2": 2}, queue="q3"),
        job("a", tasks=2, cpu=1, queue="q1"),
    ],
    tiers=GANG,
    actions="gangreclaim",
    expect={"b": {"evicted": ["b-0", "b-1"]}, "c": "running", "a": {"pipelined": {"n1": 2}}},
)


def duel(cpu: int = 1, wants: int = 1, **victim: object) -> dict[str, object]:
    """A node full of job b, and an urgent job of one task that wants some of it."""
    shape = {"cpu": cpu, "priority": LOW, **victim}
    running = sum((victim.get("running") or victim.get("bound") or {}).values())
    return {
        "nodes": [node("n1", cpu=running * cpu)],
        "jobs": [job("b", **shape), job("a", cpu=wants, priority=HIGH)],
        "tiers": GANG,
        "actions": "gangpreempt",
    }


def evicted(*names: str) -> dict[str, object]:
    return {"b": {"evicted": list(names)}, "a": {"pipelined": {"n1": 1}}}


TWO_ROLES = [PodRole("ps", 1, 1), PodRole("worker", 2, 1)]
TWO_GROUPS = [PodRole(f"g{at}", 2, 0, {"labels": {"group": str(at)}}) for at in (0, 1)]
GROUPS = [sub_group("g", size=2, minimum=1)]

STORIES = [
    WORKED_PREEMPT,
    replace(
        WORKED_PREEMPT,
        title="where gangs may not be broken and spare tasks do not suffice, no task goes",
        configurations=SAFE_ONLY,
        expect={"b": "running", "c": "running", "a": "pending"},
    ),
    WORKED_RECLAIM,
    Story(
        "a gang without spare tasks is broken whole",
        **duel(tasks=2, running={"n1": 2}),
        expect=evicted("b-0", "b-1"),
    ),
    Story(
        "or not at all",
        **duel(tasks=2, running={"n1": 2}),
        configurations=SAFE_ONLY,
        expect=UNTOUCHED,
    ),
    Story(
        "all of a bundle goes, even if less would do",
        **duel(tasks=3, running={"n1": 3}, min_available=1),
        configurations=SAFE_ONLY,
        expect=evicted("b-0", "b-1"),
    ),
    Story(
        "a gang that is broken already gives all it has",
        **duel(tasks=3, running={"n1": 2}, min_available=3),
        configurations=SAFE_ONLY,
        expect=evicted("b-0", "b-1"),
    ),
    Story(
        "a role keeps its minimum: the parameter server stays, one worker goes",
        **duel(roles=TWO_ROLES, running={"n1": 3}, min_available=2),
        configurations=SAFE_ONLY,
        expect=evicted("b-worker-0"),
    ),
    Story(
        "a group of sub-jobs keeps its minimum: one of them is broken, then all of that one may go",
        **duel(roles=TWO_GROUPS, running={"n1": 4}, min_available=1, sub_groups=GROUPS),
        configurations=SAFE_ONLY,
        expect=evicted("b-g0-0", "b-g0-1"),
    ),
    Story(
        "where no group is needed only the job's own minimum counts",
        **duel(roles=TWO_GROUPS, running={"n1": 4}, min_available=1, sub_groups=[sub_group("g", size=2)]),
        configurations=SAFE_ONLY,
        expect=evicted("b-g0-0", "b-g0-1", "b-g1-0"),
    ),
    Story(
        "tasks of low priority are the spare ones",
        **duel(tasks=2, running={"n1": 2}, min_available=1, task_priorities=[5, 1]),
        expect=evicted("b-1"),
    ),
    Story(
        "a job as important as ours is safe",
        **duel(tasks=1, running={"n1": 1}, priority=HIGH),
        expect=UNTOUCHED,
    ),
    Story("so is one of another queue", **duel(tasks=1, running={"n1": 1}, queue="other"), expect=UNTOUCHED),
    Story(
        "a task that says it is not preemptable is safe",
        **duel(tasks=1, running={"n1": 1}, preemptable=False),
        expect=UNTOUCHED,
    ),
    Story(
        "so are all tasks of a job that says so, whatever they say themselves",
        **duel(tasks=1, running={"n1": 1}, annotations={PREEMPTABLE: "false"}, preemptable=True),
        expect=UNTOUCHED,
    ),
    Story(
        "a job that says it is preemptable is no different from one that says nothing",
        **duel(tasks=1, running={"n1": 1}, annotations={PREEMPTABLE: "true"}),
        expect=evicted("b-0"),
    ),
    Story("a bound task may be preempted too", **duel(tasks=1, bound={"n1": 1}), expect=evicted("b-0")),
    Story(
        "idle room does not help where no task can be evicted, as in Volcano",
        nodes=[node("n1", cpu=4)],
        jobs=[job("a", tasks=2, cpu=1, priority=HIGH)],
        tiers=GANG,
        actions="gangpreempt",
        expect={"a": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_gang_eviction(story: Story) -> None:
    assert story.play() == story.expect


# Across queues


def reclaim(queues: list[object] | None = None, **victim: object) -> Story:
    shape = {"tasks": 1, "cpu": 1, "running": {"n1": 1}, "queue": "q2", **victim}
    jobs = [job("b", **shape), job("a", cpu=1, queue="q1")]
    return Story("a", [node("n1", cpu=1)], jobs, queues=queues or (), tiers=GANG, actions="gangreclaim")


ACROSS = {
    "a job of another queue gives way": (reclaim(), evicted("b-0")),
    "however important it is": (reclaim(priority=HIGH), evicted("b-0")),
    "unless its queue lets nothing go": (reclaim([queue("q2", reclaimable=False)]), UNTOUCHED),
    "a bound task that does not run yet is safe": (reclaim(running=None, bound={"n1": 1}), UNTOUCHED),
    "the own queue gives nothing back": (reclaim(queue="q1"), UNTOUCHED),
    "a job that says so is safe": (
        reclaim(annotations={PREEMPTABLE: "false"}, preemptable=True),
        UNTOUCHED,
    ),
}


@pytest.mark.parametrize(("story", "expected"), ACROSS.values(), ids=ACROSS)
def test_across_queues(story: Story, expected: object) -> None:
    assert story.play() == expected


def test_a_queue_that_is_overused_takes_nothing_back() -> None:
    greedy = Story(
        "overused",
        [node("n1", cpu=4)],
        [
            job("b", tasks=1, cpu=1, running={"n1": 1}, queue="q2"),
            job("c", tasks=3, cpu=1, running={"n1": 3}, queue="q1"),
            job("a", cpu=1, queue="q1"),
        ],
        tiers=("priority, gang, conformance", "proportion"),
        actions="gangreclaim",
    )
    assert greedy.play() == {"b": "running", "c": "running", "a": "pending"}


def test_of_two_gangs_in_a_queue_the_one_goes_that_loses_less_for_what_it_gives() -> None:
    story = Story(
        "efficiency",
        [node("n1", cpu=6)],
        [
            job("big", tasks=4, cpu=1, running={"n1": 4}, queue="q2"),
            job("small", tasks=2, cpu=1, running={"n1": 2}, queue="q2"),
            job("a", tasks=2, cpu=1, queue="q1"),
        ],
        tiers=GANG,
        actions="gangreclaim",
    )
    assert story.play() == {
        "big": "running",
        "small": {"evicted": ["small-0", "small-1"]},
        "a": {"pipelined": {"n1": 2}},
    }


# Domains

RACKS = racks(s0=["n1", "n2"], s1=["n3", "n4"])
FOUR = [node(name, cpu=1) for name in ("n1", "n2", "n3", "n4")]


def in_racks(*victims: object, **changes: object) -> Story:
    jobs = [*victims, job("a", tasks=2, cpu=1, priority=HIGH, topology=HARD)]
    settings = {"objects": RACKS, "tiers": NETWORK, "actions": "gangpreempt", **changes}
    return Story("racks", FOUR, jobs, **settings)


def test_all_victims_lie_in_the_domain_that_the_gang_gets() -> None:
    spread = [
        job("b", tasks=2, cpu=1, min_available=1, running={"n1": 1, "n3": 1}, priority=LOW),
        job("c", tasks=2, cpu=1, min_available=1, running={"n2": 1, "n4": 1}, priority=LOW),
    ]
    assert in_racks(*spread).play() == {
        "b": {"evicted": ["b-0"]},
        "c": {"evicted": ["c-0"]},
        "a": {"pipelined": {"n1": 1, "n2": 1}},
    }


def test_a_rack_without_victims_is_passed_over_even_if_it_is_idle_as_in_volcano() -> None:
    low = job("b", tasks=2, cpu=1, min_available=1, running={"n3": 1, "n4": 1}, priority=LOW)
    assert in_racks(low).play() == {
        "b": {"evicted": ["b-0", "b-1"]},
        "a": {"pipelined": {"n3": 1, "n4": 1}},
    }


def test_only_the_part_of_a_broken_gang_that_lies_in_the_domain_goes_as_in_volcano() -> None:
    low = job("b", tasks=4, cpu=1, running=dict.fromkeys(("n1", "n2", "n3", "n4"), 1), priority=LOW)
    assert in_racks(low).play() == {
        "b": {"evicted": ["b-0", "b-1"]},
        "a": {"pipelined": {"n1": 1, "n2": 1}},
    }


KEPT = (pod("x", on="n1", cpu=1), pod("y", on="n2", cpu=1))
MOVES = job("b", tasks=2, cpu=1, min_available=1, running={"n3": 1, "n4": 1}, priority=LOW)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (2, {"b": {"evicted": ["b-0", "b-1"]}, "a": {"pipelined": {"n3": 1, "n4": 1}}}),
        (1, UNTOUCHED),
        (0, {"b": {"evicted": ["b-0", "b-1"]}, "a": {"pipelined": {"n3": 1, "n4": 1}}}),
    ],
    ids=["the second domain is tried", "only the first one is", "zero means the default"],
)
def test_so_many_domains_are_tried(most: int, expected: object) -> None:
    story = in_racks(*KEPT, MOVES, configurations={"gangpreempt": {"maxDomains": most}})
    assert story.play() == expected


def test_wide_domains_are_looked_at_first() -> None:
    tree = [*RACKS, hypernode("s2", tier=2, hypernodes=["s0", "s1"])]
    low = [
        job("b", tasks=1, cpu=1, running={"n1": 1}, priority=LOW),
        job("c", tasks=1, cpu=1, running={"n3": 1}, priority=LOW),
    ]
    kept = [pod("x", on="n2", cpu=1), pod("y", on="n4", cpu=1)]
    wide = Story(
        "a spine",
        FOUR,
        [*kept, *low, job("a", tasks=2, cpu=1, priority=HIGH, topology=("hard", 2))],
        objects=tree,
        tiers=NETWORK,
        actions="gangpreempt",
    )
    assert wide.play() == {
        "b": {"evicted": ["b-0"]},
        "c": {"evicted": ["c-0"]},
        "a": {"pipelined": {"n1": 1, "n3": 1}},
    }
    assert in_racks(*kept, *low).play() == {"b": "running", "c": "running", "a": "pending"}


# What is decided and told


def test_evictions_name_whom_they_are_for_and_the_places_are_promised() -> None:
    decisions = in_racks(MOVES).cycle().decisions
    assert [d for d in decisions if isinstance(d, Evict)] == [
        Evict(f"default/b-{at}", f"default-b-{at}", f"n{3 + at}", "gangpreempt", "default/a") for at in (0, 1)
    ]
    assert [d for d in decisions if isinstance(d, Nominate)] == [
        Nominate(f"default/a-{at}", f"default-a-{at}", f"n{3 + at}") for at in (0, 1)
    ]


def test_the_domain_that_was_freed_is_remembered_for_the_gang() -> None:
    (part,) = in_racks(MOVES).cycle().session.jobs["default/a"].sub_jobs.values()
    assert part.nominated == "s1"


def test_who_finds_no_victims_is_told_so() -> None:
    session = in_racks(*KEPT).cycle().session
    assert [str(note) for note in session.trace.jobs["default/a"]] == [
        "gangpreempt: no domain has victims enough to make room for the whole gang"
    ]
