"""Problems: what a cycle shows that is to be understood, and that a smaller cycle is to show as well.

Numbers change when a cluster shrinks, so that reasons are compared without them. A cycle breaks an invariant
when a pod that it placed asks for more than its node has, or when it started fewer pods of a gang than start
together; that is checked by manifests and decisions alone, not by the engine's own sums.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hekla.conf import Conf
from hekla.engine.explain.explanation import explain
from hekla.engine.explain.findings import waits
from hekla.engine.framework.decisions import Bind
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.requests import demand_of
from hekla.engine.model.resources import Resources
from hekla.engine.model.status import READY_SET, Status, status_of
from hekla.engine.model.task import Task
from hekla.errors import InputError
from hekla.insight.replay.cases import Case, CaseResult
from hekla.insight.replay.differences import NOTHING, differences, pod_outcomes, spoken
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.outcome import explanations

OVERCOMMITTED, HALF_PLACED = "overcommitted node", "half-placed gang"


@dataclass(frozen=True)
class Breach:
    """One broken rule: which, by which object, and by how much."""

    kind: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.detail}"


def breaches(report: CycleReport) -> list[Breach]:
    """What this cycle broke; nothing, unless there is a bug."""
    if not any(isinstance(decision, Bind) for decision in report.decisions):
        return []
    return [*_overcommitted(report), *_half_placed(report)]


def _overcommitted(report: CycleReport) -> Iterator[Breach]:
    bound = {decision.uid: decision.node for decision in report.decisions if isinstance(decision, Bind)}
    pods_on: dict[str, list[Task]] = defaultdict(list)
    for task in report.session.tasks:
        where = bound.get(task.uid, task.pod.spec.node_name)
        if where and status_of(task.pod) not in (Status.SUCCEEDED, Status.FAILED):
            pods_on[where].append(task)
    for name in dict.fromkeys(bound.values()):
        node = report.session.nodes.nodes[report.session.nodes.row_of[name]]
        added = _sum([task for task in pods_on[name] if task.uid in bound])
        for resource, amount in _sum(pods_on[name]).items():
            offered = node.allocatable.get(resource, 0)
            if added.get(resource, 0) > 0 and amount > offered:
                yield Breach(OVERCOMMITTED, name, f"{resource}: {amount} asked for, {offered} there")


def _sum(tasks: list[Task]) -> Resources:
    total: Resources = {}
    for task in tasks:
        for name, amount in demand_of(task.pod)[0].items():
            total[name] = total.get(name, 0) + amount
    return total


def _half_placed(report: CycleReport) -> Iterator[Breach]:
    session = report.session
    if not _is_strict_about_gangs(session):
        return
    for uid in dict.fromkeys(d.job for d in report.decisions if isinstance(d, Bind)):
        job = session.jobs.get(uid)
        if job is None:
            continue
        started = sum(
            task.status in READY_SET or (task.is_best_effort and task.status is Status.PENDING)
            for task in job.tasks.values()
        )
        if started < job.minimum:
            yield Breach(HALF_PLACED, uid, f"{started} of {job.minimum} that start together")


def _is_strict_about_gangs(session: Session) -> bool:
    return any(entry.name == "gang" and entry.enabled("enableJobReady") for entry in session.conf.plugins)


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_RAISED = re.compile(r"^.*?failed: \w+")
LEFT_ALONE = "left alone"
WAITS = "waits"


class ReplayProblem(Protocol):
    """Something that one cycle shows and another does not; `str` says what."""

    def shows(self, case: Case) -> bool: ...


@dataclass(frozen=True)
class JobWaits:
    """A job does not get all it wants, for this reason."""

    job: str
    is_pending: bool
    ground: str

    def __str__(self) -> str:
        return f"{self.job} waits: {self.ground}"

    def shows(self, case: Case) -> bool:
        report = case.decide().report
        job = None if report is None else report.session.jobs.get(self.job)
        return (
            report is not None
            and job is not None
            and waits(job)
            and job.is_pending == self.is_pending
            and any(self.ground in ground for ground in reasons_of(report.session, job))
        )


@dataclass(frozen=True)
class PodOutcome:
    """This is to become of a pod."""

    pod: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.pod}: {self.outcome}"

    def shows(self, case: Case) -> bool:
        return outcome_of(case.decide(), self.pod) == self.outcome


@dataclass(frozen=True)
class CycleFails:
    """The cycle raises something like this."""

    error: str

    def __str__(self) -> str:
        return f"the cycle fails: {self.error}"

    def shows(self, case: Case) -> bool:
        return self.error in skeleton(case.decide().error)


@dataclass(frozen=True)
class BreachOccurs:
    """The cycle breaks a rule of this kind."""

    kind: str

    def __str__(self) -> str:
        return self.kind

    def shows(self, case: Case) -> bool:
        return any(breach.kind == self.kind for breach in breaches_of(case.decide()))


@dataclass(frozen=True)
class ConfsDiffer:
    """Another configuration decides otherwise, about anything or about these pods."""

    other: Conf
    subject: str = ""

    def __str__(self) -> str:
        return f"the configurations differ on {self.subject or 'some pod'}"

    def shows(self, case: Case) -> bool:
        return (
            self.subject in _differing(case, self.other)
            if self.subject
            else bool(_differing(case, self.other))
        )


@dataclass(frozen=True)
class Says:
    """These words appear in what is told of the cycle."""

    text: str

    def __str__(self) -> str:
        return f'"{self.text}" is said'

    def shows(self, case: Case) -> bool:
        return self.text in reasons_in(case.decide())


# What there is to say


def reasons_of(session: Session, job: Job) -> list[str]:
    """Why the job waits, the most telling reason first, without numbers."""
    found: dict[str, int] = {}
    for diagnosis in job.fit_errors.values():
        for reason in diagnosis.reasons:
            text = skeleton(reason.plain or reason.text)
            found[text] = found.get(text, 0) + reason.count
    by_weight = sorted(found, key=lambda text: (-found[text], text))
    told = explain(session, job)
    # That a gang is incomplete follows from something else, if anything else is said.
    reasons = sorted(told.reasons, key=lambda reason: reason.startswith("gang: "))
    return [*by_weight, *map(skeleton, reasons), skeleton(told.headline)]


def skeleton(text: str) -> str:
    """The words without their numbers."""
    return _NUMBER.sub("#", text)


def outcome_of(ending: CaseResult, pod: str) -> str:
    """What becomes of the pod; empty where it is unknown, or the cycle failed."""
    if ending.report is None:
        return ""
    task = ending.report.session.tasks.get(pod)
    if task is None:
        return ""
    decided = pod_outcomes(ending.report.decisions).get(f"pod {pod}")
    return decided or (WAITS if task.status in (Status.PENDING, Status.PIPELINED) else LEFT_ALONE)


def breaches_of(ending: CaseResult) -> list[Breach]:
    return [] if ending.report is None else breaches(ending.report)


def reasons_in(ending: CaseResult) -> str:
    """Everything that is told of a cycle."""
    if ending.report is None:
        return ending.error
    decided = (": ".join(spoken(decision)) for decision in ending.report.decisions)
    told = (str(explanation) for explanation in explanations(ending.report))
    return "\n".join([*decided, *told, *map(str, breaches(ending.report))])


def _differing(case: Case, other: Conf) -> set[str]:
    one, two = case.decide().report, case.decide(other).report
    if one is None or two is None:
        return set() if one is two else {NOTHING}
    return {
        difference.subject.removeprefix("pod ")
        for difference in differences(one.decisions, two.decisions, only_pods=True)
    }


# What a case shows


def job_waits(case: Case, job: str, text: str = "") -> ReplayProblem:
    """That the job waits for its main reason, or for one with these words in it."""
    report = case.decide().report
    found = None if report is None else report.session.jobs.get(job)
    if report is None or found is None or not waits(found):
        raise InputError(f'job "{job}" does not wait in this cycle; there is nothing to keep')
    known = reasons_of(report.session, found)
    ground = skeleton(text) or known[0]
    if not any(ground in one for one in known):
        raise InputError(
            f'job "{job}" does not wait because of "{text}"; it waits because of: {"; ".join(known)}'
        )
    return JobWaits(job, found.is_pending, ground)


def pod_outcome(case: Case, pod: str) -> ReplayProblem:
    """That the same becomes of the pod."""
    outcome = outcome_of(case.decide(), pod)
    if not outcome:
        raise InputError(f'no pod "{pod}" in this cycle; write it as namespace/name')
    return PodOutcome(pod, outcome)


def confs_differ(case: Case, other: Conf, pod: str = "") -> ReplayProblem:
    """That another configuration decides otherwise."""
    problem = ConfsDiffer(other, pod)
    if not problem.shows(case):
        raise InputError(f"the configurations decide alike on {pod or 'all pods'}; there is nothing to keep")
    return problem


def says(case: Case, text: str) -> ReplayProblem:
    """That these words are told of the cycle."""
    problem = Says(text)
    if not problem.shows(case):
        raise InputError(f'"{text}" is not said of this cycle; there is nothing to keep')
    return problem


def evident_problem(case: Case) -> ReplayProblem:
    """What is plainly wrong: the cycle fails, or breaks a rule."""
    ending = case.decide()
    if ending.report is None:
        raised = _RAISED.match(ending.error)
        return CycleFails(skeleton(raised.group() if raised else ending.error))
    for breach in breaches(ending.report):
        return BreachOccurs(breach.kind)
    raise InputError(
        "this cycle neither fails nor breaks a rule; say what to keep with --job, --pod, --keep or --conf"
    )
