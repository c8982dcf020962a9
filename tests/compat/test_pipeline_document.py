"""What "The pipeline of actions (Volcano)" says of actions, enqueue, and how all of them work together.

Allocate and backfill are in `test_pipeline_document_placing.py`, reclaim and preempt in
`test_pipeline_document_evicting.py`, and shuffle in `test_pipeline_document_shuffle.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest
from document_stage import VirtualRun, plugin_of
from statements import holds, shows

from hekla import api
from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster
from hekla.conf import Conf
from hekla.engine.framework.action import Action
from hekla.engine.framework.decisions import Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import (
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    JOB_ORDER,
    PRE_PREDICATE,
    QUEUE_ORDER,
    VICTIM_TASKS,
    Vote,
    answers,
)
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import take_snapshot
from hekla.errors import ConfError
from hekla.objects import PodGroup
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.scheduler.loop import Loop
from hekla.testing import Story, conf_of, job, node, queue, told

SIX = ("enqueue", "allocate", "backfill", "reclaim", "preempt", "shuffle")


def noting(name: str, calls: list[str], sessions: list[Session] | None = None) -> type[Action]:
    """An action that notes what is done with it, and on which sessions."""

    class Noting(Action):
        def initialize(self) -> None:
            calls.append(f"initialize {name}")

        def run(self, session: Session) -> None:
            calls.append(f"run {name}")
            if sessions is not None:
                sessions.append(session)

        def uninitialize(self) -> None:
            calls.append(f"uninitialize {name}")

    Noting.name = name
    return Noting


# Actions


@holds("pipeline-01", "pipeline-03", "pipeline-05")
@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_a_cycle_runs_each_action_once_by_its_name_in_order_of_the_file_on_one_session(
    order: tuple[str, str],
) -> None:
    calls: list[str] = []
    sessions: list[Session] = []
    registry = BUILTIN
    for name in ("first", "second"):
        registry = registry.with_class(noting(name, calls, sessions))
    snapshot = take_snapshot([node("n1")])
    report = run_cycle(snapshot, conf_of(", ".join(order)), registry=registry)
    assert [call for call in calls if call.startswith("run")] == [f"run {name}" for name in order]
    assert sessions == [report.session, report.session]
    assert report.session.snapshot is snapshot


@holds("pipeline-02")
def test_without_a_configuration_three_actions_run_and_six_if_all_are_named() -> None:
    assert api.conf_of(None).actions == SIX[:3]
    assert api.conf_of(f'actions: "{", ".join(SIX)}"\ntiers: []\n').actions == SIX


@holds("pipeline-03", "pipeline-07")
def test_the_six_actions_are_registered_each_under_its_own_name() -> None:
    assert {name: BUILTIN.actions[name].name for name in SIX} == dict(zip(SIX, SIX, strict=True))
    assert len({BUILTIN.actions[name] for name in SIX}) == len(SIX)


def loop_of(conf: Conf, *actions: type[Action]) -> Loop:
    """A scheduler over an empty cluster that knows these actions, too."""
    registry, clock = BUILTIN, VirtualClock()
    for action in actions:
        registry = registry.with_class(action)
    return Loop(EmbeddedCluster([node("n1")], clock), conf, clock, registry=registry)


@holds("pipeline-04")
def test_an_action_is_initialized_once_however_many_cycles_it_runs_in() -> None:
    calls: list[str] = []
    loop = loop_of(conf_of("mine"), noting("mine", calls))
    for _ in range(3):
        loop.step()
    assert calls == ["initialize mine", "run mine", "run mine", "run mine"]


@holds("pipeline-06")
def test_an_action_is_uninitialized_once_when_the_scheduler_ends() -> None:
    calls: list[str] = []
    loop = loop_of(conf_of("mine"), noting("mine", calls))
    loop.step()
    loop.close()
    loop.close()
    assert calls == ["initialize mine", "run mine", "uninitialize mine"]


@holds("pipeline-04", "pipeline-06")
def test_where_another_configuration_is_used_its_actions_come_and_those_it_leaves_out_go() -> None:
    calls: list[str] = []
    loop = loop_of(conf_of("mine, both"), *(noting(name, calls) for name in ("mine", "both", "other")))
    loop.step()
    loop.use(conf_of("both, other"))
    loop.step()
    lives = [call for call in calls if not call.startswith("run")]
    assert lives[:2] == ["initialize mine", "initialize both"]
    assert sorted(lives[2:]) == ["initialize other", "uninitialize mine"]


# Enqueue

VOTES = {"permitted": Vote.PERMIT, "rejected": Vote.REJECT, "abstained": Vote.ABSTAIN}


class Voter(Plugin):
    """Votes on jobs by their names, and notes which it is asked about and which were admitted."""

    name = "voter"

    def on_open(self) -> None:
        self.asked: list[str] = []
        self.told: list[str] = []

    @answers(JOB_ENQUEUEABLE)
    def vote_by_name(self, job: Job) -> Vote:
        self.asked.append(job.name)
        return VOTES.get(job.name, Vote.PERMIT)

    @answers(JOB_ENQUEUED)
    def count(self, job: Job) -> None:
        self.told.append(job.name)


class Reversed(Plugin):
    """Queues and jobs whose names come last go first."""

    name = "reversed"

    @answers(QUEUE_ORDER)
    def last_queue_first(self, left: QueueInfo, right: QueueInfo) -> float:
        return (left.name < right.name) - (left.name > right.name)

    @answers(JOB_ORDER)
    def last_job_first(self, job: Job) -> tuple[int, ...]:
        return tuple(-ord(letter) for letter in job.name)


class FewestAdmitted(Plugin):
    """Queues of which fewer jobs were admitted go first."""

    name = "fewest-admitted"

    def on_open(self) -> None:
        self.admitted: dict[str, int] = {}

    @answers(QUEUE_ORDER)
    def fewest_first(self, left: QueueInfo, right: QueueInfo) -> float:
        return float(self.admitted.get(left.name, 0) - self.admitted.get(right.name, 0))

    @answers(JOB_ENQUEUED)
    def count(self, job: Job) -> None:
        self.admitted[job.queue] = self.admitted.get(job.queue, 0) + 1


def waiting(name: str, cpu: int | None = 1, **more: object) -> object:
    """A job that is not admitted yet; `cpu` is what it names as its minimum."""
    return job(name, cpu=1, phase="Pending", min_resources=cpu and {"cpu": cpu}, **more)


def voted(*jobs: object, tiers: Sequence[object] = ("voter",), **arguments: object) -> Voter:
    """The voter of a cycle in which these jobs asked to be admitted."""
    story = Story(
        "a vote",
        [node("n1")],
        jobs,
        actions="enqueue",
        tiers=tiers,
        configurations={"enqueue": arguments},
        plugins=[Voter, Reversed, FewestAdmitted],
    )
    found: Voter = plugin_of(story.cycle().session, "voter")
    return found


ENQUEUE = [
    shows(
        "pipeline-08",
        Story(
            "enqueue admits a job that waits: Pending becomes Inqueue",
            nodes=[node("n1")],
            jobs=[waiting("a")],
            actions="enqueue",
            expect={"a": "Inqueue"},
        ),
    ),
    shows(
        "pipeline-10 pipeline-11 pipeline-12 pipeline-13",
        Story(
            "plugins permit a job, reject it, or abstain, which keeps out no job",
            nodes=[node("n1")],
            jobs=[waiting(name) for name in VOTES],
            actions="enqueue",
            tiers=("voter",),
            plugins=[Voter],
            expect={"permitted": "Inqueue", "rejected": "Pending", "abstained": "Inqueue"},
        ),
    ),
    shows(
        "pipeline-12",
        Story(
            "a rejected job does not keep out the next one of its queue",
            nodes=[node("n1")],
            jobs=[waiting("rejected"), waiting("b")],
            actions="enqueue",
            tiers=("voter",),
            plugins=[Voter],
            expect={"rejected": "Pending", "b": "Inqueue"},
        ),
    ),
    shows(
        "pipeline-10",
        Story(
            "what its queue may hold decides whether a job is admitted",
            nodes=[node("n1", cpu=8)],
            queues=[queue("small", capability={"cpu": 2}), queue("large")],
            jobs=[waiting("a", 3, queue="small"), waiting("b", 3, queue="large")],
            actions="enqueue",
            tiers=("proportion",),
            expect={"a": "Pending", "b": "Inqueue"},
        ),
    ),
    shows(
        "pipeline-09",
        Story(
            "a job that names no minimum is admitted, even to a queue that admits no other",
            nodes=[node("n1")],
            queues=[queue("default", state="Closed")],
            jobs=[waiting("unasked", None), waiting("asked")],
            actions="enqueue",
            tiers=("proportion",),
            expect={"unasked": "Inqueue", "asked": "Pending"},
        ),
    ),
]


@pytest.mark.parametrize("story", ENQUEUE)
def test_enqueue(story: Story) -> None:
    assert story.phases() == story.expect


@holds("pipeline-08")
@pytest.mark.parametrize(
    ("phase", "expected"), [("Pending", {"a": "pending"}), ("Inqueue", {"a": {"n1": 1}})]
)
def test_allocate_places_jobs_that_are_inqueue_and_no_others(phase: str, expected: object) -> None:
    """Enqueue is among the actions, but runs too late for this cycle."""
    story = Story("one job", [node("n1")], [job("a", cpu=1, phase=phase)], actions="allocate, enqueue")
    assert story.play() == expected


@holds("pipeline-09", "pipeline-10", "pipeline-14")
def test_plugins_are_asked_about_jobs_with_a_minimum_and_told_of_all_that_were_admitted() -> None:
    voter = voted(waiting("unasked", None), waiting("permitted"), waiting("rejected"))
    assert voter.asked == ["permitted", "rejected"]
    assert voter.told == ["unasked", "permitted"]


@holds("pipeline-14", "pipeline-18")
def test_every_plugin_is_told_whatever_its_tier() -> None:
    story = Story(
        "two that count",
        [node("n1")],
        [waiting("a", queue="q")],
        actions="enqueue",
        tiers=("voter", "fewest-admitted"),
        plugins=[Voter, FewestAdmitted],
    )
    first, second = story.cycle().session.plugins
    assert (first.told, second.admitted) == (["a"], {"q": 1})


@holds("pipeline-15")
@pytest.mark.parametrize(("drains", "expected"), [(False, ["a", "c", "b"]), (True, ["a", "b", "c"])])
def test_a_queue_is_put_back_and_has_another_turn_after_each_job_or_after_all_of_its_jobs(
    drains: bool, expected: list[str]
) -> None:
    """The document's chart takes all jobs of a queue in one turn: that is `drainQueue`."""
    jobs = [waiting("a", queue="q1"), waiting("b", queue="q1"), waiting("c", queue="q2")]
    assert voted(*jobs, tiers=("voter, fewest-admitted",), drainQueue=drains).asked == expected


