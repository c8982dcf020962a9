"""Stories of task-topology: how tasks are sorted into buckets, who goes first, and which nodes suit them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.engine.framework.orders import task_goes_first, tasks_in_order
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.plugins.task_topology import Rank, TaskTopology
from hekla.engine.plugins.task_topology.buckets import read_affinity
from hekla.errors import InputError
from hekla.objects.keys import ROLE_AFFINITY, ROLE_ANTI_AFFINITY, ROLE_ORDER
from hekla.testing import JobObjects, PodRole, Story, check_plugin, job, node, queue, session_of
from hekla.testing import plugin as entry
from hekla.testing.samples import Sample

EXAMPLE = {ROLE_AFFINITY: "ps,worker", ROLE_ANTI_AFFINITY: "ps"}


def training(
    topology: Mapping[str, str] = EXAMPLE, name: str = "train", ps: int = 2, worker: int = 4, **rest: Any
) -> JobObjects:
    """Parameter servers and workers, a core each; the job of the specification's worked example."""
    roles = [PodRole("ps", ps), PodRole("worker", worker)]
    return job(name, roles=roles, cpu=1, min_available=1, annotations=topology, **rest)


class Stage:
    def __init__(self, *parts: Any, weight: int = 1) -> None:
        tiers = [[entry("task-topology", {"task-topology.weight": weight})]]
        self.session: Session = session_of(*parts, tiers=tiers, plugins=[TaskTopology])
        self.plugin: Any = self.session.plugins[0]

    def task(self, name: str) -> Task:
        return next(task for task in self.session.tasks if task.name == name)

    def buckets(self, name: str = "train") -> list[list[str]]:
        found = self.plugin.buckets_of_job[f"default/{name}"]
        made: list[list[str]] = [[] for _ in found.buckets]
        for task in self.session.tasks:
            if task.job == f"default/{name}" and (bucket := found.bucket_of(task)) is not None:
                made[bucket.index].append(task.name.removeprefix(f"{name}-"))
        return made

    def order(self, name: str = "train") -> list[str]:
        tasks = self.session.jobs[f"default/{name}"].roster.having(Status.PENDING).values()
        return [task.name.removeprefix(f"{name}-") for task in tasks_in_order(self.session, tasks)]

    def scores(self, name: str) -> dict[str, float]:
        task, everywhere = self.task(name), np.ones(len(self.session.nodes), dtype=np.bool_)
        scores = self.session.scoring.class_of(task).scores_of(task, everywhere)
        return {n: round(float(s), 1) for n, s in zip(self.session.nodes.names, scores, strict=True)}

    def put(self, name: str, on: str) -> None:
        assert self.session.put(self.task(name), self.session.nodes.row_of[on], Status.ALLOCATED)


