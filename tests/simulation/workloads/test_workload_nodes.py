"""Nodes in a few words, or out of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekla.errors import InputError
from hekla.objects import Node
from hekla.simulation.workloads import nodes_of
from hekla.simulation.workloads.nodes import in_words


def names(nodes: list[Node]) -> list[str]:
    return [node.metadata.name for node in nodes]


def test_a_group_is_a_number_and_what_each_offers() -> None:
    nodes = nodes_of("3 x cpu=32, memory=128Gi,\n  nvidia.com/gpu=8")
    assert names(nodes) == ["node-0001", "node-0002", "node-0003"]
    assert nodes[2].status.allocatable == {"cpu": "32", "memory": "128Gi", "nvidia.com/gpu": "8", "pods": 110}
    assert nodes[0].status is nodes[1].status, "what is alike is one object"
    assert nodes[1].metadata.labels == {"kubernetes.io/hostname": "node-0002"}


@pytest.mark.parametrize("between", [" ", "; ", " + ", "\n", ";\n\t"])
def test_groups_stand_side_by_side(between: str) -> None:
    text = f"2 x cpu=4{between}1 x name=big,cpu=64,pods=250,gpu=8{between}1x cpu=8"
    nodes = nodes_of(text)
    assert names(nodes) == ["node-0001", "node-0002", "big-0001", "node2-0001"]
    assert nodes[2].status.allocatable == {"pods": "250", "cpu": "64", "nvidia.com/gpu": "8"}


def test_labels_and_taints() -> None:
    (node,) = nodes_of("cpu=4,label.zone=a,label.topology.kubernetes.io/rack=r1,taint=spot=true:NoSchedule")
    assert node.metadata.labels["zone"] == "a"
    assert node.metadata.labels["topology.kubernetes.io/rack"] == "r1"
    assert [(taint.key, taint.value, taint.effect) for taint in node.spec.taints] == [
        ("spot", "true", "NoSchedule")
    ]


def test_many_nodes_have_names_of_one_length() -> None:
    nodes = nodes_of("12345 x cpu=1")
    assert (nodes[0].metadata.name, nodes[-1].metadata.name) == ("node-00001", "node-12345")


MISTAKES = {
    "": 'nodes "": no such file; describe nodes like "10 x cpu=32,memory=128Gi,nvidia.com/gpu=8"',
    "cluster.yaml": 'nodes "cluster.yaml": no such file; describe nodes like '
    '"10 x cpu=32,memory=128Gi,nvidia.com/gpu=8"',
    "3 x cpu=many": 'nodes: cpu: "many" is not a quantity; write it like "500m", "2" or "4Gi"',
    "3 x cpu=-1": 'nodes: cpu: "-1" is negative; amounts start at 0',
    "3 x cpu=1,cpu=2": 'nodes: "cpu" is given twice',
    "0 x cpu=1": 'nodes: expected 1 to 1000000 nodes, got "0"',
    "3 x name=a": 'nodes: "name=a" offers nothing; write it like "10 x cpu=32,memory=128Gi,nvidia.com/gpu=8"',
    "3 x cpu=1,memory": 'nodes: "memory" says nothing; write it like '
    '"10 x cpu=32,memory=128Gi,nvidia.com/gpu=8"',
    "1 x name=a,cpu=1; 1 x name=a,cpu=1": 'nodes: two are called "a-0001"; '
    "give groups a name=PREFIX of their own",
    "1 x cpu=1,taint=a:Never": '"a:Never" is no taint; write it like "dedicated=ml:NoSchedule"',
}


@pytest.mark.parametrize("text", MISTAKES)
def test_what_describes_no_nodes_is_told(text: str) -> None:
    with pytest.raises(InputError) as caught:
        nodes_of(text)
    assert str(caught.value) == MISTAKES[text]


def test_nodes_out_of_manifests(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 2}}\n"
        "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\n"
    )
    assert names(nodes_of(file, "2 x cpu=1")) == ["n1", "node-0001", "node-0002"]
    file.write_text("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\n")
    with pytest.raises(InputError, match="no nodes in it"):
        nodes_of(str(file))


def test_machines_of_traces(tmp_path: Path) -> None:
    openb, pai, philly = (tmp_path / name for name in ("nodes.csv", "machines.csv", "list.csv"))
    openb.write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,32000,262144,0,\nb,96000,1024,2,T4\n"
    )
    pai.write_text("m1,V100,96,512,8\nm2,CPU,64.5,0.5,0\n")
    philly.write_text("machineId, number of GPUs, single GPU mem\nm31,8, 24GB\n")
    a, b = nodes_of(openb)
    assert (a.metadata.name, a.status.allocatable) == (
        "openb-node-0000",
        {"pods": 110, "cpu": "32000m", "memory": "262144Mi"},
    )
    assert (b.status.allocatable["nvidia.com/gpu"], b.metadata.labels["nvidia.com/gpu.product"]) == (2, "T4")
    assert nodes_of(openb, gpu_shares=True)[1].status.allocatable["alibabacloud.com/gpu-milli"] == 2000
    m1, m2 = nodes_of(pai)
    assert m1.status.allocatable == {
        "pods": 110,
        "cpu": "96000m",
        "memory": "524288Mi",
        "nvidia.com/gpu": 8,
    }
    assert m2.status.allocatable == {"pods": 110, "cpu": "64500m", "memory": "512Mi"}
    (m31,) = nodes_of(philly)
    assert (m31.status.allocatable, m31.metadata.labels["nvidia.com/gpu.memory"]) == (
        {"pods": 110, "nvidia.com/gpu": 8},
        "24GB",
    )


def test_a_broken_list_of_machines_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text("sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\nb,many,1,0,\n")
    with pytest.raises(InputError, match=r'nodes\.csv:3: not a number: cpu_milli: "many"'):
        nodes_of(file)
    file.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"nodes\.csv:1: no list of machines that is known"):
        nodes_of(file)


def test_nodes_go_into_words_and_back() -> None:
    nodes = nodes_of("2 x cpu=4,label.zone=a", "1 x name=big,cpu=8,gpu=2,taint=a=b:NoSchedule")
    texts, rest = in_words(nodes)
    assert texts == [
        "2 x name=node,cpu=4,label.zone=a",
        "1 x name=big,cpu=8,nvidia.com/gpu=2,taint=a=b:NoSchedule",
    ]
    assert rest == []
    assert nodes_of(*texts) == nodes
    odd = nodes_of("3 x cpu=4")[1:]
    assert in_words(odd) == ([], odd), "names that do not count from 1 cannot be said in a few words"