@holds("pipeline-16", "pipeline-17")
def test_queue_order_and_job_order_say_which_job_is_asked_about_first() -> None:
    jobs = [waiting("a", queue="q1"), waiting("b", queue="q1"), waiting("c", queue="q2")]
    assert voted(*jobs).asked == ["a", "b", "c"]
    assert voted(*jobs, tiers=("voter, reversed",)).asked == ["c", "b", "a"]


@holds("pipeline-18")
def test_proportion_counts_the_minimum_of_admitted_jobs_on_the_account_of_their_queue() -> None:
    story = Story(
        "room for two of three",
        [node("n1", cpu=8)],
        [waiting("a", 2), waiting("b", 2), waiting("c", 2)],
        queues=[queue("default", capability={"cpu": 4})],
        actions="enqueue",
        tiers=("proportion",),
    )

    def waits_in(session: Session) -> float:
        (proportion,) = session.plugins
        return proportion.queue_figures()["default"].inqueue.get("cpu", 0)

    assert waits_in(story.session()) == 0
    assert waits_in(story.cycle().session) == 4000
    assert story.phases() == {"a": "Inqueue", "b": "Inqueue", "c": "Pending"}


# How actions work together

BASIC = "enqueue, allocate, backfill"
FAIR = "enqueue, allocate, backfill, reclaim"
WHOLE = "enqueue, allocate, backfill, reclaim, preempt, shuffle"
URGENT = "enqueue, allocate, preempt, backfill"


