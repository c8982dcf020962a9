"""Room that evictions free goes to the job that they were for; futile evictions are not repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import Conf, read_conf
from hekla.engine.explain.explanation import explain
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.model.benefit import FIRST_BACK_OFF, Benefit, BenefitStage, benefit_of
from hekla.objects import Manifest, Node, Pod, PodGroup, Queue
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.strategies import NOW
from insight.replay.recorded import Recorder, all_cycles, assert_identical

QUEUES = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins:
  - name: overcommit
  - {name: drf, enablePreemptable: false}
  - name: predicates
  - {name: capacity, enableHierarchy: true}
  - name: nodeorder
"""
PRIORITIES = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""
AS_IN_VOLCANO = "configurations: [{name: allocate, arguments: {freedRoom: volcano}}]\n"

TWO_QUEUES = [
    node("n0", cpu=6, memory="64Gi"),
    queue("lent", weight=3, deserved={"cpu": 3, "memory": "20Gi"}),
    queue("owed", weight=2, deserved={"cpu": 4, "memory": "20Gi"}),
    *job("first", tasks=2, min_available=1, cpu=4, memory="1Gi", queue="lent", phase="Pending").objects,
    *job("second", tasks=2, cpu=2, memory="1Gi", queue="owed", phase="Pending").objects,
]
"""The second job fits beside no pod of the first, whose other pod would take the room of the evicted one."""

URGENT = [
    node("n0", cpu=4, memory="64Gi"),
    *job("lazy", tasks=1, cpu=4, running={"n0": 1}).objects,
    *job("urgent", tasks=1, cpu=4, priority=10).objects,
]


class Play:
    """These objects under virtual time, and what every cycle decided about pods."""

    def __init__(self, objects: Sequence[Manifest], conf: str, *, at: float = NOW) -> None:
        self.clock = VirtualClock(at)
        options = Options(run_seconds=1e9, grace_seconds=5.0)
        self.cluster = EmbeddedCluster(stamped(objects), self.clock, options=options)
        self.loop = Loop(self.cluster, _conf(conf), self.clock)
        self.evictions: list[Evict] = []
        self.binds: list[Bind] = []
        self.futile = 0
        self.last: CycleReport | None = None

    def run(self, seconds: float) -> None:
        self.loop.run(until=self.clock.now() + seconds, on_cycle=self._note)

    def _note(self, report: CycleReport) -> None:
        self.last = report
        self.evictions += [one for one in report.decisions if isinstance(one, Evict)]
        self.binds += [one for one in report.decisions if isinstance(one, Bind)]
        self.futile += report.session.beneficiaries.futile if report.session.beneficiaries else 0

    def benefit(self, name: str) -> Benefit:
        """What came of the evictions for the job."""
        group = self.cluster.get(PodGroup, f"default/{name}")
        assert group is not None
        benefit = benefit_of(group.status)
        assert benefit is not None, f"no pod was evicted for {name}"
        return benefit

    def said_of(self, name: str) -> str:
        assert self.last is not None
        return str(explain(self.last.session, self.last.session.jobs[f"default/{name}"]))

    def objects(self) -> list[Manifest]:
        """Everything that the API server would know after a restart of the scheduler."""
        kinds: tuple[type[Manifest], ...] = (Node, Queue, PodGroup, Pod)
        return [manifest for kind in kinds for manifest in self.cluster.all_of(kind)]


def _conf(text: str) -> Conf:
    return read_conf(text)[0]


def test_the_job_that_pods_were_evicted_for_gets_the_room() -> None:
    play = Play(TWO_QUEUES, QUEUES)
    play.run(600)
    assert [one.beneficiary for one in play.evictions] == ["default/second"]
    assert Counter(bind.job for bind in play.binds) == {"default/first": 1, "default/second": 2}
    assert play.benefit("second").stage is BenefitStage.STARTED


def test_as_in_volcano_it_goes_back_to_the_victims_job_for_ever() -> None:
    play = Play(TWO_QUEUES, QUEUES + AS_IN_VOLCANO)
    play.run(600)
    assert len(play.evictions) > 20
    assert {bind.job for bind in play.binds} == {"default/first"}


def test_all_of_a_gang_is_nominated_to_the_room_that_was_planned_for_it() -> None:
    play = Play(TWO_QUEUES, QUEUES)
    play.run(3)
    waiting = [pod for pod in play.cluster.all_of(Pod) if pod.metadata.name.startswith("second")]
    assert [pod.status.nominated_node_name for pod in waiting] == ["n0", "n0"]
    benefit = play.benefit("second")
    assert (benefit.stage, benefit.evicted) == (BenefitStage.RESERVED, 1)
    assert "evictions: pods were evicted to make room for this job" in play.said_of("second")


def test_a_new_scheduler_offers_the_room_to_the_same_job() -> None:
    before = Play(TWO_QUEUES, QUEUES)
    before.run(3)
    assert before.evictions
    assert {bind.job for bind in before.binds} == {"default/first"}
    after = Play(before.objects(), QUEUES, at=before.clock.now())
    after.run(600)
    assert not after.evictions
    assert {bind.job for bind in after.binds} == {"default/second"}


