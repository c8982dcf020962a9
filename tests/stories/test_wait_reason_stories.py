"""Never is told apart from not yet, in numbers that say what they are; of one thing one number is told."""

from __future__ import annotations

import msgspec
import pytest

from hekla.engine.explain.explanation import Explanation, explain, in_short
from hekla.engine.framework.decisions import Bind, Tell
from hekla.engine.model.wait_reason import Verdict, WaitReason
from hekla.objects import LabelSelector, VolcanoJob
from hekla.objects.batch import DependsOn, JobSpec, PodTemplate, TaskSpec
from hekla.objects.meta import ObjectMeta, OwnerReference
from hekla.objects.pod import Container, PodSpec, ResourceRequirements, TopologySpreadConstraint
from hekla.testing import JobObjects, PodRole, Story, job, node, plugin, queue, racks
from hekla.testing.storage import using

TIERS = ("gang", "overcommit, predicates, proportion")
HARD = ("hard", 1)


def explained(story: Story, name: str = "default/a") -> Explanation:
    session = story.cycle().session
    return explain(session, session.jobs[name])


def of(title: str, nodes: list[object], jobs: list[object], **more: object) -> Story:
    return Story(title, nodes, jobs, **{"tiers": TIERS, **more})  # type: ignore[arg-type]


GPUS = [node("n1", cpu=32, gpu=4, labels={"gpu": "a100"}), node("n2", cpu=64, labels={"gpu": "v100"})]

HOPELESS = [
    (
        of("a resource that no node has", GPUS, [job("a", cpu=1, resources={"nvidia.com/gpuu": 1})]),
        WaitReason.NO_ROOM,
        "no node offers nvidia.com/gpuu (did you mean nvidia.com/gpu?)",
    ),
    (
        of(
            "the same, of a job that is not admitted and has no pods",
            GPUS,
            [job("a", tasks=0, min_available=1, phase="Pending", min_resources={"nvidia.com/gpuu": 1})],
        ),
        WaitReason.NO_ROOM,
        "no node offers nvidia.com/gpuu (did you mean nvidia.com/gpu?)",
    ),
    (
        of("larger than any node", GPUS, [job("a", cpu=80)]),
        WaitReason.FRAGMENTATION,
        "needs 80 cpu, the largest node has 64",
    ),
    (
        of(
            "larger than any node that it may use",
            GPUS,
            [job("a", cpu=40, node_selector={"gpu": "a100"})],
        ),
        WaitReason.FILTERS,
        "needs 40 cpu, the largest node its selector permits has 32",
    ),
    (
        of("on no node all at once", GPUS, [job("a", cpu=40, gpu=1)]),
        WaitReason.FRAGMENTATION,
        "needs 40 cpu and 1 nvidia.com/gpu on one node; no node has as much of each",
    ),
    (
        of("more than the cluster in sum", GPUS, [job("a", tasks=60, cpu=32)]),
        WaitReason.NO_ROOM,
        "60 tasks that start together need 1920 cpu, all nodes together have 96",
    ),
    (
        of("more than the cluster in pieces", GPUS, [job("a", tasks=2, cpu=33)]),
        WaitReason.FRAGMENTATION,
        "2 tasks start together, all nodes together have room for 1 when empty",
    ),
    (
        of(
            "one role of two is too large",
            GPUS,
            [job("a", cpu=1, roles=[PodRole("ps"), PodRole("w", shape={"cpu": 70})])],
        ),
        WaitReason.FRAGMENTATION,
        'role "w" needs 70 cpu, the largest node has 64',
    ),
    (
        of("a label that no node has", GPUS, [job("a", cpu=1, node_selector={"gpu": "a101"})]),
        WaitReason.FILTERS,
        "no node has label gpu=a101 (did you mean gpu=a100?)",
    ),
    (
        of("a key that no node has", GPUS, [job("a", cpu=1, node_selector={"gpus": "a100"})]),
        WaitReason.FILTERS,
        "no node has label gpus=a100 (did you mean gpu?)",
    ),
    (
        of(
            "two labels, each of another node",
            [
                node("n1", labels={"gpu": "a100", "zone": "x"}),
                node("n2", labels={"gpu": "v100", "zone": "y"}),
            ],
            [job("a", cpu=1, node_selector={"gpu": "a100", "zone": "y"})],
        ),
        WaitReason.FILTERS,
        "no node has all labels at once: gpu=a100, zone=y",
    ),
    (
        of("a taint on all", [node("n1", taints=["gpu=yes:NoSchedule"])], [job("a", cpu=1)]),
        WaitReason.FILTERS,
        "it tolerates no node's taints: taint gpu=yes",
    ),
    (
        of(
            "more than its queue",
            GPUS,
            [job("a", cpu=12, queue="small")],
            queues=[queue("small", capability={"cpu": 8})],
        ),
        WaitReason.QUEUE_SHARE,
        'needs 12 cpu, queue "small" may hold 8 at most',
    ),
    (
        of(
            "more than a queue above its own",
            GPUS,
            [job("a", tasks=3, cpu=4, queue="small")],
            queues=[
                queue("root"),
                queue("eng", parent="root", capability={"cpu": 8}),
                queue("small", parent="eng"),
            ],
            tiers=["gang, predicates", [plugin("capacity", enableHierarchy=True)]],
        ),
        WaitReason.QUEUE_SHARE,
        '3 tasks that start together need 12 cpu, queue "eng", above queue "small", may hold 8 at most',
    ),
    (
        of(
            "more than any rack",
            [node(name, cpu=2) for name in ("n1", "n2", "n3", "n4")],
            [job("a", tasks=3, cpu=2, topology=HARD)],
            objects=racks(s0=["n1", "n2"], s1=["n3", "n4"]),
            tiers=["gang, predicates, network-topology-aware"],
        ),
        WaitReason.TOPOLOGY,
        '3 tasks start together in one domain of tier 1 or closer; the best, "s0", has room for 2 when empty',
    ),
]


