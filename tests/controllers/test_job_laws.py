"""Laws of the job controller, whatever happens to a Job."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from little_cluster import LittleCluster, job, policy, task

from hekla.controllers.phases import FINISHED
from properties.effort import examples

HAPPENINGS = st.one_of(
    st.tuples(st.just("group"), st.sampled_from(["Pending", "Inqueue", "Running", "Unknown", "Completed"])),
    st.tuples(st.just("pod"), st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])),
    st.tuples(
        st.just("command"),
        st.sampled_from(["AbortJob", "ResumeJob", "RestartJob", "CompleteJob", "TerminateJob"]),
    ),
    st.tuples(st.just("evict"), st.just("")),
    st.tuples(st.just("bury"), st.just("")),
    st.tuples(st.just("wait"), st.just("")),
)
POLICIES = st.sampled_from(
    [
        (),
        (policy("PodFailed", "RestartJob"),),
        (policy("PodFailed", "RestartPod"), policy("PodEvicted", "RestartTask")),
        (policy("PodPending", "RestartTask", "1m"), policy("PodFailed", "AbortJob", "5s")),
        (policy("*", "RestartJob", "10s"),),
    ]
)


def happen(cluster: LittleCluster, what: str, how: str, whom: int) -> None:
    living = [
        pod.metadata.name for pod in cluster.pods_by_key.values() if not pod.metadata.deletion_timestamp
    ]
    if what == "group" and cluster.pod_groups:
        cluster.move_group(how)
    elif what == "pod" and living:
        cluster.move_pods(how, living[whom % len(living)])
    elif what == "command":
        cluster.command("default/train", how)
    elif what == "evict" and living:
        cluster.evict(living[whom % len(living)])
    elif what == "bury":
        cluster.bury()
    elif what == "wait":
        cluster.wait(seconds=20)


@examples(4)
@given(
    POLICIES,
    st.booleans(),
    st.integers(0, 3),
    st.lists(st.tuples(HAPPENINGS, st.integers(0, 5)), max_size=30),
)
def test_whatever_happens(policies, graceful, minimum, happenings):
    cluster = LittleCluster(graceful=graceful)
    cluster.submit(job("train", task("w", 3, min_available=minimum), policies=policies))
    finished, retries, version = "", 0, 0
    for (what, how), whom in happenings:
        happen(cluster, what, how, whom)
        status = cluster.status()
        assert not finished or status.state.phase == finished, "a finished job left its phase"
        assert status.retry_count >= retries, "a retry was forgotten"
        assert status.version >= version, "a version was forgotten"
        assert status.retry_count <= 3, "more retries than allowed"
        assert len(cluster.pods_by_key) <= 3, "more pods than replicas"
        assert [condition.status for condition in status.conditions][-1] == status.state.phase
        finished = status.state.phase if status.state.phase in FINISHED else ""
        retries, version = status.retry_count, status.version