def test_a_recording_tells_for_whom_room_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    with Recorder(path, stamped(TWO_QUEUES), _conf(QUEUES), options=Options(run_seconds=1e9)) as recorder:
        recorder.cycles(40)
    assert len(assert_identical(path)) == 40
    decided = [act for cycle in all_cycles(path) for act in cycle.decisions]
    assert [act.job for act in decided if isinstance(act, Bind)][1:] == ["default/second"] * 2


def close(cluster: EmbeddedCluster, name: str, *, is_closed: bool = True) -> None:
    """Cordon the node, or let it take pods again."""
    host = cluster.get(Node, name)
    assert host is not None
    spec = msgspec.structs.replace(host.spec, unschedulable=is_closed)
    cluster.replace(msgspec.structs.replace(host, spec=spec))


def test_a_job_that_cannot_use_the_room_is_told_and_causes_no_further_eviction() -> None:
    play = Play(URGENT, PRIORITIES)
    play.run(2)
    assert [one.beneficiary for one in play.evictions] == ["default/urgent"]
    close(play.cluster, "n0")
    play.run(600)
    benefit = play.benefit("urgent")
    assert (benefit.stage, benefit.attempt) == (BenefitStage.FUTILE, 1)
    assert play.futile == 1
    assert len(play.evictions) == 1
    told = [event for event in play.cluster.events if event.reason == "FutileEviction"]
    assert [event.object for event in told] == ["podgroup default/urgent"]
    assert "did not start although they are gone" in play.said_of("urgent")
    close(play.cluster, "n0", is_closed=False)
    play.run(600)
    assert play.benefit("urgent").stage is BenefitStage.STARTED


def test_room_that_is_not_free_in_time_is_given_up() -> None:
    objects = [
        msgspec.structs.replace(
            one, spec=msgspec.structs.replace(one.spec, termination_grace_period_seconds=5000)
        )
        if isinstance(one, Pod)
        else one
        for one in URGENT
    ]
    play = Play(objects, PRIORITIES)
    play.cluster = EmbeddedCluster(stamped(objects), play.clock, options=Options(run_seconds=1e9))
    play.loop = Loop(play.cluster, _conf(PRIORITIES), play.clock)
    play.run(1000)
    assert play.benefit("urgent").stage is BenefitStage.FUTILE
    assert "was not free within 600 s" in play.said_of("urgent")


def urgent_after(benefit: Benefit) -> list[Manifest]:
    """The urgent job, whose evictions came to this before, beside what it might evict."""
    since = datetime.fromtimestamp(benefit.since, UTC)
    condition = msgspec.structs.replace(benefit.as_condition(), last_transition_time=since)
    *others, group, pod = URGENT
    assert isinstance(group, PodGroup)
    status = msgspec.structs.replace(group.status, conditions=(condition,))
    return [*others, msgspec.structs.replace(group, status=status), pod]


def proved_futile(cluster: str = "0123456789ab", *, since: float = NOW, attempt: int = 1) -> Benefit:
    return Benefit(BenefitStage.FUTILE, since, 1, attempt, cluster, "it did not start although they are gone")


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 10), (2, 20), (3, 40), (7, 600), (100, 600)], ids=str)
def test_after_each_futile_attempt_the_wait_doubles_up_to_a_limit(attempt: int, seconds: float) -> None:
    assert proved_futile(attempt=attempt).backs_off_until == NOW + seconds


@pytest.mark.parametrize(
    "benefit",
    [proved_futile(), Benefit(BenefitStage.RESERVED, NOW, 3, 2), Benefit(BenefitStage.STARTED, NOW, 3)],
    ids=lambda benefit: str(benefit.stage.value),
)
def test_what_is_written_is_what_is_read(benefit: Benefit) -> None:
    group = next(one for one in urgent_after(benefit) if isinstance(one, PodGroup) and one.status.conditions)
    assert benefit_of(group.status) == msgspec.structs.replace(benefit, why="")


def test_where_something_has_changed_pods_are_evicted_again_once_the_back_off_has_passed() -> None:
    play = Play(urgent_after(proved_futile()), PRIORITIES)
    play.run(FIRST_BACK_OFF - 1)
    assert not play.evictions
    play.run(5)
    assert [one.beneficiary for one in play.evictions] == ["default/urgent"]
    benefit = play.benefit("urgent")
    assert (benefit.stage, benefit.attempt) == (BenefitStage.RESERVED, 2)


def test_where_nothing_has_changed_none_is_evicted_however_long_it_takes() -> None:
    first = Play(URGENT, PRIORITIES)
    first.loop.decide()
    report = first.loop.decide()
    beneficiaries = report.session.beneficiaries
    assert beneficiaries is not None
    cluster = beneficiaries.cluster_of(report.session.jobs["default/urgent"])
    play = Play(urgent_after(proved_futile(cluster, since=NOW - 3600)), PRIORITIES)
    play.run(3600)
    assert not play.evictions


def test_a_job_whose_room_is_taken_by_another_eviction_does_not_take_it_back() -> None:
    more = job("vital", tasks=1, cpu=4, priority=20).objects
    play = Play(URGENT, PRIORITIES)
    play.run(20)
    assert {bind.job for bind in play.binds} == {"default/urgent"}
    play.cluster.submit(stamped(more))
    play.run(20)
    assert [one.beneficiary for one in play.evictions] == ["default/urgent", "default/vital"]
    assert play.benefit("urgent").stage is BenefitStage.FUTILE
    assert "its own pods were evicted again" in play.said_of("urgent")
