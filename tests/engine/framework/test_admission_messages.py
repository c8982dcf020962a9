"""A PodGroup that is not admitted learns which plugin said no, once, and from then on only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import pytest

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster
from hekla.engine.explain.explanation import explain
from hekla.engine.framework.decisions import Tell, UpdatePodGroup
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import JOB_ENQUEUEABLE, Scope, Vote, answers
from hekla.engine.model.job import Job
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Condition, Manifest, PodGroup, ResourceQuota
from hekla.objects.meta import ObjectMeta, ResourceList
from hekla.objects.storage import ResourceQuotaSpec, ResourceQuotaStatus
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.testing import JobObjects, Story, conf_of, job, node, queue

TIERS = ("gang", "overcommit")
NODE = node("n1", cpu=10, memory="8Gi")
QUOTA = ResourceQuota(
    metadata=ObjectMeta(name="quota", namespace="default"),
    spec=ResourceQuotaSpec(hard={"cpu": "6"}),
    status=ResourceQuotaStatus(hard={"cpu": "6"}, used={"cpu": "2500m"}),
)


class Licences(Plugin):
    """Votes against every job without a word."""

    name = "licences"

    @answers(JOB_ENQUEUEABLE)
    def have_run_out(self, _job: Job) -> Vote:
        return Vote.REJECT


def waits(tasks: int = 0, cpu: object = 16, minimum: int = 2, phase: str = "Pending") -> JobObjects:
    return job("a", tasks=tasks, cpu=1, min_available=minimum, phase=phase, min_resources={"cpu": cpu})


def one_cycle(built: JobObjects, tiers: Sequence[str], **more: object) -> CycleReport:
    story = Story("", [NODE], [built], tiers=tiers, **more)  # type: ignore[arg-type]
    return story.cycle()


def conditions(report: CycleReport) -> list[Condition]:
    statuses = [d.status for d in report.decisions if isinstance(d, UpdatePodGroup)]
    return [condition for status in statuses for condition in status.conditions]


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("overcommit", "the cluster cannot take in more waiting work: cpu (asked 16, left 12 of 12)"),
        ("proportion", 'queue "default" would go beyond its limit: cpu (asked 16, left 8 of 8)'),
        ("capacity", 'queue "default" would go beyond its limit: cpu (asked 16, left 8 of 8)'),
        ("resourcequota", 'quota "default/quota" would be exceeded: cpu (asked 16, left 3.5 of 6)'),
        ("licences", "a plugin voted against it and did not say why"),
    ],
)
def test_a_pod_group_that_is_not_admitted_is_told_by_whom_and_why(plugin: str, words: str) -> None:
    queues = [queue("default", capability={"cpu": 8})]
    report = one_cycle(waits(), ["gang", plugin], queues=queues, objects=[QUOTA], plugins=[Licences])
    speaker = "enqueue" if plugin == "licences" else plugin
    [told] = conditions(report)
    assert (told.type, told.status, told.reason) == ("Unschedulable", "True", "NotEnoughResources")
    assert told.message == f'waits to be admitted to queue "default": {speaker}: {words}'
    assert told.transition_id == report.session.uid
    explained = explain(report.session, report.session.jobs["default/a"])
    # More than the whole cluster has: that it would be so whatever runs is what is told instead.
    assert words in [finding.text for finding in explained.findings]
    assert "never: needs 16 cpu, all nodes together have 10" in explained.reasons
    assert explained.headline.startswith('waits to be admitted to queue "default"')


def test_its_pods_are_told_the_same_where_they_exist() -> None:
    report = one_cycle(waits(tasks=2), ["gang", "overcommit"])
    words = (
        "pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable. waits to be admitted "
        'to queue "default": overcommit: the cluster cannot take in more waiting work: '
        "cpu (asked 16, left 12 of 12)"
    )
    assert {d.message for d in report.decisions if isinstance(d, Tell)} == {words}
    assert [one.message for one in conditions(report)] == [f"2/2 tasks in gang unschedulable: {words}"]


def test_no_gang_is_needed_to_say_so() -> None:
    assert [one.type for one in conditions(one_cycle(waits(), ["overcommit"]))] == ["Unschedulable"]


@pytest.mark.parametrize("tasks", [0, 1, 2])
def test_what_is_left_may_change_and_is_no_news(tasks: int) -> None:
    first = taken_in(Story("", [NODE], [waits(tasks)], tiers=TIERS).manifests())
    fuller = [*first, *job("b", cpu=3, running={"n1": 1}).objects]
    report = run_cycle(take_snapshot(fuller), conf_of(tiers=TIERS))
    told = [d for d in report.decisions if isinstance(d, UpdatePodGroup) and d.pod_group == "default/a"]
    assert not told
    assert not [d for d in report.decisions if isinstance(d, Tell)]
    found = explain(report.session, report.session.jobs["default/a"]).findings
    assert found[-1].text.endswith("cpu (asked 16, left 9 of 12)")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"cpu": 17}, "cpu (asked 17, left 12 of 12)"),
        (
            {"cpu": 16, "memory": "99Gi"},
            "cpu (asked 16, left 12 of 12), memory (asked 99Gi, left 9.6Gi of 9.6Gi)",
        ),
    ],
    ids=["what is asked", "another resource that is short"],
)
def test_a_reason_that_changes_is_news(what: ResourceList, words: str) -> None:
    before = taken_in(Story("", [NODE], [waits()], tiers=TIERS).manifests())
    [group] = [each for each in before if isinstance(each, PodGroup)]
    asks = msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, min_resources=what))
    others = [each for each in before if each is not group]
    report = run_cycle(take_snapshot([*others, asks]), conf_of(tiers=TIERS))
    [told] = conditions(report)
    assert told.message.endswith(words)


def test_once_it_is_admitted_the_condition_is_taken_back_and_none_is_written_while_pods_are_made() -> None:
    before = taken_in(Story("", [NODE], [waits(1)], tiers=TIERS).manifests())
    report = run_cycle(take_snapshot([*before, node("n2", cpu=10)]), conf_of(tiers=TIERS))
    [status] = [d.status for d in report.decisions if isinstance(d, UpdatePodGroup)]
    assert (status.phase, status.conditions) == ("Inqueue", ())


def test_a_gang_that_runs_in_part_and_is_not_admitted_again_keeps_its_phase() -> None:
    leaving = job(
        "a",
        tasks=2,
        cpu=1,
        min_available=2,
        phase="Pending",
        running={"n1": 1},
        releasing={"n1": 1},
        min_resources={"cpu": 16},
    )
    report = one_cycle(leaving, ["gang", "overcommit"])
    assert [d.status.phase for d in report.decisions if isinstance(d, UpdatePodGroup)] == ["Running"]
    assert not conditions(report)


@pytest.mark.parametrize(
    "built", [waits(), waits(2), waits(2, phase="Inqueue")], ids=["no pods", "pods", "admitted"]
)
def test_nothing_is_told_of_a_pod_group_that_is_being_deleted(built: JobObjects) -> None:
    objects = Story("", [node("n1", cpu=1)], [built], tiers=TIERS).manifests()
    leaving = [being_deleted(each) if isinstance(each, PodGroup) else each for each in objects]
    report = run_cycle(take_snapshot(leaving), conf_of(tiers=TIERS))
    assert not conditions(report)
    assert not [d for d in report.decisions if isinstance(d, Tell)]


def test_quiet_cycles_keep_nothing_of_it() -> None:
    objects = Story("", [NODE], [waits()], tiers=TIERS).manifests()
    report = run_cycle(take_snapshot(objects), conf_of(tiers=TIERS), is_quiet=True)
    assert not report.session.not_admitted
    assert not conditions(report)


class Counting(Plugin):
    """Votes against every job, and counts how often it is asked."""

    name = "counting"
    votes = 0

    @answers(JOB_ENQUEUEABLE, Scope.KIND)
    def against(self, job: Job) -> Vote:
        Counting.votes += 1
        self.session.trace.of_job(job.uid, f"no room for {job.min_resources}", speaker=self.name)
        return Vote.REJECT


def test_jobs_that_ask_for_the_same_are_voted_on_once_and_told_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Counting, "votes", 0)
    many = [
        job(
            f"{queue}-{cpu}-{number}",
            tasks=0,
            min_available=1,
            phase="Pending",
            queue=queue,
            min_resources={"cpu": cpu},
        )
        for queue in ("red", "blue")
        for cpu in (1, 2)
        for number in range(3)
    ]
    session = Story("", [NODE], many, tiers=["counting"], plugins=[Counting]).cycle().session
    assert Counting.votes == 4
    assert len(session.not_admitted) == 12
    assert session.not_admitted["default/red-2-2"] == (
        "waits to be admitted to queue \"red\": counting: no room for {'cpu': 2000}"
    )
    [reason] = explain(session, session.jobs["default/blue-1-2"]).reasons
    assert reason == "counting: no room for {'cpu': 1000}"


def test_the_embedded_cluster_tells_it_once() -> None:
    cluster = EmbeddedCluster(Story("", [NODE], [waits()]).manifests(), clock=VirtualClock())
    for number in range(3):
        cluster.apply(run_cycle(cluster.snapshot(), conf_of(tiers=TIERS), uid=str(number)).decisions)
    told = [str(each) for each in cluster.events if each.reason == "Unschedulable"]
    assert told == [
        '0.000 podgroup default/a Unschedulable: waits to be admitted to queue "default": overcommit: '
        "the cluster cannot take in more waiting work: cpu (asked 16, left 12 of 12)"
    ]


def taken_in(objects: Sequence[Manifest]) -> list[Manifest]:
    """The objects after a cycle that wrote what it had to tell."""
    cluster = EmbeddedCluster(objects, clock=VirtualClock())
    cluster.apply(run_cycle(cluster.snapshot(), conf_of(tiers=TIERS)).decisions)
    kinds = dict.fromkeys(map(type, objects))
    return [each for kind in kinds for each in cluster.all_of(kind)]


def being_deleted(group: PodGroup) -> PodGroup:
    meta = msgspec.structs.replace(group.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    return msgspec.structs.replace(group, metadata=meta)
