"""Showing what is in effect, and reading it back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.conf import PRESETS, Catalogue, Conf, as_data, effective, read_arguments, read_conf
from hekla.conf.kinds import written
from hekla.conf.model import SWITCHES

TEXT = """
actions: "allocate, preempt"
tiers:
- plugins:
  - name: gang
    enabledOverused: false
    enableJobOrder: true
  - name: binpack
    arguments: {binpack.cpu: 5, binpack.resources: "nvidia.com/gpu", binpack.resources.nvidia.com/gpu: 3}
  - name: usage
    arguments: {thresholds: {cpu: 50}, ratio: 1}
- plugins: []
configurations:
- name: allocate
  arguments: {predicateErrorCacheEnable: "false"}
metrics: {type: prometheus, address: "http://there", interval: 30s}
"""

SHOWN = """\
actions: allocate, preempt
tiers:
- plugins:
  - name: gang
    enabledOverused: false
  - name: binpack
    arguments:
      binpack.weight: 1  # default
      binpack.cpu: 5
      binpack.resources: [nvidia.com/gpu]
      binpack.resources.nvidia.com/gpu: 3
  - name: usage
    arguments:
      thresholds: {cpu: 50}
      ratio: 1.0
      note: null  # default
- plugins: []
configurations:
- name: allocate
  arguments:
    predicateErrorCacheEnable: false
metrics:
  type: prometheus
  address: http://there
  interval: 30s
"""


def in_effect(conf: Conf, catalogue: Catalogue) -> Any:
    """All that a scheduler would see of a Conf."""
    return (
        conf.actions,
        [
            [
                (
                    plugin.name,
                    [plugin.enabled(switch.key) for switch in SWITCHES],
                    arguments_in_effect(catalogue.plugins.get(plugin.name), plugin.arguments),
                )
                for plugin in tier.plugins
            ]
            for tier in conf.tiers
        ],
        [
            arguments_in_effect(catalogue.actions.get(action), conf.arguments_of(action))
            for action in conf.actions
        ],
        conf.metrics,
    )


def arguments_in_effect(cls: type | None, given_arguments: Any) -> Any:
    return read_arguments(cls, given_arguments, "") if cls else given_arguments


def test_every_argument_is_shown_and_defaults_are_marked(catalogue: Catalogue) -> None:
    conf, mistakes = read_conf(TEXT, catalogue=catalogue)
    assert mistakes == []
    assert effective(conf, catalogue) == SHOWN


@pytest.mark.parametrize(
    "text", [TEXT, "", "actions: allocate\ntiers: []", *(p.text for p in PRESETS.values())]
)
def test_what_is_shown_reads_back_to_the_same_effect(text: str, catalogue: Catalogue) -> None:
    conf, _ = read_conf(text, catalogue=catalogue)
    again, mistakes = read_conf(effective(conf, catalogue), catalogue=catalogue)
    assert mistakes == []
    assert in_effect(again, catalogue) == in_effect(conf, catalogue)


scalars = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False)
keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
values = st.recursive(
    scalars
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.sampled_from(["1e3", "10:30", "yes", "<<"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, keys, max_size=2))
def test_any_arguments_and_metrics_read_back_as_they_were(
    arguments: dict[str, object], metrics: dict[str, str]
) -> None:
    shown = written({"name": "mine", "arguments": arguments})
    conf, _ = read_conf(f"actions: dance\ntiers: [{{plugins: [{shown}]}}]\nmetrics: {written(metrics)}\n")
    assert conf.plugins[0].arguments == arguments
    again, mistakes = read_conf(effective(conf, Catalogue({}, {})))
    assert mistakes == []
    assert again == conf


def test_the_data_is_fit_for_json(catalogue: Catalogue) -> None:
    conf, _ = read_conf(TEXT, catalogue=catalogue)
    data = as_data(conf)
    assert json.loads(json.dumps(data)) == data
    assert data["actions"] == ["allocate", "preempt"]
    assert data["configurations"] == [{"name": "allocate", "arguments": {"predicateErrorCacheEnable": False}}]
    assert data["metrics"] == {"type": "prometheus", "address": "http://there", "interval": "30s"}
