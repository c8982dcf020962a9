"""Nothing that others have written gets at the terminal: every command, with names that try to."""

from __future__ import annotations

import csv
import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cli.calling import Told, called
from fakes.http_api import ApiThread
from hekla.cli.main import COMMANDS
from hekla.cluster.conditions import not_scheduled
from hekla.objects import Condition, Manifest
from hekla.server.options import JsonLines, Lines
from hekla.simulation.measures.files import save_table
from hekla.simulation.report.page import json_for_html
from hekla.testing import conf_of
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import BEGINNING
from hekla.text import escaped, escaped_json, escaped_lines
from insight.replay.recorded import Recorder

EVIL = "\x1b]0;owned\x07\r\x9b31m\u202e\u200b\u2066\x7f\x85x"
CONF = 'actions: "enqueue, allocate"\ntiers:\n- plugins: [{name: gang}, {name: predicates}]\n'
JOBS = """
nodes: 2 x cpu=4,memory=8Gi
jobs:
- {name: j1, user: "uQ", cpu: 1, duration: 10s, pods: 2, labels: {"lQ": "vQ"}}
- {name: j2, cpu: 99, duration: 10s, annotations: {"aQ": "bQ"}}
""".replace("Q", json.dumps(EVIL)[1:-1])


def assert_harmless(told: Told) -> None:
    for text in (told.stdout, told.stderr):
        raw = {char for char in text if not char.isprintable()} - {"\n"}
        assert not raw, (raw, text)


def evil_objects() -> list[Manifest]:
    """Names, labels, taints, resources and messages that are unchecked."""
    said = Condition(type=f"T{EVIL}", status="True", reason=f"R{EVIL}", message=f"M{EVIL}\nerror: forged")
    waiting = job(f"wait{EVIL}", tasks=2, cpu=99, queue=f"q{EVIL}", resources={f"example.com/r{EVIL}": 1})
    group = replace(waiting.pod_group, status=replace(waiting.pod_group.status, conditions=(said,)))
    pods = [not_scheduled(pod, f"R{EVIL}", f"M{EVIL}", BEGINNING) for pod in waiting.pods]
    return [
        node(f"n{EVIL}", cpu=4, taints=[f"k{EVIL}=v{EVIL}:NoSchedule"], labels={f"l{EVIL}": f"v{EVIL}"}),
        node("n2", cpu=4),
        queue("default"),
        queue("root"),
        queue(f"q{EVIL}", capability={f"example.com/r{EVIL}": 8}),
        *job(f"run{EVIL}", running={f"n{EVIL}": 1}, cpu=1).objects,
        *job(f"small{EVIL}", tasks=1, cpu=1, annotations={f"a{EVIL}": EVIL}).objects,
        *job("lost", tasks=1, cpu=1, queue=f"nowhere{EVIL}").objects,
        group,
        *pods,
    ]


@pytest.fixture(scope="module")
def server() -> Iterator[ApiThread]:
    with ApiThread(*evil_objects()) as running:
        yield running


LIVE = [
    "decide --from-cluster",
    "decide --from-cluster -o json",
    "decide --from-cluster -o yaml",
    "explain --from-cluster",
    "explain --from-cluster -o yaml",
    "job list -A",
    "job list -A -o json",
    "job get lost -n default",
    f"job get wait{EVIL.replace(chr(0x85), '')} -n default",
    "queue list",
    "queue get root",
    "queue get nothing",
    "node list",
    "node list -o yaml",
    "node get n2",
    "snapshot",
    "snapshot --scramble 7",
    "plan --from-cluster JOB",
    "forecast --from-cluster --seed 1",
]


@pytest.mark.parametrize("command", LIVE)
def test_commands_on_a_live_cluster(server: ApiThread, tmp_path: Path, command: str) -> None:
    plan = tmp_path / "job.yaml"
    plan.write_text(JOBS)
    words = [str(plan) if word == "JOB" else word for word in command.split(" ")]
    told = called(*words, "--kubeconfig", server.kubeconfig(tmp_path))
    assert told.stdout or told.stderr
    assert_harmless(told)


