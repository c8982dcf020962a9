"""What workloads ask for is what the engine gives: jobs of every form run to their end on their nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekla import EmbeddedCluster, VirtualClock, read_conf
from hekla.objects import Node, ObjectMeta, Pod, VolcanoJob
from hekla.objects.batch import JobSpec, TaskSpec
from hekla.scheduler.loop import Loop
from hekla.simulation.workloads import Settings, Submission, Workload, generate, nodes_of, read_workload

PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time\n"
)
MACHINES = (
    "sn,cpu_milli,memory_mib,gpu,model\nplain,96000,786432,0,\nt4,96000,786432,2,T4\ng2,96000,786432,2,G2\n"
)


def as_job(job: Submission) -> VolcanoJob:
    tasks = tuple(
        TaskSpec(name=role.name, replicas=role.replicas, template=role.template) for role in job.roles
    )
    spec = JobSpec(
        queue=job.queue,
        min_available=job.minimum,
        priority_class_name=job.priority_class,
        tasks=tasks,
    )
    return VolcanoJob(metadata=ObjectMeta(name=job.name, namespace=job.namespace), spec=spec)


def played(work: Workload, nodes: list[Node]) -> tuple[dict[str, str], dict[str, str]]:
    """How each job ends, and where each pod ran; all are handed in at once."""
    clock = VirtualClock()
    cluster = EmbeddedCluster([*work.objects, *nodes, *map(as_job, work.jobs())], clock)
    Loop(cluster, read_conf("")[0], clock).run()
    phases = {job.metadata.name: job.status.state.phase for job in cluster.all_of(VolcanoJob)}
    return phases, {pod.metadata.name: pod.spec.node_name for pod in cluster.all_of(Pod)}


@pytest.mark.parametrize("gpu_shares", [False, True])
def test_pods_of_openb_run_on_its_machines(tmp_path: Path, gpu_shares: bool) -> None:
    (tmp_path / "pods.csv").write_text(
        f"{PODS}a,8000,1024,0,0,,BE,Running,100,400,100\n"
        "b,16000,1024,1,220,G2|V100,LS,Running,1,2,1\nc,16000,1024,2,1000,T4,LS,Running,1,2,1\n"
    )
    (tmp_path / "nodes.csv").write_text(MACHINES)
    work = read_workload(tmp_path / "pods.csv", gpu_shares=gpu_shares)
    phases, nodes = played(work, nodes_of(tmp_path / "nodes.csv", gpu_shares=gpu_shares))
    assert phases == dict.fromkeys("abc", "Completed")
    assert (nodes["b-pod-0"], nodes["c-pod-0"]) == ("g2", "t4")


def test_gangs_of_swf_run_in_their_queues(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(
        "; Queue: 1 batch\n1 0 -1 300 7 -1 -1 7 600 1024 1 3 -1 -1 1 -1 -1 -1\n"
        "2 0 -1 300 2 -1 -1 2 600 1024 1 3 -1 -1 4 -1 -1 -1\n"
    )
    work = read_workload(tmp_path / "log.swf", pod_cpus=2)
    phases, nodes = played(work, nodes_of("2 x cpu=8,memory=8Gi"))
    assert phases == {"swf-1": "Completed", "swf-2": "Completed"}
    assert set(nodes) == {
        "swf-1-worker-0",
        "swf-1-worker-1",
        "swf-1-worker-2",
        "swf-1-rest-0",
        "swf-2-worker-0",
    }


def test_selectors_and_tolerations_of_short_jobs_are_heeded(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(
        """
nodes: 1 x name=a,cpu=4,label.zone=a; 1 x name=b,cpu=4,label.zone=b,taint=spot=yes:NoSchedule
jobs:
- {name: one, duration: 5, cpu: 1, nodeSelector: {zone: [b, c]}, tolerations: ["spot=yes:NoSchedule"]}
- {name: two, duration: 5, cpu: 1}
"""
    )
    phases, nodes = played(read_workload(tmp_path / "work.yaml"), [])
    assert phases == {"one": "Completed", "two": "Completed"}
    assert nodes == {"one-worker-0": "b-0001", "two-worker-0": "a-0001"}


def test_generated_jobs_fit_the_nodes_that_they_are_made_for() -> None:
    nodes = nodes_of("2 x cpu=64,memory=512Gi,gpu=8")
    phases, _ = played(generate(Settings(jobs=30, load=0.8), 1, nodes), nodes)
    assert len(phases) == 30
    assert set(phases.values()) == {"Completed"}
