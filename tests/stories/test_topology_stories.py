"""Network topology: a job that asks for it lies in one domain, the closest that will do."""

from __future__ import annotations

import pytest

from hekla.engine.explain.explanation import explain
from hekla.engine.framework.decisions import Bind, OpenGate, Tell
from hekla.testing import JobObjects, PodRole, Story, hypernode, job, node, plugin, pod, racks, sub_group

TIERS = ("priority, gang", "predicates, network-topology-aware")
NAMES = ("n1", "n2", "n3", "n4")
HARD, HARD_2, SOFT = ("hard", 1), ("hard", 2), ("soft", 1)
TREE = [*racks(s0=["n1", "n2"], s1=["n3", "n4"]), hypernode("s2", tier=2, hypernodes=["s0", "s1"])]


def machines(*names: str) -> list[object]:
    return [node(name, cpu=2) for name in names]


SPINE = {"nodes": machines(*NAMES), "objects": TREE, "tiers": TIERS}
"""Two racks of two nodes with two cores each, and a spine above them."""

STORIES = [
    Story(
        "a gang that must lie in one rack fills it",
        **SPINE,
        jobs=[job("a", tasks=4, cpu=1, topology=HARD)],
        expect={"a": {"n1": 2, "n2": 2}},
    ),
    Story(
        "a gang that is one core too large for every rack waits, though the cluster has room",
        **SPINE,
        jobs=[job("a", tasks=5, cpu=1, topology=HARD)],
        expect={"a": "pending"},
    ),
    Story(
        "where the second tier is allowed it spreads over both racks",
        **SPINE,
        jobs=[job("a", tasks=5, cpu=1, topology=HARD_2)],
        expect={"a": {"n1": 2, "n2": 2, "n3": 1}},
    ),
    Story(
        "a rack that is large enough comes before the spine, even if the first one is not",
        **SPINE,
        jobs=[pod("old", on="n1", cpu=1), job("a", tasks=4, cpu=1, topology=HARD_2)],
        expect={"a": {"n3": 2, "n4": 2}},
    ),
    Story(
        "among racks that will do, the fuller one is filled up",
        **SPINE,
        jobs=[pod("old", on="n3", cpu=1), job("a", tasks=2, cpu=1, topology=HARD)],
        expect={"a": {"n3": 1, "n4": 1}},
    ),
    Story(
        "a node outside all domains is not for those who must be close",
        nodes=[node("n0", cpu=8), *machines(*NAMES)],
        objects=TREE,
        tiers=TIERS,
        jobs=[job("a", tasks=2, cpu=2, topology=HARD_2)],
        expect={"a": {"n1": 1, "n2": 1}},
    ),
    Story(
        "a soft wish is granted where it can be",
        **SPINE,
        jobs=[pod("old", on="n1", cpu=1), job("a", tasks=4, cpu=1, topology=SOFT)],
        expect={"a": {"n3": 2, "n4": 2}},
    ),
    Story(
        "a soft wish does not keep a job from spreading over the whole cluster",
        nodes=machines(*NAMES, "n5"),
        objects=TREE,
        tiers=TIERS,
        jobs=[job("a", tasks=9, cpu=1, topology=SOFT)],
        expect={"a": {"n1": 2, "n2": 2, "n3": 2, "n4": 2, "n5": 1}},
    ),
    Story(
        "of three tasks two start together, and the third follows into the same rack",
        **SPINE,
        jobs=[job("a", tasks=3, cpu=1, min_available=2, topology=HARD)],
        expect={"a": {"n1": 2, "n2": 1}},
    ),
    Story(
        "of five tasks none starts: all that wait must fit into one rack, as in Volcano",
        **SPINE,
        jobs=[job("a", tasks=5, cpu=1, min_available=2, topology=HARD)],
        expect={"a": "pending"},
    ),
    Story(
        "a job that runs grows in its own rack, though the other one is empty",
        **SPINE,
        jobs=[job("a", tasks=3, cpu=1, min_available=1, running={"n3": 1}, topology=HARD)],
        expect={"a": {"n3": 1, "n4": 1}},
    ),
    Story(
        "a job whose rack is full does not grow into another",
        **SPINE,
        jobs=[
            pod("old", on="n4", cpu=2),
            job("a", tasks=3, cpu=1, min_available=1, running={"n3": 2}, topology=HARD),
        ],
        expect={"a": "pending"},
    ),
    Story(
        "unless the second tier is allowed",
        **SPINE,
        jobs=[
            pod("old", on="n4", cpu=2),
            job("a", tasks=3, cpu=1, min_available=1, running={"n3": 2}, topology=HARD_2),
        ],
        expect={"a": {"n1": 1}},
    ),
    Story(
        "a job that already lies in two racks has no rack to grow in",
        **SPINE,
        jobs=[job("a", tasks=3, cpu=1, min_available=1, running={"n1": 1, "n3": 1}, topology=HARD)],
        expect={"a": "pending"},
    ),
    Story(
        "where no plugin knows of domains, a wish for one has no effect",
        nodes=machines(*NAMES),
        objects=TREE,
        tiers=("priority, gang", "predicates"),
        jobs=[job("a", tasks=5, cpu=1, topology=HARD)],
        expect={"a": {"n1": 2, "n2": 2, "n3": 1}},
    ),
    Story(
        "without any hypernode the cluster is one domain of the first tier",
        nodes=machines(*NAMES),
        tiers=TIERS,
        jobs=[job("a", tasks=5, cpu=1, topology=HARD)],
        expect={"a": {"n1": 2, "n2": 2, "n3": 1}},
    ),
    Story(
        "preempt leaves jobs with a topology to gangpreempt",
        **SPINE,
        jobs=[
            job("low", tasks=8, cpu=1, min_available=1, running=dict.fromkeys(NAMES, 2), priority=1),
            job("high", tasks=2, cpu=1, priority=9, topology=HARD),
        ],
        actions="preempt",
        expect={"low": "running", "high": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_topology(story: Story) -> None:
    assert story.play() == story.expect


# Names of tiers

NAMED = [
    hypernode("s0", nodes=["n1", "n2"], tier_name="rack"),
    hypernode("s1", nodes=["n3", "n4"], tier_name="rack"),
    hypernode("s2", tier=2, hypernodes=["s0", "s1"], tier_name="row"),
]
BY_NAME = {
    "a tier may be called by its name": (("hard", "rack"), 4, {"n1": 2, "n2": 2}),
    "and binds as its number would": (("hard", "rack"), 5, "pending"),
    "the name of a higher tier allows more": (("hard", "row"), 5, {"n1": 2, "n2": 2, "n3": 1}),
    "a name that no domain bears binds nothing, as in Volcano": (
        ("hard", "hall"),
        5,
        {"n1": 2, "n2": 2, "n3": 1},
    ),
}


def by_name(wish: tuple[str, str], tasks: int) -> Story:
    jobs = [job("a", tasks=tasks, cpu=1, topology=wish)]
    return Story("tiers by name", machines(*NAMES), jobs, objects=NAMED, tiers=TIERS)


@pytest.mark.parametrize(("wish", "tasks", "expected"), BY_NAME.values(), ids=BY_NAME)
def test_names_of_tiers(wish: tuple[str, str], tasks: int, expected: object) -> None:
    assert by_name(wish, tasks).play() == {"a": expected}


def test_a_name_that_no_domain_bears_is_told() -> None:
    session = by_name(("hard", "hall"), 5).cycle().session
    notes = [str(note) for note in session.trace.jobs["default/a"]]
    assert any('"hall"' in said for said in [*notes, *map(str, session.snapshot.complaints)])


# What is told


def explained(story: Story) -> tuple[str, ...]:
    session = story.cycle().session
    return explain(session, session.jobs["default/a"]).reasons


def test_the_minimum_is_bound_first_and_the_rest_one_by_one() -> None:
    story = Story("three", **SPINE, jobs=[job("a", tasks=3, cpu=1, min_available=2, topology=HARD)])
    report = story.cycle()
    assert [(d.pod, d.node) for d in report.decisions if isinstance(d, Bind)] == [
        ("default/a-0", "n1"),
        ("default/a-1", "n1"),
        ("default/a-2", "n2"),
    ]
    told = report.session.jobs["default/a"]
    assert (told.domain, told.sub_jobs[told.uid].domain) == ("s0", "s0")


def test_domains_that_have_too_little_room_are_passed_over_and_named() -> None:
    story = Story("five", **SPINE, jobs=[job("a", tasks=5, cpu=1, topology=HARD)])
    assert explained(story) == (
        'never: 5 tasks start together in one domain of tier 1 or closer; the best, "s0", '
        "has room for 4 when empty",
        "gang: no network domain has room for the 5 tasks that start together",
        'allocate: domain "s0" has too little room for the gang',
        'allocate: domain "s1" has too little room for the gang',
    )


CRUMBS = Story(
    "room enough in sum, but in crumbs",
    machines("n1", "n2"),
    [
        pod("x", on="n1", cpu="500m"),
        pod("y", on="n2", cpu="500m"),
        job("a", tasks=3, cpu=1, topology=HARD),
    ],
    objects=racks(s0=["n1", "n2"]),
    tiers=TIERS,
)


def test_the_message_on_a_pod_names_the_domain() -> None:
    told = [d.message for d in CRUMBS.cycle().decisions if isinstance(d, Tell)]
    assert "In hyperNode s0: 0/2 nodes are unavailable: 2 Insufficient cpu." in told


def test_explain_names_the_domain() -> None:
    reasons = explained(CRUMBS)
    assert 'allocate: domain "s0" has room for 2 of the 3 tasks that start together' in reasons


def test_explain_names_the_domain_of_each_refusal() -> None:
    refusals = [reason for reason in explained(CRUMBS) if "nodes fit" in reason]
    assert refusals
    assert all("s0" in refusal for refusal in refusals)


def test_explain_says_why_no_domain_was_tried() -> None:
    story = Story("five", **SPINE, jobs=[job("a", tasks=5, cpu=1, min_available=2, topology=HARD)])
    assert len(explained(story)) > 1


def test_many_domains_without_room_are_told_together() -> None:
    names = [f"n{at}" for at in range(10)]
    tree = racks(**{f"s{at}": [name] for at, name in enumerate(names)})
    wide = job("a", tasks=3, cpu=1, topology=HARD)
    reasons = explained(Story("ten racks", machines(*names), [wide], objects=tree, tiers=TIERS))
    assert len(reasons) == 10
    assert reasons[-2:] == (
        'allocate: domain "s6" has too little room for the gang',
        "allocate: 3 more have too little room for the gang",
    )


# What the search leaves behind


def test_a_trial_that_stands_leaves_nothing_with_its_tasks() -> None:
    jobs = [pod("old", on="n3", cpu=1), job("a", tasks=2, cpu=2, topology=HARD)]
    session = Story("a search", **SPINE, jobs=jobs).cycle().session
    placed = session.jobs["default/a"].tasks.values()
    assert [(task.node_name, task.near, task.last) for task in placed] == [("n1", "", None), ("n2", "", None)]


GATE = "scheduling.volcano.sh/queue-allocation-gate"


def test_gates_are_opened_though_no_domain_has_room_for_the_gang() -> None:
    gated = job("a", tasks=2, cpu=1, gates=[GATE], annotations={GATE: "true"}, topology=HARD)
    story = Story(
        "gated",
        **SPINE,
        jobs=[job("first", tasks=4, cpu=2), gated],
        configurations={"allocate": {"schedulingGatesQueueAdmission": True}},
    )
    assert sum(isinstance(decision, OpenGate) for decision in story.cycle().decisions) == 2


# Something is being released

LEAVING = [
    Story(
        "a rack that a task is leaving is the fuller one and filled up",
        **SPINE,
        jobs=[pod("leaves", on="n3", cpu=1, is_leaving=True), job("a", tasks=2, cpu=1, topology=HARD)],
        expect={"a": {"n3": 1, "n4": 1}},
    ),
    Story(
        "a rack that would be overfull until a task has left it comes after one that is free",
        **SPINE,
        jobs=[pod("leaves", on="n3", cpu=2, is_leaving=True), job("a", tasks=4, cpu=1, topology=HARD)],
        expect={"a": {"n1": 2, "n2": 2}},
    ),
    Story(
        "where only the room that is being left will do, it is promised",
        **SPINE,
        jobs=[
            pod("stays", on="n1", cpu=2),
            pod("leaves", on="n3", cpu=2, is_leaving=True),
            job("a", tasks=4, cpu=1, topology=HARD),
        ],
        expect={"a": {"held": {"n4": 2}, "pipelined": {"n3": 2}}},
    ),
]


@pytest.mark.parametrize("story", LEAVING, ids=str)
def test_releases(story: Story) -> None:
    assert story.play() == story.expect


def test_a_rack_where_a_job_is_promised_room_in_two_rounds_scores_twice() -> None:
    """As in Volcano. The large task stops the first round; the last one follows in a second."""
    names = [f"r{at}" for at in range(20)]
    leaving = [pod(f"old-{name}", on=name, cpu="500m", is_leaving=True) for name in names]
    group = job("a", tasks=0, roles=[PodRole("w", 0, 2)], min_available=2, topology=HARD).pod_group
    sizes = (1, 1, 2, 1)
    pods = [pod(f"a-w-{at}", job="a", role="w", cpu=cpu) for at, cpu in enumerate(sizes)]
    story = Story(
        "half free racks, and one that would be filled up more",
        [node("q", cpu=6), *(node(name, cpu=1) for name in names)],
        [*leaving, JobObjects(group, tuple(pods), None)],
        objects=racks(whole=["q"], halves=names),
        tiers=TIERS,
    )
    assert story.play() == {"a": {"pipelined": {"r0": 1, "r1": 1, "r2": 1}}}


# Parts


def of_parts(*parts: str) -> JobObjects:
    """A job of parts of two tasks each, each part in a rack and the whole in a spine."""
    roles = [PodRole(part, 2, shape={"labels": {"group": part}}) for part in parts]
    policy = sub_group("parts", size=2, minimum=len(parts), wish=HARD)
    return job("a", roles=roles, cpu=1, topology=HARD_2, sub_groups=[policy])


def test_each_part_goes_to_the_fullest_rack_that_will_do() -> None:
    story = Story("parts", **SPINE, jobs=[pod("old", on="n3", cpu=1), of_parts("x", "y", "z")])
    binds = [decision for decision in story.cycle().decisions if isinstance(decision, Bind)]
    racks_of = {
        bind.pod.removeprefix("default/a-"): "s0" if bind.node in NAMES[:2] else "s1" for bind in binds
    }
    assert racks_of == {f"{part}-{at}": "s1" if part == "x" else "s0" for part in "xyz" for at in (0, 1)}


def test_a_rack_in_which_a_part_failed_next_to_another_is_tried_again_without_it() -> None:
    roles = [PodRole(part, 1, shape={"labels": {"group": part}}) for part in "xy"]
    parts = job("a", roles=roles, cpu=2, topology=HARD_2, sub_groups=[sub_group("g", minimum=2, wish=HARD)])
    story = Story(
        "two parts that do not fit into the first rack together",
        [node("n1", cpu=3), node("n2", cpu=1), node("n3", cpu=4)],
        [pod("old", on="n3", cpu=2), parts],
        objects=[*racks(s0=["n1", "n2"], s1=["n3"]), hypernode("s2", tier=2, hypernodes=["s0", "s1"])],
        tiers=TIERS,
    )
    assert story.play() == {"a": {"n1": 1, "n3": 1}}


def test_a_part_that_a_rack_has_no_room_for_says_so() -> None:
    full = [pod("old", on="n1", cpu=2), pod("older", on="n2", cpu=1)]
    story = Story("no room for parts", **SPINE, jobs=[*full, job("b", cpu=1), of_parts("x", "y", "z")])
    assert 'allocate: domain "s0" has too little room for the gang' in explained(story)


# Promises of earlier cycles

KEEPS = {"allocate": {"keepNominations": True}}
PROMISED = [job("a", tasks=2, cpu=1, nominated="n3", topology=HARD)]


def test_without_the_option_a_promise_in_another_rack_is_forgotten() -> None:
    assert Story("a promise", **SPINE, jobs=PROMISED).play() == {"a": {"n1": 2}}


def test_a_gang_goes_to_the_rack_that_was_freed_for_it() -> None:
    assert Story("a promise", **SPINE, jobs=PROMISED, configurations=KEEPS).play() == {"a": {"n3": 2}}


def test_a_promise_that_cannot_be_kept_is_void() -> None:
    jobs = [pod("thief", on="n3", cpu=2), pod("old", on="n1", cpu=1), *PROMISED]
    story = Story("a broken promise", **SPINE, jobs=jobs, configurations=KEEPS)
    assert story.play() == {"a": {"n4": 2}}


def test_a_plain_job_goes_where_it_was_promised_too() -> None:
    story = Story(
        "a promise",
        **SPINE,
        jobs=[job("a", tasks=2, cpu=1, nominated="n4")],
        configurations=KEEPS,
    )
    assert story.play() == {"a": {"n4": 2}}


# Plain jobs


def test_plain_pods_fill_up_domains_that_are_in_use() -> None:
    story = Story("packing", **SPINE, jobs=[pod("old", on="n3", cpu=1), job("a", cpu=1)])
    assert story.play() == {"a": {"n3": 1}}


def test_they_do_not_where_that_is_turned_off() -> None:
    off = plugin("network-topology-aware", {"hypernode.binpack.normal-pod.enable": False})
    story = Story(
        "no packing",
        SPINE["nodes"],
        [pod("old", on="n3", cpu=1), job("a", cpu=1)],
        objects=TREE,
        tiers=("priority, gang", ["predicates", off]),
    )
    assert story.play() == {"a": {"n1": 1}}
