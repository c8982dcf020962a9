"""Workloads written by hand: what a file says is what is handed in, and a mistake is told with its line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from hekla.errors import InputError
from hekla.objects import Node, Queue
from hekla.simulation.workloads import (
    Hazards,
    NodeDrains,
    NodeFails,
    NodesAdded,
    Restart,
    Submission,
    Workload,
    read_workload,
)

VCJOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: {name}
  annotations: {{hekla.dev/arrives-at: "{at}", hekla.dev/run-seconds: "60"}}
spec:
  minAvailable: 3
  policies: [{{event: {event}, action: {action}}}]
  tasks:
  - name: driver
    replicas: 1
    template: {{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 1}}}}}}]}}}}
  - name: worker
    replicas: 4
    template:
      metadata: {{annotations: {{hekla.dev/run-seconds: "30"}}}}
      spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 2}}}}}}]}}
"""


def workload(tmp_path: Path, text: str, name: str = "work.yaml", **options: object) -> Workload:
    file = tmp_path / name
    file.write_text(text)
    return read_workload(file, **options)


def told(tmp_path: Path, text: str, name: str = "work.yaml", **options: object) -> str:
    """What is said about a file that cannot be used, without the folder."""
    with pytest.raises(InputError) as caught:
        list(workload(tmp_path, text, name, **options).jobs())
    return str(caught.value).replace(f"{tmp_path}/", "")


def arrivals(work: Workload) -> list[tuple[str, float]]:
    return [(job.name, job.submitted) for job in work.jobs()]


def requests(job: Submission, role: int = 0) -> dict[str, object]:
    return dict(job.roles[role].template.spec.containers[0].resources.requests)


def test_a_short_job_says_everything_in_one_line(tmp_path: Path) -> None:
    text = """
queues: [research]
priorityClasses: {high: 1000}
jobs:
- name: train
  arrival: 10m
  duration: 1h30m
  pods: 4
  cpu: 8
  memory: 64Gi
  gpu: 2
  queue: research
  user: eva
  namespace: lab
  minAvailable: 3
  priorityClass: high
  estimate: 2h
  checkpoint: 5m
  restart: job
  failsAfter: 20m
  topology: 2
  nodeSelector: {disk: ssd, zone: [a, b]}
  tolerations: ["dedicated=ml:NoSchedule", {key: spot, operator: Exists}]
  labels: {team: x}
"""
    (job,) = workload(tmp_path, text).jobs()
    assert (job.key, job.submitted, job.run_seconds, job.pods, job.minimum) == ("lab/train", 600, 5400, 4, 3)
    assert (job.queue, job.user, job.priority_class, job.estimate) == ("research", "eva", "high", 7200)
    assert (job.checkpoint_seconds, job.restart, job.fails_after) == (300, Restart.JOB, 1200)
    assert job.topology is not None
    assert (job.topology.mode, job.topology.highest_tier_allowed) == ("hard", 2)
    assert job.labels == {"team": "x"}
    assert requests(job) == {"cpu": 8, "memory": "64Gi", "nvidia.com/gpu": 2}
    spec = job.roles[0].template.spec
    assert spec.node_selector == {"disk": "ssd"}
    assert spec.affinity is not None
    assert spec.affinity.node_affinity is not None
    assert spec.affinity.node_affinity.required is not None
    (term,) = spec.affinity.node_affinity.required.node_selector_terms
    assert [(each.key, each.operator, each.values) for each in term.match_expressions] == [
        ("zone", "In", ("a", "b"))
    ]
    assert [(each.key, each.operator, each.effect) for each in spec.tolerations] == [
        ("dedicated", "Equal", "NoSchedule"),
        ("spot", "Exists", ""),
    ]


def test_jobs_come_in_order_of_time_and_repeats_among_them(tmp_path: Path) -> None:
    text = """
jobs:
- {name: late, arrival: 100, duration: 1}
- {name: sweep, arrival: 10, duration: 1, count: 3, every: 1m}
- {name: early, duration: 1}
"""
    work = workload(tmp_path, text)
    expected = [("early", 0), ("sweep-1", 10), ("sweep-2", 70), ("late", 100), ("sweep-3", 130)]
    assert arrivals(work) == expected
    assert arrivals(work) == expected, "a second reading starts afresh"
    assert (work.count, work.account.taken) == (5, 5)


