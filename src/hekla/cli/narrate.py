"""Narrate: what a cycle decided, in a few sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from hekla.cli.table import counted
from hekla.framework.decisions import Bind, Decision, Evict, UpdatePodGroup
from hekla.framework.session import Session
from hekla.ledger.domains import TOP
from hekla.model.job import COMPLETED, INQUEUE
from hekla.model.status import TERMINATED_SET
from hekla.scheduler.cycle import CycleReport

NAMES_SHOWN = 4


def narrate(report: CycleReport) -> list[tuple[str, str]]:
    """Action and sentence, in the order the actions ran."""
    session = report.session
    lines = [("enqueue", f"admits {name}") for name in admitted(report)]
    for action, decisions in report.by_action.items():
        lines += [(action, sentence) for sentence in _binds(session, decisions)]
        lines += [(action, sentence) for sentence in _evictions(session, decisions)]
    lines += [("close", f"{name} is complete") for name in _completed(report)]
    return lines


def _completed(report: CycleReport) -> list[str]:
    """Jobs of which nothing is left to run; a phase alone may say so while new pods are on their way."""
    done = {
        job.title
        for job in report.session.jobs.values()
        if job.roster.count(TERMINATED_SET) == len(job.roster)
    }
    return [name for name in _with_phase(report, COMPLETED) if name in done]


def admitted(report: CycleReport) -> list[str]:
    """Jobs that this cycle let into their queue."""
    return _with_phase(report, INQUEUE)


def _with_phase(report: CycleReport, phase: str) -> list[str]:
    jobs = report.session.jobs
    return [
        jobs[decision.pod_group].title
        for decision in report.decisions
        if isinstance(decision, UpdatePodGroup)
        and decision.status.phase == phase
        and jobs[decision.pod_group].pod_group.status.phase != phase
    ]


def _binds(session: Session, decisions: Iterable[Decision]) -> Iterator[str]:
    task_job = {task.uid: task.job for task in session.tasks}
    nodes_of: dict[str, Counter[str]] = defaultdict(Counter)
    for decision in decisions:
        if isinstance(decision, Bind):
            nodes_of[task_job[decision.uid]][decision.node] += 1
    for uid, nodes in nodes_of.items():
        count = sum(nodes.values())
        places = ", ".join(f"{node} ×{times}" if times > 1 else node for node, times in nodes.items())  # noqa: RUF001
        yield f"binds {counted(count, 'pod')} of {_name(session, uid)}{_domain(session, uid)} ({places})"


def _domain(session: Session, uid: str) -> str:
    """The network domain that the job asked for and got."""
    job = session.jobs[uid]
    return f" in {job.domain}" if job.has_topology and job.domain and job.domain != TOP else ""


def _evictions(session: Session, decisions: Iterable[Decision]) -> Iterator[str]:
    victims: dict[str, list[str]] = defaultdict(list)
    for decision in decisions:
        if isinstance(decision, Evict):
            victims[decision.beneficiary].append(decision.pod.partition("/")[2])
    for beneficiary, pods in victims.items():
        purpose = f" to make room for {_name(session, beneficiary)}" if beneficiary else ""
        yield f"evicts {_some(pods)}{purpose}"


def _name(session: Session, uid: str) -> str:
    return session.jobs[uid].title if uid in session.jobs else uid


def _some(names: list[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