class TestBuckets:
    def test_servers_stand_apart_and_workers_join_the_lighter_bucket(self) -> None:
        stage = Stage(training())
        assert stage.buckets() == [
            ["ps-0", "worker-0", "worker-2"],
            ["ps-1", "worker-1", "worker-3"],
        ]
        assert stage.plugin.buckets_of_job["default/train"].largest == 3

    def test_tasks_on_a_node_share_the_bucket_of_that_node(self) -> None:
        stage = Stage(
            node("b", cpu=8),
            node("a", cpu=8),
            training(running={"b": 1, "a": 1}),  # ps-0 on b, ps-1 on a
        )
        # Nodes come by name, so a's bucket is the first one.
        assert stage.buckets() == [
            ["ps-1", "worker-0", "worker-2"],
            ["ps-0", "worker-1", "worker-3"],
        ]

    def test_a_role_that_is_not_mentioned_is_in_no_bucket(self) -> None:
        stage = Stage(training({ROLE_AFFINITY: "ps"}))
        assert stage.buckets() == [["ps-0", "ps-1"]]

    def test_the_jobs_own_order_comes_before_how_hard_a_role_is_to_please(self) -> None:
        stage = Stage(training({ROLE_ANTI_AFFINITY: "ps,worker", ROLE_ORDER: "worker,ps"}, ps=1, worker=1))
        assert stage.buckets() == [["worker-0"], ["ps-0"]]

    def test_a_bigger_task_makes_a_heavier_bucket(self) -> None:
        roles = [PodRole("ps", 2), PodRole("big", 1, shape={"memory": "4Gi"}), PodRole("small", 2)]
        notes = {ROLE_ANTI_AFFINITY: "ps", ROLE_AFFINITY: "ps,big;ps,small", ROLE_ORDER: "ps,big,small"}
        stage = Stage(job("train", roles=roles, cpu=1, annotations=notes))
        assert stage.buckets() == [["ps-0", "big-0"], ["ps-1", "small-0", "small-1"]]

    @pytest.mark.parametrize(
        ("notes", "said"),
        [
            (
                {ROLE_AFFINITY: "ps,driver"},
                f'{ROLE_AFFINITY}: no task has the role "driver"; roles: ps, worker',
            ),
            ({ROLE_ANTI_AFFINITY: "ps,ps"}, f'{ROLE_ANTI_AFFINITY}: role "ps" stands twice in "ps,ps"'),
            (
                {ROLE_AFFINITY: "ps", ROLE_ORDER: "ps;worker"},
                f'{ROLE_ORDER}: no task has the role "ps;worker"',
            ),
            ({ROLE_AFFINITY: ""}, f'{ROLE_AFFINITY}: no task has the role ""'),
        ],
    )
    def test_a_wrong_role_makes_the_plugin_leave_the_whole_job_alone(
        self, notes: dict[str, str], said: str
    ) -> None:
        stage = Stage(node("n1"), training(notes))
        (note,) = stage.session.trace.jobs["default/train"]
        assert str(note).startswith(f"task-topology: task topology is ignored: {said}")
        assert stage.plugin.buckets_of_job == {}
        assert stage.scores("train-ps-0") == {"n1": 0}

    def test_a_job_without_waiting_tasks_or_annotations_has_no_buckets(self) -> None:
        stage = Stage(node("n1", cpu=8), training(running={"n1": 6}), training({}, "plain"))
        assert stage.plugin.buckets_of_job == {}

    def test_ranks_of_roles_are_the_highest_of_what_is_said(self) -> None:
        notes = {ROLE_AFFINITY: "a;a,b;c", ROLE_ANTI_AFFINITY: "b;c,d", ROLE_ORDER: "d,a"}
        affinity = read_affinity(notes, {"a", "b", "c", "d", "e"})
        assert affinity is not None
        assert {role: affinity.priority(role) for role in "abcde"} == {
            "a": (1, 3),
            "b": (0, 4),
            "c": (0, 2),
            "d": (2, 1),
            "e": (0, 0),
        }
        assert read_affinity({}, {"a"}) is None
        with pytest.raises(InputError, match="roles: none"):
            read_affinity({ROLE_AFFINITY: "a"}, set())


class TestTaskOrder:
    def test_buckets_come_one_after_another_and_servers_before_workers(self) -> None:
        assert Stage(training()).order() == ["ps-0", "worker-0", "worker-2", "ps-1", "worker-1", "worker-3"]

    def test_the_bucket_with_more_waiting_tasks_goes_first(self) -> None:
        stage = Stage(node("n1", cpu=8), training(worker=5, ps=2, running={"n1": 1}))
        # ps-0 runs and weighs nothing any more, so its bucket takes a worker more.
        assert stage.buckets() == [
            ["ps-0", "worker-0", "worker-1", "worker-3"],
            ["ps-1", "worker-2", "worker-4"],
        ]
        assert stage.order() == ["worker-0", "worker-1", "worker-3", "ps-1", "worker-2", "worker-4"]
        stage.put("train-worker-3", "n1")
        assert stage.order() == ["ps-1", "worker-2", "worker-4", "worker-0", "worker-1"]

    def test_tasks_outside_of_buckets_come_last(self) -> None:
        assert Stage(training({ROLE_AFFINITY: "worker"}, ps=1, worker=2)).order() == [
            "worker-0",
            "worker-1",
            "ps-0",
        ]

    def test_across_jobs_only_being_in_a_bucket_counts(self) -> None:
        stage = Stage(training(), training({ROLE_AFFINITY: "worker"}, "other"), training({}, "plain"))
        rank = {task.name: stage.plugin.large_buckets_first(task) for task in stage.session.tasks}
        assert rank["train-ps-0"] == rank["other-worker-0"]
        assert rank["train-ps-0"] < rank["other-ps-0"]
        assert not rank["other-ps-0"] < rank["train-ps-0"]
        assert rank["plain-ps-0"] == rank["train-ps-0"] == rank["plain-worker-0"] == rank["other-ps-0"]
        assert rank["train-ps-0"] != rank["train-ps-1"]
        assert task_goes_first(stage.session, stage.task("train-ps-0"), stage.task("other-ps-0"))

    def test_a_rank_is_only_equal_to_ranks(self) -> None:
        assert Rank() != 0


