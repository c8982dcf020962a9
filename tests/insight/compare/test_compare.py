"""Configurations of which one is known to be better, compared by running them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from hekla import Plugin, answers
from hekla.conf import Conf, read_conf, require
from hekla.engine.framework.points import JOB_ORDER
from hekla.engine.model.job import Job
from hekla.errors import InputError
from hekla.insight.compare import (
    Chance,
    ComparedConf,
    Comparison,
    Judgement,
    Resampled,
    compare,
    comparison_data,
    comparison_lines,
    verdict_of,
)
from hekla.scheduler.builtin import BUILTIN
from hekla.simulation.workloads import Workload, read_workload

SPREADING = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins:
  - {name: predicates}
  - {name: nodeorder, arguments: {leastrequested.weight: 10, mostrequested.weight: 0}}
"""
PACKING = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: binpack}]
"""
# Small jobs spread over all nodes leave no node whole for a large one.
FRAGMENTS = """
name: fragments
nodes: 2 x cpu=4
queues: [{name: small}, {name: large}]
jobs:
- {name: note, queue: small, every: 60s, count: 30, duration: 2m, cpu: 1}
- {name: train, queue: large, arrival: 150s, every: 3m, count: 10, duration: 2m, cpu: 4}
"""
CHANCY = """
name: chancy
nodes: 2 x cpu=4
generate: {jobs: 12, rate: 60, sizes: {1: 1}, pods: [{cpu: 1}, {cpu: 4}], durations: {kind: fixed, value: 2m}}
"""


def conf(text: str) -> Conf:
    return require(read_conf(text, "test", BUILTIN.catalogue()), False)


CONFS = {"spread": conf(SPREADING), "pack": conf(PACKING)}


@pytest.fixture(name="written")
def _written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "workload.yaml"
        path.write_text(text)
        return path

    return write


Written = Callable[[str], Path]


def test_packing_is_found_better_for_large_jobs_and_the_same_for_small_ones(written: Written) -> None:
    found = compare(read_workload(written(FRAGMENTS)), CONFS, seeds=range(5))
    (pack,) = found.against
    assert found.chance is Chance.NONE
    assert found.seeds == (0,)  # four more would have been the same four times
    large, small = (pack.difference("wait.mean", queue) for queue in ("large", "small"))
    assert large.judgement is Judgement.BETTER
    assert large.candidate < large.base
    assert small.judgement is Judgement.SAME
    said = verdict_of(pack)
    assert said.headline == "pack is better than spread"
    assert any(text.startswith("jobs of queue large wait") for text in said.better)
    assert said.worse == ()


def test_a_configuration_against_itself_makes_no_difference(written: Written) -> None:
    twice = {"one": CONFS["pack"], "two": CONFS["pack"]}
    found = compare(read_workload(written(FRAGMENTS)), twice)
    (two,) = found.against
    assert two.is_identical
    assert all(each.estimate.difference == 0 for each in two.differences if not math.isnan(each.base))
    assert comparison_lines(found)[0] == "= two makes no difference: every job starts and ends as under one"
    assert all(line.endswith("same") for line in comparison_lines(found) if line.startswith("wait,"))


def test_three_configurations_are_each_held_against_the_first(written: Written) -> None:
    three = {**CONFS, "again": CONFS["spread"]}
    found = compare(read_workload(written(FRAGMENTS)), three)
    assert [(each.base, each.name) for each in found.against] == [("spread", "pack"), ("spread", "again")]
    assert [each.is_identical for each in found.against] == [False, True]
    assert [run.conf for run in found.runs] == ["spread", "pack", "again"]


class Generated:
    """Other arrivals with every seed; a class of a module, so that it can be sent to processes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, seed: int) -> Workload:
        return read_workload(self.path, seed=seed)


def told(comparison: Comparison) -> object:
    return comparison_data(comparison), comparison_lines(comparison)


def test_one_process_or_two_the_result_is_the_same(written: Written) -> None:
    source = Generated(written(CHANCY))
    alone, together = (compare(source, CONFS, seeds=(7, 8, 9), processes=count) for count in (1, 2))
    assert alone.chance is Chance.ARRIVALS
    assert alone.against[0].seeds == (7, 8, 9)
    assert told(alone) == told(together)
    assert str(alone.summaries) == str(together.summaries)  # NaN is not equal to itself
    assert [run.conf for run in together.runs] == ["spread", "pack"]


def test_a_workload_at_hand_is_sent_to_processes_with_its_jobs(written: Written) -> None:
    workload = read_workload(written(FRAGMENTS))
    alone, together = (compare(workload, CONFS, processes=count) for count in (1, 2))
    assert told(alone) == told(together)


def test_a_trace_drawn_anew_gives_intervals_to_figures_of_whole_runs(written: Written) -> None:
    found = compare(read_workload(written(FRAGMENTS)), CONFS, seeds=(0, 1, 2), arrivals=Resampled(600.0))
    assert found.chance is Chance.RESAMPLED
    assert not math.isnan(found.against[0].difference("makespan").estimate.low)
    assert "each draws blocks of 10 min of the workload anew" in " ".join(comparison_lines(found))


