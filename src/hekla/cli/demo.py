"""`hekla demo`: all six actions at work on a built-in cluster."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

import click
from msgspec.structs import replace

from hekla.cli.drain import Drain
from hekla.cli.embedded_run import Embedded, PrintedLog, embed
from hekla.cli.interrupt import INTERRUPTED
from hekla.cli.options import GoSwitches, registry_with, usable_conf
from hekla.cli.output import echo, require_writable
from hekla.cli.run import echo_summary
from hekla.cli.watch import watch
from hekla.errors import InputError
from hekla.objects import Node
from hekla.scheduler.cycle import CycleReport
from hekla.simulation.observer import Observer
from hekla.simulation.report import write_report

CORDONED = "node-b"
CORDONED_AT = 70.0
HERE = files("hekla.cli")
CLUSTER, CONF, PLUGIN = "demo.yaml", "demo-scheduler.conf", "drain.py"
SHOWN = {
    "enqueue": "admits jobs that their queue and the cluster can take in",
    "allocate": "hands idle resources to jobs, gangs whole or not at all",
    "backfill": "places pods that ask for nothing",
    "preempt": "pods of one queue make room for more important jobs",
    "reclaim": "a queue that holds more than its part gives back",
    "shuffle": "moves running pods that a plugin wants elsewhere",
}
NEXT = """\
what to try next
  hekla demo --export mine    the files of this demo, to change and to run
  hekla explain FILES         why jobs wait, and what would help
  hekla decide FILES          one cycle over your own manifests
  hekla simulate WORKLOAD     weeks of jobs in virtual time, with such a page
  hekla conf show             the configuration in effect, with every default"""


@click.command(cls=GoSwitches)
@click.option("--pace", default=0.15, show_default=True, help="Seconds to look at each cycle, on a terminal.")
@click.option(
    "--export",
    "folder",
    type=click.Path(path_type=Path),
    help="Write the demo's files into a folder and stop.",
)
@click.option(
    "--report",
    "report_file",
    type=click.Path(path_type=Path),
    default=Path("hekla-demo.html"),
    show_default=True,
    help="Where to write the page that shows it all.",
)
def demo(pace: float, folder: Path | None, report_file: Path) -> None:
    """Watch gangs, queues, backfill, preemption, reclaim and shuffle at work on a cluster in this process.

    Four nodes in two racks, shared by a tree of queues: a gang gets one rack, research borrows the rest, an
    urgent job preempts, production reclaims its part, and a node is cordoned and emptied. Time is virtual;
    nothing outside this process is touched.
    """
    if folder is not None:
        export(folder)
        return
    require_writable(report_file)
    registry = registry_with(()).with_class(Drain)
    conf = usable_conf((HERE / CONF).read_text("utf-8"), "demo", registry, strict=True)
    embedded = embed([Path(str(HERE / CLUSTER))], conf, registry)
    maintenance, observer = Maintenance(embedded), Observer(embedded.cluster)

    def on_cycle(report: CycleReport) -> None:
        observer.look(report)
        maintenance(report)

    log = watch(embedded, title="hekla demo", pace=pace, before_pause=on_cycle)
    echo_summary(log)
    echo_lessons(log)
    write_report(observer.run("hekla demo", CONF), report_file)
    if log.is_interrupted:
        echo(f"\nas far as it came, as a page, to open in a browser: {report_file}")
        sys.exit(INTERRUPTED)
    echo(f"\nall of it as a page, to open in a browser: {report_file}")
    echo(f"\n{NEXT}")


def export(folder: Path) -> None:
    """Everything the demo runs on, for the user to change."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (CLUSTER, CONF, PLUGIN):
            (folder / name).write_text((HERE / name).read_text("utf-8"), "utf-8")
    except OSError as error:
        raise InputError(f'cannot write to "{folder}": {error.strerror}') from error
    echo(f"wrote {CLUSTER}, {CONF} and {PLUGIN} to {folder}; run them with")
    echo(f"  hekla run {folder}/{CLUSTER} --conf {folder}/{CONF} --plugin {folder}/{PLUGIN}:Drain")


class Maintenance:
    """A node is cordoned in the middle of the demo."""

    def __init__(self, embedded: Embedded) -> None:
        self._cluster = embedded.cluster
        self._due = embedded.clock.now() + CORDONED_AT

    def __call__(self, report: CycleReport) -> None:
        node = self._cluster.get(Node, CORDONED)
        if report.session.now >= self._due and node is not None and not node.spec.unschedulable:
            self._cluster.replace(replace(node, spec=replace(node.spec, unschedulable=True)))


def echo_lessons(log: PrintedLog) -> None:
    echo("\nwhat each action did")
    for action, lesson in SHOWN.items():
        count = log.counts[action]
        echo(f"  {action:9} {count:>3} {'time ' if count == 1 else 'times'}  {lesson}")
