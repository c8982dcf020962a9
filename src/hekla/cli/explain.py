"""`hekla explain`: why jobs wait; of one job everything on one screen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from hekla.cli.decide import as_mapping, checked_source
from hekla.cli.embedded_run import START, Embedded, embed_objects
from hekla.cli.from_cluster import ignored_provisioners_option, live_options
from hekla.cli.from_files import manifests_in
from hekla.cli.given_state import (
    ConfOptions,
    OnComplaints,
    assumption_options,
    assumptions_of,
    live_state,
    state_in_scenario,
    tell_all,
    tell_of,
)
from hekla.cli.interrupt import INTERRUPTED, interruptible
from hekla.cli.job_screen import screen
from hekla.cli.options import GoSwitches, configuration, registry_with
from hekla.cli.output import Style, echo, echo_data, output_option
from hekla.cli.plan import progress
from hekla.clock import VirtualClock
from hekla.cluster.embedded import ARRIVES_AT, EmbeddedCluster, Options
from hekla.cluster.store import relevant
from hekla.engine.explain.explanation import Explanation
from hekla.engine.explain.explanation import explain as explain_job
from hekla.engine.model.job import Job
from hekla.engine.model.wait_reason import Verdict, WaitReason
from hekla.errors import InputError
from hekla.insight.explain import (
    ClusterState,
    Effort,
    JobAnswer,
    alike,
    answer_for,
    answer_left_out,
    cycle_that_tells,
)
from hekla.insight.explain.cycles import cycle_on
from hekla.insight.plan import with_first_pods
from hekla.objects import KINDS, Manifest, VolcanoJob
from hekla.objects.complaint import Complaint, did_you_mean
from hekla.objects.scenario import is_scenario
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.left_out import explain_left_out, left_out
from hekla.scheduler.outcome import explanations
from hekla.simulation.workloads.manifests import youngest

DEFAULT_TRIES = 60
REASONS = [str(each).replace(" ", "-") for each in (*WaitReason, *Verdict)]


@click.command(cls=GoSwitches)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--job", "name", metavar="NAME",
    help="All about one job or pod group: namespace/name, or a name that is unique.",
)  # fmt: skip
@click.option("-q", "--queue", help="Only jobs of this queue.")
@click.option("-n", "--namespace", help="Only jobs of this namespace.")
@click.option(
    "--reason", "reasons", multiple=True, type=click.Choice(REASONS), metavar="REASON",
    help="Only jobs that wait for this reason (no-room, ...) or in this way (never, ...); repeatable.",
)  # fmt: skip
@configuration
@live_options
@ignored_provisioners_option
@click.option(
    "--cycles", type=click.IntRange(1), metavar="N",
    help="Explain the last of N cycles; by default as many as change something.",
)  # fmt: skip
@click.option(
    "--tries", default=DEFAULT_TRIES, show_default=True, type=click.IntRange(0),
    help="With --job: how many changes are tried out at most; 0 suggests nothing.",
)  # fmt: skip
@assumption_options
@output_option
def explain(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    name: str | None,
    queue: str | None,
    namespace: str | None,
    reasons: tuple[str, ...],
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    cycles: int | None,
    tries: int,
    output: Style | None,
    **given: Any,
) -> None:
    """Let FILES, or a live cluster, be scheduled, and tell why jobs wait: which nodes refused them and why,
    which queue is over its share, how short a gang is. Jobs that wait for the same reasons are told once.

    With --job it is one job on one screen: why it waits and whether that passes, who is ahead of it in its
    queue, when it is expected to start, who holds what it waits for, and which changes would let it start
    now, each of them tried out. Nothing is bound, evicted or written.
    """
    options = ConfOptions(conf_file, preset, registry_with(plugins), strict)
    if name is not None and (queue or namespace or reasons):
        raise click.UsageError("--job is about one job: leave out --queue, --namespace and --reason")
    source = source_of(files, options, cycles, tell_all if name is None else tell_of([name]), given)
    if name is not None:
        tell_answer(source, name, tries, given, output)
        return
    wanted = Wanted(queue, namespace, frozenset(reasons))
    told = [each for each in source.explanations() if wanted.matches(each)]
    if output is not None and output.is_data:
        echo_data([as_mapping(explanation) for explanation in told], output)
    elif told:
        echo("\n\n".join(map(str, alike(told))))
    else:
        echo("nothing waits" if wanted.is_everything else "nothing that was asked for waits")


@dataclass(frozen=True)
class Wanted:
    """Which jobs are asked about."""

    queue: str | None
    namespace: str | None
    reasons: frozenset[str]

    @property
    def is_everything(self) -> bool:
        return self.queue is None and self.namespace is None and not self.reasons

    def matches(self, explanation: Explanation) -> bool:
        said = {str(each).replace(" ", "-") for each in (explanation.code, explanation.verdict)}
        return (
            self.queue in (None, explanation.queue)
            and self.namespace in (None, explanation.job.partition("/")[0])
            and (not self.reasons or bool(self.reasons & said))
        )


@dataclass(frozen=True)
class ExplainedCycle:
    """A cycle whose reasons are told, and the state that it ran on."""

    report: CycleReport
    state: Callable[[], ClusterState]
    """What changes and run times are tried out on; worked out where it is asked for."""
    manifests: Sequence[Manifest]
    """All that was read, be it let in or not."""
    arrived: Sequence[Manifest]
    """The same without what is to come later."""
    complaints: Sequence[Complaint] = ()
    """Of those among it that were not let in."""

    def explanations(self) -> list[Explanation]:
        """Of every job that waits, in the order of creation; then of those that no cycle knows."""
        return [*explanations(self.report), *left_out(self.report.session, self.arrived, self.complaints)]

    def left_out(self, name: str) -> Explanation | None:
        """Of one job that no cycle knows."""
        return explain_left_out(self.report.session, name, self.manifests, self.complaints)


def source_of(
    files: Sequence[Path], options: ConfOptions, cycles: int | None, tell: OnComplaints, given: dict[str, Any]
) -> ExplainedCycle:
    ignored = given["ignored_provisioners"]
    if checked_source(files, given, cycles or 1):
        state = replace(live_state(options, files, **given), ignored_provisioners=ignored)
        return on_state(state, tell)
    if len(files) == 1 and is_scenario(files[0]):
        state = state_in_scenario(files[0], options, tell)
        return on_state(replace(state, ignored_provisioners=ignored or state.ignored_provisioners), tell)
    return on_manifests(manifests_in(files, tell), options, cycles, tell, ignored)


def on_state(state: ClusterState, tell: OnComplaints) -> ExplainedCycle:
    """A scenario or a live cluster, on which one cycle decides and nothing is carried out."""
    report = cycle_on(state)
    tell(report.session.snapshot.complaints)
    return ExplainedCycle(report, lambda: state, state.given, state.given)


def on_manifests(
    manifests: Sequence[Manifest],
    options: ConfOptions,
    cycles: int | None,
    tell: OnComplaints,
    ignored: tuple[str, ...],
) -> ExplainedCycle:
    """An embedded cluster, let go on for so many cycles, or until they tell why jobs wait."""
    conf, dated = options.conf(), youngest(manifests)
    embedded = embed_objects(
        manifests,
        conf,
        options.registry,
        clock=VirtualClock(dated or START),
        options=Options(ignored_provisioners=ignored),
    )
    with embedded.loop as loop:
        report = cycle_that_tells(embedded.cluster, loop, cycles)
    complaints = list(dict.fromkeys([*embedded.cluster.complaints, *report.session.snapshot.complaints]))
    tell(complaints)
    written = [each for each in manifests if isinstance(each, VolcanoJob)]
    found = ClusterState((), manifests, conf, options.registry, is_dated=dated > 0, written=written)
    arrived = arrived_in(embedded.cluster, manifests)
    return ExplainedCycle(report, partial(as_it_is, embedded, found), manifests, arrived, complaints)


def arrived_in(cluster: EmbeddedCluster, manifests: Sequence[Manifest]) -> list[Manifest]:
    """Without objects that are to come later: they do not wait yet."""
    there = {(kind, each.key) for kind in KINDS.values() for each in cluster.all_of(kind)}
    return [
        each
        for each in manifests
        if ARRIVES_AT not in each.metadata.annotations or (type(each), each.key) in there
    ]


def as_it_is(embedded: Embedded, found: ClusterState) -> ClusterState:
    """The state in which the cycles left the cluster."""
    cluster = embedded.cluster
    there = [each for kind in KINDS.values() for each in cluster.all_of(kind)]
    objects = relevant(with_first_pods(there), found.scheduler_names)
    return replace(found, objects=objects, now=embedded.clock.now())


def tell_answer(
    source: ExplainedCycle, name: str, tries: int, given: dict[str, Any], output: Style | None
) -> None:
    """Everything about one job."""
    with interruptible() as is_stopped, progress(tries) as on_try:
        effort = Effort(tries, assumptions_of(given), on_try, is_stopped, partial(end_sampling, is_stopped))
        answer = answer_of(source, name, effort)
        is_interrupted = is_stopped()
    if output is not None and output.is_data:
        echo_data([{**as_mapping(answer.explanation), **answer.as_data()}], output)
    else:
        echo(screen(answer))
    if is_interrupted:
        sys.exit(INTERRUPTED)


def answer_of(source: ExplainedCycle, name: str, effort: Effort) -> JobAnswer:
    """For a job of the cycle, else for one that it does not know."""
    session = source.report.session
    if not jobs_named(source.report, name) and (told := source.left_out(name)) is not None:
        return answer_left_out(told, source.state, effort)
    job = job_named(source.report, name, [each.job for each in source.explanations()])
    return answer_for(session, job, explain_job(session, job), source.state, effort)


def end_sampling(is_stopped: Callable[[], bool], _done: int) -> None:
    """What a forecast takes for Ctrl-C: it tells what the samples up to here have told."""
    if is_stopped():
        raise KeyboardInterrupt


def jobs_named(report: CycleReport, name: str) -> list[Job]:
    """All jobs of the cycle that may be meant."""
    jobs = report.session.jobs.items()
    return [job for uid, job in jobs if name in (uid, job.name, job.title, f"{job.namespace}/{job.title}")]


def job_named(report: CycleReport, name: str, others: Iterable[str] = ()) -> Job:
    """The job that people mean by a name; `others` are names that may be meant as well."""
    jobs, found = report.session.jobs, jobs_named(report, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f'several pod groups are named "{name}"; write one of: ' + ", ".join(j.uid for j in found)
        )
    names = sorted({*others, *(f"{job.namespace}/{job.title}" for job in jobs.values())})
    hint = did_you_mean(name, [*names, *(each.partition("/")[2] for each in names)])
    known = hint or "; known pod groups: " + (", ".join(names[:10]) or "none")
    raise InputError(f'no pod group "{name}" in this cycle{known}')
