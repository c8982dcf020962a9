"""Metrics: what Prometheus is told about the scheduler; the table of all of them is `measures`.

Histograms are kept by prometheus-client. All else is plain numbers: those of queues and jobs are taken from
the last cycle, so that a series goes with its job, and those of the process are read on request.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping

from prometheus_client import (
    CollectorRegistry,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.utils import floatToGoString

from hekla.clock import stopwatch
from hekla.cluster.kubernetes.intents import End, WriteOutcome
from hekla.engine.framework.decisions import Bind, Decision, Evict, Tell
from hekla.engine.model.job import Job
from hekla.scheduler.cycle import CycleReport
from hekla.server.measures import MEASURES, Metric
from hekla.server.observation import Figures, JobHistory, Series, observed

logger = logging.getLogger("hekla.serve")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREEMPTING = ("preempt", "gangpreempt")
IDLE_FACTOR = 20
"""Observing the jobs takes at most one part in so many of the time."""
MISSED = (WriteOutcome.REFUSED, WriteOutcome.FORBIDDEN, WriteOutcome.EXPIRED, WriteOutcome.ADOPTED)


class Metrics:
    """Hears of cycles in the engine's thread and of binds in that of the event loop."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._histograms = {
            measure.name: Histogram(
                measure.name,
                measure.meaning,
                measure.labels,
                buckets=measure.buckets,
                registry=self._registry,
            )
            for measure in MEASURES.values()
            if measure.type == "histogram"
        }
        self._history = JobHistory()
        self._transactions: Counter[str] = Counter()
        self._told = 0
        self._attempts = 0
        self._futile = 0
        self._of_jobs: Figures = {}
        self._next_observation = 0.0
        self.of_cycles: Figures = {}
        """What the cycles came to so far; replaced as a whole, so that any thread may read it."""
        self.results: Counter[str] = Counter()
        """How attempts to bind ended, in Volcano's words."""
        self._rendering = asyncio.Lock()

    # In the engine's thread

    def cycle_ended(self, report: CycleReport, seconds: float) -> None:
        """Take from the report what is told; its session is not looked at later."""
        try:
            self._take(report, seconds)
        except Exception:
            # A plugin may miscount. That is no reason to stop scheduling.
            logger.exception("the figures of a cycle could not be taken")

    def _take(self, report: CycleReport, seconds: float) -> None:
        self._time(report, seconds)
        victims = self._count_evictions(report.by_action)
        self._told += sum(isinstance(decision, Tell) for decision in report.decisions)
        self._note_placings(report)
        beneficiaries = report.session.beneficiaries
        self._futile += 0 if beneficiaries is None else beneficiaries.futile
        began = stopwatch()
        if began >= self._next_observation:
            self._of_jobs = observed(report.session, self._history)
            ended = stopwatch()
            self._next_observation = ended + IDLE_FACTOR * (ended - began)
        self.of_cycles = {
            **self._of_jobs,
            "volcano_pod_preemption_victims": {(): victims},
            "volcano_total_preemption_attempts": {(): self._attempts},
            "volcano_eviction_transactions_total": {(name,): n for name, n in self._transactions.items()},
            "volcano_schedule_attempts_total": {("unschedulable",): self._told},
            "hekla_futile_evictions_total": {(): self._futile},
        }

    def _time(self, report: CycleReport, seconds: float) -> None:
        self._observe("volcano_e2e_scheduling_latency_milliseconds", seconds)
        self._observe("volcano_open_session_duration_milliseconds", report.times.get("open", 0.0))
        for action in report.by_action:
            self._observe("volcano_action_scheduling_latency_milliseconds", report.times[action], action)
        name = "volcano_plugin_scheduling_latency_milliseconds"
        for plugin, spent in report.session.opening.items():
            self._observe(name, spent, plugin, "OnSessionOpen")
        for plugin, spent in report.session.closing.items():
            self._observe(name, spent, plugin, "OnSessionClose")

    def _count_evictions(self, by_action: Mapping[str, list[Decision]]) -> int:
        """How many pods are evicted by preemption; jobs that evictions are for count once in a cycle."""
        victims = 0
        for action, decisions in by_action.items():
            evictions = [decision for decision in decisions if isinstance(decision, Evict)]
            if not evictions:
                continue
            beneficiaries = {eviction.beneficiary for eviction in evictions}
            self._transactions[action] += len(beneficiaries)
            if action in PREEMPTING:
                self._attempts += len(beneficiaries)
                victims += len(evictions)
        return victims

    def _note_placings(self, report: CycleReport) -> None:
        session = report.session
        placed: dict[str, Job] = {}
        for decision in report.decisions:
            task = session.tasks.get(decision.pod) if isinstance(decision, Bind) else None
            if task is not None:
                waited = max(session.now - task.created, 0.0)
                self._observe("volcano_task_scheduling_latency_milliseconds", waited, "Assumed")
                if task.job in session.jobs:
                    placed[task.job] = session.jobs[task.job]
        for uid, job in placed.items():
            self._history.placed_at[uid] = session.now
            waited = max(session.now - job.created, 0.0)
            self._observe("volcano_e2e_job_scheduling_latency_milliseconds", waited)

    # In the event loop's thread

    def bind_ended(self, end: End, seconds: float, waited: float | None) -> None:
        """A bind took so long, and so long after the pod was made, where that is known."""
        self._observe("volcano_scheduling_stage_duration_milliseconds", seconds, "Bind")
        if end.outcome is WriteOutcome.CONFIRMED:
            self.results["scheduled"] += 1
            if waited is not None:
                self._observe("volcano_task_scheduling_latency_milliseconds", max(waited, 0.0), "Bound")
        elif end.outcome in MISSED:
            self.results["error"] += 1

    async def page(self, of_process: Figures) -> bytes:
        """Everything as Prometheus reads it; one page is written at a time, beside the event loop."""
        results: dict[tuple[str, ...], float] = {(name,): n for name, n in self.results.items()}
        figures = {**self.of_cycles, **of_process}
        attempts = {**figures.get("volcano_schedule_attempts_total", {}), **results}
        figures["volcano_schedule_attempts_total"] = attempts
        async with self._rendering:
            return await asyncio.to_thread(self._written, figures)

    def _written(self, figures: Figures) -> bytes:
        families = [text_of(MEASURES[name], series) for name, series in sorted(figures.items()) if series]
        return "".join(families).encode() + generate_latest(self._registry)

    def _observe(self, name: str, seconds: float, *labels: str) -> None:
        histogram = self._histograms[name]
        (histogram.labels(*labels) if labels else histogram).observe(1000 * seconds)


def text_of(measure: Metric, series: Series) -> str:
    """A metric with all its series; of tens of thousands prometheus-client would make an object each."""
    name = measure.name
    places = sorted((key, place) for place, key in enumerate(measure.labels))
    lines = [f"# HELP {name} {measure.meaning}", f"# TYPE {name} {measure.type}"]
    for labels, value in series.items():
        pairs = ",".join([f'{key}="{_escaped(labels[place])}"' for key, place in places])
        number = floatToGoString(value)  # type: ignore[no-untyped-call]
        lines.append(f"{name}{{{pairs}}} {number}" if pairs else f"{name} {number}")
    return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
