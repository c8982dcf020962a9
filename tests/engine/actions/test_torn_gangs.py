"""A gang that fails as another just like it is told the same as if it had been tried."""

from __future__ import annotations

import pytest

from hekla.conf import BUILT_IN_DEFAULT, read_conf
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, NO_SHORTCUT, Shortcuts
from hekla.engine.state.snapshot import take_snapshot
from hekla.scheduler.cycle import run_cycle
from hekla.scheduler.outcome import explanations
from hekla.testing.builders import job, node, queue

ROOM_FOR_THREE = [node("n1", cpu=4), node("n2", cpu=2)]


def outcome(jobs: list, shortcuts: Shortcuts) -> tuple[list, list[str]]:
    objects = [*ROOM_FOR_THREE, queue("other")]
    objects += [manifest for one in jobs for manifest in one.objects]
    report = run_cycle(take_snapshot(objects), read_conf(BUILT_IN_DEFAULT)[0], shortcuts=shortcuts)
    return report.decisions, [str(each) for each in explanations(report)]


@pytest.mark.parametrize(
    "jobs",
    [
        [job(name, tasks=5, cpu=2) for name in "abc"],
        [job("a", tasks=5, cpu=2), job("b", tasks=5, cpu=2, queue="other"), job("c", tasks=5, cpu=2)],
        [job("a", tasks=5, cpu=2), job("fits", tasks=1, cpu=2), job("b", tasks=5, cpu=2)],
        [job("a", tasks=5, cpu=2), job("b", tasks=6, cpu=2), job("c", tasks=5, cpu=2, min_available=4)],
        [job("a", tasks=5, cpu=2), job("b", tasks=5, cpu=1, memory="1Gi"), job("c", tasks=5, cpu=2)],
    ],
    ids=["alike", "another queue", "something was kept between", "other sizes", "other requests"],
)
def test_torn_gangs_are_told_the_same_either_way(jobs):
    assert outcome(jobs, EVERY_SHORTCUT) == outcome(jobs, NO_SHORTCUT)


def test_every_torn_gang_says_how_much_of_it_found_room():
    told = outcome([job(name, tasks=5, cpu=2) for name in "ab"], EVERY_SHORTCUT)[1]
    assert all("3 tasks found a place, 5 are needed together" in text for text in told)
