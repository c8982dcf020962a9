"""Tdm: nodes that are lent out for a part of the day, and who has to leave them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_plugin import Scene, manifests

from hekla.conf import read_arguments
from hekla.engine.framework.points import JOB_ORDER, JOB_PIPELINED, JOB_STARVING, PREEMPTABLE
from hekla.engine.framework.registry import Registry
from hekla.engine.model.task import task_of
from hekla.engine.plugins.tdm import LAST_EVICTION, Tdm, accepts_revocable, is_within, most_victims
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Node
from hekla.objects.keys import BUDGET_MAX_UNAVAILABLE, BUDGET_MIN_AVAILABLE
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.testing import check_plugin, conf_of, job, node, plugin, pod, stamped, told
from hekla.testing.samples import Sample

ZONE = "volcano.sh/revocable-zone"
PREEMPTABLE_NOTE = "volcano.sh/preemptable"
DAYTIME = {"tdm.revocable-zone.rz1": "10:00-21:00"}
WILLING = {ZONE: "*"}


def at(hour: int, minute: int = 0, second: float = 0.0) -> float:
    return datetime(2026, 3, 4, hour, minute, tzinfo=UTC).timestamp() + second


NOON, NIGHT = at(12), at(23)


def lent(name: str, zone: str = "rz1") -> Node:
    return node(name, labels={ZONE: zone})


def scene(*parts: object, now: float = NOON, **rest: object) -> Scene:
    rest.setdefault("arguments", DAYTIME)
    return Scene(Tdm, *parts, now=now, **rest)  # type: ignore[arg-type]


# Windows


@pytest.mark.parametrize(
    ("window", "moment", "is_open"),
    [
        ("10:00-21:00", at(9, 59, 59), False),
        ("10:00-21:00", at(10), True),
        ("10:00-21:00", at(21), True),
        ("10:00-21:00", at(21, 0, 0.9), True),
        ("10:00-21:00", at(21, 0, 1), False),
        ("22:00-06:00", at(23), True),
        ("22:00-06:00", at(5), False),
        ("08:00-08:00", at(7), False),
        ("08:00-08:00", at(20), True),
        (" 9:00-9:30 ", at(9, 15), True),
        ("10:00", at(12), False),
        ("10:00-24:00", at(12), False),
        ("10:60-12:00", at(11), False),
        ("always", at(12), False),
    ],
    ids=[
        "before its first second it is closed",
        "its first second is open",
        "its last second is open",
        "parts of a second do not count",
        "after its last second it is closed",
        "over midnight it is open before midnight",
        "over midnight it is closed after midnight",
        "equal times begin today",
        "equal times end tomorrow",
        "blanks around it and one digit of an hour are fine",
        "half a window is closed",
        "there is no hour 24",
        "there is no minute 60",
        "words are closed",
    ],
)
def test_a_window(window: str, moment: float, is_open: bool) -> None:
    assert is_within(window, moment) is is_open


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 23), st.integers(0, 59), st.integers(0, 86399))
def test_a_window_agrees_with_the_calendar(h1: int, m1: int, h2: int, m2: int, second: int) -> None:
    midnight = at(0)
    start = datetime(2026, 3, 4, h1, m1, tzinfo=UTC).timestamp()
    last_day = 4 if (h1, m1) < (h2, m2) else 5
    end = datetime(2026, 3, last_day, h2, m2, tzinfo=UTC).timestamp()
    expected = start <= midnight + second <= end
    assert is_within(f"{h1:02}:{m1:02}-{h2:02}:{m2:02}", midnight + second) is expected


# Who may use the nodes


@pytest.mark.parametrize(
    ("notes", "labels", "accepts"),
    [
        ({ZONE: "*"}, {}, True),
        ({ZONE: "rz1"}, {}, False),
        ({PREEMPTABLE_NOTE: "true"}, {}, True),
        ({ZONE: "", PREEMPTABLE_NOTE: "true"}, {}, False),
        ({PREEMPTABLE_NOTE: "maybe"}, {}, False),
        ({}, {PREEMPTABLE_NOTE: "true"}, False),
        ({}, {}, False),
    ],
    ids=[
        "a star accepts every zone",
        "the name of a zone accepts none",
        "being preemptable accepts",
        "a zone annotation of its own decides alone",
        "nonsense does not accept",
        "a label does not accept",
        "being preemptable by default does not accept",
    ],
)
def test_who_accepts_revocable_nodes(notes: dict[str, str], labels: dict[str, str], accepts: bool) -> None:
    assert accepts_revocable(task_of(pod("a", annotations=notes, labels=labels))) is accepts


NODES = (lent("day"), lent("unknown", "rz9"), node("normal"), lent("empty", ""))
WAITING = (job("willing", tasks=1, cpu=1, annotations=WILLING), job("proud", tasks=1, cpu=1))


def test_in_the_window_only_willing_tasks_fit_and_they_prefer_the_lent_nodes() -> None:
    noon = scene(*NODES, *WAITING)
    assert noon.fits("willing-0") == ["day", "normal", "empty"]
    assert noon.fits("proud-0") == ["normal", "empty"]
    assert noon.scores("willing-0") == {"day": 100.0, "unknown": 0.0, "normal": 0.0, "empty": 0.0}
    assert set(noon.scores("proud-0").values()) == {0.0}
    assert "1 revocable, which the task does not accept" in noon.plainly("proud-0")


def test_outside_the_window_no_task_fits() -> None:
    night = scene(*NODES, *WAITING, now=NIGHT)
    assert night.fits("willing-0") == night.fits("proud-0") == ["normal", "empty"]
    assert "2 revocable zone not active" in night.plainly("willing-0")


# Budgets


@pytest.mark.parametrize(
    ("notes", "running", "most"),
    [
        ({BUDGET_MAX_UNAVAILABLE: "30%"}, 8, 2),
        ({BUDGET_MAX_UNAVAILABLE: "3"}, 8, 2),
        ({BUDGET_MAX_UNAVAILABLE: "1"}, 8, 0),
        ({BUDGET_MAX_UNAVAILABLE: "25%"}, 9, 3),
        ({BUDGET_MAX_UNAVAILABLE: "x%"}, 9, 0),
        ({BUDGET_MIN_AVAILABLE: "6"}, 8, 2),
        ({BUDGET_MIN_AVAILABLE: "8"}, 8, 0),
        ({BUDGET_MIN_AVAILABLE: "9"}, 8, 1),
        ({BUDGET_MIN_AVAILABLE: "75%"}, 8, 0),
        ({BUDGET_MIN_AVAILABLE: "x%"}, 8, 8),
        ({BUDGET_MIN_AVAILABLE: "6", BUDGET_MAX_UNAVAILABLE: "1"}, 8, 2),
        ({}, 8, 1),
    ],
    ids=[
        "the worked example",
        "a count instead of a percentage",
        "no more than are missing already",
        "percentages are rounded up",
        "an unreadable limit allows none to be missing",
        "what is above the minimum may go",
        "at the minimum no task goes",
        "below the minimum one goes all the same",
        "a minimum in percent is rounded up",
        "an unreadable minimum keeps no task",
        "a minimum comes before a limit",
        "without a budget one goes",
    ],
)
def test_a_jobs_budget(notes: dict[str, str], running: int, most: int) -> None:
    ten = job("a", tasks=10, running={"n1": running}, succeeded=1, annotations=notes)
    assert most_victims(scene(node("n1"), ten).session.jobs["default/a"]) == most


# Who has to go


class TestPreemption:
    def victims(self, preemptor: dict[str, object]) -> list[str]:
        here = scene(
            node("normal"),
            lent("day"),
            job("old", tasks=3, running={"normal": 2, "day": 1}, annotations={BUDGET_MIN_AVAILABLE: "1"}),
            job("firm", tasks=1, running={"normal": 1}, preemptable=False),
            job("soon", tasks=1, bound={"normal": 1}),
            job("new", tasks=1, **preemptor),  # type: ignore[arg-type]
        )
        candidates = [task for task in here.session.tasks if task.node_name]
        return [task.name for task in here.session.ask(PREEMPTABLE, here.task("new-0"), candidates)]

    def test_a_lasting_task_may_take_the_room_of_preemptable_ones_on_normal_nodes(self) -> None:
        assert self.victims({"preemptable": False}) == ["old-0", "old-1"]

    def test_a_preemptable_task_takes_no_tasks_room_and_pods_are_preemptable_by_default(self) -> None:
        assert self.victims({}) == []

    def test_a_task_that_may_use_lent_nodes_takes_no_tasks_room(self) -> None:
        assert self.victims({"preemptable": False, "annotations": WILLING}) == []


CLOSED = (
    lent("day"),
    lent("other", "rz2"),
    node("normal"),
    job("a", tasks=4, running={"day": 2, "other": 1, "normal": 1}, annotations={BUDGET_MAX_UNAVAILABLE: "3"}),
    job("b", tasks=3, running={"day": 2, "other": 1}),
    job("firm", tasks=1, running={"day": 1}, preemptable=False),
)


class TestLeaving:
    def test_when_the_window_closes_each_job_sends_away_as_many_as_its_budget_allows(self) -> None:
        assert scene(*CLOSED, now=NIGHT).victims() == ["default/a-0", "default/a-1", "default/b-0"]

    def test_every_closed_zone_is_cleared_by_itself(self) -> None:
        zones = {**DAYTIME, "tdm.revocable-zone.rz2": "nonsense"}
        victims = scene(*CLOSED, now=NIGHT, arguments=zones).victims()
        assert victims == ["default/a-0", "default/a-1", "default/a-2", "default/b-0", "default/b-2"]

    def test_while_the_window_is_open_no_task_has_to_go(self) -> None:
        assert scene(*CLOSED, now=NOON).victims() == []

    def test_a_pod_that_belongs_to_no_job_stays(self) -> None:
        assert scene(lent("day"), pod("stray", on="day"), now=NIGHT).victims() == []

    def test_asked_again_in_the_same_cycle_it_names_the_same(self) -> None:
        night = scene(*CLOSED, now=NIGHT)
        assert night.victims() == night.victims() != []

    @pytest.mark.parametrize(
        ("since", "period", "goes"), [(59, "1m", False), (60, "1m", True), (60, "2m", False)]
    )
    def test_between_two_times_lies_the_period(self, since: float, period: str, goes: bool) -> None:
        memory = {LAST_EVICTION: NIGHT - since}
        night = scene(*CLOSED, now=NIGHT, memory=memory, arguments={**DAYTIME, "tdm.evict.period": period})
        assert bool(night.victims()) is goes
        assert memory == {LAST_EVICTION: NIGHT if goes else NIGHT - since}

    def test_the_time_counts_even_when_no_task_had_to_go(self) -> None:
        memory: dict[str, float] = {}
        scene(*CLOSED, now=NOON, memory=memory).victims()
        assert memory == {LAST_EVICTION: NOON}

    def test_a_cycle_that_does_not_ask_leaves_the_memory_alone(self) -> None:
        memory: dict[str, float] = {}
        scene(*CLOSED, now=NIGHT, memory=memory)
        assert memory == {}


def test_two_cycles_of_shuffle_evict_once_per_period() -> None:
    registry = Registry(BUILTIN.actions, {**BUILTIN.plugins, "tdm": Tdm})
    conf = conf_of("shuffle", tiers=[[plugin("tdm", DAYTIME)]])
    memory: dict[str, float] = {}
    evicted = []
    for moment in (NIGHT, NIGHT + 30, NIGHT + 60):
        snapshot = take_snapshot(stamped(manifests(CLOSED)))
        report = run_cycle(snapshot, conf, registry=registry, now=moment, memory=memory)
        evicted.append(told(report)["b"])
    assert evicted == [{"evicted": ["b-0"]}, "running", {"evicted": ["b-0"]}]


# Jobs


def test_lasting_jobs_come_first_and_only_they_starve() -> None:
    session = scene(
        node("n1"),
        job("soft", tasks=1, annotations={PREEMPTABLE_NOTE: "true"}),
        job("firm", tasks=1),
        job("done", tasks=1, running={"n1": 1}),
    ).session
    soft, firm, done = (session.jobs[f"default/{name}"] for name in ("soft", "firm", "done"))
    assert sorted([soft, firm], key=lambda job: session.ask(JOB_ORDER, job)) == [firm, soft]
    assert [session.ask(JOB_STARVING, job) for job in (soft, firm, done)] == [False, True, False]


def test_a_job_counts_as_pipelined_with_its_minimum() -> None:
    session = scene(
        node("n1"),
        job("short", tasks=2, cpu=1, running={"n1": 1}, min_available=2),
        job("whole", tasks=2, cpu=1, running={"n1": 1}, min_available=1),
    ).session
    assert [session.ask(JOB_PIPELINED, job) for job in session.jobs.values()] == [False, True]


# Settings and contract


def test_a_period_that_is_no_duration_is_told_and_a_minute_stays() -> None:
    read, mistakes = read_arguments(Tdm.Arguments, {"tdm.evict.period": "soon"}, "here")
    assert (read.evict_period, len(mistakes)) == ("1m", 1)


def test_it_keeps_the_contract_of_plugins() -> None:
    check_plugin(Tdm)
    objects = manifests((*CLOSED, *WAITING))
    nodes = tuple(one for one in objects if isinstance(one, Node))
    others = tuple(one for one in objects if not isinstance(one, Node))
    check_plugin(Tdm, {"tdm.revocable-zone.rz1": "00:00-10:00"}, clusters=[Sample("lent", nodes, others)])
    check_plugin(Tdm, DAYTIME, clusters=[Sample("lent", nodes, others)])
