"""The public API: read manifests, run cycles on an embedded cluster, look at decisions and reasons."""

from __future__ import annotations

from pathlib import Path

from hekla import Bind, EmbeddedCluster, VirtualClock, explain, read_conf, read_manifests, run_cycle
from hekla.objects import VolcanoJob
from hekla.scheduler.loop import Loop

HERE = Path(__file__).parent
CONF, _ = read_conf("")  # An empty text is the built-in default.


def new_cluster(clock: VirtualClock) -> EmbeddedCluster:
    return EmbeddedCluster(read_manifests([HERE / "cluster.yaml"]).objects, clock)


def cycle_by_cycle() -> None:
    """Take snapshots and run cycles by hand; between them happens only what you let happen."""
    clock = VirtualClock()
    cluster = new_cluster(clock)
    for number in (1, 2):
        report = run_cycle(cluster.snapshot(), CONF, now=clock.now())
        cluster.apply(report.decisions)
        print(f"cycle {number}")
        for decision in report.decisions:
            if isinstance(decision, Bind):
                print(f"  {decision.pod} goes to {decision.node}")
    for job in report.session.jobs.values():
        print(explain(report.session, job))


def to_the_end() -> None:
    """Or let the loop do that, one cycle a second of virtual time, until nothing can change any more."""
    clock = VirtualClock()
    cluster = new_cluster(clock)
    cycles = Loop(cluster, CONF, clock).run()
    print(f"{cycles} cycles, {clock.now():.0f} seconds")
    for job in cluster.all_of(VolcanoJob):
        print(f"  {job.metadata.name}: {job.status.state.phase}")


if __name__ == "__main__":
    cycle_by_cycle()
    to_the_end()
