"""What "Volcano's actions in detail" says of actions in general, enqueue and backfill, as short stories.

The other chapters are in `test_actions_document_allocate`, `..._preempt` and `..._reclaim`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from document_stage import HIGH, LOW, PLACING, Taste, VirtualRun, not_admitted, waiting, worker, zoned
from statements import holds, shows

from cli.calling import called
from hekla.conf import BUILT_IN_DEFAULT, describe_arguments, read_conf
from hekla.engine.framework.decisions import UpdatePodGroup
from hekla.errors import ConfError
from hekla.objects.read import read_text
from hekla.scheduler.builtin import BUILTIN
from hekla.testing import JobObjects, Story, job, node, plugin, queue

SIX = ("enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle")

# The actions


@holds("actions-01")
@pytest.mark.parametrize("order", [SIX, SIX[::-1]], ids=["as listed", "backwards"])
def test_the_six_actions_run_in_the_order_that_is_configured(order: tuple[str, ...]) -> None:
    story = Story("an empty cluster", [node("n1")], actions=",".join(order))
    assert tuple(story.cycle().times) == ("open", *order, "close")


@holds("actions-01")
@pytest.mark.parametrize(
    ("order", "expect"),
    [
        ("allocate, reclaim", {"old": "running", "new": {"n1": 1}}),
        ("reclaim, allocate", {"old": {"evicted": ["old-0"]}, "new": {"pipelined": {"n2": 1}}}),
    ],
)
def test_the_order_of_the_actions_decides_what_happens(order: str, expect: object) -> None:
    story = Story(
        "a free node beside one that another queue holds",
        [node("n1", cpu=1), node("n2", cpu=1)],
        [job("old", cpu=1, running={"n2": 1}, queue="q2"), job("new", cpu=1, queue="q1")],
        actions=order,
        tiers=("priority, conformance",),
    )
    assert story.play() == expect


# 1. enqueue


def admission(title: str, *jobs: JobObjects, expect: object, cpu: int = 2, **more: Any) -> Story:
    """Enqueue alone, where no more may be admitted than the node holds."""
    limit = plugin("overcommit", {"overcommit-factor": 1.0})
    tiers = (["priority", "gang", limit, "proportion"],)
    return Story(title, [node("n1", cpu=cpu)], jobs, expect, actions="enqueue", tiers=tiers, **more)


ADMISSIONS = [
    shows(
        "actions-02",
        admission(
            "of two jobs the one of higher priority is admitted, though the other is older",
            waiting("old", priority=LOW),
            waiting("urgent", priority=HIGH),
            expect={"old": "Pending", "urgent": "Inqueue"},
        ),
    ),
    shows(
        "actions-02",
        admission(
            "a job of the queue that comes first is admitted before a more urgent one of another queue",
            waiting("urgent", priority=HIGH, queue="second"),
            waiting("plain", priority=LOW, queue="first"),
            queues=[queue("second", priority=LOW), queue("first", priority=HIGH)],
            expect={"urgent": "Pending", "plain": "Inqueue"},
        ),
    ),
    shows(
        "actions-04",
        admission("a job that may be scheduled becomes Inqueue", waiting("a"), expect={"a": "Inqueue"}),
    ),
    shows(
        "actions-03",
        admission(
            "a job is admitted with fewer pods than its minimum, as Volcano does",
            waiting("half", min_available=2),
            expect={"half": "Inqueue"},
        ),
    ),
    shows(
        "actions-03",
        admission(
            "with checkMinMember it waits until its minimum is there",
            waiting("half", min_available=2),
            waiting("whole", min_available=1),
            configurations={"enqueue": {"checkMinMember": True}},
            expect={"half": "Pending", "whole": "Inqueue"},
        ),
    ),
]


@pytest.mark.parametrize("story", ADMISSIONS)
def test_enqueue(story: Story) -> None:
    assert story.phases() == story.expect


@holds("actions-05")
def test_the_phase_is_written_to_the_pod_group_and_the_job_is_placed_next() -> None:
    story = Story("a job that has just come", [node("n1", cpu=2)], [waiting("a")])
    decisions = replace(story, actions="enqueue").cycle().decisions
    written = [d for d in decisions if isinstance(d, UpdatePodGroup)]
    assert [(d.pod_group, d.status.phase) for d in written] == [("default/a", "Inqueue")]
    assert replace(story, actions="allocate, enqueue").play() == {"a": "pending"}
    assert replace(story, actions="enqueue, allocate").play() == {"a": {"n1": 1}}


TENSORFLOW = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: tensorflow}
spec:
  minAvailable: 3
  schedulerName: volcano
  tasks:
  - {name: ps, replicas: 1, template: &pod {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}
  - {name: worker, replicas: 2, template: *pod}
"""