class TestNodeOrder:
    def test_a_node_is_as_good_as_the_part_of_the_bucket_it_has_room_for(self) -> None:
        stage = Stage(
            node("n1", cpu=1), node("n2", cpu=2), node("n4", cpu=4), node("n0", cpu="500m"), training()
        )
        assert stage.scores("train-ps-0") == {"n1": 33.3, "n2": 66.7, "n4": 100.0, "n0": 0.0}

    def test_what_is_placed_already_draws_the_rest(self) -> None:
        stage = Stage(node("n1", cpu=2), node("n4", cpu=4), training(), weight=2)
        stage.put("train-ps-0", "n1")
        assert stage.scores("train-worker-0") == {"n1": 133.3, "n4": 133.3}
        stage.put("train-worker-2", "n1")
        assert stage.scores("train-worker-0") == {"n1": 0.0, "n4": 66.7}

    def test_disliked_company_pushes_away_be_it_below_zero(self) -> None:
        stage = Stage(
            node("n1", cpu=8), node("n2", cpu=8), training({ROLE_ANTI_AFFINITY: "ps"}, ps=3, worker=0)
        )
        stage.put("train-ps-0", "n1")
        stage.put("train-ps-1", "n1")
        assert stage.scores("train-ps-2") == {"n1": -100.0, "n2": 100.0}

    def test_only_company_placed_in_this_session_pushes_away(self) -> None:
        stage = Stage(
            node("n1", cpu=8),
            node("n2", cpu=8),
            training({ROLE_ANTI_AFFINITY: "ps"}, ps=3, worker=0, running={"n1": 2}),
        )
        assert stage.scores("train-ps-2") == {"n1": 50.0, "n2": 50.0}

    def test_what_is_being_released_counts_as_free(self) -> None:
        leaving = job("old", tasks=1, cpu=2, releasing={"n1": 1}, min_available=1)
        stage = Stage(node("n1", cpu=2), leaving, training())
        assert stage.scores("train-ps-0") == {"n1": 66.7}

    def test_a_node_that_does_not_know_a_resource_is_no_good_even_for_none_of_it(self) -> None:
        asks = training(resources={"nvidia.com/gpu": 0})
        stage = Stage(node("n1", cpu=4), node("n2", cpu=4, gpu=1), asks)
        assert stage.scores("train-ps-0") == {"n1": 0.0, "n2": 100.0}

    def test_tasks_outside_of_buckets_have_no_preference(self) -> None:
        stage = Stage(node("n1", cpu=8), training({ROLE_AFFINITY: "ps"}), training({}, "plain"))
        assert stage.scores("train-worker-0") == stage.scores("plain-ps-0") == {"n1": 0.0}


class TestEvents:
    def test_an_undone_placement_leaves_no_trace(self) -> None:
        stage = Stage(node("n1", cpu=2), node("n2", cpu=8), training())
        before = stage.order(), stage.scores("train-worker-0"), stage.scores("train-ps-1")
        for name, on in (("train-ps-0", "n2"), ("train-worker-2", "n2"), ("train-ps-1", "n1")):
            stage.put(name, on)
        for name in ("train-ps-0", "train-ps-1", "train-worker-2"):
            stage.session.take_back(stage.task(name))
        assert (stage.order(), stage.scores("train-worker-0"), stage.scores("train-ps-1")) == before

    def test_an_eviction_and_its_undoing_change_no_counters(self) -> None:
        stage = Stage(node("n1", cpu=8), node("n2", cpu=8), training(running={"n1": 2}))
        task = stage.task("train-ps-0")
        before = stage.scores("train-worker-0")
        stage.session.start_release(task)
        assert stage.scores("train-worker-0") == before
        stage.session.cancel_release(task, Status.RUNNING)
        assert stage.scores("train-worker-0") == before


