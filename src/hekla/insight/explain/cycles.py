"""Cycles: how far a cluster is let go on until it says of every job that waits what scheduling has to say.

A Job has no pods before it is admitted, so that a first cycle has nothing to say of them, and what a cycle
decides is known to admission only when the next ones have told the PodGroups of it. No time passes.
"""

from __future__ import annotations

from hekla.cluster.embedded import EmbeddedCluster
from hekla.engine.state.snapshot import take_snapshot
from hekla.insight.explain.state import ClusterState
from hekla.insight.plan import with_first_pods
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.scheduler.load.read import LoadReader
from hekla.scheduler.loop import Loop
from hekla.simulation.workloads.manifests import youngest

DAY = 86_400.0
MOST_CYCLES = 20
"""More than any answer needs, should cycles undo what other cycles did."""


def cycle_that_tells(cluster: EmbeddedCluster, loop: Loop, cycles: int | None = None) -> CycleReport:
    """The last of so many cycles; else the first that changes nothing any more."""
    for _ in range(cycles or MOST_CYCLES):
        report = loop.step()
        if cycles is None and cluster.is_settled():
            break
    return report


def cycle_on(state: ClusterState) -> CycleReport:
    """One cycle, of which nothing is carried out; Jobs that are not admitted yet have pods at once."""
    snapshot = take_snapshot(
        with_first_pods(state.given, but_admitted=True),
        shard=state.shard,
        ignored_provisioners=state.ignored_provisioners,
    )
    now = DAY + youngest(state.given) if state.now is None else state.now
    LoadReader(state.conf, state.registry).put_into(snapshot, now)
    return run_cycle(snapshot, state.conf, registry=state.registry, now=now, memory=dict(state.memory))
