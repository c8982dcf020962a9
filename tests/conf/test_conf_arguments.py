"""Typed arguments: what is accepted, what is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pytest

from hekla.conf import ArgumentRow, argument, arguments_by_prefix, describe_arguments, read_arguments
from hekla.errors import PluginError


def even(number: int) -> None:
    if number % 2:
        raise ValueError(f"expected an even number, got {number}")


@dataclass(frozen=True)
class Sample:
    count: int = argument(3, key="count", help="how many")
    percent: int = argument(80, key="percent", help="a share", minimum=0, maximum=100)
    factor: float = argument(1.2, key="factor", help="how much", minimum=1)
    cache: bool = argument(True, key="cacheEnable", help="remember", aliases=("enableCache",))
    period: str = argument("1m", key="period", help="how often")
    policy: str = argument("", key="policy", help="how", choices=("", "binpack", "spread"))
    mode: Literal["keep", "drop"] = argument("keep", key="mode", help="what to do")
    names: tuple[str, ...] = argument((), key="names", help="which")
    weights: Mapping[str, int] = argument({"cpu": 1}, key="weights", help="nested", minimum=0)
    anything: Mapping[str, object] = argument({}, key="anything", help="nested, not looked into")
    rules: tuple[Mapping[str, object], ...] = argument((), key="rules", help="a list of maps")
    amount: int | str = argument("250m", key="amount", help="a number or a quantity")
    limit: str | None = argument(None, key="limit", help="may be absent")
    pairs: int = argument(2, key="pairs", help="only even ones", check=even)
    shape: Mapping[str, int] = arguments_by_prefix("names", {}, "weight of a name", minimum=0)
    deep: Mapping[str, str] = arguments_by_prefix("names.zone.", {"a": "x"}, "zone of a name")


GOOD: list[tuple[str, object, str, object]] = [
    ("count", 5, "count", 5),
    ("count", -5, "count", -5),
    ("percent", 0, "percent", 0),
    ("percent", 100, "percent", 100),
    ("factor", 2, "factor", 2.0),
    ("factor", 1.5, "factor", 1.5),
    ("policy", "spread", "policy", "spread"),
    ("mode", "drop", "mode", "drop"),
    ("names", "a, b,,c ", "names", ("a", "b", "c")),
    ("names", ["a", "b"], "names", ("a", "b")),
    ("names", "", "names", ()),
    ("weights", {"cpu": 2, "gpu": 0}, "weights", {"cpu": 2, "gpu": 0}),
    ("anything", {"a": [1, {"b": None}]}, "anything", {"a": [1, {"b": None}]}),
    ("rules", [{"a": 1}, {}], "rules", ({"a": 1}, {})),
    ("amount", 5, "amount", 5),
    ("amount", "5m", "amount", "5m"),
    ("limit", "1h", "limit", "1h"),
    ("limit", None, "limit", None),
    ("pairs", 4, "pairs", 4),
    ("names.gpu", 7, "shape", {"gpu": 7}),
    ("names.nvidia.com/gpu", 7, "shape", {"nvidia.com/gpu": 7}),
    ("names.zone.b", "y", "deep", {"a": "x", "b": "y"}),
    *(("cacheEnable", text, "cache", True) for text in (True, "1", "t", "T", "TRUE", "true", "True")),
    *(("cacheEnable", text, "cache", False) for text in (False, "0", "f", "F", "FALSE", "false", "False")),
]


@pytest.mark.parametrize(("key", "value", "name", "expected"), GOOD)
def test_a_good_value_is_taken(key: str, value: object, name: str, expected: object) -> None:
    sample, mistakes = read_arguments(Sample, {key: value}, "arguments")
    assert mistakes == []
    got = getattr(sample, name)
    assert (got, type(got)) == (expected, type(expected))


BAD: list[tuple[str, object, str]] = [
    ("count", "5", 'expected an integer, got text "5"; the default 3 stays'),
    ("count", 5.0, "expected an integer, got number 5.0; the default 3 stays"),
    ("count", True, "expected an integer, got true; the default 3 stays"),
    ("count", None, "expected an integer, got nothing; the default 3 stays"),
    ("count", 2**63, f"expected an integer, got number {2**63}; the default 3 stays"),
    ("percent", 101, "expected an integer from 0 to 100, got number 101; the default 80 stays"),
    ("percent", -1, "expected an integer from 0 to 100, got number -1; the default 80 stays"),
    ("factor", 0.5, "expected a number at least 1, got number 0.5; the default 1.2 stays"),
    ("factor", "2", 'expected a number at least 1, got text "2"; the default 1.2 stays'),
    ("factor", float("nan"), "expected a number at least 1, got number nan; the default 1.2 stays"),
    ("cacheEnable", "yes", 'expected true or false, got text "yes"; the default true stays'),
    ("cacheEnable", 1, "expected true or false, got number 1; the default true stays"),
    ("period", 5, "expected a text, got number 5; the default 1m stays"),
    (
        "policy",
        "best",
        'expected one of "", "binpack", "spread", got text "best"; the default \'\' stays',
    ),
    ("mode", "burn", 'expected one of "keep", "drop", got text "burn"; the default keep stays'),
    (
        "names",
        [1],
        'expected a list of texts or one text such as "a, b", got a list; the default [] stays',
    ),
    (
        "weights",
        {"cpu": -1},
        "expected a map, each value an integer at least 0, got a map; the default {cpu: 1} stays",
    ),
    ("anything", [1], "expected a map, got a list; the default {} stays"),
    ("rules", {"a": 1}, "expected a list, each item a map, got a map; the default [] stays"),
    ("amount", 0.5, "expected an integer or a text, got number 0.5; the default 250m stays"),
    ("pairs", 3, "expected an even number, got 3; the default 2 stays"),
    ("names.gpu", -7, "expected an integer at least 0, got number -7; it is ignored"),
]


@pytest.mark.parametrize(("key", "value", "message"), BAD)
def test_a_bad_value_is_told_and_the_default_stays(key: str, value: object, message: str) -> None:
    sample, mistakes = read_arguments(Sample, {key: value}, "here")
    assert sample == Sample()
    assert [str(mistake) for mistake in mistakes] == [f"here.{key}: {message}"]
    assert [mistake.severity for mistake in mistakes] == ["warning"]


def test_an_unknown_key_is_told_with_the_nearest_known_one() -> None:
    _, [mistake] = read_arguments(Sample, {"percnt": 5}, "here")
    assert str(mistake) == 'here.percnt: no argument "percnt"; did you mean "percent"?'


def test_a_bare_prefix_is_not_an_argument() -> None:
    _, [mistake] = read_arguments(Sample, {"names.zone.": "x"}, "here")
    assert "expected an integer" in mistake.message, "it can only be a name under the shorter prefix"


def test_an_alias_is_taken_and_told() -> None:
    sample, [mistake] = read_arguments(Sample, {"enableCache": False}, "here")
    assert sample.cache is False
    assert mistake.severity == "warning"
    assert mistake.message == '"enableCache" is not a key that Volcano reads; write "cacheEnable"'


@pytest.mark.parametrize("keys", [("cacheEnable", "enableCache"), ("enableCache", "cacheEnable")])
def test_beside_its_proper_key_an_alias_does_not_count(keys: tuple[str, str]) -> None:
    sample, [_] = read_arguments(Sample, {key: key == "enableCache" for key in keys}, "here")
    assert sample.cache is False


def test_defaults_are_not_shared_between_instances() -> None:
    one, other = Sample(), Sample()
    assert one.weights == other.weights
    assert one.weights is not other.weights


def test_the_rows_tell_key_type_default_range_and_help() -> None:
    rows = {row.key: row for row in describe_arguments(Sample)}
    assert rows["percent"] == ArgumentRow("percent", "int", "80", "from 0 to 100", "a share")
    assert rows["factor"] == ArgumentRow("factor", "float", "1.2", "at least 1", "how much")
    assert rows["names"] == ArgumentRow("names", "list of strings", "[]", "", "which")
    assert rows["names.<name>"] == ArgumentRow("names.<name>", "int", "{}", "at least 0", "weight of a name")
    assert rows["policy"].range == 'one of "", "binpack", "spread"'
    assert rows["limit"].type == "string or null"


def test_an_argument_of_an_impossible_type_is_the_fault_of_its_plugin() -> None:
    @dataclass(frozen=True)
    class Impossible:
        flags: frozenset[str] = argument(frozenset(), key="flags", help="no such kind")

    @dataclass(frozen=True)
    class Flat:
        weights: int = arguments_by_prefix("weights", 0, "not a mapping")

    for cls in (Impossible, Flat):
        with pytest.raises(PluginError, match="argument"):
            read_arguments(cls, {}, "here")
