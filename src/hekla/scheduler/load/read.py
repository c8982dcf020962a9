"""Reading the load of nodes, as the configuration's section `metrics` says.

metrics:
  type: prometheus          # or annotations (the default), or file
  address: https://prometheus.example.com:9090    # for type file: the path of the file
  interval: 30s             # how often it is read at most; one that cannot be read counts as 30s
  timeout: 10s              # for one query; prometheus only, and so are the following
  query.cpu: ...            # one figure in percent per node; see `prometheus` for the usual queries
  query.memory: ...
  tls.ca: ca.pem            # certificates to trust besides the usual ones
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.engine.model.node import NodeInfo, NodeLoad
from hekla.engine.state.snapshot import Snapshot
from hekla.errors import InputError
from hekla.objects.complaint import Complaint, did_you_mean, quoted, spoken
from hekla.objects.documents import Document, Unreadable, decoded, yaml_documents
from hekla.objects.keys import CPU_USAGE, MEMORY_USAGE, USAGE_AT
from hekla.objects.quantity import positive_seconds
from hekla.scheduler.load.prometheus import CPU_QUERY, MEMORY_QUERY, Prometheus

ANNOTATIONS, FILE, PROMETHEUS = "annotations", "file", "prometheus"
USUAL_SECONDS = {"interval": 30.0, "timeout": 10.0}

Settings = Mapping[str, str]
Load = dict[str, NodeLoad]


LARGEST_FILE = 10 * 1024 * 1024
LARGEST_FIGURE = 1e12


def read_load(
    settings: Settings, nodes: Collection[NodeInfo], now: float, complaints: list[Complaint] | None = None
) -> Load:
    """The load of the nodes that is known; raises InputError where the source cannot be read.

    A single node whose annotations make no sense is left out, with a complaint.
    """
    kind = settings.get("type", ANNOTATIONS)
    source = SOURCES.get(kind)
    if source is None:
        known = ", ".join(SOURCES)
        hint = did_you_mean(kind, SOURCES)
        raise InputError(f"metrics.type: no source {quoted(kind)}{hint or f'; known sources: {known}'}")
    return source(settings, nodes, now, [] if complaints is None else complaints)


def _annotations(_: Settings, nodes: Collection[NodeInfo], now: float, complaints: list[Complaint]) -> Load:
    load: Load = {}
    for node in nodes:
        try:
            found = from_annotations(node, now)
        except InputError as error:
            complaints.append(Complaint(f"node {node.name}", f"its load is unknown: {error}"))
            continue
        if found is not None:
            load[node.name] = found
    return load


def _file(settings: Settings, _: Collection[NodeInfo], now: float, _complaints: list[Complaint]) -> Load:
    return from_file(_address(settings), now)


def _prometheus(
    settings: Settings, nodes: Collection[NodeInfo], now: float, complaints: list[Complaint]
) -> Load:
    source = Prometheus(
        _address(settings),
        timeout=seconds_of(settings, "timeout"),
        cpu_query=settings.get("query.cpu", CPU_QUERY),
        memory_query=settings.get("query.memory", MEMORY_QUERY),
        ca_file=settings.get("tls.ca", ""),
    )
    load = source.load({node.name for node in nodes}, now)
    if nodes and not load:
        hint = "name them in the label node or instance"
        complaints.append(Complaint("metrics", f"{source.address} knows the load of no node; {hint}"))
    return load


SOURCES: Mapping[str, Callable[[Settings, Collection[NodeInfo], float, list[Complaint]], Load]] = {
    ANNOTATIONS: _annotations,
    FILE: _file,
    PROMETHEUS: _prometheus,
}


class LoadCache:
    """Reads the load again once the interval has passed, and goes on with the old one where that fails."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._interval = seconds_of(settings, "interval")
        self._load: Load = {}
        self._read_at: float | None = None

    def read(self, nodes: Collection[NodeInfo], now: float, complaints: list[Complaint]) -> Load:
        if self._is_due(now):
            self._read_at = now
            try:
                self._load = read_load(self._settings, nodes, now, complaints)
            except InputError as error:
                complaints.append(Complaint("metrics", f"the last known load stays: {error}"))
        return self._load

    def _is_due(self, now: float) -> bool:
        # Annotations come with the nodes: reading them costs nothing.
        is_at_hand = self._settings.get("type", ANNOTATIONS) == ANNOTATIONS
        return is_at_hand or self._read_at is None or now - self._read_at >= self._interval


