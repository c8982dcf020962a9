"""Metrics: Volcano's names as they are, numbers as the cycle left them, and nothing that outlives its job."""

from __future__ import annotations

import asyncio
import re
from itertools import pairwise

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fakes.steps import steps_of
from hekla.cluster.kubernetes.binding import End, WriteOutcome
from hekla.engine.framework.plugin import Plugin
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Manifest
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.server.measures import MEASURES
from hekla.server.metrics import Metrics
from hekla.testing import conf_of, job, node, queue

JOB = ("job_name", "queue", "job_namespace")
AMOUNTS = ("allocated", "request", "deserved", "capacity", "real_capacity", "inqueue")
PHASES = ("inqueue", "pending", "running", "unknown", "completed")
VOLCANO: dict[str, tuple[str, tuple[str, ...]]] = {
    "volcano_e2e_scheduling_latency_milliseconds": ("histogram", ()),
    "volcano_open_session_duration_milliseconds": ("histogram", ()),
    "volcano_e2e_job_scheduling_latency_milliseconds": ("histogram", ()),
    "volcano_e2e_job_scheduling_duration": ("gauge", JOB),
    "volcano_e2e_job_scheduling_start_time": ("gauge", JOB),
    "volcano_e2e_job_scheduling_last_time": ("gauge", JOB),
    "volcano_plugin_scheduling_latency_milliseconds": ("histogram", ("plugin", "OnSession")),
    "volcano_action_scheduling_latency_milliseconds": ("histogram", ("action",)),
    "volcano_task_scheduling_latency_milliseconds": ("histogram", ("stage",)),
    "volcano_scheduling_stage_duration_milliseconds": ("histogram", ("stage",)),
    "volcano_schedule_attempts_total": ("counter", ("result",)),
    "volcano_pod_preemption_victims": ("gauge", ()),
    "volcano_total_preemption_attempts": ("counter", ()),
    "volcano_eviction_transactions_total": ("counter", ("action",)),
    "volcano_unschedule_task_count": ("gauge", ("job_id",)),
    "volcano_unschedule_job_count": ("gauge", ()),
    "volcano_job_share": ("gauge", ("job_ns", "job_id")),
    "volcano_job_retry_counts": ("counter", ("job_id",)),
    **{f"volcano_queue_{what}_milli_cpu": ("gauge", ("queue_name",)) for what in AMOUNTS},
    **{f"volcano_queue_{what}_memory_bytes": ("gauge", ("queue_name",)) for what in AMOUNTS},
    **{f"volcano_queue_{what}_scalar_resources": ("gauge", ("queue_name", "resource")) for what in AMOUNTS},
    "volcano_queue_share": ("gauge", ("queue_name",)),
    "volcano_queue_weight": ("gauge", ("queue_name",)),
    "volcano_queue_overused": ("gauge", ("queue_name",)),
    **{f"volcano_queue_pod_group_{phase}_count": ("gauge", ("queue_name",)) for phase in PHASES},
}
PROPORTION = conf_of("allocate, backfill", ["gang", "drf, proportion, predicates"])


def page_of(metrics: Metrics) -> str:
    return asyncio.run(metrics.page({})).decode()


def cycle(metrics: Metrics, *objects: Manifest, conf: object = PROPORTION, now: float = 1000.0) -> str:
    report = run_cycle(take_snapshot([queue("default"), *objects]), conf, now=now)  # type: ignore[arg-type]
    metrics.cycle_ended(report, seconds=0.25)
    return page_of(metrics)


def values(page: str) -> dict[str, float]:
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_names_types_and_labels_are_volcanos() -> None:
    known = {m.name: (m.type, m.labels) for m in MEASURES.values() if m.name.startswith("volcano_")}
    assert known == VOLCANO