@holds("actions-06", "actions-07")
@pytest.mark.parametrize(("cpu", "phase"), [(3, "Inqueue"), (2, "Pending")], ids=["room", "no room"])
def test_a_tensorflow_job_of_three_pods_is_admitted_where_there_is_room(cpu: int, phase: str) -> None:
    run = VirtualRun(
        Story("three cores are wanted", [node("n1", cpu=cpu)], actions="enqueue"),
        *read_text(TENSORFLOW, "tensorflow.yaml").objects,
    )
    run.cycles(2)
    assert list(run.phases().values()) == [phase]


@holds("actions-08", "actions-09", "actions-11")
def test_without_enqueue_allocate_admits_new_jobs_itself() -> None:
    assert not_admitted("allocate").play() == {"a": {"n1": 1}}
    assert not_admitted("allocate", cpu=1).phases() == {"a": "Inqueue"}


STRICT = """
actions: {actions}
tiers: [{{plugins: [{{name: priority}}, {{name: gang}}]}}]
configurations: [{{name: enqueue, arguments: {{strictEnqueue: true}}}}]
"""


@holds("actions-08")
def test_with_strict_enqueue_it_may_not_be_left_out() -> None:
    story = not_admitted("")
    assert replace(story, conf=STRICT.format(actions='"enqueue, allocate"')).play() == {"a": {"n1": 1}}
    with pytest.raises(ConfError, match="strictEnqueue is set, but enqueue is not among the actions"):
        replace(story, conf=STRICT.format(actions="allocate")).play()


@holds("actions-10", "actions-11")
@pytest.mark.parametrize("text", [BUILT_IN_DEFAULT, ""], ids=["the default", "no configuration"])
def test_the_default_configuration_begins_with_enqueue(text: str) -> None:
    conf, mistakes = read_conf(text, catalogue=BUILTIN.catalogue())
    assert (conf.actions[0], mistakes) == ("enqueue", [])


# 3. backfill


@holds("actions-35")
def test_cycle_after_cycle_new_tasks_are_tried_and_freed_resources_are_used() -> None:
    """The first job ends after three seconds; the third arrives after one, where it fits at once."""
    lasting = {"hekla.dev/run-seconds": "3"}
    late = {"hekla.dev/arrives-at": "1"}
    run = VirtualRun(
        Story(
            "a core and a half",
            [node("n1", cpu="1500m")],
            [
                job("first", cpu=1, annotations=lasting),
                job("second", cpu=1),
                job("third", cpu="500m", annotations=late),
            ],
        )
    )
    assert run.cycles(4) == [["binds first-0 to n1"], ["binds third-0 to n1"], [], ["binds second-0 to n1"]]


BACKFILL = [
    shows(
        "actions-36",
        Story(
            "backfill asks the same filters and the same scores as allocate",
            [
                node("refused", labels={"refused": "yes", "score": "9"}),
                node("fair", labels={"score": "1"}),
                node("best", labels={"score": "2"}),
            ],
            [job("small", cpu=1), job("nothing", tasks=0, best_effort=1)],
            {"small": {"best": 1}, "nothing": {"best": 1}},
            tiers=("gang, taste",),
            plugins=[Taste],
        ),
    ),
    shows(
        "actions-38",
        Story(
            "backfill places pods that ask for nothing, and leaves small jobs with requests alone",
            [node("n1", cpu=2)],
            [job("small", cpu=1, priority=LOW), job("nothing", tasks=0, best_effort=1)],
            {"small": "pending", "nothing": {"n1": 1}},
            actions="enqueue, backfill",
        ),
    ),
    shows(
        "actions-38",
        Story(
            "it is allocate that gives what is left of a node to a small job, where a large one does not fit",
            [node("n1", cpu=2)],
            [job("large", cpu=3, priority=HIGH), job("small", cpu=1, priority=LOW)],
            {"large": "pending", "small": {"n1": 1}},
            actions="enqueue, allocate",
        ),
    ),
]


