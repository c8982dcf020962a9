"""`hekla node`: the nodes of a cluster or of files, what they offer, what is taken and what is free."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from hekla.cli.looking import (
    all_of,
    date_of,
    echo_details,
    echo_list,
    group_of,
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
from hekla.cluster.node_usage import is_finished, readable_request_of
from hekla.engine.model.node import node_of
from hekla.engine.model.resources import CPU, MEMORY, PODS, Resources, add
from hekla.errors import InputError
from hekla.objects import Node, Pod

PLAIN = (CPU, MEMORY, PODS)
COLUMNS = {
    "name": "Name",
    "state": "State",
    "pods": "Pods",
    "cpu": "CPU",
    "memory": "Memory",
    "others": "Others",
}
WIDE_COLUMNS = {"creation": "Creation", "taints": "Taints", "labels": "Labels"}


@click.group(cls=GoSwitchGroup)
def node() -> None:
    """Look at the nodes of a Kubernetes cluster, or of files."""


@node.command("list")
@listing
def list_(
    files: tuple[Path, ...], kubeconfig: Path | None, context: str | None, output: Style | None
) -> None:
    """List nodes, with what is used of what they offer: those of FILES, else of a live cluster."""
    objects = objects_of(files, kubeconfig, context, [Node, Pod])
    pods = by_node(all_of(objects, Pod))
    nodes = sorted(all_of(objects, Node), key=lambda found: found.metadata.name)
    rows = [row_of(found, pods.get(found.metadata.name, [])) for found in nodes]
    echo_list(rows, COLUMNS, WIDE_COLUMNS, "no nodes found", output)


def by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """The pods that take up room, by the node they are on."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.spec.node_name and not is_finished(pod):
            found.setdefault(pod.spec.node_name, []).append(pod)
    return found


def offered_by(found: Node) -> Resources:
    try:
        return node_of(found).allocatable
    except InputError:
        return {}


def used_by(pods: Iterable[Pod]) -> Resources:
    total: Resources = {}
    for pod in pods:
        total = add(total, readable_request_of(pod))
    return total


def state_of(found: Node) -> str:
    ready = next((c.status for c in found.status.conditions if c.type == "Ready"), "")
    states = ["Ready" if ready in ("", "True") else "NotReady"]
    if found.spec.unschedulable:
        states.append("Cordoned")
    return ",".join(states)


def row_of(found: Node, pods: list[Pod]) -> dict[str, object]:
    offered, used = offered_by(found), used_by(pods)

    def of(resource: str) -> str:
        most = spelled(resource, offered[resource]) if resource in offered else "-"
        return f"{spelled(resource, used.get(resource, 0))}/{most}"

    others = [name for name in in_order(offered) if name not in PLAIN and "/" in name]
    return {
        "name": found.metadata.name,
        "state": state_of(found),
        "pods": of(PODS),
        "cpu": of(CPU),
        "memory": of(MEMORY),
        "others": ", ".join(f"{name} {of(name)}" for name in others),
        "creation": date_of(found),
        "taints": taints_of(found),
        "labels": dict(sorted(found.metadata.labels.items())),
    }


def taints_of(found: Node) -> list[str]:
    return [
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for taint in found.spec.taints
    ]


@node.command()
@click.argument("name")
@looking
def get(
    name: str, files: tuple[Path, ...], kubeconfig: Path | None, context: str | None, output: Style | None
) -> None:
    """Show one node: what it offers by resource, what is used and free, its taints and its pods.

    It is looked for in FILES, or else in a live cluster.
    """
    objects = objects_of(files, kubeconfig, context, [Node, Pod])
    found = the_one(all_of(objects, Node), name, "node")
    pods = by_node(all_of(objects, Pod)).get(found.metadata.name, [])
    offered, used = offered_by(found), used_by(pods)
    rows = [
        {
            "resource": resource,
            "allocatable": spelled(resource, offered.get(resource, 0)),
            "used": spelled(resource, used.get(resource, 0)),
            "free": spelled(resource, offered.get(resource, 0) - used.get(resource, 0)),
        }
        for resource in in_order({*offered, *used})
    ]
    held = [
        {
            "pod": pod.key,
            "podGroup": group_of(pod) or None,
            "phase": "Terminating" if pod.metadata.deletion_timestamp else pod.status.phase,
            "cpu": spelled(CPU, readable_request_of(pod).get(CPU, 0)),
            "memory": spelled(MEMORY, readable_request_of(pod).get(MEMORY, 0)),
        }
        for pod in sorted(pods, key=lambda pod: pod.key)
    ]
    taints = taints_of(found)
    data = {
        "name": found.metadata.name,
        "state": state_of(found),
        "creation": date_of(found),
        "taints": taints,
        "labels": found.metadata.labels,
        "resources": rows,
        "pods": held,
    }
    sections = [
        "taints\n" + "\n".join(f"  {taint}" for taint in taints) if taints else "",
        section(
            "resources", ("resource", "allocatable", "used", "free"), [tuple(row.values()) for row in rows]
        ),
        section(
            "pods", ("pod", "pod group", "phase", "cpu", "memory"), [tuple(row.values()) for row in held]
        ),
    ]
    echo_details(data, sections, output)
