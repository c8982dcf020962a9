"""Commands of the controllers, carried out in the store."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hekla.cluster.embedded.intake import Intake
from hekla.cluster.embedded.kubelet import Kubelet
from hekla.cluster.embedded.timeline import EventLog, called
from hekla.cluster.store import Store
from hekla.controllers import (
    Command,
    CreateClaim,
    CreatePod,
    DeleteJob,
    DeletePod,
    DeletePodGroup,
    PutJobStatus,
    PutPodGroup,
    PutQueue,
    RecordEvent,
)
from hekla.objects import Manifest, PersistentVolumeClaim, Pod, PodGroup, Queue
from hekla.objects.batch import JobStatus
from hekla.objects.keys import OUT_OF_SYNC


class Commands:
    """Does what a controller wants done."""

    def __init__(self, store: Store, intake: Intake, kubelet: Kubelet, log: EventLog) -> None:
        self._store = store
        self._intake = intake
        self._kubelet = kubelet
        self._log = log

    def carry_out(self, commands: Iterable[Command]) -> None:
        for command in commands:
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        match command:
            case CreatePod(pod):
                self._create_pod(pod)
            case DeletePod(key, uid, out_of_sync):
                self._delete_pod(key, uid, out_of_sync=out_of_sync)
            case PutPodGroup(pod_group):
                self._put_pod_group(pod_group)
            case DeletePodGroup(key):
                self._delete_pod_group(key)
            case CreateClaim(claim):
                self._intake.claim(claim)
            case PutJobStatus(key, status):
                self._put_status(key, status)
            case DeleteJob(key, uid):
                self.delete_job(key, uid)
            case PutQueue(queue):
                self._put_queue(queue)
            case RecordEvent():
                self._record(command)

    def _record(self, event: RecordEvent) -> None:
        # Jobs have a namespace, queues have none.
        kind = "job" if "/" in event.key else "queue"
        self._log.tell(f"{kind} {event.key}", event.reason, event.message)

    def _create_pod(self, pod: Pod) -> None:
        if self._store.get(Pod, pod.key) is None:
            self._intake.pod(pod)

    def _delete_pod_group(self, key: str) -> None:
        group = self._store.get(PodGroup, key)
        if group is not None:
            self._store.remove(group)

    def _delete_pod(self, key: str, uid: str, *, out_of_sync: bool) -> None:
        pod = self._store.get(Pod, key)
        if pod is None or pod.metadata.uid != uid:
            return
        if out_of_sync:
            annotations = pod.metadata.annotations | {OUT_OF_SYNC: "true"}
            pod = replace(pod, metadata=replace(pod.metadata, annotations=annotations))
            self._store.put(pod)
        self._log.tell(called(pod), "Killing", "deleted by its job")
        self._kubelet.delete(pod)

    def _put_pod_group(self, pod_group: PodGroup) -> None:
        if self._store.get(PodGroup, pod_group.key) is None:
            self._intake.pod_group(pod_group)
        else:
            self._store.put(pod_group)

    def _put_status(self, key: str, status: JobStatus) -> None:
        job = self._store.job(key)
        if job is None:
            return
        before, after = job.status.state.phase, status.state.phase
        if before != after:
            self._log.tell(called(job), after, f'phase "{before}" -> "{after}"' if before else "created")
        self._store.put(replace(job, status=status))

    def _put_queue(self, queue: Queue) -> None:
        known = self._store.queue(queue.metadata.name)
        if known is not None and known.status.state != queue.status.state:
            message = f'state "{known.status.state}" -> "{queue.status.state}"'
            self._log.tell(called(queue), queue.status.state, message)
        self._store.put(queue)

    def delete_job(self, key: str, uid: str) -> None:
        """Delete a Job and all it owns."""
        job = self._store.job(key)
        if job is None or job.metadata.uid != uid:
            return
        self._log.tell(called(job), "Deleted", "gone with all it owned")
        self._store.remove(job)
        for pod in self._store.pods(job):
            self._kubelet.delete(pod)
        for kind in (PodGroup, PersistentVolumeClaim):
            for owned in [each for each in self._store.all_of(kind) if is_owned(each, uid)]:
                self._store.remove(owned)


def is_owned(manifest: Manifest, uid: str) -> bool:
    return any(owner.uid == uid for owner in manifest.metadata.owner_references)
