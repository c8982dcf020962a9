"""The jobs on the stage and their pods, as the simulator remembers them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from hekla.objects import Pod, PodGroup, VolcanoJob
from hekla.objects.pod import PodSpec
from hekla.simulation.run import NOTHING, Ending
from hekla.simulation.workloads import Restart


class Doing(Enum):
    """What a pod does."""

    NOT_MADE = "not made yet"
    """Its Job makes it once the PodGroup is admitted."""
    WAITING = "waiting"
    RUNNING = "running"
    LEAVING = "leaving"
    """Evicted; it holds its room for a little longer."""
    DONE = "done"
    GONE = "gone"
    """With its job."""


@dataclass(eq=False, slots=True)
class SimPod:
    """One pod of a job, through all its lives: one that was evicted comes back under the same name."""

    job: SimJob
    number: int
    spec: PodSpec
    """Without a node."""
    shape: int
    work: float
    """Seconds of work in all."""
    manifest: Pod
    doing: Doing = Doing.WAITING
    node: str = ""
    began: float = 0.0
    saved: float = 0.0
    """Seconds of work that nothing can undo."""
    worked: float = 0.0
    """Of a pod that leaves: seconds of work of this stint that count."""
    plans: int = 0
    """Rises whenever what was planned for the pod no longer holds."""
    leaves_as: Ending = Ending.EVICTED
    """Of a pod that leaves: chosen to, or because its job starts again."""
    beneficiary: str = ""
    """For which job it has to leave."""
    is_busy: bool = False
    """It holds a node and will give it up by itself."""
    lives: int = 1
    last_stint: int = NOTHING
    """Its row in the book."""

    @property
    def is_made(self) -> bool:
        return self.doing not in (Doing.NOT_MADE, Doing.GONE)


@dataclass(eq=False, slots=True)
class SimJob:
    """One job: its pods, its PodGroup and its row in the book."""

    key: str
    row: int
    group: PodGroup | None
    """None for pods that belong to no group."""
    restart: Restart
    checkpoint: float | None
    minimum: int
    pods: list[SimPod] = field(default_factory=list)
    running: int = 0
    done: int = 0
    has_started: bool = False
    fails_after: float | None = None
    has_controller: bool = False
    """Its pods are made by a Job's controller, and only while its PodGroup is admitted."""
    manifest: VolcanoJob | None = None
    """The Job as it was handed in, where it was one."""

    @property
    def waits_for_tasks(self) -> bool:
        """Whether some of its pods are made only once others run or are done."""
        return self.manifest is not None and any(task.depends_on for task in self.manifest.spec.tasks)

    @property
    def needed(self) -> int:
        """How many pods have to run for the job to count as started."""
        return max(1, min(self.minimum, len(self.pods)))