class Mover(Plugin):
    """Names the running tasks that are labelled so, and notes which it was offered."""

    name = "mover"

    @answers(VICTIM_TASKS)
    def labelled(self, running: Sequence[Task]) -> list[Task]:
        self.offered = [task.name for task in running]
        return [task for task in running if "move" in task.pod.metadata.labels]


CONF = """
actions: "{actions}"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enableReclaimable: false
  - name: conformance
  - name: mover
- plugins:
  - name: predicates
"""


def in_zone(zone: str, name: str, **more: object) -> object:
    return job(name, cpu=1, node_selector={"zone": zone}, **more)


def cycle_with(actions: str, **changes: object) -> Story:
    """One job for each action: four zones of one core, of which one is free."""
    story = Story(
        actions,
        [node(zone, cpu=1, labels={"zone": zone}) for zone in ("free", "lent", "shared", "crowded")],
        [
            job("gap", tasks=0, best_effort=1),
            in_zone("free", "new", phase="Pending"),
            in_zone("lent", "borrower", running={"lent": 1}, queue="guests"),
            in_zone("lent", "owner", queue="owners"),
            in_zone("shared", "low", running={"shared": 1}, priority=1),
            in_zone("shared", "high", priority=9),
            in_zone("crowded", "movable", running={"crowded": 1}, labels={"move": "yes"}),
        ],
        conf=CONF.format(actions=actions),
        plugins=[Mover],
    )
    return replace(story, **changes)


