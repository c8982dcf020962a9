"""The embedded cluster: objects come in, decisions are carried out, time passes, nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import Conf
from hekla.engine.framework.decisions import (
    Bind,
    Decision,
    Evict,
    Nominate,
    Tell,
    UpdatePodGroup,
    UpdateQueue,
)
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.errors import InputError
from hekla.objects import (
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    Queue,
    ResourceQuota,
    VolcanoCommand,
    VolcanoJob,
    seconds,
)
from hekla.objects.read import read_text
from hekla.objects.scheduling import PodGroupStatus

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}
"""


def pod(name: str, *, cpu: object = 1, annotations: str = "", spec: str = "", status: str = "") -> str:
    container = f"{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}"
    return (
        "apiVersion: v1\nkind: Pod\n"
        f"metadata: {{name: {name}, annotations: {{{annotations}}}}}\n"
        f"spec: {{schedulerName: volcano, containers: [{container}], {spec}}}\n"
        f"status: {{{status}}}\n"
    )


def job(name: str, *, replicas: int = 2, fields: str = "", annotations: str = "", policies: str = "") -> str:
    template = "{spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}"
    return (
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n"
        f"metadata: {{name: {name}, annotations: {{{annotations}}}}}\n"
        f"spec:\n  tasks: [{{name: w, replicas: {replicas}, template: {template}}}]\n"
        f"  policies: [{policies}]\n" + "".join(f"  {field}\n" for field in fields.split(";"))
    )


def queue(name: str, **spec: str) -> str:
    fields = ", ".join(f"{key}: {value}" for key, value in spec.items())
    kind = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue"
    return f"{kind}\nmetadata: {{name: {name}}}\nspec: {{{fields}}}\n"


def group(name: str, queue: str = "default") -> str:
    kind = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup"
    return f"{kind}\nmetadata: {{name: {name}}}\nspec: {{minMember: 1, queue: {queue}}}\n"


def cluster(*texts: str, clock: VirtualClock | None = None, **options: object) -> EmbeddedCluster:
    reading = read_text("---\n".join(texts), "test.yaml")
    assert reading.complaints == []
    chosen = Options(**options)  # type: ignore[arg-type]
    return EmbeddedCluster(reading.objects, clock or VirtualClock(), options=chosen)


def told(embedded: EmbeddedCluster) -> list[str]:
    return [str(complaint) for complaint in embedded.complaints]


def the_pod(embedded: EmbeddedCluster, name: str) -> Pod:
    found = embedded.get(Pod, f"default/{name}")
    assert found is not None
    return found


def phases(embedded: EmbeddedCluster) -> dict[str, str]:
    return {each.metadata.name: each.status.phase for each in embedded.all_of(Pod)}


def reasons(embedded: EmbeddedCluster, name: str) -> list[str]:
    return [event.reason for event in embedded.events if event.object == name]


def bind(embedded: EmbeddedCluster, *names: str, node: str = "n1") -> None:
    embedded.apply([Bind(f"default/{name}", the_pod(embedded, name).metadata.uid, node) for name in names])


def evict(embedded: EmbeddedCluster, name: str) -> None:
    victim = the_pod(embedded, name)
    embedded.apply(
        [Evict(victim.key, victim.metadata.uid, victim.spec.node_name, "preempt", "default/other")]
    )


def admit(embedded: EmbeddedCluster, phase: str = "Inqueue") -> None:
    """What the scheduler does to every PodGroup that waits."""
    waiting = [each for each in embedded.all_of(PodGroup) if each.status.phase in ("", "Pending")]
    embedded.apply([UpdatePodGroup(each.key, PodGroupStatus(phase=phase)) for each in waiting])


def phase_of(embedded: EmbeddedCluster, name: str) -> str:
    found = embedded.get(VolcanoJob, f"default/{name}")
    assert found is not None
    return found.status.state.phase


def test_root_and_default_queue_are_always_there() -> None:
    queues = {each.metadata.name: each for each in cluster(queue("team")).all_of(Queue)}
    assert sorted(queues) == ["default", "root", "team"]
    assert {each.status.state for each in queues.values()} == {"Open"}
    assert (queues["team"].spec.parent, queues["default"].spec.parent) == ("root", "root")