def test_jobs_that_look_alike_share_templates_and_roles(tmp_path: Path) -> None:
    text = """
jobs:
- {name: a, duration: 1, cpu: 2, pods: 3}
- {name: b, duration: 9, cpu: 2, pods: 3, user: eva}
- {name: c, duration: 9, cpu: 2, pods: 4}
"""
    a, b, c = workload(tmp_path, text).jobs()
    assert a.roles[0] is b.roles[0]
    assert a.roles[0].template is c.roles[0].template


def test_roles_have_sizes_and_times_of_their_own(tmp_path: Path) -> None:
    text = """
jobs:
- name: mpi
  duration: 100
  minAvailable: 3
  roles:
  - {name: launcher, cpu: 1, minAvailable: 1}
  - {name: worker, pods: 4, gpu: 1, duration: 90}
"""
    (job,) = workload(tmp_path, text).jobs()
    assert [(role.name, role.replicas, role.min_available, role.run_seconds) for role in job.roles] == [
        ("launcher", 1, 1, None),
        ("worker", 4, None, 90),
    ]
    assert (job.pods, job.minimum) == (5, 3)


@pytest.mark.parametrize(
    ("event", "action", "restart"),
    [
        ("PodEvicted", "RestartJob", Restart.JOB),
        ("PodFailed", "RestartJob", Restart.JOB),
        ("PodFailed", "AbortJob", Restart.NEVER),
        ("PodEvicted", "TerminateJob", Restart.NEVER),
        ("TaskCompleted", "CompleteJob", Restart.POD),
        ("PodEvicted", "RestartTask", Restart.POD),
    ],
)
def test_a_whole_job_says_what_starts_again(
    tmp_path: Path, event: str, action: str, restart: Restart
) -> None:
    (job,) = workload(tmp_path, VCJOB.format(name="vc", at=5, event=event, action=action)).jobs()
    assert job.restart is restart
    assert (job.key, job.submitted, job.run_seconds, job.pods, job.minimum) == ("default/vc", 5, 60, 5, 3)
    assert [(role.name, role.replicas, role.run_seconds) for role in job.roles] == [
        ("driver", 1, None),
        ("worker", 4, 30),
    ]
    assert job.annotations == {}


def test_whole_jobs_stand_among_short_ones(tmp_path: Path) -> None:
    manifest = VCJOB.format(name="vc", at=5, event="PodFailed", action="RestartJob").strip()
    indented = manifest.replace("\n", "\n    ")
    second = manifest.replace("name: vc", "name: vc2").replace("\n", "\n  ")
    text = f"jobs:\n- {{name: a, duration: 1, arrival: 7}}\n- job:\n    {indented}\n- {second}\n"
    assert arrivals(workload(tmp_path, text)) == [("vc", 5), ("vc2", 5), ("a", 7)]


def test_what_stands_beside_a_whole_job_counts_more_than_its_annotations(tmp_path: Path) -> None:
    text = """
jobs:
- arrival: 9
  duration: 2m
  user: eva
  count: 2
  every: 5
  job:
    metadata: {name: vc, annotations: {hekla.dev/run-seconds: "60"}}
    spec: {tasks: [{replicas: 2, template: {spec: {containers: [{name: c}]}}}]}
"""
    work = workload(tmp_path, text)
    assert [(job.name, job.submitted, job.run_seconds, job.user, job.pods) for job in work.jobs()] == [
        ("vc-1", 9, 120, "eva", 2),
        ("vc-2", 14, 120, "eva", 2),
    ]


def test_plain_manifests_are_a_workload(tmp_path: Path) -> None:
    text = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 4, pods: 10}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pair, annotations: {hekla.dev/run-seconds: "40"}}