@holds("pipeline-67", "pipeline-68")
def test_what_one_action_leaves_the_next_one_takes_up() -> None:
    """Idle room goes to gangs and best effort, that of others and of the less important to who starves."""
    report = cycle_with(WHOLE).cycle()
    assert told(report) == {
        "new": {"free": 1},
        "gap": {"free": 1},
        "borrower": {"evicted": ["borrower-0"]},
        "owner": {"pipelined": {"lent": 1}},
        "low": {"evicted": ["low-0"]},
        "high": {"pipelined": {"shared": 1}},
        "movable": {"evicted": ["movable-0"]},
    }
    assert {name: [one.pod for one in made] for name, made in report.by_action.items()} == {
        "enqueue": [],
        "allocate": ["default/new-0"],
        "backfill": ["default/gap-0"],
        "reclaim": ["default/borrower-0"],
        "preempt": ["default/low-0"],
        "shuffle": ["default/movable-0"],
    }


@holds("pipeline-67")
def test_a_job_that_enqueue_has_not_handed_over_yet_is_not_allocated() -> None:
    assert cycle_with("allocate, backfill, enqueue").play()["new"] == "pending"


# Configuration


@holds("pipeline-69")
@pytest.mark.parametrize(
    ("actions", "evicting"),
    [(BASIC, []), (FAIR, ["reclaim"]), (WHOLE, ["reclaim", "preempt", "shuffle"]), (URGENT, ["preempt"])],
    ids=[
        "basic scheduling evicts nothing",
        "fair sharing between queues reclaims",
        "all six reclaim, preempt and shuffle",
        "high priority preempts inside a queue",
    ],
)
def test_each_of_the_recommended_lines_does_what_it_is_recommended_for(
    actions: str, evicting: list[str]
) -> None:
    report = cycle_with(actions).cycle()
    evicted = {name for name, made in report.by_action.items() if any(isinstance(d, Evict) for d in made)}
    assert list(report.by_action) == actions.split(", ")
    assert evicted == set(evicting)


class MyAction(Action):
    """Notes what allocate has left behind."""

    name = "myaction"
    seen: ClassVar[dict[str, Status]] = {}

    def initialize(self) -> None:
        pass

    def run(self, session: Session) -> None:
        self.seen.update({task.name: task.status for task in session.tasks})

    def uninitialize(self) -> None:
        pass