def test_a_child_queue_may_stand_before_its_parent() -> None:
    embedded = cluster(queue("leaf", parent="mid"), queue("mid", parent="top"), queue("top"))
    assert told(embedded) == []
    assert len(embedded.all_of(Queue)) == 5


def test_cyclic_queues_are_refused_and_the_rest_goes_on() -> None:
    embedded = cluster(queue("a", parent="b"), queue("b", parent="a"), queue("c", parent="a"), queue("fine"))
    assert sorted(each.metadata.name for each in embedded.all_of(Queue)) == ["default", "fine", "root"]
    assert told(embedded) == [
        'queue a: left out: spec.parent: queue "b" lies below "a"; queues cannot form a circle',
        'queue b: left out: spec.parent: queue "a" lies below "b"; queues cannot form a circle',
        'queue c: left out: spec.parent: no way leads from "a" to "root"',
    ]


def test_a_queue_whose_parent_is_missing_is_refused() -> None:
    (complaint,) = told(cluster(queue("a", parent="nowhere")))
    assert complaint.startswith('queue a: left out: spec.parent: no queue "nowhere"; known queues:')


def test_without_admission_everything_is_taken_as_it_stands() -> None:
    embedded = cluster(queue("a", parent="b"), queue("b", parent="a"), admission=False)
    assert len(embedded.all_of(Queue)) == 4
    embedded.snapshot()


def test_a_refused_job_is_told_and_its_neighbour_comes_in() -> None:
    embedded = cluster(job("bad", fields="minAvailable: 9"), job("good"))
    assert [each.key for each in embedded.all_of(VolcanoJob)] == ["default/good"]
    assert told(embedded) == [
        'job default/bad: left out: spec.minAvailable: "9" is above the "2" replicas of all tasks'
    ]


def test_a_job_of_a_billion_pods_is_refused() -> None:
    (complaint,) = told(cluster(job("huge", replicas=1_000_000_000)))
    assert complaint.startswith('job default/huge: left out: spec.tasks: "1000000000" replicas are too many')


def test_uids_come_from_names_and_creation_times_keep_the_order_of_loading() -> None:
    embedded = cluster(pod("b"), pod("a"), clock=VirtualClock(100.0))
    first, second = embedded.all_of(Pod)
    assert (first.metadata.uid, second.metadata.uid) == ("default-b", "default-a")
    assert (
        100.0
        <= seconds(first.metadata.creation_timestamp)
        < seconds(second.metadata.creation_timestamp)
        < 101
    )


def test_two_pods_that_claim_one_uid_are_both_kept() -> None:
    texts = [pod(name).replace(f"name: {name},", f"name: {name}, uid: same,") for name in "ab"]
    embedded = cluster(*texts)
    assert [each.metadata.uid for each in embedded.all_of(Pod)] == ["same", "default-b"]
    assert told(embedded) == [
        'pod default/b: metadata.uid: "same" belongs to default/a; it gets one of its own'
    ]
    assert len(embedded.snapshot().tasks) == 2


def test_priorities_come_from_their_class() -> None:
    high = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\n"
    embedded = cluster(
        pod("a", spec="priorityClassName: high"),
        pod("b", spec="priorityClassName: high, priority: 7"),
        pod("c"),
        pod("d", spec="priorityClassName: absent"),
        high + "value: 1000\npreemptionPolicy: Never\n",
    )
    by_name = {each.metadata.name: each.spec for each in embedded.all_of(Pod)}
    assert [by_name[name].priority for name in "abcd"] == [1000, 7, 0, 0]
    assert (by_name["a"].preemption_policy, by_name["c"].preemption_policy) == (
        "Never",
        "PreemptLowerPriority",
    )
    assert told(embedded)[0].startswith('pod default/d: spec.priorityClassName: no priority class "absent"')


def test_the_default_class_is_for_every_pod() -> None:
    usual = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: usual}\n"
    embedded = cluster(usual + "value: 5\nglobalDefault: true\n", pod("a"))
    assert the_pod(embedded, "a").spec.priority == 5


