"""JobAnswer: all that there is to say of one job that waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hekla.engine.explain.explanation import Explanation
from hekla.engine.explain.findings import waits
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.wait_reason import Verdict
from hekla.insight.explain.expected_start import ExpectedStart, StartAssumptions, expected_start
from hekla.insight.explain.holders import Holders, holders_of
from hekla.insight.explain.position import LASTING, QueuePosition, position_of
from hekla.insight.explain.state import ClusterState
from hekla.insight.forecast.samples import OnSample
from hekla.insight.plan import TRIES, Plan
from hekla.insight.plan.search import OnTry

NEVER = ExpectedStart(unknown="never, as the cluster and the job are")
HELD = ExpectedStart(unknown="cannot be told: it waits for a person or another object")


@dataclass(frozen=True)
class JobAnswer:
    """Why a job waits, who is ahead of it, when it starts, what would help, who holds what it waits for."""

    explanation: Explanation
    pods: int
    """Those that exist."""
    minimum: int
    position: QueuePosition | None = None
    expected: ExpectedStart | None = None
    holders: Holders | None = None
    plan: Plan | None = None
    """Of the job as it stands, with changes that would let it start."""

    def as_data(self) -> dict[str, object]:
        """What goes with the explanation."""
        plan = self.plan
        return {
            "pods": self.pods,
            "minimum": self.minimum,
            "position": None if self.position is None else self.position.as_data(),
            "expectedStart": None if self.expected is None else self.expected.as_data(),
            "heldBy": None if self.holders is None else self.holders.as_data(),
            "suggestions": [] if plan is None else [each.as_data() for each in plan.suggestions],
            "tries": 0 if plan is None else plan.tries,
        }


@dataclass(frozen=True)
class Effort:
    """How far answers are looked for, and who hears of it."""

    tries: int = TRIES
    """How many changes are tried out at most."""
    assumptions: StartAssumptions | None = None
    """None: no start is told."""
    on_try: OnTry | None = None
    is_stopped: Callable[[], bool] = lambda: False
    on_sample: OnSample | None = None


def answer_for(
    session: Session, job: Job, explanation: Explanation, state: Callable[[], ClusterState], effort: Effort
) -> JobAnswer:
    """The answer for a job of the session, as that leaves it; `state` is what changes are tried out on."""
    pods = len(job.roster)
    if not waits(job):
        return JobAnswer(explanation, pods, job.minimum)
    position, holders = None, None
    if explanation.verdict not in LASTING:
        position, holders = position_of(session, job), holders_of(session, job, explanation.code)
    if job.roster.has_places:
        return JobAnswer(explanation, pods, job.minimum, position, None, holders)
    cluster = state()
    start = start_of(cluster, job.uid, explanation, effort)
    return JobAnswer(
        explanation, pods, job.minimum, position, start, holders, plan_of(cluster, job.uid, effort)
    )


def answer_left_out(explanation: Explanation, state: Callable[[], ClusterState], effort: Effort) -> JobAnswer:
    """The answer for a job that no cycle knows: it has no turn, and holds no place in its queue."""
    if explanation.verdict is None:
        return JobAnswer(explanation, 0, 0)
    cluster = state()
    plan = plan_of(cluster, explanation.job, effort)
    start = start_of(cluster, explanation.job, explanation, effort)
    return JobAnswer(explanation, 0, plan.minimum, expected=start, plan=plan)


def start_of(state: ClusterState, job: str, explanation: Explanation, effort: Effort) -> ExpectedStart | None:
    """When the job starts, by the key of its PodGroup; what does not pass by itself has no time."""
    if effort.assumptions is None:
        return None
    if explanation.verdict is Verdict.NEVER:
        return NEVER
    if explanation.verdict is Verdict.HELD:
        return HELD
    return expected_start(state, job, effort.assumptions, on_sample=effort.on_sample)


def plan_of(state: ClusterState, job: str, effort: Effort) -> Plan:
    """What would let the job start, by the key of its PodGroup or its name."""
    [plan] = state.planner().plan_waiting(
        [job],
        written=state.written,
        tries=effort.tries,
        on_try=effort.on_try,
        is_stopped=effort.is_stopped,
    )
    return plan
