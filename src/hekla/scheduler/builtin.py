"""The actions and plugins that come with hekla, in one literal table each."""

from __future__ import annotations

from hekla.engine.actions import BUILTIN_ACTIONS
from hekla.engine.framework.registry import Registry
from hekla.engine.plugins import BUILTIN_PLUGINS

BUILTIN = Registry(actions=BUILTIN_ACTIONS, plugins=BUILTIN_PLUGINS)