def test_a_plain_pod_gets_a_pod_group() -> None:
    embedded = cluster(queue("team"), pod("a", annotations='"scheduling.volcano.sh/queue-name": team'))
    (made,) = embedded.all_of(PodGroup)
    assert (made.metadata.name, made.spec.queue, made.spec.min_member) == ("podgroup-default-a", "team", 1)
    assert the_pod(embedded, "a").metadata.annotations["scheduling.k8s.io/group-name"] == "podgroup-default-a"
    assert embedded.snapshot().jobs["default/podgroup-default-a"].queue == "team"


def test_pods_of_other_schedulers_are_load_only_where_they_sit() -> None:
    other = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {schedulerName: other, nodeName: %s}\n"
    snapshot = cluster(NODE, other % ("bound", "n1"), other % ("free", '""')).snapshot()
    assert [task.name for task in snapshot.tasks] == ["bound"]
    assert snapshot.jobs == {}


def test_a_pod_that_no_scheduler_takes_is_told() -> None:
    embedded = cluster("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n")
    assert told(embedded) == [
        'pod default/p: spec.schedulerName: names no scheduler; write "volcano" to have it scheduled'
    ]


def test_an_object_that_exists_already_is_left_out() -> None:
    embedded = cluster(NODE)
    embedded.submit(read_text(NODE, "again.yaml").objects)
    assert told(embedded) == ["node n1: left out: an object of this kind and name exists already"]


def test_objects_arrive_when_they_say_so() -> None:
    embedded = cluster(pod("late", annotations='"hekla.dev/arrives-at": "90.5"'), clock=VirtualClock(1000.0))
    assert embedded.all_of(Pod) == []
    assert embedded.next_event_at() == 1090.5
    embedded.advance(1090.0)
    assert embedded.all_of(Pod) == []
    embedded.advance(1100.0)
    assert seconds(the_pod(embedded, "late").metadata.creation_timestamp) == pytest.approx(1090.5)


def test_an_arrival_that_is_no_number_is_told_and_happens_at_once() -> None:
    embedded = cluster(pod("p", annotations='"hekla.dev/arrives-at": soon'))
    assert phases(embedded) == {"p": "Pending"}
    assert (
        'metadata.annotations["hekla.dev/arrives-at"]: "soon" is not a number of seconds' in told(embedded)[0]
    )


def test_a_pod_group_that_names_a_missing_queue_waits_and_is_told_once() -> None:
    embedded = cluster(group("g", "nowhere"), pod("p", annotations='"scheduling.k8s.io/group-name": g'))
    for _ in range(3):
        assert embedded.snapshot().jobs == {}
    (complaint,) = told(embedded)
    assert 'podgroup default/g: spec.queue: asks for queue "nowhere", which does not exist' in complaint
    embedded.submit(read_text(queue("nowhere"), "cure.yaml").objects)
    assert len(embedded.snapshot().jobs["default/g"].tasks) == 1


def test_a_pod_that_names_a_missing_pod_group_waits_and_is_told() -> None:
    embedded = cluster(pod("p", annotations='"scheduling.k8s.io/group-name": nowhere'))
    embedded.snapshot()
    assert told(embedded) == [
        'pod default/p: names pod group "default/nowhere", which does not exist; it waits'
    ]
    assert not embedded.is_idle()


def test_a_pod_on_a_missing_node_is_told_and_stays_until_the_node_comes() -> None:
    embedded = cluster(pod("p", spec="nodeName: n1"), pod("q", spec="nodeName: n1", status="phase: Running"))
    embedded.snapshot()
    assert [text for text in told(embedded) if "sits on node" in text] == [
        f'pod default/{name}: spec.nodeName: sits on node "n1", which does not exist' for name in "pq"
    ]
    embedded.advance(1000.0)
    assert phases(embedded) == {"p": "Pending", "q": "Running"}
    embedded.submit(read_text(NODE, "node.yaml").objects)
    embedded.advance(2000.0)
    assert phases(embedded) == {"p": "Succeeded", "q": "Succeeded"}


def test_a_node_without_allocatable_takes_nothing() -> None:
    embedded = cluster("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n", pod("p"))
    embedded.snapshot()
    bind(embedded, "p")
    assert the_pod(embedded, "p").spec.node_name == ""
    assert embedded.events[-1].message == ('bind refused: node "n1" has not enough cpu (asked 1000, free 0)')