@pytest.mark.parametrize(
    ("name", "least", "most", "count"),
    [
        ("volcano_e2e_scheduling_latency_milliseconds", 1, 5000, 20),
        ("volcano_open_session_duration_milliseconds", 1, 5000, 20),
        ("volcano_e2e_job_scheduling_latency_milliseconds", 100, 120_000, 30),
        ("volcano_plugin_scheduling_latency_milliseconds", 0.1, 100, 15),
        ("volcano_action_scheduling_latency_milliseconds", 1, 2000, 20),
        ("volcano_task_scheduling_latency_milliseconds", 50, 60_000, 30),
        ("volcano_scheduling_stage_duration_milliseconds", 0.1, 500, 20),
    ],
)
def test_buckets_grow_by_one_factor(name: str, least: float, most: float, count: int) -> None:
    bounds = MEASURES[name].buckets
    factors = [after / before for before, after in pairwise(bounds)]
    assert (len(bounds), bounds[0], bounds[-1]) == (count, least, pytest.approx(most))
    assert factors == pytest.approx([(most / least) ** (1 / (count - 1))] * (count - 1))


def test_the_page_has_the_names_and_types_of_the_table_and_no_others() -> None:
    metrics = Metrics()
    metrics.bind_ended(End(WriteOutcome.CONFIRMED), 0.01, 3.0)
    page = cycle(metrics, node("n1"), *job("a", cpu=1).objects, *job("big", tasks=9, cpu=3).objects)
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, flags=re.MULTILINE))
    ours = {name: type_ for name, type_ in types.items() if not name.startswith("process_")}
    assert ours == {name: MEASURES[name].type for name in ours}
    assert ours["volcano_job_retry_counts"] == ours["volcano_total_preemption_attempts"] == "counter"
    assert "_created" not in page
    assert "volcano_total_preemption_attempts_total" not in page


def test_a_best_effort_pod_without_a_node_counts_as_missing() -> None:
    tainted, idle = node("n1", taints=["gpu=yes:NoSchedule"]), job("idle", tasks=0, best_effort=1)
    said = values(cycle(Metrics(), tainted, *idle.objects))
    assert said['volcano_unschedule_task_count{job_id="default/idle"}'] == 1


def test_a_cycle_tells_of_its_jobs_and_queues() -> None:
    said = values(cycle(Metrics(), node("n1"), *job("a", cpu=1).objects, *job("big", tasks=9, cpu=3).objects))
    assert said['volcano_queue_allocated_milli_cpu{queue_name="default"}'] == 1000
    assert said['volcano_queue_request_milli_cpu{queue_name="default"}'] == 28000
    assert said['volcano_queue_real_capacity_memory_bytes{queue_name="default"}'] == 16 * 2**30
    assert 'volcano_queue_capacity_milli_cpu{queue_name="default"}' not in said  # it has no limit of its own
    assert said['volcano_queue_weight{queue_name="default"}'] == 1
    assert said['volcano_job_share{job_id="a",job_ns="default"}'] == 0.25
    assert said['volcano_unschedule_task_count{job_id="default/big"}'] == 9
    assert said["volcano_unschedule_job_count"] == 1
    assert said['hekla_pending_jobs{queue="default"}'] == 1
    assert said['hekla_pending_jobs_by_reason{speaker="allocate"}'] == 1
    assert said['volcano_schedule_attempts_total{result="unschedulable"}'] == 9
    assert said["volcano_e2e_scheduling_latency_milliseconds_sum"] == 250
    assert said['volcano_action_scheduling_latency_milliseconds_count{action="allocate"}'] == 1
    opened = '{OnSession="OnSessionOpen",plugin="gang"}'
    assert said[f"volcano_plugin_scheduling_latency_milliseconds_count{opened}"] == 1
    assert said['volcano_task_scheduling_latency_milliseconds_count{stage="Assumed"}'] == 1


def test_capacity_tells_what_queues_deserve_and_may_hold() -> None:
    conf = conf_of("allocate", ["gang", "capacity, predicates"])
    limited = queue("limited", deserved={"cpu": 1}, capability={"cpu": 3, "nvidia.com/gpu": 2})
    gang = job("a", queue="limited", cpu=1, gpu=1)
    said = values(cycle(Metrics(), limited, node("n1", gpu=4), *gang.objects, conf=conf))
    assert said['volcano_queue_deserved_milli_cpu{queue_name="limited"}'] == 1000
    assert said['volcano_queue_capacity_milli_cpu{queue_name="limited"}'] == 3000
    gpu = '{queue_name="limited",resource="nvidia.com/gpu"}'
    assert said[f"volcano_queue_capacity_scalar_resources{gpu}"] == 2000
    assert said[f"volcano_queue_allocated_scalar_resources{gpu}"] == 1000
    assert said['volcano_queue_share{queue_name="limited"}'] == 1


