"""One of a thing is one thing: "in 1 cycle", not "in 1 cycles"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.calling import called as hekla
from hekla.engine.actions.placing import partial_fit
from hekla.text import counted

NOUNS = (
    "bars|blocks|cycles|errors|evictions|files|forecasts|gangs|groups|intervals|jobs|lines|moments|nodes|objects"
    "|pods|queues|rows|runs|samples|seeds|tasks|times|tries|users|warnings"
)
WRONG = re.compile(rf"(?<![\d/.,-])1 (?:pod |scheduling )?(?:{NOUNS})\b")
"""Not of fractions: `0/1 nodes fit` is what everybody knows from Kubernetes."""
CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: 1, pods: 10}}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  schedulerName: volcano
  minAvailable: 1
  tasks:
  - name: worker
    replicas: 1
    template: {spec: {containers: [{name: main, resources: {requests: {cpu: CPU}}}]}}
"""
WORK = "nodes: 1 x cpu=1\njobs: [{name: a, cpu: CPU, duration: 10s}]\n"
ONE_EACH = [
    "decide cluster.yaml",
    "decide cluster.yaml --cycles 2",
    "explain cluster.yaml --cycles 2",
    "run cluster.yaml",
    "run cluster.yaml --max-cycles 1",
    "forecast cluster.yaml --samples 1",
    "plan job.yaml --state node.yaml",
    "plan job.yaml --state node.yaml --tries 1",
    "simulate work.yaml --report page.html",
    "compare work.yaml --preset default --preset helm --processes 1",
    "workload show work.yaml",
    "workload convert work.yaml -O jobs.yaml",
    "conf check broken.conf",
]


@pytest.mark.parametrize("cpu", ["1", "9"], ids=["fits", "does not fit"])
@pytest.mark.parametrize("command", ONE_EACH)
def test_one_of_a_thing_is_told_as_one(command: str, cpu: str, tmp_path: Path) -> None:
    node, _, job = CLUSTER.replace("CPU", cpu).partition("---")
    files = {"cluster.yaml": f"{node}---{job}", "node.yaml": node, "job.yaml": job}
    files |= {"work.yaml": WORK.replace("CPU", cpu), "broken.conf": 'actions: "allocat"\ntiers: []\n'}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    told = hekla(*command.split(), folder=tmp_path)
    page = tmp_path / "page.html"
    captions = re.sub("<script.*?</script>|<[^>]*>", " ", page.read_text("utf-8")) if page.exists() else ""
    assert WRONG.findall(f"{told.stdout}\n{told.stderr}\n{captions}") == []
    assert told.stdout or told.stderr


def test_the_search_for_wrong_plurals_finds_them() -> None:
    assert WRONG.findall("in 1 cycles, 11 cycles, 0/1 nodes, 1 pod runs, 1,001 jobs, v0.1 jobs") == [
        "1 cycles",
        "1 pod runs",
    ]


def test_counts_have_the_plural_of_their_word() -> None:
    assert [counted(number, "try", "tries") for number in (0, 1, 2)] == ["0 tries", "1 try", "2 tries"]
    assert [counted(number, "pod") for number in (0, 1, 1000)] == ["0 pods", "1 pod", "1,000 pods"]
    assert partial_fit(1, 2, "s0") == 'domain "s0" has room for 1 of the 2 tasks that start together'
