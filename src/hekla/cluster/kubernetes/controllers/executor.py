"""Executor: commands of the controllers become writes; the view shows each as done from that moment on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from hekla.cluster.admission import default_pod_group
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.context import ControllerContext
from hekla.cluster.kubernetes.controllers.job_services import JobServices
from hekla.cluster.kubernetes.controllers.job_templates import JobTemplates, claim_body, pod_body
from hekla.cluster.kubernetes.controllers.job_writes import JobWrites
from hekla.cluster.kubernetes.controllers.view import ControllerView
from hekla.cluster.kubernetes.outbox import Write, WriteRank
from hekla.cluster.kubernetes.writer import Body, group_spec_body, merge_patch, meta_body, suppress_refusals
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
from hekla.controllers.phases import FINISHED, Phase, phase_of
from hekla.controllers.requests import job_owner
from hekla.errors import ClusterError
from hekla.objects import (
    Manifest,
    Namespace,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    Queue,
    VolcanoJob,
)
from hekla.objects.batch import JobStatus
from hekla.objects.keys import CLOSED_BY_PARENT, OUT_OF_SYNC

logger = logging.getLogger("hekla.cluster")


TRIES = 15
PAUSE = 2.0


class KubernetesExecutor:
    """Carries out commands; what belongs to a Job goes through its writes."""

    def __init__(
        self,
        context: ControllerContext,
        view: ControllerView,
        templates: JobTemplates,
        services: JobServices,
        writes: JobWrites,
    ) -> None:
        self._context = context
        self._view = view
        self._templates = templates
        self._services = services
        self._writes = writes
        self._queue_states = QueueStates(context, view)

    def carry_out(self, commands: Iterable[Command]) -> None:
        for command in commands:
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        match command:
            case CreatePod(pod):
                self._create_pod(pod)
            case DeletePod(key, uid):
                self._delete_pod(key, uid)
            case PutPodGroup(pod_group):
                self._put_pod_group(pod_group)
            case DeletePodGroup(key):
                self._delete_pod_group(key)
            case CreateClaim(claim):
                self._create_claim(claim)
            case PutJobStatus(key, status):
                self._put_status(key, status)
            case DeleteJob(key, uid):
                self._delete_job(key, uid)
            case PutQueue(queue):
                self._queue_states.put(queue)
            case RecordEvent():
                self._record(command)

    def _record(self, event: RecordEvent) -> None:
        # Jobs have a namespace, queues have none.
        kind: type[Manifest] = VolcanoJob if "/" in event.key else Queue
        manifest = self._view.facts.get(kind, event.key)
        if manifest is not None:
            self._context.tell(manifest, event.type, event.reason, event.message)

    # Pods

    def _create_pod(self, pod: Pod) -> None:
        if self._view.store.get(Pod, pod.key) is None:
            self._view.ask_for(pod)
            self._make(pod, "FailedCreate", partial(self._pod_body, pod))

    async def _pod_body(self, pod: Pod) -> Body:
        job = self._job_of(pod)
        await self._services.ensure(job)
        return pod_body(await self._templates.of(job), job, pod)

    def _delete_pod(self, key: str, uid: str) -> None:
        pod = self._view.store.get(Pod, key)
        if pod is None or pod.metadata.uid != uid:
            return
        self._view.send_away(Pod, key, uid)
        # One that is only asked for goes as soon as it has come.
        if uid:
            self._send_away(pod, "FailedDelete", partial(self._write_deletion, key, uid))

    async def _write_deletion(self, key: str, uid: str) -> None:
        """Marked first, so that its deletion is known to be meant; then deleted."""
        mark = {"metadata": {"uid": uid, "annotations": {OUT_OF_SYNC: "true"}}}
        with suppress_refusals(404, 409):
            await self._context.writer.change(Pod, key, mark)
        await self._context.writer.delete(Pod, key, uid)

    # PodGroups and claims

    def _put_pod_group(self, group: PodGroup) -> None:
        if self._view.store.get(PodGroup, group.key) is None:
            group = default_pod_group(group, self._view.facts.by_key(Namespace))
            self._view.ask_for(group)
            self._make(group, "PodGroupError", partial(self._group_body, group))
        elif group.metadata.uid:
            self._view.expect_group(group.key, group.spec)
            undo = partial(self._view.expect_group, group.key, None)
            self._writes.send(_owner_key(group), "PodGroupError", partial(self._refresh, group.key), undo)

    async def _group_body(self, group: PodGroup) -> Body:
        return {"metadata": meta_body(group), "spec": group_spec_body(group.spec)}

    async def _refresh(self, key: str) -> None:
        fact, wanted = self._view.facts.pod_group(key), self._view.group_spec_of(key)
        if fact is None or wanted is None:
            return
        patch = merge_patch(group_spec_body(fact.spec), group_spec_body(wanted))
        if patch:
            await self._context.writer.change(PodGroup, key, {"spec": patch})
        if self._view.group_spec_of(key) == wanted:
            self._view.expect_group(key, None)

    def _delete_pod_group(self, key: str) -> None:
        group = self._view.store.get(PodGroup, key)
        if group is None:
            return
        uid = group.metadata.uid
        self._view.send_away(PodGroup, key, uid)
        if uid:
            self._send_away(group, "PodGroupError", partial(self._write_end, PodGroup, key, uid))

    async def _write_end(self, kind: type[Manifest], key: str, uid: str) -> None:
        await self._context.writer.delete(kind, key, uid)

    def _create_claim(self, claim: PersistentVolumeClaim) -> None:
        self._view.ask_for(claim)
        self._make(claim, "PVCError", partial(self._claim_body, claim))

    async def _claim_body(self, claim: PersistentVolumeClaim) -> Body:
        job = self._job_of(claim)
        return claim_body(await self._templates.of(job), job, claim)

    # Writes that belong to a Job

    def _make(self, manifest: Manifest, reason: str, body: Callable[[], Awaitable[Body]]) -> None:
        undo = partial(self._give_up, manifest)
        self._writes.send(_owner_key(manifest), reason, partial(self._write_new, manifest, body), undo)

    async def _write_new(self, manifest: Manifest, body: Callable[[], Awaitable[Body]]) -> None:
        kind, key = type(manifest), manifest.key
        if self._view.is_unwanted(kind, key):
            self._never_mind(manifest)
            return
        await self._context.writer.make_sure(kind, manifest.metadata.namespace, await body())
        unwanted = self._view.has_come(kind, key)
        if unwanted is not None:
            end = self._write_deletion if kind is Pod else partial(self._write_end, kind)
            self._send_away(manifest, "FailedDelete", partial(end, key, unwanted))

    def _never_mind(self, manifest: Manifest) -> None:
        """Its Job wants it no longer, and waits to see it gone."""
        self._view.has_come(type(manifest), manifest.key)
        self._writes.look_again(_owner_key(manifest))

    def _give_up(self, manifest: Manifest) -> None:
        self._view.has_come(type(manifest), manifest.key)

    def _send_away(self, manifest: Manifest, reason: str, write: Write) -> None:
        undo = partial(self._view.keep, type(manifest), manifest.key)
        self._writes.send(_owner_key(manifest), reason, write, undo)

    # Jobs

    def _put_status(self, key: str, status: JobStatus) -> None:
        job = self._view.store.job(key)
        if job is None:
            return
        if phase_of(status) in (*FINISHED, Phase.ABORTED) and self._services.has_some(key):
            self._context.outbox.put(
                WriteRank.POD_GROUP, f"services of job {key}", partial(self._clear_away, job)
            )
        self._writes.put_status(key, status)

    async def _clear_away(self, job: VolcanoJob) -> None:
        try:
            await self._services.clear_away(job)
        except ClusterError as error:
            # They belong to the Job, and go with it at the latest.
            logger.warning("job %s: services not taken away: %s", job.key, error)

    def _delete_job(self, key: str, uid: str) -> None:
        self._view.send_away(VolcanoJob, key, uid)
        self._context.outbox.put(
            WriteRank.OBJECT, f"end of job {key}", partial(self._write_end_of_job, key, uid)
        )

    async def _write_end_of_job(self, key: str, uid: str) -> None:
        try:
            if self._context.is_current():
                await self._context.writer.delete(VolcanoJob, key, uid, "Foreground")
        except ClusterError as error:
            logger.warning("job %s cannot be deleted: %s", key, error)
            self._view.keep(VolcanoJob, key)

    def refresh_services(self, job: VolcanoJob) -> None:
        """The Job has been scaled: its list of hosts is no longer right."""
        if self._services.is_outdated(job):
            self._context.outbox.put(
                WriteRank.POD_GROUP, f"services of job {job.key}", partial(self._renew_services, job)
            )

    async def _renew_services(self, job: VolcanoJob) -> None:
        try:
            await self._services.ensure(job)
        except ClusterError as error:
            self._context.tell(job, "Warning", "PluginError", str(error))

    def _job_of(self, manifest: Manifest) -> VolcanoJob:
        job = self._view.store.job(_owner_key(manifest))
        if job is None or job.metadata.deletion_timestamp is not None:
            raise Refused(404, "NotFound", f"{manifest.key}: its job is gone")
        return job


def _owner_key(manifest: Manifest) -> str:
    """The Job that the object belongs to."""
    owner = job_owner(manifest)
    return f"{manifest.metadata.namespace}/{owner.name}" if owner is not None else manifest.key


class QueueStates:
    """Writes what the queue controller wants."""

    def __init__(self, context: ControllerContext, view: ControllerView) -> None:
        self._context = context
        self._view = view

    def put(self, queue: Queue) -> None:
        name = queue.metadata.name
        self._view.expect_queue(name, queue)
        self._context.outbox.put(WriteRank.QUEUE, f"state of queue {name}", partial(self._write, name))

    async def _write(self, name: str) -> None:
        """No controller would ask again, so this is tried for a while."""
        for again in reversed(range(TRIES)):
            fact, wanted = self._view.facts.queue(name), self._view.queue_of(name)
            if fact is None or wanted is None or not self._context.is_current():
                return
            try:
                await self._write_once(fact, wanted)
            except ClusterError as error:
                logger.warning("queue %s: state not written: %s", name, error)
                if not again:
                    self._context.tell(fact, "Warning", "SyncQueue", str(error))
                    self._view.expect_queue(name, None)
                await asyncio.sleep(PAUSE)
            else:
                if self._view.queue_of(name) == wanted:
                    self._view.expect_queue(name, None)
                    return

    async def _write_once(self, fact: Queue, wanted: Queue) -> None:
        patch: Body = {}
        if fact.spec.parent != wanted.spec.parent:
            patch["spec"] = {"parent": wanted.spec.parent}
        mark = wanted.metadata.annotations.get(CLOSED_BY_PARENT)
        if mark is not None and mark != fact.metadata.annotations.get(CLOSED_BY_PARENT):
            patch["metadata"] = {"annotations": {CLOSED_BY_PARENT: mark}}
        writer = self._context.writer
        if patch:
            await writer.change(Queue, fact.key, patch)
        if fact.status.state != wanted.status.state:
            await writer.change(Queue, fact.key, {"status": {"state": wanted.status.state}}, "status")
