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


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"conf": "",\n "objects": [{"kind": "\xff"}]}', "not a text in UTF-8 (line 2)"),
        (b'{"conf": "\xff", "objects": []}', "not a text in UTF-8 (line 1)"),
        (b'{"conf": "", "objects": [], "now": NaN}', 'now: expected a number, got text "NaN"'),
        (b'{"conf": "", "objects": [], "now": 1e308}', "now: 1e+308 is no time; write seconds since 1970"),
    ],
)
def test_a_scenario_that_cannot_be_read_is_one_and_says_why(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    file = tmp_path / "case.json"
    file.write_bytes(content)
    assert is_scenario(file)
    with pytest.raises(InputError) as raised:
        read_scenario(file)
    assert str(raised.value) == f"{file}: {problem}"


def test_a_mark_of_byte_order_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"conf": "", "objects": [POD]}), "utf-8-sig")
    assert is_scenario(file)
    assert len(read_scenario(file).objects) == 1


def test_a_key_given_twice_is_told(tmp_path: Path) -> None:
    scenario = read_scenario(
        written(tmp_path, f'{{"conf": "", "objects": [1],\n"objects": [{json.dumps(POD)}]}}')
    )
    assert len(scenario.objects) == 1
    assert [str(told) for told in scenario.complaints] == [
        f'{tmp_path / "case.json"}:2: key "objects" is given twice; the last one counts'
    ]
