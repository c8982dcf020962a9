"""Samples: the small clusters in which the kit tries a plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Rows
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.objects import Manifest, Node, Toleration
from hekla.testing.builders import PodRole, job, node, queue


@dataclass(frozen=True)
class Sample:
    """A cluster; `others` are all objects but the nodes."""

    title: str
    nodes: tuple[Node, ...]
    others: tuple[Manifest, ...]

    def shuffled(self) -> list[int]:
        """The rows in another order, always the same one."""
        order = np.random.default_rng(len(self.nodes)).permutation(len(self.nodes))
        return [int(at) for at in order]

    def subsets_of_rows(self) -> Iterator[Rows]:
        """Some of the rows: none, each one alone (as the session asks after a placement), and a few more."""
        everything = np.arange(len(self.nodes), dtype=np.intp)
        yield everything[:0]
        for at in range(len(everything)):
            yield slice(at, at + 1)
            yield everything[at : at + 1]
        yield everything[::2]
        yield everything[1:]


def samples() -> Sequence[Sample]:
    """The clusters of the kit, from nothing to a bit of everything."""
    return (empty(), uniform(), mixed())


def empty() -> Sample:
    return Sample("no nodes", (), (queue("default"), *job("train", tasks=2, cpu=1).objects))


def uniform() -> Sample:
    """Equal nodes, two queues, one job that runs and one that waits."""
    return Sample(
        "equal nodes",
        tuple(node(f"n{at}", cpu=4, memory="8Gi") for at in range(4)),
        (
            queue("default"),
            queue("other", weight=3),
            *job("runs", tasks=3, cpu=1, memory="1Gi", min_available=1, running={"n0": 2, "n1": 1}).objects,
            *job("waits", tasks=3, cpu=2, memory="1Gi", min_available=2).objects,
            *job("idle", tasks=1, cpu=1, queue="other", phase="Pending", min_resources={"cpu": 1}).objects,
        ),
    )


def mixed() -> Sample:
    """Labels, taints, devices, priorities, roles, gates, and tasks in every state."""
    gpu_taint = Toleration(key="gpu", operator="Exists")
    return Sample(
        "mixed nodes",
        (
            node("small", cpu=2, memory="4Gi", labels={"zone": "a", "disk": "ssd"}),
            node("gpu", cpu=8, memory="32Gi", gpu=4, labels={"zone": "a"}, taints=["gpu=yes:NoSchedule"]),
            node("large", cpu=16, memory="64Gi", labels={"zone": "b", "disk": "hdd"}),
            node("soft", cpu=8, memory="16Gi", labels={"zone": "b"}, taints=["old=yes:PreferNoSchedule"]),
            node("cordoned", cpu=8, memory="16Gi", unschedulable=True),
            node("full", cpu=1, memory="1Gi", pods=1),
        ),
        (
            queue("default", hierarchy="root/a", hierarchy_weights="1/2"),
            queue("prod", weight=2, guarantee={"cpu": 2}, hierarchy="root/b", hierarchy_weights="1/1"),
            queue("batch", capability={"cpu": 8}, reclaimable=False, priority=1),
            *job("filler", tasks=1, cpu=1, running={"full": 1}, min_available=1).objects,
            *job(
                "train",
                roles=[PodRole("ps", 1, 1, {"cpu": 1}), PodRole("worker", 3, 2, {"cpu": 1, "gpu": 1})],
                min_available=3,
                tolerations=[gpu_taint],
                queue="prod",
                priority=10,
            ).objects,
            *job(
                "web",
                tasks=4,
                cpu=1,
                memory="2Gi",
                min_available=1,
                running={"large": 2, "small": 1},
                labels={"app": "web"},
                priority=5,
                min_resources={"cpu": 1, "memory": "2Gi"},
            ).objects,
            *job("ssd", tasks=2, cpu="500m", node_selector={"disk": "ssd"}, min_available=1).objects,
            *job("leaving", tasks=2, cpu=2, queue="batch", releasing={"soft": 1}, min_available=1).objects,
            *job("bound", tasks=2, cpu=1, queue="batch", bound={"soft": 2}, priority=1).objects,
            *job("nothing", tasks=0, best_effort=2, min_available=1, queue="batch").objects,
            *job("gated", tasks=1, cpu=1, gates=["example.com/wait"], phase="Pending").objects,
            *job("done", tasks=2, cpu=1, succeeded=1, failed=1, min_available=1).objects,
        ),
    )


def placements(session: Session) -> Iterator[tuple[Task, int, Status]]:
    """Pending tasks of jobs, each with a node that has room; every third one is only promised it."""
    waiting = [task for job in session.jobs.values() for task in job.roster.having(Status.PENDING).values()]
    for at, task in enumerate(waiting):
        status = Status.PIPELINED if at % 3 == 2 else Status.ALLOCATED
        room = session.nodes.will_hold(task) & session.nodes.can_hold(task)
        rows = np.flatnonzero(room)
        if len(rows):
            yield task, int(rows[at % len(rows)]), status
