"""A run of equal tasks takes the nodes that they would take one after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, PREDICATE, Scope, answers
from hekla.engine.framework.session import Session
from hekla.engine.framework.task_class import best_rows
from hekla.engine.ledger.arrays import Counts, Floats, Mask
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.testing import Story, job, node

Ladder = list[float]
"""A node's score with none, one, two more tasks on it; it is full where the list ends."""
SCORES = st.sampled_from((0.0, 1.0, 1.0, 2.0, 3.5))
LADDERS = st.lists(st.lists(SCORES, max_size=9), min_size=1, max_size=8)
MOST = 50


class Ladders(Plugin):
    """Scores nodes by how many pods they run; a full node is refused, or lacks room."""

    name = "ladders"
    ladders: tuple[Ladder, ...] = ()

    @answers(NODE_ORDER, Scope.LEDGER)
    def prefer_high_steps(self, task: Task, states: NodeStates) -> Floats:
        return np.array([[*self.ladders[row], *[9.0] * MOST][at] for row, at in self.steps(states)])

    @answers(PREDICATE, Scope.LEDGER)
    def refuse_some_full_nodes(self, task: Task, states: NodeStates) -> list[Refusal]:
        is_full = [is_closed(row) and at >= len(self.ladders[row]) for row, at in self.steps(states)]
        return [Refusal("full", np.array(is_full, dtype=np.bool_))]

    def steps(self, states: NodeStates) -> list[tuple[int, int]]:
        rows = np.arange(len(self.session.nodes))[states.rows]
        return list(zip(rows.tolist(), states.used[self.session.axis.pods].tolist(), strict=True))


def is_closed(row: int) -> bool:
    return row % 3 == 0


def session_with(ladders: list[Ladder], tasks: int) -> Session:
    nodes = [node(f"n{row}", pods=MOST if is_closed(row) else len(one)) for row, one in enumerate(ladders)]
    written = type("Written", (Ladders,), {"ladders": tuple(ladders)})
    tiers = ["gang, ladders"]
    jobs = [job("j", tasks=tasks, cpu=0, memory="1")]
    return Story("", nodes=nodes, jobs=jobs, tiers=tiers, plugins=[written]).session()


def one_by_one(ladders: list[Ladder], count: int) -> list[int]:
    taken, height = [], [0] * len(ladders)
    for _ in range(count):
        open_rows = [row for row, ladder in enumerate(ladders) if height[row] < len(ladder)]
        if not open_rows:
            break
        taken.append(max(open_rows, key=lambda row: (ladders[row][height[row]], -row)))
        height[taken[-1]] += 1
    return taken


@given(LADDERS, st.integers(1, MOST))
def test_a_run_takes_what_one_task_after_another_would_take(ladders: list[Ladder], count: int) -> None:
    session = session_with(ladders, 1)
    everywhere = np.ones(len(ladders), dtype=np.bool_)
    task = session.tasks[0]
    assert session.scoring.is_foreseeable(task)
    feasible = session.scoring.feasible_nodes(task)
    assert session.scoring.best_run(task, count, feasible) == one_by_one(ladders, count)
    assert session.scoring.best_run(task, count, feasible & ~everywhere) == []


@given(LADDERS, st.integers(1, 12), st.data())
def test_a_run_among_some_nodes_takes_what_is_chosen_there_one_by_one(
    ladders: list[Ladder], count: int, data: st.DataObject
) -> None:
    session = session_with(ladders, count)
    draw = data.draw(st.lists(st.booleans(), min_size=len(ladders), max_size=len(ladders)), label="among")
    among: Mask = np.array(draw)
    tasks = list(session.tasks)
    foreseen = session.scoring.best_run(tasks[0], count, among & session.scoring.feasible_nodes(tasks[0]))
    taken: list[int] = []
    for task in tasks:
        choice = session.scoring.choose(task, among & session.scoring.feasible_nodes(task))
        if choice is None:
            break
        session.put(task, choice.row, Status.ALLOCATED)
        taken.append(choice.row)
    assert foreseen == taken


@pytest.mark.parametrize(("count", "expected"), [(3, [1, 2, 3]), (9, [0, 1, 2, 3, 5]), (1, [1])])
def test_of_equal_rows_the_first_are_the_best(count: int, expected: list[int]) -> None:
    scores: Floats = np.array([1.0, 3.0, 2.0, 2.0, -np.inf, 2.0])
    rows: Counts = best_rows(scores, count)
    assert rows.tolist() == expected