def manifests(folder: Path) -> Path:
    """What a file may say that a reader takes."""
    text = json.dumps(EVIL)[1:-1]
    pod = f"""{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "p%d", "namespace": "default",
      "labels": {{"l{text}": "v{text}"}},
      "annotations": {{"a{text}": "v{text}", "volcano.sh/task-spec": "r{text}",
      "scheduling.k8s.io/group-name": "g%d"}}}},
      "spec": {{"schedulerName": "volcano", "nodeSelector": {{"l{text}": "v{text}"}},
      "priorityClassName": "%s",
      "containers": [{{"name": "c", "image": "i{text}",
      "resources": {{"requests": {{"cpu": "1", "example.com/r{text}": "1"}}}}}}]}},
      "status": {{"phase": "Pending", "conditions": [{{"type": "x{text}", "message": "m{text}"}}]}}}}"""
    group = f"""{{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
      "metadata": {{"name": "g%d", "namespace": "default"}}, "spec": {{"minMember": 1, "queue": "%s",
      "networkTopology": {{"mode": "hard", "highestTierName": "t{text}"}}}}, "status": {{"phase": "%s"}}}}"""
    odd = f"""{{"apiVersion": "v1{text}", "kind": "K{text}", "metadata": {{"name": "n{text}"}}}}"""
    bad = f"""{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "n{text}"}},
      "status": {{"allocatable": {{"example.com/{text}": "a{text}"}}}}}}"""
    nodes = f"""{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "n1"}},
      "spec": {{"taints": [{{"key": "k{text}", "value": "v{text}", "effect": "NoSchedule"}}]}},
      "status": {{"allocatable": {{"cpu": "8", "memory": "8Gi", "pods": "10"}}}}}}"""
    queues = (
        '{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "default"}}'
    )
    file = folder / f"objects{EVIL.replace('/', '')}.json"
    groups = [
        group % (1, "default", "Inqueue"),
        group % (2, f"q{text}", "Inqueue"),
        group % (3, "default", f"P{text}"),
    ]
    pods = [pod % (at, at, "" if at < 3 else text) for at in (1, 2, 3)]
    file.write_text("[" + ",\n".join([nodes, queues, *groups, *pods, odd, bad]) + "]")
    return file


FILES = [
    "decide FILE",
    "decide FILE -o json",
    "decide FILE -o yaml",
    "decide FILE --conf CONF",
    "decide SCENARIO",
    "decide SCENARIO SCENARIO",
    "explain FILE",
    "explain FILE --job nothingEVIL",
    "run FILE --until 20",
    "run FILE --until 20 -o json",
    "run FILE --record RECORD --until 3",
    "simulate WORK",
    "simulate WORK -o json",
    "simulate FILE --until 20 --lenient",
    "simulate FILE --until 20",
    "simulate WORK --report REPORT",
    "compare WORK --conf CONF --preset default --seeds 2",
    "capacity WORK --nodes 2..3xcpu=4 --goal wait.mean<1h --processes 1",
    "capacity WORK --nodes 2..3xcpu=4 --goal EVIL:wait.mean<1h --processes 1",
    "forecast FILE",
    "history FILE",
    "plan FILE --state FILE",
    "workload show WORK",
    "workload convert WORK",
    "workload show FILE",
    "conf check CONF",
    "conf show CONF",
    "plugins nothingEVIL",
    "actions nothingEVIL",
    "replay FILE",
    "replay OLD",
    "replay OLD --at 1",
    "replay OLD --at 1 -o json",
    "replay OLD --at 1 --preset basic",
    "replay OLD --at 1 --save CASE",
    "replay OLD --at 9",
    "demo --EVIL",
    "install --EVIL",
    "serve --EVIL",
    "shadow EVIL",
    "snapshot --conf EVIL",
    "queue EVIL",
    "job list EVIL",
    "job list FILE -A",
    "queue list FILE -o wide",
    "node list FILE -o wide",
    "job get g1 FILE",
    "node get --EVIL",
    "nothingEVIL",
]


