"""`hekla explain`: why pod groups are pending."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hekla.cli.decide import after_cycles, as_mapping, checked_source, cycle_on_live, load_scenario
from hekla.cli.from_cluster import ignored_provisioners_option, live_options
from hekla.cli.options import GoSwitches, chosen_conf, configuration, registry_with
from hekla.cli.output import Style, echo, echo_data, output_option
from hekla.engine.framework.explain import explain as explain_job
from hekla.engine.model.job import Job
from hekla.errors import InputError
from hekla.objects.scenario import is_scenario
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.scheduler.outcome import explanations


@click.command(cls=GoSwitches)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--job", "name", help="Only this job or pod group: namespace/name, or a name that is unique.")
@configuration
@live_options
@ignored_provisioners_option
@click.option(
    "--cycles", default=1, show_default=True, type=click.IntRange(1), help="Explain the last of N cycles."
)
@output_option
def explain(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    name: str | None,
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    cycles: int,
    output: Style | None,
    **live: Any,
) -> None:
    """Run a cycle over FILES, or on a live cluster, and tell why pod groups wait: which nodes refused them
    and why, which queue is over its share, how short a gang is.
    """
    registry, ignored = registry_with(plugins), live["ignored_provisioners"]
    if checked_source(files, live, cycles):
        report = cycle_on_live(files, conf_file, preset, registry, strict=strict, **live)
    elif len(files) == 1 and is_scenario(files[0]):
        own = chosen_conf(conf_file, preset, registry, strict=strict) if conf_file or preset else None
        loaded = load_scenario(files[0], registry, own, ignored, strict=strict)
        report = run_cycle(
            loaded.snapshot, loaded.conf, registry=registry, now=loaded.now, memory=loaded.memory
        )
    else:
        conf = chosen_conf(conf_file, preset, registry, strict=strict)
        report = after_cycles(files, conf, registry, cycles, ignored)
    told = explanations(report) if name is None else [explain_job(report.session, job_named(report, name))]
    if output in (Style.JSON, Style.YAML):
        echo_data([as_mapping(explanation) for explanation in told], output)
    elif told:
        echo("\n\n".join(str(explanation) for explanation in told))
    else:
        echo("nothing waits")


def job_named(report: CycleReport, name: str) -> Job:
    """The job that people mean by a name."""
    jobs = report.session.jobs
    found = [
        job for uid, job in jobs.items() if name in (uid, job.name, job.title, f"{job.namespace}/{job.title}")
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f'several pod groups are named "{name}"; write one of: ' + ", ".join(j.uid for j in found)
        )
    known = ", ".join(sorted(f"{job.namespace}/{job.title}" for job in jobs.values())[:10]) or "none"
    raise InputError(f'no pod group "{name}" in this cycle; known pod groups: {known}')
