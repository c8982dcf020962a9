"""Manifests from files: every problem is one complaint, and the rest is read."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.objects import Node, Pod, Queue
from hekla.objects.read import read_manifests, read_text

GOOD = """
apiVersion: v1
kind: Pod
metadata: {name: good}
"""


def pod(**fields: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **fields}


def complaints(text: str | bytes, source: str = "some.yaml") -> list[str]:
    return [str(complaint) for complaint in read_text(text, source).complaints]


def names(text: str | bytes, source: str = "some.yaml") -> list[str]:
    return [manifest.key for manifest in read_text(text, source).objects]


BAD = [
    (
        "malformed YAML is told with line and column",
        "a: [1, 2\n",
        "some.yaml:2: not YAML: did not find expected ',' or ']' (line 2, column 1)",
    ),
    (
        "an unknown kind names the nearest one",
        "apiVersion: v1\nkind: Pood\nmetadata: {name: x}\n",
        'some.yaml:2: pood x: left out: kind: no kind "Pood"; did you mean "Pod"? known kinds: CSINode,',
    ),
    (
        "a kind of another group names the group that has it",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n",
        'kind: no kind "Job" in "batch/v1"; did you mean "Job" of "batch.volcano.sh"?',
    ),
    (
        "a document without a kind is no manifest",
        "hello: world\n",
        "some.yaml:1: left out: kind: expected the name of a kind; is this a manifest?",
    ),
    (
        "a manifest without apiVersion says so",
        "kind: Pod\nmetadata: {name: x}\n",
        'pod x: left out: apiVersion: is missing; write it beside kind "Pod"',
    ),
    (
        "a bare text is no manifest",
        "hello\n",
        'some.yaml:1: left out: expected a manifest, got text "hello"',
    ),
    (
        "a field of the wrong type is told with its path",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n  - resources: [1]\n",
        "some.yaml:6: pod x: left out: spec.containers[0].resources: expected a map, got a list",
    ),
    (
        "a number in place of a list is told with its path",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: 5}\n",
        "some.yaml:4: pod x: left out: spec.containers: expected a list, got number 5",
    ),
    (
        "a missing required field is told",
        "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: x}\nspec: {}\n",
        "hypernode x: left out: spec.tier: is missing",
    ),
    (
        "a missing name is told",
        "apiVersion: v1\nkind: Pod\nmetadata: {labels: {a: b}}\n",
        "left out: metadata.name: is missing",
    ),
    (
        "a name with a slash is no name",
        'apiVersion: v1\nkind: Pod\nmetadata: {name: "a/b"}\n',
        'left out: metadata.name: "a/b" is not a name; use letters, digits, hyphens and dots',
    ),
    (
        "a negative quantity is refused",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n"
        '  - resources:\n      requests: {cpu: "-1"}\n',
        'some.yaml:7: pod default/x: left out: spec.containers[0].resources.requests.cpu: "-1" is negative',
    ),
    (
        "an absurd quantity is refused",
        "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nstatus: {allocatable: {memory: 1e99}}\n",
        'status.allocatable.memory: "1e+99" is too large to be counted',
    ),
    (
        "a quantity with an unknown suffix is refused",
        "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nstatus: {allocatable: {memory: 4Gb}}\n",
        'status.allocatable.memory: "4Gb" is not a quantity; write it like "500m", "2" or "4Gi"',
    ),
    (
        "a quantity that is no number is refused",
        "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nstatus: {allocatable: {example.com/gpu: .nan}}\n",
        'status.allocatable["example.com/gpu"]: "nan" is not a quantity',
    ),
    (
        "a huge integer does not fit",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {priority: 99999999999999999999}\n",
        "spec.priority: number 99999999999999999999 does not fit into 32 bits; at most 2147483647 does",
    ),
    (
        "a label that YAML reads as a bool is told with its key",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n  labels:\n    fine: a\n    fast: yes\n",
        "some.yaml:7: pod x: left out: metadata.labels.fast: expected a text, got true; put it in quotes",
    ),
    (
        "a label that YAML reads as a number is told with its key",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, labels: {example.com/version: 1.10}}\n",
        'metadata.labels["example.com/version"]: expected a text, got number 1.1; put it in quotes',
    ),
    (
        "a time that is none is told",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, creationTimestamp: yesterday}\n",
        'metadata.creationTimestamp: expected a time such as "2026-01-31T12:00:00Z"',
    ),
    (
        "a time without a zone is told",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, creationTimestamp: 2026-01-31T12:00:00}\n",
        'metadata.creationTimestamp: "2026-01-31 12:00:00" has no time zone; write it like',
    ),
    (
        "fifty thousand open brackets end nothing but their document",
        "[" * 50_000,
        "some.yaml:1: nested deeper than 100 levels",
    ),
    (
        "deep JSON is told, too",
        '{"a":' * 100_000,
        "some.yaml:1: nested deeper than 100 levels",
    ),
    (
        "an alias bomb is not expanded",
        "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + "\n".join(
            f"{b}: &{b} [{','.join(['*' + a] * 10)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "some.yaml:5: aliases stand for more than 100000 values",
    ),
    (
        "an alias inside its own value is told",
        "a: &a [*a]\n",
        'some.yaml:1: alias "a" stands inside the value it names',
    ),
    (
        "a tag that would run code is not allowed",
        "a: !!python/object/apply:os.system [ls]\n",
        "python/object/apply:os.system",
    ),
    (
        "a list or map cannot be a key",
        "? [a]\n: b\n",
        "some.yaml:1: a key must be a text, got a list or a map",
    ),
    ("binary garbage is no text", b"\xff\xfe\x00\x80", "some.yaml: not a text in UTF-8"),
    (
        "control characters are no YAML",
        b"\x00\x01\x02",
        "some.yaml:1: not YAML: control characters are not allowed",
    ),
    ("half a character is no text", "\ud800", "some.yaml: not a text in UTF-8"),
    (
        "items that are no list are told",
        "apiVersion: v1\nkind: List\nitems: 5\n",
        "some.yaml:3: items: expected a list, got number 5",
    ),
]


@pytest.mark.parametrize(("text", "told"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_every_problem_is_told_once(text: str | bytes, told: str) -> None:
    reading = read_text(text, "some.yaml")
    assert reading.objects == []
    assert len(reading.complaints) == 1
    assert told in str(reading.complaints[0])


@pytest.mark.parametrize(
    "text", [row[1] for row in BAD if isinstance(row[1], str) and "\ud800" not in row[1]]
)
def test_a_bad_document_spoils_none_of_its_neighbours(text: str) -> None:
    assert names(f"{GOOD}---\n{text}\n---\n{GOOD.replace('good', 'last')}") == [
        "default/good",
        "default/last",
    ]


def test_many_documents_are_read_and_empty_ones_skipped() -> None:
    second = GOOD.replace("good", "b")
    text = f"# a comment\n---\n---\n{GOOD}\n...\n%YAML 1.1\n---\n# nothing\n---\n{second}---\n"
    assert names(text) == ["default/good", "default/b"]
    assert complaints(text) == []


def test_lines_count_through_all_documents() -> None:
    (told,) = complaints(f"{GOOD}---\n{GOOD}")
    assert told == "some.yaml:7: pod default/good: left out: pod default/good is given already at some.yaml:2"


def test_of_two_objects_of_one_name_the_first_wins() -> None:
    first, second = pod(spec={"priority": 1}), pod(spec={"priority": 2})
    reading = read_text(json.dumps([first, second]), "two.json")
    (kept,) = reading.objects
    assert isinstance(kept, Pod)
    assert kept.spec.priority == 1
    assert [str(each) for each in reading.complaints] == [
        "two.json: document 2: pod default/p: left out: "
        "pod default/p is given already at two.json: document 1"
    ]


def test_one_name_in_two_namespaces_or_kinds_is_two_objects() -> None:
    text = GOOD + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: good, namespace: other}\n"
    text += "---\napiVersion: v1\nkind: Node\nmetadata: {name: good, namespace: ignored}\n"
    assert names(text) == ["default/good", "other/good", "good"]


def test_the_items_of_a_list_are_read_one_by_one() -> None:
    items = [pod(metadata={"name": "a"}), pod(metadata={"name": "b"}, spec={"priority": "x"}), 5]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert names(text, "list.json") == ["default/a"]
    assert complaints(text, "list.json") == [
        'list.json: items[1]: pod b: left out: spec.priority: expected a whole number, got text "x"',
        "list.json: items[2]: left out: expected a manifest, got number 5",
    ]


def test_the_items_of_a_typed_list_need_not_say_what_they_are() -> None:
    text = "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n"
    assert names(text) == ["default/a", "default/b"]
    assert names(
        json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}]})
    ) == ["default/a"]


def test_one_object_per_line_is_json_as_well() -> None:
    text = "\n".join(json.dumps(pod(metadata={"name": name})) for name in "ab")
    assert names(text, "lines.json") == ["default/a", "default/b"]


def test_a_field_that_is_null_is_absent() -> None:
    meta = {"name": "p", "labels": None, "creationTimestamp": None}
    for text in (json.dumps(pod(metadata=meta, spec=None)), json.dumps({"spec": {}, **pod(metadata=meta)})):
        (manifest,) = read_text(text, "null.json").objects
        assert manifest.metadata.labels == {}
    (manifest,) = read_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: }\nspec: ~\n", "n.yaml"
    ).objects
    assert isinstance(manifest, Pod)
    assert manifest.metadata.labels == {}


def test_a_time_written_bare_in_yaml_is_a_time() -> None:
    (manifest,) = read_text(
        GOOD.replace("name: good", "name: t, creationTimestamp: 2026-01-31T12:00:00Z"), ""
    ).objects
    assert manifest.metadata.creation_timestamp == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_unquoted_amounts_are_amounts() -> None:
    allocatable = "{cpu: 4, memory: 1e3, pods: 0.5}"
    text = f"apiVersion: v1\nkind: Node\nmetadata: {{name: n}}\nstatus: {{allocatable: {allocatable}}}\n"
    (node,) = read_text(text, "node.yaml").objects
    assert isinstance(node, Node)
    assert node.status.allocatable == {"cpu": 4, "memory": 1000.0, "pods": 0.5}


def test_a_node_without_allocatable_is_a_node() -> None:
    assert names("apiVersion: v1\nkind: Node\nmetadata: {name: bare}\n") == ["bare"]


def test_anchors_and_merges_work() -> None:
    text = (
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\n"
        "spec:\n  capability: &half {cpu: 4, memory: 8Gi}\n  deserved:\n    <<: *half\n    cpu: 2\n"
    )
    (queue,) = read_text(text, "queue.yaml").objects
    assert isinstance(queue, Queue)
    assert queue.spec.deserved == {"cpu": 2, "memory": "8Gi"}


def test_a_key_given_twice_is_told_and_the_last_counts() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  name: b\n"
    assert names(text) == ["default/b"]
    assert complaints(text) == ['some.yaml:5: key "name" is given twice; the last one counts']


def json_list(*items: str) -> str:
    return '{"apiVersion": "v1", "kind": "List",\n "items": [\n' + ",\n".join(items) + "]}"


QUEUE = '{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "%s"}%s}'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            json_list(QUEUE % ("a", ""), QUEUE % ("b", ', "spec": {"weight": 1, "weight": 2}')),
            'x:4: key "weight"',
        ),
        (
            json_list(QUEUE % ("a", ""), QUEUE % ("b", ', "spec": {"weight": 1,\n "w\\u0065ight": 2}')),
            'x:5: key "weight"',
        ),
        (QUEUE % ("a", "") + "\n" + QUEUE % ("b", ', "spec": {}, "spec": {"weight": 2}'), 'x:2: key "spec"'),
        (
            '{"items": [],' + json_list(QUEUE % ("a", ""), QUEUE % ("b", ', "spec": {"weight": 2}'))[1:],
            'x:2: key "items"',
        ),
        (
            json_list(
                QUEUE % ("a", ', "spec": {"parent": "\\u0022:"}'),
                QUEUE % ("b", ', "spec": {"weight": 1, "weight": 2}'),
            ),
            'x:4: key "weight"',
        ),
    ],
    ids=[
        "in an item",
        "in other letters",
        "one object per line",
        "in the list itself",
        "beside what looks like a key",
    ],
)
def test_a_key_given_twice_in_json_is_told_with_its_line(text: str, told: str) -> None:
    reading = read_text(text, "x")
    assert [found.key for found in reading.objects] == ["a", "b"]
    assert reading.objects[1].spec.weight == 2
    assert [str(complaint) for complaint in reading.complaints] == [
        f"{told} is given twice; the last one counts"
    ]


def test_texts_in_json_that_look_like_keys_are_no_keys() -> None:
    odd = ', "spec": {"parent": "a\\": \\"a\\": \\u0022:", "weight": 2}'
    assert read_text(json_list(QUEUE % ("a", odd)), "x").complaints == []


@pytest.mark.parametrize(("size", "is_told"), [(200_000, False), (1_000_000, True)])
def test_large_annotations_are_kept_and_told_above_the_limit_of_kubernetes(size: int, is_told: bool) -> None:
    text = json.dumps(pod(metadata={"name": "p", "annotations": {"a": "x" * size}}))
    reading = read_text(text, "large.json")
    assert len(reading.objects) == 1
    assert ["metadata.annotations: 1000001 bytes" in str(each) for each in reading.complaints] == [
        True
    ] * is_told


def test_messages_stay_short_whatever_the_value() -> None:
    text = json.dumps(pod(spec={"containers": [{"resources": {"requests": {"cpu": "9" * 100_000 + "x"}}}]}))
    (told,) = complaints(text)
    assert len(told) < 400


def test_names_that_would_play_tricks_on_a_terminal_are_escaped() -> None:
    (told,) = complaints(json.dumps(pod(metadata={"name": "\x1b[31mred"})))
    assert "\x1b" not in told
    assert "\\x1b[31mred" in told


def test_every_bad_field_of_an_object_is_told() -> None:
    requests = {"cpu": "-1", "memory": "x", "pods": "1"}
    told = complaints(json.dumps(pod(spec={"containers": [{"resources": {"requests": requests}}]})))
    assert len(told) == 2


def test_folders_are_read_in_order_with_all_below_them(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    files = {"z.json": "z", "b/a.yml": "a", "b/c.yaml": "c", "notes.txt": "n", ".hidden/h.yaml": "h"}
    for file, name in files.items():
        (tmp_path / file).write_text(json.dumps(pod(metadata={"name": name})))
    reading = read_manifests([tmp_path])
    assert [each.metadata.name for each in reading.objects] == ["a", "c", "z"]
    assert reading.complaints == []


def test_files_and_folders_that_are_not_there_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    told = [str(each) for each in read_manifests([tmp_path / "nowhere.yaml", tmp_path / "empty"]).complaints]
    assert told == [
        f"{tmp_path}/nowhere.yaml: no such file or directory",
        f"{tmp_path}/empty: holds no file of *.json, *.yaml, *.yml",
    ]


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    assert [each.key for each in read_manifests(["-"]).objects] == ["default/good"]


def test_ten_thousand_pods_in_json_go_straight_into_their_types(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*_: object) -> None:
        raise AssertionError("a sound object took the slow way")

    monkeypatch.setattr("hekla.objects.read.typed", slowly)
    items = [pod(metadata={"name": f"p{i}"}) for i in range(10_000)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert len(read_text(text, "many.json").objects) == 10_000


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_no_bytes_make_it_raise(content: bytes | str) -> None:
    for told in read_text(content, "fuzz.yaml").complaints:
        assert str(told).isprintable()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
FIELDS = ("metadata", "spec", "status", "kind", "items", "apiVersion", "value")
KINDS = (("v1", "Pod"), ("v1", "Node"), ("v1", "List"), ("scheduling.volcano.sh/v1beta1", "PodGroup"))


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=3))
def test_no_values_in_known_fields_make_it_raise(kind: tuple[str, str], fields: dict[str, object]) -> None:
    text = json.dumps({"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "x"}, **fields})
    for form in (text, f"---\n{text}"):
        read_text(form, "fuzz.yaml")
