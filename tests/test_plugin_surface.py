"""What plugins are written with comes from one module, and what it no longer has it says."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import hekla.plugin
from hekla.conf import read_conf
from hekla.engine.framework.points import POINTS
from hekla.plugin import Plugin
from hekla.scheduler.builtin import BUILTIN


def test_everything_it_names_is_there() -> None:
    assert [name for name in hekla.plugin.__all__ if getattr(hekla.plugin, name, None) is None] == []


def test_it_has_every_extension_point() -> None:
    module = vars(hekla.plugin)
    assert [point for point in POINTS if point not in module.values()] == []


def test_a_name_that_is_gone_says_what_to_do_instead() -> None:
    with pytest.raises(ImportError, match="is gone: a score is written once"):
        exec("from hekla.plugin import for_many")


def test_builders_are_imported_when_first_used() -> None:
    code = "import sys, hekla.plugin; assert 'hekla.testing' not in sys.modules; hekla.plugin.Story"
    subprocess.run([sys.executable, "-c", code], check=True)


class Thermometer(Plugin):
    """Goes by measured load, as `usage` does, and by the time of day."""

    name = "thermometer"
    reads_load = True
    acts_on_time = True


def test_what_a_plugin_declares_is_known_of_its_configuration() -> None:
    registry = BUILTIN.with_class(Thermometer)
    text = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: thermometer}, {name: extender}]}]\n"
    conf, mistakes = read_conf(text, catalogue=registry.catalogue())
    assert registry.declaring(conf, lambda plugin: plugin.reads_load) == ["thermometer"]
    assert registry.declaring(conf, lambda plugin: plugin.acts_on_time) == ["thermometer"]
    assert registry.declaring(conf, lambda plugin: plugin.asks_outside) == ["extender"]
    assert any("thermometer goes by measured load" in str(mistake) for mistake in mistakes)


def test_each_plugin_with_helpers_is_found_by_its_name() -> None:
    module = importlib.import_module("hekla.engine.plugins.predicates")
    assert module.Predicates is BUILTIN.plugins["predicates"]
