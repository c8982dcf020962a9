"""Job templates: the pods of a Job as they are sent, from the whole template as its user wrote it.

hekla types only what scheduling reads. Commands, environment, mounts and fields that are younger than this
code must reach the pod all the same, so the Job is read once more as plain data.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import dataclass

import msgspec

from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.kubernetes.controllers.job_plugins import add_to_pod, mount
from hekla.cluster.kubernetes.writer import Body, meta_body
from hekla.controllers.expand import claim_name, task_of
from hekla.errors import ClusterError
from hekla.objects import PersistentVolumeClaim, Pod, VolcanoJob
from hekla.objects.batch import JobSpec
from hekla.objects.pod import ContainerPort


@dataclass(frozen=True)
class _Reading:
    uid: str
    spec: JobSpec
    body: asyncio.Task[Body]


class JobTemplates:
    """Jobs as plain data: read when first needed, and again when the spec has changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._readings: dict[str, _Reading] = {}

    def forget(self, key: str) -> None:
        self._readings.pop(key, None)

    async def of(self, job: VolcanoJob) -> Body:
        """The Job as it stands in the API server; a thousand pods ask for it and it is read once."""
        known = self._readings.get(job.key)
        if known is None or (known.uid, known.spec) != (job.metadata.uid, job.spec):
            known = _Reading(job.metadata.uid, job.spec, asyncio.create_task(self._read(job)))
            self._readings[job.key] = known
        try:
            return await asyncio.shield(known.body)
        except ClusterError:
            if self._readings.get(job.key) is known:
                del self._readings[job.key]
            raise

    async def _read(self, job: VolcanoJob) -> Body:
        data = await self._client.get(RESOURCES[VolcanoJob].path_of(job.key))
        body: Body = msgspec.json.decode(data)
        if body["metadata"]["uid"] != job.metadata.uid:
            raise Refused(404, "NotFound", f"job {job.key} is another one by now")
        return body


def pod_body(whole: Body, job: VolcanoJob, pod: Pod) -> Body:
    """The pod: the template of its task, and laid over it what the Job says."""
    position = next(i for i, task in enumerate(job.spec.tasks) if task.name == task_of(pod))
    if position >= len(whole["spec"].get("tasks") or ()):
        raise ClusterError(f"job {job.key} has lost tasks since it began; give them back")
    template: Body = deepcopy(whole["spec"]["tasks"][position].get("template") or {})
    body: Body = {"metadata": meta_body(pod), "spec": template.get("spec") or {}}
    _name_scheduler(body["spec"], pod)
    _open_ports(body["spec"], pod)
    _mount_claims(body["spec"], job)
    add_to_pod(body, job, job.spec.tasks[position], pod)
    return body


def _name_scheduler(spec: Body, pod: Pod) -> None:
    spec["schedulerName"] = pod.spec.scheduler_name
    if pod.spec.priority_class_name:
        spec["priorityClassName"] = pod.spec.priority_class_name
    if spec.get("hostNetwork") and not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"


def _open_ports(spec: Body, pod: Pod) -> None:
    """The ports that plugins open; what the template opens itself is there already."""
    pairs = [
        *zip(spec.get("containers") or [], pod.spec.containers, strict=False),
        *zip(spec.get("initContainers") or [], pod.spec.init_containers, strict=False),
    ]
    for container, typed in pairs:
        known = {port.get("containerPort") for port in container.get("ports") or []}
        added = [_port_body(port) for port in typed.ports if port.container_port not in known]
        if added:
            container["ports"] = [*(container.get("ports") or []), *added]


def _port_body(port: ContainerPort) -> Body:
    return {"containerPort": port.container_port} | ({"hostPort": port.host_port} if port.host_port else {})


def _mount_claims(spec: Body, job: VolcanoJob) -> None:
    """The Job's volumes in every container; a claim that is given twice is mounted once."""
    path_by_claim: dict[str, str] = {}
    for position, volume in enumerate(job.spec.volumes):
        path_by_claim.setdefault(claim_name(job, position), volume.mount_path)
    for number, (claim, path) in enumerate(path_by_claim.items()):
        name = f"job-volume-{number}"
        source = {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        mount(spec, source, path, kinds=("containers",))


def claim_body(whole: Body, job: VolcanoJob, claim: PersistentVolumeClaim) -> Body:
    """The claim as the Job describes it, in full."""
    positions = range(len(job.spec.volumes))
    position = next(i for i in positions if claim_name(job, i) == claim.metadata.name)
    spec = deepcopy(whole["spec"]["volumes"][position]["volumeClaim"])
    return {"metadata": meta_body(claim), "spec": spec}
