"""`hekla forecast`: when jobs that wait will start, and how far to trust that."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import click

from hekla.cli.decide import checked_source
from hekla.cli.from_cluster import conf_for, live_options, reach, read_live
from hekla.cli.from_files import manifests_in
from hekla.cli.interrupt import INTERRUPTED
from hekla.cli.options import (
    POSITIVE_SPAN,
    SPAN,
    GoSwitches,
    chosen_conf,
    chosen_workload,
    configuration,
    reading_options,
    registry_with,
    usable_conf,
    workload_options,
)
from hekla.cli.output import Style, echo, echo_data, output_option, warn
from hekla.cli.simulate import chosen_nodes, default_nodes, tell_account
from hekla.clock import WallClock
from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.engine.model.wait_reason import Verdict
from hekla.errors import InputError
from hekla.insight.forecast import (
    Arrivals,
    Calibration,
    Forecast,
    Knowledge,
    Past,
    Sampling,
    Start,
    Trust,
    WrittenArrivals,
    calibrate,
    read_history,
)
from hekla.insight.forecast import forecast as forecast_of
from hekla.objects import Manifest, VolcanoJob
from hekla.objects.scenario import is_scenario, read_scenario
from hekla.simulation.measures.words import spoken_part, spoken_seconds
from hekla.text import counted, table

MOST_PROCESSES = 8
KNOWLEDGE = ("exact", "estimates", "history")


@click.command(cls=GoSwitches, former={"--rolls": "--samples"})
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@configuration
@live_options
@click.option("--job", "name", help="Only this job: namespace/name, or a name that is unique.")
@click.option(
    "--history", "histories", multiple=True, type=click.Path(path_type=Path),
    help="Ended jobs to learn run times from: a saved run, or a workload; repeatable.",
)  # fmt: skip
@click.option(
    "--arrivals", metavar="FILE|RATE",
    help="Jobs that come later: a workload, or how many per hour like those there are.",
)  # fmt: skip
@click.option(
    "--samples",
    default=50,
    show_default=True,
    type=click.IntRange(1),
    help="How many simulations.",
)
@click.option("--horizon", default=604_800.0, show_default="7d", type=SPAN, help="How far ahead to look.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Same seed, same forecast."
)
@click.option("--now", "moment", metavar="TIME", help="The moment of the state, as 2026-01-31T12:00:00Z.")
@click.option("--period", default=1.0, show_default="1s", type=POSITIVE_SPAN, help="Between two cycles.")
@click.option(
    "--precision", type=click.FloatRange(0, 1, max_open=True), metavar="PART",
    help="Decide together what happens within this part of the time ahead; by default finer for few pods.",
)  # fmt: skip
@click.option(
    "--processes", type=click.IntRange(1), metavar="N", help="How many at a time; by default one per core."
)
@click.option(
    "--calibrate", "workload_file", type=click.Path(path_type=Path), metavar="WORKLOAD",
    help="Tell how good forecasts would be for a workload, by simulation.",
)  # fmt: skip
@click.option("--nodes", "node_texts", multiple=True, metavar="NODES", help="With --calibrate: the cluster.")
@click.option(
    "--moments", default=20, show_default=True, type=click.IntRange(1),
    help="With --calibrate: at how many moments forecasts are made.",
)  # fmt: skip
@click.option(
    "--knowing", type=click.Choice(KNOWLEDGE), default="history", show_default=True,
    help="With --calibrate: what forecasts know of run times.",
)  # fmt: skip
@workload_options
@output_option
def forecast(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    name: str | None,
    workload_file: Path | None,
    output: Style | None,
    **given: Any,
) -> None:
    """Tell when each job that waits in FILES, or in a live cluster, will start.

    The state runs on in virtual time, many times, with run times as they are stated
    (annotation hekla.dev/run-seconds), learned from ended jobs, or estimated by users
    (runningEstimate). P50 and P90 say by when a job starts in half and in nine tenths of these samples.

    With --calibrate, a workload is simulated instead, forecasts are made on the way with what was known at
    that moment, and held against what then happened.
    """
    registry = registry_with(plugins)
    own_conf = ConfChoice(conf_file, preset, registry, strict)
    if workload_file is not None:
        check_calibration_call(files, name, given)
        echo_calibration(calibrated(workload_file, own_conf, given, quiet=is_quiet(output)), output)
        return
    source = read_source(files, own_conf, given)
    found = forecasted(source, given, registry, quiet=is_quiet(output))
    warn(found.notes)
    echo_forecast(found, chosen_starts(found, name), output)
    if not found.is_complete:
        sys.exit(INTERRUPTED)


def check_calibration_call(files: Sequence[Path], name: str | None, given: dict[str, Any]) -> None:
    """What is said of a state makes no sense where there is none."""
    if files or given["from_cluster"]:
        raise click.UsageError("--calibrate WORKLOAD takes neither FILES nor --from-cluster")
    options = {"--job": name, "--now": given["moment"]}
    options |= {
        "--kubeconfig": given["kubeconfig"],
        "--context": given["context"],
        "--conf-from-cluster": given["conf_place"],
    }
    for option, value in options.items():
        if value is not None:
            raise click.UsageError(
                f"{option} has no meaning with --calibrate, which makes states and moments of its own"
            )
    if given["histories"] and given["knowing"] != "history":
        raise click.UsageError("--history needs --knowing history: nothing is learned otherwise")


@dataclass(frozen=True)
class ConfChoice:
    """What the command line says about the configuration."""

    file: Path | None
    preset: str | None
    registry: Registry
    strict: bool

    def conf(self) -> Conf:
        return chosen_conf(self.file, self.preset, self.registry, strict=self.strict)


@dataclass(frozen=True)
class ForecastSource:
    """A state and the configuration that decides on it."""

    objects: list[Manifest]
    conf: Conf
    now: float | None
    """None: as late as its youngest timestamp."""


def is_quiet(output: Style | None) -> bool:
    return output in (Style.JSON, Style.YAML)


def read_source(files: Sequence[Path], choice: ConfChoice, given: dict[str, Any]) -> ForecastSource:
    """The state in files, in a scenario, or in a live cluster."""
    if checked_source(files, given, 1):
        return read_live_source(files, choice, given)
    if len(files) == 1 and is_scenario(files[0]):
        scenario = read_scenario(files[0])
        warn(f"{files[0]}: {complaint}" for complaint in scenario.complaints)
        has_own = choice.file is not None or choice.preset is not None
        conf = (
            choice.conf()
            if has_own
            else usable_conf(scenario.conf, f"{files[0]}: conf", choice.registry, strict=choice.strict)
        )
        own_moment = moment_of(given["moment"])
        return ForecastSource(scenario.objects, conf, scenario.now if own_moment is None else own_moment)
    return ForecastSource(manifests_in(files), choice.conf(), moment_of(given["moment"]))


def read_live_source(files: Sequence[Path], choice: ConfChoice, given: dict[str, Any]) -> ForecastSource:
    """A live cluster as it is, with its Jobs, and what FILES suppose to be there as well."""
    from hekla.cluster.kubernetes.cluster import WATCHED  # noqa: PLC0415

    access = reach(given["kubeconfig"], given["context"])
    conf = conf_for(
        access, choice.file, choice.preset, given["conf_place"], choice.registry, strict=choice.strict
    )
    objects = list(read_live(access, (*WATCHED, VolcanoJob)).objects)
    now = moment_of(given["moment"])
    return ForecastSource(
        [*objects, *(manifests_in(files) if files else ())], conf, WallClock().now() if now is None else now
    )


def moment_of(text: str | None) -> float | None:
    """A moment as Kubernetes writes it, in seconds since 1970; without a time zone it is UTC."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f'--now: "{text}" is no moment; write it like "2026-01-31T12:00:00Z"') from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def forecasted(source: ForecastSource, given: dict[str, Any], registry: Registry, *, quiet: bool) -> Forecast:
    with bar("sampling", given["samples"], quiet=quiet) as show:
        return forecast_of(
            source.objects,
            source.conf,
            now=source.now,
            history=histories_of(given),
            assumed=given["default_duration"],
            arrivals=arrivals_of(given["arrivals"], given),
            sampling=sampling_of(given),
            registry=registry,
            scheduler_names=given["names"],
            on_sample=show,
        )


