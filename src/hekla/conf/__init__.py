"""The Volcano configuration file as a typed Conf; mistakes are told, not swallowed."""

from hekla.conf.arguments import (
    ArgumentRow,
    argument,
    arguments_by_prefix,
    describe_arguments,
    read_arguments,
)
from hekla.conf.config_map import ConfText, configuration_in
from hekla.conf.model import SWITCHES, Catalogue, Conf, Mistake, PluginEntry, Severity, Switch, Tier
from hekla.conf.presets import BUILT_IN_DEFAULT, PRESETS, Preset
from hekla.conf.read import read_conf, require
from hekla.conf.show import as_data, effective

__all__ = [
    "BUILT_IN_DEFAULT",
    "PRESETS",
    "SWITCHES",
    "ArgumentRow",
    "Catalogue",
    "Conf",
    "ConfText",
    "Mistake",
    "PluginEntry",
    "Preset",
    "Severity",
    "Switch",
    "Tier",
    "argument",
    "arguments_by_prefix",
    "as_data",
    "configuration_in",
    "describe_arguments",
    "effective",
    "read_arguments",
    "read_conf",
    "require",
]
