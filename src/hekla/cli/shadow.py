"""`hekla shadow`: decide beside another scheduler, bind nothing, and tell the differences."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from hekla.cli.from_cluster import (
    access_options,
    conf_for,
    conf_from_cluster_option,
    ignored_provisioners_option,
    reach,
    scheduler_name_option,
)
from hekla.cli.options import SPAN, GoSwitches, registry_with
from hekla.cli.output import as_json, echo
from hekla.clock import WallClock
from hekla.cluster.kubernetes.api.access import Access
from hekla.errors import InputError
from hekla.insight.shadow import PodFinding, Shadow
from hekla.insight.shadow.candidate import Candidate
from hekla.insight.shadow.comparator import Patience
from hekla.insight.shadow.shadow import Listener, ShadowOptions, WatchOptions, watch_cluster
from hekla.server.options import set_up_logs
from hekla.text import counted, table

CURRENT, CANDIDATE = "current", "candidate"


@click.command(cls=GoSwitches)
@access_options
@click.option("--conf", "conf_file", type=click.Path(path_type=Path), help="The configuration in use.")
@conf_from_cluster_option
@click.option("--candidate", type=click.Path(path_type=Path), help="A configuration to compare it with.")
@scheduler_name_option
@click.option("--default-queue", default="default", show_default=True, help="For groups that name none.")
@ignored_provisioners_option
@click.option("--period", default=1.0, show_default="1s", type=SPAN, help="Time between cycles.")
@click.option("--duration", type=SPAN, help="How long to watch; by default until interrupted.")
@click.option(
    "--tolerance", default=2.0, show_default="2s", type=SPAN, help="Starting earlier by less is the same."
)
@click.option(
    "--patience", default=5.0, show_default="5s", type=SPAN,
    help="How long a wanted action may stay undone before it is reported.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Treat warnings about the configurations as errors.")
@click.option("--plugin", "plugins", multiple=True, metavar="MODULE:CLASS", help="A plugin of your own.")
@click.option("--log-format", default="text", show_default=True, type=click.Choice(["text", "json"]),
              help="How each difference is printed.")  # fmt: skip
@click.option("--report", type=click.Path(path_type=Path), help="Write summary and differences as JSON.")
@click.option("-o", "--output", default="table", show_default=True, type=click.Choice(["table", "json"]),
              help="How the summary is printed; with json, differences go to standard error.")  # fmt: skip
def shadow(**given: Any) -> None:
    """Watch a cluster that another scheduler runs, and tell where hekla would have decided otherwise.

    Every period one cycle runs on the facts, for the configuration in use and for a candidate. What the
    other scheduler binds or evicts is held against it: same node, another node and why, started earlier,
    kept waiting and why. Nothing is written to the cluster. A summary is printed at the end, or on Ctrl-C.
    """

    set_up_logs(given["log_format"], "error")
    if given["report"] is not None:
        _check_writable(given["report"])
    access = reach(given["kubeconfig"], given["context"])
    candidates = candidates_for(access, given)
    writer = DifferenceWriter(
        given["log_format"], err=given["output"] == "json", is_alone=len(candidates) == 1
    )
    options = WatchOptions(
        scheduler_names=tuple(given["names"]),
        period=given["period"],
        duration=given["duration"],
        shadow=ShadowOptions(Patience(start=given["tolerance"], lack=given["patience"])),
    )
    began = _now()
    ended = asyncio.run(
        watch_cluster(access, candidates, Listener(writer.difference, writer.remark), options)
    )
    data = {"began": began, "ended": _now(), **ended.summary()}
    if given["report"] is not None:
        write_report(given["report"], data, ended)
    echo(as_json(data) if given["output"] == "json" else summary_table(data))


def candidates_for(access: Access, given: Mapping[str, Any]) -> list[Candidate]:
    """The configuration in use and the candidate, as far as they are given; else the one that is built in."""

    registry, strict, clock = registry_with(given["plugins"]), given["strict"], WallClock()
    conf_file, place, candidate = given["conf_file"], given["conf_place"], given["candidate"]
    confs = {}
    if conf_file is not None or place is not None or candidate is None:
        confs[CURRENT] = conf_for(access, conf_file, None, place, registry, strict=strict)
    if candidate is not None:
        confs[CANDIDATE] = conf_for(access, candidate, None, None, registry, strict=strict)
    facts = {key: given[key] for key in ("default_queue", "ignored_provisioners")}
    return [Candidate(name, conf, clock, registry, **facts) for name, conf in confs.items()]


class DifferenceWriter:
    """A line per difference as it happens; remarks go to standard error."""

    def __init__(self, style: str, *, err: bool, is_alone: bool) -> None:
        self._style = style
        self._err = err
        self._is_alone = is_alone

    def difference(self, finding: PodFinding) -> None:
        echo(self._line(finding), err=self._err)

    def _line(self, finding: PodFinding) -> str:
        if self._style == "json":
            return as_json(finding.as_data())
        time = datetime.fromtimestamp(finding.at, UTC).strftime("%H:%M:%S")
        candidate = "" if self._is_alone else f"{finding.candidate:9}  "
        return f"{time}  {candidate}{finding.kind.value:15}  {finding}"

    def remark(self, text: str) -> None:
        echo(as_json({"remark": text}) if self._style == "json" else text, err=True)


def summary_table(data: Mapping[str, Any]) -> str:
    """What was seen, by configuration, and what differed, by kind and queue."""

    candidates: Sequence[Mapping[str, Any]] = data["configurations"]
    heads = ("configuration", "seen", "agreed", "differed", "not judged", "earlier by (mean)", "cycles")
    rows = [
        (
            candidate["configuration"],
            candidate["seen"],
            candidate["agreed"],
            candidate["differed"],
            candidate["byKind"].get("not judged", 0),
            f"{candidate['earlierSeconds']['mean']:.1f}s",
            candidate["cycles"],
        )
        for candidate in candidates
    ]
    parts = [table(heads, rows)]
    differences = [
        (candidate["configuration"], queue, kind, count)
        for candidate in candidates
        for queue, kinds in candidate["byQueue"].items()
        for kind, count in kinds.items()
        if kind not in ("same", "not judged")
    ]
    if differences:
        parts.append(table(("configuration", "queue", "difference", "count"), differences))
    if len(candidates) > 1:
        parts.append(f"the configurations disagree on {counted(data['disagreements'], 'decision')}")
    if not any(candidate["seen"] for candidate in candidates):
        parts.append("the other scheduler decided nothing meanwhile")
    return "\n\n".join(parts)


def write_report(path: Path, data: Mapping[str, Any], ended: Shadow) -> None:
    whole = {**data, "differences": [finding.as_data() for finding in ended.differences]}
    try:
        path.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error


def _check_writable(path: Path) -> None:
    """Told before an hour of watching, not after."""
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error


def _now() -> str:
    return datetime.fromtimestamp(WallClock().now(), UTC).isoformat(timespec="seconds")
