"""Which plugins of a configuration answer which question, as far as that can be told without asking them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from hekla.conf.model import Conf, PluginEntry


@dataclass(frozen=True)
class CheckedPoint:
    """An extension point that is checked: its name, its switch, and which of Volcano's plugins answer it."""

    point: str
    switch: str
    plugins: tuple[str, ...]


STARVING = CheckedPoint("job starving", "enableJobStarving", ("gang", "priority", "tdm"))
PREEMPTABLE = CheckedPoint(
    "preemptable",
    "enablePreemptable",
    ("priority", "gang", "conformance", "drf", "tdm", "pdb", "cdp", "extender"),
)
RECLAIMABLE = CheckedPoint(
    "reclaimable",
    "enableReclaimable",
    ("gang", "conformance", "proportion", "capacity", "drf", "pdb", "cdp", "extender"),
)
EVICTABLE = CheckedPoint("unified evictable", "", ("priority", "gang", "conformance", "capacity"))
VICTIMS = CheckedPoint("victim tasks", "enabledVictim", ("tdm", "pdb", "rescheduling"))
QUESTIONS = (STARVING, PREEMPTABLE, RECLAIMABLE, EVICTABLE, VICTIMS)

SILENT = (
    *("binpack", "deviceshare", "network-topology-aware", "nodegroup", "nodeorder", "numa-aware"),
    *("overcommit", "predicates", "resource-strategy-fit", "resourcequota", "sla", "task-topology", "usage"),
)
KNOWN = frozenset((*SILENT, *(name for question in QUESTIONS for name in question.plugins)))
"""Plugins whose answers are known here; of other plugins only a catalogue can tell."""

TOLD_BY_ARGUMENTS: Mapping[tuple[str, CheckedPoint], Callable[[PluginEntry], bool]] = {
    ("drf", RECLAIMABLE): lambda drf: drf.enabled("enableHierarchy"),
    ("extender", PREEMPTABLE): lambda extender: bool(extender.arguments.get("extender.preemptableVerb")),
    ("extender", RECLAIMABLE): lambda extender: bool(extender.arguments.get("extender.reclaimableVerb")),
    ("tdm", VICTIMS): lambda tdm: any(key.startswith("tdm.revocable-zone.") for key in tdm.arguments),
}
"""Plugins that answer only where they are told something."""


READING_LOAD = frozenset({"rescheduling", "usage"})
"""Of Volcano's plugins."""


@dataclass(frozen=True)
class Context:
    """A configuration as it is checked: where its parts stand in the file, and what plugins answer."""

    conf: Conf
    of_plugin: Mapping[str, str] = field(default_factory=dict)
    """The path of each plugin."""
    of_configuration: Mapping[str, str] = field(default_factory=dict)
    """The path of each action's arguments."""
    points: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By plugin, the names of the points that it answers; a plugin that is not there is not known."""
    reads_load: Callable[[str], bool] = READING_LOAD.__contains__
    """Whether a plugin goes by measured load."""

    @property
    def plugins(self) -> Mapping[str, PluginEntry]:
        return {plugin.name: plugin for plugin in self.conf.plugins}

    @property
    def knows_all_plugins(self) -> bool:
        """Whether it can be said of some answer that no plugin gives it."""
        return all(name in self.points or name in KNOWN for name in self.plugins)

    def answers(self, plugin: PluginEntry, question: CheckedPoint) -> bool:
        """Whether the plugin answers, as it is configured."""
        points = self.points.get(plugin.name)
        is_able = plugin.name in question.plugins if points is None else question.point in points
        is_on = not question.switch or plugin.enabled(question.switch)
        is_told = TOLD_BY_ARGUMENTS.get((plugin.name, question))
        return is_able and is_on and (is_told is None or is_told(plugin))

    def answering(self, question: CheckedPoint) -> dict[int, list[str]]:
        """By tier the plugins that answer, in their order; tiers without any are left out."""
        named = {
            row: [plugin.name for plugin in tier.plugins if self.answers(plugin, question)]
            for row, tier in enumerate(self.conf.tiers)
        }
        return {row: names for row, names in named.items() if names}


def listed(names: Collection[str], last: str = "or") -> str:
    """Names as a sentence has them: `a, b or c`."""
    *most, final = names
    return f"{', '.join(most)} {last} {final}" if most else final
