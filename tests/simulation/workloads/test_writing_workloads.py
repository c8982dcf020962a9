"""What is written is what is read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekla.simulation.workloads import Settings, Workload, generate, nodes_of, read_workload
from hekla.simulation.workloads.model import Workload as Model
from hekla.simulation.workloads.write import WRITERS

EVERYTHING = """
name: everything
queues:
- {name: lab, weight: 3, capability: {cpu: 80}, guarantee: {cpu: 2}, reclaimable: false}
- {name: lab-a, parent: lab}
- {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: odd, labels: {a: b}}}
priorityClasses: [{name: high, value: 9}, {name: never, value: 8, preemptionPolicy: Never}]
nodes: ["3 x cpu=64,memory=64Gi,gpu=8,label.zone=a", "1 x name=big,cpu=96,taint=a=b:NoSchedule"]
objects:
- {apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: s0}, spec: {tier: 1}}
faults: [{at: 5, fail: node-0001, for: 10}, {at: 6, drain: big-0001}, {at: 7, add: 2 x cpu=1}]
hazards: {nodeFailure: 10d, nodeRepair: 2h}
jobs:
- {name: a, duration: 1h, cpu: 1, memory: 1Gi, gpu: 1, pods: 3, queue: lab-a, user: eva, estimate: 2h}
- {name: b, duration: forever, namespace: other, minAvailable: 1, pods: 2, restart: never, checkpoint: 60}
- {name: c, duration: 5, after: a, think: 3, failsAfter: 2, priorityClass: high, topology: {mode: soft}}
- {name: d, duration: 5, requests: {example.com/fpga: 2}, nodeSelector: {zone: a, kind: [x, y]}}
- {name: e, duration: 5, tolerations: ["a=b:NoSchedule"], labels: {a: b}, annotations: {c: d}}
- name: f
  arrival: 0.25
  duration: 5
  roles:
  - {name: ps, pods: 2, cpu: 1, minAvailable: 1}
  - {name: worker, pods: 4, duration: 3, template: {spec: {hostNetwork: true, containers: [{name: x}]}}}
"""


def again(tmp_path: Path, work: Workload, form: str, **options: object) -> Workload:
    file = tmp_path / f"again.{form}"
    with file.open("w") as out:
        WRITERS[form](work, out)
    return read_workload(file, **options)


def same(one: Model, other: Model) -> None:
    assert list(other.jobs()) == list(one.jobs())
    assert {(type(each), each.key): each for each in other.objects} == {
        (type(each), each.key): each for each in one.objects
    }
    assert (other.name, other.faults, other.hazards) == (one.name, one.faults, one.hazards)


@pytest.mark.parametrize("form", ["yaml", "jsonl"])
def test_everything_comes_back(tmp_path: Path, form: str) -> None:
    (tmp_path / "work.yaml").write_text(EVERYTHING)
    work = read_workload(tmp_path / "work.yaml")
    same(work, again(tmp_path, work, form))


@pytest.mark.parametrize("form", ["yaml", "jsonl"])
def test_generated_work_comes_back(tmp_path: Path, form: str) -> None:
    work = generate(Settings(jobs=200, load=0.5), 4, nodes_of("8 x cpu=64,memory=512Gi,gpu=8"))
    same(work, again(tmp_path, work, form))


def test_a_workload_of_nothing_comes_back(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text("name: nothing\n")
    work = read_workload(tmp_path / "work.yaml")
    for form in ("yaml", "jsonl"):
        assert list(again(tmp_path, work, form).jobs()) == []


def test_swf_keeps_processors_memory_users_and_queues(tmp_path: Path) -> None:
    text = """
queues: [lab]
jobs:
- {name: a, duration: 10.5, cpu: 2, memory: 2Mi, pods: 3, queue: lab, user: eva, estimate: 20, restart: job}
- {name: b, arrival: 1, duration: 3, cpu: 500m, user: bob, restart: job, gpu: 1}
"""
    (tmp_path / "work.yaml").write_text(text)
    work = read_workload(tmp_path / "work.yaml")
    file = tmp_path / "again.swf"
    with file.open("w") as out:
        lost = WRITERS["swf"](work, out)
    assert lost == {"a request for nvidia.com/gpu": 1}
    assert file.read_text().splitlines()[-2:] == [
        "1 0 -1 10.5 6 -1 -1 6 20 1024 1 1 -1 -1 1 -1 -1 -1",
        "2 1 -1 3 1 -1 -1 1 -1 -1 1 2 -1 -1 0 -1 -1 -1",
    ]
    a, b = read_workload(file, pod_cpus=2).jobs()
    first = next(work.jobs())
    assert (a.queue, a.run_seconds, a.estimate) == ("lab", 10.5, 20)
    assert a.roles[0].template.spec.containers[0].resources.requests == {"cpu": "2", "memory": "2048Ki"}
    assert (a.pods, a.restart) == (first.pods, first.restart)
    assert (b.queue, b.user) == ("default", "user-2")