spec: {minMember: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: pair-0, labels: {app: x}, annotations: {scheduling.k8s.io/group-name: pair}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 1}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: pair-1, labels: {app: x}, annotations: {scheduling.k8s.io/group-name: pair}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 1}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: solo, annotations: {hekla.dev/arrives-at: "3"}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 1}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger}
spec: {schedulerName: default-scheduler, containers: [{name: c}]}
"""
    work = workload(tmp_path, text)
    pair, solo = work.jobs()
    assert (pair.name, pair.pods, pair.minimum, pair.run_seconds) == ("pair", 2, 2, 40)
    assert len(pair.roles) == 1, "pods that differ only by name are one role"
    assert (solo.name, solo.submitted, solo.run_seconds, solo.minimum) == ("solo", 3, 30, 1)
    assert [each.key for each in work.objects] == ["n1"]
    assert work.account.dropped == {"a pending pod of another scheduler": 1}
    assert work.account.changed == {'no run time is said ("hekla.dev/run-seconds"): 30 s are assumed': 1}


def test_queues_nodes_faults_and_hazards_come_with_the_jobs(tmp_path: Path) -> None:
    text = """
name: a bad day
queues:
- {name: lab, weight: 3, capability: {cpu: 8}, deserved: {cpu: 4}, guarantee: {cpu: 2}, reclaimable: false}
- {name: lab-a, parent: lab, priority: 5}
- {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: ops}, spec: {weight: 7}}
nodes: 2 x cpu=4,memory=8Gi
faults:
- {at: 2h, drain: node-0002}
- {at: 1h, fail: node-0001, for: 10m}
- {at: 3h, add: "1 x cpu=8"}
hazards: {nodeFailure: 30d, podFailure: 100h}
jobs: []
"""
    work = workload(tmp_path, text)
    lab, lab_a, ops = (each for each in work.objects if isinstance(each, Queue))
    assert (lab.spec.weight, lab.spec.guarantee.resource, lab.spec.reclaimable) == (3, {"cpu": 2}, False)
    assert (lab_a.spec.parent, lab_a.spec.priority, ops.spec.weight) == ("lab", 5, 7)
    assert [each.key for each in work.objects if isinstance(each, Node)] == ["node-0001", "node-0002"]
    failing, draining, adding = work.faults
    assert failing == NodeFails(3600, "node-0001", 600)
    assert draining == NodeDrains(7200, "node-0002")
    assert isinstance(adding, NodesAdded)
    assert [node.key for node in adding.nodes] == ["added-0001"]
    assert work.hazards == Hazards(node_failure_seconds=2_592_000, pod_failure_seconds=360_000)
    assert (work.name, list(work.jobs())) == ("a bad day", [])


def test_json_is_read_as_yaml_is(tmp_path: Path) -> None:
    data = {"jobs": [{"name": "a", "duration": "forever", "cpu": 1}]}
    (job,) = workload(tmp_path, json.dumps(data, indent="\t"), "work.json").jobs()
    assert job.run_seconds == math.inf
    data["jobs"][0]["cpu"] = "x"
    text = json.dumps(data, indent=2)
    assert told(tmp_path, text, "work.json").startswith('work.json:6: jobs[0].cpu: "x" is not a quantity')


def test_jobs_wait_for_others(tmp_path: Path) -> None:
    text = """
jobs:
- {name: prepare, duration: 10}
- {name: train, duration: 10, after: prepare, think: 1m}
"""
    prepare, train = workload(tmp_path, text).jobs()
    assert (train.after, train.think_seconds) == (prepare.key, 60)


def test_who_waits_for_a_job_beyond_the_limit_does_not_wait(tmp_path: Path) -> None:
    text = """