def test_a_bound_pod_starts_runs_and_ends() -> None:
    embedded = cluster(NODE, pod("p", annotations='"hekla.dev/run-seconds": "12.5"'))
    bind(embedded, "p")
    bound = the_pod(embedded, "p")
    assert (bound.spec.node_name, bound.status.phase) == ("n1", "Pending")
    assert [(each.type, each.status) for each in bound.status.conditions] == [("PodScheduled", "True")]
    embedded.advance(0.0)
    assert phases(embedded) == {"p": "Running"}
    assert embedded.next_event_at() == 12.5
    embedded.advance(60.0)
    assert phases(embedded) == {"p": "Succeeded"}
    assert reasons(embedded, "pod default/p") == ["Scheduled", "Started", "Succeeded"]
    assert embedded.is_idle()


RUNS = [
    ("a pod that says nothing runs for the default", "", "Succeeded", 30.0),
    ("a pod may run for ever", '"hekla.dev/run-seconds": forever', "Running", None),
    ("a time that is none falls back to the default", '"hekla.dev/run-seconds": long', "Succeeded", 30.0),
    ("a pod may fail", '"hekla.dev/exit-code": "3"', "Failed", 30.0),
    ("a pod may end at once", '"hekla.dev/run-seconds": "0"', "Succeeded", 0.0),
]


@pytest.mark.parametrize(("notes", "phase", "end"), [row[1:] for row in RUNS], ids=[row[0] for row in RUNS])
def test_how_pods_end(notes: str, phase: str, end: float | None) -> None:
    embedded = cluster(NODE, pod("p", annotations=notes))
    bind(embedded, "p")
    embedded.advance(1000.0)
    assert phases(embedded) == {"p": phase}
    ends = [event.time for event in embedded.events if event.reason in ("Succeeded", "Failed")]
    assert ends == ([] if end is None else [end])


def test_a_failed_pod_tells_its_exit_code() -> None:
    embedded = cluster(NODE, pod("p", annotations='"hekla.dev/exit-code": "137"'))
    bind(embedded, "p")
    embedded.advance(100.0)
    (status,) = the_pod(embedded, "p").status.container_statuses
    assert status.state.terminated is not None
    assert status.state.terminated.exit_code == 137


def test_starting_may_take_a_while() -> None:
    embedded = cluster(NODE, pod("p"), start_seconds=5.0)
    bind(embedded, "p")
    embedded.advance(4.9)
    assert phases(embedded) == {"p": "Pending"}
    embedded.advance(5.0)
    assert phases(embedded) == {"p": "Running"}


REFUSED: list[tuple[str, Decision, str]] = [
    ("a pod that is gone", Bind("default/gone", "x", "n1"), "bind refused: the pod does not exist"),
    (
        "a pod of another uid",
        Bind("default/free", "old", "n1"),
        'bind refused: the pod of uid "old" is gone, "default-free" is another',
    ),
    (
        "a pod that is bound already",
        Bind("default/bound", "default-bound", "n1"),
        'bind refused: the pod is bound to node "n1" already',
    ),
    (
        "a node that does not exist",
        Bind("default/free", "default-free", "n9"),
        'bind refused: node "n9" does not exist',
    ),
    (
        "a node that is too small",
        Bind("default/large", "default-large", "n1"),
        'bind refused: node "n1" has not enough cpu (asked 99000, free 3000)',
    ),
    (
        "an eviction of a pod that is gone",
        Evict("default/gone", "x", "n1", "preempt"),
        "evict refused: the pod",
    ),
    ("a nomination of a pod that is gone", Nominate("default/gone", "x", "n1"), "nominate refused: the pod"),
    ("news for a pod that is gone", Tell("default/gone", "x", "Unschedulable", "m"), "tell refused: the pod"),
    (
        "a pod group that is gone",
        UpdatePodGroup("default/gone", PodGroupStatus()),
        "the pod group does not exist",
    ),
]


