"""The load of nodes, from annotations and from files, and how often it is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hekla.conf import read_conf, without_effect
from hekla.engine.model.node import NodeInfo, node_of
from hekla.errors import InputError
from hekla.objects.complaint import Complaint
from hekla.objects.keys import CPU_USAGE, MEMORY_USAGE, USAGE_AT
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.load import LoadCache, NodeLoad, from_annotations, from_file, read_load
from hekla.scheduler.load.read import LARGEST_FILE, USUAL_SECONDS, LoadReader
from hekla.testing import node

NOW = 1000.0


def noted(name: str = "n1", **notes: str) -> NodeInfo:
    keys = {"cpu": CPU_USAGE, "memory": MEMORY_USAGE, "at": USAGE_AT}
    return node_of(node(name, annotations={keys[key]: text for key, text in notes.items()}))


# Annotations


def test_annotations_tell_the_load_of_this_moment_or_of_another() -> None:
    assert from_annotations(noted(cpu="12.5", memory="40"), NOW) == NodeLoad(12.5, 40.0, NOW)
    assert from_annotations(noted(cpu="1", at="900"), NOW) == NodeLoad(1.0, 0.0, 900.0)


def test_a_node_without_annotations_has_no_known_load() -> None:
    assert from_annotations(noted(), NOW) is None
    assert from_annotations(noted(at="900"), NOW) is None


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf", "1e400", ""])
def test_what_is_no_figure_is_told(text: str) -> None:
    with pytest.raises(InputError, match=f"{CPU_USAGE}: expected a number from 0"):
        from_annotations(noted(cpu=text), NOW)


def test_one_bad_annotation_costs_one_node() -> None:
    complaints: list[Complaint] = []
    nodes = [noted("n1", cpu="x"), noted("n2", cpu="5"), noted("n3")]
    assert read_load({}, nodes, NOW, complaints) == {"n2": NodeLoad(5.0, 0.0, NOW)}
    assert [str(one) for one in complaints] == [
        f'node n1: its load is unknown: {CPU_USAGE}: expected a number from 0, got "x"'
    ]


# Files


YAML = """\
n1: {cpu: 12.5, memory: 40}
n2:
  cpu: 90
  at: 900
"""


def test_a_file_tells_the_load_in_yaml_or_json(tmp_path: Path) -> None:
    expected = {"n1": NodeLoad(12.5, 40.0, NOW), "n2": NodeLoad(90.0, 0.0, 900.0)}
    file = tmp_path / "load"
    file.write_text(YAML)
    assert from_file(file, NOW) == expected
    file.write_text(json.dumps({"n1": {"cpu": 12.5, "memory": 40}, "n2": {"cpu": 90, "at": 900}}))
    assert read_load({"type": "file", "address": str(file)}, [], NOW) == expected


def test_an_empty_file_tells_nothing(tmp_path: Path) -> None:
    file = tmp_path / "load.yaml"
    file.write_text("")
    assert from_file(file, NOW) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- n1", "load.yaml: expected a map from node to load, got a list"),
        ("n1: 5", "load.yaml:1: n1: expected cpu and memory in percent, got number 5"),
        ("n1:\n  cpu: high", 'load.yaml:2: n1.cpu: expected a number from 0, got text "high"'),
        ("n1:\n  memory: true", "load.yaml:2: n1.memory: expected a number from 0, got true"),
        ("n1: {cpu: -1}", "n1.cpu: expected a number from 0, got number -1"),
        ("{", "load.yaml: not YAML"),
        ("\ud800", "load.yaml: not a text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "load.yaml"
    file.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(InputError) as caught:
        from_file(file, NOW)
    assert said in str(caught.value)


def test_a_file_that_is_not_there_or_too_large_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        from_file(tmp_path / "nowhere", NOW)
    large = tmp_path / "large"
    large.write_bytes(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(InputError, match="larger than 10 MB"):
        from_file(large, NOW)


# Settings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"type": "prometeus"}, 'no source "prometeus"; did you mean "prometheus"?'),
        ({"type": "x"}, "known sources: annotations, file, prometheus"),
        ({"type": "file"}, "metrics.address: missing; type file needs one"),
        ({"type": "prometheus", "address": "n1:9090"}, '"n1:9090" is no address'),
        ({"type": "prometheus", "address": "http://"}, "is no address"),
        ({"type": "prometheus", "address": "file:///etc/passwd"}, "is no address"),
        ({"type": "prometheus", "address": "http://me:secret@n1"}, "must not hold a user name or a password"),
    ],
)
def test_settings_that_make_no_sense_are_told(settings: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_load(settings, [], NOW)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


class TestMeter:
    def test_a_source_is_read_again_once_the_interval_has_passed(self, tmp_path: Path) -> None:
        file = tmp_path / "load.yaml"
        meter = LoadCache({"type": "file", "address": str(file), "interval": "10s"})
        seen = []
        for busy, moment in ((10, NOW), (20, NOW + 9), (30, NOW + 10)):
            file.write_text(f"n1: {{cpu: {busy}}}")
            seen.append(meter.read([], moment, [])["n1"])
        assert seen == [NodeLoad(10.0, 0.0, NOW), NodeLoad(10.0, 0.0, NOW), NodeLoad(30.0, 0.0, NOW + 10)]

    def test_a_source_that_fails_leaves_the_last_known_load(self, tmp_path: Path) -> None:
        file = tmp_path / "load.yaml"
        file.write_text("n1: {cpu: 10}")
        meter = LoadCache({"type": "file", "address": str(file)})
        meter.read([], NOW, [])
        file.unlink()
        complaints: list[Complaint] = []
        assert meter.read([], NOW + 30, complaints) == {"n1": NodeLoad(10.0, 0.0, NOW)}
        assert "the last known load stays" in str(complaints[0])

    def test_annotations_are_read_every_time(self) -> None:
        meter = LoadCache({})
        loads = [meter.read([noted(cpu=busy)], NOW, [])["n1"].cpu for busy in ("1", "2")]
        assert loads == [1.0, 2.0]

    @pytest.mark.parametrize("text", ["bad", "-5s", "0s", "30", "", "1e3s"])
    def test_an_interval_that_is_no_time_counts_as_the_usual_one(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "load.yaml"
        file.write_text("n1: {cpu: 10}")
        meter = LoadCache({"type": "file", "address": str(file), "interval": text})
        assert meter.read([], 0.0, [])["n1"].cpu == 10
        file.write_text("n1: {cpu: 20}")
        assert [meter.read([], now, [])["n1"].cpu for now in (29.9, 30.0)] == [10, 20]

    def test_the_file_is_told_of_the_same_times(self) -> None:
        assert USUAL_SECONDS == without_effect.USUAL_SECONDS
        conf, mistakes = read_conf("actions: allocate\ntiers: []\nmetrics: {interval: bad, timeout: -1s}\n")
        assert [(one.where, one.severity) for one in mistakes] == [
            ("metrics.interval", "warning"),
            ("metrics.timeout", "warning"),
        ]
        LoadReader(conf, BUILTIN)
