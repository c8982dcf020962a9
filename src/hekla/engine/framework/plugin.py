"""Plugin: opinions that actions ask for. One is built for every session and forgotten after it."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from hekla.engine.framework.points import AnyPoint
from hekla.engine.model.diagnosis import Objection
from hekla.engine.model.task import Task

if TYPE_CHECKING:
    from hekla.engine.framework.figures import QueueFigures
    from hekla.engine.framework.session import Session
    from hekla.engine.ledger.arrays import Floats, Mask
    from hekla.engine.ledger.domains import Domain
    from hekla.engine.model.job import Job, SubJob


@dataclass(frozen=True)
class NoArguments:
    """For plugins and actions that take none."""


@dataclass(frozen=True)
class EvictionContext:
    """The action (`gangpreempt` or `gangreclaim`), the job that needs room, and the network domain."""

    kind: str
    job: Job
    domain: str


class Resolve(Enum):
    """What a plugin promises to say of a node's tasks to other preemptors of a class, during one action.

    A class is tasks of one queue that ask for the same resources, as much or more, with the same priority and
    that of their jobs. Meanwhile the jobs of a node's tasks only lose, in reclaim their queues too; tasks of
    one queue are offered in the same order, and those of other queues are no reason to name more.
    """

    NONE = "nothing: what it says may depend on anything"
    FIRM = "where it has named no task, it goes on naming none"
    HARDENING = "it names fewer and fewer: no task that it has not named before"


class Plugin:
    """Derive, give it a name, and mark methods with `@answers(POINT)`.

    A plugin answers and remembers; it never changes what it is shown. What it keeps (shares,
    counts) it brings up to date in `on_allocate` and `on_release`.
    """

    name: ClassVar[str]
    Arguments: ClassVar[type] = NoArguments
    moving_task_order: ClassVar[bool] = False
    """Whether its order of tasks changes while tasks of a job are being placed."""

    requires_minimums: ClassVar[bool] = False
    """Whether it lets no job or sub-job start, nor count as promised all it needs, below its minimum."""

    keeps_pods: ClassVar[bool] = False
    """Whether it moves pods in the pod ledger when tasks are placed and released."""

    acts_on_time: ClassVar[bool] = False
    """Whether what it says may change while nothing happens but that time passes."""

    reads_load: ClassVar[bool] = False
    """Whether it goes by how busy nodes really are (`session.snapshot.load`), so that this is measured."""

    asks_outside: ClassVar[bool] = False
    """Whether its answers come from other processes, so that a recording does not hold them."""

    hands_out_devices: ClassVar[bool] = False
    """Whether a node's own tools would have to be told which devices it chose; hekla does not do that."""

    may_object: bool = False
    """Whether in this session it may object to a placement, although it can hear of many at once."""

    resolve: Resolve = Resolve.NONE
    """How firm it is about victims; what it refuses firmly to one task is not asked again for its class."""

    def __init__(self, arguments: Any, session: Session, *, hierarchical: bool = False) -> None:
        self.arguments = arguments
        self.session = session
        self.hierarchical = hierarchical

    def on_open(self) -> None:
        """The session is about to run its actions."""

    def on_close(self) -> None:
        """All actions have run; conditions may be written."""

    def on_allocate(self, task: Task) -> str | None:  # noqa: ARG002 - plugins override it
        """A task was placed, promised room, or its eviction undone; a text says why that fails."""
        return None

    def on_allocate_all(self, tasks: Sequence[Task]) -> None:
        """Tasks of one job that look alike were placed: the same as `on_allocate` for each, done at once.

        Only for plugins that never object. Without it, tasks are placed one by one.
        """
        for task in tasks:
            self.on_allocate(task)

    def on_release(self, task: Task) -> None:
        """A task is being evicted, or its placement was undone; its node is still known."""

    def wake_at(self) -> float:
        """When a session may go otherwise although nothing happens until then; asked as this one closes.

        Only for moments that come once. One that acts on time and does not say so is asked now and then.
        """
        return math.inf

    def silent_on(self) -> Collection[AnyPoint | str]:
        """Points, or single answers by the name of their method, that it leaves out as configured."""
        return ()

    def distinguishes(self, task: Task) -> Hashable:  # noqa: ARG002 - plugins override it
        """What else of a task its answers depend on, besides its pod's spec and namespace."""
        return None

    def preemptor_rank(self, task: Task) -> float:  # noqa: ARG002 - plugins override it
        """What else of a preemptor its promise depends on: the promise is for those of no lower rank."""
        return 0.0

    # For people: numbers of its accounts as the cycle left them

    def queue_figures(self) -> Mapping[str, QueueFigures]:
        """By queue, what its account says; nothing for plugins that keep none."""
        return {}

    def deserved_by_queue(self) -> Mapping[str, Mapping[str, float]]:
        """The part of it that says what queues deserve: simulations ask for that alone, and often."""
        figures = self.queue_figures()
        return {queue: of_queue.deserved for queue, of_queue in figures.items()} if figures else {}

    def job_shares(self) -> Mapping[str, float]:
        """By job UID, the part of the cluster that it holds; nothing for plugins that do not go by it."""
        return {}

    # For plugins that order network domains: answers for many at once, which spare trying them all

    def only_choices(
        self,
        job: Job,  # noqa: ARG002 - plugins override it
        sub_job: SubJob,  # noqa: ARG002
        bounds: Sequence[Domain],  # noqa: ARG002
        possible: Mask,  # noqa: ARG002
    ) -> Mask | None:
        """For each bound, whether of its own gradient below it just the bound is possible.

        `possible` has one entry per domain. None means that the gradients have to be asked for one by one.
        """
        return None

    def scores_alone(self, sub_job: SubJob, candidates: Sequence[Domain]) -> Floats | None:  # noqa: ARG002
        """What its hypernode order gives each domain as the only candidate; None: to be asked one by one."""
        return None

    def compares_domains(self, sub_job: SubJob) -> bool:  # noqa: ARG002 - plugins override it
        """Whether its hypernode order may give a domain another score next to others than alone."""
        return True


__all__ = ["EvictionContext", "NoArguments", "Objection", "Plugin", "Resolve"]