jobs:
- {name: report, duration: 10, after: train, think: 1m}
- {name: train, arrival: 5, duration: 10}
"""
    cut = workload(tmp_path, text, limit=1)
    (report,) = cut.jobs()
    assert (report.after, report.think_seconds) == ("", 0)
    assert cut.account.changed == {"the job that it waits for is not picked: it does not wait": 1}
    assert next(workload(tmp_path, text, limit=2).jobs()).after == "default/train"


MISTAKES = {
    "a key that is none": (
        "jobs:\n- name: a\n  duraton: 5\n",
        'work.yaml:3: jobs[0].duraton: no such key; did you mean "duration"?',
    ),
    "a key that is none at the top": (
        "nods: 3 x cpu=1\njobs: []\n",
        'work.yaml:1: nods: no such key; did you mean "nodes"?',
    ),
    "a job without a duration": ("jobs:\n- {name: a}\n", 'work.yaml:2: jobs[0]: "duration" is missing'),
    "a negative time": (
        "jobs:\n- name: a\n  duration: 1\n  arrival: -5\n",
        "work.yaml:4: jobs[0].arrival: number -5 is negative; spans of time start at 0",
    ),
    "no span of time": (
        "jobs:\n- {name: a, duration: soon}\n",
        'work.yaml:2: jobs[0].duration: "soon" is not a duration; write it like "90s", "10m" or "1h30m"',
    ),
    "a span of more than a life": (
        "jobs:\n- {name: a, duration: 1e15}\n",
        "work.yaml:2: jobs[0].duration: number 1000000000000000.0 is more than a hundred years; "
        '"forever" says that it never ends',
    ),
    "a span of very many digits": (
        f"jobs:\n- {{name: a, duration: 1, arrival: 1{'0' * 400}}}\n",
        "work.yaml:2: jobs[0].arrival: a number of very many digits is more than a hundred years; "
        '"forever" says that it never ends',
    ),
    "a queue that is not there": (
        "queues: [research]\njobs:\n- {name: a, duration: 1, queue: reserch}\n",
        'work.yaml:3: jobs[0].queue: no queue "reserch"; did you mean "research"?',
    ),
    "a priority class that is not there": (
        "jobs:\n- {name: a, duration: 1, priorityClass: top}\n",
        'work.yaml:2: jobs[0].priorityClass: no priority class "top"; '
        "known: system-cluster-critical, system-node-critical",
    ),
    "a parent that is not there": (
        "queues:\n- {name: a, parent: b}\n",
        'work.yaml:2: queues[0]: no queue "b"; known: a, default, root',
    ),
    "a queue given twice": ("queues: [a, a]\n", 'work.yaml:1: queues[1]: queue "a" is given twice'),
    "one name for two jobs": (
        "jobs:\n- {name: a, duration: 1}\n- {name: a, duration: 1}\n",
        'work.yaml:3: jobs[1].name: two jobs are called "default/a"',
    ),
    "one name for a job and a repeat": (
        "jobs:\n- {name: a, duration: 1, count: 12, every: 1}\n- {name: a-07, duration: 1}\n",
        'work.yaml:3: jobs[1].name: two jobs are called "default/a-07"',
    ),
    "one name for a job and a generated one": (
        "jobs:\n- {name: job-000003, duration: 1}\ngenerate: {jobs: 5}\n",
        'work.yaml:3: generate: job "job-000003" is called as generated jobs are; give these another "name"',
    ),
    "too large a minimum": (
        "jobs:\n- {name: a, duration: 1, pods: 2, minAvailable: 3}\n",
        "work.yaml:2: jobs[0].minAvailable: expected a number from 1 to 2, got number 3",
    ),
    "no quantity": (
        "jobs:\n- name: a\n  duration: 1\n  requests: {cpu: many}\n",
        'work.yaml:4: jobs[0].requests.cpu: "many" is not a quantity; write it like "500m", "2" or "4Gi"',
    ),
    "a wait for an unknown job": (
        "jobs:\n- {name: a, duration: 1, after: b}\n",
        'work.yaml:2: jobs[0].after: no job "default/b"; did you mean "default/a"?',
    ),
    "a wait in a circle": (
        "jobs:\n- {name: a, duration: 1, after: b}\n- {name: b, duration: 1, after: a}\n",
        'work.yaml:2: jobs[0].after: the job waits for itself by way of "default/b"',
    ),
    "a fault of no node": (
        "nodes: 1 x cpu=1\nfaults:\n- {at: 5, fail: node-0002}\n",
        'work.yaml:3: faults[0]: no node "node-0002"; did you mean "node-0001"?',
    ),
    "a fault of two kinds": (
        "faults:\n- {at: 5, fail: a, drain: b}\n",
        'work.yaml:2: faults[0]: expected exactly one of "fail", "drain" and "add"',
    ),
    "repeats without a pause": (
        "jobs:\n- {name: a, duration: 1, count: 3}\n",
        'work.yaml:2: jobs[0]: "every" is missing',
    ),
    "a kind of manifest that is none": (
        "jobs:\n- {apiVersion: batch.volcano.sh/v1alpha1, kind: Jop, metadata: {name: a}}\n",
        'work.yaml:2: jobs[0].kind: no kind "Jop"; did you mean "Job"? known kinds: CSINode, Command, '
        "HyperNode, Job, Namespace, Node, NodeShard, Numatopology, PersistentVolume, "
        "PersistentVolumeClaim, Pod, PodDisruptionBudget, PodGroup, PriorityClass, Queue, ResourceQuota, "
        "StorageClass",
    ),
    "a whole job that a cluster would refuse": (
        "jobs:\n- duration: 5\n  job: {metadata: {name: a}, spec: {tasks: [{replicas: 2}]}}\n",
        "work.yaml:3: jobs[0].job: spec.tasks[0].template.spec.containers: no container; give at least one",
    ),
    "the wrong kind of manifest": (
        "queues:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n",
        "work.yaml:2: queues[0].kind: expected a Queue, got a Node",
    ),
    "nodes that say nothing": (
        "nodes: 3 x cpu\n",
        'work.yaml:1: nodes: "cpu" says nothing; write it like "10 x cpu=32,memory=128Gi,nvidia.com/gpu=8"',
    ),
    "a text in place of the jobs": ("jobs: all\n", 'work.yaml:1: jobs: expected a list, got text "all"'),
    "half a file": (
        "jobs:\n- {name: a, duration: 1}\n- {name: b, dura",
        "work.yaml:4: not YAML: did not find expected ',' or '}' (line 4, column 1)",
    ),
    "a key given twice": (
        "jobs: []\njobs: []\n",
        'work.yaml:2: key "jobs" is given twice; the last one counts',
    ),
    "nothing at all": ("# nothing\n", "work.yaml: nothing in it; expected jobs, or manifests"),
    "load without nodes": (
        "generate: {load: 0.5}\n",
        "work.yaml:1: generate: load: no nodes to load; give nodes, or a rate of jobs per hour",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, mistake: str) -> None:
    text, message = MISTAKES[mistake]
    assert told(tmp_path, text) == message


def test_generated_work_stands_beside_written_jobs(tmp_path: Path) -> None:
    text = """