def calibrated(path: Path, choice: ConfChoice, given: dict[str, Any], *, quiet: bool) -> Calibration:
    nodes = chosen_nodes(given["node_texts"], given)
    workload = chosen_workload(path, given, nodes)
    with bar("forecasting", given["moments"], quiet=quiet) as show:
        found = calibrate(
            workload,
            choice.conf(),
            nodes=nodes or default_nodes(workload),
            registry=choice.registry,
            knowledge=Knowledge(given["knowing"]),
            moments=given["moments"],
            history=histories_of(given),
            sampling=sampling_of(given),
            assumed=given["default_duration"],
            arrivals=arrivals_of(given["arrivals"], given),
            on_moment=lambda done, _count: show(done),
        )
    tell_account(workload.account)
    return found


def sampling_of(given: dict[str, Any]) -> Sampling:
    return Sampling(
        rolls=given["samples"],
        horizon=given["horizon"],
        seed=given["seed"],
        period=given["period"],
        precision=given["precision"],
        processes=given["processes"] or min(os.cpu_count() or 1, MOST_PROCESSES),
    )


def histories_of(given: dict[str, Any]) -> list[Past]:
    """The ended jobs in all files, whatever part of a workload the other options pick."""
    options = {**reading_options(given), "format": None, "limit": None, "sample": 1.0, "duration": None}
    return [past for path in given["histories"] for past in read_history(path, **options)]


