"""Sense: combinations that are well written and yet cannot do what their author hopes for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from hekla.conf.mistakes import Mistake, error, warning
from hekla.conf.model import Conf, PluginEntry
from hekla.objects.complaint import quoted

STARVING = ("gang", "priority", "tdm")
PREEMPTABLE = ("priority", "gang", "conformance", "drf", "tdm", "pdb", "cdp", "extender")
RECLAIMABLE = ("gang", "conformance", "proportion", "capacity", "drf", "pdb", "cdp", "extender")
SILENT = (
    *("binpack", "deviceshare", "network-topology-aware", "nodegroup", "nodeorder", "numa-aware"),
    *("overcommit", "predicates", "rescheduling", "resource-strategy-fit", "resourcequota", "sla"),
    *("task-topology", "usage"),
)
KNOWN = frozenset((*STARVING, *PREEMPTABLE, *RECLAIMABLE, *SILENT))
"""Plugins whose opinions are known here; with any other, nothing can be said to never happen."""

EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim")


@dataclass(frozen=True)
class Places:
    """The path of each plugin and each configuration in the file."""

    of_plugin: Mapping[str, str] = field(default_factory=dict)
    of_configuration: Mapping[str, str] = field(default_factory=dict)


Rule = Callable[[Conf, Places], Iterator[Mistake]]


def check_sense(conf: Conf, places: Places) -> list[Mistake]:
    """What cannot work, or works against itself, in a configuration that is otherwise well formed."""
    return [mistake for rule in RULES for mistake in rule(conf, places)]


def hierarchy_excludes_proportion(conf: Conf, places: Places) -> Iterator[Mistake]:
    # Volcano looks only inside one tier, although the two fight over queues in any tier.
    plugins = _by_name(conf)
    if "proportion" in plugins and "drf" in plugins and plugins["drf"].enabled("enableHierarchy"):
        message = "drf with enableHierarchy cannot be used with proportion; remove one of them"
        yield error(places.of_plugin.get("drf", "tiers"), message)


def capacity_excludes_proportion(conf: Conf, places: Places) -> Iterator[Mistake]:
    if {"capacity", "proportion"} <= set(_by_name(conf)):
        message = "capacity and proportion both divide the cluster between queues; remove one of them"
        yield warning(places.of_plugin.get("capacity", "tiers"), message)


def cards_are_shared_in_one_way(conf: Conf, places: Places) -> Iterator[Mistake]:
    entry = _by_name(conf).get("deviceshare")
    modes = ("GPUSharingEnable", "GPUNumberEnable", "VGPUEnable")
    chosen = [
        mode for mode in modes if entry is not None and entry.arguments.get(f"deviceshare.{mode}") is True
    ]
    if len(chosen) > 1:
        message = f"{' and '.join(chosen)} exclude each other: cards are shared in one way; keep one"
        yield error(places.of_plugin.get("deviceshare", "tiers"), message)


def actions_run_once(conf: Conf, _: Places) -> Iterator[Mistake]:
    for name, times in Counter(conf.actions).items():
        if times > 1:
            yield warning("actions", f"action {quoted(name)} is listed {times} times")


def enqueue_comes_first(conf: Conf, _: Places) -> Iterator[Mistake]:
    if {"enqueue", "allocate"} <= set(conf.actions):
        last_allocate = len(conf.actions) - 1 - conf.actions[::-1].index("allocate")
        if last_allocate < conf.actions.index("enqueue"):
            message = "allocate runs before enqueue, so every job waits a cycle longer; put enqueue first"
            yield warning("actions", message)


def enqueue_is_there_if_insisted(conf: Conf, _: Places) -> Iterator[Mistake]:
    # Without enqueue, allocate admits every job itself; strictEnqueue asks to be told.
    if "enqueue" not in conf.actions and conf.arguments_of("enqueue").get("strictEnqueue") is True:
        yield error("actions", "strictEnqueue is set, but enqueue is not among the actions")


def gang_actions_replace_plain_ones(conf: Conf, _: Places) -> Iterator[Mistake]:
    for plain in ("preempt", "reclaim"):
        if {plain, f"gang{plain}"} <= set(conf.actions):
            yield warning("actions", f"gang{plain} is meant to replace {plain}; remove one of them")


def evicting_actions_can_evict(conf: Conf, _: Places) -> Iterator[Mistake]:
    if not set(_by_name(conf)) <= KNOWN:
        return
    for action in EVICTING:
        if action in conf.actions and (lack := _lack(action, conf)):
            yield warning("actions", f"{action} can never {action.removeprefix('gang')}: {lack}")


def _lack(action: str, conf: Conf) -> str:
    """What the action misses, as the end of a sentence; empty if nothing."""
    if not _any_enabled(conf, STARVING, "enableJobStarving"):
        return f"no plugin can call a job starving; add {_listed(STARVING)} with enableJobStarving"
    if action == "preempt" and not _any_enabled(conf, PREEMPTABLE, "enablePreemptable"):
        return f"no plugin can name victims; add {_listed(PREEMPTABLE)} with enablePreemptable"
    if action == "reclaim" and not _any_enabled(conf, RECLAIMABLE, "enableReclaimable"):
        return f"no plugin can name victims; add {_listed(RECLAIMABLE)} with enableReclaimable"
    return ""


def _any_enabled(conf: Conf, names: tuple[str, ...], switch: str) -> bool:
    return any(
        plugin.name in names and plugin.enabled(switch) and _has_opinion(plugin, switch)
        for plugin in conf.plugins
    )


def _has_opinion(plugin: PluginEntry, switch: str) -> bool:
    # drf names reclaimable tasks only in its hierarchical mode.
    return plugin.name != "drf" or switch != "enableReclaimable" or plugin.enabled("enableHierarchy")


def configurations_are_used(conf: Conf, places: Places) -> Iterator[Mistake]:
    # The gang actions read the arguments of allocate as well.
    used = set(conf.actions)
    if used & {"gangpreempt", "gangreclaim"}:
        used.add("allocate")
    for name in conf.configurations:
        if name not in used:
            where = places.of_configuration.get(name, "configurations")
            yield warning(where, f"arguments for {quoted(name)}, which is not among the actions")


def _by_name(conf: Conf) -> dict[str, PluginEntry]:
    return {plugin.name: plugin for plugin in conf.plugins}


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


RULES: tuple[Rule, ...] = (
    hierarchy_excludes_proportion,
    cards_are_shared_in_one_way,
    capacity_excludes_proportion,
    actions_run_once,
    enqueue_comes_first,
    enqueue_is_there_if_insisted,
    gang_actions_replace_plain_ones,
    evicting_actions_can_evict,
    configurations_are_used,
)