queues: [{name: research, weight: 9}]
nodes: 4 x cpu=64,memory=512Gi,gpu=8
jobs:
- {name: nightly, arrival: 0, duration: 1h, queue: research}
generate: {jobs: 50, load: 0.5, seed: 3}
"""
    work = workload(tmp_path, text)
    jobs = list(work.jobs())
    assert [job.submitted for job in jobs] == sorted(job.submitted for job in jobs)
    assert (len(jobs), jobs[0].name, work.count) == (51, "nightly", 51)
    weights = {each.key: each.spec.weight for each in work.objects if isinstance(each, Queue)}
    assert weights == {"research": 9, "production": 3, "batch": 1}


def test_a_folder_of_files_is_one_workload(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    (folder / "jobs").mkdir(parents=True)
    (folder / "cluster.yaml").write_text("nodes: 2 x cpu=4\nqueues: [research]\n")
    job = VCJOB.format(name="train", at=10, event="PodFailed", action="RestartJob")
    (folder / "jobs" / "train.yaml").write_text(job)
    work = read_workload(folder)
    (train,) = work.jobs()
    assert (work.name, train.name, train.submitted, train.run_seconds) == ("lab", "train", 10, 60)
    assert len(work.objects) == 3
    (folder / "jobs" / "wrong.yaml").write_text("jobs:\n- {name: a, duration: 1, queue: x}\n")
    with pytest.raises(InputError, match=r'jobs/wrong.yaml:2: jobs\[0\].queue: no queue "x"'):
        read_workload(folder)


def test_a_folder_without_any_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no file of"):
        read_workload(tmp_path)