@pytest.mark.parametrize(
    ("decision", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_decision_that_the_facts_forbid_is_refused_and_told(decision: Decision, reason: str) -> None:
    embedded = cluster(NODE, pod("free"), pod("bound", spec="nodeName: n1"), pod("large", cpu=99))
    before = embedded.all_of(Pod)
    embedded.apply([decision])
    assert embedded.all_of(Pod) == before
    assert embedded.events[-1].reason == "Refused"
    assert reason in embedded.events[-1].message


def test_one_batch_of_binds_never_overfills_a_node() -> None:
    embedded = cluster(NODE, *(pod(f"p{i}") for i in range(6)))
    bind(embedded, *(f"p{i}" for i in range(6)))
    assert sum(bool(each.spec.node_name) for each in embedded.all_of(Pod)) == 4
    assert [event.reason for event in embedded.events].count("Refused") == 2


def test_room_that_a_pod_leaves_can_be_used_again() -> None:
    embedded = cluster(NODE, pod("a", cpu=4), pod("b", cpu=4))
    bind(embedded, "a")
    embedded.advance(30.0)
    bind(embedded, "b")
    assert the_pod(embedded, "b").spec.node_name == "n1"


def test_a_gate_of_the_scheduler_opens_and_others_do_not() -> None:
    ours = "scheduling.volcano.sh/queue-allocation-gate"
    embedded = cluster(
        NODE,
        pod("a", spec=f'schedulingGates: [{{name: "{ours}"}}]'),
        pod("b", spec='schedulingGates: [{name: "example.com/wait"}]'),
    )
    bind(embedded, "a", "b")
    assert the_pod(embedded, "a").spec.scheduling_gates == ()
    assert the_pod(embedded, "a").spec.node_name == "n1"
    assert the_pod(embedded, "b").spec.node_name == ""


def test_an_evicted_pod_leaves_after_its_grace_period_and_comes_back() -> None:
    embedded = cluster(NODE, pod("p", spec="terminationGracePeriodSeconds: 10"))
    bind(embedded, "p")
    embedded.advance(1.0)
    evict(embedded, "p")
    leaving = the_pod(embedded, "p")
    assert seconds(leaving.metadata.deletion_timestamp) == 11.0
    assert {each.type: each.reason for each in leaving.status.conditions if each.reason} == {
        "Ready": "Evict",
        "DisruptionTarget": "PreemptionByScheduler",
    }
    embedded.advance(10.9)
    assert the_pod(embedded, "p").metadata.uid == "default-p"
    embedded.advance(11.0)
    back = the_pod(embedded, "p")
    assert (back.metadata.uid, back.spec.node_name, back.status.phase) == ("default-p~2", "", "Pending")
    assert back.metadata.deletion_timestamp is None
    assert back.metadata.annotations["scheduling.k8s.io/group-name"] == "podgroup-default-p"


@pytest.mark.parametrize(("options", "left"), [({}, ["p"]), ({"recreate_evicted": False}, [])])
def test_whether_evicted_pods_come_back_is_an_option(options: dict[str, object], left: Sequence[str]) -> None:
    embedded = cluster(NODE, pod("p"), grace_seconds=0.0, **options)
    bind(embedded, "p")
    embedded.advance(1.0)
    evict(embedded, "p")
    embedded.advance(2.0)
    assert list(phases(embedded)) == left


def test_a_pod_that_is_on_no_node_cannot_be_evicted() -> None:
    embedded = cluster(NODE, pod("p"))
    evict(embedded, "p")
    assert embedded.events[-1].message == "evict refused: the pod is on no node"
    assert phases(embedded) == {"p": "Pending"}


def test_a_pod_on_its_way_out_neither_ends_nor_is_evicted_again() -> None:
    embedded = cluster(NODE, pod("p", annotations='"hekla.dev/run-seconds": "5"'))
    bind(embedded, "p")
    embedded.advance(1.0)
    evict(embedded, "p")
    evict(embedded, "p")
    assert embedded.events[-1].message == "evict refused: the pod is on its way out"
    embedded.advance(29.0)
    assert phases(embedded) == {"p": "Running"}


def test_nominations_and_news_are_written_on_the_pod() -> None:
    embedded = cluster(NODE, pod("p"))
    news = Tell("default/p", "default-p", "Unschedulable", "0/1 nodes fit")
    embedded.apply([Nominate("default/p", "default-p", "n1"), news])
    embedded.apply([news])
    status = the_pod(embedded, "p").status
    assert status.nominated_node_name == "n1"
    assert [(each.type, each.status, each.message) for each in status.conditions] == [
        ("PodScheduled", "False", "0/1 nodes fit")
    ]
    assert reasons(embedded, "pod default/p") == ["FailedScheduling"]
    bind(embedded, "p")
    assert the_pod(embedded, "p").status.nominated_node_name == ""


def test_what_a_queue_holds_is_written_as_quantities() -> None:
    embedded = cluster()
    embedded.apply([UpdateQueue("default", {"cpu": 1500, "memory": 1024, "pods": 2, "nvidia.com/gpu": 3000})])
    found = embedded.get(Queue, "default")
    assert found is not None
    assert found.status.allocated == {"cpu": "1500m", "memory": "1024", "pods": "2", "nvidia.com/gpu": "3"}


def test_the_pods_of_a_job_appear_once_its_group_is_admitted() -> None:
    embedded = cluster(NODE, job("train"))
    assert embedded.all_of(Pod) == []
    (made,) = embedded.all_of(PodGroup)
    assert (made.metadata.name, made.spec.min_member) == ("train-default-train", 2)
    admit(embedded, "Pending")
    assert embedded.all_of(Pod) == []
    admit(embedded, "Inqueue")
    assert phases(embedded) == {"train-w-0": "Pending", "train-w-1": "Pending"}
    assert the_pod(embedded, "train-w-0").spec.priority == 0


def test_a_job_runs_and_completes_and_its_group_goes() -> None:
    embedded = cluster(NODE, job("train", annotations='"hekla.dev/run-seconds": "7"'))
    admit(embedded)
    bind(embedded, "train-w-0", "train-w-1")
    embedded.advance(0.0)
    assert phase_of(embedded, "train") == "Running"
    embedded.advance(7.0)
    assert phase_of(embedded, "train") == "Completed"
    assert embedded.all_of(PodGroup) == []
    assert set(phases(embedded).values()) == {"Succeeded"}
    assert embedded.is_idle()
    assert not embedded.snapshot().tasks


def test_an_evicted_pod_of_a_job_is_made_anew_by_its_job() -> None:
    embedded = cluster(NODE, job("train"))
    admit(embedded)
    bind(embedded, "train-w-0", "train-w-1")
    embedded.advance(1.0)
    embedded.apply([UpdatePodGroup("default/train-default-train", PodGroupStatus(phase="Running"))])
    evict(embedded, "train-w-0")
    embedded.advance(31.0)
    assert the_pod(embedded, "train-w-0").metadata.uid == "default-train-w-0~2"
    assert the_pod(embedded, "train-w-0").spec.node_name == ""
    found = embedded.get(VolcanoJob, "default/train")
    assert found is not None
    assert found.status.retry_count == 0


def test_a_failure_restarts_the_job_where_its_policy_says_so() -> None:
    embedded = cluster(
        NODE,
        job(
            "train",
            annotations='"hekla.dev/run-seconds": "5", "hekla.dev/exit-code": "1"',
            policies="{event: PodFailed, action: RestartJob}",
            fields="maxRetry: 2",
        ),
        grace_seconds=1.0,
    )
    for _ in range(2):
        admit(embedded)
        waiting = [each.metadata.name for each in embedded.all_of(Pod) if not each.spec.node_name]
        bind(embedded, *waiting)
        embedded.advance(embedded.now + 10.0)
    assert phase_of(embedded, "train") == "Failed"
    assert [reason for reason in reasons(embedded, "job default/train") if reason != "ExecuteAction"] == [
        "Pending",
        "Running",
        "Restarting",
        "Pending",
        "Running",
        "Restarting",
        "Failed",
    ]


def test_a_policy_may_wait() -> None:
    policy = "{event: PodPending, timeout: 1m, action: AbortJob}"
    embedded = cluster(NODE, job("train", policies=policy))
    admit(embedded)
    assert embedded.next_event_at() == pytest.approx(60.0)
    embedded.advance(61.0)
    assert phase_of(embedded, "train") == "Aborted"


def test_a_finished_job_is_deleted_after_its_time_to_live() -> None:
    notes = '"hekla.dev/run-seconds": "5"'
    embedded = cluster(NODE, job("train", annotations=notes, fields="ttlSecondsAfterFinished: 20"))
    admit(embedded)
    bind(embedded, "train-w-0", "train-w-1")
    embedded.advance(24.0)
    assert len(embedded.all_of(VolcanoJob)) == 1
    embedded.advance(25.0)
    assert (embedded.all_of(VolcanoJob), embedded.all_of(Pod), embedded.all_of(PodGroup)) == ([], [], [])
    assert embedded.next_event_at() is None


def test_a_job_obeys_commands() -> None:
    embedded = cluster(NODE, job("train"), grace_seconds=2.0)
    admit(embedded)
    bind(embedded, "train-w-0", "train-w-1")
    embedded.advance(1.0)
    embedded.command("default/train", "AbortJob")
    assert phase_of(embedded, "train") == "Aborting"
    embedded.advance(5.0)
    assert phase_of(embedded, "train") == "Aborted"
    embedded.command("default/train", "ResumeJob")
    assert len(embedded.all_of(PodGroup)) == 1
    with pytest.raises(InputError, match='no job "default/nobody"'):
        embedded.command("default/nobody", "AbortJob")


def test_a_gang_of_thousands_is_created_and_started_in_a_moment() -> None:
    wide = NODE.replace("cpu: 4", "cpu: 4000").replace("pods: 10", "pods: 4000")
    embedded = cluster(wide, job("big", replicas=2000))
    admit(embedded)
    bind(embedded, *(f"big-w-{i}" for i in range(2000)))
    embedded.advance(100.0)
    assert phase_of(embedded, "big") == "Completed"


def test_a_deleted_job_takes_everything_with_it() -> None:
    embedded = cluster(NODE, job("train"))
    admit(embedded)
    embedded.delete(embedded.all_of(VolcanoJob)[0])
    assert (embedded.all_of(VolcanoJob), embedded.all_of(Pod), embedded.all_of(PodGroup)) == ([], [], [])


def test_a_closed_queue_closes_those_below_and_opens_them_again() -> None:
    embedded = cluster(queue("team"), queue("leaf", parent="team"), group("g", "leaf"))
    embedded.close_queue("team")
    states = {each.metadata.name: each.status.state for each in embedded.all_of(Queue)}
    assert (states["team"], states["leaf"]) == ("Closed", "Closing")
    embedded.delete(embedded.all_of(PodGroup)[0])
    assert embedded.all_of(Queue)[-1].status.state == "Closed"
    embedded.open_queue("team")
    assert {each.status.state for each in embedded.all_of(Queue)} == {"Open"}
    with pytest.raises(InputError, match='no queue "nowhere"; known queues: default, leaf, root, team'):
        embedded.close_queue("nowhere")


def test_a_quota_counts_what_living_pods_use() -> None:
    hard = "{cpu: 10, requests.cpu: 10, pods: 5, requests.nvidia.com/gpu: 1}"
    quota = f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q}}\nspec: {{hard: {hard}}}\n"
    embedded = cluster(NODE, quota, pod("a", cpu="1500m"), pod("b", cpu=1))
    found = embedded.snapshot().all_of(ResourceQuota)[0]
    assert found.status.used == {
        "cpu": "2500m",
        "requests.cpu": "2500m",
        "pods": 2,
        "requests.nvidia.com/gpu": 0,
    }
    bind(embedded, "a")
    embedded.advance(100.0)
    assert embedded.all_of(ResourceQuota)[0].status.used["cpu"] == 1


