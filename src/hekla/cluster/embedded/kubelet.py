"""Kubelet: bound pods start, run for their time, end; deleted ones vanish after their grace period.

It watches the store and plans what will happen; `fire` carries out what has become due.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from msgspec.structs import replace

from hekla.cluster import conditions
from hekla.cluster.embedded.options import Options, read_exit_code, read_seconds
from hekla.cluster.embedded.timeline import Due, EventLog, Finish, PodDue, PodStart, Timeline, Vanish, called
from hekla.cluster.node_usage import is_finished
from hekla.cluster.store import Store
from hekla.errors import InputError
from hekla.objects import Manifest, Node, Pod, PodGroup
from hekla.objects.complaint import Complaint
from hekla.objects.keys import EXIT_CODE, GROUP_NAME, RUN_SECONDS
from hekla.objects.pod import ContainerState, ContainerStatus, Terminated

DEFAULT_GRACE_SECONDS = 30.0

T = TypeVar("T")


class Kubelet:
    """Looks after all pods of all nodes."""

    def __init__(self, store: Store, timeline: Timeline[Due], log: EventLog, options: Options) -> None:
        self._store = store
        self._timeline = timeline
        self._log = log
        self._options = options

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        if isinstance(after, Node) and before is None:
            for pod in self._store.pods_on(after.metadata.name):
                self._look_after(pod)
        elif isinstance(after, Pod):
            if isinstance(before, Pod) and before.metadata.uid == after.metadata.uid:
                self._heed_change(before, after)
            else:
                self._look_after(after)

    def _look_after(self, pod: Pod) -> None:
        """A pod is seen for the first time, in whatever state it is."""
        if is_terminating(pod):
            self._plan_end(pod)
        elif pod.status.phase == "Running":
            self._plan_finish(pod)
        elif pod.status.phase == "Pending" and pod.spec.node_name:
            self._plan_start(pod)

    def _heed_change(self, before: Pod, after: Pod) -> None:
        if is_terminating(after):
            if not is_terminating(before):
                self._plan_end(after)
        elif after.status.phase == "Running" and before.status.phase != "Running":
            self._plan_finish(after)
        elif after.spec.node_name and not before.spec.node_name:
            self._plan_start(after)

    def _plan_start(self, pod: Pod) -> None:
        due = self._timeline.now + self._options.start_seconds
        self._timeline.plan(due, PodStart(pod.key, pod.metadata.uid))

    def _plan_finish(self, pod: Pod) -> None:
        due = self._timeline.now + self.run_seconds(pod)
        if due < math.inf:
            self._timeline.plan(due, Finish(pod.key, pod.metadata.uid))

    def _plan_end(self, pod: Pod) -> None:
        self._timeline.plan(self._timeline.now + self.grace_of(pod), Vanish(pod.key, pod.metadata.uid))

    def delete(self, pod: Pod) -> None:
        """Start to take the pod away; one that holds nothing is gone at once."""
        if is_terminating(pod):
            return
        if not pod.spec.node_name or is_finished(pod):
            self._store.remove(pod)
            return
        grace = self.grace_of(pod)
        meta = replace(
            pod.metadata,
            deletion_timestamp=self._timeline.moment + timedelta(seconds=grace),
            deletion_grace_period_seconds=math.ceil(grace),
        )
        self._store.put(replace(pod, metadata=meta))

    def grace_of(self, pod: Pod) -> float:
        if self._options.grace_seconds is not None:
            return self._options.grace_seconds
        stated = pod.metadata.deletion_grace_period_seconds
        if stated is None:
            stated = pod.spec.termination_grace_period_seconds
        return DEFAULT_GRACE_SECONDS if stated is None else float(max(stated, 0))

    def run_seconds(self, pod: Pod) -> float:
        return self._stated(pod, RUN_SECONDS, read_seconds, self._options.run_seconds)

    def exit_code(self, pod: Pod) -> int:
        return self._stated(pod, EXIT_CODE, read_exit_code, 0)

    def _stated(self, pod: Pod, key: str, read: Callable[[str], T], default: T) -> T:
        """What an annotation of the pod says, else one of its PodGroup, which carries those of its Job."""
        group_name = pod.metadata.annotations.get(GROUP_NAME, "")
        group = self._store.get(PodGroup, f"{pod.metadata.namespace}/{group_name}")
        for manifest in (pod, group):
            if manifest is None or key not in manifest.metadata.annotations:
                continue
            try:
                return read(manifest.metadata.annotations[key])
            except InputError as error:
                message = f'metadata.annotations["{key}"]: {error}; "{default}" is taken'
                self._log.complain(Complaint(called(manifest), message))
        return default

    def is_still_due(self, due: PodDue) -> bool:
        """Whether the pod is the one that was meant, and still as it was then."""
        pod = self._store.get(Pod, due.key)
        if pod is None or pod.metadata.uid != due.uid:
            return False
        if isinstance(due, Vanish):
            return True
        awaited = "Pending" if isinstance(due, PodStart) else "Running"
        # Where there is no node, no container starts or ends.
        has_node = self._store.get(Node, pod.spec.node_name) is not None
        return has_node and pod.status.phase == awaited and not is_terminating(pod)

    def fire(self, due: PodDue) -> Pod | None:
        """Let it happen; a pod that is gone by it is given back."""
        pod = self._store.get(Pod, due.key)
        if pod is None or not self.is_still_due(due):
            return None
        match due:
            case PodStart():
                self._start(pod)
            case Finish():
                self._finish(pod)
            case Vanish():
                self._log.tell(called(pod), "Deleted", f'gone from node "{pod.spec.node_name}"')
                self._store.remove(pod)
                return pod
        return None

    def _start(self, pod: Pod) -> None:
        now = self._timeline.moment
        started = replace(pod, status=replace(pod.status, phase="Running", start_time=now))
        self._log.tell(called(pod), "Started", f'runs on node "{pod.spec.node_name}"')
        self._store.put(conditions.ready(started, now, is_ready=True))

    def _finish(self, pod: Pod) -> None:
        code = self.exit_code(pod)
        phase = "Failed" if code else "Succeeded"
        status = replace(pod.status, phase=phase)
        if code:
            name = pod.spec.containers[0].name if pod.spec.containers else ""
            ended = ContainerStatus(name=name, state=ContainerState(terminated=Terminated(exit_code=code)))
            status = replace(status, container_statuses=(ended,))
        message = f'ended on node "{pod.spec.node_name}"' + (f' with exit code "{code}"' if code else "")
        self._log.tell(called(pod), phase, message)
        self._store.put(conditions.ready(replace(pod, status=status), self._timeline.moment, is_ready=False))


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None
