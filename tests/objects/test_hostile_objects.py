"""An object that cannot be understood costs one complaint that names it; all others are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given

from fakes.whole_manifests import Data, spoiled, spoiled_objects, whole
from hekla.cluster.kubernetes.api.wire import Unfit, Wire
from hekla.conf import read_conf, require
from hekla.engine.state.live import LiveState
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import KINDS, Manifest, Pod, PodGroup
from hekla.objects.read import read_text
from hekla.objects.scenario import read_scenario
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.scheduler.outcome import outcome_of
from hekla.testing import node, queue

NOW = 1_800_000_000.0
EVERYTHING = require(
    read_conf(
        'actions: "enqueue, allocate, backfill, preempt, reclaim, shuffle"\ntiers:\n- plugins:\n'
        + "".join(f"  - name: {name}\n" for name in BUILTIN.plugins if name != "extender"),
        "test",
        BUILTIN.catalogue(),
    ),
    False,
)
NODE: Data = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
}
QUEUES: list[Data] = [
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
    for name in ("default", "root")
]
GROUP: Data = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {"minMember": 1, "queue": "default"},
    "status": {"phase": "Inqueue"},
}
POD: Data = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default", "annotations": {"scheduling.k8s.io/group-name": "g"}},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    "status": {"phase": "Pending"},
}
OTHERS = [NODE, *QUEUES, GROUP, POD]


def kind_of(data: Data) -> type[Manifest]:
    return KINDS[data["apiVersion"].rpartition("/")[0], data["kind"]]


def check(objects: list[Manifest], complaints: list[Any]) -> None:
    """All others are there; the spoiled one is, too, or is told of once."""
    names = [found.metadata.name for found in objects]
    assert [name for name in names if name != "bad"] == ["n1", "default", "root", "g", "p"]
    told = [str(complaint) for complaint in complaints if "left out" in str(complaint)]
    assert len(told) == ("bad" not in names), told
    assert all("bad" in text for text in told)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_whole_objects_are_sound(kind: type[Manifest]) -> None:
    reading = read_text(json.dumps(whole(kind, "good")), "good.json")
    assert (len(reading.objects), reading.complaints) == (1, [])


@given(spoiled_objects("bad"))
def test_in_a_file(bad: Data) -> None:
    objects = [*OTHERS[:2], bad, *OTHERS[2:]]
    for text in (
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
        "\n".join(map(json.dumps, objects)),
        yaml.safe_dump_all(objects),
    ):
        reading = read_text(text, "objects")
        check(reading.objects, reading.complaints)


@given(spoiled_objects("bad"))
def test_in_a_list_and_in_a_watch_of_the_api_server(bad: Data) -> None:
    kind = kind_of(bad)
    wire = Wire(kind)
    before, after = whole(kind, "a"), whole(kind, "b")
    page = wire.page(
        json.dumps({"metadata": {"resourceVersion": "9"}, "items": [before, bad, after]}).encode()
    )
    event = wire.event(json.dumps({"type": "MODIFIED", "object": bad}).encode())
    assert [item.metadata.name for item in page.items] == ["a", "bad", "b"]
    assert [isinstance(item, Unfit) for item in (page.items[0], page.items[2])] == [False, False]
    assert isinstance(event.object, Unfit) == isinstance(page.items[1], Unfit)
    if isinstance(event.object, Unfit):
        assert "bad: left out: " in str(event.object.complaint)


@given(spoiled_objects("bad"))
def test_in_a_cycle(bad: Data) -> None:
    """What is sound by itself may still be nonsense: no plugin fails over it."""
    text = "\n".join(map(json.dumps, [bad, *OTHERS]))
    snapshot = take_snapshot(read_text(text, "objects").objects)
    run_cycle(snapshot, EVERYTHING, registry=BUILTIN, now=NOW)


@pytest.mark.parametrize("depth", [200, 5000])
def test_deep_nesting_is_no_matter_where_no_field_is_read(depth: int) -> None:
    deep = json.dumps(POD | {"metadata": {"name": "bad", "namespace": "default"}}).replace(
        '"spec": {', '"spec": {"someday": ' + "[" * depth + "]" * depth + ", "
    )
    text = (
        '{"apiVersion": "v1", "kind": "List", "items": [' + ",".join([*map(json.dumps, OTHERS), deep]) + "]}"
    )
    reading = read_text(text, "objects")
    assert (len(reading.objects), reading.complaints) == (6, [])
    page = Wire(Pod).page(f'{{"metadata": {{}}, "items": [{deep}, {json.dumps(POD)}]}}'.encode())
    assert [item.key for item in page.items] == ["default/bad", "default/p"]
    assert not any(isinstance(item, Unfit) for item in page.items)
    event = Wire(Pod).event(f'{{"type": "ADDED", "object": {deep}}}'.encode())
    assert isinstance(event.object, Pod)


@pytest.mark.parametrize("depth", [200, 5000])
def test_deep_nesting_in_a_field_is_told(depth: int) -> None:
    deep = json.dumps(GROUP | {"metadata": {"name": "bad", "namespace": "default"}}).replace(
        '"minMember": 1', '"minMember": ' + "[" * depth + "]" * depth
    )
    reading = read_text("[" + ",".join([*map(json.dumps, OTHERS), deep]) + "]", "objects")
    check(reading.objects, reading.complaints)
    unfit, fit = (
        Wire(PodGroup).page(f'{{"metadata": {{}}, "items": [{deep}, {json.dumps(GROUP)}]}}'.encode()).items
    )
    assert isinstance(unfit, Unfit)
    assert str(unfit.complaint).startswith(
        "podgroup default/bad: left out: spec.minMember: expected a whole number"
    )
    assert fit.key == "default/g"


def test_metadata_that_does_not_fit_does_not_hide_the_name() -> None:
    bad = spoiled(whole(Pod, "bad"), ("metadata", "labels"), [1])
    unfit = Wire(Pod).event(json.dumps({"type": "ADDED", "object": bad}).encode())
    assert unfit.version == "7"
    assert str(unfit.object.complaint).startswith(
        "pod default/bad: left out: metadata.labels: expected a map"
    )


@pytest.mark.parametrize(
    ("amount", "reason"),
    [
        ("-4", 'spec.minResources.cpu: "-4" is negative; amounts start at 0'),
        (
            "9223372036854775808",
            'spec.minResources.cpu: "9223372036854775808" is too large to be counted; at most ',
        ),
        ("1e1.5", 'spec.minResources.cpu: "1e1.5" is not a quantity'),
    ],
)
def test_what_the_definition_of_pod_groups_lets_through_is_refused_here(amount: str, reason: str) -> None:
    bad = GROUP | {
        "metadata": {"name": "bad", "namespace": "default"},
        "spec": {"minResources": {"cpu": amount}},
    }
    (unfit,) = Wire(PodGroup).page(json.dumps({"metadata": {}, "items": [bad]}).encode()).items
    assert str(unfit.complaint).startswith(f"podgroup default/bad: left out: {reason}")


def test_amounts_that_fit_alone_but_not_together_leave_out_their_pod() -> None:
    requests = {"memory": "8796093022207Ki"}
    many = {"containers": [{"name": f"c{at}", "resources": {"requests": requests}} for at in range(2000)]}
    bad = POD | {"metadata": {"name": "bad", "namespace": "default"}, "spec": many}
    reading = read_text("\n".join(map(json.dumps, [*OTHERS, bad])), "objects")
    snapshot = take_snapshot(reading.objects)
    (told,) = snapshot.complaints
    assert str(told).startswith('pod default/bad: left out: memory: "')
    assert snapshot.tasks.get("default/p") is not None


@pytest.mark.parametrize("plugin", ["capacity", "proportion"])
def test_a_queue_that_is_limited_to_an_exbibyte_is_a_queue(plugin: str) -> None:
    limits = {"capability": {"memory": "1Ei"}, "deserved": {"cpu": 8, "memory": "1Ei"}}
    text = "\n".join(map(json.dumps, [NODE, QUEUES[1], QUEUES[0] | {"spec": limits}, GROUP, POD]))
    snapshot = take_snapshot(read_text(text, "objects").objects)
    conf = require(read_conf(f"actions: allocate\ntiers:\n- plugins:\n  - name: {plugin}\n"), False)
    report = run_cycle(snapshot, conf, registry=BUILTIN, now=NOW)
    assert snapshot.complaints == []
    assert outcome_of("test", report).binds == {"default/p": "n1"}


def test_an_exception_over_one_object_is_a_complaint_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    state = LiveState()
    monkeypatch.setattr("hekla.engine.state.manifests.queue_of", fail)
    for manifest in (queue("q"), node("n", cpu=1)):
        state.note(manifest)
    state.take_in()
    assert [str(told) for told in state.complaints()] == [
        "queue q: left out: ZeroDivisionError: nobody foresaw this"
    ]
    assert state.nodes.names == ["n"]


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 19, "\u0661"])
def test_numbers_in_annotations_that_are_none_are_passed_over(number: str) -> None:
    annotations = {"volcano.sh/oversubscription-cpu": number, "volcano.sh/gpu-unhealthy-ids": number}
    bad = NODE | {"metadata": {"name": "bad", "annotations": annotations}}
    reading = read_text("\n".join(map(json.dumps, [bad, *OTHERS])), "objects")
    snapshot = take_snapshot(reading.objects)
    assert [node.name for node in snapshot.nodes] == ["bad", "n1"]


# Files that are odd as a whole


def scenario(objects: list[Data], **more: object) -> str:
    return json.dumps({"conf": "", "objects": objects, **more})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            scenario(OTHERS).replace('"n1"', '"n1\\ud800"'),
            "objects[0]: node n1\ufffd: left out: metadata.name: ",
        ),
        (
            scenario(OTHERS).replace('"minMember": 1', '"minMember": NaN'),
            "objects[3]: podgroup default/g: left out: ",
        ),
        (
            scenario(OTHERS).replace('"minMember": 1', '"minMember": -Infinity'),
            "objects[3]: podgroup default/g: left out",
        ),
    ],
    ids=["half of a surrogate pair", "not a number", "infinity"],
)
def test_odd_json_in_a_scenario_costs_the_object(tmp_path: Any, text: str, complaint: str) -> None:
    file = tmp_path / "odd.json"
    file.write_text(text)
    found = read_scenario(file)
    assert len(found.objects) == len(OTHERS) - 1
    (told,) = found.complaints
    assert str(told).startswith(f"{file}: {complaint}")