@pytest.mark.parametrize(("story", "code", "words"), HOPELESS, ids=str)
def test_what_never_starts_is_told_so(story: Story, code: WaitReason, words: str) -> None:
    told = explained(story)
    assert (told.code, told.verdict, told.why) == (code, Verdict.NEVER, words)
    assert told.reasons[0] == f"never: {words}"


@pytest.mark.parametrize(("story", "code", "words"), HOPELESS, ids=str)
def test_what_never_starts_does_not_start_where_nothing_else_runs(
    story: Story, code: WaitReason, words: str
) -> None:
    assert not [decision for decision in story.cycle().decisions if isinstance(decision, Bind)]


# Pods that do not exist yet


def submitted(name: str, spec: PodSpec, replicas: int = 1) -> tuple[VolcanoJob, JobObjects]:
    """A Job, and the PodGroup that its controller has made."""
    tasks = (TaskSpec(name="w", replicas=replicas, template=PodTemplate(spec=spec)),)
    meta = ObjectMeta(name=name, namespace="default", uid=name)
    made = job(f"{name}-{name}", tasks=0, min_available=replicas, phase="Pending", min_resources={"cpu": 1})
    owner = OwnerReference(
        api_version="batch.volcano.sh/v1alpha1", kind="Job", name=name, uid=name, controller=True
    )
    group = msgspec.structs.replace(
        made.pod_group, metadata=msgspec.structs.replace(made.pod_group.metadata, owner_references=(owner,))
    )
    manifest = VolcanoJob(metadata=meta, spec=JobSpec(min_available=replicas, tasks=tasks))
    return manifest, JobObjects(group, ())


def asking(**more: object) -> PodSpec:
    container = Container(name="c", image="i", resources=ResourceRequirements(requests={"cpu": "1"}))
    return PodSpec(containers=(container,), **more)  # type: ignore[arg-type]


