"""The profile: all of the time is divided up, nothing of it twice, and decisions stay what they are."""

from __future__ import annotations

import pytest

from hekla import take_snapshot
from hekla.conf import PRESETS, read_conf, require
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import (
    JOB_READY,
    JOB_VALID,
    NODE_ORDER,
    PREEMPTABLE,
    RECLAIMABLE,
    Scope,
    answers,
)
from hekla.engine.framework.profile import ENGINE, Line, Profile, questions
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.testing import job, node, queue
from hekla.testing.pods import stamped

NAP = 1.0
passed = [0.0]
"""The time that the sleeper slept: no other passes on the stopwatch of the test."""


class Asker(Plugin):
    """Quick by itself, but it asks the session, and there the sleeper is asked."""

    name = "asker"

    @answers(JOB_READY)
    def asks_another(self, job):
        return self.session.is_valid(job)


class Sleeper(Plugin):
    name = "sleeper"

    @answers(JOB_VALID)
    def takes_its_time(self, job):
        passed[0] += NAP

    @answers(PREEMPTABLE)
    @answers(RECLAIMABLE)
    def lets_go(self, task, candidates):
        return candidates

    @answers(NODE_ORDER, Scope.CLASS)
    def likes_all_nodes(self, task):
        return 0.0

    def on_allocate(self, task):
        return None

    def distinguishes(self, task):
        return task.name


def snapshot(*, gangs: int = 1):
    nodes = [node(f"n{number}", cpu=8) for number in range(4)]
    work = [thing for number in range(gangs) for thing in job(f"g{number}", tasks=2, cpu=1).objects]
    return take_snapshot(stamped([*nodes, queue("default"), *work]))


def profiled(*plugins: type[Plugin]) -> CycleReport:
    registry = BUILTIN
    for plugin in plugins:
        registry = registry.with_class(plugin)
    names = "".join(f"  - name: {plugin.name}\n" for plugin in plugins)
    conf = require(read_conf(f'actions: "allocate"\ntiers:\n- plugins:\n{names}', "", registry.catalogue()))
    return run_cycle(snapshot(), conf, registry=registry, profile=Profile())


def lines_of(report: CycleReport) -> list[Line]:
    assert report.profile is not None
    return report.profile.lines(report.times)


def test_the_lines_of_a_part_add_up_to_its_time() -> None:
    report = run_cycle(snapshot(), require(read_conf(PRESETS["everything"].text)), profile=Profile())
    lines = lines_of(report)
    for part, seconds in report.times.items():
        assert sum(line.seconds for line in lines if line.part == part) == pytest.approx(seconds)
    assert all(line.seconds >= 0 for line in lines)
    assert [line.part for line in lines if line.who == ENGINE] == list(report.times)


def test_what_a_plugin_asks_of_another_is_counted_once_and_for_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hekla.engine.framework.profile.stopwatch", lambda: passed[0])
    spent = {(line.part, line.who, line.question): line for line in lines_of(profiled(Asker, Sleeper))}
    asker, sleeper = spent["allocate", "asker", "job ready"], spent["allocate", "sleeper", "job valid"]
    assert sleeper.calls > asker.calls > 0
    assert (sleeper.seconds, asker.seconds) == (NAP * sleeper.calls, 0.0)


def test_answers_listeners_and_events_are_all_watched() -> None:
    assert questions(Sleeper) == {
        "on_allocate": "on_allocate",
        "distinguishes": "distinguishes",
        "takes_its_time": "job valid",
        "lets_go": "reclaimable, preemptable",
        "likes_all_nodes": "node order",
    }
    told = {line.question for line in lines_of(profiled(Sleeper))}
    assert {"on_allocate", "distinguishes", "node order", "job valid"} <= told


def test_a_plugin_that_fails_leaves_the_stopwatches_right() -> None:
    class Failing(Plugin):
        name = "failing"

        def on_open(self):
            raise ZeroDivisionError

    plugin, profile = Failing(None, None), Profile()
    profile.watch(plugin)
    with pytest.raises(ZeroDivisionError):
        plugin.on_open()
    assert [line.calls for line in profile.lines({"": 1.0}) if line.who == "failing"] == [1]


@pytest.mark.parametrize("preset", PRESETS)
def test_watching_changes_no_decision(preset: str) -> None:
    conf = require(read_conf(PRESETS[preset].text))
    plain, watched = run_cycle(snapshot(gangs=9), conf), run_cycle(snapshot(gangs=9), conf, profile=Profile())
    assert watched.decisions == plain.decisions
    assert plain.profile is None
