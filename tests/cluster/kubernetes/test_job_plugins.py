"""Job plugins: what they add to a pod, and what stands beside it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from hekla.cluster.admission import default_job
from hekla.cluster.kubernetes.controllers.job_services import service_objects_of
from hekla.cluster.kubernetes.controllers.job_templates import pod_body
from hekla.cluster.kubernetes.writer import Body, merge_patch
from hekla.controllers import pods_of
from hekla.objects import VolcanoJob


def whole_job(plugins: dict[str, list[str]], **replicas: int) -> Body:
    def task(name: str, count: int) -> Body:
        container = {"name": name, "image": "busybox"}
        return {"name": name, "replicas": count, "template": {"spec": {"containers": [container]}}}

    tasks = [task(name, count) for name, count in replicas.items()]
    meta = {"name": "train", "namespace": "x", "uid": "u"}
    return {"metadata": meta, "spec": {"plugins": plugins, "tasks": tasks}}


def pods(plugins: dict[str, list[str]], **replicas: int) -> dict[str, Body]:
    """The pods of the Job as they would be sent."""
    whole = whole_job(plugins, **replicas)
    job = default_job(msgspec.convert(whole, VolcanoJob))
    return {pod.metadata.name: pod_body(whole, job, pod) for pod in pods_of(job)}


def variables(pod: Body) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in pod["spec"]["containers"][0].get("env", [])}


def test_pytorch_ranks_the_workers_after_the_master() -> None:
    made = pods({"pytorch": ["--port=999"]}, master=1, worker=2)
    env = variables(made["train-worker-1"])
    assert env["MASTER_ADDR"] == "train-master-0.train"
    assert (env["MASTER_PORT"], env["WORLD_SIZE"], env["RANK"]) == ("999", "3", "2")
    assert variables(made["train-master-0"])["RANK"] == "0"
    assert made["train-worker-0"]["spec"]["containers"][0]["ports"] == [{"containerPort": 999}]


def test_tensorflow_tells_every_pod_its_role_and_all_hosts() -> None:
    config = json.loads(variables(pods({"tensorflow": []}, ps=1, worker=2)["train-worker-1"])["TF_CONFIG"])
    assert config == {
        "cluster": {
            "ps": ["train-ps-0.train:2222"],
            "worker": ["train-worker-0.train:2222", "train-worker-1.train:2222"],
        },
        "task": {"type": "worker", "index": 1},
    }
    assert "TF_CONFIG" not in variables(pods({"tensorflow": []}, worker=1)["train-worker-0"])


def test_mpi_tells_the_master_its_workers() -> None:
    made = pods({"mpi": []}, master=1, worker=2)
    assert variables(made["train-master-0"])["MPI_HOST"] == "train-worker-0.train,train-worker-1.train"
    assert "MPI_HOST" not in variables(made["train-worker-0"])
    assert made["train-worker-0"]["spec"]["hostname"] == "train-worker-0", "it brings svc"


def test_ray_workers_join_the_head() -> None:
    made = pods({"ray": []}, head=1, worker=1)
    assert "--head" in made["train-head-0"]["spec"]["containers"][0]["args"][1]
    assert "--address=train-head-0.train:6379" in made["train-worker-0"]["spec"]["containers"][0]["args"][1]


@pytest.mark.parametrize(
    ("plugins", "rank"), [({"hcclrank": []}, "2"), ({"hcclrank": [], "pytorch": []}, "2")], ids=str
)
def test_hcclrank_takes_the_rank_or_counts(plugins: dict[str, list[str]], rank: str) -> None:
    made = pods(plugins, master=1, worker=2)
    assert made["train-worker-1"]["metadata"]["annotations"]["hccl/rankIndex"] == rank


def test_the_wall_can_be_left_out() -> None:
    def kinds(*flags: str) -> list[str]:
        whole = whole_job({"svc": list(flags)}, w=1)
        return [wanted.body["kind"] for wanted in service_objects_of(msgspec.convert(whole, VolcanoJob))]

    assert kinds() == ["ConfigMap", "Service", "NetworkPolicy"]
    assert kinds("--disable-network-policy=true") == ["ConfigMap", "Service"]
    assert kinds("--disable-network-policy=false") == ["ConfigMap", "Service", "NetworkPolicy"]


def test_a_merge_patch_takes_away_what_is_gone() -> None:
    before = {"a": 1, "map": {"x": 1, "y": 2}, "list": [1], "same": {"z": 1}}
    after = {"map": {"y": 3}, "list": [2], "same": {"z": 1}, "new": 0}
    assert merge_patch(before, after) == {"a": None, "map": {"x": None, "y": 3}, "list": [2], "new": 0}