@holds("pipeline-70", "pipeline-71")
def test_an_action_of_ones_own_is_registered_and_runs_where_the_line_names_it() -> None:
    MyAction.seen.clear()
    story = cycle_with("enqueue, allocate, myaction, backfill", plugins=[Mover, MyAction])
    outcome = story.play()
    assert (outcome["new"], MyAction.seen["new-0"]) == ({"free": 1}, Status.BINDING)
    assert (outcome["gap"], MyAction.seen["gap-0"]) == ({"free": 1}, Status.PENDING)


@holds("pipeline-70")
def test_an_action_that_is_not_registered_is_an_error() -> None:
    with pytest.raises(ConfError, match='no action "myaction"'):
        cycle_with("enqueue, allocate, myaction, backfill").play()


# Questions


@holds("pipeline-72")
def test_where_enqueue_comes_after_allocate_a_job_starts_one_cycle_later() -> None:
    assert cycle_with("enqueue, allocate").play()["new"] == {"free": 1}
    late = cycle_with("allocate, enqueue")
    assert (late.play()["new"], late.phases()["new"]) == ("pending", "Inqueue")


@holds("pipeline-72")
@pytest.mark.parametrize("evicting", ["reclaim", "preempt"])
def test_allocate_before_evictions_takes_idle_room_and_spares_running_pods(evicting: str) -> None:
    story = Story(
        "a free node next to a busy one",
        [node("busy", cpu=1), node("free", cpu=1)],
        [
            job("low", cpu=1, running={"busy": 1}, priority=1, queue="q1" if evicting == "reclaim" else "q2"),
            job("high", cpu=1, priority=9, queue="q2"),
        ],
        tiers=("priority, conformance",),
    )
    before = replace(story, actions=f"{evicting}, allocate")
    assert before.play() == {"low": {"evicted": ["low-0"]}, "high": {"pipelined": {"busy": 1}}}
    after = replace(story, actions=f"allocate, {evicting}")
    assert after.play() == {"low": "running", "high": {"free": 1}}


@holds("pipeline-72")
def test_shuffle_as_the_last_action_is_not_offered_what_others_evicted() -> None:
    def offered(actions: str) -> set[str]:
        return set(plugin_of(cycle_with(actions).cycle().session, "mover").offered)

    assert offered("shuffle, enqueue, allocate, reclaim") == {"borrower-0", "low-0", "movable-0"}
    assert offered("enqueue, allocate, reclaim, shuffle") == {"low-0", "movable-0"}


class Tries(Plugin):
    """Notes which task looks for a node, in which cycle."""

    name = "tries"
    log: ClassVar[list[tuple[str, str]]] = []

    @answers(PRE_PREDICATE)
    def note(self, task: Task) -> None:
        self.log.append((self.session.uid, task.name))


RUNS_TEN_SECONDS = {"annotations": {"hekla.dev/run-seconds": "10"}}
BEHIND = Story(
    "a job that fills the node for ten seconds, and a gang behind it",
    [node("n1", cpu=2)],
    [
        job("first", cpu=2, running={"n1": 1}, **RUNS_TEN_SECONDS),
        job("second", tasks=2, cpu=1, phase="Pending", **RUNS_TEN_SECONDS),
    ],
    tiers=("priority, gang", "predicates, tries"),
    plugins=[Tries],
)


@holds("pipeline-73")
def test_a_job_that_found_no_room_stays_inqueue_and_its_turn_comes_in_every_cycle() -> None:
    """Its tasks are tried until it is known why they wait; then the first cycle with room places them."""
    Tries.log.clear()
    run = VirtualRun(BEHIND)
    assert run.cycles(3) == [[], [], []]
    assert run.phases()["second"] == "Inqueue"
    assert Tries.log == [(f"cycle-{number}", "second-0") for number in (1, 2)]
    assert run.cycles(8)[-1] == ["binds second-0 to n1", "binds second-1 to n1"]


@holds("pipeline-74")
def test_a_job_that_goes_on_finding_no_room_is_unschedulable_and_its_condition_says_why() -> None:
    run = VirtualRun(BEHIND)
    for _ in range(3):
        run.cycles(1)
        group = run.cluster.get(PodGroup, "default/second")
        (condition,) = group.status.conditions
        assert (condition.type, condition.status) == ("Unschedulable", "True")
        assert "0/1 nodes are unavailable: 1 Insufficient cpu" in condition.message
