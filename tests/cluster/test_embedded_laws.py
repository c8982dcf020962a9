"""Whatever is decided and whenever: nothing raises, no pod is lost, no node is overfilled."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.engine.framework.decisions import Bind, Decision, Evict, Nominate, Tell, UpdatePodGroup
from hekla.objects import Pod, PodGroup, VolcanoJob
from hekla.objects.read import read_text
from hekla.objects.scheduling import PodGroupStatus

TEXT = """
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: 2, pods: 3}}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 3, pods: 9}}
---
apiVersion: v1
kind: Pod
metadata: {name: lone}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 1}}}]}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: a}
spec:
  tasks:
  - name: w
    replicas: 3
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: b, annotations: {"hekla.dev/exit-code": "1"}}
spec:
  maxRetry: 2
  ttlSecondsAfterFinished: 40
  policies: [{event: PodFailed, action: RestartJob}, {event: PodEvicted, action: RestartTask}]
  tasks:
  - name: w
    replicas: 2
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
"""
PODS = ("lone", "a-w-0", "a-w-1", "a-w-2", "b-w-0", "b-w-1", "nobody")
ROOM = {"n0": 2, "n1": 3}

steps = st.tuples(
    st.sampled_from(("bind", "evict", "nominate", "tell", "admit", "fall back", "wait", "abort", "resume")),
    st.sampled_from(PODS),
    st.sampled_from(("n0", "n1", "n9")),
    st.booleans(),
)


def decision_of(cluster: EmbeddedCluster, word: str, pod: str, node: str, *, is_right: bool) -> Decision:
    key = f"default/{pod}"
    found = cluster.get(Pod, key)
    uid = found.metadata.uid if found is not None and is_right else "stale"
    match word:
        case "bind":
            return Bind(key, uid, node)
        case "evict":
            return Evict(key, uid, node, "reclaim")
        case "nominate":
            return Nominate(key, uid, node)
    return Tell(key, uid, "Unschedulable", "no room")


def play(cluster: EmbeddedCluster, clock: VirtualClock, step: tuple[str, str, str, bool]) -> None:
    word, pod, node, is_right = step
    match word:
        case "admit" | "fall back":
            phase = "Inqueue" if word == "admit" else "Pending"
            groups = [each.key for each in cluster.all_of(PodGroup)]
            cluster.apply([UpdatePodGroup(key, PodGroupStatus(phase=phase)) for key in groups])
        case "wait":
            clock.sleep(7.0)
            cluster.advance(clock.now())
        case "abort" | "resume":
            for job in cluster.all_of(VolcanoJob)[:1]:
                cluster.command(job.key, "AbortJob" if word == "abort" else "ResumeJob")
        case _:
            cluster.apply([decision_of(cluster, word, pod, node, is_right=is_right)])


@given(st.lists(steps, max_size=60), st.booleans())
def test_the_facts_hold_whatever_is_decided(story: list[tuple[str, str, str, bool]], recreates: bool) -> None:
    clock = VirtualClock()
    options = Options(recreate_evicted=recreates, grace_seconds=3.0)
    cluster = EmbeddedCluster(read_text(TEXT, "laws.yaml").objects, clock, options=options)
    for step in story:
        play(cluster, clock, step)
        pods = cluster.all_of(Pod)
        loads = Counter(each.spec.node_name for each in pods if each.status.phase in ("Pending", "Running"))
        assert all(loads[node] <= room for node, room in ROOM.items())
        assert len({each.metadata.uid for each in pods}) == len(pods)
        if recreates:
            assert cluster.get(Pod, "default/lone") is not None
        times = [event.time for event in cluster.events]
        assert times == sorted(times)
        assert len(cluster.snapshot().tasks) <= len(pods)
    cluster.advance(clock.now() + 1000.0)
    assert cluster.next_event_at() is None
