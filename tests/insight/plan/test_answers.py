"""Each kind of answer: it starts now, it starts after evictions, or it does not and why."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from hekla.conf import PRESETS, Conf, read_conf, require
from hekla.insight.plan import Plan, PlannedStart, Planner, plan
from hekla.objects import Manifest
from hekla.scheduler.builtin import BUILTIN
from hekla.testing.builders import JobObjects, job, node, priority_class, queue
from hekla.testing.pods import pod, stamped
from hekla.testing.story import conf_of

QUEUE = queue("default")


def preset(name: str) -> Conf:
    return require(read_conf(PRESETS[name].text, name, BUILTIN.catalogue()), strict=True)


def state(*parts: Manifest | JobObjects) -> list[Manifest]:
    return stamped(list(spread(parts)))


def spread(parts: Sequence[Manifest | JobObjects]) -> list[Manifest]:
    return [thing for part in parts for thing in (part.objects if isinstance(part, JobObjects) else (part,))]


def planned(
    cluster: Sequence[Manifest], *parts: Manifest | JobObjects, conf: Conf | None = None, tries: int = 0
) -> Plan:
    [answer] = plan(cluster, spread(parts), conf or conf_of(), tries=tries)
    return answer


def test_a_job_that_fits_starts_now_and_its_nodes_are_told() -> None:
    cluster = state(QUEUE, node("n1", cpu=2), node("n2", cpu=2))
    answer = planned(cluster, job("train", tasks=4, cpu=1))
    assert answer.start is PlannedStart.NOW
    assert answer.nodes == {"n1": 2, "n2": 2}
    assert (answer.cycles, answer.losers, answer.delays, answer.tries) == (1, (), (), 0)


def test_a_gang_that_is_one_core_short_does_not_start_and_the_short_resource_is_counted() -> None:
    cluster = state(QUEUE, node("n1", cpu=2), node("n2", cpu=1))
    answer = planned(cluster, job("train", tasks=4, cpu=1), conf=conf_of(tiers=("gang", "predicates")))
    assert answer.start is PlannedStart.NOT
    assert answer.placements == {}
    assert "gang: room for 3 of the 4 tasks that start together, short by 1" in answer.reasons
    [shortage] = answer.shortages
    assert shortage.reason.startswith("not enough cpu")
    assert (shortage.nodes, shortage.of) == (2, 2)


def test_an_elastic_job_starts_with_part_of_its_pods() -> None:
    answer = planned(state(QUEUE, node("n1", cpu=3)), job("train", tasks=5, min_available=2, cpu=1))
    assert answer.start is PlannedStart.NOW
    assert (len(answer.placements), answer.pods, answer.minimum) == (3, 5, 2)


def test_a_queue_that_admits_no_more_is_the_reason() -> None:
    full = queue("full", capability={"cpu": 2})
    old = job("old", tasks=2, cpu=1, min_resources={"cpu": 2}, queue="full", running={"n1": 2})
    cluster = state(full, node("n1", cpu=8), old)
    answer = planned(cluster, job("new", cpu=1, queue="full", min_resources={"cpu": 1}))
    assert answer.start is PlannedStart.NOT
    assert "waits to be admitted" in answer.headline
    assert any('queue "full"' in reason for reason in answer.reasons)


def test_preempting_takes_a_second_cycle_and_tells_whose_pods_go() -> None:
    low, high = priority_class("low", 1), priority_class("high", 100)
    old = job("old", tasks=3, min_available=1, cpu=1, running={"n1": 3}, pod_priority=1)
    cluster = state(QUEUE, low, high, node("n1", cpu=4), old)
    new = job("new", tasks=3, cpu=1, priority=100, pod_priority=100)
    answer = planned(cluster, new, conf=preset("priority-first"))
    assert answer.start is PlannedStart.LATER
    assert answer.cycles == 2
    assert answer.nodes == {"n1": 3}
    [loser] = answer.losers
    assert (loser.job, loser.queue, loser.action) == ("default/old", "default", "preempt")
    assert len(loser.pods) == 2
    assert (loser.left, loser.minimum, loser.is_broken) == (1, 1, False)


def test_a_gang_that_loses_too_much_is_told_to_stop() -> None:
    high = priority_class("high", 100)
    cluster = state(QUEUE, high, node("n1", cpu=2), job("old", tasks=2, cpu=1, running={"n1": 2}))
    new = job("new", tasks=2, cpu=1, priority=100, pod_priority=100)
    [loser] = planned(cluster, new, conf=preset("priority-first")).losers
    assert loser.is_broken
    assert (loser.left, loser.minimum) == (0, 2)


def test_reclaiming_names_the_queue_that_gives_back() -> None:
    lender = queue("lender", reclaimable=True)
    borrower = queue("borrower", reclaimable=True)
    old = job("old", tasks=4, min_available=1, cpu=1, queue="borrower", running={"n1": 4})
    cluster = state(lender, borrower, node("n1", cpu=4), old)
    answer = planned(cluster, job("new", tasks=1, cpu=1, queue="lender"), conf=preset("fair-sharing"))
    assert answer.start is PlannedStart.LATER
    [loser] = answer.losers
    assert (loser.queue, loser.action, loser.left) == ("borrower", "reclaim", 3)


def test_pods_that_are_leaving_are_gone_by_the_second_cycle() -> None:
    old = job("old", tasks=1, cpu=2, releasing={"n1": 1})
    answer = planned(state(QUEUE, node("n1", cpu=2), old), job("new", cpu=2))
    assert (answer.start, answer.cycles, answer.losers, answer.leaving) == (PlannedStart.LATER, 2, (), 1)


def test_a_job_that_is_admitted_last_of_all_starts_in_the_second_cycle() -> None:
    late = conf_of(actions="allocate, enqueue")
    answer = planned(state(QUEUE, node("n1", cpu=2)), job("new", cpu=2), conf=late)
    assert (answer.start, answer.cycles, answer.leaving) == (PlannedStart.LATER, 2, 0)


def test_nothing_else_ends_by_itself() -> None:
    old = job("old", tasks=1, cpu=2, running={"n1": 1}, annotations={"hekla.dev/run-seconds": "1"})
    assert planned(state(QUEUE, node("n1", cpu=2), old), job("new", cpu=2)).start is PlannedStart.NOT


def test_jobs_that_would_have_started_without_it_are_told() -> None:
    cluster = state(QUEUE, priority_class("high", 100), node("n1", cpu=2), job("waits", tasks=2, cpu=1))
    answer = planned(cluster, job("new", tasks=1, cpu=1, priority=100))
    assert answer.start is PlannedStart.NOW
    [delay] = answer.delays
    assert (delay.job, delay.queue, delay.pods_without, delay.pods_with) == ("default/waits", "default", 2, 0)


def test_a_job_that_waits_its_turn_delays_no_job() -> None:
    cluster = state(QUEUE, node("n1", cpu=3), job("waits", tasks=2, cpu=1))
    answer = planned(cluster, job("new", tasks=1, cpu=1))
    assert (answer.start, answer.delays) == (PlannedStart.NOW, ())


def test_several_jobs_are_planned_each_for_itself_or_on_top_of_each_other() -> None:
    cluster = state(QUEUE, node("n1", cpu=2))
    jobs = spread([job("a", cpu=2), job("b", cpu=2)])
    assert [each.start for each in plan(cluster, jobs, conf_of(), tries=0)] == [
        PlannedStart.NOW,
        PlannedStart.NOW,
    ]
    together = plan(cluster, jobs, conf_of(), together=True, tries=0)
    assert [each.start for each in together] == [PlannedStart.NOW, PlannedStart.NOT]


def test_a_pod_by_itself_gets_a_group_and_the_queue_that_it_names() -> None:
    research = queue("research")
    named = {"scheduling.volcano.sh/queue-name": "research"}
    answer = planned(state(QUEUE, research, node("n1", cpu=2)), pod("solo", cpu=1, annotations=named))
    assert (answer.job, answer.queue, answer.start) == ("pod default/solo", "research", PlannedStart.NOW)
    assert answer.placements == {"default/solo": "n1"}


def test_what_a_cluster_wrote_on_an_exported_pod_counts_for_nothing() -> None:
    exported = pod("solo", cpu=1, on="gone", phase="Running")
    assert planned(state(QUEUE, node("n1", cpu=2)), exported).placements == {"default/solo": "n1"}


def test_queues_and_classes_in_the_file_of_the_job_are_supposed_to_be_there() -> None:
    cluster = state(QUEUE, node("n1", cpu=2))
    answer = planned(cluster, queue("brand-new"), job("train", cpu=1, queue="brand-new", priority=7))
    assert answer.start is PlannedStart.NOW


def test_planning_leaves_the_objects_as_they_were_and_says_the_same_again() -> None:
    old = job("old", tasks=3, min_available=1, cpu=1, running={"n1": 3})
    cluster = state(QUEUE, priority_class("high", 100), node("n1", cpu=4), old, job("waits", tasks=2, cpu=1))
    before = [msgspec.json.encode(manifest) for manifest in cluster]
    planner = Planner(cluster, preset("everything"))
    new = spread([job("new", tasks=6, cpu=1, min_resources={"cpu": 6})])
    first = planner.plan(new)
    assert planner.plan(new) == first
    assert [msgspec.json.encode(manifest) for manifest in cluster] == before


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_answers(name: str) -> None:
    cluster = state(
        QUEUE, priority_class("high", 100), node("n1", cpu=2), job("old", cpu=1, running={"n1": 1})
    )
    answer = planned(cluster, job("new", tasks=3, cpu=1), conf=preset(name), tries=50)
    assert answer.start is PlannedStart.NOT
    assert answer.suggestions
