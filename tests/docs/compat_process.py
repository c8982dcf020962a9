"""Rules for the rows about the process, its command line, what it installs, and its controllers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import yaml
from compat_page import Row, source
from compat_words import options_of

from hekla.cli.serve import IGNORED, options_from, serve
from hekla.cluster.kubernetes.api.lease import LeaseOptions
from hekla.cluster.kubernetes.controllers.job_plugins import PLUGINS as JOB_PLUGINS
from hekla.conf import read_conf
from hekla.controllers.ports import KNOWN_PLUGINS
from hekla.scheduler.load.read import SOURCES
from hekla.server.deploy.manifests import Installation
from hekla.server.options import ServeOptions

Problems = Iterator[str]


def check_process(row: Row) -> Problems:
    options = options_of(serve) - set(IGNORED)
    for name in row.names:
        if not name.startswith("-"):
            yield from check_setting(name, row.remark)
        elif row.remark.startswith("same") != (name in options):
            yield f"hekla serve {'has' if name in options else 'has no'} {name}"
        elif row.remark.startswith("accepted without effect") != (name in IGNORED):
            yield f"{name} is {'' if name in IGNORED else 'not '}among those that are accepted without effect"
        elif "refused" in row.remark and name in options_of(serve):
            yield f"{name} is not refused"
    if row.subject in IN_WORDS:
        yield from () if row.remark.startswith(IN_WORDS[row.subject]) else ["says something else"]
    elif not row.names and row.subject != "-":
        yield "no rule knows this row"


IN_WORDS = {
    "hot reload of the file": "same for `hekla serve`",
    "the ConfigMap that holds the file": "read in place of the file",
}
"""How the rows begin that name no option; that they are true is shown by tests with files."""


def check_setting(name: str, remark: str) -> Problems:
    """A key of the file, or a variable of Volcano's environment."""
    if name == "metrics":
        sources = {"annotations", "file", "prometheus"}
        if set(SOURCES) != sources or not all(one in remark for one in sources):
            yield f"the sources of load are {set(SOURCES)}"
    elif remark.startswith("same"):
        _, mistakes = read_conf(f"{name}: []\n")
        if any("unknown" in str(mistake) or f'no key "{name}"' in str(mistake) for mistake in mistakes):
            yield f"{name} is no key of the file"
    elif name in source():
        yield f"{name} is read"


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """What `hekla install` defines, by kind."""
    crds = [thing for thing in Installation().objects() if thing["kind"] == "CustomResourceDefinition"]
    return {thing["spec"]["names"]["kind"]: thing for thing in crds}


def fields_at(kind: str, *names: str) -> list[dict[str, Any]]:
    """The schemas of fields whose path ends so."""
    return [schema for path, schema in walk(definitions()[kind], ()) if path[-len(names) :] == names]


def walk(schema: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if isinstance(schema, dict):
        yield path, schema
        for key, below in schema.items():
            yield from walk(below, (*path, key))
    elif isinstance(schema, list):
        for below in schema:
            yield from walk(below, path)


OF_TASK = ("tasks", "items", "properties")
MAY_BE_EMPTY = (
    ("Job", "spec", "properties", "queue"),
    ("Job", "spec", "properties", "priorityClassName"),
    ("Job", *OF_TASK, "name"),
    ("PodGroup", "spec", "properties", "queue"),
    ("PodGroup", "spec", "properties", "priorityClassName"),
    ("Queue", "spec", "properties", "parent"),
)


def check_definition(row: Row) -> Problems:
    match row.names:
        case []:
            (template,) = fields_at("Job", *OF_TASK, "template")
            if "x-kubernetes-preserve-unknown-fields" not in yaml.safe_dump(template):
                yield "the template is cut down to what is known"
        case ["maxRetry"]:
            (schema,) = fields_at("Job", *OF_TASK, "maxRetry")
            if schema["minimum"] != -1:
                yield "starts elsewhere"
        case ["queue", "parent", "priorityClassName"]:
            for place in MAY_BE_EMPTY:
                if not all(re.fullmatch(schema.get("pattern", ""), "") for schema in fields_at(*place)):
                    yield f"{'.'.join(place)} may not be empty"
        case _:
            yield "no rule knows this row"


def numbers_in(text: str) -> Iterator[int]:
    """`CW-3, 7, 24 to 26` as numbers."""
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
        yield from range(int(first), int(last or first) + 1)


def check_controllers(row: Row) -> Problems:
    if not row.remark.startswith(("same", "different", "no counterpart", "not there")):
        yield "neither same nor different nor not there"


def served(line: str = "") -> ServeOptions:
    """What `hekla serve` with this command line is told."""
    with serve.make_context("serve", line.split()) as context:
        options: ServeOptions = options_from(context.params)
    return options


def check_real_cluster(row: Row) -> Problems:
    check = REAL_CLUSTER.get(row.subject)
    if check is None:
        yield "no rule knows this row"
    elif not check(row, served()):
        yield "does not hold"


def is_on_loopback(_row: Row, options: ServeOptions) -> bool:
    return all(a.startswith("127.0.0.1:") for a in (options.metrics_address, options.health_address))


REAL_CLUSTER: dict[str, Callable[[Row, ServeOptions], bool]] = {
    "command line": lambda _, options: (
        options.lease is not None and served("--leader-elect=false").lease is None
    ),
    "a bind that fails": lambda _, options: (
        (options.cluster.first_back_off, options.cluster.longest_back_off) == (1.0, 60.0)
    ),
    "an eviction that fails": lambda _, options: (
        (options.cluster.first_eviction_back_off, options.cluster.longest_eviction_back_off) == (5.0, 300.0)
    ),
    "a gang below its minimum because binds are refused": lambda _, options: (
        (options.cluster.releases_gangs, options.cluster.gang_patience) == (True, 300.0)
        and not served("--partial-gang=keep").cluster.releases_gangs
    ),
    "a status that cannot be written": lambda _, options: (
        (options.cluster.first_back_off, options.cluster.longest_back_off) == (1.0, 60.0)
    ),
    "cycles": lambda _, options: 0 < options.shortest_gap < options.period == 1.0,
    "addresses": is_on_loopback,
    "leader election": lambda _, __: (
        served("--scheduler-name=mine").lease == LeaseOptions("hekla-system", "mine", 15.0, 10.0, 2.0)
    ),
    "health": lambda row, _: bool(row.code) and all(f'"{route}"' in source() for route in row.code),
    "job plugins (`--controllers`)": lambda row, _: (
        {*JOB_PLUGINS, "ssh"} == set(KNOWN_PLUGINS) == {*row.code}
    ),
    "controllers": lambda _, options: (
        served("--controllers").with_controllers and not options.with_controllers
    ),
}
