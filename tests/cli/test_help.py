"""The help: commands in groups, examples that work, near misses, and what shells complete."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem
from msgspec.structs import replace

from cli.calling import called as hekla
from fakes.http_api import ApiThread
from hekla.cli.examples import EXAMPLES
from hekla.cli.main import COMMANDS, GROUPS, SUMMARIES, cli
from hekla.objects import ObjectMeta, VolcanoJob
from hekla.objects.batch import JobSpec, JobState, JobStatus, PodTemplate, TaskSpec
from hekla.objects.pod import Container, PodSpec
from hekla.testing.builders import job, node, queue

ENDLESS = ("hekla serve", "hekla shadow")
"""Only whether they take their options is tried."""
LIVE = ("job", "queue", "node", "snapshot")
CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: research}, spec: {weight: 1}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train}
spec: {minMember: 1, queue: research}
status: {phase: Inqueue}
---
apiVersion: v1
kind: Pod
metadata: {name: train-0, annotations: {scheduling.k8s.io/group-name: train}}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: 99}}}]}
"""
JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: mine}
spec:
  schedulerName: volcano
  minAvailable: 1
  tasks:
  - name: worker
    replicas: 1
    template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}
"""
CONF = (
    'actions: "enqueue, allocate"\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: binpack}]\n'
)
WEEK = (
    "nodes: 2 x cpu=4\nqueues: [{name: research}]\n"
    "jobs:\n- {name: j, cpu: 2, duration: 10m, count: 6, every: 1m}\n"
)
SWF = "".join(f"{number} {number * 10} 0 60 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n" for number in range(1, 9))


def commands(group: click.Group = cli, path: str = "hekla") -> Iterator[str]:
    """The names of all commands and groups."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the files that examples speak of."""
    files = {
        "cluster.yaml": CLUSTER, "job.yaml": JOB, "mine.conf": CONF, "week.yaml": WEEK, "trace.swf": SWF,
        "log.csv": "At,Seconds\n0,60\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def server() -> Iterator[ApiThread]:
    objects = [
        VolcanoJob(
            metadata=ObjectMeta(name="train", namespace=namespace, uid=namespace),
            spec=JobSpec(queue="research", min_available=1, tasks=(TaskSpec(name="worker", replicas=1),)),
        )
        for namespace in ("default", "research")
    ]
    groups = [
        replace(group, metadata=replace(group.metadata, namespace=one.metadata.namespace))
        for group in [job("train", tasks=1, cpu=1, queue="research").pod_group]
        for one in objects
    ]
    queues = queue("default"), queue("research")
    template = PodTemplate(spec=PodSpec(containers=(Container(name="main"),)))
    ended = VolcanoJob(
        metadata=ObjectMeta(name="old", namespace="default", uid="old"),
        spec=JobSpec(min_available=1, tasks=(TaskSpec(name="worker", replicas=1, template=template),)),
        status=JobStatus(state=JobState(phase="Completed"), running_duration="1m"),
    )
    with ApiThread(node("node-1", cpu=4), queue("root"), *queues, *objects, *groups, ended) as running:
        yield running


def test_every_command_stands_in_one_group_with_a_sentence() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS) == sorted(SUMMARIES)


