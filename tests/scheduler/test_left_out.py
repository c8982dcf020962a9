"""Jobs of which a session knows no PodGroup are told why they wait, by their objects alone."""

from __future__ import annotations

import pytest

from hekla.engine.framework.session import Session
from hekla.engine.model.wait_reason import Verdict, WaitReason
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Manifest, VolcanoJob
from hekla.objects.batch import JobSpec, JobState, JobStatus, JobVolume
from hekla.objects.complaint import Complaint
from hekla.objects.meta import ObjectMeta
from hekla.scheduler.cycle import run_cycle
from hekla.scheduler.left_out import explain_left_out, left_out
from hekla.testing import conf_of, job, node, pod, queue, stamped


def volcano_job(name: str = "a", *, queue: str = "default", phase: str = "", claim: str = "") -> VolcanoJob:
    volumes = (JobVolume(mount_path="/data", volume_claim_name=claim),) if claim else ()
    return VolcanoJob(
        metadata=ObjectMeta(name=name, namespace="default", uid=name),
        spec=JobSpec(queue=queue, volumes=volumes),
        status=JobStatus(state=JobState(phase=phase)),
    )


def session_with(*objects: Manifest) -> Session:
    queues = [
        queue("default"),
        queue("shut", state="Closed"),
        queue("parent"),
        queue("leaf", parent="parent"),
    ]
    given = stamped([node("n1"), *queues, *objects])
    return run_cycle(take_snapshot(given), conf_of(tiers=("gang, predicates",))).session


@pytest.mark.parametrize(
    ("manifest", "code", "verdict", "words"),
    [
        (
            volcano_job(queue="defualt"),
            WaitReason.QUEUE,
            Verdict.HELD,
            'queue "defualt" does not exist (did you mean "default"?)',
        ),
        (
            volcano_job(queue="shut"),
            WaitReason.QUEUE,
            Verdict.HELD,
            'queue "shut" is "Closed"; only an open queue takes jobs',
        ),
        (
            volcano_job(queue="parent"),
            WaitReason.QUEUE,
            Verdict.HELD,
            'queue "parent" has queues below it, and only those take jobs',
        ),
        (
            volcano_job(phase="Aborted"),
            WaitReason.STOPPED,
            Verdict.HELD,
            "it was aborted; resume it to let it wait again",
        ),
        (
            volcano_job(phase="Terminated"),
            WaitReason.STOPPED,
            Verdict.NEVER,
            "it was terminated; submit it anew",
        ),
        (volcano_job(claim="dataset"), WaitReason.GATE, Verdict.HELD, 'claim "dataset" does not exist'),
        (volcano_job(), WaitReason.GATE, Verdict.NOT_YET, "its PodGroup is still to be made"),
        (volcano_job(phase="Completed"), None, None, ""),
    ],
    ids=["no queue", "closed", "not a leaf", "aborted", "terminated", "no claim", "new", "done"],
)
def test_a_job_without_a_pod_group(
    manifest: VolcanoJob, code: WaitReason | None, verdict: Verdict | None, words: str
) -> None:
    told = explain_left_out(session_with(manifest), "a")
    assert told is not None
    assert (told.code, told.verdict, told.why) == (code, verdict, words)
    assert told.reasons == ((f"{verdict}: {words}",) if words else ())


def test_what_was_refused_is_told_by_what_was_handed_in() -> None:
    refused = volcano_job()
    complaint = Complaint("job default/a", "left out: spec.tasks: expected at least one task")
    told = explain_left_out(session_with(), "default/a", [refused], [complaint])
    assert told is not None
    assert (told.code, told.verdict) == (WaitReason.GATE, Verdict.HELD)
    assert told.why == "it cannot be used as it is: spec.tasks: expected at least one task"


def test_a_pod_group_in_a_queue_that_does_not_exist_is_held() -> None:
    told = explain_left_out(session_with(*job("a", cpu=1, queue="nowhere").objects), "default/a")
    assert told is not None
    assert (told.code, told.why) == (WaitReason.QUEUE, 'queue "nowhere" does not exist')


def test_pods_of_a_group_that_is_not_there_and_pods_without_one_are_told_of() -> None:
    loose = pod("loose", cpu=1)
    orphans = [pod(f"b-{number}", job="b", cpu=1) for number in range(2)]
    told = {each.job: each.why for each in left_out(session_with(loose, *orphans))}
    assert told == {
        "default/loose": "its PodGroup is still to be made",
        "default/b": "2 pods of it exist, the PodGroup does not",
    }


def test_jobs_that_a_session_knows_and_jobs_that_have_ended_are_not_left_out() -> None:
    ended = [volcano_job(phase, phase=phase) for phase in ("Completed", "Failed", "Terminated")]
    session = session_with(*job("a", cpu=1).objects, *ended)
    assert left_out(session) == []
    assert explain_left_out(session, "a") is None
    assert explain_left_out(session, "nobody") is None


def test_of_two_reasons_that_it_was_stopped_goes_before_its_queue() -> None:
    told = explain_left_out(session_with(volcano_job(queue="shut", phase="Aborted")), "a")
    assert told is not None
    assert [finding.code for finding in told.findings] == [WaitReason.STOPPED, WaitReason.QUEUE]