STORAGE = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: large}
spec: {capacity: {storage: 100Gi}, accessModes: [ReadWriteOnce], storageClassName: local}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: elsewhere}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  nodeAffinity:
    required: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
"""


def test_a_claim_that_waits_is_bound_with_its_first_pod_where_the_pod_is() -> None:
    user = pod("p", spec="volumes: [{persistentVolumeClaim: {claimName: data}}]")
    embedded = cluster(NODE, STORAGE, user, ignored_provisioners=("kubernetes.io/no-provisioner",))
    assert embedded.all_of(PersistentVolumeClaim)[0].status.phase == ""
    bind(embedded, "p")
    (claim,) = embedded.all_of(PersistentVolumeClaim)
    assert (claim.status.phase, claim.spec.volume_name) == ("Bound", "large")
    volume = embedded.get(PersistentVolume, "large")
    assert volume is not None
    assert volume.spec.claim_ref is not None
    assert volume.spec.claim_ref.name == "data"


MADE = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: made}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: n1}
spec: {drivers: [{name: csi.example.com, nodeID: n1, allocatable: {count: 1}}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {storageClassName: made}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: b}
spec: {storageClassName: made}
"""


def test_a_volume_that_was_made_stays_attached_and_a_bind_beyond_the_limit_is_refused() -> None:
    pods = [pod(name, spec=f"volumes: [{{persistentVolumeClaim: {{claimName: {name}}}}}]") for name in "ab"]
    embedded = cluster(NODE, MADE, *pods)
    bind(embedded, "a", "b")
    assert [the_pod(embedded, name).spec.node_name for name in "ab"] == ["n1", ""]
    assert "attachable-volumes-csi-csi.example.com" in str(
        told(embedded) + [e.message for e in embedded.events]
    )


