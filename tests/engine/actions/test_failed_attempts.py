"""A gang that fails as another just like it is told the same as if it had been tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import pytest

from hekla.conf import BUILT_IN_DEFAULT, Conf, read_conf
from hekla.engine.actions.failed_attempts import FailedAttempts
from hekla.engine.framework.decisions import Tell
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, NO_SHORTCUT, Shortcuts
from hekla.engine.state.snapshot import take_snapshot
from hekla.scheduler.cycle import run_cycle
from hekla.scheduler.outcome import explanations
from hekla.testing import JobObjects
from hekla.testing.builders import job, node, queue
from hekla.testing.story import conf_of

ROOM_FOR_THREE = [node("n1", cpu=4), node("n2", cpu=2)]
ONE_BY_ONE = replace(EVERY_SHORTCUT, runs=False)
USUAL = read_conf(BUILT_IN_DEFAULT)[0]
NO_LIMITS = conf_of("enqueue, allocate, backfill", ("priority, gang", "drf, predicates, nodeorder"))
"""No queue is full before the nodes are."""


def outcome(
    jobs: Sequence[JobObjects], shortcuts: Shortcuts = EVERY_SHORTCUT, conf: Conf = NO_LIMITS
) -> tuple[object, ...]:
    """All that is said of the jobs: decisions, their conditions among them, explanations, what nearly was."""
    objects = [*ROOM_FOR_THREE, queue("default"), queue("other")]
    objects += [manifest for one in jobs for manifest in one.objects]
    report = run_cycle(take_snapshot(objects), conf, shortcuts=shortcuts)
    session = report.session
    return (
        [decision for decision in report.decisions if not isinstance(decision, Tell)],
        sorted(str(decision) for decision in report.decisions if isinstance(decision, Tell)),
        [str(each) for each in explanations(report)],
        {uid: [str(note) for note in notes] for uid, notes in session.trace.jobs.items()},
        [(task.key, task.node, task.status, task.last) for task in session.tasks],
        {uid: {task: str(why) for task, why in one.fit_errors.items()} for uid, one in session.jobs.items()},
    )


STORIES = {
    "alike": [job(name, tasks=5, cpu=2) for name in "abc"],
    "another queue": [
        job("a", tasks=5, cpu=2),
        job("b", tasks=5, cpu=2, queue="other"),
        job("c", tasks=5, cpu=2),
    ],
    "something was kept between": [
        job("a", tasks=5, cpu=2),
        job("fits", tasks=1, cpu=2),
        job("b", tasks=5, cpu=2),
    ],
    "other sizes": [
        job("a", tasks=5, cpu=2),
        job("b", tasks=6, cpu=2),
        job("c", tasks=5, cpu=2, min_available=4),
    ],
    "other requests": [
        job("a", tasks=5, cpu=2),
        job("b", tasks=5, cpu=1, memory="1Gi"),
        job("c", tasks=5, cpu=2),
    ],
    "nothing of it fits": [job(name, tasks=2, cpu=9) for name in "abc"],
}


@pytest.mark.parametrize("fewer", [NO_SHORTCUT, ONE_BY_ONE], ids=["no shortcuts", "one by one"])
@pytest.mark.parametrize("conf", [USUAL, NO_LIMITS], ids=["usual", "no limits"])
@pytest.mark.parametrize("jobs", STORIES.values(), ids=STORIES.keys())
def test_failed_gangs_are_told_the_same_either_way(
    jobs: list[JobObjects], conf: Conf, fewer: Shortcuts
) -> None:
    assert outcome(jobs, EVERY_SHORTCUT, conf) == outcome(jobs, fewer, conf)


def test_every_failed_gang_says_how_much_of_it_found_room() -> None:
    told = outcome([job(name, tasks=5, cpu=2) for name in "ab"])[2]
    assert isinstance(told, list)
    assert len(told) == 2
    assert all("room for 3 of the 5 tasks that start together" in text for text in told)


@pytest.mark.parametrize(
    ("story", "repeated"),
    [("alike", 2), ("another queue", 1), ("something was kept between", 1), ("nothing of it fits", 2)],
)
def test_only_gangs_that_fare_alike_are_not_tried(story: str, repeated: int) -> None:
    answers: list[bool] = []
    repeat = FailedAttempts.repeat

    def count(*asked: object) -> bool:
        answers.append(repeat(*asked))  # type: ignore[arg-type]
        return answers[-1]

    with patch.object(FailedAttempts, "repeat", count):
        outcome(STORIES[story])
    assert sum(answers) == repeated
