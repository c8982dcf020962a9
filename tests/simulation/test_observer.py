"""What a observer of an embedded cluster tells."""

from __future__ import annotations

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.scheduler.loop import Loop
from hekla.simulation.observer import Observer
from hekla.simulation.options import START
from hekla.simulation.run import Ending, Run, State
from hekla.testing.builders import job, node
from simulation.plays import conf_of

PREEMPTING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
"""


def witnessed(*parts, until: float | None = None) -> Run:
    objects = [manifest for part in parts for manifest in getattr(part, "objects", (part,))]
    clock = VirtualClock(START)
    cluster = EmbeddedCluster(objects, clock, options=Options(run_seconds=20, grace_seconds=0))
    observer = Observer(cluster)
    loop = Loop(cluster, conf_of(PREEMPTING), clock)
    loop.run(until=None if until is None else START + until, on_cycle=observer.look)
    return observer.run("seen", "preempting")


def test_jobs_that_run_and_end_are_told_with_their_times():
    run = witnessed(node("n1", cpu=4), job("a", tasks=2, cpu=2), job("b", tasks=1, cpu=4))
    assert run.jobs.names == ["default/a", "default/b"]
    assert run.jobs.state.tolist() == [State.COMPLETED, State.COMPLETED]
    assert run.jobs.started.tolist() == [0, 20]
    assert run.jobs.finished.tolist() == [20, 40]
    assert run.jobs.pods.tolist() == [2, 1]
    assert run.jobs.requests[:, run.resources.index("cpu")].tolist() == [4000, 4000]
    assert (run.pod_runs.ended - run.pod_runs.began).tolist() == [20, 20, 20]
    assert run.is_complete


def test_evictions_are_told():
    low = job("low", tasks=1, min_available=0, cpu=4, running={"n1": 1}, priority=1)
    high = job("high", tasks=1, cpu=4, priority=9, annotations={"hekla.dev/arrives-at": "5"})
    run = witnessed(node("n1", cpu=4), low, high)
    assert run.jobs.evictions.tolist() == [1, 0]
    assert run.pod_runs.ending.tolist() == [Ending.EVICTED, Ending.DONE, Ending.DONE]
    assert run.pod_runs.kept[0] == 0


def test_what_still_runs_and_what_waits_is_told():
    run = witnessed(node("n1", cpu=4), job("a", cpu=4), job("b", cpu=4), until=7)
    assert run.jobs.state.tolist() == [State.RUNNING, State.WAITING]
    assert (run.pod_runs.ending.tolist(), run.pod_runs.ended.tolist()) == ([Ending.CUT], [7])
    assert not run.is_complete