def test_a_claim_that_does_not_wait_is_bound_at_once() -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {}\n"
    (bound,) = cluster(claim).all_of(PersistentVolumeClaim)
    assert (bound.status.phase, bound.spec.volume_name) == ("Bound", "pvc-default-c")


def test_the_pods_of_a_lost_node_come_back_and_none_is_lost() -> None:
    embedded = cluster(NODE, pod("p"), job("train"))
    admit(embedded)
    bind(embedded, "p", "train-w-0", "train-w-1")
    embedded.advance(1.0)
    embedded.apply([UpdatePodGroup("default/train-default-train", PodGroupStatus(phase="Running"))])
    embedded.delete(embedded.all_of(Node)[0])
    assert phases(embedded) == {"p": "Pending", "train-w-0": "Pending", "train-w-1": "Pending"}
    assert all(not each.spec.node_name for each in embedded.all_of(Pod))


def test_everything_happens_in_order_of_time_however_far_time_jumps() -> None:
    notes = '"hekla.dev/run-seconds": "%s", "hekla.dev/arrives-at": "%s"'
    embedded = cluster(NODE, *(pod(f"p{i}", annotations=notes % (10 - i, i)) for i in range(4)))
    embedded.advance(5.0)
    bind(embedded, *(f"p{i}" for i in range(4)))
    embedded.advance(1e9)
    times = [event.time for event in embedded.events]
    assert times == sorted(times)
    assert set(phases(embedded).values()) == {"Succeeded"}