def arrivals_of(text: str | None, given: dict[str, Any]) -> Arrivals | float | None:
    """A number is a rate per hour, everything else a file."""
    if text is None:
        return None
    try:
        rate = float(text)
    except ValueError:
        return WrittenArrivals(tuple(chosen_workload(text, given).jobs()))
    if not 0 <= rate < math.inf:
        raise InputError(f'--arrivals: expected jobs per hour from 0 on, or a workload, got "{text}"')
    return rate


@contextmanager
def bar(what: str, count: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Shows on a terminal how many of so many are done."""
    if quiet or not sys.stderr.isatty():
        yield lambda _done: None
        return
    with click.progressbar(length=count, label=what, file=sys.stderr) as shown:
        yield lambda done: shown.update(done - shown.pos)


def chosen_starts(found: Forecast, name: str | None) -> list[Start]:
    if name is None:
        return list(found.starts)
    chosen = [each for each in found.starts if name in (each.job, each.key, each.job.partition("/")[2])]
    if len(chosen) == 1:
        return chosen
    if chosen:
        raise InputError(
            f'several jobs are named "{name}"; write one of: ' + ", ".join(s.job for s in chosen)
        )
    known = ", ".join(sorted(each.job for each in found.starts)[:10]) or "none"
    raise InputError(f'no job "{name}" waits; jobs that do: {known}')


def echo_forecast(found: Forecast, starts: Sequence[Start], output: Style | None) -> None:
    if is_quiet(output):
        assert output is not None
        data = found.as_data()
        echo_data({**data, "jobs": [start.as_data(found.now) for start in starts]}, output)
        return
    if not starts:
        echo("nothing waits")
        return

    if not found.is_complete:
        echo(f"not complete: what {counted(found.rolls, 'sample')} had told when it was stopped\n")
    heads = ("job", "queue", "waited", "p50", "p90", "waits for")
    echo(table(heads, [row_of(start, found) for start in starts]))
    for line in remarks(found, starts):
        echo(line)


def row_of(start: Start, found: Forecast) -> tuple[str, ...]:
    waited = "-" if start.waited is None else spoken_seconds(start.waited)
    if not start.is_possible:
        # What waits for a person or another object cannot be told.
        is_held = start.binding is not None and start.binding.verdict is Verdict.HELD
        when = "held" if is_held else "never"
        return start.job, start.queue, waited, when, when, start.why or "-"
    band = (spoken_start(value, found) for value in (start.p50, start.p90))
    return start.job, start.queue, waited, *band, start.why or "-"


class HasHorizon(Protocol):
    """What looks ahead from a moment, so far and no further."""

    @property
    def now(self) -> float: ...

    @property
    def horizon(self) -> float: ...


def spoken_start(ahead: float, found: HasHorizon) -> str:
    """`in 3.2 h (14:05)`, with the day where it is not today."""

    if math.isinf(ahead):
        return f"after {spoken_seconds(found.horizon)}"
    if not ahead:
        return "now"
    told = f"in {spoken_seconds(ahead)}"
    if not found.now:
        return told
    today, then = (datetime.fromtimestamp(at, UTC) for at in (found.now, found.now + ahead))
    form = "%H:%M" if today.date() == then.date() else "%b %d %H:%M"
    return f"{told} ({then.strftime(form)})"


def remarks(found: Forecast, starts: Sequence[Start]) -> Iterator[str]:
    """What goes with the table: late jobs, and where run times come from."""

    yield ""
    horizon = spoken_seconds(found.horizon)
    for start in starts:
        if start.missed and start.is_possible:
            yield f"{start.job}: in {start.missed} of {counted(found.rolls, 'sample')} not within {horizon}"
    sources = ", ".join(f"{count} {source.value}" for source, count in found.sources.items())
    zone = "; clock times are UTC" if found.now else ""
    yield f"{counted(found.rolls, 'sample')}; run times: {sources}{zone}"


def echo_calibration(found: Calibration, output: Style | None) -> None:
    if is_quiet(output):
        assert output is not None
        echo_data(found.as_data(), output)
        return

    rows = [calibration_row(trust) for trust in (*found.by_horizon, found.overall)]
    heads = ("start ahead", "forecasts", "open", "never", "by p50", "by p90", "in band", "mean error", "bias")
    echo(table(heads, rows))
    echo(f"\n{counted(found.moments, 'moment')}; run times: {found.knowledge.value}")
    echo(found.verdict)
    if found.caveat:
        echo(found.caveat)


def calibration_row(trust: Trust) -> tuple[str, ...]:
    parts = (spoken_part(part) for part in (trust.before_p50, trust.before_p90, trust.within_band))
    spans = (spoken_seconds(span) for span in (trust.mean_error, trust.bias))
    counts = map(str, (trust.forecasts, trust.beyond_horizon, trust.never_started))
    return trust.horizon or "all", *counts, *parts, *spans
