"""How replayed cycles are told: a line for each, or one of them action by action."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime

import click

from hekla.cli.decide import as_mapping
from hekla.cli.options import WarningPrinter
from hekla.cli.output import Style, echo, echo_data, warn
from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.insight.replay import Recording, Replayed, replay, travel_to
from hekla.insight.replay.differences import ActionReport, DecisionDifference, action_reports
from hekla.insight.replay.problems import breaches
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.outcome import explanations
from hekla.text import counted

HEADS = f"{'CYCLE':>6}  {'TIME':20}  {'CHANGES':>7}  {'BOUND':>6}  {'EVICTED':>7}  OUTCOME"
DIFFERENCES_SHOWN = 5
LINES_SHOWN = 20


def listing(recording: Recording, registry: Registry, conf: Conf | None, style: Style) -> bool:
    """A line per cycle as it is decided; whether all came out as recorded, where that was the question."""
    is_table = style is Style.TABLE
    if is_table:
        echo(HEADS)
    rows, printer = [], WarningPrinter()
    for replayed in replay(recording, registry, conf):
        found = replayed.differences(only_pods=True) if conf is not None else _unlike(replayed)
        printer.tell(_left_out(replayed, registry))
        rows.append(_row(replayed, found))
        if is_table:
            _echo_line(replayed, found, is_compared=conf is not None)
    warn(recording.complaints)
    same = sum(not row["differences"] for row in rows)
    if is_table:
        word = "decided alike" if conf is not None else "identical"
        echo(f"\n{counted(len(rows), 'cycle')}: {same} {word}, {len(rows) - same} not")
    else:
        data = {"cycles": rows, "identical": same, "different": len(rows) - same}
        echo_data({**data, "complaints": list(recording.complaints)}, style)
    return conf is not None or same == len(rows)


def _left_out(replayed: Replayed, registry: Registry) -> list[str]:
    """Plugins that are configured, and cannot be asked again."""
    conf = None if replayed.report is None else replayed.report.session.conf
    names = registry.declaring(conf, lambda plugin: plugin.asks_outside) if conf else []
    return [f'plugin "{name}" asks other processes: cycles are decided without it' for name in sorted(names)]


def _unlike(replayed: Replayed) -> list[DecisionDifference]:
    return [] if replayed.is_identical else replayed.differences()


def _row(replayed: Replayed, found: list[DecisionDifference]) -> dict[str, object]:
    cycle = replayed.cycle
    broken = [] if replayed.report is None else breaches(replayed.report)
    return {
        "cycle": cycle.number,
        "time": cycle.now,
        "changes": cycle.count,
        "bound": replayed.binds,
        "evicted": replayed.evictions,
        "identical": replayed.is_identical,
        "error": replayed.error or "",
        "broken": [str(breach) for breach in broken],
        "differences": [difference.as_data() for difference in found],
    }


def _echo_line(replayed: Replayed, found: list[DecisionDifference], *, is_compared: bool) -> None:
    cycle = replayed.cycle
    word = "alike" if is_compared else "identical"
    outcome = counted(len(found), "difference") if found else word
    if replayed.error is not None:
        outcome += f"; failed: {replayed.error}"
    counts = f"{cycle.count:>7}  {replayed.binds:>6}  {replayed.evictions:>7}"
    echo(f"{cycle.number:>6}  {_time(cycle.now):20}  {counts}  {outcome}")
    _echo_some(map(str, found), DIFFERENCES_SHOWN, " " * 8)
    if replayed.report is not None:
        _echo_some(map(str, breaches(replayed.report)), DIFFERENCES_SHOWN, " " * 8 + "broken: ")


def _echo_some(lines: Iterable[str], most: int, before: str) -> None:
    known = list(lines)
    for line in known[:most]:
        echo(before + line)
    if len(known) > most:
        echo(f"{before}and {len(known) - most} more")


def _time(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def one_cycle(
    recording: Recording,
    registry: Registry,
    conf: Conf | None,
    number: int,
    style: Style,
    *,
    in_steps: bool,
) -> bool:
    """One cycle in full; whether it came out as recorded, where that was the question."""
    replayer, cycle = travel_to(recording, number, registry)
    replayed = replayer.decide(cycle, conf)
    found = replayed.differences(only_pods=True) if conf is not None else _unlike(replayed)
    warn([*_left_out(replayed, registry), *recording.complaints])
    if style is not Style.TABLE:
        echo_data({**_row(replayed, found), **_whole(replayed)}, style)
    elif _echo_head(replayed) and _echo_acts(replayed, in_steps=in_steps):
        _echo_end(replayed, found, is_compared=conf is not None)
    return conf is not None or not found


def _whole(replayed: Replayed) -> dict[str, object]:
    if replayed.report is None:
        return {"actions": [], "waiting": []}
    waiting = [as_mapping(explanation) for explanation in explanations(replayed.report)]
    return {
        "actions": [action_report.as_data() for action_report in action_reports(replayed.report)],
        "waiting": waiting,
    }


def _echo_head(replayed: Replayed) -> bool:
    cycle = replayed.cycle
    echo(f"cycle {cycle.number} at {_time(cycle.now)}, after {counted(cycle.count, 'change')}")
    if replayed.report is not None:
        session = replayed.report.session
        tasks = counted(len(session.tasks), "pod")
        nodes, jobs = counted(len(session.nodes.names), "node"), counted(len(session.jobs), "pod group")
        echo(f"{nodes}, {jobs}, {tasks}, {counted(len(session.queues), 'queue')}")
    return True


def _echo_acts(replayed: Replayed, *, in_steps: bool) -> bool:
    """Action by action; False where the user has quit."""
    if replayed.report is None:
        echo(f"\nthe cycle failed: {replayed.error}")
        return True
    reports = action_reports(replayed.report)
    waits_for_keys = in_steps and is_terminal()
    for place, action_report in enumerate(reports, start=1):
        _echo_act(action_report, None if in_steps else LINES_SHOWN)
        if waits_for_keys and place < len(reports) and not _goes_on(reports[place].action):
            return False
    return True


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _goes_on(following: str) -> bool:
    """Enter for the next action, q for the end."""
    answer = click.prompt(
        f"-- Enter: {following}, q: quit", default="", show_default=False, prompt_suffix=" "
    )
    return not str(answer).strip().lower().startswith("q")


def _echo_act(action_report: ActionReport, most: int | None) -> None:
    echo(
        f"\n{action_report.action}" + ("" if action_report.decided or action_report.remarks else ": nothing")
    )
    for lines in (action_report.decided, action_report.remarks):
        _echo_some(lines, len(lines) if most is None else most, "  ")


def _echo_end(replayed: Replayed, found: list[DecisionDifference], *, is_compared: bool) -> None:
    if replayed.report is not None:
        _echo_why(replayed.report)
    echo("")
    if not found:
        word = "decided alike under this configuration" if is_compared else "identical to what was recorded"
        echo(word)
        return
    echo(f"{counted(len(found), 'difference')} from what was recorded")
    _echo_some(map(str, found), LINES_SHOWN, "  ")


def _echo_why(report: CycleReport) -> None:
    waiting = explanations(report)
    if waiting:
        echo("\nwhy they wait\n" + "\n".join(map(str, waiting)))
    for breach in breaches(report):
        echo(f"\nbroken: {breach}")