STORIES = [
    Story(
        "servers and their workers share nodes, and the two servers do not",
        nodes=[node("n1", cpu=3), node("n2", cpu=3), node("n3", cpu=1)],
        jobs=[training()],
        tiers=["gang", ["task-topology"]],
        plugins=[TaskTopology],
        expect={"train": {"n1": 3, "n2": 3}},
    ),
    Story(
        "workers follow the servers that run already",
        nodes=[node("n1", cpu=3), node("n2", cpu=4), node("n3", cpu=4)],
        jobs=[training(running={"n2": 1, "n3": 1})],
        tiers=["gang", ["task-topology"]],
        plugins=[TaskTopology],
        expect={"train": {"n2": 2, "n3": 2}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_task_topology(story: Story) -> None:
    assert story.play() == story.expect


@given(st.data())
def test_every_task_is_in_one_bucket_and_scores_agree_with_a_plain_loop(data: st.DataObject) -> None:
    roles = ["a", "b", "c"]
    groups = st.lists(st.lists(st.sampled_from(roles), min_size=1, max_size=3, unique=True), max_size=2)
    notes = {
        key: ";".join(",".join(group) for group in drawn)
        for key in (ROLE_AFFINITY, ROLE_ANTI_AFFINITY)
        if (drawn := data.draw(groups))
    }
    shapes = [
        PodRole(role, data.draw(st.integers(1, 3)), shape={"cpu": data.draw(st.integers(1, 3))})
        for role in roles
    ]
    nodes = [node(f"n{at}", cpu=data.draw(st.integers(1, 6))) for at in range(3)]
    stage = Stage(*nodes, job("train", roles=shapes, annotations=notes, min_available=1))
    if not notes:
        return
    waiting = sorted(task.name for task in stage.session.tasks)
    for name in data.draw(st.lists(st.sampled_from(waiting), max_size=3, unique=True)):
        row = data.draw(st.integers(0, 2))
        if stage.session.nodes.fits_now(stage.task(name), row):
            stage.put(name, f"n{row}")
    found = stage.plugin.buckets_of_job["default/train"]
    everywhere = np.ones(3, dtype=np.bool_)
    for task in stage.session.jobs["default/train"].roster.having(Status.PENDING).values():
        bucket = found.bucket_of(task)
        assert (bucket is not None) == any(
            task.role in text.replace(";", ",").split(",") for text in notes.values()
        )
        scores = stage.plugin.prefer_room_for_the_bucket(task, everywhere)
        if bucket is None:
            assert scores is None
            continue
        assert [round(float(s), 6) for s in scores] == [
            plain_score(stage, found, bucket, task, r) for r in range(3)
        ]


def plain_score(stage: Stage, found: Any, bucket: Any, task: Task, row: int) -> float:
    nodes = stage.session.nodes
    free = (nodes.idle + nodes.releasing)[row]
    if (free < task.vector).any():
        return 0.0
    here = [other for other in nodes.tasks_on[row].values() if found.bucket_of(other) is not None]
    score = sum(found.bucket_of(other) is bucket for other in here)
    score -= sum(other.role in found.affinity.dislikes.get(task.role, ()) for other in here)
    kept = sorted(
        (other for other in bucket.unplaced.values() if other is not task), key=lambda one: one.name
    )
    while kept and (free < sum((other.vector for other in kept), task.vector)).any():
        kept.pop()
    return round((score + 1 + len(kept)) * 100 / found.largest, 6)


def test_it_keeps_the_contract_of_plugins() -> None:
    check_plugin(TaskTopology, {"task-topology.weight": 3})
    check_plugin(
        TaskTopology,
        clusters=[
            Sample(
                "servers and workers",
                (node("n1", cpu=2), node("n2", cpu=4), node("n3", cpu=6)),
                (
                    queue("default"),
                    *training().objects,
                    *training({ROLE_AFFINITY: "worker", ROLE_ANTI_AFFINITY: "ps,worker"}, "other").objects,
                    *training({}, "plain", ps=1, worker=1).objects,
                ),
            )
        ],
    )
