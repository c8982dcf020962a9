"""Entries that are there when they are first asked for."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from hekla.lazy import LazyMapping
from hekla.scheduler.builtin import BUILTIN

ONLY_WHAT_IS_CONFIGURED = """
import sys
from hekla.conf import BUILT_IN_DEFAULT, read_conf
from hekla.engine.framework.registry import registrations_of
from hekla.scheduler.builtin import BUILTIN

conf, _ = read_conf(BUILT_IN_DEFAULT, "default", BUILTIN.catalogue())
registrations_of(conf, BUILTIN)
assert "hekla.engine.plugins.proportion" in sys.modules
print(*[name for name in ("numaaware", "extender", "tdm") if f"hekla.engine.plugins.{name}" in sys.modules])
"""


def test_an_entry_is_made_once_and_when_it_is_looked_up() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    mapping = LazyMapping(["a", "b"], make)
    assert (len(mapping), list(mapping), "a" in mapping, "c" in mapping) == (2, ["a", "b"], True, False)
    assert made == []
    assert (mapping["b"], mapping["b"], mapping.get("c")) == ("B", "B", None)
    assert made == ["b"]
    with pytest.raises(KeyError, match="c"):
        mapping["c"]


def test_every_class_stands_under_its_own_name() -> None:
    assert [plugin.name for plugin in BUILTIN.plugins.values()] == list(BUILTIN.plugins)
    assert [action.name for action in BUILTIN.actions.values()] == list(BUILTIN.actions)


def test_the_registry_goes_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(BUILTIN)) == BUILTIN


def test_plugins_that_are_not_configured_are_not_imported() -> None:
    command = [sys.executable, "-c", ONLY_WHAT_IS_CONFIGURED]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() == []
