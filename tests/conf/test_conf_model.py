"""The configuration as values."""

from __future__ import annotations

import pytest

from hekla.conf import SWITCHES, Conf, PluginEntry, Switch, Tier
from hekla.errors import BrokenPromise

OFF_BY_DEFAULT = {"enableHierarchy", "enabledClusterOrder"}


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.key)
def test_a_switch_that_is_not_set_has_its_default(switch: Switch) -> None:
    assert PluginEntry("gang").enabled(switch.key) is (switch.key not in OFF_BY_DEFAULT)


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.key)
def test_a_switch_that_is_set_counts(switch: Switch) -> None:
    entry = PluginEntry("gang", switches={switch.key: not switch.default})
    assert entry.enabled(switch.key) is not switch.default


def test_the_table_holds_every_switch_of_volcano_once() -> None:
    keys = [switch.key for switch in SWITCHES]
    assert len(keys) == len(set(keys)) == 25
    assert {"enabledOverused", "enableJobOrder", "enabledVictim", "enableReservedNodes"} <= set(keys)
    assert all(switch.guards for switch in SWITCHES)


def test_asking_for_a_switch_that_does_not_exist_is_a_bug() -> None:
    with pytest.raises(BrokenPromise, match='no switch "enableJobOder"; did you mean "enableJobOrder"'):
        PluginEntry("gang").enabled("enableJobOder")


def test_plugins_are_listed_in_the_order_of_asking() -> None:
    gang, drf, binpack = PluginEntry("gang"), PluginEntry("drf"), PluginEntry("binpack")
    conf = Conf(("allocate",), (Tier((gang, drf)), Tier(), Tier((binpack,))))
    assert conf.plugins == (gang, drf, binpack)


def test_an_action_without_configuration_has_no_arguments() -> None:
    conf = Conf(("allocate",), configurations={"preempt": {"x": 1}})
    assert conf.arguments_of("preempt") == {"x": 1}
    assert conf.arguments_of("allocate") == {}