@pytest.mark.parametrize("story", BACKFILL)
def test_backfill(story: Story) -> None:
    assert story.play() == story.expect


@holds("actions-38")
@pytest.mark.parametrize(
    ("is_on", "small"),
    [(False, "pending"), (True, {"n1": 1})],
    ids=["not otherwise", "with kubeBatchBackfillEnable"],
)
def test_backfill_gives_room_that_a_large_job_keeps_to_small_jobs(is_on: bool, small: object) -> None:
    story = Story(
        "a gang keeps both cores though it needs three",
        [node("n1", cpu=2)],
        [job("large", tasks=3, cpu=1, priority=HIGH), job("small", cpu=1, priority=LOW)],
        tiers=PLACING,
        configurations={
            "allocate": {"unreadyPolicy": "hold"},
            "backfill": {"kubeBatchBackfillEnable": is_on},
        },
    )
    assert story.play()["small"] == small


@holds("actions-37")
@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_the_error_cache_changes_nothing_in_backfill(is_on: bool) -> None:
    """n1 refuses the first task and is asked again for the second of the same role, whatever the switch."""
    story = Story(
        "two workers that ask for nothing, one of them bound for the west",
        [zoned("n1", "east"), zoned("n2", "west")],
        [
            job("a", tasks=0, min_available=1),
            worker("a-w-0", node_selector={"zone": "west"}),
            worker("a-w-1"),
        ],
        actions="backfill",
        tiers=PLACING,
        configurations={"backfill": {"predicateErrorCacheEnable": is_on}},
    )
    assert story.play() == {"a": {"n1": 1, "n2": 1}}


# The configuration of allocate and backfill

CONFIG_MAP = """\
# volcano-scheduler-configmap.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: volcano-scheduler-configmap
  namespace: volcano-system
data:
  volcano-scheduler.conf: |
    actions: "enqueue,allocate,preempt,reclaim,backfill"
    tiers:
    - plugins:
      - name: priority
      - name: gang
      - name: conformance
    - plugins:
      - name: drf
      - name: predicates
      - name: proportion
      - name: nodeorder
    configurations:
    - name: {action}
      arguments:
        predicateErrorCacheEnable: true
"""

CLUSTER = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}
- {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {schedulerName: volcano, containers: [{name: c}]}}
"""


@pytest.mark.parametrize(
    "action",
    [
        pytest.param("allocate", marks=holds("actions-30")),
        pytest.param("backfill", marks=holds("actions-40")),
    ],
)
def test_the_config_map_is_accepted_as_it_is_printed(action: str, tmp_path: Path) -> None:
    conf, cluster = tmp_path / "volcano-scheduler-configmap.yaml", tmp_path / "cluster.yaml"
    conf.write_text(CONFIG_MAP.format(action=action))
    cluster.write_text(CLUSTER)
    checked = called("conf", "check", conf)
    assert (checked.returncode, "error:" in checked.stdout) == (0, False)
    shown = yaml.safe_load(called("conf", "show", conf).stdout)
    assert shown["actions"] == "enqueue, allocate, preempt, reclaim, backfill"
    decided = called("decide", "--conf", conf, cluster)
    assert (decided.returncode, "n1" in decided.stdout) == (0, True)


@holds("actions-31", "actions-39")
@pytest.mark.parametrize("action", ["allocate", "backfill"])
def test_the_file_inside_of_it_is_accepted_and_actions_need_no_blanks(action: str) -> None:
    text = yaml.safe_load(CONFIG_MAP.format(action=action))["data"]["volcano-scheduler.conf"]
    conf, mistakes = read_conf(text, catalogue=BUILTIN.catalogue())
    assert [mistake for mistake in mistakes if mistake.severity == "error"] == []
    assert conf.actions == ("enqueue", "allocate", "preempt", "reclaim", "backfill")
    assert [[entry.name for entry in tier.plugins] for tier in conf.tiers] == [
        ["priority", "gang", "conformance"],
        ["drf", "predicates", "proportion", "nodeorder"],
    ]
    assert conf.configurations == {action: {"predicateErrorCacheEnable": True}}


@holds("actions-29", "actions-39")
@pytest.mark.parametrize("action", ["allocate", "backfill"])
def test_the_error_cache_is_on_by_default(action: str) -> None:
    rows = {row.key: row.default for row in describe_arguments(BUILTIN.actions[action].Arguments)}
    assert rows["predicateErrorCacheEnable"] == "true"
