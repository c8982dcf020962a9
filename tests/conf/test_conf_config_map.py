"""A ConfigMap in place of the file that it holds: what is read, and what is said where it cannot be told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from cli.calling import called
from hekla.conf import Catalogue, Conf, PluginEntry, Tier, configuration_in, read_conf, require
from hekla.errors import ConfError
from hekla.scheduler.builtin import BUILTIN
from hekla.server.options import ConfFile
from properties.effort import examples

CONF = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
EXPECTED = Conf(("allocate",), (Tier((PluginEntry("gang"),)),))
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf, namespace: system}\n"
OTHER = "apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n"


def block(text: str, key: str = "volcano-scheduler.conf", margin: str = "  ") -> str:
    """An entry of `data` as people write it."""
    lines = "".join(f"{margin}  {line}\n" for line in text.splitlines())
    return f"{margin}{key}: |\n{lines}"


MAP = f"{HEAD}data:\n{block(CONF)}"
IN_A_LIST = "".join(f"  {line}\n" for line in MAP.splitlines())
READ = {
    "a ConfigMap": MAP,
    "its text ends without a line break": f"{HEAD}data:\n{block(CONF).replace('|', '|-')}",
    "the only key has another name": f"{HEAD}data:\n{block(CONF, 'mine')}",
    "among several keys Volcano's own counts": f"{HEAD}data:\n  README: read me\n{block(CONF)}",
    "other keys may be binary": f"{MAP}binaryData: {{logo.png: iVBORw==}}\n",
    "it cannot be changed any more": f"{MAP}immutable: true\n",
    "comments and empty documents around it": f"# one\n---\n# two\n---\n{MAP}---\n...\n---\n",
    "line ends of another system": MAP.replace("\n", "\r\n"),
    "a byte order mark": f"\ufeff{MAP}",
    "other objects before and after": f"{OTHER}---\n{MAP}---\n{OTHER}",
    "a List": f"apiVersion: v1\nkind: List\nitems:\n-{IN_A_LIST[1:]}",
    "a ConfigMapList, whose items do not say what they are": json.dumps(
        {"kind": "ConfigMapList", "items": [{"metadata": {"name": "x"}, "data": {"x": CONF}}]}
    ),
    "JSON": json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": CONF}}, indent=2),
    "JSON with tabs": json.dumps({"kind": "ConfigMap", "data": {"x": CONF}}, indent="\t"),
    "a quoted text": f"{HEAD}data: {{x: {json.dumps(CONF)}}}\n",
}


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_the_text_in_a_config_map_is_the_configuration(text: str, catalogue: Catalogue) -> None:
    assert read_conf(text, catalogue=catalogue) == (EXPECTED, [])
    assert read_conf(text.encode(), catalogue=catalogue) == (EXPECTED, [])


TWICE = 'key "volcano-scheduler.conf" is given twice; the last one counts'


@pytest.mark.parametrize("entry", [block(CONF), f"  volcano-scheduler.conf: {json.dumps(CONF)}\n"])
def test_a_key_that_is_written_twice_is_told(entry: str) -> None:
    text = f"{HEAD}data:\n{block('actions: enqueue')}{entry}"
    conf, mistakes = read_conf(text, "map.yaml")
    assert conf == EXPECTED
    assert [(one.severity, str(one)) for one in mistakes] == [("warning", f"map.yaml:7: {TWICE}")]


def test_an_empty_text_in_it_is_the_built_in_default() -> None:
    assert read_conf(f"{HEAD}data: {{x: ''}}\n") == read_conf("")


@dataclass(frozen=True)
class Refused:
    """A file from which no configuration can be told, and what is said of it."""

    title: str
    text: str
    told: str

    def __str__(self) -> str:
        return self.title


NO_CONFIG_MAP = "expected a ConfigMap that holds the configuration, or the configuration itself, got"
REFUSED = [
    Refused("another object", OTHER, f"2: kind: {NO_CONFIG_MAP} Namespace"),
    Refused(
        "several other objects",
        f"{OTHER}---\nkind: Service\n---\n{OTHER}",
        f"2: kind: {NO_CONFIG_MAP} Namespace, Service",
    ),
    Refused(
        "a misspelt kind",
        HEAD.replace("ConfigMap", "Configmap"),
        f'2: kind: {NO_CONFIG_MAP} Configmap; did you mean "ConfigMap"?',
    ),
    Refused(
        "an object without a kind",
        MAP.replace("kind: ConfigMap\n", ""),
        f"1: kind: {NO_CONFIG_MAP} an object without a kind",
    ),
    Refused("an empty List", "apiVersion: v1\nkind: List\nitems: []\n", f"2: kind: {NO_CONFIG_MAP} List"),
    Refused(
        "two ConfigMaps",
        f"{MAP}---\n{MAP.replace('name: conf', 'name: other')}",
        "12: kind: 2 ConfigMaps, system/conf, system/other: which one is meant cannot be told; "
        "keep one of them",
    ),
    Refused(
        "no data",
        HEAD,
        '1: data: ConfigMap "system/conf" holds nothing; '
        'expected the configuration as a text under "volcano-scheduler.conf"',
    ),
    Refused(
        "empty data of a ConfigMap without a name",
        "kind: ConfigMap\ndata: {}\n",
        "2: data: the ConfigMap holds nothing; "
        'expected the configuration as a text under "volcano-scheduler.conf"',
    ),
    Refused("data that is a text", f"{HEAD}data: text\n", '4: data: expected texts by key, got text "text"'),
    Refused(
        "several keys of which none is Volcano's",
        f"{HEAD}data: {{a.conf: x, b.conf: y}}\n",
        '4: data: ConfigMap "system/conf" has 2 keys, a.conf, b.conf; '
        'name the one with the configuration "volcano-scheduler.conf", or keep it alone',
    ),
    Refused(
        "a configuration that is no text",
        f"{HEAD}data:\n  volcano-scheduler.conf:\n    actions: allocate\n",
        "5: data.volcano-scheduler.conf: expected a text, got a map; "
        'write "volcano-scheduler.conf: |" above it',
    ),
    Refused(
        "a number for a text",
        f"{HEAD}data: {{x: 5}}\n",
        '4: data.x: expected a text, got number 5; write "x: |" above it',
    ),
    Refused(
        "binary data alone",
        f"{HEAD}binaryData: {{volcano-scheduler.conf: YWN0aW9ucw==}}\n",
        '4: binaryData: not read; write the configuration of ConfigMap "system/conf" as a text under data',
    ),
    Refused(
        "Volcano's key among the binary data",
        f"{HEAD}data: {{README: text}}\nbinaryData: {{volcano-scheduler.conf: YWN0aW9ucw==}}\n",
        '5: binaryData: not read; write the configuration of ConfigMap "system/conf" as a text under data',
    ),
    Refused(
        "a later document that cannot be read",
        f"{MAP}---\n'\n",
        "12: not YAML: found unexpected end of stream (line 12, column 1)",
    ),
    Refused(
        "a later document that is no object",
        f"{MAP}---\n- x\n",
        "11: expected a Kubernetes object, as those before, got a list",
    ),
]


@pytest.mark.parametrize("story", REFUSED, ids=str)
def test_where_it_cannot_be_told_one_sentence_says_why(story: Refused, catalogue: Catalogue) -> None:
    conf, mistakes = read_conf(story.text, catalogue=catalogue)
    assert [(str(mistake), mistake.severity) for mistake in mistakes] == [
        (f"conf.yaml:{story.told}", "error")
    ]
    assert conf == read_conf("")[0]


def test_a_configuration_with_a_kind_is_still_one() -> None:
    text = f"kind: ConfigMap\n{CONF}"
    assert configuration_in(text).text == text
    assert read_conf(text)[0] == EXPECTED


WRONG = "actions: allocate\n\n# a gang\ntiers:\n- plugins:\n  - name: gnag\n"
UNKNOWN = 'tiers[0].plugins[0].name: no plugin "gnag"; did you mean "gang"?'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"{HEAD}data:\n{block(WRONG)}", "conf.yaml:11"),
        (f"{OTHER}---\r\n{HEAD}data:\n{block(WRONG)}\n\n---\n{OTHER}", "conf.yaml:15"),
        (json.dumps({"kind": "ConfigMap", "data": {"x.conf": WRONG}}), "conf.yaml: data.x.conf:6"),
        (
            json.dumps({"kind": "List", "items": [{"kind": "ConfigMap", "data": {"x": WRONG}}]}),
            "conf.yaml: items[0].data.x:6",
        ),
    ],
)
def test_a_mistake_in_the_text_is_told_with_a_line_that_can_be_found(
    text: str, place: str, catalogue: Catalogue
) -> None:
    _, [mistake] = read_conf(text, catalogue=catalogue)
    assert str(mistake) == f"{place}: {UNKNOWN}"


leaves = st.sampled_from([None, 5, "x", "ConfigMap", "List", CONF, "\ud800", "a\nb"])
keys = st.sampled_from(["kind", "apiVersion", "data", "items", "metadata", "name", "binaryData", "x\n"])
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
)


@given(trees)
@examples(6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_object_makes_the_reader_raise(catalogue: Catalogue, tree: object) -> None:
    _, mistakes = read_conf(
        json.dumps({"kind": "ConfigMap", "more": tree, "data": tree}), catalogue=catalogue
    )
    assert all("\n" not in str(mistake) for mistake in mistakes)


# Where configurations are given


NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 2, pods: 110}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "map.yaml").write_text(MAP)
    (tmp_path / "none.yaml").write_text(OTHER)
    (tmp_path / "cluster.yaml").write_text(NODE)
    return tmp_path


def test_the_check_takes_a_config_map(folder: Path) -> None:
    assert called("conf", "check", "map.yaml", folder=folder).stdout == "map.yaml: no mistakes\n"
    refused = called("conf", "check", "none.yaml", folder=folder)
    assert refused.returncode == 1
    assert refused.stdout == f"error: none.yaml:2: kind: {NO_CONFIG_MAP} Namespace\n1 error, 0 warnings\n"


@pytest.mark.parametrize("command", ["decide", "run", "explain"])
def test_commands_take_a_config_map(command: str, folder: Path) -> None:
    assert called(command, "--conf", "map.yaml", "cluster.yaml", folder=folder).returncode == 0
    refused = called(command, "--conf", "none.yaml", "cluster.yaml", folder=folder)
    assert refused.returncode == 1
    assert NO_CONFIG_MAP in refused.stderr


def test_what_is_installed_is_the_text_alone(folder: Path) -> None:
    text = called("install", "--conf", "map.yaml", folder=folder).stdout
    assert "actions: allocate" in text
    assert "system" not in text.split("volcano-scheduler.conf:", 1)[1].split("kind:", 1)[0]


def test_a_server_reloads_a_config_map_and_keeps_the_last_good_one(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(MAP)
    file = ConfFile(path, BUILTIN)
    assert file.conf == EXPECTED
    path.write_text(MAP.replace("actions: allocate", "actions: enqueue, allocate"))
    assert file.refresh()
    assert file.conf.actions == ("enqueue", "allocate")
    path.write_text(f"{MAP}---\n{MAP}")
    assert not file.refresh()
    assert "2 ConfigMaps" in file.mistake
    assert file.conf.actions == ("enqueue", "allocate")


def test_from_python_it_is_refused_where_it_cannot_be_told() -> None:
    with pytest.raises(ConfError, match="2 ConfigMaps"):
        require(read_conf(f"{MAP}---\n{MAP}"))
