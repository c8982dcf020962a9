"""What a witness of an embedded cluster tells."""

from __future__ import annotations

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.objects import ObjectMeta, PriorityClass
from hekla.scheduler.loop import Loop
from hekla.sim.options import START
from hekla.sim.run import Ending, Run, State
from hekla.sim.witness import Witness
from hekla.testing.builders import job, node, priority_class
from sim.plays import conf_of

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
    witness = Witness(cluster)
    loop = Loop(cluster, conf_of(PREEMPTING), clock)
    loop.run(until=None if until is None else START + until, on_cycle=witness.look)
    return witness.testify("seen", "preempting")
