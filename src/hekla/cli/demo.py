"""`hekla demo`: all six actions at work on a built-in cluster."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import click
from msgspec.structs import replace

from hekla.cli.chronicle import Chronicle
from hekla.cli.embedding import Embedded, embed
from hekla.cli.options import registry_with, usable_conf
from hekla.cli.run import echo_summary
from hekla.cli.watch import watch
from hekla.framework.plugin import Plugin
from hekla.framework.points import VICTIM_TASKS, answers
from hekla.model.task import Task
from hekla.objects import Node
from hekla.scheduler.cycle import CycleReport

CORDONED = "node-b"
CORDONED_AT = 70.0
HERE = files("hekla.cli")
SHOWN = {
    "enqueue": "admits jobs once their queue and the cluster can take them in",
    "allocate": "hands idle resources to admitted jobs, gangs whole or not at all",
    "backfill": "places pods that ask for nothing",
    "preempt": "lets pods of the same queue make room for more important jobs",
    "reclaim": "lets a queue that holds more than its part give back to another",
    "shuffle": "moves running pods that a plugin wants elsewhere",
}
NEXT = """\
what to try next
  hekla demo --print > demo.yaml          the cluster you just watched: change it, then
  hekla run demo.yaml --preset everything run your version of it
  hekla decide demo.yaml                  one cycle, and why jobs wait
  hekla conf show                         the configuration in effect, with every default"""


class Drain(Plugin):
    """Cordoned nodes are to be emptied: what runs there should move."""

    name = "drain"

    @answers(VICTIM_TASKS)
    def tasks_on_cordoned_nodes(self, running: Sequence[Task]) -> list[Task]:
        nodes = self.session.nodes.nodes
        return [task for task in running if nodes[task.node].manifest.spec.unschedulable]


@click.command()
@click.option("--pace", default=0.15, show_default=True, help="Seconds to look at each cycle, on a terminal.")
@click.option("--print", "only_print", is_flag=True, help="Print the cluster's manifests and stop.")
def demo(pace: float, only_print: bool) -> None:
    """Watch gangs, queues, backfill, preemption, reclaim and shuffle at work on a cluster in this process.

    Two teams share four nodes: research fills them, an urgent job preempts, production reclaims its half,
    and a node is cordoned and emptied. Time is virtual; nothing outside this process is touched.
    """
    manifests = HERE / "demo.yaml"
    if only_print:
        click.echo(manifests.read_text("utf-8"), nl=False)
        return
    registry = registry_with(()).with_class(Drain)
    conf = usable_conf((HERE / "demo-scheduler.conf").read_text("utf-8"), "demo", registry, strict=True)
    embedded = embed([Path(str(manifests))], conf, registry)
    chronicle = watch(embedded, title="hekla demo", pace=pace, before_pause=Maintenance(embedded))
    echo_summary(chronicle)
    echo_lessons(chronicle)


class Maintenance:
    """Somebody cordons a node in the middle of the demo."""

    def __init__(self, embedded: Embedded) -> None:
        self._cluster = embedded.cluster
        self._due = embedded.clock.now() + CORDONED_AT

    def __call__(self, report: CycleReport) -> None:
        node = self._cluster.get(Node, CORDONED)
        if report.session.now >= self._due and node is not None and not node.spec.unschedulable:
            self._cluster.replace(replace(node, spec=replace(node.spec, unschedulable=True)))


def echo_lessons(chronicle: Chronicle) -> None:
    click.echo("\nwhat each action did")
    for action, lesson in SHOWN.items():
        count = chronicle.deeds[action]
        click.echo(f"  {action:9} {count:>3} {'time ' if count == 1 else 'times'}  {lesson}")
    click.echo(f"\n{NEXT}")
