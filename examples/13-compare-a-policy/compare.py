"""A policy of one's own, small jobs first, played on made-up work and compared with drf."""

from polars import col

from hekla import Settings, compare, frame, simulate
from hekla.insight.compare import comparison_lines
from hekla.plugin import JOB_ORDER, Plugin, answers
from hekla.simulation.workloads.generator_form import Durations, PodKind, QueueMix


class SmallFirst(Plugin):
    name = "small-first"

    @answers(JOB_ORDER)
    def by_number_of_pods(self, job):
        return len(job.tasks)


CONF = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: {policy}
  - name: predicates
"""
CONFS = {policy: CONF.format(policy=policy) for policy in ("drf", "small-first")}
CLUSTER = {"nodes": "4 x cpu=64,memory=512Gi,nvidia.com/gpu=8", "plugins": [SmallFirst]}
WORK = Settings(
    jobs=60,
    load=2.0,
    daily=0.0,
    durations=Durations("exponential", typical=1200.0),
    sizes=((1, 6), (4, 3), (8, 2)),
    pods=(PodKind((("cpu", "8"), ("nvidia.com/gpu", "1"))),),
    queues=(QueueMix("default"),),
)
jobs = frame(simulate(WORK, CONFS["small-first"], **CLUSTER))
waits = jobs.with_columns(wait=col("started") - col("submitted")).group_by("pods")
print(waits.agg(jobs=col("name").len(), wait=col("wait").mean().round()).sort("pods"))
print("\n".join(comparison_lines(compare(WORK, CONFS, seeds=4, **CLUSTER))))