def test_series_go_with_their_job() -> None:
    metrics = Metrics()
    gang, waiting = job("a", cpu=1), job("big", tasks=9, cpu=3)
    page = cycle(metrics, node("n1"), *gang.objects, *waiting.objects)
    assert 'job_name="a"' in page
    assert 'job_id="default/big"' in page
    metrics._next_observation = 0.0  # as if some time had passed
    page = cycle(metrics, node("n1"))
    assert [line for line in page.splitlines() if 'job_name="' in line or 'job_id="' in line] == []


def test_evictions_are_counted_by_action_and_beneficiary() -> None:
    conf = conf_of("preempt", ["gang, priority, conformance", "predicates"])
    low = job("low", tasks=4, cpu=1, running={"n1": 4}, min_available=1, priority=1)
    high = job("high", tasks=2, cpu=1, priority=10)
    said = values(cycle(Metrics(), node("n1"), *low.objects, *high.objects, conf=conf))
    assert said["volcano_pod_preemption_victims"] == 2
    assert said["volcano_total_preemption_attempts"] == 1
    assert said['volcano_eviction_transactions_total{action="preempt"}'] == 1


def test_binds_are_counted_by_their_ends() -> None:
    metrics = Metrics()
    for outcome in (WriteOutcome.CONFIRMED, WriteOutcome.CONFIRMED, WriteOutcome.REFUSED, WriteOutcome.GONE):
        metrics.bind_ended(End(outcome), 0.002, waited=1.0)
    said = values(page_of(metrics))
    assert said['volcano_schedule_attempts_total{result="scheduled"}'] == 2
    assert said['volcano_schedule_attempts_total{result="error"}'] == 1
    assert said['volcano_task_scheduling_latency_milliseconds_sum{stage="Bound"}'] == 2000
    assert said['volcano_scheduling_stage_duration_milliseconds_count{stage="Bind"}'] == 4


def test_names_of_others_do_not_break_the_page() -> None:
    evil = 'x"} 1\nvolcano_queue_weight{queue_name="y\\'
    families = {f.name: f for f in text_string_to_metric_families(cycle(Metrics(), queue(evil)))}
    named = {sample.labels["queue_name"] for sample in families["volcano_queue_weight"].samples}
    assert named == {"default", evil}


class Miscounting(Plugin):
    name = "miscounting"

    def queue_figures(self) -> dict[str, object]:  # type: ignore[override]
        raise ZeroDivisionError


def test_a_plugin_that_miscounts_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    conf = conf_of("allocate", ["gang, miscounting"])
    registry = BUILTIN.with_class(Miscounting)
    report = run_cycle(take_snapshot([queue("default")]), conf, registry=registry)
    Metrics().cycle_ended(report, 0.1)
    assert "could not be taken" in caplog.text


def test_a_page_about_many_queues_and_jobs_takes_a_few_steps_a_line() -> None:
    metrics = Metrics()
    groups = [job(f"j{n}", queue=f"q{n % 1000}", tasks=0, phase="Running").objects[0] for n in range(10_000)]
    snapshot = take_snapshot([node("n1"), *(queue(f"q{n}") for n in range(1000)), *groups])
    report = run_cycle(snapshot, PROPORTION, now=1000.0)
    metrics._history.placed_at = dict.fromkeys(report.session.jobs, 1000.0)
    observed = steps_of(lambda: metrics.cycle_ended(report, 0.1))
    written = steps_of(lambda: page_of(metrics))
    page = page_of(metrics)
    assert page.count("\n") > 60_000
    assert page.count('volcano_e2e_job_scheduling_last_time{job_name="j') == 10_000
    assert observed < 20 * page.count("\n")
    assert written < page.count("\n")


def test_a_label_may_hold_anything() -> None:
    figures = {"hekla_config_info": {('a"b\\c\nd',): 1.0}}
    page = asyncio.run(Metrics().page(figures)).decode()
    family = next(f for f in text_string_to_metric_families(page) if f.name == "hekla_config_info")
    assert [sample.labels for sample in family.samples] == [{"hash": 'a"b\\c\nd'}]
