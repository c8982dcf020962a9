"""What is filled in and what is refused when a Job comes in, or is changed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from controllers.little_cluster import job, open_queue_named, policy, task
from hekla.cluster.admission import default_job, problems_of_job, problems_of_job_update, warnings_of_job
from hekla.objects.batch import DependsOn, JobVolume, LifecyclePolicy, PartitionPolicy, PodTemplate
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.objects.scheduling import NetworkTopology

BOTH_TIERS = NetworkTopology(highest_tier_allowed=1, highest_tier_name="rack")
QUEUES = {
    "root": open_queue_named("root"),
    "default": open_queue_named("default"),
    "team": open_queue_named("team"),
    "team-a": open_queue_named("team-a", parent="team"),
    "new": replace(open_queue_named("new"), status=replace(open_queue_named("new").status, state="")),
    "shut": replace(
        open_queue_named("shut"), status=replace(open_queue_named("shut").status, state="Closing")
    ),
}


def template(requests=None, limits=None, containers: int = 1) -> PodTemplate:
    resources = ResourceRequirements(requests=requests or {}, limits=limits or {})
    names = [f"c{i}" for i in range(containers)]
    return PodTemplate(
        spec=PodSpec(containers=tuple(Container(name=name, resources=resources) for name in names))
    )


def problems(*tasks, **fields) -> list[tuple[str, str]]:
    found = problems_of_job(default_job(job("train", *tasks, **fields)), QUEUES)
    return [(problem.path, problem.message) for problem in found]


def test_everything_left_open_is_filled_in():
    partitions = PartitionPolicy(total_partitions=2, partition_size=2, min_partitions=1)
    train = default_job(
        job("train", task("", 3), task("ps", 4, partition_policy=partitions), plugins={"mpi": ()})
    )
    spec = train.spec
    assert (spec.queue, spec.scheduler_name, spec.max_retry, spec.min_available) == (
        "default",
        "volcano",
        3,
        5,
    )
    assert [(task.name, task.min_available, task.max_retry) for task in spec.tasks] == [
        ("default0", 3, 3),
        ("ps", 2, 3),
    ]
    assert spec.plugins == {"mpi": (), "svc": (), "ssh": ()}


def test_filling_in_twice_changes_nothing():
    once = default_job(job("train", task("", 3), plugins={"ray": ()}))
    assert default_job(once) == once


def test_a_plain_job_may_come_in():
    assert problems(task("w", 2)) == []


REFUSED = [
    ("a job without tasks", (), {}, "spec.tasks"),
    ("an mpi job without a master", (task("w", 1),), {"plugins": {"mpi": ()}}, "spec.plugins.mpi"),
    ("two ways to name a tier", (task("w", 1),), {"network_topology": BOTH_TIERS}, "spec.networkTopology"),
    (
        "a task that needs more than it has",
        (task("w", 1, min_available=2),),
        {"min_available": 1},
        "spec.tasks[0].minAvailable",
    ),
    ("two tasks of one name", (task("w", 1), task("w", 1)), {}, "spec.tasks[1].name"),
    ("a name too long for a pod", (task("w" * 60, 1),), {}, "spec.tasks[0].name"),
    (
        "a pod without containers",
        (task("w", 1, template=template(containers=0)),),
        {},
        "spec.tasks[0].template.spec.containers",
    ),
    (
        "a request above its limit",
        (task("w", 1, template=template({"cpu": 2}, {"cpu": 1})),),
        {},
        "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]",
    ),
    (
        "half a core for a task with a topology policy",
        (task("w", 1, cpu="1500m", topology_policy="restricted"),),
        {},
        "spec.tasks[0].template.spec.containers[0].resources",
    ),
    (
        "partitions that do not add up",
        (task("w", 5, partition_policy=PartitionPolicy(total_partitions=2, partition_size=2)),),
        {},
        "spec.tasks[0].partitionPolicy",
    ),
    (
        "a minimum that is no whole number of partitions",
        (
            task(
                "w",
                4,
                min_available=3,
                partition_policy=PartitionPolicy(total_partitions=2, partition_size=2, min_partitions=1),
            ),
        ),
        {},
        "spec.tasks[0].partitionPolicy",
    ),
    ("a minimum above all replicas", (task("w", 1),), {"min_available": 2}, "spec.minAvailable"),
    ("an unknown plugin", (task("w", 1),), {"plugins": {"magic": ()}}, "spec.plugins.magic"),
    (
        "a volume without a claim",
        (task("w", 1),),
        {"volumes": (JobVolume(mount_path="/a"),)},
        "spec.volumes[0]",
    ),
    (
        "two volumes in one place",
        (task("w", 1),),
        {"volumes": (JobVolume(mount_path="/a", volume_claim_name="x"),) * 2},
        "spec.volumes[1]",
    ),
    ("a queue that does not exist", (task("w", 1),), {"queue": "ghost"}, "spec.queue"),
    ("a queue that is closing", (task("w", 1),), {"queue": "shut"}, "spec.queue"),
    ("the root queue", (task("w", 1),), {"queue": "root"}, "spec.queue"),
    ("a queue with queues below", (task("w", 1),), {"queue": "team"}, "spec.queue"),
    (
        "a dependency that does not exist",
        (task("w", 1, depends_on=DependsOn(name=("x",))),),
        {},
        "spec.tasks",
    ),
    (
        "tasks that wait for each other",
        (task("a", 1, depends_on=DependsOn(name=("b",))), task("b", 1, depends_on=DependsOn(name=("a",)))),
        {},
        "spec.tasks",
    ),
    (
        "a dependency named twice",
        (task("a", 1), task("b", 1, depends_on=DependsOn(name=("a", "a")))),
        {},
        "spec.tasks",
    ),
]


@pytest.mark.parametrize(("story", "tasks", "fields", "path"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(story, tasks, fields, path):
    assert [where for where, _ in problems(*tasks, **fields)] == [path]


def test_a_queue_made_a_moment_ago_counts_as_open():
    assert problems(task("w", 1), queue="new") == []


def test_messages_say_what_is_known():
    [(_, message)] = problems(task("w", 1), queue="ghost")
    assert message == 'no queue "ghost"; known queues: default, new, root, shut, team, team-a'


POLICIES = [
    (
        "one of each kind",
        (policy("PodFailed", "RestartJob"), LifecyclePolicy(exit_code=3, action="AbortJob")),
        "",
    ),
    (
        "an exit code beside the star",
        (policy("*", "RestartJob"), LifecyclePolicy(exit_code=3, action="AbortJob")),
        "",
    ),
    (
        "an event twice in one policy",
        (LifecyclePolicy(events=("PodFailed", "PodFailed"), action="RestartJob"),),
        "",
    ),
    (
        "event and exit code together",
        (LifecyclePolicy(event="PodFailed", exit_code=3, action="AbortJob"),),
        "both",
    ),
    ("neither event nor exit code", (LifecyclePolicy(action="AbortJob"),), "neither"),
    ("an internal event", (policy("PodRunning", "AbortJob"),), 'no event "PodRunning"'),
    ("an unknown action", (policy("PodFailed", "Dance"),), 'no action "Dance"'),
    (
        "an exit code with an unknown action",
        (LifecyclePolicy(exit_code=3, action="Dance"),),
        'no action "Dance"',
    ),
    (
        "an event in two policies",
        (policy("PodFailed", "AbortJob"), policy("PodFailed", "RestartJob")),
        "twice",
    ),
    ("the star beside an event", (policy("*", "AbortJob"), policy("PodFailed", "RestartJob")), "only event"),
    ("exit code zero", (LifecyclePolicy(exit_code=0, action="AbortJob"),), "no failure"),
    ("an exit code twice", (LifecyclePolicy(exit_code=3, action="AbortJob"),) * 2, "twice"),
    ("a timeout that is none", (policy("PodFailed", "AbortJob", "soon"),), '"soon" is not a duration'),
]


@pytest.mark.parametrize(("story", "policies", "message"), POLICIES, ids=[row[0] for row in POLICIES])
def test_policies(story, policies, message):
    found = problems(task("w", 1), policies=policies)
    assert len(found) == bool(message)
    assert all(message in text for _, text in found)


TRAIN = default_job(job("train", task("w", 2), ttl_seconds_after_finished=5))

CHANGES = [
    ("scaling up", {"tasks": (replace(TRAIN.spec.tasks[0], replicas=3),)}, []),
    ("another priority", {"priority_class_name": "high"}, []),
    ("no minimum at all", {"min_available": 0}, []),
    ("a minimum above the replicas", {"min_available": 3}, ["spec.minAvailable"]),
    (
        "fewer replicas than the task needs",
        {"min_available": 1, "tasks": (replace(TRAIN.spec.tasks[0], replicas=1),)},
        ["spec.tasks[0].minAvailable"],
    ),
    ("another time to live", {"ttl_seconds_after_finished": 6}, ["spec"]),
    ("another queue", {"queue": "team-a"}, ["spec"]),
    ("another task", {"tasks": (*TRAIN.spec.tasks, replace(TRAIN.spec.tasks[0], name="x"))}, ["spec.tasks"]),
]


@pytest.mark.parametrize(("story", "fields", "paths"), CHANGES, ids=[row[0] for row in CHANGES])
def test_changes(story, fields, paths):
    after = replace(TRAIN, spec=replace(TRAIN.spec, **fields))
    assert [problem.path for problem in problems_of_job_update(TRAIN, after)] == paths


def test_a_gang_that_waits_for_itself_is_warned_of():
    first, second = task("a", 1), task("b", 1, depends_on=DependsOn(name=("a",)))
    assert [problem.path for problem in warnings_of_job(default_job(job("train", first, second)))] == [
        "spec.tasks"
    ]
    assert warnings_of_job(default_job(job("train", first, second, min_available=1))) == []
    optional = replace(second, min_available=0)
    assert warnings_of_job(default_job(job("train", first, optional))) == []


def test_limits_without_requests_are_warned_of():
    limited = default_job(job("train", task("w", 1, template=template(limits={"nvidia.com/gpu": 1}))))
    assert [problem.path for problem in warnings_of_job(limited)] == ["spec.tasks[0].template.spec"]
