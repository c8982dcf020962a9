"""No text makes the reader raise: mistakes are values."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from hekla.conf import PRESETS, Catalogue, Conf, Mistake, Preset, effective, read_conf
from properties.effort import examples

WORDS = (
    *("actions", "tiers", "plugins", "name", "arguments", "configurations", "metrics", "allocate", "gang"),
    *("enableJobOrder", "enabledOverused", "binpack", "binpack.weight", "true", "null", "5", "1e9", "~"),
    *(
        ": ",
        ", ",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "[",
        "]",
        "{",
        "}",
        "&a ",
        "*a",
        "<<: ",
        "? ",
        "!!int ",
        "!!set ",
    ),
    *("'", '"', "|", ">", "#", "\t", "---\n", "...\n", "%", "@", "\\", "=", "!!binary ", "!", "0x", "_"),
)
tangles = st.lists(st.sampled_from(WORDS), max_size=40).map("".join)
leaves = st.sampled_from([None, True, 5, 0.5, "", "gang", "allocate", "binpack", "enqueue, allocate", "x"])
names = st.sampled_from(WORDS[:14]) | st.text(max_size=5)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5)
)


def assert_told(told: tuple[Conf, list[Mistake]], catalogue: Catalogue) -> None:
    conf, mistakes = told
    assert isinstance(conf, Conf)
    for mistake in mistakes:
        assert "\n" not in str(mistake)
        assert str(mistake).startswith("conf.yaml")
    assert effective(conf, catalogue)


@given(st.text() | st.binary() | tangles)
@example("a: !!timestamp x")
@example("? !!null\n: b")
@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_makes_the_reader_raise(catalogue: Catalogue, text: str | bytes) -> None:
    assert_told(read_conf(text, catalogue=catalogue), catalogue)


@given(trees)
@examples(6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_tree_makes_the_reader_raise(catalogue: Catalogue, tree: object) -> None:
    assert_told(read_conf(json.dumps(tree, ensure_ascii=False), catalogue=catalogue), catalogue)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
@given(data=st.data())
@examples(1, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_broken_preset_makes_the_reader_raise(
    catalogue: Catalogue, preset: Preset, data: st.DataObject
) -> None:
    text = preset.text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    broken = text[:start] + data.draw(tangles) + text[end:]
    assert_told(read_conf(broken, catalogue=catalogue), catalogue)
