"""What "The pipeline of actions (Volcano)" says of allocate and backfill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from document_stage import plugin_of
from statements import holds, shows

from hekla.engine.framework.decisions import Bind, Tell
from hekla.engine.framework.plugin import Objection, Plugin
from hekla.engine.framework.points import (
    ALLOCATABLE,
    BATCH_NODE_ORDER,
    BEST_NODE,
    HYPERNODE_GRADIENT,
    HYPERNODE_ORDER,
    NODE_ORDER,
    OVERUSED,
    PRE_PREDICATE,
    PREDICATE,
    Purpose,
    answers,
)
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.testing import JobObjects, PodRole, Story, hypernode, job, node, pod, racks, sub_group

GANG = ("priority, gang",)
ASKING_EACH_TIME = ("priority, gang, outspoken",)
"""The same with a plugin that is asked again for every task, so that no way is cut short."""
LABEL = "test"
"""The label by which pods and nodes tell the plugins of these stories what to say."""


def binds(story: Story) -> list[tuple[str, str]]:
    """Pods and their nodes, in the order in which they were bound."""
    made = story.cycle().decisions
    return [(one.pod.removeprefix("default/"), one.node) for one in made if isinstance(one, Bind)]


# Allocate, job by job


class Full(Plugin):
    """Queues of that name have had their share."""

    name = "full"

    @answers(OVERUSED)
    def by_name(self, queue: QueueInfo) -> bool:
        return queue.name == "full"


class Journal(Plugin):
    """Notes every placement and every one that is undone."""

    name = "journal"

    def on_open(self) -> None:
        self.placed: list[tuple[str, str]] = []
        self.undone: list[tuple[str, str]] = []

    def on_allocate(self, task: Task) -> None:
        self.placed.append((task.name, task.node_name))

    def on_release(self, task: Task) -> None:
        self.undone.append((task.name, task.node_name))


NAMES = ("n1", "n2", "n3", "n4")
TWO_RACKS = racks(s1=["n1", "n2"], s2=["n3", "n4"])
SPINE = [*TWO_RACKS, hypernode("spine", tier=2, hypernodes=["s1", "s2"])]
NETWORK = {
    "nodes": [node(name, cpu=2) for name in NAMES],
    "objects": SPINE,
    "actions": "allocate",
    "tiers": ("priority, gang", "predicates, network-topology-aware"),
}
HARD = ("hard", 1)

JOBS = [
    shows(
        "pipeline-19 pipeline-22",
        Story(
            "a gang for which there is room is bound whole",
            nodes=[node("n1", cpu=2), node("n2", cpu=1)],
            jobs=[job("a", tasks=3, cpu=1)],
            tiers=GANG,
            expect={"a": {"n1": 2, "n2": 1}},
        ),
    ),
    shows(
        "pipeline-19 pipeline-23 pipeline-37",
        Story(
            "a gang that is one core short gives all of it back, and the next job is bound there",
            nodes=[node("n1", cpu=2)],
            jobs=[job("a", tasks=3, cpu=1), job("b", tasks=2, cpu=1)],
            tiers=GANG,
            expect={"a": "pending", "b": {"n1": 2}},
        ),
    ),
    shows(
        "pipeline-19",
        Story(
            "the minimum is enough to start: the rest waits",
            nodes=[node("n1", cpu=2)],
            jobs=[job("a", tasks=3, cpu=1, min_available=2)],
            tiers=GANG,
            expect={"a": {"n1": 2}},
        ),
    ),
    shows(
        "pipeline-23",
        Story(
            "a gang that waits for a pod to leave gives its places back, where that is asked for",
            nodes=[node("n1", cpu=2)],
            jobs=[pod("old", on="n1", cpu=1, is_leaving=True), job("a", tasks=2, cpu=1), job("b", cpu=1)],
            tiers=GANG,
            configurations={"allocate": {"onPipelined": "discard"}},
            expect={"a": "pending", "b": {"n1": 1}},
        ),
    ),
    shows(
        "pipeline-20",
        Story(
            "a queue that has had its share is passed over, and the next queue goes on",
            nodes=[node("n1", cpu=2)],
            jobs=[job("a", cpu=1, queue="full"), job("b", cpu=1, queue="other")],
            tiers=("gang, full",),
            plugins=[Full],
            expect={"a": "pending", "b": {"n1": 1}},
        ),
    ),
    shows(
        "pipeline-21",
        Story(
            "a job with a hard topology goes into one domain",
            **NETWORK,
            jobs=[pod("old", on="n1", cpu=1), job("a", tasks=4, cpu=1, topology=HARD)],
            expect={"a": {"n3": 2, "n4": 2}},
        ),
    ),
    shows(
        "pipeline-21",
        Story(
            "it waits where no domain has room for it",
            **NETWORK,
            jobs=[job("a", tasks=5, cpu=1, topology=HARD)],
            expect={"a": "pending"},
        ),
    ),
    shows(
        "pipeline-21",
        Story(
            "a job without one goes anywhere",
            **NETWORK,
            jobs=[job("a", tasks=5, cpu=1)],
            expect={"a": {"n1": 2, "n2": 2, "n3": 1}},
        ),
    ),
]


@pytest.mark.parametrize("story", JOBS)
def test_allocate_jobs(story: Story) -> None:
    assert story.play() == story.expect


@holds("pipeline-22", "pipeline-23", "pipeline-37")
def test_each_job_has_a_statement_of_its_own_that_is_committed_or_undone_whole() -> None:
    story = Story(
        "a gang that fits between two that do not",
        [node("n1", cpu=2)],
        [job("a", tasks=3, cpu=1), job("b", tasks=2, cpu=1), job("c", tasks=3, cpu=1)],
        tiers=("priority, gang, journal",),
        plugins=[Journal],
    )
    journal = plugin_of(story.cycle().session, "journal")
    assert [name for name, _ in journal.placed] == ["a-0", "a-1", "b-0", "b-1"]
    assert [name for name, _ in journal.undone] == ["a-1", "a-0"]
    assert binds(story) == [("b-0", "n1"), ("b-1", "n1")]


# Allocate, task by task


class Outspoken(Plugin):
    """Says what the labels of pods and nodes tell it to, and notes which tasks it is asked about."""

    name = "outspoken"

    def on_open(self) -> None:
        self.asked: list[str] = []
        nodes = self.session.nodes.nodes
        self.refuses = np.array([node.labels.get(LABEL) == "refuses" for node in nodes], dtype=np.bool_)

    @answers(ALLOCATABLE)
    def unless_its_queue_is_against_it(self, queue: QueueInfo, task: Task) -> bool:
        return task.pod.metadata.labels.get(LABEL) != "not allocatable"

    @answers(PRE_PREDICATE)
    def unless_it_runs_nowhere(self, task: Task) -> Objection | None:
        self.asked.append(task.name)
        runs_nowhere = task.pod.metadata.labels.get(LABEL) == "nowhere"
        return Objection("runs nowhere") if runs_nowhere else None

    @answers(PREDICATE)
    def unless_the_node_refuses(self, task: Task) -> list[Refusal]:
        return [Refusal("node(s) refused", self.refuses)]


def told(label: str) -> dict[str, dict[str, str]]:
    return {"labels": {LABEL: label}}


def first_of_three(label: str, minimum: int) -> Story:
    """Three tasks, the first of which has that label."""
    group = job("a", tasks=0, min_available=minimum).pod_group
    pods = (pod("a-0", job="a", cpu=1, **told(label)), *(pod(f"a-{at}", job="a", cpu=1) for at in (1, 2)))
    return Story(
        f'a task that is "{label}", and two others',
        [node("n1")],
        [JobObjects(group, pods)],
        tiers=("gang, outspoken",),
        actions="allocate",
        plugins=[Outspoken],
    )


def asked_about(story: Story) -> list[str]:
    return plugin_of(story.cycle().session, "outspoken").asked


@holds("pipeline-24")
def test_a_task_that_its_queue_may_not_take_is_passed_over_before_anything_else_is_asked() -> None:
    story = first_of_three("not allocatable", minimum=1)
    assert binds(story) == [("a-1", "n1"), ("a-2", "n1")]
    assert asked_about(story) == ["a-1", "a-2"]


@holds("pipeline-24")
def test_the_most_important_task_of_a_job_is_placed_first() -> None:
    wanted = job("a", tasks=3, cpu=1, min_available=1, task_priorities=[1, 9, 5])
    assert binds(Story("room for two", [node("n1", cpu=2)], [wanted], tiers=GANG)) == [
        ("a-1", "n1"),
        ("a-2", "n1"),
    ]


@holds("pipeline-25")
def test_after_a_task_that_runs_nowhere_only_jobs_that_can_do_without_it_go_on() -> None:
    elastic, gang = (first_of_three("nowhere", minimum) for minimum in (1, 3))
    assert (asked_about(elastic), binds(elastic)) == (["a-0", "a-1", "a-2"], [("a-1", "n1"), ("a-2", "n1")])
    assert (asked_about(gang), binds(gang)) == (["a-0"], [])


def too_large(minimum: int) -> Story:
    """Three tasks, the first of which fits no node."""
    story = first_of_three("plain", minimum)
    (whole,) = story.jobs
    pods = (pod("a-0", job="a", cpu=9), *whole.pods[1:])
    return replace(story, jobs=[replace(whole, pods=pods)])


@holds("pipeline-26")
def test_why_a_task_found_no_node_is_kept_and_told() -> None:
    report = too_large(1).cycle()
    (diagnosis,) = report.session.jobs["default/a"].fit_errors.values()
    assert str(diagnosis) == "0/1 nodes are unavailable: 1 Insufficient cpu."
    (message,) = [one.message for one in report.decisions if isinstance(one, Tell)]
    assert str(diagnosis) in message


@holds("pipeline-27")
def test_a_gang_stops_at_the_first_task_without_a_node_and_an_elastic_job_goes_on() -> None:
    assert asked_about(too_large(3)) == ["a-0"]
    assert asked_about(too_large(1)) == ["a-0", "a-1", "a-2"]


@holds("pipeline-28")
@pytest.mark.parametrize("tiers", [GANG, ASKING_EACH_TIME])
def test_placing_stops_as_soon_as_the_job_may_start_and_other_jobs_come_before_the_rest(
    tiers: object,
) -> None:
    story = Story(
        "two cores for three pods",
        [node("n1", cpu=2)],
        [job("a", tasks=2, cpu=1, min_available=1), job("b", cpu=1)],
        tiers=tiers,
        plugins=[Outspoken],
    )
    assert binds(story) == [("a-0", "n1"), ("b-0", "n1")]


@holds("pipeline-28")
def test_each_part_of_a_job_gets_what_it_needs_before_one_gets_more() -> None:
    roles = [PodRole(part, 2, shape={"labels": {"group": part}}) for part in "xy"]
    parts = job("a", roles=roles, cpu=1, min_available=2, sub_groups=[sub_group("parts", size=1, minimum=2)])
    assert binds(Story("room for two", [node("n1", cpu=2)], [parts], tiers=GANG)) == [
        ("a-x-0", "n1"),
        ("a-y-0", "n1"),
    ]


# Allocate, node by node


class Scores(Plugin):
    """Scores nodes by what their labels say, and notes in which order it is asked for what."""

    name = "scores"

    def on_open(self) -> None:
        self.asked: list[str] = []
        self.candidates: list[list[str]] = []

    def of(self, label: str, among: Mask) -> Floats:
        nodes = self.session.nodes
        self.asked.append(label)
        self.candidates.append([name for name, is_one in zip(nodes.names, among, strict=True) if is_one])
        return np.array([float(node.labels.get(label, 0)) for node in nodes.nodes])

    @answers(NODE_ORDER)
    def alone(self, task: Task, among: Mask) -> Floats:
        return self.of("alone", among)

    @answers(BATCH_NODE_ORDER)
    def compared(self, task: Task, among: Mask) -> Floats:
        return self.of("compared", among)


class Chooser(Plugin):
    """Takes the node with the lowest score."""

    name = "chooser"

    @answers(BEST_NODE)
    def lowest(self, task: Task, scores: Floats, among: Mask) -> int:
        return int(np.where(among, scores, np.inf).argmin())


def scored(*tiers: object) -> Story:
    """Of four nodes one refuses; n2 has the best sum of the rest, n1 and n3 the best parts of it."""
    scores = {"n1": (5, 0), "n2": (4, 4), "n3": (0, 5)}
    nodes = [node("n0", labels={LABEL: "refuses", "alone": "90", "compared": "90"})]
    nodes += [node(n, labels={"alone": str(a), "compared": str(b)}) for n, (a, b) in scores.items()]
    return Story("four nodes", nodes, [job("a", cpu=1)], tiers=tiers, plugins=[Outspoken, Scores, Chooser])


@holds("pipeline-30", "pipeline-31")
def test_nodes_that_pass_are_scored_alone_then_compared_and_the_highest_sum_wins() -> None:
    story = scored("gang, outspoken", "scores")
    scores = plugin_of(story.cycle().session, "scores")
    assert scores.asked == ["alone", "compared"]
    assert scores.candidates == [["n1", "n2", "n3"]] * 2
    assert binds(story) == [("a-0", "n2")]


@holds("pipeline-31")
def test_a_plugin_that_chooses_the_node_comes_before_the_highest_score() -> None:
    assert binds(scored("gang, outspoken", "scores, chooser")) == [("a-0", "n1")]


NOMINATED = [
    shows(
        "pipeline-29",
        Story(
            "the node that the pod was promised comes before one with a better place in the order",
            nodes=[node("n1"), node("n2")],
            jobs=[job("a", cpu=1, nominated="n2")],
            tiers=GANG,
            expect={"a": {"n2": 1}},
        ),
    ),
    shows(
        "pipeline-29 pipeline-30",
        Story(
            "where a plugin refuses that node all others are looked at",
            nodes=[node("n1"), node("n2", labels={LABEL: "refuses"})],
            jobs=[job("a", cpu=1, nominated="n2")],
            tiers=("gang, outspoken",),
            plugins=[Outspoken],
            expect={"a": {"n1": 1}},
        ),
    ),
    shows(
        "pipeline-30",
        Story(
            "so they are where it has no room any more",
            nodes=[node("n1"), node("n2", cpu=1)],
            jobs=[pod("other", on="n2", cpu=1), job("a", cpu=1, nominated="n2")],
            tiers=GANG,
            expect={"a": {"n1": 1}},
        ),
    ),
    shows(
        "pipeline-30",
        Story(
            "and where the pod was promised none",
            nodes=[node("n1"), node("n2")],
            jobs=[job("a", cpu=1)],
            tiers=GANG,
            expect={"a": {"n1": 1}},
        ),
    ),
]


@pytest.mark.parametrize("story", NOMINATED)
def test_nominated_nodes(story: Story) -> None:
    assert story.play() == story.expect


# Allocate in network domains


class SecondRackFirst(Plugin):
    """Tries the second rack, and after it the first."""

    name = "second-rack-first"

    @answers(HYPERNODE_GRADIENT)
    def second_first(
        self, job: Job, sub_job: SubJob | None, bound: Domain, purpose: Purpose
    ) -> list[list[Domain]]:
        by_name = self.session.domains.by_name
        return [[by_name["s2"]], [by_name["s1"]]] if sub_job is None else [[bound]]


class RackScores(Plugin):
    """Scores the second rack higher."""

    name = "rack-scores"

    @answers(HYPERNODE_ORDER)
    def second_is_best(self, sub_job: SubJob, candidates: Sequence[Domain]) -> dict[str, float]:
        return {domain.name: 1000.0 * (domain.name == "s2") for domain in candidates}


GRADIENTS = [
    shows(
        "pipeline-32",
        Story(
            "domains of the lowest tier are tried before those of the next",
            **NETWORK,
            jobs=[pod("old", on="n1", cpu=1), job("a", tasks=4, cpu=1, topology=("hard", 2))],
            expect={"a": {"n3": 2, "n4": 2}},
        ),
    ),
    shows(
        "pipeline-32",
        Story(
            "where none of them will do, those of the next tier are tried",
            **NETWORK,
            jobs=[job("a", tasks=5, cpu=1, topology=("hard", 2))],
            expect={"a": {"n1": 2, "n2": 2, "n3": 1}},
        ),
    ),
    shows(
        "pipeline-32",
        Story(
            "a plugin says in which order groups of domains are tried",
            **{**NETWORK, "tiers": ("gang, second-rack-first",)},
            plugins=[SecondRackFirst],
            jobs=[job("a", tasks=4, cpu=1, topology=HARD)],
            expect={"a": {"n3": 2, "n4": 2}},
        ),
    ),
    shows(
        "pipeline-32",
        Story(
            "and the next group follows where the first has no room",
            **{**NETWORK, "tiers": ("gang, second-rack-first",)},
            plugins=[SecondRackFirst],
            jobs=[pod("old", on="n3", cpu=1), job("a", tasks=4, cpu=1, topology=HARD)],
            expect={"a": {"n1": 2, "n2": 2}},
        ),
    ),
    shows(
        "pipeline-34",
        Story(
            "of domains that would do, the one that plugins score highest is taken",
            **{**NETWORK, "tiers": ("gang", "network-topology-aware, rack-scores")},
            plugins=[RackScores],
            jobs=[pod("old", on="n1", cpu=1), job("a", tasks=2, cpu=1, topology=HARD)],
            expect={"a": {"n3": 2}},
        ),
    ),
    shows(
        "pipeline-34",
        Story(
            "without that plugin it is the other one, which is fuller",
            **{**NETWORK, "tiers": ("gang", "network-topology-aware")},
            jobs=[pod("old", on="n1", cpu=1), job("a", tasks=2, cpu=1, topology=HARD)],
            expect={"a": {"n1": 1, "n2": 1}},
        ),
    ),
]


@pytest.mark.parametrize("story", GRADIENTS)
def test_domains(story: Story) -> None:
    assert story.play() == story.expect


@holds("pipeline-33", "pipeline-35")
def test_domains_are_tried_and_undone_and_the_best_try_is_made_again_and_committed() -> None:
    roles = [PodRole(part, 1, shape={"labels": {"group": part}}) for part in "xy"]
    story = Story(
        "a job that is tried in both racks",
        NETWORK["nodes"],
        [job("a", roles=roles, cpu=1, topology=HARD, sub_groups=[sub_group("parts", minimum=2)])],
        objects=SPINE,
        actions="allocate",
        tiers=("gang, journal", "network-topology-aware, rack-scores"),
        plugins=[Journal, RackScores],
    )
    journal = plugin_of(story.cycle().session, "journal")
    assert {on for _, on in journal.undone} == {"n1", "n3"}
    assert journal.undone == journal.placed[:-2]
    assert binds(story) == journal.placed[-2:] == [("a-x-0", "n3"), ("a-y-0", "n3")]


@holds("pipeline-33", "pipeline-35")
def test_saved_operations_are_undone_without_a_trace_and_recovered_to_the_same_state() -> None:
    session = Story("a try", NETWORK["nodes"], [job("a", tasks=2, cpu=1)], tiers=GANG).session()
    before = session.fingerprint()
    tries = session.statement()
    for row, task in enumerate(session.tasks):
        assert tries.allocate(task, row)
    saved, tried = tries.save(), session.fingerprint()
    tries.discard()
    assert session.fingerprint() == before != tried
    final = session.statement()
    assert final.recover(saved)
    assert session.fingerprint() == tried
    final.commit()
    assert [(one.pod, one.node) for one in session.decisions] == [
        ("default/a-0", "n1"),
        ("default/a-1", "n2"),
    ]


# What allocate remembers of nodes


@holds("pipeline-36")
@pytest.mark.parametrize("tiers", [GANG, ASKING_EACH_TIME])
def test_a_node_that_refused_a_task_of_a_role_is_remembered_where_that_is_not_turned_off(
    tiers: object,
) -> None:
    """The second task would fit the first node, which the first one did not."""
    pods = tuple(pod(f"a-w-{at}", job="a", role="w", cpu=cpu) for at, cpu in enumerate((3, 1)))
    story = Story(
        "a large task and a small one of the same role",
        [node("n1", cpu=2), node("n2", cpu=4)],
        [JobObjects(job("a", tasks=0, min_available=2).pod_group, pods)],
        actions="allocate",
        tiers=tiers,
        plugins=[Outspoken],
    )
    assert binds(story) == [("a-w-0", "n2"), ("a-w-1", "n2")]
    forgetful = replace(story, configurations={"allocate": {"predicateErrorCacheEnable": False}})
    assert binds(forgetful) == [("a-w-0", "n2"), ("a-w-1", "n1")]


# Backfill

BACKFILL = [
    shows(
        "pipeline-38",
        Story(
            "backfill places tasks that ask for nothing, whatever room is left, and no others",
            nodes=[node("n1", cpu=1)],
            jobs=[
                pod("old", on="n1", cpu=1),
                job("gap", tasks=0, best_effort=2),
                job("a", cpu="1m"),
            ],
            actions="backfill",
            tiers=GANG,
            expect={"gap": {"n1": 2}, "a": "pending"},
        ),
    ),
    shows(
        "pipeline-38",
        Story(
            "a task that runs nowhere does not keep the next one from being placed",
            nodes=[node("n1")],
            jobs=[
                job("a", tasks=0, best_effort=1, **told("nowhere")),
                job("b", tasks=0, best_effort=1),
            ],
            actions="backfill",
            tiers=("gang, outspoken",),
            plugins=[Outspoken],
            expect={"a": "pending", "b": {"n1": 1}},
        ),
    ),
    shows(
        "pipeline-38",
        Story(
            "another action may promise a node to a task that asks for nothing",
            nodes=[node("n1")],
            jobs=[job("gap", tasks=0, best_effort=1)],
            actions="preempt",
            tiers=GANG,
            expect={"gap": {"pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "pipeline-38",
        Story(
            "backfill binds it then, instead of letting it wait",
            nodes=[node("n1")],
            jobs=[job("gap", tasks=0, best_effort=1)],
            actions="preempt, backfill",
            tiers=GANG,
            expect={"gap": {"n1": 1}},
        ),
    ),
]


@pytest.mark.parametrize("story", BACKFILL)
def test_backfill(story: Story) -> None:
    assert story.play() == story.expect


@holds("pipeline-38")
def test_backfill_filters_nodes_and_takes_the_one_with_the_best_score() -> None:
    story = scored("gang, outspoken", "scores")
    best_effort = replace(story, actions="backfill", jobs=[job("a", tasks=0, best_effort=1)])
    scores = plugin_of(best_effort.cycle().session, "scores")
    assert scores.candidates == [["n1", "n2", "n3"]] * 2
    assert binds(best_effort) == [("a-0", "n2")]


@holds("pipeline-38")
def test_backfill_goes_by_queue_then_by_job_then_by_task() -> None:
    story = Story(
        "two queues",
        [node("n1")],
        [
            job("a", tasks=0, best_effort=2, priority=1, task_priorities=[1, 2], queue="q1"),
            job("b", tasks=0, best_effort=1, priority=9, queue="q2"),
            job("c", tasks=0, best_effort=1, priority=5, queue="q1"),
        ],
        actions="backfill",
        tiers=("priority, journal",),
        plugins=[Journal],
    )
    journal = plugin_of(story.cycle().session, "journal")
    assert [name for name, _ in journal.placed] == ["c-0", "a-1", "a-0", "b-0"]
