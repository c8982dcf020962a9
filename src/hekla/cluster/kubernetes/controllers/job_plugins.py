"""Job plugins: what they add to the pods of a Job, in the order of their names; hcclrank last, it reads RANK.

None changes what a pod asks for. The ports they open are known to the scheduler already (controllers.ports).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

from hekla.cluster.kubernetes.writer import Body
from hekla.controllers.expand import pod_name
from hekla.controllers.ports import RAY_PORTS, argument, port_argument
from hekla.objects import Pod, VolcanoJob
from hekla.objects.batch import TaskSpec
from hekla.objects.keys import TASK_INDEX

ALL_CONTAINERS = ("containers", "initContainers")
HOSTS_FOLDER = "/etc/volcano"
RANK_INDEX = "hccl/rankIndex"


@dataclass(frozen=True)
class PodDraft:
    """A pod that is being made, and where in the Job it stands."""

    body: Body
    job: VolcanoJob
    task: TaskSpec
    index: int

    @property
    def spec(self) -> Body:
        spec: Body = self.body["spec"]
        return spec


def add_to_pod(body: Body, job: VolcanoJob, task: TaskSpec, pod: Pod) -> None:
    """Let every plugin of the Job add its part."""
    draft = PodDraft(body, job, task, int(pod.metadata.annotations[TASK_INDEX]))
    for name in sorted(job.spec.plugins, key=lambda name: (name == "hcclrank", name)):
        if name in PLUGINS:
            PLUGINS[name](draft)


def containers_of(spec: Body, kinds: Sequence[str] = ALL_CONTAINERS) -> Iterator[Body]:
    for kind in kinds:
        yield from spec.get(kind) or []


def set_variables(spec: Body, variables: Sequence[Body], kinds: Sequence[str] = ALL_CONTAINERS) -> None:
    for container in containers_of(spec, kinds):
        container["env"] = [*(container.get("env") or []), *deepcopy(list(variables))]


def variable(name: str, value: object) -> Body:
    return {"name": name, "value": str(value)}


def mount(spec: Body, volume: Body, path: str, kinds: Sequence[str] = ALL_CONTAINERS) -> None:
    """Add a volume, and show it to the containers under a path."""
    spec["volumes"] = [*(spec.get("volumes") or []), volume]
    for container in containers_of(spec, kinds):
        mounts = container.get("volumeMounts") or []
        container["volumeMounts"] = [*mounts, {"name": volume["name"], "mountPath": path}]


def host_name(job: VolcanoJob, task: TaskSpec, index: int) -> str:
    """How a pod is called by the other pods of its Job, once it has a headless service."""
    return f"{pod_name(job, task, index)}.{job.metadata.name}"


def hosts_of(job: VolcanoJob, task: TaskSpec | None) -> list[str]:
    return [host_name(job, task, index) for index in range(task.replicas)] if task is not None else []


def task_named(job: VolcanoJob, name: str) -> TaskSpec | None:
    return next((task for task in job.spec.tasks if task.name == name), None)


def variable_name(task: TaskSpec, ending: str) -> str:
    return f"VC_{task.name.replace('-', '_').upper()}_{ending}"


def hosts_config(job: VolcanoJob) -> str:
    """The name of the ConfigMap with the hosts of all tasks."""
    return f"{job.metadata.name}-svc"


def env(draft: PodDraft) -> None:
    """Every container knows its number within the task."""
    set_variables(draft.spec, [variable(f"{prefix}_TASK_INDEX", draft.index) for prefix in ("VK", "VC")])


def svc(draft: PodDraft) -> None:
    """Every pod has a name on the network, and every container knows the names of all pods."""
    spec, job = draft.spec, draft.job
    spec.setdefault("hostname", draft.body["metadata"]["name"])
    spec.setdefault("subdomain", job.metadata.name)
    names = [variable_name(task, ending) for task in job.spec.tasks for ending in ("HOSTS", "NUM")]
    config = hosts_config(job)
    references = [
        {"name": name, "valueFrom": {"configMapKeyRef": {"name": config, "key": name}}} for name in names
    ]
    set_variables(spec, references)
    mount(spec, {"name": config, "configMap": {"name": config}}, HOSTS_FOLDER)


def pytorch(draft: PodDraft) -> None:
    """The master is the first; the workers count on from there."""
    job = draft.job
    master = task_named(job, argument(job, "pytorch", "master", "master"))
    worker = argument(job, "pytorch", "worker", "worker")
    if master is None:
        return
    variables = [
        variable("MASTER_ADDR", host_name(job, master, 0)),
        variable("MASTER_PORT", port_argument(job, "pytorch", "port", 23456)),
        variable("WORLD_SIZE", sum(task.replicas for task in job.spec.tasks)),
    ]
    if draft.task.name == master.name:
        variables.append(variable("RANK", draft.index))
    elif draft.task.name == worker:
        variables.append(variable("RANK", master.replicas + draft.index))
    set_variables(draft.spec, variables, ("containers",))


def tensorflow(draft: PodDraft) -> None:
    """TF_CONFIG names the hosts of all roles, and the role of this pod; a lonely pod needs none."""
    job = draft.job
    if len(job.spec.tasks) == 1 and job.spec.tasks[0].replicas == 1:
        return
    port = port_argument(job, "tensorflow", "port", 2222)
    roles = ("ps", "worker", "chief", "evaluator")
    task_by_role = {role: task_named(job, argument(job, "tensorflow", role, role)) for role in roles}
    cluster = {
        role: [f"{host}:{port}" for host in hosts_of(job, task)]
        for role, task in task_by_role.items()
        if task
    }
    own = next((role for role, task in task_by_role.items() if task == draft.task), None)
    if own is not None:
        config = {"cluster": cluster, "task": {"type": own, "index": draft.index}}
        set_variables(draft.spec, [variable("TF_CONFIG", json.dumps(config))], ("containers",))


def mpi(draft: PodDraft) -> None:
    """The master knows the workers."""
    job = draft.job
    if draft.task.name == argument(job, "mpi", "master", "master"):
        workers = hosts_of(job, task_named(job, argument(job, "mpi", "worker", "worker")))
        set_variables(draft.spec, [variable("MPI_HOST", ",".join(workers))])


def ray(draft: PodDraft) -> None:
    """The head starts a cluster; the workers join it."""
    job = draft.job
    head = argument(job, "ray", "head", "head")
    port, dashboard, client = (port_argument(job, "ray", name, ours) for name, ours in RAY_PORTS.items())
    address = f"{job.metadata.name}-{head}-0.{job.metadata.name}:{port}"
    if draft.task.name == head:
        start = (
            f"ray start --head --block --dashboard-host=0.0.0.0 --port={port}"
            f" --dashboard-port={dashboard} --ray-client-server-port={client}"
        )
        _start(draft.spec, argument(job, "ray", "headContainer", "head"), start)
    elif draft.task.name == argument(job, "ray", "worker", "worker"):
        start = f"ray start --block --address={address}"
        _start(draft.spec, argument(job, "ray", "workerContainer", "worker"), start)


def _start(spec: Body, name: str, start: str) -> None:
    for container in containers_of(spec, ("containers",)):
        if container.get("name") == name:
            container["command"], container["args"] = ["sh"], ["-c", start]


def hcclrank(draft: PodDraft) -> None:
    """The rank of the pod among all, as an annotation: what is there, else RANK, else by position."""
    annotations = draft.body["metadata"].setdefault("annotations", {})
    annotations.setdefault(RANK_INDEX, _rank_in(draft.spec) or str(_rank_by_position(draft)))


def _rank_in(spec: Body) -> str:
    for container in containers_of(spec, ("containers",)):
        for entry in container.get("env") or []:
            if entry.get("name") == "RANK" and entry.get("value"):
                return str(entry["value"])
    return ""


def _rank_by_position(draft: PodDraft) -> int:
    master = task_named(draft.job, argument(draft.job, "hcclrank", "master", "master"))
    if draft.task.name == argument(draft.job, "hcclrank", "worker", "worker"):
        return draft.index + (master.replicas if master is not None else 0)
    return draft.index


PLUGINS: dict[str, Callable[[PodDraft], None]] = {
    "env": env,
    "svc": svc,
    "pytorch": pytorch,
    "tensorflow": tensorflow,
    "mpi": mpi,
    "ray": ray,
    "hcclrank": hcclrank,
}
