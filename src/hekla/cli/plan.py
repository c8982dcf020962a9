"""`hekla plan`: would a job start now, and which single change would make it start?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from hekla.cli.from_cluster import live_options
from hekla.cli.from_files import manifests_in
from hekla.cli.given_state import (
    ConfOptions,
    assumption_options,
    assumptions_of,
    live_state,
    spoken_expectation,
    state_in,
    tell_all,
    tell_of,
)
from hekla.cli.interrupt import INTERRUPTED, interruptible
from hekla.cli.options import GoSwitches, configuration, registry_with
from hekla.cli.output import Style, echo, echo_data, output_option
from hekla.engine.model.wait_reason import Verdict
from hekla.insight.explain import ClusterState, ExpectedStart, StartAssumptions, expected_start
from hekla.insight.plan import Delay, Loser, Plan, PlannedStart, Suggestion
from hekla.insight.plan.search import OnTry
from hekla.objects import Manifest
from hekla.text import counted, escaped, some_of, table

WIDTH = 100
GLUE = "\N{NO-BREAK SPACE}"
NODES_SHOWN = 8
PODS_SHOWN = 3


def told(plan: Plan, start: ExpectedStart | None = None) -> str:
    return "\n\n".join(section for section in _sections(plan, start) if section)


def _sections(plan: Plan, start: ExpectedStart | None) -> Iterator[str]:
    first = wrapped(f"{plan.job}: {answer(plan)}", "  ")
    expected = "" if start is None else "\n" + wrapped(f"expected start: {spoken_expectation(start)}", "  ")
    yield first + expected
    if plan.losers:
        title = "pods that would have to go" if plan.starts else "pods that would go, to no avail"
        yield f"{title}\n{_losers(plan.losers)}"
    if plan.delays:
        yield f"jobs that would get fewer pods started now\n{_delays(plan.delays)}"
    if len(plan.placements) < plan.pods:
        what = "the rest" if plan.starts else "it"
        reasons = [wrapped(f"  - {reason}", "    ") for reason in plan.reasons]
        yield "\n".join([wrapped(f"what holds {what} back: {plan.headline}", "  "), *reasons])
    if not plan.starts:
        yield suggested(plan)


def wrapped(text: str, indent: str) -> str:
    """Long lines go on below, indented; names are never cut, and nodes keep their counts beside them."""
    lines = fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace(GLUE, " ")


def answer(plan: Plan) -> str:
    """The first line: yes or no, when and where."""
    if plan.start is PlannedStart.NOT:
        return f"would {'never' if plan.verdict is Verdict.NEVER else 'not'} start: {gist(plan)}"
    when = {PlannedStart.NOW: "would start now", PlannedStart.LATER: f"would start {_after(plan)}"}[
        plan.start
    ]
    pods = counted(plan.pods, "pod")
    if len(plan.placements) < plan.pods:
        pods = f"{len(plan.placements)} of {pods} (at least {plan.minimum} start together)"
    return f"{when}, {pods} on {counted(len(plan.nodes), 'node')}: {_nodes(plan)}"


def gist(plan: Plan) -> str:
    """What binds."""
    return plan.why or plan.headline


def _after(plan: Plan) -> str:
    lost = sum(len(loser.pods) for loser in plan.losers)
    if lost:
        return f"after {counted(lost, 'pod')} {'is' if lost == 1 else 'are'} evicted"
    if plan.leaving:
        return (
            f"once {counted(plan.leaving, 'pod')} on the way out {'is' if plan.leaving == 1 else 'are'} gone"
        )
    return f"in cycle {plan.cycles}"


def _nodes(plan: Plan) -> str:
    named = [f"{name}{GLUE}({pods})" if pods > 1 else name for name, pods in plan.nodes.items()]
    return some_of(named, NODES_SHOWN)


def _losers(losers: Sequence[Loser]) -> str:
    rows = [
        (
            loser.job or "-",
            loser.queue or "-",
            loser.action,
            f"{loser.left} left of at least {loser.minimum}" + (": it stops" if loser.is_broken else ""),
            f"{len(loser.pods)}: {some_of(loser.pods, PODS_SHOWN)}",
        )
        for loser in losers
    ]
    return table(("job", "queue", "by", "afterwards", "pods"), rows)


def _delays(delays: Sequence[Delay]) -> str:
    rows = [(delay.job, delay.queue, delay.pods_without, delay.pods_with) for delay in delays]
    return table(("job", "queue", "without it", "with it"), rows)


def suggested(plan: Plan) -> str:
    """What would help, the smallest change first; and how far the search went."""
    ended = "" if plan.is_complete else f"; the search stopped after {counted(plan.tries, 'try', 'tries')}"
    if plan.tries == 0:
        return ""
    if not plan.suggestions:
        return f"no change that was tried lets it start{ended}"
    anew = ", submitted anew," if plan.is_there else ""
    lines = [f"it would start{anew} with any one of these changes{ended}"]
    lines += [f"  {i}. {line_of(each, plan)}" for i, each in enumerate(plan.suggestions, start=1)]
    return "\n".join(lines)


def line_of(suggestion: Suggestion, plan: Plan) -> str:
    """A change, each place of the manifest on a line of its own, and what it costs."""
    lost = sum(len(loser.pods) for loser in suggestion.losers)
    notes = []
    if lost:
        jobs = sorted({loser.job or "-" for loser in suggestion.losers})
        notes.append(f"evicts {counted(lost, 'pod')} of {some_of(jobs, PODS_SHOWN)}")
    elif suggestion.start is PlannedStart.LATER:
        notes.append("not in the first cycle")
    if suggestion.kind == "minimum":
        notes.append(f"{suggestion.pods} of {counted(plan.pods, 'pod')} start")
    change = suggestion.change.replace("; ", ";\n     ")
    return change + (f"\n     {', '.join(notes)}" if notes else "")


WOULD_NOT_START = 4
"""The exit code for a plan of which some job would not start."""
DEFAULT_TRIES = 100


@click.command(cls=GoSwitches)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[JOB]...")
@click.option(
    "--job",
    "waiting",
    multiple=True,
    metavar="NAME",
    help="A job that waits in the cluster: namespace/name, or a name that is unique; repeatable.",
)
@click.option(
    "-s", "--state", multiple=True, type=click.Path(path_type=Path),
    help="The cluster: a snapshot, a scenario, or manifests; repeatable.",
)  # fmt: skip
@live_options
@configuration
@click.option("--together", is_flag=True, help="Each job finds those before it in place.")
@click.option(
    "--tries", default=DEFAULT_TRIES, show_default=True, type=click.IntRange(0),
    help="How many changes are tried out at most; 0 suggests nothing.",
)  # fmt: skip
@assumption_options
@output_option
def plan(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    waiting: tuple[str, ...],
    state: tuple[Path, ...],
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    together: bool,
    tries: int,
    output: Style | None,
    **given: Any,
) -> None:
    """Tell whether JOB would start now: on which nodes, and whose pods would have to go.

    JOB is a file with a Job of Volcano, a PodGroup with its pods, or a Pod; with --job it is a job that waits
    in the cluster. If it would not start, what holds it back is told, when it is expected to start, and the
    smallest changes with which it would start now, each of them tried out. Nothing is submitted, bound,
    evicted or written. Ctrl-C ends the search and tells what was found so far.

    Exit codes: 0 it would start, now or after evictions; 4 it would not; 1 a file cannot be used; 2 the
    command was called wrongly.
    """
    check_jobs(files, waiting, together=together)
    options = ConfOptions(conf_file, preset, registry_with(plugins), strict)
    tell = tell_of(waiting) if waiting else tell_all
    is_live = checked_source(state, given)
    cluster = live_state(options, (), **given) if is_live else state_in(state, options, tell)
    planner = cluster.planner()
    tell(planner.complaints)
    jobs = manifests_in(files) if files else []
    with interruptible() as is_stopped, progress(tries) as on_try:
        search: dict[str, Any] = {"tries": tries, "on_try": on_try, "is_stopped": is_stopped}
        plans = (
            planner.plan_waiting(waiting, written=cluster.written, **search)
            if waiting
            else planner.plan(jobs, together=together, **search)
        )
        is_interrupted = is_stopped() and not all(each.is_complete for each in plans)
    assumptions = None if is_interrupted else assumptions_of(given)
    starts = [expectation(each, cluster, jobs, assumptions) for each in plans]
    if output in (Style.JSON, Style.YAML):
        echo_data([as_data(*answer) for answer in zip(plans, starts, strict=True)], output)
    else:
        echo("\n\n".join(told(*answer) for answer in zip(plans, starts, strict=True)))
    if is_interrupted:
        sys.exit(INTERRUPTED)
    if not all(each.starts for each in plans):
        sys.exit(WOULD_NOT_START)


def check_jobs(files: Sequence[Path], waiting: Sequence[str], *, together: bool) -> None:
    if bool(files) == bool(waiting):
        raise click.UsageError("give the jobs: either files, or --job NAME of those that wait in the cluster")
    if waiting and together:
        raise click.UsageError("--together needs files: a job that waits is in place already")


def expectation(
    plan: Plan, cluster: ClusterState, jobs: Sequence[Manifest], assumptions: StartAssumptions | None
) -> ExpectedStart | None:
    """When a job will start that does not now; None where that is not asked for."""
    if plan.starts or assumptions is None:
        return None
    return expected_start(cluster, plan.job.partition(" ")[2], assumptions, more=jobs)


def as_data(plan: Plan, start: ExpectedStart | None) -> dict[str, object]:
    return {**plan.as_data(), "expectedStart": None if start is None else start.as_data()}


def checked_source(state: Sequence[Path], live: dict[str, Any]) -> bool:
    """Whether a live cluster is meant; says so where the command line makes no sense."""
    if bool(state) == live["from_cluster"]:
        raise click.UsageError("give the cluster: either --state FILE or --from-cluster")
    if not live["from_cluster"] and any(
        live[option] is not None for option in ("kubeconfig", "context", "conf_place")
    ):
        raise click.UsageError("--kubeconfig, --context and --conf-from-cluster need --from-cluster")
    return bool(live["from_cluster"])


@contextmanager
def progress(tries: int) -> Iterator[OnTry | None]:
    """A line on a terminal that counts the tries, and is gone afterwards."""
    if not sys.stderr.isatty():
        yield None
        return

    def say(count: int, change: str) -> None:
        told = f"trying changes: {count} of at most {tries}: {escaped(change)[:40]}"
        click.echo(f"\r\x1b[K{told}", nl=False, err=True)

    try:
        yield say
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)