def test_a_cluster_is_settled_until_something_changes_that_a_cycle_would_see() -> None:
    embedded = cluster(NODE, pod("p"))
    assert not embedded.is_settled()
    embedded.snapshot()
    assert embedded.is_settled()
    embedded.apply(
        [Tell("default/p", "default-p", "Unschedulable", "no room"), UpdateQueue("default", {"cpu": 1})]
    )
    assert embedded.is_settled()
    bind(embedded, "p")
    assert not embedded.is_settled()


def test_what_a_session_supposes_is_gone_with_the_next_snapshot() -> None:
    embedded = cluster(NODE, pod("p"))
    [task] = embedded.snapshot().tasks
    session = Session(embedded.snapshot(), Conf(actions=()))
    session.put(task, 0, Status.ALLOCATED)
    [task] = embedded.snapshot().tasks
    assert (task.status, task.node_name) == (Status.PENDING, "")


def test_an_order_among_the_objects_is_obeyed_once() -> None:
    target = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: train}"
    order = (
        "apiVersion: bus.volcano.sh/v1alpha1\nkind: Command\nmetadata: {name: stop}\n"
        f"action: AbortJob\ntarget: {target}\n"
    )
    embedded = cluster(NODE, job("train"), order)
    assert phase_of(embedded, "train") in ("Aborting", "Aborted")
    assert not embedded.all_of(VolcanoCommand)
