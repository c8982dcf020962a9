"""What "Volcano's actions in detail" says of preempt, as short stories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, ClassVar

import msgspec
import pytest
from _pytest.mark import ParameterSet
from document_stage import (
    BY_PRIORITY,
    EVICTED,
    FOREVER,
    HIGH,
    LOW,
    MIDDLE,
    UNTOUCHED,
    Taste,
    VirtualRun,
    contest,
    evictions_of,
    high,
    low,
    plugin_of,
    told_of,
)
from statements import holds, shows

from hekla.conf import PRESETS, read_conf
from hekla.engine.framework.decisions import Evict, Nominate
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import PREEMPTABLE, VICTIM_QUEUE_ORDER, answers
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects.pod import Affinity
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.testing import JobObjects, Story, conf_of, job, node, plugin, pod, queue

SPARES_GANGS = ("priority, gang, conformance",)


def evicts(ids: str, title: str, *jobs: Any, **more: Any) -> ParameterSet:
    return shows(ids, contest(title, *jobs, expect=EVICTED, **more))


def spares(ids: str, title: str, *jobs: Any, **more: Any) -> ParameterSet:
    return shows(ids, contest(title, *jobs, expect=UNTOUCHED, **more))


def preemptable(said: str) -> JobObjects:
    return low(annotations={"volcano.sh/preemptable": said})


SYSTEM_POD = "system-node-critical"
REFUSED = node("refused", cpu=1, labels={"refused": "yes"})
TAINTED = node("tainted", cpu=1, taints=["gpu=only:NoSchedule"])
WITH_PREDICATES = (*BY_PRIORITY, "predicates")
APART_FROM_NOISE = msgspec.convert(
    {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "noise"}}}
            ]
        }
    },
    Affinity,
)


PREEMPT = [
    evicts("actions-41 actions-43", "a task of lower priority makes room in a full cluster", low(), high()),
    spares("actions-43", "a task of the same priority does not", low(priority=HIGH), high()),
    spares("actions-41", "a task of another queue does not", low(queue="other"), high()),
    evicts("actions-42", "a job that is Inqueue preempts", low(), high(phase="Inqueue")),
    spares("actions-42", "a job that is still Pending does not", low(), high(phase="Pending")),
    evicts("actions-46", "a pod that says nothing may be preempted", low(), high()),
    evicts("actions-46", "a pod that is said to be preemptable may be, too", preemptable("true"), high()),
    spares("actions-47", "a pod that is said not to be preemptable stays", preemptable("false"), high()),
    evicts("actions-48", "a higher priority class preempts", low(priority=4), high(priority=5)),
    spares("actions-48", "a lower priority class does not", low(priority=5), high(priority=4)),
    spares("actions-49", "the plugin priority spares what is as important", low(priority=HIGH), high()),
    spares("actions-49", "the plugin gang spares a job at its minimum", low(), high(), tiers=SPARES_GANGS),
    spares("actions-49", "conformance spares system pods", low(pod_priority_class=SYSTEM_POD), high()),
    spares("actions-59", "a task of policy Never does not preempt", low(), high(preemption_policy="Never")),
    spares(
        "actions-60",
        "a task waits for its nominated node where that can take it",
        low(),
        high(nominated="n1"),
    ),
    evicts(
        "actions-60",
        "it preempts elsewhere where its nominated node cannot take it any more",
        low(),
        high(nominated="tainted"),
        nodes=[TAINTED, node("n1", cpu=1)],
        tiers=WITH_PREDICATES,
    ),
    spares(
        "actions-61",
        "on a node with a taint nobody is evicted in vain",
        low(running={"tainted": 1}),
        high(),
        nodes=[TAINTED],
        tiers=WITH_PREDICATES,
    ),
    evicts(
        "actions-62",
        "a node where predicates refuse a task because of the victim is a candidate",
        low(labels={"app": "noise"}),
        high(affinity=APART_FROM_NOISE),
        nodes=[node("n1", cpu=2, labels={"zone": "east"})],
        tiers=WITH_PREDICATES,
    ),
    spares(
        "actions-62",
        "a node that predicates would still refuse without the victims is not used",
        low(running={"refused": 1}),
        high(),
        nodes=[REFUSED],
        tiers=(*BY_PRIORITY, "taste"),
        plugins=[Taste],
    ),
    spares(
        "actions-64",
        "a task that requests nothing does not preempt one that does",
        low(),
        high(tasks=0, best_effort=1),
        nodes=[node("n1", cpu=1, pods=1)],
    ),
    evicts(
        "actions-64",
        "a task that requests nothing may preempt its like",
        low(tasks=0, best_effort=1),
        high(tasks=0, best_effort=1),
        nodes=[node("n1", cpu=1, pods=1)],
    ),
    shows(
        "actions-58",
        contest(
            "a job that has its minimum does not preempt for more",
            low(),
            high(tasks=2, min_available=1, running={"n1": 1}),
            cpu=2,
            expect={"low": "running", "high": "pending"},
        ),
    ),
    shows(
        "actions-67",
        contest(
            "what is idle, what is being released and what is evicted together make the room",
            pod("leaving", on="n1", cpu=1, is_leaving=True),
            low(tasks=2, running={"n1": 2}),
            high(cpu=3),
            cpu=4,
            expect={"low": {"evicted": ["low-1"]}, "high": {"pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "actions-68",
        contest(
            "no more are evicted than are needed",
            low(tasks=4, running={"n1": 4}),
            high(cpu=2),
            cpu=4,
            expect={"low": {"evicted": ["low-2", "low-3"]}, "high": {"pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "actions-68",
        contest(
            "where the node has room and the queue has none, one goes for the queue's sake",
            low(tasks=2, running={"n1": 2}),
            high(),
            cpu=4,
            queues=[queue("default", capability={"cpu": 2})],
            tiers=(*BY_PRIORITY, "proportion"),
            expect={"low": {"evicted": ["low-1"]}, "high": {"pipelined": {"n1": 1}}},
        ),
    ),
]


@pytest.mark.parametrize("story", PREEMPT)
def test_preempt(story: Story) -> None:
    assert story.play() == story.expect


@holds("actions-44", "actions-45")
def test_victims_end_and_their_room_goes_to_the_preemptor() -> None:
    story = contest(
        "a full cluster", low(annotations=FOREVER), high(annotations=FOREVER), actions="allocate, preempt"
    )
    run = VirtualRun(story)
    assert run.cycles(3) == [["evicts low-0"], ["binds high-0 to n1"], []]
    assert run.nodes_of_pods() == {"low-0": "", "high-0": "n1"}


@holds("actions-69")
def test_the_preemptor_is_pipelined_and_its_node_is_nominated() -> None:
    report = contest("a full node", low(), high()).cycle()
    (task,) = report.session.jobs["default/high"].tasks.values()
    assert (task.status, task.node_name) == (Status.PIPELINED, "n1")
    nominations = [(d.pod, d.node) for d in report.decisions if isinstance(d, Nominate)]
    assert nominations == [("default/high-0", "n1")]
    assert told_of(report) == ["evicts low-0"]


@holds("actions-58")
def test_jobs_that_starve_are_served_queue_by_queue() -> None:
    """Though the jobs of the two queues came in turns."""
    victims = [low(f"low-{name}", queue=name, tasks=2, running={"n1": 2}) for name in ("q1", "q2")]
    takers = [high(f"high-{at}", queue=("q1", "q2")[at % 2]) for at in range(4)]
    report = contest("two queues", *victims, *takers, cpu=4).cycle()
    served = [d.beneficiary for d in report.decisions if isinstance(d, Evict)]
    assert served == ["default/high-0", "default/high-2", "default/high-1", "default/high-3"]


class NamesByLabel(Plugin):
    """Names the candidates whose label `named` has its letter, and remembers whom it was offered."""

    letter: ClassVar[str]

    def on_open(self) -> None:
        self.offered: set[str] = set()

    @answers(PREEMPTABLE)
    def labelled(self, _preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        self.offered |= {task.name for task in candidates}
        return [task for task in candidates if self.letter in task.pod.metadata.labels.get("named", "")]


class NamesA(NamesByLabel):
    name, letter = "names-a", "a"


class NamesB(NamesByLabel):
    name, letter = "names-b", "b"


STARVING = plugin("gang", enablePreemptable=False)


def named(letters: str) -> JobObjects:
    return low(letters, labels={"named": letters})


def put_to_plugins(*tiers: object, cpu: int, **arguments: object) -> list[str]:
    """Who goes of three tasks, named by one plugin, by both and by the other, for a task of so many cores."""
    story = contest(
        "three tasks",
        *(named(letters) for letters in ("a", "ab", "b")),
        high(cpu=cpu),
        cpu=3,
        tiers=([STARVING], *tiers),
        plugins=[NamesA, NamesB],
        configurations={"preempt": arguments},
    )
    return sorted(evictions_of(story))


@holds("actions-49", "actions-50")
def test_of_the_victims_that_plugins_of_a_tier_name_the_intersection_counts() -> None:
    assert put_to_plugins("names-a", cpu=2) == ["a-0", "ab-0"]
    assert put_to_plugins("names-b", cpu=2) == ["ab-0", "b-0"]
    assert put_to_plugins("names-a, names-b", cpu=1) == ["ab-0"]
    assert put_to_plugins("names-a, names-b", cpu=2) == []


@holds("actions-51")
def test_plugins_agree_tier_by_tier_or_all_of_them_with_intersect_all() -> None:
    """As in Volcano, the first tier that names any victims decides alone."""
    assert put_to_plugins("names-a", "names-b", cpu=2) == ["a-0", "ab-0"]
    assert put_to_plugins("names-a", "names-b", cpu=2, victimMode="intersectAll") == []
    assert put_to_plugins("names-a", "names-b", cpu=1, victimMode="intersectAll") == ["ab-0"]


@holds("actions-63")
def test_plugins_are_asked_about_preemptable_tasks_of_the_queue_that_run_or_are_bound() -> None:
    story = contest(
        "all kinds of tasks",
        low("runs"),
        low("bound", running=None, bound={"n1": 1}),
        low("leaves", running=None, releasing={"n1": 1}),
        low("protected", annotations={"volcano.sh/preemptable": "false"}),
        low("stranger", queue="other"),
        pod("loose", on="n1", cpu=1),
        high(cpu=3),
        cpu=6,
        tiers=([STARVING, "names-a"],),
        plugins=[NamesA],
    )
    assert plugin_of(story.cycle().session, "names-a").offered == {"runs-0", "bound-0"}


PRIORITIES = list(permutations((LOW, MIDDLE, HIGH)))
PRIORITIES_OF_JOBS = list(permutations((LOW, LOW + 1, MIDDLE)))


def surplus(priorities: Sequence[int], tiers: object) -> Story:
    """One of the three tasks of a job that needs two, by their task priorities, has to go."""
    victim = low(tasks=3, min_available=2, running={"n1": 3}, task_priorities=priorities)
    return contest("three tasks of one job", victim, high(), cpu=3, tiers=tiers)


@holds("actions-52")
@pytest.mark.parametrize("priorities", PRIORITIES, ids=str)
def test_of_one_job_the_task_of_the_lowest_priority_goes(priorities: Sequence[int]) -> None:
    assert evictions_of(surplus(priorities, BY_PRIORITY)) == [f"low-{priorities.index(LOW)}"]


@holds("actions-52", "actions-55")
def test_the_task_of_the_lowest_priority_goes_also_where_gang_lets_only_one_go() -> None:
    gone = [evictions_of(surplus(priorities, SPARES_GANGS)) for priorities in PRIORITIES]
    assert gone == [[f"low-{priorities.index(LOW)}"] for priorities in PRIORITIES]


@holds("actions-53")
@pytest.mark.parametrize(
    "tiers", [BY_PRIORITY, SPARES_GANGS], ids=["whole jobs", "what is beyond the minimum"]
)
@pytest.mark.parametrize("priorities", PRIORITIES_OF_JOBS, ids=str)
def test_of_several_jobs_the_lowest_gives_way(priorities: Sequence[int], tiers: object) -> None:
    """Whatever their names and whichever came first."""
    jobs = [
        low(name, priority=priority, tasks=2, min_available=1, running={"n1": 2})
        for name, priority in zip("abc", priorities, strict=True)
    ]
    (gone,) = evictions_of(contest("three jobs", *jobs, high(), cpu=6, tiers=tiers))
    assert gone[0] == "abc"[priorities.index(LOW)]


@holds("actions-65", "actions-66")
def test_victims_go_one_after_another_the_least_task_of_the_least_job_first() -> None:
    jobs = [
        low("middle", priority=MIDDLE, tasks=2, running={"n1": 2}, task_priorities=[LOW, HIGH]),
        low("least", priority=LOW, tasks=2, running={"n1": 2}, task_priorities=[HIGH, LOW]),
    ]
    story = contest("two jobs of two tasks", *jobs, high(cpu=3), cpu=4)
    assert evictions_of(story) == ["least-1", "least-0", "middle-0"]


class FavouriteVictim(Plugin):
    """The queue of its name gives up tasks before others."""

    favourite: ClassVar[str]

    @answers(VICTIM_QUEUE_ORDER)
    def favourite_first(self, left: QueueInfo, right: QueueInfo, _preemptor: QueueInfo) -> float:
        return float(right.name == self.favourite) - float(left.name == self.favourite)


class FirstQ1(FavouriteVictim):
    name = favourite = "q1"


class FirstQ2(FavouriteVictim):
    name = favourite = "q2"


@holds("actions-54", "actions-65")
@pytest.mark.parametrize("favourite", ["q1", "q2"])
def test_of_several_queues_the_victim_queue_order_of_plugins_decides(favourite: str) -> None:
    """However important their jobs are. Tasks of several queues are victims in reclaim alone."""
    jobs = [low("q1", queue="q1", priority=LOW), low("q2", queue="q2", priority=MIDDLE)]
    story = contest("three queues", *jobs, high(queue="q3"), cpu=2, actions="reclaim")
    story = replace(story, tiers=("priority, conformance", favourite), plugins=[FirstQ1, FirstQ2])
    assert evictions_of(story) == [f"{favourite}-0"]


def development(important: str, unimportant: str) -> Story:
    """Two jobs of one queue, both beyond the minimum; another queue wants two cores."""
    held = {"cpu": 1, "tasks": 4, "min_available": 1, "running": {"n1": 4}, "queue": "development"}
    return Story(
        "development holds eight of ten cores",
        [node("n1", cpu=10)],
        [
            job(important, priority=MIDDLE, **held),
            job(unimportant, priority=LOW, **held),
            job("p0", tasks=2, cpu=1, min_available=1, running={"n1": 2}, queue="production"),
            job("p1", tasks=2, cpu=1, queue="production"),
        ],
        queues=[queue("production", weight=60), queue("development", weight=30), queue("test", weight=10)],
        conf=PRESETS["fair-sharing"].text,
    )


@holds("actions-55")
def test_the_least_important_goes_first_whatever_its_name() -> None:
    for important, unimportant in (("a", "b"), ("b", "a")):
        gone = evictions_of(development(important, unimportant))
        assert [pod.partition("-")[0] for pod in gone] == [unimportant, unimportant]


@holds("actions-55")
def test_the_same_victims_go_in_whatever_order_objects_are_listed() -> None:
    jobs = [low(f"low-{at}", priority=at % 3) for at in range(5)]
    story = contest("five jobs of three priorities", *jobs, high(cpu=3), cpu=5)
    objects, conf = story.manifests(), conf_of(story.actions, story.tiers)
    for order in (objects, objects[::-1], objects[7:] + objects[:7]):
        done = told_of(run_cycle(take_snapshot(order), conf))
        assert done == ["evicts low-3-0", "evicts low-0-0", "evicts low-4-0"]


@holds("actions-56")
def test_an_urgent_production_job_takes_the_room_of_development_jobs() -> None:
    story = Story(
        "a cluster full of development",
        [node("n1", cpu=2), node("n2", cpu=2)],
        [
            *(job(f"dev-{at}", tasks=2, cpu=1, priority=LOW, running={f"n{at}": 2}) for at in (1, 2)),
            job("prod", tasks=2, cpu=1, priority=HIGH),
        ],
        conf=PRESETS["priority-first"].text,
    )
    assert story.play() == {
        "dev-1": {"evicted": ["dev-1-0", "dev-1-1"]},
        "dev-2": "running",
        "prod": {"pipelined": {"n1": 2}},
    }


PREEMPT_CONF = """
actions: "enqueue, allocate, backfill, preempt"
tiers:
- plugins:
  - name: priority
  - name: conformance
  - name: overcommit
- plugins:
  - name: drf
  - name: gang
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


@holds("actions-57")
def test_the_configuration_with_preempt_is_accepted_and_preempts() -> None:
    conf, mistakes = read_conf(PREEMPT_CONF, catalogue=BUILTIN.catalogue())
    assert [mistake for mistake in mistakes if mistake.severity == "error"] == []
    assert (conf.actions[-1], [len(tier.plugins) for tier in conf.tiers]) == ("preempt", [3, 6])
    assert contest("a full node", low(), high(), conf=PREEMPT_CONF).play() == EVICTED
