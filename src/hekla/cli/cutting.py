"""Cutting a cycle out of a recording: as it is, or shrunk to what shows its problem."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from hekla.cli.explain import job_named
from hekla.cli.outputs import write_out
from hekla.cli.style import Style, echo_data
from hekla.cli.table import counted
from hekla.cli.terminal import echo
from hekla.conf import Conf
from hekla.errors import HeklaError, InputError
from hekla.framework.registry import Registry
from hekla.insight.replay import Budget, Case, Recording, case_of, shrink, travel_to
from hekla.insight.replay.problems import (
    Problem,
    confs_differ,
    evident_problem,
    job_waits,
    pod_fares,
    says,
)
from hekla.objects import Pod

LIMITED = "the limit was reached; more could go"


def cut_out(
    recording: Recording, registry: Registry, conf: Conf | None, given: dict[str, Any], style: Style
) -> None:
    """Write a cycle as a scenario, to a file or to standard output; what became of it goes beside that."""
    replayer, cycle = travel_to(recording, given["at"], registry)
    case = case_of(replayer, cycle)
    save: Path | None = given["save"]
    told: dict[str, Any] = {"cycle": cycle.number, "objects": len(case.things)}
    if given["shrink"]:
        case, more = _shrunk(case, conf, given)
        told |= more
    write_out(save, case.scenario(save.stem if save else f"cycle-{cycle.number}"))
    if save is not None and style is not Style.TABLE:
        echo_data({**told, "file": str(save)}, style)
    elif save is not None:
        echo(_sentence(told, case, save))
    elif not told.get("complete", True):
        left = f"{told['left']} of {told['objects']} objects left after {told['tries']} tries"
        echo(f"{left} ({LIMITED}); raise --tries or --seconds", err=True)


def _shrunk(case: Case, conf: Conf | None, given: dict[str, Any]) -> tuple[Case, dict[str, Any]]:
    problem = problem_in(case, conf, given)
    budget = Budget(given["tries"], math.inf if given["span"] is None else given["span"])
    with _Ticker() as ticker:
        shrunk = shrink(case, problem.shows, budget, ticker.tell)
    if not problem.shows(shrunk.case.read_again()):
        raise HeklaError(f"decided once more, the shrunk cycle does not show it: {problem}")
    return shrunk.case, {
        "problem": str(problem),
        "left": len(shrunk.case.things),
        "tries": shrunk.tries,
        "complete": shrunk.is_complete,
    }


def problem_in(case: Case, conf: Conf | None, given: dict[str, Any]) -> Problem:
    """What the command line calls a problem; else what plainly is one."""
    if conf is not None:
        return confs_differ(case, conf, _pod(case, given["pod"]) if given["pod"] else "")
    if given["job"]:
        report = case.decide().report
        if report is None:
            raise InputError(f"the cycle fails: {case.decide().error}; shrink it without --job")
        return job_waits(case, job_named(report, given["job"]).uid, given["keep"] or "")
    if given["pod"]:
        return pod_fares(case, _pod(case, given["pod"]))
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
    kinds = Counter(thing.data["kind"] for thing in case.things)
    what = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    if "problem" not in told:
        return f"wrote cycle {told['cycle']} with {counted(told['objects'], 'object')} to {save}"
    ending = "nothing more can go" if told["complete"] else LIMITED
    return (
        f"kept: {told['problem']}\n"
        f"{told['left']} of {told['objects']} objects left after {told['tries']} tries ({ending}): {what}\n"
        f"wrote {save}; look at it with: hekla explain {save}"
    )
