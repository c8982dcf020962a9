"""WaitLog: which job waited in which group, and what bound each group, row by row."""

from __future__ import annotations

from array import array

import numpy as np

from hekla.engine.model.wait_reason import WaitReason
from hekla.simulation.run import Cause, WaitCauses

NO_ROOM = Cause(WaitReason.NO_ROOM)
FRAGMENTATION = Cause(WaitReason.FRAGMENTATION)
QUEUE_SHARE = Cause(WaitReason.QUEUE_SHARE)


class WaitLog:
    """Grows while a simulation runs; closed, it is what the run knows of waits."""

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self._number_of_cause: dict[Cause, int] = {}
        self._groups = 0
        self._job = array("i")
        self._group = array("i")
        self._since = array("d")
        self._of_group = array("i")
        self._changed = array("d")
        self._cause = array("B")

    def number_of(self, cause: Cause) -> int:
        number = self._number_of_cause.get(cause)
        if number is None:
            number = self._number_of_cause[cause] = len(self.causes)
            self.causes.append(cause)
        return number

    def new_group(self) -> int:
        self._groups += 1
        return self._groups - 1

    def enter(self, job: int, group: int, now: float) -> None:
        """From now on the job waits in the group."""
        self._job.append(job)
        self._group.append(group)
        self._since.append(now)

    def bind(self, group: int, cause: int, now: float) -> None:
        """From now on this is what binds the group."""
        self._of_group.append(group)
        self._changed.append(now)
        self._cause.append(cause)

    def closed(self) -> WaitCauses:
        """As columns; those of groups in order of group and time."""
        of_group, changed = np.array(self._of_group, np.int32), np.array(self._changed)
        order = np.lexsort((changed, of_group))
        return WaitCauses(
            causes=tuple(self.causes),
            job=np.array(self._job, np.int32),
            group=np.array(self._group, np.int32),
            since=np.array(self._since),
            of_group=of_group[order],
            changed=changed[order],
            cause=np.array(self._cause, np.uint8)[order],
        )