def _address(settings: Settings) -> str:
    address = settings.get("address", "")
    if not address:
        raise InputError(f"metrics.address: missing; type {settings['type']} needs one")
    return address


def seconds_of(settings: Settings, key: str) -> float:
    """What the setting says; as in Volcano, the usual time where it says none. Reading the file tells so."""
    seconds = positive_seconds(settings.get(key, ""))
    return USUAL_SECONDS[key] if seconds is None else seconds


def from_annotations(node: NodeInfo, now: float) -> NodeLoad | None:
    """What the node's annotations say, in percent; None where they say nothing.

    Without `hekla.dev/usage-at` (seconds since 1970) the figures are of this moment.
    """
    notes = node.manifest.metadata.annotations
    if CPU_USAGE not in notes and MEMORY_USAGE not in notes:
        return None
    return NodeLoad(
        cpu=_number(notes.get(CPU_USAGE, "0"), CPU_USAGE),
        memory=_number(notes.get(MEMORY_USAGE, "0"), MEMORY_USAGE),
        at=_number(notes.get(USAGE_AT, str(now)), USAGE_AT),
    )


def _number(text: str, key: str) -> float:
    try:
        return _sound(float(text))
    except ValueError:
        raise InputError(f"{key}: expected a number from 0, got {quoted(text)}") from None


def from_file(path: str | Path, now: float) -> dict[str, NodeLoad]:
    """What a JSON or YAML file says: node -> {cpu: percent, memory: percent, at: seconds since 1970}."""
    document = _document(path)
    data = document.data
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a map from node to load, got {spoken(data)}")
    return {name: _load(document, path, name, entry, now) for name, entry in data.items()}


def _document(path: str | Path) -> Document:
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > LARGEST_FILE:
        raise InputError(f"{path}: larger than {LARGEST_FILE // 2**20} MB")
    try:
        found = next(yaml_documents(decoded(content)), Document({}))
    except Unreadable as problem:
        found = problem
    if isinstance(found, Unreadable):
        raise InputError(f"{path}: {found}") from found
    return found


def _load(document: Document, path: str | Path, name: str, entry: object, now: float) -> NodeLoad:
    if not isinstance(entry, dict):
        line = document.line_of((name,))
        raise InputError(f"{path}:{line}: {name}: expected cpu and memory in percent, got {spoken(entry)}")
    figures = {"cpu": 0.0, "memory": 0.0, "at": now}
    for key in figures.keys() & entry.keys():
        try:
            figures[key] = _sound(entry[key])
        except ValueError:
            where, got = f"{path}:{document.line_of((name, key))}", spoken(entry[key])
            raise InputError(f"{where}: {name}.{key}: expected a number from 0, got {got}") from None
    return NodeLoad(**figures)


def _sound(value: object) -> float:
    """The value, if it is a number that a gauge can show."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_FIGURE:
        raise ValueError(value)
    return float(value)


class LoadReader:
    """Reads load for one configuration, as often as its `metrics` section says, where a plugin goes by it."""

    def __init__(self, conf: Conf, registry: Registry) -> None:
        self._is_wanted = bool(conf.metrics or registry.declaring(conf, lambda plugin: plugin.reads_load))
        self._cache = LoadCache(conf.metrics)

    def put_into(self, snapshot: Snapshot, now: float) -> None:
        """Measure, and tell what cannot be measured among the snapshot's complaints."""
        if self._is_wanted:
            snapshot.load = self._cache.read(snapshot.nodes, now, snapshot.complaints)
