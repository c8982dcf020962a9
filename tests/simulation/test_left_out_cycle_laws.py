"""A simulation that leaves out what can decide nothing starts and ends jobs as one that tries everything."""

from __future__ import annotations

from dataclasses import replace as but_for
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.conf import BUILT_IN_DEFAULT
from hekla.engine.framework.shortcuts import EVERY_SHORTCUT, Shortcuts
from hekla.objects import ObjectMeta, PriorityClass, Queue
from hekla.objects.scheduling import QueueSpec
from hekla.simulation.options import SimulationOptions
from hekla.simulation.simulate import Simulation
from hekla.simulation.workloads import (
    Fault,
    Hazards,
    NodeDrains,
    NodeFails,
    NodesAdded,
    Restart,
    Submission,
    Workload,
)
from properties.effort import examples
from simulation.plays import PLAIN, conf_of, job, node, play
from simulation.test_against_references import BUSY

FORGETFUL = but_for(EVERY_SHORTCUT, unchanged_jobs=False)

CAPACITY = BUILT_IN_DEFAULT.replace("proportion", "capacity")
TIMED = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: sla
    arguments:
      sla-waiting-time: 40s
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
CONFS = {
    "plain": PLAIN,
    "default": BUILT_IN_DEFAULT,
    "capacity": CAPACITY,
    "timed": TIMED,
    "evicting": BUSY,
    "late enqueue": TIMED.replace("enqueue, allocate, backfill", "allocate, enqueue, backfill"),
    "no enqueue": TIMED.replace("enqueue, allocate, backfill", "allocate, backfill"),
}

QUEUES = ("research", "production", "default")
OBJECTS = (
    PriorityClass(metadata=ObjectMeta(name="high"), value=100),
    *(Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=at)) for at, name in enumerate(QUEUES, 1)),
)


class Play(NamedTuple):
    """What is drawn: the jobs, and what goes wrong."""

    jobs: list[Submission]
    faults: list[Fault]
    hazards: Hazards
    period: float


@st.composite
def submissions(draw: st.DrawFn, at: int) -> Submission:
    pods = draw(st.integers(1, 4))
    return job(
        f"j{at:02}",
        draw(st.integers(0, 60)),
        draw(st.integers(1, 50)),
        pods,
        draw(st.integers(1, 4)),
        queue=draw(st.sampled_from(QUEUES)),
        priority_class=draw(st.sampled_from(["", "", "high"])),
        min_available=draw(st.sampled_from([None, None, 1])),
        restart=draw(st.sampled_from(list(Restart))),
        fails_after=draw(st.sampled_from([None, None, 5.0])),
    )


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    at = float(draw(st.integers(0, 60)))
    kind = draw(st.sampled_from([NodeFails, NodeDrains, NodesAdded]))
    if kind is NodesAdded:
        return NodesAdded(at, (node(f"n{draw(st.integers(3, 5))}", draw(st.integers(1, 4))),))
    return kind(at, draw(st.sampled_from(["n1", "n2"])), draw(st.sampled_from([None, 20.0])))


@st.composite
def plays(draw: st.DrawFn) -> Play:
    count = draw(st.integers(1, 14))
    jobs = sorted([draw(submissions(at)) for at in range(count)], key=lambda one: one.submitted)
    hazards = Hazards(pod_failure_seconds=draw(st.sampled_from([None, None, 100.0])))
    return Play(jobs, draw(st.lists(faults(), max_size=3)), hazards, draw(st.sampled_from([1.0, 3.0])))


def simulation_of(play: Play, conf: str, shortcuts: Shortcuts = EVERY_SHORTCUT) -> Simulation:
    """The play on two nodes, ready to run."""
    workload = Workload(
        "play",
        lambda: iter(play.jobs),
        objects=OBJECTS,
        faults=tuple(play.faults),
        hazards=play.hazards,
        count=len(play.jobs),
    )
    return Simulation(
        workload,
        conf_of(conf),
        nodes=[node("n1", 4), node("n2", 6)],
        options=SimulationOptions(period=play.period, until=2_000.0),
        shortcuts=shortcuts,
    )


def outcome(play: Play, conf: str, shortcuts: Shortcuts) -> list[tuple[str, float, float, str]]:
    """Of each job its name, start, end and what became of it."""
    jobs = simulation_of(play, conf, shortcuts).run().jobs
    table = zip(jobs.names, jobs.started.tolist(), jobs.finished.tolist(), jobs.state.tolist(), strict=True)
    return [(name, repr(start), repr(end), state) for name, start, end, state in table]


@pytest.mark.parametrize("conf", CONFS)
@examples(0.5)
@given(play=plays())
def test_what_waits_starts_as_if_every_event_were_a_cycle(conf: str, play: Play) -> None:
    assert outcome(play, CONFS[conf], EVERY_SHORTCUT) == outcome(play, CONFS[conf], FORGETFUL)


def test_a_simulation_ends_although_a_plugin_acts_on_time_and_a_job_never_fits() -> None:
    run = play([job("large", 0, 1, pods=9)], conf=TIMED)
    assert np.isnan(run.jobs.started).all()
    assert run.cycles < 4_000


def test_gangs_of_one_kind_wait_on_while_a_node_goes() -> None:
    """The second is refused as the first was, and must not go on with places on nodes that are gone."""
    jobs = [job("first", 0, 1, 3, 4), job("second", 0, 1, 3, 4)]
    nodes = [node("n1", 4), node("n2", 6)]
    run = play(jobs, nodes, conf=PLAIN, faults=[NodeFails(1.0, "n1")])
    assert np.isnan(run.jobs.started).all()