def test_the_help_shows_groups_in_order_and_examples_last() -> None:
    told = hekla("--help").stdout
    places = [told.index(f"\n{title}:\n") for title in (*GROUPS, "Examples")]
    assert places == sorted(places)
    assert "\n  hekla demo\n" in told
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize("path", list(commands()))
def test_the_help_of_every_command_ends_with_examples_of_it(path: str) -> None:
    told = hekla(*path.split()[1:], "--help").stdout
    lines = told.partition("\nExamples:\n")[2].splitlines()
    assert lines
    assert lines == [f"  {line}" for line in EXAMPLES[path]]
    assert all(line.startswith(f"  {path}") for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("group", ["job", "queue", "node", "conf", "workload"])
def test_the_help_of_a_group_has_whole_sentences(group: str) -> None:
    told = hekla(group, "--help").stdout
    assert "..." not in told.partition("\nCommands:\n")[2]


@pytest.mark.parametrize(
    "line",
    sorted({line for path, lines in EXAMPLES.items() if path not in ENDLESS for line in lines}),
)
def test_every_example_works(line: str, folder: Path, server: ApiThread) -> None:
    if "day.hekla" in line and "--record" not in line:
        hekla("run", "cluster.yaml", "--record", "day.hekla", folder=folder)
    words = shlex.split(line.partition(" > ")[0])
    if (words[1] in LIVE and "cluster.yaml" not in words) or "--from-cluster" in words:
        words += ["--kubeconfig", str(server.kubeconfig(folder))]
    told = hekla(*words[1:], folder=folder)
    assert told.returncode in (0, 4), told.stderr
    assert told.stdout or told.stderr


@pytest.mark.parametrize("path", ENDLESS)
def test_examples_of_what_does_not_end_are_understood(path: str) -> None:
    command = cli.get_command(click.Context(cli), path.split()[1])
    assert command is not None
    for line in EXAMPLES[path]:
        assert command.make_context(path, shlex.split(line)[2:]).params


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("simulat", "No such command 'simulat'. Did you mean 'simulate'?"),
        ("jobs list", "No such command 'jobs'. Did you mean 'job'?"),
        ("job lst", "No such command 'lst'. Did you mean 'list'?"),
        ("conf chekc", "No such command 'chekc'. Did you mean 'check'?"),
        ("simulate --perid 3", "Did you mean one of: '--period', '"),
        ("help", "No such command 'help'. Did you mean '--help'?"),
        ("version", "No such command 'version'. Did you mean '--version'?"),
        ("abracadabra", "No such command 'abracadabra'."),
    ],
)
def test_a_near_miss_is_told_what_was_meant(words: str, said: str) -> None:
    told = hekla(*words.split())
    assert told.returncode == 2
    assert said in told.stderr


# What shells complete

BEGINNINGS = {"bash": "_hekla_completion()", "zsh": "#compdef hekla", "fish": "function _hekla_completion"}


def asked_by_shell(**environment: str) -> str:
    """What the command answers a shell."""
    code = "from hekla.cli.main import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize("shell", BEGINNINGS)
def test_every_shell_gets_a_script(shell: str) -> None:
    assert asked_by_shell(_HEKLA_COMPLETE=f"{shell}_source").lstrip().startswith(BEGINNINGS[shell])


@pytest.mark.parametrize(
    ("typed", "at", "items"),
    [
        ("hekla s", 1, ["serve", "shadow", "simulate", "snapshot"]),
        ("hekla job ", 2, ["get", "list"]),
        ("hekla conf show --pre", 3, ["--preset"]),
        ("hekla decide --preset fa", 3, ["fair-sharing"]),
    ],
)
def test_commands_options_and_values_are_completed(typed: str, at: int, items: list[str]) -> None:
    told = asked_by_shell(COMP_WORDS=typed, COMP_CWORD=str(at), _HEKLA_COMPLETE="bash_complete")
    assert [line.partition(",")[2] for line in told.splitlines()] == items


def test_files_are_completed_where_files_are_asked_for() -> None:
    told = asked_by_shell(COMP_WORDS="hekla decide ", COMP_CWORD="2", _HEKLA_COMPLETE="bash_complete")
    assert told.startswith("file,")


def test_to_complete_a_command_none_is_imported() -> None:
    context = click.Context(cli)
    before = set(sys.modules)
    items = cli.shell_complete(context, "s")
    assert [(item.value, item.help) for item in items] == [
        (name, SUMMARIES[name]) for name in ("serve", "shadow", "simulate", "snapshot")
    ]
    assert all(isinstance(item, CompletionItem) for item in items)
    assert {name for name in set(sys.modules) - before if name.startswith("hekla.")} == set()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    (tmp_path / "hekla").write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "from hekla.cli.main import main; main()" "$@"\n'
    )
    (tmp_path / "hekla").chmod(0o755)
    lines = [
        'eval "$(_HEKLA_COMPLETE=bash_source hekla)"',
        "COMP_WORDS=(hekla queue l) COMP_CWORD=2",
        "_hekla_completion hekla",
        'echo "${COMPREPLY[@]}"',
    ]
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    found = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout.split() == ["list"]


def test_the_page_tells_the_line_for_every_shell() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "complete-in-your-shell.md").read_text("utf-8")
    assert re.findall(r"_HEKLA_COMPLETE=(\w+)_source hekla\)?", page)[:3] == list(BEGINNINGS)