@pytest.mark.parametrize("command", FILES)
def test_commands_on_files(tmp_path: Path, command: str) -> None:
    file, conf, work, old = (
        manifests(tmp_path),
        tmp_path / f"c{EVIL}.conf",
        tmp_path / f"w{EVIL}.yaml",
        tmp_path / "old",
    )
    conf.write_text(CONF.replace("{name: gang}", f"{{name: gang}}, {{name: {json.dumps(EVIL)}}}"))
    work.write_text(JOBS)
    scenario = tmp_path / f"s{EVIL}.json"
    scenario.write_text(
        json.dumps({"name": EVIL, "conf": CONF, "objects": [*json.loads(file.read_text()), 5]})
    )
    with Recorder(old, evil_objects(), conf_of("enqueue, allocate", ("gang", "predicates"))) as recorder:
        recorder.cycles(2)
    places = {
        "FILE": file, "CONF": conf, "WORK": work, "SCENARIO": scenario, "OLD": old,
        "RECORD": tmp_path / f"r{EVIL}", "REPORT": tmp_path / f"r{EVIL}.html",
        "CASE": tmp_path / f"c{EVIL}.json",
    }  # fmt: skip
    words = [str(places.get(word, word.replace("EVIL", EVIL))) for word in command.split(" ")]
    told = called(*words)
    assert told.stdout or told.stderr
    assert_harmless(told)


def test_no_command_is_left_out() -> None:
    tried = {command.split(" ")[0] for command in (*LIVE, *FILES)}
    assert COMMANDS.keys() <= tried


def test_commands_print_in_one_place() -> None:
    """Whatever is printed otherwise is printed as it is."""
    folder = Path(sys.modules["hekla.cli.main"].__file__ or "").parent
    printing = re.compile(r"click\.s?echo\(|\bprint\(|sys\.std(?:out|err)\.write")
    files = [file for file in folder.glob("*.py") if file.name != "output.py"]
    lines = [
        line.strip() for file in files for line in file.read_text().splitlines() if printing.search(line)
    ]
    # A line that is written over again and again needs codes of its own.
    assert [line for line in lines if "\\r\\x1b[K" not in line and "\\r{counted(" not in line] == []


# The places themselves


@given(st.text())
def test_all_of_a_safe_text_can_be_seen(text: str) -> None:
    assert escaped(text).isprintable()
    assert escaped_lines(text).replace("\n", "").isprintable()
    assert escaped(escaped(text)) == escaped(text)


@given(
    st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
)
def test_safe_json_means_what_it_meant(data: object) -> None:
    for is_ascii in (False, True):
        text = escaped_json(json.dumps(data, ensure_ascii=is_ascii))
        assert text.isprintable()
        assert json.loads(text) == data


def test_what_can_be_seen_stays() -> None:
    assert escaped("größe … ● 日本 \\n") == "größe … ● 日本 \\n"
    assert escaped("a\x1b[31m\n\u202e\U000e0001\ud800") == "a\\x1b[31m\\n\\u202e\\U000e0001\\ud800"


@pytest.mark.parametrize("form", [Lines(), JsonLines()], ids=["lines", "json"])
def test_logs_cannot_be_forged(form: logging.Formatter) -> None:
    try:
        raise ValueError(f"oops{EVIL}\n12:00:00.000 error   loop     forged")
    except ValueError:
        trouble = sys.exc_info()
    record = logging.LogRecord(
        "hekla.cluster.kubernetes.api", logging.ERROR, "f", 1, "pod %s\nforged", (EVIL,), trouble
    )  # type: ignore[arg-type]
    first, *others = form.format(record).split("\n")
    assert all(line.isprintable() for line in (first, *others))
    assert all(line.startswith("    ") for line in others)
    assert not others or isinstance(form, Lines)


def test_names_are_no_formulas_in_tables(tmp_path: Path) -> None:
    names = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "plain", "a=b"]
    columns = {"=head": names, "number": [-1.5, 2, -3, 4, 5, 6, 7, 8]}
    save_table(columns, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["'=head", "number"]
    assert [row[0] for row in rows] == ["'=1+1", "'+1", "'-1", "'@x", "\\tx", "\\rx", "plain", "a=b"]
    assert [float(row[1]) for row in rows] == [-1.5, 2, -3, 4, 5, 6, 7, 8]


def test_no_text_breaks_out_of_a_script() -> None:
    text = json_for_html(["</script><script>", "<!--", "&amp;", "\u2028", EVIL])
    assert text.isascii()
    assert not set("<>&") & set(text)
