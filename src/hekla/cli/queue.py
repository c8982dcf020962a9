"""`hekla queue`: the queues of a cluster or of files, in the columns of vcctl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click

from hekla.cli.looking import (
    all_of,
    date_of,
    echo_details,
    echo_list,
    in_order,
    listing,
    looking,
    objects_of,
    section,
    spelled,
    the_one,
)
from hekla.cli.options import GoSwitchGroup
from hekla.cli.output import Style
from hekla.engine.model.queue import DEFAULT_QUEUE
from hekla.engine.model.resources import amounts_in
from hekla.objects import PodGroup, Queue
from hekla.objects.meta import ResourceList

PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
COLUMNS = {
    "name": "Name",
    "weight": "Weight",
    "state": "State",
    "parent": "Parent",
    **{phase.lower(): phase for phase in PHASES},
}
WIDE_COLUMNS = {
    "priority": "Priority",
    "reclaimable": "Reclaimable",
    "guarantee": "Guarantee",
    "deserved": "Deserved",
    "capability": "Capability",
}


@click.group(cls=GoSwitchGroup)
def queue() -> None:
    """Look at the queues of a Kubernetes cluster, or of files."""


@queue.command("list")
@listing
def list_(
    files: tuple[Path, ...], kubeconfig: Path | None, context: str | None, output: Style | None
) -> None:
    """List queues, with their pod groups counted by phase: those of FILES, else of a live cluster."""
    objects = objects_of(files, kubeconfig, context, [Queue, PodGroup])
    groups = all_of(objects, PodGroup)
    queues = sorted(all_of(objects, Queue), key=lambda found: found.metadata.name)
    rows = [row_of(found, groups) for found in queues]
    echo_list(rows, COLUMNS, WIDE_COLUMNS, "no queues found", output)


def row_of(found: Queue, groups: Iterable[PodGroup]) -> dict[str, object]:
    name = found.metadata.name
    phases = Counter(
        group.status.phase or "Pending" for group in groups if (group.spec.queue or DEFAULT_QUEUE) == name
    )
    return {
        "name": name,
        "weight": found.spec.weight,
        "state": found.status.state,
        "parent": found.spec.parent,
        **{phase.lower(): phases[phase] for phase in PHASES},
        "priority": found.spec.priority,
        "reclaimable": "no" if found.spec.reclaimable is False else "yes",
        **{name: spelled_out(given) for name, given in bounds_of(found).items()},
    }


def bounds_of(found: Queue) -> dict[str, ResourceList]:
    """What the queue is promised, deserves, may have at most, and has."""
    spec = found.spec
    return {
        "guarantee": spec.guarantee.resource,
        "deserved": spec.deserved,
        "capability": spec.capability,
        "allocated": found.status.allocated,
    }


def spelled_out(given: ResourceList) -> dict[str, str]:
    amounts = amounts_in(given)
    return {name: spelled(name, amounts[name]) for name in in_order(amounts)}


@queue.command()
@click.argument("name")
@looking
def get(
    name: str, files: tuple[Path, ...], kubeconfig: Path | None, context: str | None, output: Style | None
) -> None:
    """Show one queue: its share by resource, its child queues, and the pod groups that wait in it.

    It is looked for in FILES, or else in a live cluster.
    """
    objects = objects_of(files, kubeconfig, context, [Queue, PodGroup])
    queues, groups = all_of(objects, Queue), all_of(objects, PodGroup)
    found = the_one(queues, name, "queue")
    own = [group for group in groups if (group.spec.queue or DEFAULT_QUEUE) == found.metadata.name]
    share = share_of(found)
    waiting = [
        {"podGroup": group.key, "phase": group.status.phase or "Pending", "creation": date_of(group)}
        for group in sorted(own, key=lambda group: group.key)
        if group.status.phase in ("", "Pending", "Inqueue")
    ]
    children = sorted(other.metadata.name for other in queues if other.spec.parent == found.metadata.name)
    data = {
        **row_of(found, groups),
        "children": children,
        "share": share,
        "waiting": waiting,
    }
    sections = [
        "children\n" + "\n".join(f"  {child}" for child in children) if children else "",
        section(
            "share",
            ("resource", "guarantee", "deserved", "capability", "allocated"),
            [tuple(row.values()) for row in share],
        ),
        section("waiting", ("pod group", "phase", "creation"), [tuple(row.values()) for row in waiting]),
    ]
    echo_details(data, sections, output)


def share_of(found: Queue) -> list[dict[str, str | None]]:
    """By resource, what the queue is promised, deserves, may have at most, and has."""
    amounts = {name: amounts_in(given) for name, given in bounds_of(found).items()}
    return [
        {
            "resource": resource,
            **{
                name: spelled(resource, amount[resource]) if resource in amount else None
                for name, amount in amounts.items()
            },
        }
        for resource in in_order({resource for amount in amounts.values() for resource in amount})
    ]
