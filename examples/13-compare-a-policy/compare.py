"""A policy of one's own against drf: small jobs first."""

from polars import col

from hekla import Plugin, Settings, answers, compare, frame, simulate
from hekla.comparison import comparison_lines
from hekla.framework.points import JOB_ORDER
from hekla.model.job import Job
from hekla.workloads.settings import PodKind

CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: {policy}
  - name: predicates
  - name: nodeorder
"""


class SmallFirst(Plugin):
    """Whoever has fewest pods goes first."""

    name = "small-first"

    @answers(JOB_ORDER)
    def by_number_of_pods(self, job: Job) -> int:
        return len(job.tasks)


GPU = PodKind((("cpu", "8"), ("memory", "64Gi"), ("nvidia.com/gpu", "1")))
WORK = Settings(jobs=100, load=1.3, daily=0.0, sizes=((1, 6), (4, 3), (16, 2)), pods=(GPU,), priorities=())
CLUSTER = {"nodes": "4 x cpu=64,memory=512Gi,nvidia.com/gpu=8", "plugins": [SmallFirst]}
CONFS = {policy: CONF.format(policy=policy) for policy in ("drf", "small-first")}

jobs = frame(simulate(WORK, CONFS["small-first"], **CLUSTER))
print(
    jobs.group_by("pods")
    .agg(jobs=col("name").len(), wait=(col("started") - col("submitted")).mean())
    .sort("pods")
)
print("\n".join(comparison_lines(compare(WORK, CONFS, seeds=3, **CLUSTER))))
