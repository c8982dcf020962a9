"""Every row of docs/compat.md is held to the program, or named below with the reason why only words hold it.

Each table has a rule that tells what is wrong with a row. A table without a rule, a row that its rule does
not know, and a word in backticks that the program does not have fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from compat_annotations import NOT_OF_USERS, RESOURCES, check_annotation, check_on_pod, sample_job
from compat_page import DOCUMENTS, Row, Table, decision, literals, rows_of, section_of, tables
from compat_process import (
    check_controllers,
    check_definition,
    check_process,
    check_real_cluster,
    definitions,
    numbers_in,
)
from compat_settings import check_argument, check_part, check_point, check_switch
from compat_words import PARTS, is_known

from compat.statements import DOCUMENTS as DOCUMENT_NAMES
from compat.statements import document
from hekla.cli.serve import serve
from hekla.conf import SWITCHES, describe_arguments, read_conf
from hekla.controllers.expand import pod_group_of
from hekla.engine.actions import BUILTIN_ACTIONS
from hekla.engine.framework.points import POINTS
from hekla.engine.plugins import BUILTIN_PLUGINS
from hekla.scheduler.builtin import BUILTIN
from hekla.server.options import ConfFile

OF_A_RUNNING_PROCESS = "what a process does to an API server: tests/e2e and tests/cluster hold it"
OF_CONTROLLERS = "what controllers do: tests/controllers hold it"
ONLY_WORDS = {
    "On a real cluster": {
        "objects": OF_A_RUNNING_PROCESS,
        "bind": OF_A_RUNNING_PROCESS,
        "eviction": OF_A_RUNNING_PROCESS,
        "claims that wait for their first pod": OF_A_RUNNING_PROCESS,
        "claims of Jobs (`--controllers`)": OF_A_RUNNING_PROCESS,
        "defaults (`--controllers`)": OF_A_RUNNING_PROCESS,
        "a cycle that fails": OF_A_RUNNING_PROCESS,
        "losing the lease": OF_A_RUNNING_PROCESS,
        "namespaces and PodGroups that are being deleted": OF_A_RUNNING_PROCESS,
    },
    "Annotations and labels: On others": {
        "Job: all that stands above": OF_CONTROLLERS,
        "workload: `scheduling.volcano.sh/group-min-member`, `volcano.sh/*`": OF_CONTROLLERS,
    },
}
"""Rows of which there is nothing to hold to the program here, and what holds them instead."""


def check_oddity(row: Row) -> Iterator[str]:
    """A difference has its decision; what is the same is held by stories and the conformance corpora."""
    if not row.remark.startswith(("same", "different", "no counterpart")):
        yield "neither same nor different nor without counterpart"
    if row.remark.startswith("different"):
        texts = "".join(map(decision, row.decisions))
        names = row.subject.split(", ")
        yield from (f"no decision names {name}" for name in names if not re.search(rf"\b{name}\b", texts))


def check_statement(row: Row) -> Iterator[str]:
    known = {statement.id for name in DOCUMENT_NAMES for statement in document(name).statements}
    named = re.findall(r"[a-z]+-\d+", row.subject)
    yield from (f"there is no statement {one}" for one in named if one not in known)
    if not named or len(row.cells) != 3 or not all(row.cells):
        yield "lacks the statement, what it says or what holds"


RULES: dict[str, Callable[[Row], Iterator[str]]] = {
    "Actions: Action": check_part,
    "Actions: Argument": check_argument,
    "Plugins: Plugin": check_part,
    "Plugins: Argument": check_argument,
    "Switches: Switch": check_switch,
    "Extension points: Volcano's point": check_point,
    "File and process: In Volcano": check_process,
    "Annotations and labels: On a pod": check_on_pod,
    "Annotations and labels: On a PodGroup": check_annotation,
    "Annotations and labels: On others": check_annotation,
    "Oddities": check_oddity,
    f"{DOCUMENTS}: Statement": check_statement,
    "Definitions: What": check_definition,
    "Controllers: Oddities": check_controllers,
    "On a real cluster": check_real_cluster,
}


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.name)
def test_every_row_holds(table: Table) -> None:
    rule, words = RULES[table.name], ONLY_WORDS.get(table.name, {})
    checked = [row for row in table.rows if row.subject not in words]
    assert [f"{row.subject}: {problem}" for row in checked for problem in rule(row)] == []


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.name)
def test_every_word_in_backticks_is_known(table: Table) -> None:
    rows = [] if table.section == DOCUMENTS else table.rows
    assert [(row.subject, word) for row in rows for word in row.code if not is_known(word)] == []


def test_every_decision_that_is_named_is_there() -> None:
    numbers = {number for table in tables() for row in table.rows for number in row.decisions}
    assert [number for number in sorted(numbers) if not decision(number)] == []


def test_rows_that_only_words_hold_are_still_there() -> None:
    there = {name: {row.subject for row in rows_of(name)} for name in ONLY_WORDS}
    assert [row for name, rows in ONLY_WORDS.items() for row in rows if row not in there[name]] == []


# Nothing is missing


@pytest.mark.parametrize(
    ("name", "there"), [("Actions: Action", BUILTIN_ACTIONS), ("Plugins: Plugin", BUILTIN_PLUGINS)]
)
def test_every_action_and_plugin_has_one_row(name: str, there: dict[str, type]) -> None:
    assert sorted(row.subject for row in rows_of(name)) == sorted(there)


@pytest.mark.parametrize(
    ("section", "parts"),
    [("Actions", BUILTIN_ACTIONS), ("Plugins", BUILTIN_PLUGINS)],
    ids=["Actions", "Plugins"],
)
def test_every_argument_has_one_row(section: str, parts: dict[str, type]) -> None:
    told = [
        (part, key)
        for row in rows_of(f"{section}: Argument")
        for part in row.cells[1].split(", ")
        if part in PARTS
        for key in row.names
    ]
    there = [(name, row.key) for name in parts for row in describe_arguments(PARTS[name].Arguments)]
    assert sorted(told) == sorted(there)


def test_the_plugins_without_arguments_are_named() -> None:
    plugins = sorted(BUILTIN_PLUGINS.items())
    names = [name for name, plugin in plugins if not describe_arguments(plugin.Arguments)]
    words = f"{', '.join(names[:-1])} and {names[-1]} take no arguments"
    assert words in " ".join(section_of("Plugins").split())


def test_every_switch_has_one_row() -> None:
    told = [key for row in rows_of("Switches: Switch") for key in row.names]
    assert sorted(told) == sorted(switch.key for switch in SWITCHES)


def test_every_extension_point_has_a_row() -> None:
    rows = rows_of("Extension points: Volcano's point")
    told = {name for row in rows for name in row.cells[1].split(", ")}
    assert [point.name for point in POINTS if point.name not in told] == []


def test_every_option_of_serve_has_one_row() -> None:
    rows = rows_of("File and process: In Volcano")
    kept = [row for row in rows if "refused" not in row.remark and row.subject != "`--version`"]
    (own,) = (row for row in rows if row.subject == "-")
    told = [*(name for row in kept for name in row.names if name.startswith("-")), *own.code]
    there = {option.opts[0] for option in serve.params} - {"--v"}
    assert sorted(told) == sorted(there)


def test_every_annotation_of_the_program_is_told() -> None:
    text = section_of("Annotations and labels")
    forms = (r"(?:[a-z.]+\.)?volcano\.sh/[\w.-]+", r"hekla\.dev/[\w.-]+", r"nvidia\.com/(?:no)?use-\w+")
    used = {name for form in forms for name in literals(form)} - RESOURCES - NOT_OF_USERS
    versions = {name for name in used if re.search("/v[0-9]", name)}
    assert [name for name in sorted(used - versions) if f"`{name}`" not in text] == []


def test_every_oddity_has_one_row() -> None:
    told = [name for row in rows_of("Oddities") for name in row.subject.split(", ")]
    assert told == [f"W-{number}" for number in range(1, 51)]


def test_every_oddity_of_controllers_has_one_row() -> None:
    heads = [row.subject.partition(":")[0] for row in rows_of("Controllers: Oddities")]
    assert sorted(number for head in heads for number in numbers_in(head)) == list(range(1, 47))


def test_every_definition_is_named() -> None:
    text = " ".join(section_of("Definitions").split())
    (told,) = re.findall(r"definitions of its own for ([^:]+):", text)
    assert sorted(re.split(r", | and ", told)) == sorted(definitions())


# What the page says besides


def test_annotations_of_a_job_reach_its_pod_group() -> None:
    job = sample_job()
    assert job.metadata.annotations.items() <= pod_group_of(job, {}).metadata.annotations.items()


def test_the_file_is_reloaded_and_a_bad_one_leaves_the_last_good_one(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.conf"
    file.write_text('actions: "allocate"\n')
    conf = ConfFile(file, BUILTIN)
    file.write_text('actions: "allocate, backfill"\n')
    assert conf.refresh()
    file.write_text('actions: "allocate, polish"\n')
    assert not conf.refresh()
    assert tuple(conf.conf.actions) == ("allocate", "backfill")


def test_three_extension_points_have_no_switch() -> None:
    (row,) = (row for row in rows_of("Oddities") if row.subject == "W-49")
    assert row.cells[1:] == ("three extension points ignore their switches", "same")
    assert len([point for point in POINTS if not point.switches]) == 3


BOTH_CARDS = "{deviceshare.GPUSharingEnable: true, deviceshare.VGPUEnable: true}"
MISTAKES = {
    "- plugins: [{name: gang}, {name: gang}]": "warning",
    "- plugins: [{name: gong}]": "warning",
    "- plugins: [{name: gang, enableJobRedy: true}]": "warning",
    "- plugins: [{name: binpack, arguments: {binpack.weight: '10'}}]": "warning",
    f"- plugins: [{{name: deviceshare, arguments: {BOTH_CARDS}}}]": "error",
    "- plugins: [{name: drf, enableHierarchy: true}]\n- plugins: [{name: proportion}]": "error",
}


@pytest.mark.parametrize("tiers", MISTAKES)
def test_what_the_page_calls_a_mistake_is_told(tiers: str) -> None:
    _, mistakes = read_conf(f"actions: allocate\ntiers:\n{tiers}\n", catalogue=BUILTIN.catalogue())
    assert MISTAKES[tiers] in [mistake.severity for mistake in mistakes]


def test_an_unknown_action_is_an_error_and_no_file_is_no_mistake() -> None:
    mistakes = read_conf("actions: polish", catalogue=BUILTIN.catalogue())[1]
    assert "error" in [mistake.severity for mistake in mistakes]
    assert read_conf("", catalogue=BUILTIN.catalogue())[1] == []
