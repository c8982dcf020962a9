"""Scenario files: a configuration, objects and a shard in one JSON file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hekla.errors import InputError
from hekla.objects.scenario import Sharding, is_scenario, read_scenario

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


def written(folder: Path, content: object) -> Path:
    file = folder / "case.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_a_scenario_is_read_whole(tmp_path: Path) -> None:
    sharding = {"mode": "soft", "nodes": ["n1"]}
    file = written(
        tmp_path, {"name": "one", "conf": "actions: allocate", "objects": [POD], "sharding": sharding}
    )
    scenario = read_scenario(file)
    assert (scenario.name, scenario.conf) == ("one", "actions: allocate")
    assert [each.key for each in scenario.objects] == ["default/p"]
    assert scenario.sharding == Sharding("soft", ("n1",))
    assert scenario.complaints == []


def test_a_bad_object_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    file = written(tmp_path, {"conf": "", "objects": [{**POD, "spec": {"priority": "x"}}, POD]})
    scenario = read_scenario(file)
    assert (scenario.name, len(scenario.objects)) == ("case", 1)
    (told,) = scenario.complaints
    assert str(told).startswith(
        f"{file}: objects[0]: pod p: left out: spec.priority: expected a whole number"
    )


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        ({"conf": "", "objects": []}, True),
        ({"conf": "", "objects": {}}, False),
        ({"objects": []}, False),
        (POD, False),
        ("[" * 100_000, False),
        ("not json", False),
    ],
    ids=["a configuration and objects", "objects as a map", "no configuration", "a manifest", "deep", "text"],
)
def test_only_a_scenario_is_taken_for_one(tmp_path: Path, content: object, is_one: bool) -> None:
    assert is_scenario(written(tmp_path, content)) is is_one


def test_other_files_are_no_scenarios(tmp_path: Path) -> None:
    assert not is_scenario(tmp_path / "nowhere.json")
    assert not is_scenario(tmp_path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"conf": ""}, "objects: is missing"),
        ({"conf": 5, "objects": []}, "conf: expected a text, got number 5"),
        ("nonsense", "not a scenario"),
        ({"objects": [], "sharding": {"mode": "odd"}}, 'sharding.mode: expected "hard" or "soft", got "odd"'),
    ],
)
def test_a_file_that_is_none_says_why(tmp_path: Path, content: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_scenario(written(tmp_path, content))


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_scenario(tmp_path / "nowhere.json")
