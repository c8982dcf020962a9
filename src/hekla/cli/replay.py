"""`hekla replay`: recorded cycles decided again, looked at one by one, and cut down to small scenarios."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hekla import __version__
from hekla.cli.explain import job_named
from hekla.cli.options import SPAN, GoSwitches, chosen_conf, registry_with
from hekla.cli.output import Style, echo, echo_data, output_option, warn, write_out
from hekla.cli.replays import listing, one_cycle
from hekla.conf import Conf
from hekla.conf.presets import PRESETS
from hekla.engine.framework.registry import Registry
from hekla.errors import HeklaError, InputError
from hekla.insight.replay import Budget, Case, Recording, case_of, shrink, travel_to
from hekla.insight.replay.problems import (
    ReplayProblem,
    confs_differ,
    evident_problem,
    job_waits,
    pod_outcome,
    says,
)
from hekla.objects import Pod
from hekla.text import counted

NEEDS_A_CYCLE = ("step", "shrink", "save", "job", "pod", "keep")


@click.command(cls=GoSwitches)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--at", type=click.IntRange(1), metavar="N", help="Look at this cycle alone, action by action.")
@click.option("--conf", "conf_file", type=click.Path(path_type=Path), help="Decide under another one.")
@click.option("--preset", type=click.Choice(sorted(PRESETS)), help="Decide under a built-in one instead.")
@click.option("--strict", is_flag=True, help="Treat warnings about that configuration as errors.")
@click.option("--plugin", "plugins", multiple=True, metavar="MODULE:CLASS", help="A plugin of your own.")
@click.option("--step", is_flag=True, help="Stop after every action; Enter goes on, q quits.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the cycle as a scenario, FILE.json.")
@click.option("--shrink", is_flag=True, help="Leave out of it what its problem does not need.")
@click.option("--job", metavar="NAME", help="The problem: this job waits, for the same reason.")
@click.option("--pod", metavar="NAME", help="The problem: the same becomes of this pod.")
@click.option("--keep", metavar="TEXT", help="The problem: this is said (of the job, with --job).")
@click.option(
    "--tries", default=2000, show_default=True, type=click.IntRange(1), help="For --shrink, at most."
)
@click.option("--seconds", "span", type=SPAN, help="For --shrink, about how long at most.")
@output_option
def replay(file: Path, output: Style | None, **given: Any) -> None:
    """Decide the cycles in FILE once more, and tell whether each comes out as it was recorded.

    FILE was written by `hekla run --record` or `hekla serve --record`. With --at one cycle is told action by
    action. With --conf or --preset the same inputs are decided under another configuration, each cycle
    by itself, and what differs is told. With --shrink a cycle is cut down to a small scenario that still
    shows its problem: an error, a broken rule, a job that waits (--job), what becomes of a pod (--pod),
    words that are said (--keep), or a difference between configurations (--conf).
    """

    _check(given)
    registry = registry_with(given["plugins"])
    recording = Recording(file)
    own = given["conf_file"] or given["preset"]
    conf = chosen_conf(given["conf_file"], given["preset"], registry, strict=given["strict"]) if own else None
    _warn_of_header(recording, given["plugins"])
    style, is_same = output or Style.TABLE, True
    if given["at"] is None:
        is_same = listing(recording, registry, conf, style)
    elif given["shrink"] or given["save"] is not None:
        cut_out(recording, registry, conf, given, style)
    else:
        is_same = one_cycle(recording, registry, conf, given["at"], style, in_steps=given["step"])
    if not is_same:
        sys.exit(1)


def _check(given: dict[str, Any]) -> None:
    wanted = [option for option in NEEDS_A_CYCLE if given[option]]
    if wanted and given["at"] is None:
        raise click.UsageError(f"--{wanted[0]} is about one cycle: say which with --at N")
    if any(given[option] for option in ("job", "pod", "keep")) and not given["shrink"]:
        raise click.UsageError("--job, --pod and --keep say what --shrink is to keep")
    if given["job"] and given["pod"]:
        raise click.UsageError("give either --job or --pod, not both")
    if (given["conf_file"] or given["preset"]) and (given["job"] or given["keep"]):
        raise click.UsageError("between two configurations, --pod alone says what --shrink is to keep")
    if given["save"] is not None and given["save"].suffix.lower() != ".json":
        raise click.UsageError(f'a scenario is a JSON file: call it "{given["save"].stem}.json"')


def _warn_of_header(recording: Recording, plugins: tuple[str, ...]) -> None:
    """What may make cycles come out otherwise than they did."""

    header = recording.header
    if header.hekla != __version__:
        warn([f"recorded by hekla {header.hekla}, decided again by {__version__}"])
    missing = [name for name in header.plugins if name not in plugins]
    if missing:
        warn([f"recorded with {' '.join(f'--plugin {name}' for name in missing)}; give it here as well"])


LIMITED = "the limit was reached; more could go"


def cut_out(
    recording: Recording, registry: Registry, conf: Conf | None, given: dict[str, Any], style: Style
) -> None:
    """Write a cycle as a scenario, to a file or to standard output; what became of it goes beside that."""
    replayer, cycle = travel_to(recording, given["at"], registry)
    case = case_of(replayer, cycle)
    save: Path | None = given["save"]
    told: dict[str, Any] = {"cycle": cycle.number, "objects": len(case.objects)}
    if given["shrink"]:
        case, more = _shrunk(case, conf, given)
        told |= more
    write_out(save, case.scenario(save.stem if save else f"cycle-{cycle.number}"))
    if save is not None and style is not Style.TABLE:
        echo_data({**told, "file": str(save)}, style)
    elif save is not None:
        echo(_sentence(told, case, save))
    elif not told.get("complete", True):
        echo(f"{_left(told)} ({LIMITED}); raise --tries or --seconds", err=True)


def _shrunk(case: Case, conf: Conf | None, given: dict[str, Any]) -> tuple[Case, dict[str, Any]]:
    problem = problem_in(case, conf, given)
    budget = Budget(given["tries"], math.inf if given["span"] is None else given["span"])
    with _Ticker() as ticker:
        shrunk = shrink(case, problem.shows, budget, ticker.tell)
    if not problem.shows(shrunk.case.read_again()):
        raise HeklaError(f"decided once more, the shrunk cycle does not show it: {problem}")
    return shrunk.case, {
        "problem": str(problem),
        "left": len(shrunk.case.objects),
        "tries": shrunk.tries,
        "complete": shrunk.is_complete,
    }


def problem_in(case: Case, conf: Conf | None, given: dict[str, Any]) -> ReplayProblem:
    """What the command line calls a problem; else what plainly is one."""
    if conf is not None:
        return confs_differ(case, conf, _pod(case, given["pod"]) if given["pod"] else "")
    if given["job"]:
        report = case.decide().report
        if report is None:
            raise InputError(f"the cycle fails: {case.decide().error}; shrink it without --job")
        return job_waits(case, job_named(report, given["job"]).uid, given["keep"] or "")
    if given["pod"]:
        return pod_outcome(case, _pod(case, given["pod"]))
    return says(case, given["keep"]) if given["keep"] else evident_problem(case)


def _pod(case: Case, name: str) -> str:
    """The pod of that name as `namespace/name`."""
    known = [manifest.key for manifest in case.manifests() if isinstance(manifest, Pod)]
    found = [key for key in known if name in (key, key.partition("/")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f'several pods are named "{name}"; write one of: ' + ", ".join(found))
    raise InputError(f'no pod "{name}" in this cycle; known pods: {", ".join(sorted(known)[:10]) or "none"}')


class _Ticker:
    """How far shrinking has come, on one line of a terminal."""

    def __enter__(self) -> _Ticker:
        self._is_shown = sys.stderr.isatty()
        return self

    def tell(self, tries: int, left: int) -> None:
        if self._is_shown:
            click.echo(f"\r{counted(left, 'object')} left after {tries} tries   ", err=True, nl=False)

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            echo("", err=True)


def _sentence(told: dict[str, Any], case: Case, save: Path) -> str:
    kinds = Counter(one.data["kind"] for one in case.objects)
    what = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    if "problem" not in told:
        return f"wrote cycle {told['cycle']} with {counted(told['objects'], 'object')} to {save}"
    ending = "nothing more can go" if told["complete"] else LIMITED
    return (
        f"kept: {told['problem']}\n"
        f"{_left(told)} ({ending}): {what}\n"
        f"wrote {save}; look at it with: hekla explain {save}"
    )


def _left(told: Mapping[str, Any]) -> str:
    objects, tries = counted(told["objects"], "object"), counted(told["tries"], "try", "tries")
    return f"{told['left']} of {objects} left after {tries}"
