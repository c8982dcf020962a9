"""Job services: the objects that plugins need beside the pods: a headless Service, hosts, a network policy.

They are made before the first pod, refreshed when the Job is scaled, and taken away when it has ended. All
belong to the Job, so they go with it in any case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.context import Tell
from hekla.cluster.kubernetes.controllers.job_plugins import hosts_config, hosts_of, variable_name
from hekla.cluster.kubernetes.writer import Body, owner_body
from hekla.controllers.expand import owner_of
from hekla.controllers.ports import RAY_PORTS, argument, port_argument
from hekla.errors import ClusterError
from hekla.objects import VolcanoJob
from hekla.objects.keys import JOB_NAME, JOB_NAMESPACE, TASK_SPEC

NO_KEYS = (
    'job plugin "ssh" is not supported: hekla makes no keys; mount a Secret with a pair of them at /root/.ssh'
)


@dataclass(frozen=True)
class ServiceObject:
    """An object of a kind that hekla does not follow."""

    folder: str
    body: Body

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.body['metadata']['name']}"


class JobServices:
    """Makes what is missing, once per run and size of a Job."""

    def __init__(self, client: Client, tell: Tell) -> None:
        self._client = client
        self._tell = tell
        self._made: dict[str, tuple[object, asyncio.Task[None]]] = {}

    async def ensure(self, job: VolcanoJob) -> None:
        """Make sure that everything is there; a thousand pods ask and it is made once."""
        if not job.spec.plugins:
            return
        state = (job.metadata.uid, job.status.version, job.spec)
        known = self._made.get(job.key)
        if known is None or known[0] != state:
            known = self._made[job.key] = (state, asyncio.create_task(self._make(job)))
        try:
            await asyncio.shield(known[1])
        except ClusterError:
            if self._made.get(job.key) is known:
                del self._made[job.key]
            raise

    def is_outdated(self, job: VolcanoJob) -> bool:
        """Whether things were made for the Job and it has changed since."""
        known = self._made.get(job.key)
        return known is not None and known[0] != (job.metadata.uid, job.status.version, job.spec)

    def has_some(self, key: str) -> bool:
        return key in self._made

    def forget(self, key: str) -> None:
        self._made.pop(key, None)

    async def clear_away(self, job: VolcanoJob) -> None:
        """The Job has ended."""
        self.forget(job.key)
        for wanted in service_objects_of(job):
            try:
                await self._client.delete(wanted.path)
            except Refused as refusal:
                if refusal.status != 404:
                    raise

    async def _make(self, job: VolcanoJob) -> None:
        if "ssh" in job.spec.plugins:
            self._tell(job, "Warning", "PluginError", NO_KEYS)
        for wanted in service_objects_of(job):
            try:
                await self._client.post(wanted.folder, wanted.body)
            except Refused as refusal:
                if refusal.reason != "AlreadyExists":
                    raise
                if "data" in wanted.body:
                    await self._client.patch(wanted.path, {"data": wanted.body["data"]})


def service_objects_of(job: VolcanoJob) -> Iterator[ServiceObject]:
    """What the plugins of the Job need."""
    space = job.metadata.namespace
    core, network = f"/api/v1/namespaces/{space}", f"/apis/networking.k8s.io/v1/namespaces/{space}"
    if "svc" in job.spec.plugins:
        yield ServiceObject(f"{core}/configmaps", hosts_map(job))
        yield ServiceObject(f"{core}/services", headless_service(job))
        if not flag(job, "svc", "disable-network-policy"):
            yield ServiceObject(f"{network}/networkpolicies", network_policy(job))
    if "ray" in job.spec.plugins:
        yield ServiceObject(f"{core}/services", ray_service(job))


def flag(job: VolcanoJob, plugin: str, name: str) -> bool:
    """A flag that is given, and not as false."""
    words = [word.lstrip("-") for text in job.spec.plugins[plugin] for word in text.split()]
    return name in words or argument(job, plugin, name, "false").lower() == "true"


def _meta(job: VolcanoJob, name: str) -> Body:
    return {
        "name": name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_body(owner_of(job))],
    }


def _own_pods(job: VolcanoJob) -> dict[str, str]:
    return {JOB_NAME: job.metadata.name, JOB_NAMESPACE: job.metadata.namespace}


def hosts_map(job: VolcanoJob) -> Body:
    data: dict[str, str] = {}
    for task in job.spec.tasks:
        hosts = hosts_of(job, task)
        data[f"{task.name}.host"] = "\n".join(hosts)
        data[variable_name(task, "HOSTS")] = ",".join(hosts)
        data[variable_name(task, "NUM")] = str(task.replicas)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _meta(job, hosts_config(job)), "data": data}


def headless_service(job: VolcanoJob) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta(job, job.metadata.name),
        "spec": {
            "clusterIP": "None",
            "selector": _own_pods(job),
            "publishNotReadyAddresses": flag(job, "svc", "publish-not-ready-addresses"),
            "ports": [{"name": "placeholder-volcano", "port": 1, "protocol": "TCP", "targetPort": 1}],
        },
    }


def network_policy(job: VolcanoJob) -> Body:
    """Only pods of the Job reach pods of the Job."""
    own = {"matchLabels": _own_pods(job)}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _meta(job, job.metadata.name),
        "spec": {
            "podSelector": own,
            "ingress": [{"from": [{"podSelector": own}]}],
            "policyTypes": ["Ingress"],
        },
    }


def ray_service(job: VolcanoJob) -> Body:
    names = {"port": "gcs", "dashboardPort": "dashboard", "clientPort": "client"}
    ports = [
        {"name": names[name], "port": port_argument(job, "ray", name, ours), "protocol": "TCP"}
        for name, ours in RAY_PORTS.items()
    ]
    head = {TASK_SPEC: argument(job, "ray", "head", "head")}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta(job, f"{job.metadata.name}-head-svc"),
        "spec": {"selector": _own_pods(job) | head, "ports": ports},
    }
