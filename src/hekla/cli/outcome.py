"""The outcome of one cycle on the screen: what was bound, evicted and promised, and why the rest waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hekla.cli.output import Style, echo, echo_data, width_for
from hekla.engine.explain.explanation import Explanation
from hekla.engine.framework.profile import Line
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.resources import PODS, Resources, spelled
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.outcome import CycleOutcome, explanations
from hekla.text import counted, some_of, table

TRIFLE = 0.001
"""Lines below this part of the whole are not worth reading; they are added up in one."""
NODES_SHOWN = 4
OF_TASKS = ("pod group", "queue", "requests")
OF_GROUPS = ("priority", "pods", "nodes")
Row = tuple[object, ...]


def echo_outcome(outcome: CycleOutcome, report: CycleReport, style: Style) -> None:
    if style.is_data:
        echo_data(outcome.as_data(), style)
        return
    lists = (_wide_lists if style is Style.WIDE else _lists)(outcome, report)
    sections = [_section(title, headers, rows, width_for(style)) for title, headers, rows in lists]
    waiting = explanations(report)
    if waiting:
        sections.append("why they wait\n" + "\n".join(str(explanation) for explanation in waiting))
    sections.append(summary(outcome, waiting))
    if outcome.profile is not None:
        sections.append(f"where the time went\n{profile_table(outcome.profile)}")
    echo("\n\n".join(section for section in sections if section))


Lists = list[tuple[str, tuple[str, ...], list[Row]]]
"""Titles, headers and rows."""


def _lists(outcome: CycleOutcome, report: CycleReport) -> Lists:
    groups = [_group_row(job) for job in _jobs(report)]
    return [
        ("bound", ("pod", "node"), sorted(outcome.binds.items())),
        ("evicted", ("pod", "from", "by", "for"), _evicted(outcome)),
        ("pipelined", ("pod", "node"), sorted(outcome.pipelined.items())),
        ("pod groups", ("name", "queue", "phase", "ready", "waiting"), groups),
    ]


def _wide_lists(outcome: CycleOutcome, report: CycleReport) -> Lists:
    """The same with what each pod asks for and belongs to, and where each pod group runs."""
    session = report.session
    tasks = {task.key: task for task in session.tasks}
    groups = [(*_group_row(job), *_more_of(job)) for job in _jobs(report)]

    def wide(headers: tuple[str, ...], rows: Sequence[Row]) -> tuple[tuple[str, ...], list[Row]]:
        return (*headers, *OF_TASKS), [(*row, *_belongings(session, tasks[str(row[0])])) for row in rows]

    return [
        ("bound", *wide(("pod", "node"), sorted(outcome.binds.items()))),
        ("evicted", *wide(("pod", "from", "by", "for"), _evicted(outcome))),
        ("pipelined", *wide(("pod", "node"), sorted(outcome.pipelined.items()))),
        ("pod groups", ("name", "queue", "phase", "ready", "waiting", *OF_GROUPS), groups),
    ]


def _section(title: str, headers: tuple[str, ...], rows: Sequence[Row], width: int | None) -> str:
    return f"{title}\n{table(headers, rows, width)}" if rows else ""


def _evicted(outcome: CycleOutcome) -> list[Row]:
    return [(e.pod, e.node, e.reason, e.beneficiary or "-") for e in outcome.evictions]


def _jobs(report: CycleReport) -> list[Job]:
    return sorted(report.session.jobs.values(), key=lambda job: (job.created, job.uid))


def _group_row(job: Job) -> Row:
    return (
        job.uid,
        job.queue,
        job.phase,
        f"{job.roster.ready}/{job.minimum}",
        job.roster.count((Status.PENDING, Status.PIPELINED)),
    )


def _more_of(job: Job) -> Row:
    """Its priority, its pods, and the nodes they are on, those with most of them first."""
    placed = (task for task in job.tasks.values() if task.status is not Status.PIPELINED)
    on = Counter(task.node_name for task in placed if task.node_name)
    nodes = [f"{name} ({count})" if count > 1 else name for name, count in on.most_common()]
    return job.priority, len(job.roster), some_of(nodes, NODES_SHOWN) or "-"


def _belongings(session: Session, task: Task) -> Row:
    job = session.jobs.get(task.job)
    return task.job or "-", "-" if job is None else job.queue, spelled_request(task.request)


def spelled_request(request: Resources) -> str:
    """`cpu 4, memory 8Gi`; a hyphen for a pod that asks for nothing."""
    asked = (f"{name} {spelled(name, amount)}" for name, amount in request.items() if amount and name != PODS)
    return ", ".join(asked) or "-"


def summary(outcome: CycleOutcome, waiting: list[Explanation]) -> str:
    groups = counted(len(outcome.phases), "pod group")
    verb = "waits" if len(outcome.phases) == 1 else "wait"
    return (
        f"{len(outcome.binds)} bound, {len(outcome.evictions)} evicted, "
        f"{len(outcome.pipelined)} pipelined, {len(waiting)} of {groups} {verb}"
    )


def profile_table(lines: Sequence[Line]) -> str:
    """Every part of the cycle with its plugins, largest first; what is left of it is the engine's."""
    whole = sum(line.seconds for line in lines)
    told = [line for line in lines if line.seconds >= TRIFLE * whole]
    if hidden := [line for line in lines if line.seconds < TRIFLE * whole]:
        told.append(_added_up(hidden, "-", counted(len(hidden), "smaller line")))
    told.append(Line("whole cycle", "", "", 0, whole))
    return table(
        ("part", "who", "question", "calls", "seconds", "share"), [_row(line, whole) for line in told]
    )


def _added_up(lines: Sequence[Line], part: str, who: str) -> Line:
    return Line(part, who, "", sum(line.calls for line in lines), sum(line.seconds for line in lines))


def _row(line: Line, whole: float) -> tuple[str, ...]:
    calls = f"{line.calls:,}" if line.calls else ""
    share = line.seconds / whole if whole else 0.0
    return line.part, line.who, line.question, calls, f"{line.seconds:.4f}", f"{share:.1%}"
