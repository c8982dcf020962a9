"""`hekla serve --controllers` on a real API server, without anything of Volcano: what users see."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import Cluster, ControlPlane, Object, wait_until
from harness.manifests import node, pod, queue
from harness.scheduler import Scheduler, grant, running

USER = "hekla-alone"
PATIENCE = 60.0


@pytest.fixture(scope="module")
def _rights(plane: ControlPlane) -> None:
    grant(plane, USER, "evictions", "scheduling-gates", "controllers")


@pytest.fixture
def alone(cluster: Cluster, _rights: None) -> Iterator[Scheduler]:
    cluster.kubelet.add_nodes(*(node(f"n{number}", cpu=8) for number in range(2)))
    with running(cluster.plane, "--controllers", kubeconfig=cluster.plane.kubeconfig(USER)) as scheduler:
        yield scheduler


def job(name: str, replicas: int = 2, *, run_seconds: str = "", exit_code: str = "", **spec: Any) -> Object:
    annotations = {"hekla.dev/run-seconds": run_seconds, "hekla.dev/exit-code": exit_code}
    container = {
        "name": "main",
        "image": "busybox",
        "command": ["sh", "-c", "echo $VC_TASK_INDEX"],
        "resources": {"requests": {"cpu": "1"}},
    }
    template = {
        "metadata": {"annotations": {key: value for key, value in annotations.items() if value}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"tasks": [{"name": "w", "replicas": replicas, "template": template}], **spec},
    }


def apply(cluster: Cluster, *things: Object) -> None:
    for thing in things:
        cluster.plane.kubectl("apply", "-f", "-", stdin=json.dumps(thing))


def status(cluster: Cluster, name: str = "train") -> Object:
    found: Object = cluster.api.get("Job", name).get("status", {})
    return found


def phase(cluster: Cluster, name: str = "train") -> str:
    return str(status(cluster, name).get("state", {}).get("phase", ""))


def reaches(cluster: Cluster, wanted: str, name: str = "train") -> None:
    wait_until(
        lambda: phase(cluster, name) == wanted, PATIENCE, what=f'"{wanted}", not {status(cluster, name)}'
    )


def state(cluster: Cluster, name: str) -> str:
    return str(cluster.api.get("Queue", name).get("status", {}).get("state", ""))


def order(cluster: Cluster, action: str, thing: Object) -> None:
    """As vcctl writes it."""
    meta = thing["metadata"]
    target = {
        "apiVersion": thing["apiVersion"],
        "kind": thing["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
    }
    command = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"generateName": f"{meta['name']}-{action.lower()}-", "namespace": "default"},
        "action": action,
        "target": target,
    }
    cluster.plane.kubectl("create", "-f", "-", stdin=json.dumps(command))


def said(cluster: Cluster, reason: str) -> Callable[[], list[str]]:
    return lambda: [each["message"] for each in cluster.api.list("Event") if each["reason"] == reason]


def whole(kind: str, api_version: str, thing: Object) -> Object:
    return {**thing, "kind": kind, "apiVersion": api_version}


@pytest.mark.usefixtures("alone")
def test_a_job_runs_and_completes_and_kubectl_shows_it(cluster: Cluster) -> None:
    apply(cluster, job("train", 3, run_seconds="1", plugins={"env": [], "svc": []}))
    reaches(cluster, "Completed")
    assert "Completed" in cluster.plane.kubectl("get", "vcjob", "train")
    assert status(cluster)["succeeded"] == 3
    assert not said(cluster, "Unschedulable")()
    wait_until(lambda: not cluster.api.list("PodGroup"), PATIENCE, what="the end of the group")
    made = cluster.pods()["train-w-0"]["spec"]
    assert made["hostname"] == "train-w-0"
    assert made["containers"][0]["command"] == ["sh", "-c", "echo $VC_TASK_INDEX"]
    assert {"VC_TASK_INDEX", "VC_W_HOSTS"} <= {each["name"] for each in made["containers"][0]["env"]}


@pytest.mark.usefixtures("alone")
def test_a_failed_pod_restarts_the_job_until_it_has_no_retry_left(cluster: Cluster) -> None:
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    apply(cluster, job("train", run_seconds="1", exit_code="3", maxRetry=2, policies=policies))
    reaches(cluster, "Failed")
    assert status(cluster)["retryCount"] == 2


@pytest.mark.usefixtures("alone")
def test_an_order_suspends_a_job_and_another_resumes_it(cluster: Cluster) -> None:
    apply(cluster, job("train"))
    reaches(cluster, "Running")
    made = whole("Job", "batch.volcano.sh/v1alpha1", cluster.api.get("Job", "train"))
    order(cluster, "AbortJob", made)
    reaches(cluster, "Aborted")
    assert not cluster.pods()
    order(cluster, "ResumeJob", made)
    reaches(cluster, "Running")
    assert not cluster.api.list("Command")


@pytest.mark.usefixtures("alone")
def test_a_queue_is_closed_and_opened(cluster: Cluster) -> None:
    apply(cluster, queue("lab"))
    wait_until(lambda: state(cluster, "lab") == "Open", PATIENCE, what="an open queue")
    lab = whole("Queue", "scheduling.volcano.sh/v1beta1", cluster.api.get("Queue", "lab"))
    assert lab["spec"]["parent"] == "root"
    order(cluster, "CloseQueue", lab)
    wait_until(lambda: state(cluster, "lab") == "Closed", PATIENCE, what="a closed queue")
    apply(cluster, job("train", queue="lab"))
    wait_until(said(cluster, "Refused"), PATIENCE, what="a refusal")
    order(cluster, "OpenQueue", lab)
    reaches(cluster, "Running")


@pytest.mark.usefixtures("alone")
def test_plain_pods_get_a_group_and_run(cluster: Cluster) -> None:
    cluster.api.create(*(pod(f"plain-{number}") for number in range(3)))
    cluster.wait_for_phases(PATIENCE, plain_0="Running", plain_1="Running", plain_2="Running")
    uids = {each["metadata"]["uid"] for each in cluster.pods().values()}
    assert {each["metadata"]["name"] for each in cluster.api.list("PodGroup")} == {
        f"podgroup-{uid}" for uid in uids
    }


@pytest.mark.usefixtures("alone")
def test_a_job_is_scaled_and_then_deleted(cluster: Cluster) -> None:
    apply(cluster, job("train", 2, minAvailable=1))
    reaches(cluster, "Running")
    apply(cluster, job("train", 4, minAvailable=1))
    wait_until(lambda: status(cluster).get("running") == 4, PATIENCE, what="four pods")
    apply(cluster, job("train", 1, minAvailable=1))
    wait_until(lambda: list(cluster.pods()) == ["train-w-0"], PATIENCE, what="one pod")
    cluster.plane.kubectl("delete", "vcjob", "train", "--wait=false")
    wait_until(lambda: cluster.api.find("Job", "train") is None, PATIENCE, what="the end of the job")
    # Nobody collects garbage here; what the Job owned is taken away by hand, and must not come back.
    cluster.api.delete(*(whole("Pod", "v1", each) for each in cluster.api.list("Pod")))
    wait_until(lambda: not cluster.pods(), PATIENCE, what="the end of its pods")
    apply(cluster, job("next", 1))
    reaches(cluster, "Running", "next")
    assert list(cluster.pods()) == ["next-w-0"]


@pytest.mark.usefixtures("alone")
def test_the_list_of_hosts_grows_with_its_job(cluster: Cluster) -> None:
    apply(cluster, job("train", 1, minAvailable=1, plugins={"svc": []}))
    reaches(cluster, "Running")
    apply(cluster, job("train", 2, minAvailable=1, plugins={"svc": []}))

    def hosts() -> list[str]:
        maps = cluster.api.list("ConfigMap", "default")
        return [text for each in maps for text in each.get("data", {}).values() if "train-w-1" in text]

    wait_until(hosts, PATIENCE, what="the new host")


@pytest.mark.usefixtures("alone")
def test_a_job_gets_its_claim_and_goes_some_time_after_its_end(cluster: Cluster) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    apply(cluster, job("stored", 1, volumes=[{"mountPath": "/data", "volumeClaim": claim}]))
    wait_until(lambda: cluster.api.list("PersistentVolumeClaim"), PATIENCE, what="the claim")
    apply(cluster, job("train", 1, run_seconds="1", ttlSecondsAfterFinished=1))
    reaches(cluster, "Completed")

    def is_going() -> bool:
        found = cluster.api.find("Job", "train")
        return found is None or "deletionTimestamp" in found["metadata"]

    wait_until(is_going, PATIENCE, what="the end of the job")


@pytest.mark.usefixtures("alone")
def test_the_owners_of_plain_pods_are_asked_how_many_start_together(cluster: Cluster) -> None:
    minimum = {"scheduling.volcano.sh/group-min-member": "1"}
    for number, (path, kind) in enumerate(OWNERS.items()):
        owner = cluster.api.request("POST", path, workload(path, kind, minimum))
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": kind,
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        member = pod(f"member-{number}", cpu="100m")
        member["metadata"]["ownerReferences"] = [reference]
        cluster.api.create(member)
    cluster.wait_for_phases(PATIENCE, **{f"member_{number}": "Running" for number in range(len(OWNERS))})


OWNERS = {
    "/apis/apps/v1/namespaces/default/replicasets": "ReplicaSet",
    "/apis/apps/v1/namespaces/default/statefulsets": "StatefulSet",
    "/apis/apps/v1/namespaces/default/daemonsets": "DaemonSet",
    "/apis/batch/v1/namespaces/default/jobs": "Job",
}


def workload(path: str, kind: str, annotations: dict[str, str]) -> Object:
    """A workload of Kubernetes itself, of which nobody makes the pods here."""
    labels = {"app": kind.lower()}
    container = {"name": "main", "image": "none"}
    policy = "Never" if kind == "Job" else "Always"
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], "restartPolicy": policy}}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    service = {"serviceName": "none"} if kind == "StatefulSet" else {}
    return {
        "apiVersion": "/".join(path.split("/")[2:4]),
        "kind": kind,
        "metadata": {"name": kind.lower(), "annotations": annotations},
        "spec": {"template": template, **selector, **service},
    }


def test_a_new_leader_goes_on_where_the_last_one_stopped(cluster: Cluster, alone: Scheduler) -> None:
    apply(cluster, job("train", 2))
    reaches(cluster, "Running")
    alone.server.kill()
    cluster.api.delete(whole("Pod", "v1", cluster.pods()["train-w-0"]))
    wait_until(lambda: "train-w-0" not in cluster.pods(), PATIENCE, what="the end of the pod")
    alone.start()
    wait_until(lambda: cluster.phases().get("train-w-0") == "Running", PATIENCE, what="a new pod")
    reaches(cluster, "Running")
