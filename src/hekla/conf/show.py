"""Show what is in effect: a Conf as commented YAML, or as data for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hekla.conf.arguments import effective_arguments
from hekla.conf.kinds import plain, written
from hekla.conf.model import SWITCHES, Catalogue, Conf, PluginEntry


def effective(conf: Conf, catalogue: Catalogue) -> str:
    """The configuration as YAML with every argument; `# default` marks what the file did not say.

    Reading the text again gives a configuration that does the same.
    """
    return "\n".join(_lines(conf, catalogue)) + "\n"


def as_data(conf: Conf) -> dict[str, object]:
    """The configuration as lists, dicts and scalars."""
    return {
        "actions": list(conf.actions),
        "tiers": [{"plugins": [_entry_data(plugin) for plugin in tier.plugins]} for tier in conf.tiers],
        "configurations": [
            {"name": name, "arguments": plain(arguments)} for name, arguments in conf.configurations.items()
        ],
        "metrics": dict(conf.metrics),
    }


def _entry_data(plugin: PluginEntry) -> dict[str, object]:
    return {"name": plugin.name, "switches": dict(plugin.switches), "arguments": plain(plugin.arguments)}


def _lines(conf: Conf, catalogue: Catalogue) -> Iterator[str]:
    yield f"actions: {written(', '.join(conf.actions))}"
    yield "tiers:" if conf.tiers else "tiers: []"
    for tier in conf.tiers:
        yield "- plugins:" if tier.plugins else "- plugins: []"
        for plugin in tier.plugins:
            yield from _plugin_lines(plugin, catalogue)
    yield from _configuration_lines(conf, catalogue)
    if conf.metrics:
        yield "metrics:"
        yield from (f"  {written(key)}: {written(text)}" for key, text in conf.metrics.items())


def _plugin_lines(plugin: PluginEntry, catalogue: Catalogue) -> Iterator[str]:
    yield f"  - name: {written(plugin.name)}"
    for switch in SWITCHES:
        if plugin.enabled(switch.key) != switch.default:
            yield f"    {switch.key}: {written(plugin.enabled(switch.key))}"
    yield from _argument_lines(catalogue.plugins.get(plugin.name), plugin.arguments, "    ")


def _configuration_lines(conf: Conf, catalogue: Catalogue) -> Iterator[str]:
    sections = {
        name: list(_argument_lines(catalogue.actions.get(name), conf.arguments_of(name), "  "))
        for name in dict.fromkeys((*conf.actions, *conf.configurations))
    }
    if any(sections.values()):
        yield "configurations:"
    for name, lines in sections.items():
        if lines:
            yield f"- name: {written(name)}"
            yield from lines


def _argument_lines(cls: type | None, given: Mapping[str, object], indent: str) -> Iterator[str]:
    if cls is None:
        rows = [(key, value, False) for key, value in given.items()]
    else:
        rows = list(effective_arguments(cls, given))
    if rows:
        yield f"{indent}arguments:"
    for key, value, is_default in rows:
        comment = "  # default" if is_default else ""
        yield f"{indent}  {written(key)}: {written(value)}{comment}"
