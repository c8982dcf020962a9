"""What `hekla job`, `hekla queue` and `hekla node` have in common: where to look, and how it is shown.

They look at a live cluster, or at the one that files describe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from hekla.cli.from_cluster import access_options, reach, read_live
from hekla.cli.from_files import cluster_in, files_argument
from hekla.cli.output import Style, echo, echo_data, output_option, wide_output_option, width_for
from hekla.engine.model.resources import CPU, MEMORY, PODS, is_whole
from hekla.errors import InputError
from hekla.objects import Condition, Manifest, Pod, PodGroup
from hekla.objects.complaint import did_you_mean
from hekla.objects.keys import GROUP_NAME
from hekla.text import table

Command = TypeVar("Command", bound=Callable[..., Any])
M = TypeVar("M", bound=Manifest)
Row = Mapping[str, object]
MANY_BYTES = 10_000 * 2**30
"""From so many on, parts of a GiB do not count."""
WAITING_CONDITIONS = {"PodScheduled": "False", "Unschedulable": "True"}


def looking(command: Command) -> Command:
    """`FILES`, `--kubeconfig`, `--context` and `-o`."""
    return files_argument(access_options(output_option(command)))


def listing(command: Command) -> Command:
    """The same, and `-o wide`."""
    return files_argument(access_options(wide_output_option(command)))


def namespace_options(command: Command) -> Command:
    """`-n` and `-A`."""
    for option in reversed(
        (
            click.option("-n", "--namespace", default="default", show_default=True, help="Where to look."),
            click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Look everywhere."),
        )
    ):
        command = option(command)
    return command


def objects_of(
    files: Sequence[Path],
    kubeconfig: Path | None,
    context: str | None,
    kinds: Sequence[type[Manifest]],
    namespace: str = "",
) -> list[Manifest]:
    """All objects of these kinds, in the files or else in the live cluster.

    The first kind is what the command is about.
    """
    if not files:
        reading = read_live(reach(kubeconfig, context), kinds, indispensable=kinds[:1], namespace=namespace)
        return reading.objects
    if kubeconfig is not None or context is not None:
        raise click.UsageError("give FILES, or a live cluster by --kubeconfig and --context")
    found = (thing for thing in cluster_in(files) if isinstance(thing, tuple(kinds)))
    return [thing for thing in found if is_in(thing, namespace)]


def is_in(thing: Manifest, namespace: str) -> bool:
    """Whether the object is in the namespace; none is every one."""
    return namespace in ("", thing.metadata.namespace)


def all_of(objects: Iterable[Manifest], kind: type[M]) -> list[M]:
    return [thing for thing in objects if isinstance(thing, kind)]


def the_one(found: Sequence[M], name: str, kind: str, where: str = "") -> M:
    """The object of that name; says which ones there are where there is none."""
    for thing in found:
        if name in (thing.metadata.name, thing.key):
            return thing
    hint = did_you_mean(name, [thing.metadata.name for thing in found])
    raise InputError(f'no {kind} "{name}"{where}{hint}')


def echo_list(
    rows: Sequence[Row],
    headers: dict[str, str],
    wide: dict[str, str],
    nothing: str,
    output: Style | None,
) -> None:
    """Rows as a table, with `wide` columns or without, or as data.

    That there are none goes to standard error, and is no failure.
    """
    if output in (Style.JSON, Style.YAML):
        echo_data(list(rows), output)
    elif rows:
        told = headers | wide if output is Style.WIDE else headers
        cells = [[shown(row.get(key)) for key in told] for row in rows]
        echo(table(list(told.values()), cells, width_for(output)))
    else:
        echo(nothing, err=True)


def echo_details(data: Mapping[str, Any], sections: Iterable[str], output: Style | None) -> None:
    """One object: its plain values line by line, then sections that say more."""
    if output in (Style.JSON, Style.YAML):
        echo_data(dict(data), output)
        return
    plain = {key: value for key, value in data.items() if not isinstance(value, list | dict)}
    width = max(map(len, plain)) + 1
    lines = [f"{_spoken(key) + ':':{width + 1}} {shown(value)}" for key, value in plain.items()]
    echo("\n\n".join(["\n".join(lines), *filter(None, sections)]))


def section(title: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    cells = [[shown(cell) for cell in row] for row in rows]
    return f"{title}\n{table(headers, cells)}" if rows else ""


def shown(value: object) -> str:
    if isinstance(value, dict):
        value = [f"{key}={part}" for key, part in value.items()]
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return "-" if value in (None, "") else str(value)


def _spoken(key: str) -> str:
    """`minAvailable` as people read it: `min available`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in key)


def spelled(resource: str, amount: int) -> str:
    """An amount as people write it: cores, GiB, devices."""
    if resource == PODS:
        return str(amount)
    if not is_whole(resource):
        return f"{amount / 1000:.6g}"
    return f"{amount / 2**30:.{4 if amount < MANY_BYTES else 9}g}Gi"


def in_order(resources: Iterable[str]) -> list[str]:
    """cpu, memory, pods, then all other resources by name."""
    first = (CPU, MEMORY, PODS)
    return sorted(resources, key=lambda name: (first.index(name) if name in first else len(first), name))


def date_of(manifest: Manifest) -> str:
    moment = manifest.metadata.creation_timestamp
    return "" if moment is None else moment.strftime("%Y-%m-%d")


def conditions_of(conditions: Iterable[Condition]) -> list[dict[str, object]]:
    return [
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "since": None
            if condition.last_transition_time is None
            else condition.last_transition_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "message": condition.message,
        }
        for condition in conditions
    ]


def why_it_waits(group: PodGroup | None, pods: Iterable[Pod]) -> list[str]:
    """What schedulers have written into conditions, each thing once, with the pods it is said of."""
    said: dict[str, list[str]] = {}
    if group is not None and group.status.phase in ("", "Pending", "Inqueue", "Unknown"):
        for condition in filter(_tells, group.status.conditions):
            said.setdefault(_told(condition), []).append("")
        if group.status.phase in ("", "Pending"):
            said.setdefault("its pod group has not been admitted to its queue yet", []).append("")
    for pod in pods:
        if pod.status.phase == "Pending" and not pod.spec.node_name:
            for condition in filter(_tells, pod.status.conditions):
                said.setdefault(_told(condition), []).append(pod.metadata.name)
    return [_with_pods(text, [name for name in names if name]) for text, names in said.items()]


def _tells(condition: Condition) -> bool:
    return WAITING_CONDITIONS.get(condition.type) == condition.status


def _told(condition: Condition) -> str:
    return condition.message or condition.reason


def _with_pods(text: str, names: list[str]) -> str:
    if not names:
        return text
    return f"{names[0]}: {text}" if len(names) == 1 else f"{names[0]} and {len(names) - 1} more: {text}"


def group_of(pod: Pod) -> str:
    """The key of the pod group that the pod names."""
    name = pod.metadata.annotations.get(GROUP_NAME, "")
    return f"{pod.metadata.namespace}/{name}" if name else ""


def pods_by_node(pods: Iterable[Pod]) -> list[dict[str, object]]:
    """One row per pod; those without a node come last."""
    ordered = sorted(pods, key=lambda pod: (not pod.spec.node_name, pod.spec.node_name, pod.key))
    return [
        {
            "node": pod.spec.node_name or None,
            "pod": pod.metadata.name,
            "phase": "Terminating" if pod.metadata.deletion_timestamp else pod.status.phase,
        }
        for pod in ordered
    ]
