"""The loop: cycles as long as there is something to decide, and no idling in between."""

from __future__ import annotations

import pytest

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import Conf, read_conf
from hekla.engine.framework.decisions import Bind, Decision
from hekla.engine.state.snapshot import Snapshot
from hekla.objects import Pod, VolcanoJob
from hekla.objects.read import read_text
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop

CONF = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}
"""


def job(
    name: str, *, cpu: int = 1, run: float = 10, at: float = 0, priority: str = "", minimum: int = 2
) -> str:
    template = f"{{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}"
    notes = f'"hekla.dev/run-seconds": "{run}", "hekla.dev/arrives-at": "{at}"'
    return (
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n"
        f"metadata: {{name: {name}, annotations: {{{notes}}}}}\n"
        f"spec: {{minAvailable: {minimum}, priorityClassName: {priority or '~'}, "
        f"tasks: [{{name: w, replicas: 2, minAvailable: {minimum}, template: {template}}}]}}\n"
    )


def conf() -> Conf:
    return read_conf(CONF)[0]


class Play:
    """A cluster and a loop over these manifests, under one virtual clock."""

    def __init__(self, *texts: str, start: float = 0.0, **loop: float) -> None:
        reading = read_text("---\n".join(texts), "test.yaml")
        assert reading.complaints == []
        self.clock = VirtualClock(start)
        self.cluster = EmbeddedCluster(reading.objects, self.clock, options=Options(grace_seconds=5.0))
        self.loop = Loop(self.cluster, conf(), self.clock, **loop)  # type: ignore[arg-type]

    def phases(self) -> dict[str, str]:
        return {each.metadata.name: each.status.state.phase for each in self.cluster.all_of(VolcanoJob)}


def test_a_job_goes_through_its_whole_life_and_the_loop_ends() -> None:
    play = Play(NODE, job("train"))
    play.loop.run()
    assert play.phases() == {"train": "Completed"}
    assert play.cluster.is_idle()
    assert play.cluster.complaints == []


def test_time_jumps_to_the_next_event() -> None:
    play = Play(NODE, job("early", run=3600), job("late", at=86_400, run=3600))
    cycles = play.loop.run()
    assert play.phases() == {"early": "Completed", "late": "Completed"}
    assert play.clock.now() == pytest.approx(86_400 + 3600, abs=5)
    assert cycles < 20


def test_cycles_stay_on_the_beat_of_the_period() -> None:
    play = Play(NODE, job("train", run=7.3), start=100.0, period=2.0)
    moments: list[float] = []
    play.loop.run(on_cycle=lambda _: moments.append(play.clock.now()))
    assert all((moment - 100.0) % 2.0 == 0 for moment in moments)


def test_a_job_that_fits_nowhere_does_not_keep_the_loop_busy() -> None:
    play = Play(NODE, job("huge", cpu=64))
    assert play.loop.run() < 5
    assert not play.cluster.is_idle()
    pods = play.cluster.all_of(Pod)
    assert [each.status.phase for each in pods] == ["Pending", "Pending"]


def test_jobs_that_do_not_fit_together_run_one_after_the_other() -> None:
    play = Play(NODE, job("a", cpu=2), job("b", cpu=2), job("c", cpu=2))
    play.loop.run()
    assert set(play.phases().values()) == {"Completed"}
    assert 30 <= play.clock.now() <= 45


def test_a_preempted_job_comes_back_and_nothing_is_lost() -> None:
    high = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n"
    low = job("low", cpu=2, run=100, minimum=1)
    play = Play(NODE, high, low, job("high", cpu=2, at=20, priority="high", minimum=1))
    play.loop.run(max_cycles=200)
    evicted = [event.object for event in play.cluster.events if event.reason == "Evicted"]
    assert evicted
    assert all(name.startswith("pod default/low-w-") for name in evicted)
    assert play.phases() == {"low": "Completed", "high": "Completed"}


def test_the_same_objects_give_the_same_story() -> None:
    texts = [NODE, *(job(f"j{i}", cpu=1 + i % 2, at=3 * i, run=5 + i) for i in range(8))]
    stories = []
    for _ in range(2):
        play = Play(*texts)
        play.loop.run()
        stories.append([str(event) for event in play.cluster.events])
    assert stories[0] == stories[1]


def test_a_run_ends_at_its_time_and_can_go_on() -> None:
    play = Play(NODE, job("train", run=100))
    play.loop.run(until=50.0)
    assert play.clock.now() == 50.0
    assert play.phases() == {"train": "Running"}
    play.loop.run()
    assert play.phases() == {"train": "Completed"}


def test_a_run_ends_after_so_many_cycles() -> None:
    play = Play(NODE, job("train"))
    assert play.loop.run(max_cycles=2) == 2
    assert play.loop.cycles == 2


def test_every_cycle_is_reported() -> None:
    play = Play(NODE, job("train"))
    reports: list[CycleReport] = []
    cycles = play.loop.run(on_cycle=reports.append)
    assert len(reports) == cycles
    assert sum(isinstance(each, Bind) for report in reports for each in report.decisions) == 2


def test_a_step_is_one_cycle_on_the_facts_of_its_moment() -> None:
    play = Play(NODE, job("train"))
    play.loop.step()
    play.clock.sleep(1.0)
    play.loop.step()
    assert all(each.spec.node_name == "n1" for each in play.cluster.all_of(Pod))


def test_with_a_limit_to_its_naps_the_loop_waits_for_work_that_may_come() -> None:
    play = Play(NODE, longest_nap=10.0)
    assert play.loop.run(until=100.0) == 11
    assert play.clock.now() == 100.0


class Recorder:
    """A cluster that knows no time of its own, as a real one."""

    def __init__(self) -> None:
        self.applied: list[Decision] = []

    def snapshot(self) -> Snapshot:
        return Snapshot()

    def apply(self, decisions: list[Decision]) -> None:
        self.applied += decisions


def test_a_cluster_without_a_time_of_its_own_gets_a_cycle_every_period() -> None:
    clock = VirtualClock()
    loop = Loop(Recorder(), conf(), clock, period=0.5)
    assert loop.run(until=5.0) == 11
    assert clock.now() == 5.0
