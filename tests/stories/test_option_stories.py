"""Options: where Volcano's documents and its source disagree, the source is the default."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import JOB_ENQUEUED, QUEUE_ORDER, answers
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.errors import ConfError
from hekla.testing import PodRole, Story, job, node, plugin, pod, racks, sub_group

LOW, HIGH = 1, 10
ALONE = [node("n1", cpu=2)]
BREAKS_GANGS = ["priority", plugin("gang", enablePreemptable=False)]


def with_options(story: Story, action: str, **options: object) -> Story:
    return replace(story, configurations={action: options})


# Enqueue


class TakingTurns(Plugin):
    """Queues that had fewer jobs admitted come first."""

    name = "taking-turns"

    def on_open(self) -> None:
        self.admitted: dict[str, int] = {}

    @answers(QUEUE_ORDER)
    def fewer_first(self, left: QueueInfo, right: QueueInfo) -> float:
        return float(self.admitted.get(left.name, 0) - self.admitted.get(right.name, 0))

    @answers(JOB_ENQUEUED)
    def count(self, job: Job) -> None:
        self.admitted[job.queue] = self.admitted.get(job.queue, 0) + 1


def waiting(name: str, queue: str) -> object:
    return job(name, cpu=2, queue=queue, phase="Pending", min_resources={"cpu": 2})


TURNS = Story(
    "two jobs of q1 and one of q2 wait for room for two",
    [node("n1", cpu=4)],
    [waiting("a", "q1"), waiting("b", "q1"), waiting("c", "q2")],
    actions="enqueue",
    tiers=(["taking-turns", plugin("overcommit", {"overcommit-factor": 1.0})],),
    plugins=[TakingTurns],
)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"a": "Inqueue", "b": "Pending", "c": "Inqueue"}),
        ({"drainQueue": True}, {"a": "Inqueue", "b": "Inqueue", "c": "Pending"}),
    ],
    ids=["queues are ordered anew after every job", "a queue is drained before the next one"],
)
def test_drain_queue(options: dict[str, object], expected: dict[str, str]) -> None:
    assert with_options(TURNS, "enqueue", **options).phases() == expected


INCOMPLETE = Story(
    "half of the pods are not there yet",
    ALONE,
    [job("half", tasks=1, cpu=1, min_available=2, phase="Pending")],
    actions="enqueue",
    tiers=("priority",),
)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, "Inqueue"), ({"checkMinMember": True}, "Pending")],
    ids=["a job is admitted before its pods are there", "a job waits until enough of its pods are there"],
)
def test_check_min_member(options: dict[str, object], expected: str) -> None:
    assert with_options(INCOMPLETE, "enqueue", **options).phases() == {"half": expected}


def test_a_job_that_lacks_pods_is_told_how_many() -> None:
    session = with_options(INCOMPLETE, "enqueue", checkMinMember=True).cycle().session
    assert [str(note) for note in session.trace.jobs["default/half"]] == ["enqueue: 1 of 2 pods exist"]


def without_enqueue(is_strict: bool) -> Story:
    conf = (
        "actions: allocate\n"
        "tiers: [{plugins: [{name: priority}, {name: gang}]}]\n"
        f"configurations: [{{name: enqueue, arguments: {{strictEnqueue: {str(is_strict).lower()}}}}}]\n"
    )
    return Story("no enqueue", ALONE, [job("a", cpu=1, phase="Pending")], conf=conf)


def test_without_enqueue_allocate_admits_every_job_itself() -> None:
    assert without_enqueue(is_strict=False).play() == {"a": {"n1": 1}}


def test_unless_enqueue_is_insisted_on() -> None:
    with pytest.raises(ConfError, match="strictEnqueue is set, but enqueue is not among the actions"):
        without_enqueue(is_strict=True).play()


# Allocate

PROMISED = Story(
    "of two cores one is being released; a gang of two comes first",
    ALONE,
    [pod("old", on="n1", cpu=1, is_leaving=True), job("a", tasks=2, cpu=1), job("b", cpu=1)],
    actions="allocate",
    tiers=("priority, gang",),
)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, {"a": {"held": {"n1": 1}, "pipelined": {"n1": 1}}, "b": "pending"}),
        ("keep", {"a": {"held": {"n1": 1}, "pipelined": {"n1": 1}}, "b": "pending"}),
        ("discard", {"a": "pending", "b": {"n1": 1}}),
        ("commit", {"a": {"bound": {"n1": 1}, "pipelined": {"n1": 1}}, "b": "pending"}),
    ],
    ids=[
        "what waits for releases is kept",
        "the same if it is asked for",
        "or given back, and the next job takes it",
        "or bound as far as there is room",
    ],
)
def test_on_pipelined(policy: str | None, expected: object) -> None:
    options = {} if policy is None else {"onPipelined": policy}
    assert with_options(PROMISED, "allocate", **options).play() == expected


PARTS = Story(
    "two parts; the large domain has 5 of 16 cores in use, the small one none of 4",
    [node("n1", cpu=16), node("n2", cpu=4)],
    [
        pod("old", on="n1", cpu=5),
        job(
            "a",
            roles=[PodRole(f"g{at}", 1, 0, {"labels": {"group": str(at)}}) for at in (0, 1)],
            cpu=1,
            topology=("hard", 1),
            sub_groups=[sub_group("g", size=1, minimum=2)],
        ),
    ],
    objects=racks(large=["n1"], small=["n2"]),
    actions="allocate",
    tiers=("priority, gang", "network-topology-aware"),
)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"n1": 2}),
        ({"jobHyperNodeScore": "sum"}, {"n1": 2}),
        ({"jobHyperNodeScore": "hypernodeOrder"}, {"n2": 2}),
    ],
    ids=[
        "the scores of the parts are added: 6/16 + 7/16 beats 1/4 + 2/4",
        "the same if it is asked for",
        "the domain is scored for the whole job: 2/4 beats 7/16",
    ],
)
def test_job_hyper_node_score(options: dict[str, object], expected: object) -> None:
    assert with_options(PARTS, "allocate", **options).play() == {"a": expected}


# Preempt and reclaim


def duel(action: str, *tiers: object, **victim: object) -> Story:
    shape = {"cpu": 1, "running": {"n1": 1}, "priority": LOW, **victim}
    jobs = [job("low", **shape), job("high", cpu=1, priority=HIGH)]
    return Story("a duel", [node("n1", cpu=1)], jobs, actions=action, tiers=tiers)


EVICTED = {"low": {"evicted": ["low-0"]}, "high": {"pipelined": {"n1": 1}}}
UNTOUCHED = {"low": "running", "high": "pending"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, EVICTED), ({"commitOn": "pipelined"}, EVICTED), ({"commitOn": "ready"}, UNTOUCHED)],
    ids=[
        "evictions are made once the job will have all it needs",
        "the same if it is asked for",
        "or only where it has it already, which evictions never bring about at once",
    ],
)
def test_commit_on(options: dict[str, object], expected: object) -> None:
    assert with_options(duel("preempt", BREAKS_GANGS), "preempt", **options).play() == expected


CRITICAL = {"pod_priority_class": "system-node-critical"}


@pytest.mark.parametrize(
    ("action", "story"),
    [
        ("preempt", duel("preempt", BREAKS_GANGS, "conformance", **CRITICAL)),
        ("reclaim", duel("reclaim", "gang", "conformance", min_available=0, queue="other", **CRITICAL)),
    ],
    ids=["preempt", "reclaim"],
)
def test_victim_mode(action: str, story: Story) -> None:
    """By tiers the first that names a task decides; otherwise the second tier spares system pods."""
    assert story.play() == EVICTED
    assert with_options(story, action, victimMode="tiers").play() == EVICTED
    assert with_options(story, action, victimMode="intersectAll").play() == UNTOUCHED


@pytest.mark.parametrize(
    ("options", "priority", "expected"),
    [
        ({}, LOW, UNTOUCHED),
        ({"sameQueueLowerPriority": True}, LOW, EVICTED),
        ({"sameQueueLowerPriority": True}, HIGH, UNTOUCHED),
    ],
    ids=[
        "the own queue gives nothing back",
        "its less important jobs do where that is asked for",
        "but not those that are as important",
    ],
)
def test_same_queue_lower_priority(options: dict[str, object], priority: int, expected: object) -> None:
    story = duel("reclaim", "priority, conformance", priority=priority)
    assert with_options(story, "reclaim", **options).play() == expected


# What looks like an oversight, and may be switched off

TORN = Story(
    "a gang of three that two cores can never hold",
    ALONE,
    [job("a", tasks=3, cpu=1)],
    actions="preempt",
    tiers=("priority, gang",),
)


@pytest.mark.parametrize(("options", "promised"), [({}, 2), ({"pipelineUnsatisfiedGangs": False}, 0)])
def test_room_for_single_tasks_of_a_gang_is_kept_only_by_default(
    options: dict[str, object], promised: int
) -> None:
    session = with_options(TORN, "preempt", **options).cycle().session
    assert session.jobs["default/a"].roster.waiting == promised


@pytest.mark.parametrize(("whole", "is_placed"), [(True, False), (False, True)])
def test_an_elastic_job_may_ask_a_rack_for_its_minimum_alone(whole: bool, is_placed: bool) -> None:
    story = Story(
        "five tasks, two of them needed, in racks of four cores",
        [node(f"n{at}", cpu=2) for at in range(1, 5)],
        [job("a", tasks=5, cpu=1, min_available=2, topology=("hard", 1))],
        actions="allocate",
        tiers=(
            "priority, gang",
            ["predicates", plugin("network-topology-aware", {"hypernode.gradient.whole-demand": whole})],
        ),
        objects=racks(s0=["n1", "n2"], s1=["n3", "n4"]),
    )
    roster = story.cycle().session.jobs["default/a"].roster
    assert (roster.is_ready, roster.ready > 0) == (is_placed, is_placed)


@pytest.mark.parametrize(("options", "evicted"), [({}, 2), ({"evictWholeGang": True}, 3)])
def test_the_rest_of_a_broken_gang_runs_on_only_by_default(options: dict[str, object], evicted: int) -> None:
    story = Story(
        "a gang of three over two racks, and an urgent job that needs one rack",
        [node("n1", cpu=2), node("n2", cpu=1)],
        [
            job("low", tasks=3, cpu=1, running={"n1": 2, "n2": 1}, priority=LOW),
            job("high", tasks=2, cpu=1, priority=HIGH, topology=("hard", 1)),
        ],
        actions="gangpreempt",
        tiers=("priority, gang", "predicates, network-topology-aware"),
        objects=racks(s0=["n1"], s1=["n2"]),
    )
    session = with_options(story, "gangpreempt", **options).cycle().session
    assert sum(task.status.name == "RELEASING" for task in session.tasks) == evicted
