"""Read a scheduler configuration: the text of Volcano's file in, a Conf and every mistake in it out.

What Volcano refuses is an error. What Volcano swallows, although it surely was not meant so,
is a warning, and what is in the Conf is what is in effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hekla.conf.arguments import accept_arguments
from hekla.conf.config_map import SECTIONS, ConfText, configuration_in
from hekla.conf.kinds import LARGEST_INT
from hekla.conf.model import (
    SWITCH_BY_KEY,
    Catalogue,
    Conf,
    Mistake,
    PluginEntry,
    Tier,
    did_you_mean,
    error,
    line_of,
    under,
    warning,
)
from hekla.conf.presets import BUILT_IN_DEFAULT
from hekla.conf.questions import READING_LOAD, Context, listed
from hekla.conf.sense import check_sense
from hekla.errors import ConfError
from hekla.objects.complaint import quoted, spoken
from hekla.objects.documents import Document, Form, Unreadable, decoded, yaml_documents

CONFIGURATION = Form(
    deepest=32, most_values=10_000, largest_int=LARGEST_INT, keeps_nulls=True, ignores_tags=True
)
"""A long configuration has a few hundred values."""


def read_conf(
    text: str | bytes, source: str = "conf.yaml", catalogue: Catalogue | None = None
) -> tuple[Conf, list[Mistake]]:
    """The configuration and its mistakes, in the order of the text; never raises.

    The text may be a ConfigMap that holds it. An empty text, and one that cannot be read at all, gives the
    built-in default. Without a catalogue the names of actions and plugins and the arguments are taken as
    they are.
    """
    found = configuration_in(text)
    if not found.is_found:
        return _built_in(), [replace(mistake, source=source) for mistake in found.mistakes]
    document = read_document(found.text)
    reader = _ConfReader(catalogue, list(document.mistakes))
    is_there = document.is_readable and not document.is_empty
    conf = reader.conf(document.data) if is_there else _built_in()
    once = dict.fromkeys(reader.mistakes)
    located = [_located(mistake, source, document.lines, found) for mistake in once]
    located += [replace(mistake, source=source) for mistake in found.warnings]
    return conf, sorted(located, key=lambda mistake: mistake.line or 0)


def _built_in() -> Conf:
    return _ConfReader(None).conf(read_document(BUILT_IN_DEFAULT).data)


def require(conf_and_mistakes: tuple[Conf, list[Mistake]], strict: bool = False) -> Conf:
    """The Conf, if it may be used: free of errors or, when strict, of any mistake at all.

    Otherwise a ConfError that tells all of them, one per line.
    """
    conf, mistakes = conf_and_mistakes
    if any(strict or mistake.severity == "error" for mistake in mistakes):
        raise ConfError("\n".join(f"{mistake.severity}: {mistake}" for mistake in mistakes))
    return conf


def _located(mistake: Mistake, source: str, lines: Mapping[str, int], found: ConfText) -> Mistake:
    line = mistake.line if mistake.line is not None else line_of(mistake.where, lines)
    source = f"{source}: {found.place}" if found.place else source
    return replace(mistake, source=source, line=None if line is None else line + found.lines_before)


@dataclass
class _ConfReader:
    """Walks the data from the top down; collects mistakes and goes on."""

    catalogue: Catalogue | None
    mistakes: list[Mistake] = field(default_factory=list)
    plugin_paths: dict[str, str] = field(default_factory=dict)
    configuration_paths: dict[str, str] = field(default_factory=dict)

    def conf(self, data: object) -> Conf:
        if not isinstance(data, dict):
            message = f"expected a map with {', '.join(SECTIONS)}, got {spoken(data)}"
            self.mistakes.append(error("", message))
            return Conf(actions=())
        self.check_keys(data, "", SECTIONS)
        conf = Conf(
            actions=tuple(self.actions(data.get("actions"))),
            tiers=tuple(self.tiers(data.get("tiers"))),
            configurations=self.configurations(data.get("configurations")),
            metrics=self.metrics(data.get("metrics")),
        )
        known = self.catalogue or Catalogue({}, {})
        reads_load = known.reads_load or READING_LOAD.__contains__
        self.mistakes += check_sense(
            Context(conf, self.plugin_paths, self.configuration_paths, known.points, reads_load)
        )
        return conf

    def actions(self, data: object) -> Iterator[str]:
        example = '"enqueue, allocate, backfill"'
        if data is None or data == "":
            self.mistakes.append(error("actions", f"no action is named; write for example {example}"))
            return
        if not isinstance(data, str):
            message = f"expected one text such as {example}, got {spoken(data)}"
            self.mistakes.append(error("actions", message))
            return
        for name in (part.strip() for part in data.split(",")):
            if not name:
                self.mistakes.append(error("actions", "an action name is empty; is there a comma too many?"))
            elif self.catalogue is None or name in self.catalogue.actions:
                yield name
            else:
                hint = did_you_mean(name, self.catalogue.actions)
                self.mistakes.append(error("actions", f"no action {quoted(name)}{hint}"))

    def tiers(self, data: object) -> Iterator[Tier]:
        if data is None:
            self.mistakes.append(warning("tiers", "no plugins are configured; write [] if that is meant"))
        for where, tier in self.items(data, "tiers"):
            self.check_keys(tier, where, ("plugins",))
            yield Tier(tuple(self.plugins(tier.get("plugins"), under(where, "plugins"))))

    def plugins(self, data: object, path: str) -> Iterator[PluginEntry]:
        known = self.catalogue.plugins if self.catalogue else None
        for where, entry in self.items(data, path):
            name = self.name(entry, where, "plugin", known)
            switches = self.switches(entry, where)
            if name is None:
                continue
            if name in self.plugin_paths:
                first = self.plugin_paths[name]
                message = f"plugin {quoted(name)} is configured already at {first}; this entry is dropped"
                self.mistakes.append(warning(under(where, "name"), message))
                continue
            self.plugin_paths[name] = where
            yield PluginEntry(name, switches, self.arguments(entry, where, known))

    def switches(self, entry: Mapping[str, object], where: str) -> dict[str, bool]:
        """The switches of a plugin entry; one of another name is ignored, as in Volcano, and told."""
        found: dict[str, bool] = {}
        self.check_keys(entry, where, ("name", "arguments", *SWITCH_BY_KEY))
        for key, value in entry.items():
            if key not in SWITCH_BY_KEY:
                continue
            if isinstance(value, bool):
                found[key] = value
            elif value is not None:
                self.mistakes.append(error(under(where, key), f"expected true or false, got {spoken(value)}"))
        return found

    def configurations(self, data: object) -> dict[str, Mapping[str, object]]:
        found: dict[str, Mapping[str, object]] = {}
        known = self.catalogue.actions if self.catalogue else None
        for where, entry in self.items(data, "configurations"):
            self.check_keys(entry, where, ("arguments", "name"))
            name = self.name(entry, where, "action", known)
            if name in found:
                first = self.configuration_paths[name]
                message = f"action {quoted(name)} is configured already at {first}; this entry is dropped"
                self.mistakes.append(warning(under(where, "name"), message))
            elif name is not None:
                self.configuration_paths[name] = where
                found[name] = self.arguments(entry, where, known)
        return found

    def metrics(self, data: object) -> dict[str, str]:
        """Texts by key; as in Volcano, a bare number or bool becomes a text."""
        found: dict[str, str] = {}
        for key, value in self.map(data, "metrics").items():
            if isinstance(value, dict | list):
                self.mistakes.append(error(under("metrics", key), f"expected a text, got {spoken(value)}"))
            elif value is not None:
                found[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return found

    def name(
        self, entry: Mapping[str, object], where: str, noun: str, known: Collection[str] | None
    ) -> str | None:
        """The name of an entry if it names something, else None and a mistake."""
        name, path = entry.get("name"), under(where, "name")
        if name is None or name == "":
            self.mistakes.append(warning(path, f"no {noun} is named; this entry is dropped"))
        elif not isinstance(name, str):
            self.mistakes.append(error(path, f"expected the name of a {noun}, got {spoken(name)}"))
        elif known is not None and name not in known:
            self.mistakes.append(warning(path, f"no {noun} {quoted(name)}{self.hint(name, known)}"))
        else:
            return name
        return None

    def hint(self, name: str, known: Collection[str]) -> str:
        """What may be meant by an unknown name: a known one, or plugins that answer a point of this name."""
        near = did_you_mean(name, known)
        answering = sorted(self.catalogue.answering(name)) if self.catalogue else []
        if not answering or any(quoted(plugin) in near for plugin in answering):
            return near
        return f"; that is an extension point, which {listed(answering, 'and')} answer"

    def arguments(
        self, entry: Mapping[str, object], where: str, declared: Mapping[str, type | None] | None
    ) -> Mapping[str, object]:
        """The arguments in effect: good values under the keys that Volcano reads."""
        path = under(where, "arguments")
        given = self.map(entry.get("arguments"), path)
        if declared is None:
            return given
        accepted = accept_arguments(declared[str(entry["name"])] or _NoArguments, given, path)
        self.mistakes += accepted.mistakes
        return accepted.by_key

    def items(self, data: object, path: str) -> Iterator[tuple[str, dict[str, object]]]:
        """The maps of a list with their paths; an absent list is an empty one."""
        if data is not None and not isinstance(data, list):
            self.mistakes.append(error(path, f"expected a list, got {spoken(data)}"))
        elif data is not None:
            for row, item in enumerate(data):
                yield f"{path}[{row}]", self.map(item, f"{path}[{row}]")

    def map(self, data: object, path: str) -> dict[str, object]:
        if data is None or isinstance(data, dict):
            return data or {}
        self.mistakes.append(error(path, f"expected a map, got {spoken(data)}"))
        return {}

    def check_keys(self, data: Mapping[str, object], where: str, known: Collection[str]) -> None:
        for key in data:
            if key not in known:
                noun = "switch" if key.lower().startswith("enable") else "key"
                hint = did_you_mean(key, known)
                self.mistakes.append(warning(under(where, key), f"no {noun} {quoted(key)}{hint}"))


@dataclass(frozen=True)
class _NoArguments:
    """Stands in for plugins and actions that take no arguments."""


@dataclass
class ConfDocument:
    """The data of a configuration, the line of every path in it, and what was wrong with the YAML."""

    data: object = None
    is_empty: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def is_readable(self) -> bool:
        return self.is_empty or bool(self.lines)


def read_document(text: str | bytes) -> ConfDocument:
    """The first document of a text; whatever the text, nothing is raised."""
    try:
        documents = yaml_documents(decoded(text), CONFIGURATION)
        first, second = next(documents, None), next(documents, None)
    except Unreadable as problem:
        first, second = problem, None
    if isinstance(first, Unreadable):
        return ConfDocument(mistakes=[Mistake("", first.line or None, first.reason)])
    if first is None:
        return ConfDocument(is_empty=True)
    mistakes = [Mistake("", line, remark, "warning") for line, remark in first.remarks]
    if second is not None:
        message = "only the first document is read; remove the second"
        mistakes.append(Mistake("", second.line, message, "warning"))
    return ConfDocument(first.data, lines=dict(_lines(first, first.data, "", first.line)), mistakes=mistakes)


def _lines(document: Document, value: object, where: str, line: int) -> Iterator[tuple[str, int]]:
    """By path the line of every value."""
    yield where, line
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(document, item, under(where, key), document.line_in(value, key, line))
    elif isinstance(value, list):
        for row, item in enumerate(value):
            yield from _lines(document, item, f"{where}[{row}]", document.line_in(value, row, line))