def test_a_job_without_pods_is_judged_by_its_templates() -> None:
    manifest, group = submitted("a", asking(node_selector={"gpu": "a101"}))
    told = explained(of("", GPUS, [group], objects=[manifest]), "default/a-a")
    assert (told.code, told.verdict) == (WaitReason.FILTERS, Verdict.NEVER)
    assert told.why == "no node has label gpu=a101 (did you mean gpu=a100?)"


def test_a_job_without_pods_that_could_start_waits_for_them() -> None:
    manifest, group = submitted("a", asking())
    told = explained(of("", GPUS, [group], objects=[manifest]), "default/a-a")
    assert (told.code, told.verdict) == (WaitReason.GATE, Verdict.NOT_YET)


def test_pods_that_are_made_once_others_run_are_waited_for() -> None:
    manifest, group = submitted("a", asking(), replicas=2)
    later = TaskSpec(name="late", replicas=1, depends_on=DependsOn(name=("w",)), template=PodTemplate())
    spec = msgspec.structs.replace(manifest.spec, tasks=(*manifest.spec.tasks, later))
    status = msgspec.structs.replace(group.pod_group.status, phase="Inqueue")
    admitted = JobObjects(msgspec.structs.replace(group.pod_group, status=status), ())
    told = explained(
        of("", GPUS, [admitted], objects=[msgspec.structs.replace(manifest, spec=spec)]), "default/a-a"
    )
    assert (told.code, told.verdict) == (WaitReason.GATE, Verdict.HELD)
    assert told.why == 'pods of "late" are made once those of "w" run'


def test_a_pod_group_that_nothing_makes_pods_for_is_held() -> None:
    told = explained(of("", GPUS, [job("a", tasks=1, cpu=1, min_available=2)]))
    assert (told.code, told.verdict, told.why) == (WaitReason.GATE, Verdict.HELD, "1 of 2 pods exist")


# Of one thing one number


def test_a_gang_is_told_one_number_of_places() -> None:
    busy = job("b", cpu=1, running={"n2": 1})
    told = explained(of("", [node("n1", cpu=2), node("n2", cpu=2)], [busy, job("a", tasks=4, cpu=1)]))
    numbers = [reason for reason in told.reasons if "place" in reason or "room" in reason]
    assert numbers == ["gang: room for 3 of the 4 tasks that start together, short by 1"]
    assert told.why == "not enough cpu: asked 4, free 3 of 4"
    assert in_short(told) == "not enough cpu"


def test_pieces_are_told_apart_from_sums() -> None:
    busy = [job("b", tasks=2, cpu=3, running={"n1": 1, "n2": 1})]
    told = explained(of("", [node("n1"), node("n2")], [*busy, job("a", cpu=2)]))
    assert (told.code, told.verdict) == (WaitReason.FRAGMENTATION, Verdict.NOT_YET)
    assert told.why == "no node has 2 cpu free: most free 1, 2 in all"


def test_room_that_is_kept_for_another_job_is_a_matter_of_order() -> None:
    leaving = job("old", cpu=4, releasing={"n1": 1})
    first = job("first", tasks=2, cpu=3, priority=9)
    told = explained(
        of(
            "",
            [node("n1"), node("n2")],
            [leaving, first, job("a", cpu=2)],
            tiers=["priority, gang, predicates"],
        )
    )
    assert (told.code, told.why) == (WaitReason.ORDER, "room for it is kept for default/first")


def test_an_elastic_job_that_runs_is_booked_where_all_that_waits_of_it_is_promised() -> None:
    leaving = job("old", cpu=4, releasing={"n1": 1})
    told = explained(
        of(
            "",
            [node("n1"), node("n2")],
            [leaving, job("a", tasks=2, min_available=1, cpu=4, running={"n2": 1})],
        )
    )
    assert (told.code, told.verdict) == (WaitReason.RELEASE, Verdict.BOOKED)
    assert told.why == "1 of 2 tasks have a node once pods there have left"


# Objects that are missing, and nodes that come back


def with_claims(built: JobObjects, *claims: str) -> JobObjects:
    return JobObjects(built.pod_group, tuple(using(pod, *claims) for pod in built.pods))


