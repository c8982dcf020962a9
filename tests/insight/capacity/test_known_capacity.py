"""The number of nodes against Erlang's formula: exponential arrivals and run times, one job to a node.

Run times are ten hours on average. A second between two cycles, and another one until a job is admitted, are
nothing to that, so that a cluster is the queue of which the formula speaks. Loads, limits and seeds were
written down before any of it was run. All twenty cases take half an hour of one processor: they are tried
with HYPOTHESIS_PROFILE=search, and a small one always.
"""

from __future__ import annotations

import math
import os
from functools import partial

import pytest

from hekla.api import conf_of
from hekla.insight.capacity import CapacityAnswer, capacity, read_goal, read_nodes
from hekla.simulation.workloads import Settings, Workload, generate
from hekla.simulation.workloads.generator_form import Durations, PodKind, QueueMix

HOUR = 3600.0
RUN_HOURS = 10
SEEDS = 8
FIRST_COME = conf_of('actions: "enqueue, allocate"\ntiers:\n- plugins: [{name: gang}]\n')
"""Where jobs and nodes are all alike, the default configuration decides the same and takes longer."""
IS_SEARCH = os.environ.get("HYPOTHESIS_PROFILE") == "search"

CASES = [
    (1, "mean", 0.1), (1, "p95", 0.5), (2, "mean", 0.2), (2, "p95", 1.0),
    (3, "mean", 0.05), (3, "p95", 0.25), (4, "mean", 0.4), (4, "p95", 0.5),
    (5, "mean", 0.1), (5, "p95", 1.0), (6, "mean", 0.2), (6, "p95", 0.25),
    (7, "mean", 0.05), (7, "p95", 0.5), (8, "mean", 0.1), (8, "p95", 1.0),
    (9, "mean", 0.2), (9, "p95", 0.25), (10, "mean", 0.1), (10, "p95", 0.5),
]  # fmt: skip
"""Load in nodes that are busy on average, statistic of the wait, and its limit in mean run times."""


def erlang_c(load: float, nodes: int) -> float:
    """The probability that a job has to wait."""
    if load >= nodes:
        return 1.0
    blocked = 1.0
    for number in range(1, nodes + 1):  # Erlang B, node by node
        blocked = load * blocked / (number + load * blocked)
    return blocked / (1 - load / nodes * (1 - blocked))


def wait(load: float, nodes: int, statistic: str) -> float:
    """In mean run times: waits that are not 0 are exponential, at the rate by which nodes exceed the load."""
    if load >= nodes:
        return math.inf
    waiting = erlang_c(load, nodes)
    if statistic == "mean":
        return waiting / (nodes - load)
    return max(0.0, math.log(waiting / 0.05) / (nodes - load))


def nodes_by_formula(load: float, statistic: str, limit: float) -> int:
    nodes = 1
    while wait(load, nodes, statistic) >= limit:
        nodes += 1
    return nodes


def test_the_formula_is_that_of_the_tables() -> None:
    assert erlang_c(1, 2) == pytest.approx(1 / 3)
    assert erlang_c(8, 10) == pytest.approx(0.40918, abs=1e-5)


def single_jobs(seed: int, *, load: float, jobs: int) -> Workload:
    settings = Settings(
        jobs=jobs,
        rate=load / RUN_HOURS,
        daily=0,
        durations=Durations("exponential", typical=RUN_HOURS * HOUR, shortest=0, longest=math.inf),
        sizes=((1, 1),),
        pods=(PodKind((("cpu", "1"),)),),
        queues=(QueueMix("default", users=0),),
        priorities=(),
        estimate=None,
    )
    return generate(settings, seed)


def found(
    load: float, statistic: str, limit: float, *, jobs: int, first_seed: int, most: int
) -> CapacityAnswer:
    sizing = read_nodes([f"1..{most} x cpu=1"])
    assert sizing is not None
    return capacity(
        partial(single_jobs, load=load, jobs=jobs),
        sizing,
        [read_goal(f"wait.{statistic} < {limit * RUN_HOURS * HOUR:g}")],
        FIRST_COME,
        seeds=range(first_seed, first_seed + SEEDS),
    )


def check(answer: CapacityAnswer, expected: int) -> None:
    assert answer.is_complete
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low <= expected <= answer.high
    assert answer.high - answer.low <= 2


def test_the_number_is_that_of_erlang() -> None:
    answer = found(1, "mean", 0.2, jobs=200, first_seed=0, most=4)
    check(answer, nodes_by_formula(1, "mean", 0.2))


@pytest.mark.skipif(not IS_SEARCH, reason="half an hour: HYPOTHESIS_PROFILE=search")
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: "-".join(map(str, CASES[number])))
def test_the_number_is_that_of_erlang_in_all_cases(number: int) -> None:
    load, statistic, limit = CASES[number]
    answer = found(load, statistic, limit, jobs=3000, first_seed=100 * number, most=2 * load + 8)
    print(number, CASES[number], answer.low, answer.smallest, answer.high)
    check(answer, nodes_by_formula(load, statistic, limit))
