"""The scheduler configuration as values: which actions run, which plugins advise them, with what settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hekla.errors import BrokenPromise
from hekla.objects import complaint
from hekla.objects.complaint import printable, quoted

Severity = Literal["error", "warning"]

MOST_LISTED = 12


@dataclass(frozen=True)
class Mistake:
    """One thing wrong: an error is refused by Volcano too, a warning is what Volcano swallows."""

    where: str
    """The path of the value, such as `tiers[1].plugins[2].name`; empty for the whole text."""
    line: int | None
    message: str
    severity: Severity = "error"
    source: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.source and self.line else self.source
        return ": ".join(part for part in (place, self.where, self.message) if part)


def warning(where: str, message: str) -> Mistake:
    """A mistake that Volcano would swallow; its line is filled in from its path."""
    return Mistake(where, None, message, "warning")


def error(where: str, message: str) -> Mistake:
    """A mistake that Volcano refuses; its line is filled in from its path."""
    return Mistake(where, None, message, "error")


def under(where: str, key: str) -> str:
    """The path of the value under `key` of the map at `where`."""
    return f"{where}.{printable(key)}" if where else printable(key)


def line_of(where: str, lines: Mapping[str, int]) -> int | None:
    """The line of the value at a path, or of the nearest value around it."""
    while where and where not in lines:
        where = where[: max(where.rfind("."), where.rfind("["), 0)]
    return lines.get(where)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known one, or all if they are few."""
    names = sorted(known)
    near = complaint.did_you_mean(word, names)
    return near or (f"; known are {', '.join(names)}" if 0 < len(names) <= MOST_LISTED else "")


@dataclass(frozen=True)
class Switch:
    """One row of the switch table: turns one kind of opinion of a plugin off."""

    key: str
    guards: str
    default: bool = True


SWITCHES: tuple[Switch, ...] = (
    Switch("enableJobOrder", "job order"),
    Switch("enableTaskOrder", "task order"),
    Switch("enableQueueOrder", "queue order"),
    Switch("enabledSubJobOrder", "sub-job order"),
    Switch("enabledClusterOrder", "cluster order; no action asks for it", default=False),
    Switch("enableHierarchy", "hierarchical mode of drf, capacity and nodegroup", default=False),
    Switch("enableJobReady", "job ready"),
    Switch("enabledSubJobReady", "sub-job ready"),
    Switch("enableJobPipelined", "job pipelined"),
    Switch("enabledSubJobPipelined", "sub-job pipelined"),
    Switch("enableJobStarving", "job starving"),
    Switch("enableJobEnqueued", "job enqueueable, and the notice that a job was enqueued"),
    Switch("enablePreemptable", "preemptable victims; also lets simulated adding and removing run"),
    Switch("enableReclaimable", "reclaimable victims"),
    Switch("enablePreemptive", "preemptive"),
    Switch("enablePredicate", "predicate, pre-predicate and simulated predicate"),
    Switch("enableBestNode", "best node"),
    Switch("enableNodeOrder", "node order, batch node order, map and reduce"),
    Switch("enabledHyperNodeOrder", "hypernode order"),
    Switch("enabledHyperNodeGradient", "hypernode gradients of jobs and sub-jobs"),
    Switch("enabledOverused", "overused"),
    Switch("enabledAllocatable", "allocatable, also simulated; lets simulated adding and removing run"),
    Switch("enabledVictim", "victim tasks"),
    Switch("enableTargetJob", "target job; no action asks for it"),
    Switch("enableReservedNodes", "reserved nodes; no action asks for it"),
)

SWITCH_BY_KEY: Mapping[str, Switch] = {switch.key: switch for switch in SWITCHES}


@dataclass(frozen=True)
class PluginEntry:
    """A plugin of a tier: its name, the switches that were set (by their exact key), its arguments."""

    name: str
    switches: Mapping[str, bool] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)

    def enabled(self, switch_key: str) -> bool:
        """Whether the plugin may give the opinion that the switch guards."""
        switch = SWITCH_BY_KEY.get(switch_key)
        if switch is None:
            hint = did_you_mean(switch_key, (row.key for row in SWITCHES))
            raise BrokenPromise(f"no switch {quoted(switch_key)}{hint}")
        return self.switches.get(switch_key, switch.default)


@dataclass(frozen=True)
class Tier:
    """Plugins that answer together; a tier is asked only when those before it left the question open."""

    plugins: tuple[PluginEntry, ...] = ()


@dataclass(frozen=True)
class Conf:
    """A whole configuration; what was wrong in the file is not in here."""

    actions: tuple[str, ...]
    tiers: tuple[Tier, ...] = ()
    configurations: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)

    @property
    def plugins(self) -> tuple[PluginEntry, ...]:
        """The plugins of all tiers, in the order in which they are asked."""
        return tuple(plugin for tier in self.tiers for plugin in tier.plugins)

    def arguments_of(self, action_name: str) -> Mapping[str, object]:
        """What the file says about an action; nothing said means that its defaults hold."""
        return self.configurations.get(action_name, {})


@dataclass(frozen=True)
class Catalogue:
    """What may be named in a configuration: actions and plugins, each with its Arguments class.

    None in place of the class: takes no arguments.
    """

    actions: Mapping[str, type | None]
    plugins: Mapping[str, type | None]
    points: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By plugin, the names of the extension points that it answers."""
    reads_load: Callable[[str], bool] | None = None
    """Whether a plugin goes by measured load, where that is known."""

    def answering(self, point: str) -> list[str]:
        """The plugins that answer a point, which may be written as Volcano writes it: `VictimTasksFn`."""
        return [
            plugin
            for plugin, points in self.points.items()
            if _bare(point) in {_bare(name) for name in points}
        ]


def _bare(name: str) -> str:
    letters = "".join(letter for letter in name.lower() if letter.isalnum())
    return letters.removesuffix("s").removesuffix("fn").removesuffix("s")