def test_a_missing_claim_is_named_in_plain_words_and_pods_are_told_it_as_by_volcano() -> None:
    story = of("", GPUS, [with_claims(job("a", cpu=1), "dataset")])
    told = explained(story)
    assert (told.code, told.verdict, told.why) == (
        WaitReason.GATE,
        Verdict.HELD,
        'claim "dataset" does not exist',
    )
    assert not any("pre-predicates" in reason for reason in told.reasons)
    messages = [d.message for d in story.cycle().decisions if isinstance(d, Tell)]
    assert any("plugin VolumeZone pre-predicates failed" in message for message in messages)


def test_nodes_that_are_cordoned_may_come_back() -> None:
    told = explained(of("", [node("n1", unschedulable=True), node("n2", cpu=1)], [job("a", cpu=2)]))
    assert (told.code, told.verdict) == (WaitReason.FILTERS, Verdict.HELD)
    assert told.why == "needs 2 cpu, the largest node it may use has 1"


def test_so_may_nodes_that_are_not_ready() -> None:
    away = node("n1", taints=["node.kubernetes.io/not-ready:NoExecute"])
    told = explained(of("", [away], [job("a", cpu=2)]))
    assert (told.code, told.verdict) == (WaitReason.FILTERS, Verdict.HELD)


# Even spreading, and the memory of refusals

ZONES = [node(f"n{at}", cpu=8, labels={"zone": zone}) for at, zone in enumerate("ab")]


def spreading(tasks: int) -> JobObjects:
    alike = LabelSelector(match_labels={"app": "a"})
    constraint = TopologySpreadConstraint(topology_key="zone", label_selector=alike)
    built = job("a", roles=[PodRole("w", tasks=tasks)], cpu=1, labels={"app": "a"})
    pods = [
        msgspec.structs.replace(
            pod, spec=msgspec.structs.replace(pod.spec, topology_spread_constraints=(constraint,))
        )
        for pod in built.pods
    ]
    return JobObjects(built.pod_group, tuple(pods))


def test_a_gang_larger_than_its_zones_that_spreads_evenly_is_told_what_to_switch_off() -> None:
    story = of("", ZONES, [spreading(4)])
    assert story.play()["a"] == "pending"
    told = explained(story)
    assert (told.code, told.verdict) == (WaitReason.FILTERS, Verdict.NEVER)
    assert told.why == (
        "4 tasks spread over 2 values of zone with maxSkew 1; while predicateErrorCacheEnable is on, "
        "2 find a node: set it to false for allocate"
    )


def test_and_starts_once_that_is_done() -> None:
    off = {"allocate": {"predicateErrorCacheEnable": False}}
    assert of("", ZONES, [spreading(4)], configurations=off).play()["a"] == {"n0": 2, "n1": 2}


def test_one_no_larger_than_its_zones_starts_in_any_case() -> None:
    assert of("", ZONES, [spreading(2)]).play()["a"] == {"n0": 1, "n1": 1}


# Shares


def test_a_queue_that_holds_all_there_is_lacks_room_not_share() -> None:
    busy = job("b", tasks=2, cpu=4, running={"n1": 1, "n2": 1})
    told = explained(of("", [node("n1"), node("n2")], [busy, job("a", cpu=2)]))
    assert (told.code, told.why) == (WaitReason.NO_ROOM, "not enough cpu: asked 2, free 0 of 8")


def test_one_that_has_its_part_beside_another_queue_lacks_share() -> None:
    nodes, queues = [node("n1"), node("n2")], [queue("red"), queue("blue")]
    mine = job("mine", tasks=2, cpu=2, queue="red", running={"n1": 2})
    other = job("other", tasks=2, cpu=2, queue="blue", running={"n2": 2})
    wants = job("more", cpu=2, queue="blue")
    told = explained(of("", nodes, [mine, other, wants, job("a", cpu=2, queue="red")], queues=queues))
    assert (told.code, told.verdict) == (WaitReason.QUEUE_SHARE, Verdict.NOT_YET)
