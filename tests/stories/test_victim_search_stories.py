"""Looking for victims: nodes are passed over only where a closer look would refuse them as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hekla.engine.framework.plugin import Plugin, Resolve
from hekla.engine.framework.points import PREEMPTABLE, RECLAIMABLE, answers
from hekla.engine.model.task import Task
from hekla.testing import Story, job, node, plugin

LOW, HIGH = 1, 10


class Relenting(Plugin):
    """Gives no task up on the first node until the job has been promised something elsewhere."""

    name = "relenting"

    @answers(PREEMPTABLE)
    @answers(RECLAIMABLE)
    def second_node_first(self, initiator: Task, candidates: Sequence[Task]) -> list[Task]:
        waits = self.session.jobs[initiator.job].roster.waiting > 0
        return [task for task in candidates if waits or task.node > 0]


class Unmoved(Plugin):
    """Never gives a task up, and counts how often it is asked about one."""

    name = "unmoved"
    resolve = Resolve.FIRM
    questions = 0

    @answers(PREEMPTABLE)
    @answers(RECLAIMABLE)
    def nobody(self, _initiator: Task, candidates: Sequence[Task]) -> list[Task]:
        type(self).questions += bool(candidates)
        return []


def siege(action: str, *, gang: int, opinion: type[Plugin]) -> Story:
    """Two full nodes of one core each, and a gang that wants them."""
    queue = {"preempt": "q1", "reclaim": "q2"}[action]
    return Story(
        f"a gang of {gang} before two full nodes",
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[
            job("b", tasks=1, cpu=1, running={"n1": 1}, priority=LOW, queue=queue),
            job("c", tasks=1, cpu=1, running={"n2": 1}, priority=LOW, queue=queue),
            job("a", tasks=gang, cpu=1, min_available=gang, priority=HIGH, queue="q1"),
        ],
        actions=action,
        tiers=[f"priority, {opinion.name}"],
        plugins=[opinion],
    )


GRANTED = {"b": {"evicted": ["b-0"]}, "c": {"evicted": ["c-0"]}, "a": {"pipelined": {"n1": 1, "n2": 1}}}


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_a_node_refused_to_one_task_is_looked_at_for_the_next_where_plugins_may_relent(action: str) -> None:
    assert siege(action, gang=2, opinion=Relenting).play() == GRANTED


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_what_is_refused_firmly_is_asked_once_per_gang_and_node(action: str) -> None:
    Unmoved.questions = 0
    assert siege(action, gang=5, opinion=Unmoved).play()["a"] == "pending"
    nodes, asked_and_asked_whether_it_lasts = 2, 2
    assert Unmoved.questions == nodes * asked_and_asked_whether_it_lasts


@pytest.mark.parametrize(("priority", "asked"), [(HIGH, 1), (HIGH + 1, 2)])
@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_what_is_refused_firmly_is_not_asked_again_for_another_job_of_the_class(
    action: str, priority: int, asked: int
) -> None:
    Unmoved.questions = 0
    story = siege(action, gang=1, opinion=Unmoved)
    other = job("z", tasks=1, cpu=1, priority=priority, queue="q1")
    assert replace(story, jobs=[*story.jobs, other]).play()["z"] == "pending"
    assert Unmoved.questions == 4 * asked


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_tasks_of_a_gang_take_different_victims_on_one_node(action: str) -> None:
    taker = {"preempt": "q1", "reclaim": "q2"}[action]
    story = Story(
        "two of three",
        nodes=[node("n1", cpu=3)],
        jobs=[
            job("b", tasks=3, cpu=1, min_available=1, running={"n1": 3}, priority=LOW, queue="q1"),
            job("a", tasks=2, cpu=1, min_available=2, priority=HIGH, queue=taker),
        ],
        actions=action,
        tiers=("priority, conformance",),
    )
    assert story.play() == {"b": {"evicted": ["b-1", "b-2"]}, "a": {"pipelined": {"n1": 2}}}


def test_room_that_an_attempt_gave_back_is_there_for_the_next_gang() -> None:
    """The first gang empties the only node, finds no second one, and leaves it as it was."""
    story = Story(
        "one after another",
        nodes=[node("n1", cpu=2)],
        jobs=[
            job("b", tasks=2, cpu=1, min_available=1, running={"n1": 2}, priority=LOW),
            job("a", tasks=3, cpu=1, min_available=3, priority=HIGH + 1),
            job("c", tasks=2, cpu=1, min_available=2, priority=HIGH),
        ],
        actions="preempt",
        tiers=(["priority", plugin("gang", enablePreemptable=False)],),
    )
    taken = {"b": {"evicted": ["b-0", "b-1"]}, "a": "pending", "c": {"pipelined": {"n1": 2}}}
    assert story.play() == taken