class LargestFirst(Plugin):
    """Two versions of a plugin differ in nothing but this."""

    name = "bysize"
    sign = -1

    @answers(JOB_ORDER)
    def prefer_by_size(self, job: Job) -> int:
        return self.sign * len(job.tasks)


class SmallestFirst(LargestFirst):
    sign = 1


def test_two_versions_of_a_plugin_are_compared_each_in_a_registry_of_its_own(written: Written) -> None:
    text = """
    nodes: 1 x cpu=4
    jobs:
    - {name: first, duration: 1m, cpu: 4}
    - {name: wide, arrival: 1s, duration: 10m, pods: 4, cpu: 1}
    - {name: thin, arrival: 2s, duration: 1m, cpu: 4}
    """
    by_size = PACKING.replace("priority", "bysize")
    compared_confs = [
        ComparedConf(
            kind.__name__,
            require(read_conf(by_size, "test", BUILTIN.with_class(kind).catalogue()), False),
            BUILTIN.with_class(kind),
        )
        for kind in (LargestFirst, SmallestFirst)
    ]
    found = compare(read_workload(written(text)), compared_confs)
    assert [run.jobs.started.tolist() for run in found.runs] == [[0, 60, 660], [0, 120, 60]]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_in_one_run_is_told_once_and_names_the_run(written: Written, processes: int) -> None:
    bare = FRAGMENTS.replace("nodes: 2 x cpu=4\n", "")
    with pytest.raises(InputError, match=r"^(spread|pack), seed 0: no node to run on") as caught:
        compare(read_workload(written(bare)), CONFS, processes=processes)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_sent_to_a_process_is_said_before_any_starts(written: Written) -> None:
    class Local(LargestFirst):
        pass

    registry = BUILTIN.with_class(Local)
    with pytest.raises(InputError, match=r"cannot be sent to another process.*use one process"):
        compare(read_workload(written(FRAGMENTS)), CONFS, registry=registry, processes=2)


def test_stopped_after_a_pair_that_pair_is_told(written: Written) -> None:
    """Eight runs are wanted; the fifth is stopped, so two seeds are complete and the third is not."""
    begun: set[int] = set()
    found = compare(
        Generated(written(CHANCY)),
        CONFS,
        seeds=range(4),
        on_progress=lambda number, _progress: begun.add(number),
        is_stopped=lambda: len(begun) > 4,
    )
    assert not found.is_complete
    assert found.against[0].seeds == (0, 1)
    assert "stopped: 2 of 4 seeds complete" in comparison_lines(found)


def test_stopped_at_once_there_is_nothing_to_tell(written: Written) -> None:
    found = compare(read_workload(written(FRAGMENTS)), CONFS, is_stopped=lambda: True)
    assert found.against == ()
    assert not found.is_complete


@pytest.mark.parametrize(
    ("confs", "options", "said"),
    [
        ({"one": CONFS["pack"]}, {}, "needs two configurations or more, got 1"),
        ([ComparedConf("x", CONFS["pack"])] * 2, {}, 'two configurations of one name: "x"'),
        (CONFS, {"seeds": ()}, "needs a seed or more"),
        (CONFS, {"seeds": (1, 1)}, "a seed that comes twice"),
        (CONFS, {"confidence": 1.0}, "expected a number between 0 and 1"),
    ],
    ids=["one", "same name", "no seed", "same seed", "confidence"],
)
def test_what_cannot_be_compared_is_refused(
    written: Written, confs: dict[str, Conf], options: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        compare(read_workload(written(FRAGMENTS)), confs, **options)  # type: ignore[arg-type]


def test_the_cause_that_packing_removes_is_named(written: Written) -> None:
    """Ten of forty jobs wait for half a minute each until a node is whole."""
    comparison = compare(read_workload(written(FRAGMENTS)), CONFS)
    against = comparison.against[0]
    gone = against.difference("waitedFor.fragmentation")
    assert (gone.base, gone.candidate) == (10 * 30 / 40, 0)
    assert verdict_of(against).causes[0].startswith("fragmentation shrank by ")
    assert verdict_of(against).causes[0].endswith(" per job to 0 s")
    assert any(
        line.startswith("waited for: fragmentation shrank by ") for line in comparison_lines(comparison)
    )
    data = comparison_data(comparison)["comparisons"][0]
    assert data["verdict"]["waitedFor"] == list(verdict_of(against).causes)
    keys = [each["measure"] for each in data["differences"]]
    assert [key for key in keys if key.startswith("waitedFor.")] == ["waitedFor.fragmentation"]


def test_causes_of_waits_have_intervals_over_seeds(written: Written) -> None:
    """A cause that binds no job under some seed bound none for any time there."""
    comparison = compare(lambda seed: read_workload(written(CHANCY), seed=seed), CONFS, seeds=range(4))
    found = [one for one in comparison.against[0].differences if one.measure.key.startswith("waitedFor.")]
    assert found
    assert all(math.isfinite(one.estimate.low) and math.isfinite(one.base) for one in found)
    for run in comparison.summaries:
        lost = run.summary.lost_time
        assert lost is not None
        of_all_jobs = sum(one.seconds for one in lost.waits)
        wait = run.summary.overall.wait
        assert of_all_jobs == pytest.approx(wait.mean * wait.count)
