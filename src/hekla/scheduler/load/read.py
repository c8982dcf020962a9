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

from hekla.engine.model.node import Node, NodeLoad
from hekla.errors import InputError
from hekla.objects.complaint import Complaint, did_you_mean, quoted
from hekla.objects.duration import positive_seconds
from hekla.scheduler.load.prometheus import CPU_QUERY, MEMORY_QUERY, Prometheus
from hekla.scheduler.load.sources import from_annotations, from_file

ANNOTATIONS, FILE, PROMETHEUS = "annotations", "file", "prometheus"
USUAL_SECONDS = {"interval": 30.0, "timeout": 10.0}

Settings = Mapping[str, str]
Load = dict[str, NodeLoad]


def read_load(
    settings: Settings, nodes: Collection[Node], now: float, complaints: list[Complaint] | None = None
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


def _annotations(_: Settings, nodes: Collection[Node], now: float, complaints: list[Complaint]) -> Load:
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


def _file(settings: Settings, _: Collection[Node], now: float, _complaints: list[Complaint]) -> Load:
    return from_file(_address(settings), now)


def _prometheus(settings: Settings, nodes: Collection[Node], now: float, complaints: list[Complaint]) -> Load:
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


SOURCES: Mapping[str, Callable[[Settings, Collection[Node], float, list[Complaint]], Load]] = {
    ANNOTATIONS: _annotations,
    FILE: _file,
    PROMETHEUS: _prometheus,
}


class Meter:
    """Reads the load again once the interval has passed, and goes on with the old one where that fails."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._interval = seconds_of(settings, "interval")
        self._load: Load = {}
        self._read_at: float | None = None

    def read(self, nodes: Collection[Node], now: float, complaints: list[Complaint]) -> Load:
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
